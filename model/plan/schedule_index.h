// The instances of a schedule's operations: cursors that walk one stream of a role's program in
// issue order, and counts of what was issued before. Used by the check, the simulator and
// the back ends.
#ifndef MODEL_PLAN_SCHEDULE_INDEX_H
#define MODEL_PLAN_SCHEDULE_INDEX_H

#include <stdint.h>

#include "model/base/mem.h"
#include "model/plan/schedule.h"

// A zeroed index is empty. Borrows the schedule, which must pass schedule_check_structure.
typedef struct ScheduleIndex {
    Arena arena;
    const Schedule *schedule;
    uint32_t passes_max, repeat_max;
    uint32_t *first_place; // [block_count + 1], into places
    uint32_t *places;      // segments by block, in order
    uint64_t *before;      // [segment_count] instances of its block in one pass before the segment
    uint64_t *per_pass;    // [block_count] instances of a block in one pass
    uint8_t *role_streams; // [role_count] bit s: the program uses stream s
    OpId *first_op;        // [block_count][SCHEDULE_STREAMS_MAX] first of a block on a stream
    OpId *next_op;         // [op_count] next operation of the block on the same stream
    BlockId *block_of_op;  // [op_count] close together
} ScheduleIndex;

// With limits, a role runs at most `passes_max` passes and a segment at most `repeat_max`
// iterations: UINT32_MAX for the schedule as it is.
void schedule_index_build(ScheduleIndex *index, const Schedule *schedule, uint32_t passes_max,
                          uint32_t repeat_max);
void schedule_index_free(ScheduleIndex *index);

uint32_t schedule_index_passes(const ScheduleIndex *index, RoleId role);
uint32_t schedule_index_repeat(const ScheduleIndex *index, uint32_t segment);
// Instances of an operation in one pass, and of all operations in the whole run (saturating).
uint64_t schedule_index_per_pass(const ScheduleIndex *index, OpId op);
uint64_t schedule_index_total(const ScheduleIndex *index);

// The next instance on one stream of a role; op is SCHEDULE_NONE when there are no more.
typedef struct ScheduleCursor {
    OpId op;
    RoleId role;
    uint32_t stream, pass;
    uint32_t segment; // index into schedule->segments
    uint32_t iteration;
} ScheduleCursor;

ScheduleCursor schedule_index_start(const ScheduleIndex *index, RoleId role, uint32_t stream);
void schedule_index_next(const ScheduleIndex *index, ScheduleCursor *cursor);

// Instances of `on` (an operation of the same role) issued before the cursor's: how many must have
// ended before an operation that waits for it may start. For the cursor's own operation: its
// number.
uint64_t schedule_index_earlier(const ScheduleIndex *index, const ScheduleCursor *cursor, OpId on);

#endif
