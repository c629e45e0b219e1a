// What has surely ended when an operation starts.
//
// Invariant: an instance starts after the one before it on its stream and after the last instance
// of everything it waits for, and knows what they knew: entry s of a clock is the largest number on
// stream s that is ordered before. Order through other roles is not counted: it would hold between
// different ranks only.
#include "model/plan/schedule_clock.h"

void schedule_clock_open(ScheduleClocks *clocks, const Schedule *schedule, OpId first,
                         uint32_t count) {
    *clocks = (ScheduleClocks){.schedule = schedule, .first_op = first};
    clocks->ops = arena_alloc(&clocks->arena, count, sizeof *clocks->ops);
    clocks->numbers = arena_alloc(&clocks->arena, count, sizeof *clocks->numbers);
}

uint64_t schedule_clock_number(const ScheduleClocks *clocks, OpId op) {
    return clocks->numbers[op - clocks->first_op];
}

void schedule_clock_close(ScheduleClocks *clocks) {
    arena_free(&clocks->arena);
    *clocks = (ScheduleClocks){0};
}

void schedule_clock_restart(ScheduleClocks *clocks, BlockId block) {
    const Block *owner = &clocks->schedule->blocks[block];
    for (uint32_t s = 0; s < SCHEDULE_STREAMS_MAX; s++) clocks->streams[s] = (ScheduleClock){{0}};
    for (uint32_t i = 0; i < owner->op_count; i++)
        clocks->numbers[owner->first_op - clocks->first_op + i] = 0;
}

ScheduleClock schedule_clock_issue(ScheduleClocks *clocks, OpId id) {
    const Op *op = &clocks->schedule->ops[id];
    ScheduleClock clock = clocks->streams[op->stream];
    for (uint32_t i = 0; i < op->wait_count; i++) {
        OpId on = clocks->schedule->waits[op->first_wait + i];
        if (schedule_clock_number(clocks, on) == 0) continue;
        for (uint32_t s = 0; s < SCHEDULE_STREAMS_MAX; s++) {
            uint64_t known = clocks->ops[on - clocks->first_op].ended[s];
            if (known > clock.ended[s]) clock.ended[s] = known;
        }
    }
    ScheduleClock end = clock;
    clocks->numbers[id - clocks->first_op] = ++end.ended[op->stream];
    clocks->ops[id - clocks->first_op] = clocks->streams[op->stream] = end;
    return clock;
}
