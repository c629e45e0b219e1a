// Building schedules: sets of ranks, groups, instances, digest, peak, text form.
#include "tests/check.h"

#include "model/plan/schedule.h"
#include "model/plan/schedule_index.h"
#include "tests/plan/hand_schedule.h"

static const StepShape one_token = {.tokens = 1, .sequences = 1, .kv_tokens = 1, .qk_pairs = 1};

// ---- Ranks

// Ranks 2, 3, 10, 11, 18, 19: two at a time, every 8, three times.
static void test_schedule_sets_of_ranks_are_formulas(void **state) {
    (void)state;
    RankSet set = {.first = 2, .count = 2, .period = 8, .repeat = 3};
    const uint32_t ranks[] = {2, 3, 10, 11, 18, 19};
    uint32_t index;
    assert_int_equal(schedule_set_size(&set), 6);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(schedule_rank_at(&set, i), ranks[i]);
        assert_true(schedule_set_index(&set, ranks[i], &index) && index == i);
    }
    assert_false(schedule_set_index(&set, 4, &index));
    assert_false(schedule_set_index(&set, 26, &index));
    assert_false(schedule_set_index(&set, 1, &index));
}

// The period of a set that does not repeat means nothing: ranks 0 to 3, whatever it is.
static void test_schedule_set_without_repeat_has_no_period(void **state) {
    (void)state;
    RankSet set = {.count = 4, .period = 1, .repeat = 1};
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t index;
        assert_int_equal(schedule_rank_at(&set, i), i);
        assert_true(schedule_set_index(&set, i, &index) && index == i);
    }
}

// 4 groups of 3 in 12 ranks with stride 2: {0,2,4}, {1,3,5}, {6,8,10}, {7,9,11}.
static void test_schedule_groups_with_a_stride(void **state) {
    (void)state;
    GroupFamily family = {.size = 3, .stride = 2, .count = 4};
    const uint32_t members[4][3] = {{0, 2, 4}, {1, 3, 5}, {6, 8, 10}, {7, 9, 11}};
    for (uint32_t g = 0; g < 4; g++) {
        for (uint32_t j = 0; j < 3; j++) {
            uint32_t group, position;
            assert_int_equal(schedule_group_member(&family, g, j), members[g][j]);
            assert_true(schedule_group_of(&family, members[g][j], &group, &position));
            assert_int_equal(group, g);
            assert_int_equal(position, j);
        }
    }
}

// One pair at the start of every 4 ranks from rank 1 on: {1,2}, {5,6}; rank 3 is in none.
static void test_schedule_groups_with_a_period(void **state) {
    (void)state;
    GroupFamily family = {
        .size = 2, .stride = 1, .count = 2, .first = 1, .period = 4, .per_period = 1};
    uint32_t group, position;
    assert_int_equal(schedule_group_member(&family, 1, 1), 6);
    assert_true(schedule_group_of(&family, 5, &group, &position) && group == 1 && position == 0);
    assert_false(schedule_group_of(&family, 3, &group, &position));
    assert_false(schedule_group_of(&family, 9, &group, &position));
}

static void test_schedule_finds_the_role_of_a_rank(void **state) {
    (void)state;
    Schedule schedule;
    hand_experts(8, &schedule);
    assert_int_equal(schedule_role_of(&schedule, 3), 0);
    assert_int_equal(schedule_role_of(&schedule, 4), 1);
    assert_int_equal(schedule_role_of(&schedule, 8), SCHEDULE_NONE);
    schedule_free(&schedule);
}

// ---- Instances

