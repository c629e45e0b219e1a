// What has surely ended when an operation starts, by the streams and waits of its own role: a
// vector clock (Fidge 1988, Mattern 1989) with one entry per stream.
#ifndef MODEL_PLAN_SCHEDULE_CLOCK_H
#define MODEL_PLAN_SCHEDULE_CLOCK_H

#include <stdint.h>

#include "model/base/mem.h"
#include "model/plan/schedule.h"

// Entry s: so many operation instances of stream s have ended.
typedef struct ScheduleClock {
    uint64_t ended[SCHEDULE_STREAMS_MAX];
} ScheduleClock;

// A zeroed value is empty. Instances are passed in order of issue.
typedef struct ScheduleClocks {
    Arena arena;
    const Schedule *schedule;
    ScheduleClock streams[SCHEDULE_STREAMS_MAX]; // at the end of the last instance of each stream
    OpId first_op;                               // the arrays begin with this operation
    ScheduleClock *ops;                          // at the end of its last instance
    uint64_t *numbers; // of its last instance on its stream, from 1 on; 0: none yet
} ScheduleClocks;

// For the operations [first, first + count), and those that they wait for.
void schedule_clock_open(ScheduleClocks *clocks, const Schedule *schedule, OpId first,
                         uint32_t count);
void schedule_clock_close(ScheduleClocks *clocks);
// Forgets all instances of the operations of a block, and where the streams are.
void schedule_clock_restart(ScheduleClocks *clocks, BlockId block);

// Number of the last instance of an operation on its stream, from 1 on; 0: none yet.
uint64_t schedule_clock_number(const ScheduleClocks *clocks, OpId op);

// Issues one instance; returns the clock at its start.
ScheduleClock schedule_clock_issue(ScheduleClocks *clocks, OpId op);

#endif
