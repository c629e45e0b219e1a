// Lowered plans as a whole: schedule_check finds no fault in any legal plan.
#include "tests/check.h"

#include "tests/plan/lower_plans.h"

// ---- Every legal plan of up to 8 GPUs, and wide ones, is a sound schedule for odd and even
// numbers of tokens.

static void check_sound(const Plan *plan, const Arch *arch) {
    const StepShape decode[] = {step_shape_decode(64, 4096), step_shape_decode(1, 10),
                                step_shape_decode(37, 999)};
    const StepShape prefill[] = {step_shape_prefill(8192, 0), step_shape_prefill(777, 3000)};
    Err err = {{0}};
    Schedule schedule = lower_plans_lower(plan, arch, PHASE_DECODE, 2);
    for (uint32_t i = 0; i < 3; i++) check_ok(schedule_check(&schedule, &decode[i], &err), &err);
    schedule_free(&schedule);
    schedule = lower_plans_lower(plan, arch, PHASE_PREFILL, 2);
    for (uint32_t i = 0; i < 2; i++) check_ok(schedule_check(&schedule, &prefill[i], &err), &err);
    schedule_free(&schedule);
}

// What may lie beside an all-to-all: nothing, another half of the tokens, parts of them.
static void check_overlaps(const Plan *plan, const Arch *arch) {
    static const struct {
        Overlap overlap;
        uint32_t chunks;
    } ways[] = {{OVERLAP_NONE, 0}, {OVERLAP_TWO_BATCH, 0}, {OVERLAP_SHARED, 3}, {OVERLAP_NONE, 2}};
    for (uint32_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        Plan other = *plan;
        Err err = {{0}};
        other.pools[0].prefill_overlap = other.pools[0].decode_overlap = ways[i].overlap;
        other.pools[0].moe_chunks = ways[i].chunks;
        if (plan_legal(&other, arch, &err)) check_sound(&other, arch);
    }
}

// The three ways to reach experts and one or two replicas of each cut.
static uint32_t check_variants(Plan plan, const Arch *arch) {
    uint32_t checked = 0;
    for (uint32_t replicas = 1; replicas <= 2; replicas++) {
        for (int comm = 0; comm < MOE_COMM_COUNT; comm++) {
            Err err = {{0}};
            plan.pools[0].replicas = replicas;
            plan.pools[0].moe_comm = (MoeComm)comm;
            if (!plan_legal(&plan, arch, &err)) continue;
            check_sound(&plan, arch);
            if (replicas == 1) check_overlaps(&plan, arch);
            checked++;
            Plan more = plan;
            if (lower_plans_add_replicas(&more, arch)) check_sound(&more, arch);
        }
    }
    return checked;
}

static uint32_t check_small(const Arch *arch, uint32_t gpus) {
    uint32_t checked = 0;
    for (uint32_t tp = 1; tp <= gpus; tp++) {
        for (uint32_t dp = 1; tp * dp <= gpus; dp++) {
            for (uint32_t pp = 1; tp * dp * pp <= gpus; pp++) {
                for (uint32_t ep = 1; ep <= tp * dp; ep++) {
                    if (tp * dp % ep == 0)
                        checked += check_variants(lower_plans_make(tp, pp, dp, ep), arch);
                }
            }
        }
    }
    return checked;
}

static void test_lower_sound_every_small_plan_is_sound(void **state) {
    (void)state;
    static const char *const models[] = {DEEPSEEK, KIMI, QWEN, NEMOTRON, LONGCAT, JAMBA};
    for (uint32_t i = 0; i < sizeof models / sizeof *models; i++) {
        Arch arch = lower_plans_load(models[i]);
        assert_true(check_small(&arch, 8) > 50);
        arch_free(&arch);
    }
}

static void test_lower_sound_wide_plans_are_sound(void **state) {
    (void)state;
    static const uint32_t plans[][4] = {{4, 1, 18, 72}, {1, 1, 72, 72}, {2, 1, 36, 24},
                                        {1, 2, 36, 36}, {8, 1, 9, 36},  {8, 9, 1, 8}};
    Arch arch = lower_plans_load(KIMI);
    for (uint32_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        Plan plan = lower_plans_make(plans[i][0], plans[i][1], plans[i][2], plans[i][3]);
        assert_true(check_variants(plan, &arch) > 0);
    }
    arch_free(&arch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lower_sound_every_small_plan_is_sound),
        cmocka_unit_test(test_lower_sound_wide_plans_are_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
