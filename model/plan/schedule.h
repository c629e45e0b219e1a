// What every rank does, in order: the value that the simulator prices and the back ends run.
// Symbolic: one program per role (a set of ranks with equal work), groups as families, repeated
// blocks; sizes are linear in a StepShape. Nothing here grows with the number of ranks.
//
// A role runs `passes` times its program: segments, each a block repeated. A block is a list of
// operations in issue order. An operation runs when the operation before it on its stream has ended
// and the latest earlier instance of each operation that it waits for has ended (the rule of CUDA
// streams and events: record, then wait for the latest record; nothing recorded yet means no wait,
// so a wait on an operation further down is one on its instance of the iteration or pass before).
// Communication also waits for its partners: instance k of a collective in one role meets instance
// k in the others; a receive meets the send of `lag` passes earlier (for the first `lag` passes it
// does not wait: the data is there from the step before).
#ifndef MODEL_PLAN_SCHEDULE_H
#define MODEL_PLAN_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/hash.h"
#include "model/base/mem.h"
#include "model/base/text.h"
#include "model/plan/schedule_op.h"
#include "model/plan/schedule_ranks.h"

#define SCHEDULE_VERSION     1
#define SCHEDULE_STREAMS_MAX 8
#define SCHEDULE_RANKS_MAX   (UINT32_C(1) << 20) // that schedule_check looks at one by one

typedef struct Role {
    const char *name; // "stage 0", "stage 0, 13 experts"
    RankSet ranks;
    uint32_t passes;
    uint32_t first_segment, segment_count;
} Role;

// Lives for the whole step, or inside one block instance.
#define BUFFER_LIFE_LIST(X) X(STEP, "step") X(BLOCK, "block")
typedef enum BufferLife {
#define X(name, text) BUFFER_##name,
    BUFFER_LIFE_LIST(X)
#undef X
        BUFFER_LIFE_COUNT
} BufferLife;
extern const char *const schedule_life_names[BUFFER_LIFE_COUNT];

typedef struct Buffer {
    const char *name;
    RoleId role;
    NumFmt format;
    BufferLife life;
    Extent bytes;
} Buffer;

typedef struct Block {
    const char *name; // "layers kda + moe"
    RoleId role;
    uint32_t first_op, op_count; // operations of a block are consecutive
} Block;

typedef struct Segment {
    BlockId block;
    uint32_t repeat;
} Segment;

// A zeroed Schedule is empty. Built by the functions below, then frozen by schedule_finish. Names
// are copied; arrays are heap memory, freed by schedule_free.
typedef struct Schedule {
    Arena arena;
    const char *name; // "decode", "prefill"
    uint32_t rank_count;
    uint32_t stream_count; // one more than the highest stream of an operation
    Role *roles;
    uint32_t role_count, role_capacity;
    GroupFamily *groups;
    uint32_t group_count, group_capacity;
    Buffer *buffers;
    uint32_t buffer_count, buffer_capacity;
    Block *blocks;
    uint32_t block_count, block_capacity;
    Segment *segments;
    uint32_t segment_count, segment_capacity;
    Op *ops;
    uint32_t op_count, op_capacity;
    OpId *waits;
    uint32_t wait_count, wait_capacity;
    Slice *slices;
    uint32_t slice_count, slice_capacity;
    Digest digest; // set by schedule_finish
} Schedule;

void schedule_init(Schedule *schedule, const char *name, uint32_t rank_count);
RoleId schedule_add_role(Schedule *schedule, const char *name, RankSet ranks, uint32_t passes);
GroupId schedule_add_group(Schedule *schedule, const GroupFamily *family);
BufferId schedule_add_buffer(Schedule *schedule, const Buffer *buffer);
BlockId schedule_add_block(Schedule *schedule, RoleId role, const char *name);
// Adds to the block added last. Kind, class, name, stream, compute and comm are taken from `op`;
// waits and slices follow by the next two.
OpId schedule_add_op(Schedule *schedule, const Op *op);
void schedule_add_wait(Schedule *schedule, OpId on);             // to the operation added last
void schedule_add_slice(Schedule *schedule, const Slice *slice); // to the operation added last
// Appends to the program of the role; segments of one role are added together.
void schedule_add_segment(Schedule *schedule, RoleId role, BlockId block, uint32_t repeat);
void schedule_finish(Schedule *schedule); // computes the digest
// The same schedule with so many passes of every role, and so another digest.
void schedule_set_passes(Schedule *schedule, uint32_t passes);
void schedule_free(Schedule *schedule);

// Proves: indices in range, ranks covered once, collectives over all of a role's ranks, collectives
// and sends matched in kind, size and count, no deadlock (an abstract run of all roles ends, even
// where a send without lag ends only after its receive was reached; otherwise it names what waits
// for what), no two overlapping accesses (one a write) of one role that its streams and waits leave
// unordered, slices inside their buffers and sizes that do not saturate for `largest`.
bool schedule_check(const Schedule *schedule, const StepShape *largest, Err *err);

// The part of schedule_check that needs no shape and no run: what schedule_parse guarantees.
bool schedule_check_structure(const Schedule *schedule, Err *err);

// Peak of the live bytes of the buffer table of one role for a shape: the buffers that live for the
// step, and the largest sum in a block of those that live inside it, from their first access to the
// first operation that is ordered after all of them.
uint64_t schedule_peak_B(const Schedule *schedule, RoleId role, const StepShape *shape);

uint32_t schedule_set_size(const RankSet *ranks);
uint32_t schedule_role_size(const Schedule *schedule, RoleId role); // ranks of the role
uint32_t schedule_rank_at(const RankSet *ranks, uint32_t index);    // member `index` of the set
bool schedule_set_index(const RankSet *ranks, uint32_t rank, uint32_t *out_index);
RoleId schedule_role_of(const Schedule *schedule, uint32_t rank); // SCHEDULE_NONE: in none
static inline RoleId schedule_op_role(const Schedule *schedule, OpId op) {
    return schedule->blocks[schedule->ops[op].block].role;
}
// Member j of a group; and the group and position of a rank in a family (false when it is in none).
uint32_t schedule_group_member(const GroupFamily *family, uint32_t group, uint32_t j);
bool schedule_group_of(const GroupFamily *family, uint32_t rank, uint32_t *out_group,
                       uint32_t *out_position);

// `collective "dispatch" of role "a"`, for messages; `buffer` has at least SCHEDULE_TEXT_MAX bytes.
#define SCHEDULE_TEXT_MAX (3 * TEXT_QUOTE_MAX + 64)
char *schedule_op_text(const Schedule *schedule, OpId op, char *buffer);

void schedule_print(const Schedule *schedule, Text *out); // for people
void schedule_write(const Schedule *schedule, Text *out); // JSON; reads back to the same digest
bool schedule_read(const char *path, Schedule *out, Err *err);
bool schedule_parse(const char *name, const char *bytes, size_t count, Schedule *out, Err *err);

#endif
