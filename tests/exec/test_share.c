// Room for what a load gives the ranks of a forced run, before it runs.
#include "tests/check.h"

#include "exec/job.h"
#include "exec/share.h"
#include "tests/plan/hand_schedule.h"

static const StepShape one_token = {1, 1, 1, 1};

static Load load_of(uint32_t sources, uint32_t experts, const uint64_t *tokens) {
    Load load = {0};
    Err err = {0};
    check_ok(load_of_counts(1, sources, experts, tokens, "test", &load, &err), &err);
    return load;
}

// All tokens to the first of 100 experts, on rank 0.
static Load all_to_the_first(void) {
    uint64_t tokens[100] = {9};
    return load_of(1, 100, tokens);
}

// ---- Traffic

// 24 elements of 4 bytes on each of 8 ranks. Rank 0 gets all 192 of them, 768 bytes, where 25 were
// scheduled for it; room is made on all ranks of its role, for what comes and for what goes back.
// The others keep the 96 bytes that they were scheduled to have, and tokens stay where they are.
static void test_share_makes_room_on_the_role_of_the_rank_with_most(void **state) {
    (void)state;
    Schedule schedule;
    Load load = all_to_the_first();
    Job job;
    Err err = {0};
    hand_experts(24, &schedule);
    check_ok(job_open(&schedule, &one_token, &load, &job, &err), &err);
    const uint64_t want_B[] = {96, 768, 96, 96, 96, 96};
    for (BufferId id = 0; id < 6; id++) assert_int_equal(job.size_B[id], want_B[id]);
    assert_int_equal(job.slices[job.sides[0].output].count, 768);
    assert_int_equal(job.slices[job.sides[1].input].count, 768);
    assert_int_equal(job.slices[job.sides[0].input].count, 96);
    assert_int_equal(job.slices[job.sides[2].output].count, 96);
    job_close(&job);
    load_free(&load);
    schedule_free(&schedule);
}

// 2^24 elements a rank, 64 MiB. An even load takes about 161 x 2^24 bytes, which a process may
// have. Of the skewed one a rank of role 0 has 64 MiB of tokens, 512 MiB of what came and 64 MiB of
// results, twice 512 MiB + 32 beside them, 192 of shares and 32 of counts: 1744830752. One of role
// 1 has 64 + 61.4 + 64 MiB and 2 (64 MiB + 32) + 224 beside: 332860256. Four of each are
// 8310764032.
static void test_share_counts_the_room_that_it_makes(void **state) {
    (void)state;
    const uint32_t ranks[] = {0, 1, 2, 3, 4, 5, 6, 7};
    Schedule schedule;
    Load even = load_uniform(), load = all_to_the_first();
    Job job;
    Err err = {0};
    hand_experts(UINT64_C(1) << 24, &schedule);
    check_ok(job_open(&schedule, &one_token, &even, &job, &err), &err);
    check_ok(job_check_memory(&job, job.size_B, ranks, 8, 0, "", &err), &err);
    // 160 x 2^24 + 784 bytes, and what a compute unit holds: the sum does not wrap at 64 bits
    check_fails(job_check_memory(&job, job.size_B, ranks, 8, UINT64_MAX, "", &err), &err,
                "the run needs 18446744076393906959 bytes of memory on 8 ranks together, "
                "at most 4294967296");
    job_close(&job);
    check_ok(job_open(&schedule, &one_token, &load, &job, &err), &err);
    check_fails(job_check_memory(&job, job.size_B, ranks, 8, 0, "", &err), &err,
                "the run needs 8310764032 bytes of memory on 8 ranks together, at most 4294967296");
    job_close(&job);
    load_free(&load);
    schedule_free(&schedule);
}

// ---- Slices of one buffer

