// The instances of a schedule's operations.
//
// Invariant: places of a block are in order of segments, so that the last one at or before a cursor
// is found by bisection; a cursor rests on an operation of its stream or at the end. A block that
// has nothing on a stream is stepped over whole, however often it repeats.
#include "model/plan/schedule_index.h"

#include <assert.h>

#include "model/base/wide.h"

static BlockId block_of(const ScheduleIndex *index, const ScheduleCursor *cursor) {
    return index->schedule->segments[cursor->segment].block;
}

uint32_t schedule_index_passes(const ScheduleIndex *index, RoleId role) {
    uint32_t passes = index->schedule->roles[role].passes;
    return passes < index->passes_max ? passes : index->passes_max;
}

uint32_t schedule_index_repeat(const ScheduleIndex *index, uint32_t segment) {
    uint32_t repeat = index->schedule->segments[segment].repeat;
    return repeat < index->repeat_max ? repeat : index->repeat_max;
}

static OpId *first_op(const ScheduleIndex *index, BlockId block, uint32_t stream) {
    return &index->first_op[(size_t)block * SCHEDULE_STREAMS_MAX + stream];
}

// Backwards, so that each operation finds the one that follows it.
static void fill_streams(ScheduleIndex *index) {
    const Schedule *schedule = index->schedule;
    size_t cells = (size_t)schedule->block_count * SCHEDULE_STREAMS_MAX;
    index->first_op = arena_alloc(&index->arena, cells, sizeof *index->first_op);
    index->next_op = arena_alloc(&index->arena, schedule->op_count, sizeof *index->next_op);
    index->block_of_op = arena_alloc(&index->arena, schedule->op_count, sizeof *index->block_of_op);
    index->role_streams = arena_alloc(&index->arena, schedule->role_count, 1);
    for (size_t i = 0; i < cells; i++) index->first_op[i] = SCHEDULE_NONE;
    for (OpId id = schedule->op_count; id-- > 0;) {
        const Op *op = &schedule->ops[id];
        OpId *first = first_op(index, op->block, op->stream);
        index->block_of_op[id] = op->block;
        index->next_op[id] = *first;
        *first = id;
    }
    for (RoleId role = 0; role < schedule->role_count; role++) {
        const Role *owner = &schedule->roles[role];
        for (uint32_t i = 0; i < owner->segment_count; i++) {
            BlockId block = schedule->segments[owner->first_segment + i].block;
            for (uint32_t s = 0; s < SCHEDULE_STREAMS_MAX; s++)
                if (*first_op(index, block, s) != SCHEDULE_NONE)
                    index->role_streams[role] |= (uint8_t)(1U << s);
        }
    }
}

// Counts the segments of each block, sums the counts up, then deals the segments out.
static void fill_places(ScheduleIndex *index) {
    const Schedule *schedule = index->schedule;
    uint32_t *first = arena_alloc(&index->arena, (size_t)schedule->block_count + 1, sizeof *first);
    index->places = arena_alloc(&index->arena, schedule->segment_count, sizeof *index->places);
    index->before = arena_alloc(&index->arena, schedule->segment_count, sizeof *index->before);
    index->per_pass = arena_alloc(&index->arena, schedule->block_count, sizeof *index->per_pass);
    for (uint32_t i = 0; i < schedule->segment_count; i++) first[schedule->segments[i].block + 1]++;
    for (uint32_t b = 0; b < schedule->block_count; b++) first[b + 1] += first[b];
    uint32_t *next = mem_alloc((size_t)schedule->block_count + 1, sizeof *next);
    for (uint32_t b = 0; b < schedule->block_count; b++) next[b] = first[b];
    for (uint32_t i = 0; i < schedule->segment_count; i++) {
        BlockId block = schedule->segments[i].block;
        index->places[next[block]++] = i;
        index->before[i] = index->per_pass[block];
        index->per_pass[block] += schedule_index_repeat(index, i);
    }
    mem_free(next);
    index->first_place = first;
}

