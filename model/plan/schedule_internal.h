// The parts of schedule_check. schedule.h says what they prove together.
#ifndef MODEL_PLAN_SCHEDULE_INTERNAL_H
#define MODEL_PLAN_SCHEDULE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/plan/schedule.h"
#include "model/plan/schedule_wire.h"

// What a check may cost, so that a hostile schedule is refused instead of keeping it busy.
#define SCHEDULE_CHECK_STEPS_MAX (UINT64_C(1) << 28)
#define SCHEDULE_CHECK_RUNS_MAX  (UINT64_C(1) << 22) // operation instances of an abstract run

// Counts `steps` off; the message says that the limit was passed.
bool schedule_check_spend(uint64_t *spent, uint64_t steps, Err *err);

// `role "a", block "moe", operation "dispatch"`; `buffer` has at least SCHEDULE_TEXT_MAX bytes.
char *schedule_check_place(const Schedule *schedule, OpId op, char *buffer);

// Extents do not saturate, slices lie inside their buffers, communication has room for its bytes.
bool schedule_check_sizes(const Schedule *schedule, const StepShape *largest, Err *err);

// Partners are matched in kind, size and count.
bool schedule_check_partners(const Schedule *schedule, const ScheduleWiring *wiring, Err *err);
// An abstract run of all roles ends.
bool schedule_check_progress(const Schedule *schedule, const ScheduleWiring *wiring, Err *err);
// No two overlapping accesses, one a write, are left unordered.
bool schedule_check_races(const Schedule *schedule, const StepShape *largest, Err *err);

#endif
