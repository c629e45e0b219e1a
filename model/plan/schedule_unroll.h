// A schedule with an operation for every layer.
#ifndef MODEL_PLAN_SCHEDULE_UNROLL_H
#define MODEL_PLAN_SCHEDULE_UNROLL_H

#include <stdbool.h>

#include "model/base/err.h"
#include "model/plan/schedule.h"

// Operations that a schedule of schedule_unroll_layers may have.
#define SCHEDULE_UNROLL_MAX (UINT32_C(1) << 18)

// The same work with a block of its own for every instance of a block in a pass, so that a Load can
// give each layer its own sizes: the MoE layers of a role, in order of its program, are numbered on
// from the first. Waits, meetings, buffers and times under a load of one row stay what they are;
// names of blocks get the number of the instance; operations and channels are numbered anew.
// Refuses a role with two operations on one channel, and results over SCHEDULE_UNROLL_MAX.
bool schedule_unroll_layers(const Schedule *schedule, Schedule *out, Err *err);

#endif