// One role of 2 ranks with an expert each: 4 elements of 4 bytes of a rank are dispatched into 16
// bytes at byte 8 of a buffer of 40. Another operation reads a slice of that buffer.
static void make_beside(uint64_t offset, uint64_t bytes, Schedule *out) {
    schedule_init(out, "beside", 2);
    RankSet ranks = {.count = 2, .repeat = 1};
    RoleId role = schedule_add_role(out, "all", ranks, 1);
    GroupFamily family = {.name = "ep", .size = 2, .stride = 1, .count = 1};
    GroupId group = schedule_add_group(out, &family);
    hand_buffer(out, role, "tokens", 16);
    hand_buffer(out, role, "received", 40);
    BlockId block = schedule_add_block(out, role, "block");
    Op op = {.kind = OP_COLLECTIVE, .op_class = OP_CLASS_DISPATCH, .name = "dispatch"};
    op.comm = (Comm){.collective = COLLECTIVE_ALL_TO_ALL,
                     .algorithm = ALGORITHM_DIRECT,
                     .group = group,
                     .bytes = extent_fixed(16),
                     .split = SPLIT_BY_DESTINATION,
                     .experts = 1,
                     .experts_total = 2,
                     .element = 4,
                     .format = NUMFMT_F32};
    schedule_add_op(out, &op);
    hand_slice(out, 0, SLICE_READ, 0, 16);
    hand_slice(out, 1, SLICE_WRITE, 8, 16);
    hand_memory(out, "read", 0);
    hand_slice(out, 1, SLICE_READ, offset, bytes);
    schedule_add_segment(out, role, block, 1);
    schedule_finish(out);
}

// Rank 0 gets all 8 elements, 32 bytes from byte 8 on: they fit the buffer. A slice around them
// ends with them or where it did, one before them or inside stays.
static void test_share_grows_slices_around_one_that_grows(void **state) {
    (void)state;
    const struct {
        uint64_t first, bytes, want;
    } cases[] = {{8, 16, 32}, {0, 24, 40}, {0, 40, 40}, {0, 8, 8}, {8, 4, 4}, {12, 12, 12}};
    const uint64_t tokens[2] = {1, 0};
    Load load = load_of(1, 2, tokens);
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Schedule schedule;
        Job job;
        Err err = {0};
        make_beside(cases[i].first, cases[i].bytes, &schedule);
        check_ok(job_open(&schedule, &one_token, &load, &job, &err), &err);
        assert_int_equal(job.slices[1].count, 32);
        assert_int_equal(job.slices[2].first, cases[i].first);
        assert_int_equal(job.slices[2].count, cases[i].want);
        assert_int_equal(job.size_B[1], 40);
        job_close(&job);
        schedule_free(&schedule);
    }
    load_free(&load);
}

// Bytes that lie behind, or reach behind, would be written over.
static void test_share_refuses_to_grow_over_what_lies_behind(void **state) {
    (void)state;
    const uint64_t firsts[] = {24, 32, 20}, tokens[2] = {1, 0}, even[2] = {5, 5};
    Load load = load_of(1, 2, tokens), recorded = load_of(1, 2, even);
    for (uint32_t i = 0; i < 3; i++) {
        Schedule schedule;
        Job job;
        Err err = {0};
        make_beside(firsts[i], 8, &schedule);
        check_ok(job_open(&schedule, &one_token, &recorded, &job, &err), &err);
        job_close(&job);
        check_fails(job_open(&schedule, &one_token, &load, &job, &err), &err,
                    "collective \"dispatch\" of role \"all\": the load gives a rank 32 bytes, its "
                    "slice has 16 and cannot grow: another slice lies behind it in buffer "
                    "\"received\"");
        schedule_free(&schedule);
    }
    load_free(&recorded);
    load_free(&load);
}

// ---- Experts

// Where the rows of the products below are: sent to their experts, or there from the start.
typedef enum Way { WAY_SENT, WAY_THERE, WAY_COUNT } Way;

static void add_dispatch(Schedule *schedule, GroupId group) {
    Op op = {.kind = OP_COLLECTIVE, .op_class = OP_CLASS_DISPATCH, .name = "dispatch"};
    op.comm = (Comm){.collective = COLLECTIVE_ALL_TO_ALL,
                     .algorithm = ALGORITHM_DIRECT,
                     .group = group,
                     .bytes = extent_fixed(32),
                     .split = SPLIT_BY_DESTINATION,
                     .experts = 2,
                     .experts_total = 4,
                     .element = 4,
                     .format = NUMFMT_F32};
    schedule_add_op(schedule, &op);
    hand_slice(schedule, 0, SLICE_READ, 0, 32);
    hand_slice(schedule, 1, SLICE_WRITE, 0, 32);
}

