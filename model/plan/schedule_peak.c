// Peak of the live bytes of a role's buffer table.
//
// Invariant: memory of a buffer that lives inside a block is given to another only where all that
// touches the first is ordered before the operation that first touches the second, whatever the
// streams do; so the peak is one that an allocator can reach and never less than is needed at once.
#include "model/base/wide.h"
#include "model/plan/schedule.h"
#include "model/plan/schedule_clock.h"

// Accesses to one buffer by the block that is looked at.
typedef struct Life {
    uint64_t bytes;
    uint32_t accesses, done;             // in the block; so far
    uint64_t last[SCHEDULE_STREAMS_MAX]; // number of the last access on each stream
} Life;

typedef struct Lives {
    const Schedule *schedule;
    BufferId first; // `lives` begins with this buffer
    Life *lives;
    BufferId *in_use; // buffers that the block touches
    uint32_t count;
} Lives;

static void start_block(Lives *lives, const Block *block, const StepShape *shape) {
    const Schedule *schedule = lives->schedule;
    lives->count = 0;
    for (uint32_t i = 0; i < block->op_count; i++) {
        const Op *op = &schedule->ops[block->first_op + i];
        for (uint32_t j = op->first_slice; j < op->first_slice + op->slice_count; j++) {
            BufferId id = schedule->slices[j].buffer;
            if (schedule->buffers[id].life != BUFFER_BLOCK) continue;
            Life *life = &lives->lives[id - lives->first];
            if (life->accesses++ > 0) continue;
            life->bytes = extent_value(&schedule->buffers[id].bytes, shape);
            lives->in_use[lives->count++] = id;
        }
    }
}

static bool is_live(const Life *life, const ScheduleClock *clock) {
    if (life->done == 0) return false;
    if (life->done < life->accesses) return true;
    for (uint32_t s = 0; s < SCHEDULE_STREAMS_MAX; s++) {
        if (life->last[s] > clock->ended[s]) return true;
    }
    return false;
}

// Bytes that are live while the operation runs.
static uint64_t live_during(Lives *lives, ScheduleClocks *clocks, OpId id) {
    const Schedule *schedule = lives->schedule;
    const Op *op = &schedule->ops[id];
    ScheduleClock clock = schedule_clock_issue(clocks, id);
    for (uint32_t i = op->first_slice; i < op->first_slice + op->slice_count; i++) {
        Life *life = &lives->lives[schedule->slices[i].buffer - lives->first];
        life->done++;
        life->last[op->stream] = schedule_clock_number(clocks, id);
    }
    uint64_t live = 0;
    for (uint32_t i = 0; i < lives->count; i++) {
        const Life *life = &lives->lives[lives->in_use[i] - lives->first];
        if (is_live(life, &clock)) live = wide_add_saturate(live, life->bytes);
    }
    return live;
}

static uint64_t block_peak(Lives *lives, ScheduleClocks *clocks, BlockId id,
                           const StepShape *shape) {
    const Block *block = &lives->schedule->blocks[id];
    uint64_t peak = 0;
    start_block(lives, block, shape);
    for (uint32_t i = 0; i < block->op_count; i++) {
        uint64_t live = live_during(lives, clocks, block->first_op + i);
        if (live > peak) peak = live;
    }
    for (uint32_t i = 0; i < lives->count; i++)
        lives->lives[lives->in_use[i] - lives->first] = (Life){0};
    schedule_clock_restart(clocks, id);
    return peak;
}

// From the first to the last of what is the role's: [first, end).
typedef struct IdRange {
    uint32_t first, end;
} IdRange;

static void widen(IdRange *range, uint32_t first, uint32_t end) {
    if (range->end == 0 || first < range->first) range->first = first;
    if (end > range->end) range->end = end;
}

static uint64_t blocks_peak(const Schedule *schedule, RoleId role, IdRange buffers, IdRange ops,
                            const StepShape *shape) {
    ScheduleClocks clocks = {0};
    Arena arena = {0};
    Lives lives = {.schedule = schedule, .first = buffers.first};
    uint64_t peak = 0;
    lives.lives = arena_alloc(&arena, buffers.end - buffers.first, sizeof *lives.lives);
    lives.in_use = arena_alloc(&arena, buffers.end - buffers.first, sizeof *lives.in_use);
    schedule_clock_open(&clocks, schedule, ops.first, ops.end - ops.first);
    for (BlockId id = 0; id < schedule->block_count; id++) {
        if (schedule->blocks[id].role != role) continue;
        uint64_t block = block_peak(&lives, &clocks, id, shape);
        if (block > peak) peak = block;
    }
    schedule_clock_close(&clocks);
    arena_free(&arena);
    return peak;
}

uint64_t schedule_peak_B(const Schedule *schedule, RoleId role, const StepShape *shape) {
    uint64_t whole_step = 0;
    IdRange buffers = {0}, ops = {0};
    for (BufferId id = 0; id < schedule->buffer_count; id++) {
        const Buffer *buffer = &schedule->buffers[id];
        if (buffer->role != role) continue;
        widen(&buffers, id, id + 1);
        if (buffer->life == BUFFER_STEP)
            whole_step = wide_add_saturate(whole_step, extent_value(&buffer->bytes, shape));
    }
    for (BlockId id = 0; id < schedule->block_count; id++) {
        const Block *block = &schedule->blocks[id];
        if (block->role == role) widen(&ops, block->first_op, block->first_op + block->op_count);
    }
    return wide_add_saturate(whole_step, blocks_peak(schedule, role, buffers, ops, shape));
}
