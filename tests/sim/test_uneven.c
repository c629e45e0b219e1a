// Plans whose ranks lie unevenly over nodes are priced as exactly as others: by classes of ranks
// that are those of every rank, to the picosecond.
#include "tests/check.h"

#include "model/machine/topology_degrade.h"
#include "model/plan/plan_legal.h"
#include "model/plan/pool_place.h"
#include "sim/search/space.h"
#include "tests/plan/hand_plan.h"
#include "tests/sim/small_machine.h"

// 128 experts of qwen3-30b-a3b on 2 nodes of 8 GPUs, or on 4 nodes of 4.
typedef struct Case {
    const char *what;
    uint32_t tp, pp, dp, ep, replicas;
} Case;

static const Case cases[] = {
    {"a stage of 12 on nodes of 8, 8 ranks with 11 experts and 4 with 10", 1, 1, 12, 12, 1},
    {"the same with pairs that share attention", 2, 1, 6, 12, 1},
    {"3 stages of 5: the second has 3 ranks on one node and 2 on the other", 1, 3, 5, 5, 1},
    {"replicas of 3: the third has two ranks on one node", 1, 1, 3, 3, 5},
    {"replicas of 2 stages of 3", 1, 2, 3, 3, 2},
    {"a stage of all but one, as after a fault", 1, 1, 15, 15, 1},
};

static Plan plan_of(const Case *of, MoeComm comm) {
    Plan plan = hand_plan(of->tp, of->pp, of->dp, of->ep);
    Pool *pool = &plan.pools[0];
    pool->replicas = of->replicas;
    pool->micro_batches = of->pp;
    pool->moe_comm = comm;
    pool->all_reduce = pool->all_to_all = pool->all_gather = pool->reduce_scatter = ALGORITHM_AUTO;
    return plan;
}

static Evaluation evaluate(const SmallMachine *machine, const Plan *plan, SimForm form) {
    EvaluateInput input = small_machine_input(machine);
    Evaluation evaluation;
    Err err = {0};
    input.form = form;
    check_ok(evaluate_plan(&input, plan,
                           space_sequences(&plan->pools[0], machine->scenario.concurrency),
                           &evaluation, &err),
             &err);
    return evaluation;
}

static void compare_plan(const SmallMachine *machine, const Plan *plan, const char *what) {
    Err err = {0};
    check_ok(plan_legal(plan, &machine->arch, &err), &err);
    Evaluation some = evaluate(machine, plan, SIM_AUTO);
    Evaluation all = evaluate(machine, plan, SIM_EXPANDED);
    if (some.ttft_ps != all.ttft_ps || some.tpot_ps != all.tpot_ps ||
        some.prefill_ps != all.prefill_ps)
        fail_msg("%s: %lld %lld %lld ps by classes, %lld %lld %lld ps by ranks", what,
                 (long long)some.ttft_ps, (long long)some.tpot_ps, (long long)some.prefill_ps,
                 (long long)all.ttft_ps, (long long)all.tpot_ps, (long long)all.prefill_ps);
    EvaluateInput input = small_machine_input(machine);
    Evaluation bound;
    check_ok(evaluate_bound(&input, plan,
                            space_sequences(&plan->pools[0], machine->scenario.concurrency), &bound,
                            &err),
             &err);
    if (bound.tpot_ps > some.tpot_ps || bound.ttft_ps > some.ttft_ps)
        fail_msg("%s: bounds %lld %lld ps", plan_label(plan, (char[PLAN_TEXT_MAX]){0}),
                 (long long)bound.ttft_ps, (long long)bound.tpot_ps);
    assert_true(bound.ttft_ps <= some.ttft_ps && bound.tpot_ps <= some.tpot_ps);
    evaluate_free(&some);
    evaluate_free(&all);
}

static void compare(const SmallMachine *machine, const Case *of, MoeComm comm) {
    Plan plan = plan_of(of, comm);
    compare_plan(machine, &plan, of->what);
}

static void test_uneven_plans_are_those_of_every_rank(void **state) {
    (void)state;
    static const char *const machines[] = {
        "hgx-h100:2", "leafspine:nodes=4,gpus=4,nic=50GB/s,nvlink=450GB/s,leaf=8"};
    for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
        SmallMachine machine;
        small_machine_open(&machine, machines[m]);
        machine.scenario.isl = 1024;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            compare(&machine, &cases[i], MOE_COMM_ALL_TO_ALL);
            compare(&machine, &cases[i], MOE_COMM_GATHER);
        }
        small_machine_close(&machine);
    }
}

// GPU 3 of 16 is dead: 15 are numbered after each other, those of the broken node last.
static void test_uneven_plans_run_beside_a_dead_gpu(void **state) {
    (void)state;
    SmallMachine machine;
    Err err = {0};
    small_machine_open(&machine, "hgx-h100:2");
    fabric_free(&machine.fabric);
    check_ok(topology_degrade_add(&machine.topology, "", "unit[0].node[0].gpu[3]:down", &err),
             &err);
    check_ok(fabric_build(&machine.topology, &machine.catalogue, &machine.fabric, &err), &err);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        compare(&machine, &cases[i], MOE_COMM_ALL_TO_ALL);
    small_machine_close(&machine);
}

// In every placement, of stages, replicas and groups that it scatters.
static void test_uneven_placements_are_those_of_every_rank(void **state) {
    (void)state;
    static const Case scattered[] = {
        {"2 stages of 2 tp groups of 4", 4, 2, 2, 8, 1},
        {"2 replicas of 8", 1, 1, 8, 8, 2},
        {"2 replicas of 5, and 6 GPUs idle", 1, 1, 5, 5, 2},
    };
    static const char *const machines[] = {
        "hgx-h100:2", "leafspine:nodes=4,gpus=4,nic=50GB/s,nvlink=450GB/s,leaf=8"};
    uint32_t compared = 0;
    for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
        SmallMachine machine;
        small_machine_open(&machine, machines[m]);
        machine.scenario.isl = 1024;
        for (size_t i = 0; i < sizeof scattered / sizeof *scattered; i++)
            for (uint32_t p = 0; p < PLACEMENT_COUNT; p++) {
                Plan plan = plan_of(&scattered[i], MOE_COMM_ALL_TO_ALL);
                plan.pools[0].placement = (Placement)p;
                if (!pool_place_differs(&machine.fabric, &plan.pools[0])) continue;
                compare_plan(&machine, &plan, scattered[i].what);
                compared++;
            }
        small_machine_close(&machine);
    }
    assert_true(compared >= 6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_uneven_plans_are_those_of_every_rank),
        cmocka_unit_test(test_uneven_plans_run_beside_a_dead_gpu),
        cmocka_unit_test(test_uneven_placements_are_those_of_every_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