// Two blocks a and b; the program a x 2, b, a, run twice. On stream 0: a0 a0 b0 a0, a0 a0 b0 a0.
// Each instance of b0 has 2 (first pass) or 3 + 2 (second) of a0 before it; the last a0 has 2 of
// b0.
static void test_schedule_index_counts_what_was_issued_before(void **state) {
    (void)state;
    Schedule schedule;
    ScheduleIndex index;
    schedule_init(&schedule, "two blocks", 1);
    RankSet ranks = {.count = 1, .repeat = 1};
    RoleId role = schedule_add_role(&schedule, "all", ranks, 2);
    BlockId a = schedule_add_block(&schedule, role, "a");
    OpId a0 = hand_memory(&schedule, "a0", 0);
    BlockId b = schedule_add_block(&schedule, role, "b");
    OpId b0 = hand_memory(&schedule, "b0", 0);
    schedule_add_segment(&schedule, role, a, 2);
    schedule_add_segment(&schedule, role, b, 1);
    schedule_add_segment(&schedule, role, a, 1);
    schedule_finish(&schedule);
    schedule_index_build(&index, &schedule, UINT32_MAX, UINT32_MAX);
    const OpId order[] = {a0, a0, b0, a0, a0, a0, b0, a0};
    const uint64_t a_before[] = {0, 1, 2, 2, 3, 4, 5, 5}, b_before[] = {0, 0, 0, 1, 1, 1, 1, 2};
    ScheduleCursor cursor = schedule_index_start(&index, role, 0);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(cursor.op, order[i]);
        assert_int_equal(schedule_index_earlier(&index, &cursor, a0), a_before[i]);
        assert_int_equal(schedule_index_earlier(&index, &cursor, b0), b_before[i]);
        schedule_index_next(&index, &cursor);
    }
    assert_int_equal(cursor.op, SCHEDULE_NONE);
    assert_int_equal(schedule_index_start(&index, role, 1).op, SCHEDULE_NONE);
    assert_int_equal(schedule_index_total(&index), 8);
    schedule_index_free(&index);
    schedule_free(&schedule);
}

// A wait on an operation further down is one on its instance of the iteration before: in iteration
// 3 (counted from 0) three of them were issued.
static void test_schedule_index_looks_back_across_iterations(void **state) {
    (void)state;
    Schedule schedule;
    ScheduleIndex index;
    schedule_init(&schedule, "loop", 1);
    RankSet ranks = {.count = 1, .repeat = 1};
    RoleId role = schedule_add_role(&schedule, "all", ranks, 1);
    BlockId block = schedule_add_block(&schedule, role, "layer");
    OpId first = hand_memory(&schedule, "first", 0), second = hand_memory(&schedule, "second", 1);
    schedule_add_segment(&schedule, role, block, 5);
    schedule_finish(&schedule);
    schedule_index_build(&index, &schedule, UINT32_MAX, UINT32_MAX);
    ScheduleCursor cursor = schedule_index_start(&index, role, 0);
    for (uint32_t i = 0; i < 3; i++) schedule_index_next(&index, &cursor);
    assert_int_equal(schedule_index_earlier(&index, &cursor, second), 3);
    assert_int_equal(schedule_index_earlier(&index, &cursor, first), 3); // its own number
    cursor = schedule_index_start(&index, role, 1);
    assert_int_equal(schedule_index_earlier(&index, &cursor, first), 1);
    schedule_index_free(&index);
    schedule_free(&schedule);
}

// ---- Digest

static void test_schedule_digest_is_of_the_meaning(void **state) {
    (void)state;
    Schedule a, b, c;
    hand_ring(3, 2, &a);
    hand_ring(3, 2, &b);
    hand_ring(3, 1, &c);
    assert_true(a.digest == b.digest);
    assert_true(a.digest != c.digest);
    b.ops[0].comm.element = 77; // nothing that a receive has
    schedule_finish(&b);
    assert_true(a.digest == b.digest);
    schedule_free(&a);
    schedule_free(&b);
    schedule_free(&c);
    schedule_free(&c); // a freed schedule is empty
}

// ---- Peak

