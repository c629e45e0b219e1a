// The instances of a schedule's operations.
//
// Invariant: places of a block are in order of segments, so that the last one at or before a cursor
// is found by bisection; a cursor rests on an operation of its stream or at the end. A block that
// has nothing on a stream is stepped over whole, however often it repeats.
#include "model/plan/schedule_index.h"

#include <assert.h>

#include "model/base/wide.h"

static const Block *block_of(const ScheduleIndex *index, const ScheduleCursor *cursor) {
    return &index->schedule->blocks[index->schedule->segments[cursor->segment].block];
}

uint32_t schedule_index_passes(const ScheduleIndex *index, RoleId role) {
    uint32_t passes = index->schedule->roles[role].passes;
    return passes < index->passes_max ? passes : index->passes_max;
}

uint32_t schedule_index_repeat(const ScheduleIndex *index, uint32_t segment) {
    uint32_t repeat = index->schedule->segments[segment].repeat;
    return repeat < index->repeat_max ? repeat : index->repeat_max;
}

static void fill_streams(ScheduleIndex *index) {
    const Schedule *schedule = index->schedule;
    index->streams = arena_alloc(&index->arena, schedule->block_count, 1);
    index->role_streams = arena_alloc(&index->arena, schedule->role_count, 1);
    for (OpId id = 0; id < schedule->op_count; id++) {
        const Op *op = &schedule->ops[id];
        index->streams[op->block] |= (uint8_t)(1U << op->stream);
    }
    for (RoleId role = 0; role < schedule->role_count; role++) {
        const Role *owner = &schedule->roles[role];
        for (uint32_t i = 0; i < owner->segment_count; i++) {
            BlockId block = schedule->segments[owner->first_segment + i].block;
            index->role_streams[role] |= index->streams[block];
        }
    }
}

// first_place counts, then sums, then is moved back by filling.
static void fill_places(ScheduleIndex *index) {
    const Schedule *schedule = index->schedule;
    uint32_t *first = arena_alloc(&index->arena, (size_t)schedule->block_count + 1, sizeof *first);
    index->places = arena_alloc(&index->arena, schedule->segment_count, sizeof *index->places);
    index->per_pass = arena_alloc(&index->arena, schedule->block_count, sizeof *index->per_pass);
    for (uint32_t i = 0; i < schedule->segment_count; i++) first[schedule->segments[i].block + 1]++;
    for (uint32_t b = 0; b < schedule->block_count; b++) first[b + 1] += first[b];
    uint32_t *next = mem_alloc((size_t)schedule->block_count + 1, sizeof *next);
    for (uint32_t b = 0; b < schedule->block_count; b++) next[b] = first[b];
    for (uint32_t i = 0; i < schedule->segment_count; i++) {
        BlockId block = schedule->segments[i].block;
        index->places[next[block]++] =
            (SchedulePlace){.segment = i, .before = index->per_pass[block]};
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

// The first operation at or after `from` in the block of the cursor that is on its stream.
static OpId find_op(const ScheduleIndex *index, const ScheduleCursor *cursor, OpId from) {
    const Block *block = block_of(index, cursor);
    for (OpId id = from; id < block->first_op + block->op_count; id++) {
        if (index->schedule->ops[id].stream == cursor->stream) return id;
    }
    return SCHEDULE_NONE;
}

// To the first operation of the segment that the cursor is in, or of a later one.
static void enter_segment(const ScheduleIndex *index, ScheduleCursor *cursor) {
    const Role *role = &index->schedule->roles[cursor->role];
    cursor->op = SCHEDULE_NONE;
    cursor->iteration = 0;
    while (cursor->pass < schedule_index_passes(index, cursor->role)) {
        for (; cursor->segment < role->first_segment + role->segment_count; cursor->segment++) {
            cursor->op = find_op(index, cursor, block_of(index, cursor)->first_op);
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
    cursor->op = find_op(index, cursor, cursor->op + 1);
    if (cursor->op != SCHEDULE_NONE) return;
    cursor->iteration++;
    if (cursor->iteration < schedule_index_repeat(index, cursor->segment)) {
        cursor->op = find_op(index, cursor, block_of(index, cursor)->first_op);
        return;
    }
    cursor->segment++;
    enter_segment(index, cursor);
}

uint64_t schedule_index_earlier(const ScheduleIndex *index, const ScheduleCursor *cursor, OpId on) {
    BlockId block = index->schedule->ops[on].block;
    uint64_t count = cursor->pass * index->per_pass[block];
    uint32_t low = index->first_place[block], high = index->first_place[block + 1];
    while (low < high) { // the number of places at or before the cursor's segment
        uint32_t middle = low + (high - low) / 2;
        if (index->places[middle].segment <= cursor->segment)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == index->first_place[block]) return count;
    const SchedulePlace *place = &index->places[low - 1];
    count += place->before;
    if (place->segment == cursor->segment) return count + cursor->iteration + (on < cursor->op);
    return count + schedule_index_repeat(index, place->segment);
}
