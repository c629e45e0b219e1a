// A collective alone as a schedule.
#include "tests/check.h"

#include "model/plan/schedule_one.h"

static Comm all_reduce(uint64_t bytes) {
    return (Comm){.collective = COLLECTIVE_ALL_REDUCE,
                  .algorithm = ALGORITHM_RING,
                  .group = 7, // is set anew
                  .bytes = extent_fixed(bytes),
                  .element = 1,
                  .format = NUMFMT_BF16};
}

static void check_operation(const Schedule *schedule) {
    assert_int_equal(schedule->op_count, 1);
    assert_int_equal(schedule->ops[0].kind, OP_COLLECTIVE);
    assert_int_equal(schedule->ops[0].comm.group, 0);
}

// One group of 4 neighbours: ranks 0 to 3.
static void test_schedule_one_has_the_ranks_of_a_group(void **state) {
    (void)state;
    GroupFamily family = {.name = "all", .size = 4, .stride = 1, .count = 1};
    Comm comm = all_reduce(64);
    Schedule schedule;
    schedule_one_collective(&family, &comm, &schedule);
    check_operation(&schedule);
    assert_int_equal(schedule.rank_count, 4);
    assert_int_equal(schedule_role_size(&schedule, 0), 4);
    assert_string_equal(schedule.ops[0].name, "all-reduce");
    schedule_free(&schedule);
}

// Two groups of 2 in every 8 ranks, from rank 4 on, in two periods: ranks 4 to 7 and 12 to 15, so
// that there are 16, of which half take part.
static void test_schedule_one_leaves_ranks_between_periods_out(void **state) {
    (void)state;
    GroupFamily family = {
        .name = "tp", .size = 2, .stride = 1, .count = 4, .first = 4, .period = 8, .per_period = 2};
    Comm comm = all_reduce(64);
    Schedule schedule;
    uint32_t index;
    schedule_one_collective(&family, &comm, &schedule);
    assert_int_equal(schedule.rank_count, 16);
    assert_int_equal(schedule_role_size(&schedule, 0), 8);
    assert_true(schedule_set_index(&schedule.roles[0].ranks, 12, &index));
    assert_int_equal(index, 4);
    assert_false(schedule_set_index(&schedule.roles[0].ranks, 8, &index));
    schedule_free(&schedule);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedule_one_has_the_ranks_of_a_group),
        cmocka_unit_test(test_schedule_one_leaves_ranks_between_periods_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
