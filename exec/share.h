// Routed traffic of a forced run: how many elements the ranks of a group send to each other, as the
// Load says.
#ifndef EXEC_SHARE_H
#define EXEC_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "exec/job.h"
#include "model/base/err.h"

// Of one dispatch or combine of one group. A zeroed one is empty.
typedef struct Shares {
    CollectiveShare *items; // heap: [sources][n]
    uint32_t n, sources;    // ranks; runs of positions whose tokens have the same shares
    uint64_t elements;      // that every rank has
} Shares;

void share_open(const OpInstance *instance, uint32_t group, Shares *out);
void share_close(Shares *shares);

// Elements of the rank at position `owner` for the experts of `holder`: what goes there in a
// dispatch, what comes back in a combine.
uint64_t share_elements(const Shares *shares, uint32_t owner, uint32_t holder);
// Of all owners together.
uint64_t share_held(const Shares *shares, uint32_t holder);

// What shares of a group of so many ranks take, in bytes.
uint64_t share_size_B(const Load *load, uint32_t ranks);

// Before a run (share_room.c): slices and buffers of the job that are scheduled for an even load
// grow to what its load gives the rank of a role that gets most. Refused by name: a slice that
// would grow over others behind it in its buffer, a load that takes too long to deal.
bool share_room(Job *job, Err *err);

#endif
