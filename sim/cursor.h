// Walks the program of a role, one stream at a time, and knows which instance of another operation
// an instance waits for.
#ifndef SIM_CURSOR_H
#define SIM_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "model/plan/schedule.h"

// Operations of each block by stream, for all roles of a schedule. Built once.
typedef struct Program {
    const Schedule *schedule;
    uint32_t *first; // [block * stream_count + stream], into ops; one more at the end
    OpId *ops;
} Program;

void cursor_program_init(Program *program, const Schedule *schedule);
void cursor_program_free(Program *program);

// Where one stream of one member stands. `runs` counts, per block, the instances that began before
// the present one.
typedef struct Cursor {
    uint32_t stream;
    RoleId role;
    uint32_t pass, segment, iteration, position;
    uint32_t *runs; // [block_count]
} Cursor;

void cursor_init(Cursor *cursor, const Program *program, RoleId role, uint32_t stream,
                 uint32_t *runs);

// The operation that is next, or SCHEDULE_NONE when the program has ended.
OpId cursor_op(const Cursor *cursor, const Program *program);
void cursor_next(Cursor *cursor, const Program *program);

// How many instances of `on` must have ended before the present instance may run: the latest issued
// earlier.
uint32_t cursor_required(const Cursor *cursor, const Program *program, OpId on);

#endif
