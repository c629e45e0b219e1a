// What the parts of a collective share: one rank in one instance.
#ifndef EXEC_COLLECTIVE_INTERNAL_H
#define EXEC_COLLECTIVE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "exec/collective.h"
#include "exec/share.h"

// Parts of an all-to-all that this rank has: in its input by target, in its output by source, in
// its scratch by chunk.
typedef struct Parts {
    JobRange *ranges[TRANSFER_SPACES]; // heap: [n] each; NULL of no all-to-all
    Shares shares;                     // of a forced run that is split by a load
    const uint32_t *dealt;             // of a free run: rows [owner][holder]
} Parts;

typedef struct Scene {
    const BackEnd *back_end;
    const OpInstance *instance;
    const ComputeUnit *compute;
    const Routing *routing; // of a free run's operation that is routed
    const Op *op;
    CollectiveShape shape;
    uint32_t n, group, me; // me: position in the group
    uint64_t bytes;
    uint8_t *memory[TRANSFER_SPACES];
    uint64_t room[TRANSFER_SPACES]; // bytes of each
    uint8_t *aside;                 // heap: the input when the output overlaps it
    uint32_t *sent, *taken;         // heap: [n] messages to and from each member so far
    uint64_t *cuts; // heap: [n + 1] where members' parts begin when they are uneven, else NULL
    Parts parts;
} Scene;

static inline uint32_t collective_rank(const Scene *scene, uint32_t position) {
    return schedule_group_member(&scene->instance->job->schedule->groups[scene->op->comm.group],
                                 scene->group, position);
}
static inline bool collective_is_routed(const Scene *scene) {
    return scene->op->comm.split != SPLIT_EVEN;
}
// A message to or from a member; of one pair they are numbered in the order of these calls, which
// is that of the step list on both sides.
Message collective_message(Scene *scene, MessageKind kind, uint32_t position, uint8_t *bytes,
                           uint64_t count);

// Who sends how much to whom (collective_parts.c). In a free run the members exchange their counts.
// The bytes of the whole follow from uneven parts.
bool collective_parts_open(Scene *scene, Err *err);
void collective_parts_close(Scene *scene);
// Bytes that a transfer carries: the same at both of its ends.
uint64_t collective_parts_count(const Scene *scene, const Transfer *transfer);
// Where it takes from, or puts to, on this rank.
uint64_t collective_parts_from(const Scene *scene, const Transfer *transfer);
uint64_t collective_parts_to(const Scene *scene, const Transfer *transfer);

#endif
