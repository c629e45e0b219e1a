// A rank's part in a collective by its step list: what it sends and receives in each step, over the
// exchange of a back end, and the sums in between.
#ifndef EXEC_COLLECTIVE_H
#define EXEC_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "exec/backend.h"
#include "exec/compute.h"

typedef struct CollectiveMoved {
    uint64_t linked_B, local_B; // sent to other ranks; moved inside this one
} CollectiveMoved;

// Reads the instance's input slice and writes its output slice. Inputs are never written; copies
// come before sums, and sums are in order of their source, so that the result is the same bytes on
// every back end. `compute` says who has how much, where the schedule and the load do not; NULL:
// they do. False when a peer fails, or a load gives a rank more than its slice holds.
bool collective_run(const BackEnd *back_end, const OpInstance *instance, const ComputeUnit *compute,
                    CollectiveMoved *moved, Err *err);

#endif