static BufferId block_buffer(Schedule *schedule, const char *name, Extent bytes) {
    Buffer buffer = {.name = name, .format = NUMFMT_BF16, .life = BUFFER_BLOCK, .bytes = bytes};
    return schedule_add_buffer(schedule, &buffer);
}

// A chain of three operations on one stream: x writes a (100), y reads a and writes b (10), z reads
// b and writes c (60). While y runs a and b live, 110; while z runs only b and c, 70. With the step
// buffer of 1000 the peak is 1110.
static void add_chain(Schedule *schedule, uint32_t stream_of_y) {
    schedule_init(schedule, "chain", 1);
    RankSet ranks = {.count = 1, .repeat = 1};
    RoleId role = schedule_add_role(schedule, "all", ranks, 1);
    hand_buffer(schedule, role, "whole step", 1000);
    BufferId a = block_buffer(schedule, "a", extent_tokens(100));
    BufferId b = block_buffer(schedule, "b", extent_fixed(10));
    BufferId c = block_buffer(schedule, "c", extent_fixed(60));
    BlockId block = schedule_add_block(schedule, role, "layer");
    OpId x = hand_memory(schedule, "x", 0);
    hand_slice(schedule, a, SLICE_WRITE, 0, 100);
    OpId y = hand_memory(schedule, "y", stream_of_y);
    schedule_add_wait(schedule, x);
    hand_slice(schedule, a, SLICE_READ, 0, 100);
    hand_slice(schedule, b, SLICE_WRITE, 0, 10);
    hand_memory(schedule, "z", 0);
    if (stream_of_y == 0) {
        schedule_add_wait(schedule, y);
        hand_slice(schedule, b, SLICE_READ, 0, 10);
    }
    hand_slice(schedule, c, SLICE_WRITE, 0, 60);
    schedule_add_segment(schedule, role, block, 3);
    schedule_finish(schedule);
}

static void test_schedule_peak_is_of_what_lives_at_once(void **state) {
    (void)state;
    Schedule schedule;
    StepShape two_tokens = {.tokens = 2, .sequences = 1, .kv_tokens = 2, .qk_pairs = 2};
    add_chain(&schedule, 0);
    assert_int_equal(schedule_peak_B(&schedule, 0, &one_token), 1000 + 110);
    assert_int_equal(schedule_peak_B(&schedule, 0, &two_tokens), 1000 + 210);
    schedule_free(&schedule);
}

// The same with y on another stream and z not waiting for it: a and b may still be in use while z
// runs, 100 + 10 + 60.
static void test_schedule_peak_counts_what_streams_leave_unordered(void **state) {
    (void)state;
    Schedule schedule;
    add_chain(&schedule, 1);
    assert_int_equal(schedule_peak_B(&schedule, 0, &one_token), 1000 + 170);
    schedule_free(&schedule);
}

// ---- Text

static void test_schedule_prints_for_people(void **state) {
    (void)state;
    Schedule schedule;
    Text text = {0};
    hand_experts(24, &schedule);
    schedule_print(&schedule, &text);
    check_golden(text_string(&text), "tests/golden/schedule_experts.txt");
    text_free(&text);
    schedule_free(&schedule);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedule_sets_of_ranks_are_formulas),
        cmocka_unit_test(test_schedule_set_without_repeat_has_no_period),
        cmocka_unit_test(test_schedule_groups_with_a_stride),
        cmocka_unit_test(test_schedule_groups_with_a_period),
        cmocka_unit_test(test_schedule_finds_the_role_of_a_rank),
        cmocka_unit_test(test_schedule_index_counts_what_was_issued_before),
        cmocka_unit_test(test_schedule_index_looks_back_across_iterations),
        cmocka_unit_test(test_schedule_digest_is_of_the_meaning),
        cmocka_unit_test(test_schedule_peak_is_of_what_lives_at_once),
        cmocka_unit_test(test_schedule_peak_counts_what_streams_leave_unordered),
        cmocka_unit_test(test_schedule_prints_for_people),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