// Reads a buffer and writes the next one.
static void add_product(Schedule *schedule, OpWork work, uint32_t n, uint32_t k, BufferId buffer) {
    Op op = {.kind = OP_GROUPED_GEMM, .op_class = OP_CLASS_EXPERTS, .name = "product"};
    op.compute = (Compute){.m = extent_fixed(16),
                           .n = n,
                           .k = k,
                           .batch = 1,
                           .weight_format = NUMFMT_F32,
                           .math_format = NUMFMT_F32,
                           .experts = 2,
                           .experts_total = 4,
                           .work = work};
    schedule_add_op(schedule, &op);
    hand_slice(schedule, buffer, SLICE_READ, 0, (uint64_t)32 * k);
    hand_slice(schedule, buffer + 1, SLICE_WRITE, 0, (uint64_t)32 * n);
}

// 2 ranks with 2 experts each; their products work on 16 rows together, 8 when the load is even: in
// bytes 8 x 3 x 4 = 96 of what the first product writes, 8 x 2 x 4 = 64 of what the second one
// reads. 8 elements of a rank are sent to them, one for each row.
static void make_products(Way way, Schedule *out) {
    const uint64_t sizes_B[] = {32, 32, 96, 64, 32};
    schedule_init(out, "products", 2);
    RankSet ranks = {.count = 2, .repeat = 1};
    RoleId role = schedule_add_role(out, "all", ranks, 1);
    GroupFamily family = {.name = "ep", .size = 2, .stride = 1, .count = 1};
    GroupId group = schedule_add_group(out, &family);
    for (uint32_t i = 0; i < 5; i++) hand_buffer(out, role, "buffer", sizes_B[i]);
    BlockId block = schedule_add_block(out, role, "block");
    if (way == WAY_SENT) add_dispatch(out, group);
    add_product(out, WORK_EXPERTS_GATE_UP, 3, 1, 1);
    hand_memory(out, "activation", 0);
    hand_slice(out, 2, SLICE_READ, 0, 96);
    hand_slice(out, 3, SLICE_WRITE, 0, 64);
    add_product(out, WORK_EXPERTS_DOWN, 1, 2, 3);
    schedule_add_segment(out, role, block, 1);
    schedule_finish(out);
}

// Experts of rank 0 get 3 of 4 rows, 12: 12 x 12, 12 x 8 and 12 x 4 bytes. What the first product
// reads has room for 12 rows where they travel, and where all tokens are there it stays.
static void test_share_makes_room_for_the_rows_of_experts(void **state) {
    (void)state;
    const uint64_t tokens[4] = {2, 1, 1, 0};
    const uint64_t want_B[WAY_COUNT][5] = {{32, 48, 144, 96, 48}, {32, 32, 144, 96, 48}};
    Load load = load_of(1, 4, tokens);
    for (uint32_t way = 0; way < WAY_COUNT; way++) {
        Schedule schedule;
        Job job;
        Err err = {0};
        make_products((Way)way, &schedule);
        check_ok(job_open(&schedule, &one_token, &load, &job, &err), &err);
        for (BufferId id = 0; id < 5; id++) assert_int_equal(job.size_B[id], want_B[way][id]);
        for (uint32_t i = 0; i < schedule.slice_count; i++)
            assert_int_equal(job.slices[i].count, job.size_B[schedule.slices[i].buffer]);
        job_close(&job);
        schedule_free(&schedule);
    }
    load_free(&load);
}

// Rank 0 sends all 8 of its rows to rank 1, and rank 1 half of its: 4 + 8 are on rank 1. All tokens
// of the load together say that 9 of 10 go there, which would be 14.4 rows: each rank deals its
// own.
static void test_share_deals_the_rows_of_each_source(void **state) {
    (void)state;
    const uint64_t tokens[8] = {0, 0, 8, 0, 1, 0, 0, 1};
    Schedule schedule;
    Load load = load_of(2, 4, tokens);
    Job job;
    Err err = {0};
    make_products(WAY_SENT, &schedule);
    check_ok(job_open(&schedule, &one_token, &load, &job, &err), &err);
    assert_int_equal(job.size_B[1], 4 * 12);
    assert_int_equal(job.size_B[2], 12 * 12);
    job_close(&job);
    load_free(&load);
    schedule_free(&schedule);
}

