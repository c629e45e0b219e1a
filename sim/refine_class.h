// Which of them are alike (refine_colour.c, refine_check.c). Internal to refine*.c.
#ifndef SIM_REFINE_CLASS_H
#define SIM_REFINE_CLASS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/refine_list.h"

// Class of each item; classes are numbered in the order of their first items.
typedef struct RefineClasses {
    uint32_t *of;    // [items]
    uint32_t *first; // [count]: first item
    uint32_t count;
} RefineClasses;

typedef struct RefinePartition {
    RefineClasses ranks, gatherings, transfers, links;
    uint32_t rounds;
} RefinePartition;

// The coarsest stable one; or each item a class.
void refine_colour(const RefineList *list, const RefineRoutes *routes, Arena *arena,
                   RefinePartition *out);
void refine_colour_nothing(const RefineList *list, Arena *arena, RefinePartition *out);

// What one transfer of each class puts on links of the classes, in order of these.
typedef struct RefineLoads {
    RefineEdge *edges;
    uint32_t *first; // by class of transfers, and the end
} RefineLoads;

// Counts the loads of the first link of each class, and proves that all items of a class are alike:
// same loads on every link, same links of every transfer, same members and transfers in every
// gathering, same gatherings and work of every rank.
bool refine_check(const RefineInput *input, const RefineList *list, const RefineRoutes *routes,
                  const RefinePartition *partition, Arena *arena, RefineLoads *out, Err *err);

#endif
