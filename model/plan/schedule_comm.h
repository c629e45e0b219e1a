// What communication and copies do to buffers: which slice is read, which is written, and how much
// room each needs. Shared by schedule_check and the back ends.
#ifndef MODEL_PLAN_SCHEDULE_COMM_H
#define MODEL_PLAN_SCHEDULE_COMM_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/plan/schedule.h"

// The step list of a collective: combines go to the rail of their destination first.
CollectiveShape schedule_comm_shape(const Schedule *schedule, const Comm *comm);

#define SCHEDULE_RAIL_WHOLE 1000000 // of Comm.rail_ppm

// Indices into schedule->slices; SCHEDULE_NONE where there is none. An all-reduce in place has one
// slice (add), which is both.
typedef struct ScheduleSides {
    uint32_t input, output;
} ScheduleSides;

// SEND: one slice, read. RECV: one, written. COLLECTIVE: one read and one written, or, for an
// all-reduce, one added to. COPY: one read, and one written or added to. Anything else is an error.
// For other kinds both are NONE.
bool schedule_comm_sides(const Schedule *schedule, OpId op, ScheduleSides *out, Err *err);

// Bytes that the slices must hold on the rank of the group that needs most. `part` of `whole` is
// the share of that rank's experts, for SPLIT_BY_*. Saturates.
typedef struct ScheduleRoom {
    uint64_t input_B, output_B;
} ScheduleRoom;
ScheduleRoom schedule_comm_room(const Schedule *schedule, const Op *op, const StepShape *shape,
                                uint64_t part, uint64_t whole);

#endif
