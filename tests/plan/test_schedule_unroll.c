// Schedules with an operation for every layer.
#include "tests/check.h"

#include "model/plan/schedule_unroll.h"
#include "tests/plan/hand_schedule.h"
#include "tests/plan/lower_plans.h"

static Schedule unroll(const Schedule *schedule) {
    Schedule out = {0};
    Err err = {0};
    check_ok(schedule_unroll_layers(schedule, &out, &err), &err);
    return out;
}

// A block of two operations three times: the second waits for the first of its own instance, the
// first for the second of the one before: of the third when it is the first.
static void test_schedule_unroll_waits_for_the_latest_instance(void **state) {
    (void)state;
    Schedule schedule;
    schedule_init(&schedule, "loop", 1);
    RoleId role = schedule_add_role(&schedule, "all", (RankSet){.count = 1, .repeat = 1}, 2);
    BlockId block = schedule_add_block(&schedule, role, "layer");
    Op op = {.kind = OP_MEMORY, .name = "a"};
    schedule_add_op(&schedule, &op);
    schedule_add_wait(&schedule, 1);
    op.name = "b";
    schedule_add_op(&schedule, &op);
    schedule_add_wait(&schedule, 0);
    schedule_add_segment(&schedule, role, block, 3);
    schedule_finish(&schedule);
    Schedule out = unroll(&schedule);
    const OpId waits[] = {5, 0, 1, 2, 3, 4};
    assert_int_equal(out.op_count, 6);
    assert_int_equal(out.segment_count, 3);
    for (OpId o = 0; o < 6; o++) assert_int_equal(out.waits[out.ops[o].first_wait], waits[o]);
    assert_string_equal(out.blocks[2].name, "layer, 2");
    assert_int_equal(out.roles[0].passes, 2);
    schedule_free(&out);
    schedule_free(&schedule);
}

// DeepSeek-V3 has 3 dense layers and 58 with experts; on two stages 31 and 30 layers, so that the
// second stage begins with MoE layer 28. Each has a dispatch of its own.
static void test_schedule_unroll_numbers_the_moe_layers(void **state) {
    (void)state;
    Arch arch = lower_plans_load(DEEPSEEK);
    Plan plan = lower_plans_make(1, 2, 8, 8);
    Schedule schedule = lower_plans_lower(&plan, &arch, PHASE_DECODE, 2), out = unroll(&schedule);
    StepShape shape = step_shape_decode(16, 1024);
    Err err = {0};
    check_ok(schedule_check(&out, &shape, &err), &err);
    uint32_t next[2] = {0, 28};
    for (OpId o = 0; o < out.op_count; o++) {
        if (out.ops[o].kind != OP_COLLECTIVE || out.ops[o].comm.split != SPLIT_BY_DESTINATION)
            continue;
        uint32_t stage = schedule_op_role(&out, o);
        assert_int_equal(out.ops[o].comm.moe_layer, next[stage]++);
    }
    assert_int_equal(next[0], 28);
    assert_int_equal(next[1], 58);
    for (RoleId r = 0; r < out.role_count; r++)
        assert_int_equal(schedule_peak_B(&out, r, &shape), schedule_peak_B(&schedule, r, &shape));
    schedule_free(&out);
    schedule_free(&schedule);
    arch_free(&arch);
}

static void test_schedule_unroll_refuses_shared_channels_and_size(void **state) {
    (void)state;
    Schedule schedule, out = {0};
    Err err = {0};
    schedule_init(&schedule, "loop", 1);
    RoleId role = schedule_add_role(&schedule, "all", (RankSet){.count = 1, .repeat = 1}, 1);
    BlockId block = schedule_add_block(&schedule, role, "layer");
    Op op = {.kind = OP_COLLECTIVE, .name = "sum", .comm.channel = 7};
    schedule_add_op(&schedule, &op);
    schedule_add_op(&schedule, &op);
    schedule_add_segment(&schedule, role, block, UINT32_MAX);
    check_fails(schedule_unroll_layers(&schedule, &out, &err), &err,
                "collective \"sum\" of role \"all\" shares its channel with another of its role");
    schedule.ops[1].comm.channel = 8;
    check_fails(schedule_unroll_layers(&schedule, &out, &err), &err,
                "one by one the layers have 12884901885 operations, at most 262144");
    schedule_free(&schedule);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedule_unroll_waits_for_the_latest_instance),
        cmocka_unit_test(test_schedule_unroll_numbers_the_moe_layers),
        cmocka_unit_test(test_schedule_unroll_refuses_shared_channels_and_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
