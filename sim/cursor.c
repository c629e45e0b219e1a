// Program order, stream by stream.
//
// Invariant: between calls a cursor stands on an operation of its stream, or at the end; runs[b] is
// the number of instances of block b issued before the instance it stands in. So the latest earlier
// instance of an operation is number runs[b], or runs[b] + 1 when it comes earlier in the same
// block.
#include "sim/cursor.h"

#include "model/base/mem.h"

void cursor_program_init(Program *program, const Schedule *schedule) {
    uint32_t cells = schedule->block_count * schedule->stream_count;
    *program = (Program){.schedule = schedule,
                         .first = mem_alloc(cells + 1, sizeof *program->first),
                         .ops = mem_alloc(schedule->op_count + 1, sizeof *program->ops)};
    uint32_t at = 0;
    for (BlockId b = 0; b < schedule->block_count; b++)
        for (uint32_t s = 0; s < schedule->stream_count; s++) {
            program->first[b * schedule->stream_count + s] = at;
            for (uint32_t i = 0; i < schedule->blocks[b].op_count; i++) {
                OpId op = schedule->blocks[b].first_op + i;
                if (schedule->ops[op].stream == s) program->ops[at++] = op;
            }
        }
    program->first[cells] = at;
}

void cursor_program_free(Program *program) {
    mem_free(program->first);
    mem_free(program->ops);
    *program = (Program){0};
}

static const Segment *segment_of(const Cursor *cursor, const Program *program) {
    const Role *role = &program->schedule->roles[cursor->role];
    return &program->schedule->segments[role->first_segment + cursor->segment];
}

static uint32_t ops_in_block(const Cursor *cursor, const Program *program, BlockId block) {
    uint32_t cell = block * program->schedule->stream_count + cursor->stream;
    return program->first[cell + 1] - program->first[cell];
}

// Moves on to a segment that has operations on this stream.
static void settle(Cursor *cursor, const Program *program) {
    const Role *role = &program->schedule->roles[cursor->role];
    while (cursor->pass < role->passes) {
        if (cursor->segment == role->segment_count) {
            cursor->segment = 0;
            cursor->pass++;
            continue;
        }
        const Segment *segment = segment_of(cursor, program);
        if (segment->repeat > 0 && ops_in_block(cursor, program, segment->block) > 0) return;
        cursor->runs[segment->block] += segment->repeat;
        cursor->segment++;
    }
}

void cursor_init(Cursor *cursor, const Program *program, RoleId role, uint32_t stream,
                 uint32_t *runs) {
    *cursor = (Cursor){.stream = stream, .role = role, .runs = runs};
    if (program->schedule->roles[role].segment_count == 0)
        cursor->pass = program->schedule->roles[role].passes;
    for (BlockId b = 0; b < program->schedule->block_count; b++) runs[b] = 0;
    // A stream that the role never uses must not walk all its passes.
    const Role *r = &program->schedule->roles[role];
    bool is_used = false;
    for (uint32_t i = 0; i < r->segment_count && !is_used; i++)
        is_used = ops_in_block(cursor, program,
                               program->schedule->segments[r->first_segment + i].block) > 0;
    if (!is_used) cursor->pass = r->passes;
    settle(cursor, program);
}

OpId cursor_op(const Cursor *cursor, const Program *program) {
    if (cursor->pass >= program->schedule->roles[cursor->role].passes) return SCHEDULE_NONE;
    BlockId block = segment_of(cursor, program)->block;
    uint32_t cell = block * program->schedule->stream_count + cursor->stream;
    return program->ops[program->first[cell] + cursor->position];
}

void cursor_next(Cursor *cursor, const Program *program) {
    const Segment *segment = segment_of(cursor, program);
    if (++cursor->position < ops_in_block(cursor, program, segment->block)) return;
    cursor->position = 0;
    cursor->runs[segment->block]++;
    if (++cursor->iteration < segment->repeat) return;
    cursor->iteration = 0;
    cursor->segment++;
    settle(cursor, program);
}

uint32_t cursor_required(const Cursor *cursor, const Program *program, OpId on) {
    BlockId here = segment_of(cursor, program)->block;
    BlockId there = program->schedule->ops[on].block;
    bool is_earlier_here = here == there && on < cursor_op(cursor, program);
    return cursor->runs[there] + (is_earlier_here ? 1 : 0);
}