// ---- Shapes that cannot be

static void test_job_refuses_shapes_that_cannot_be(void **state) {
    (void)state;
    const struct {
        StepShape shape;
        const char *message;
    } rows[] = {
        {{4, 5, 8, 8}, "a step of 4 tokens in 5 sequences, expected a token for each"},
        {{16, 4, 160, 2561},
         "2561 qk pairs, expected at most the 2560 of 16 tokens and 160 kv tokens"},
        {{0, 0, 160, 1}, "1 qk pairs, expected at most the 0 of 0 tokens and 160 kv tokens"},
    };
    Schedule schedule;
    Load load = load_uniform();
    Job job;
    hand_experts(24, &schedule);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        Err err = {0};
        check_fails(job_open(&schedule, &rows[i].shape, &load, &job, &err), &err, rows[i].message);
    }
    const StepShape all = {16, 4, 160, 2560};
    Err err = {0};
    check_ok(job_open(&schedule, &all, &load, &job, &err), &err);
    job_close(&job);
    schedule_free(&schedule);
}

// ---- What would take too long

// Each rank of `ranks` has an expert, and sends one element `times` times.
static void make_many(uint32_t ranks, uint32_t times, Schedule *out) {
    schedule_init(out, "many", ranks);
    RankSet all = {.count = ranks, .repeat = 1};
    RoleId role = schedule_add_role(out, "all", all, 1);
    GroupFamily family = {.name = "ep", .size = ranks, .stride = 1, .count = 1};
    GroupId group = schedule_add_group(out, &family);
    hand_buffer(out, role, "tokens", 4);
    hand_buffer(out, role, "received", 4);
    BlockId block = schedule_add_block(out, role, "block");
    Op op = {.kind = OP_COLLECTIVE, .op_class = OP_CLASS_DISPATCH, .name = "dispatch"};
    op.comm = (Comm){.collective = COLLECTIVE_ALL_TO_ALL,
                     .algorithm = ALGORITHM_DIRECT,
                     .group = group,
                     .bytes = extent_fixed(4),
                     .split = SPLIT_BY_DESTINATION,
                     .experts = 1,
                     .experts_total = ranks,
                     .element = 4,
                     .format = NUMFMT_F32};
    for (uint32_t i = 0; i < times; i++) {
        op.comm.channel = i;
        schedule_add_op(out, &op);
        hand_slice(out, 0, SLICE_READ, 0, 4);
        hand_slice(out, 1, SLICE_WRITE, 0, 4);
    }
    schedule_add_segment(out, role, block, 1);
    schedule_finish(out);
}

// 2048 ranks and as many sources are 2^22 shares; to fill and to sum up those of 4 operations
// takes 2 x 4 x 2^22 = 2^25 steps, and something to find the ranks.
static void test_share_refuses_what_takes_too_long_to_deal(void **state) {
    (void)state;
    enum { RANKS = 2048 };
    uint64_t *tokens = mem_alloc((size_t)RANKS * RANKS, sizeof *tokens);
    for (uint32_t i = 0; i < RANKS * RANKS; i++) tokens[i] = 1;
    Load load = load_of(RANKS, RANKS, tokens);
    Schedule schedule;
    Job job;
    Err err = {0};
    make_many(RANKS, 4, &schedule);
    check_fails(job_open(&schedule, &one_token, &load, &job, &err), &err,
                "collective \"dispatch\" of role \"all\": dealing the load to all ranks takes more "
                "than 33554432 steps");
    load_free(&load);
    mem_free(tokens);
    schedule_free(&schedule);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_share_makes_room_on_the_role_of_the_rank_with_most),
        cmocka_unit_test(test_share_counts_the_room_that_it_makes),
        cmocka_unit_test(test_share_grows_slices_around_one_that_grows),
        cmocka_unit_test(test_share_refuses_to_grow_over_what_lies_behind),
        cmocka_unit_test(test_share_makes_room_for_the_rows_of_experts),
        cmocka_unit_test(test_share_deals_the_rows_of_each_source),
        cmocka_unit_test(test_job_refuses_shapes_that_cannot_be),
        cmocka_unit_test(test_share_refuses_what_takes_too_long_to_deal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