void schedule_index_build(ScheduleIndex *index, const Schedule *schedule, uint32_t passes_max,
                          uint32_t repeat_max) {
    *index =
        (ScheduleIndex){.schedule = schedule, .passes_max = passes_max, .repeat_max = repeat_max};
    fill_streams(index);
    fill_places(index);
}

void schedule_index_free(ScheduleIndex *index) {
    arena_free(&index->arena);
    *index = (ScheduleIndex){0};
}

uint64_t schedule_index_per_pass(const ScheduleIndex *index, OpId op) {
    return index->per_pass[index->schedule->ops[op].block];
}

uint64_t schedule_index_total(const ScheduleIndex *index) {
    const Schedule *schedule = index->schedule;
    Wide total = 0;
    for (BlockId id = 0; id < schedule->block_count; id++) {
        const Block *block = &schedule->blocks[id];
        Wide runs = wide_mul(index->per_pass[id], schedule_index_passes(index, block->role));
        total += runs * block->op_count;
        if (total > UINT64_MAX) return UINT64_MAX;
    }
    return (uint64_t)total;
}

// To the first operation of the segment that the cursor is in, or of a later one.
static void enter_segment(const ScheduleIndex *index, ScheduleCursor *cursor) {
    const Role *role = &index->schedule->roles[cursor->role];
    cursor->op = SCHEDULE_NONE;
    cursor->iteration = 0;
    while (cursor->pass < schedule_index_passes(index, cursor->role)) {
        for (; cursor->segment < role->first_segment + role->segment_count; cursor->segment++) {
            cursor->op = *first_op(index, block_of(index, cursor), cursor->stream);
            if (cursor->op != SCHEDULE_NONE) return;
        }
        cursor->segment = role->first_segment;
        cursor->pass++;
    }
}

ScheduleCursor schedule_index_start(const ScheduleIndex *index, RoleId role, uint32_t stream) {
    ScheduleCursor cursor = {.op = SCHEDULE_NONE,
                             .role = role,
                             .stream = stream,
                             .segment = index->schedule->roles[role].first_segment};
    if ((index->role_streams[role] >> stream & 1) != 0) enter_segment(index, &cursor);
    return cursor;
}

void schedule_index_next(const ScheduleIndex *index, ScheduleCursor *cursor) {
    assert(cursor->op != SCHEDULE_NONE);
    cursor->op = index->next_op[cursor->op];
    if (cursor->op != SCHEDULE_NONE) return;
    cursor->iteration++;
    if (cursor->iteration < schedule_index_repeat(index, cursor->segment)) {
        cursor->op = *first_op(index, block_of(index, cursor), cursor->stream);
        return;
    }
    cursor->segment++;
    enter_segment(index, cursor);
}

// The last segment before the cursor's that runs `block`, SCHEDULE_NONE when there is none.
static uint32_t segment_before(const ScheduleIndex *index, const ScheduleCursor *cursor,
                               BlockId block) {
    uint32_t low = index->first_place[block], high = index->first_place[block + 1];
    while (low < high) { // the number of segments before the cursor's
        uint32_t middle = low + (high - low) / 2;
        if (index->places[middle] < cursor->segment)
            low = middle + 1;
        else
            high = middle;
    }
    return low == index->first_place[block] ? SCHEDULE_NONE : index->places[low - 1];
}

uint64_t schedule_index_earlier(const ScheduleIndex *index, const ScheduleCursor *cursor, OpId on) {
    BlockId block = index->block_of_op[on];
    uint64_t count = cursor->pass * index->per_pass[block];
    if (block == block_of(index, cursor))
        return count + index->before[cursor->segment] + cursor->iteration + (on < cursor->op);
    uint32_t segment = segment_before(index, cursor, block);
    if (segment == SCHEDULE_NONE) return count;
    return count + index->before[segment] + schedule_index_repeat(index, segment);
}
