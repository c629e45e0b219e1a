// Results of other processes: two ranks that send each other four bytes.
#include <stdint.h>
#include <stdlib.h>

#include "exec/result.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_rank(Schedule *schedule, RoleId role) {
    Buffer buffer = {.name = "b",
                     .role = role,
                     .format = NUMFMT_F32,
                     .life = BUFFER_STEP,
                     .bytes = extent_fixed(4)};
    BufferId id = schedule_add_buffer(schedule, &buffer);
    BlockId block = schedule_add_block(schedule, role, "block");
    Op op = {.kind = role == 0 ? OP_SEND : OP_RECV, .name = "op"};
    op.comm.peer = 1 - role;
    op.comm.bytes = extent_fixed(4);
    schedule_add_op(schedule, &op);
    Slice slice = {
        .buffer = id, .access = role == 0 ? SLICE_READ : SLICE_WRITE, .bytes = extent_fixed(4)};
    schedule_add_slice(schedule, &slice);
    schedule_add_segment(schedule, role, block, 1);
}

static void make_schedule(Schedule *out) {
    schedule_init(out, "pair", 2);
    schedule_add_role(out, "a", (RankSet){.first = 0, .count = 1, .repeat = 1}, 1);
    schedule_add_role(out, "b", (RankSet){.first = 1, .count = 1, .repeat = 1}, 1);
    add_rank(out, 0);
    add_rank(out, 1);
    schedule_finish(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Schedule schedule;
    StepShape shape = {.tokens = 1, .sequences = 1, .kv_tokens = 1, .qk_pairs = 1};
    Load load = load_uniform();
    Job job;
    InterpResult result;
    Err err = {0};
    make_schedule(&schedule);
    if (!job_open(&schedule, &shape, &load, &job, &err)) abort();
    ResultPart parts[2] = {{data, size / 2}, {data + size / 2, size - size / 2}};
    ResultPart whole = {data, size};
    if (result_merge(&job, 1, parts, 2, &result, &err)) interp_free(&result);
    if (result_merge(&job, 1, &whole, 1, &result, &err))
        interp_free(&result);
    else if (!err_is_set(&err))
        abort();
    job_close(&job);
    schedule_free(&schedule);
    return 0;
}
