// Forms of routes that were found, remembered from run to run: the plans of a search send between
// the same pairs again and again. What is found is the same with and without it.
#ifndef SIM_REFINE_MEMORY_H
#define SIM_REFINE_MEMORY_H

#include "sim/refine_route.h"

RefineMemory *refine_memory_open(void);         // of one machine
void refine_memory_close(RefineMemory *memory); // NULL is allowed

// The form of a key, NULL when it is not known. *is_each: known to be none, each pair is searched.
const RefineForm *refine_memory_find(const RefineMemory *memory, uint64_t key, bool *is_each);
// Where the edges of forms that are to be kept are made.
Arena *refine_memory_arena(RefineMemory *memory);
// True when the links of one more searched route are kept; then they are counted.
bool refine_memory_has_room(RefineMemory *memory, uint32_t links);
// Keeps a form as it is, with edges of that arena, or, with NULL, that there is none.
void refine_memory_keep(RefineMemory *memory, uint64_t key, const RefineForm *form);

#endif
