// Sweeps on small machines: axes are read as they are written, cells are what a search of their own
// gives, and winners change where arithmetic says.
#include "tests/check.h"

#include "sim/search/rank.h"
#include "sim/search/sweep.h"
#include "sim/search/sweep_machine.h"
#include "tests/sim/small_machine.h"

static SweepMachine machine_of(const SmallMachine *small, const char *name) {
    return (SweepMachine){
        .name = name, .catalogue = &small->catalogue, .input = small_machine_input(small)};
}

static SweepAxes read_axes(const char *text, Arena *arena) {
    SweepAxes axes;
    Err err = {0};
    check_ok(sweep_axes_parse(text, arena, &axes, &err), &err);
    return axes;
}

static void check_numbers(const SweepAxis *axis, const uint64_t *want, uint32_t count) {
    assert_int_equal(axis->count, count);
    for (uint32_t i = 0; i < count; i++) assert_int_equal(axis->values[i].number, want[i]);
}

// ---- Axes

// 1000 doubles to 8000; 200, 400, 800 and 1600 Gbit/s are 25, 50, 100 and 200 GB/s, and the unit
// stands behind the last number alone.
static void test_sweep_axes_double(void **state) {
    (void)state;
    Arena arena = {0};
    SweepAxes axes = read_axes("isl=1k:8k,link.ib=200:1600Gbps", &arena);
    assert_int_equal(axes.count, 2);
    assert_int_equal(axes.axes[0].kind, SWEEP_ISL);
    check_numbers(&axes.axes[0], (uint64_t[]){1000, 2000, 4000, 8000}, 4);
    assert_int_equal(axes.axes[1].link_class, LINK_IB);
    check_numbers(&axes.axes[1], (uint64_t[]){25000000000, 50000000000, 100000000000, 200000000000},
                  4);
    assert_string_equal(axes.axes[1].values[0].text, "200 Gbit/s");
    arena_free(&arena);
}

// Ports by their generation: NDR is 400 Gbit/s, 50 GB/s; XDR twice that.
static void test_sweep_axes_name_generations(void **state) {
    (void)state;
    Arena arena = {0};
    SweepAxes axes = read_axes("link.ib=NDR|XDR", &arena);
    check_numbers(&axes.axes[0], (uint64_t[]){50000000000, 100000000000}, 2);
    arena_free(&arena);
}

// The last value is the end of the range also where doubling or steps would pass it: 3, 6, 12, 20;
// 10, 14, 18, 20.
static void test_sweep_axes_end_at_the_end(void **state) {
    (void)state;
    Arena arena = {0};
    SweepAxes axes = read_axes("isl=3:20,osl=10:20:4", &arena);
    check_numbers(&axes.axes[0], (uint64_t[]){3, 6, 12, 20}, 4);
    check_numbers(&axes.axes[1], (uint64_t[]){10, 14, 18, 20}, 4);
    arena_free(&arena);
}

// Lists may hold ranges; 0.5 to 0.9 in steps of 0.1 are permille; $1.50 is 1500000 micro-dollars.
static void test_sweep_axes_list(void **state) {
    (void)state;
    Arena arena = {0};
    SweepAxes axes = read_axes("concurrency=8,16:64,100,memory-fraction=0.5:0.9:0.2", &arena);
    check_numbers(&axes.axes[0], (uint64_t[]){8, 16, 32, 64, 100}, 5);
    check_numbers(&axes.axes[1], (uint64_t[]){500, 700, 900}, 3);
    axes = read_axes("price=1.5:3,kv-format=bf16|fp8", &arena);
    check_numbers(&axes.axes[0], (uint64_t[]){1500000, 3000000}, 2);
    assert_string_equal(axes.axes[0].values[0].text, "$1.50");
    check_numbers(&axes.axes[1], (uint64_t[]){NUMFMT_BF16, NUMFMT_FP8}, 2);
    arena_free(&arena);
}

static void test_sweep_axes_fail_begins_with_none(void **state) {
    (void)state;
    Arena arena = {0};
    SweepAxes axes = read_axes("fail=link|gpu", &arena);
    check_numbers(&axes.axes[0], (uint64_t[]){SWEEP_FAIL_NONE, SWEEP_FAIL_LINK, SWEEP_FAIL_GPU}, 3);
    arena_free(&arena);
}

static void test_sweep_axes_bad(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"isl=8k:1k", "--vary isl: 8k:1k runs backwards, expected the smaller end first"},
        {"isl=1k:8k:0", "--vary isl: 1k:8k:0 has a step of 0"},
        {"gpu=8", "--vary: unknown axis \"gpu\", did you mean gpus"},
        {"link.nvlink=200:1600", "--vary link.nvlink: expected a rate such as \"400 Gbit/s\", "
                                 "found \"200\": no unit"},
        {"isl=1:2,osl=1,price=2", "--vary: expected one or two axes, found 3"},
        {"isl=1:100000:1,osl=1:10000:1", "--vary: 1000000000 cells, at most 4096"},
        {"osl=0", "--vary osl: expected 1 to 1073741824, found 0"},
        {"isl=1,isl=2", "--vary: isl is given twice"},
        {"fail=gpu:nic", "--vary fail: expected names separated by commas, found the range "
                         "gpu:nic"}};
    Arena arena = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SweepAxes axes;
        Err err = {0};
        check_fails(sweep_axes_parse(cases[i][0], &arena, &axes, &err), &err, cases[i][1]);
    }
    arena_free(&arena);
}

// ---- Machines

static uint32_t scaled_gpus(const char *name, uint64_t gpus) {
    SmallMachine small;
    SweepVariant variant;
    SweepSetting setting = {.gpus = gpus};
    Err err = {0};
    small_machine_open(&small, name);
    SweepMachine machine = machine_of(&small, name);
    check_ok(sweep_machine_build(&machine, &setting, &variant, &err), &err);
    assert_true(fabric_check(&variant.fabric, &err));
    uint32_t found = variant.fabric.gpu_count;
    sweep_machine_free(&variant);
    small_machine_close(&small);
    return found;
}

// Lines change their count; of files the outer count changes first: 1 of the 4 units of 256 GPUs,
// then 8 of the 32 nodes of 8 in one unit; 2 of the 18 trays of 4.
static void test_sweep_machine_scales(void **state) {
    (void)state;
    assert_int_equal(scaled_gpus("hgx-h100:1", 32), 32);
    assert_int_equal(scaled_gpus("switch:4,450GB/s", 6), 6);
    assert_int_equal(scaled_gpus("nvl72:2", 288), 288);
    assert_int_equal(scaled_gpus("hgx-h100-cluster.json", 512), 512);
    assert_int_equal(scaled_gpus("hgx-h100-cluster.json", 64), 64);
    assert_int_equal(scaled_gpus("nvl72.json", 8), 8);
}

static void test_sweep_machine_refuses_a_part_of_a_unit(void **state) {
    (void)state;
    SmallMachine small;
    SweepVariant variant;
    Err err = {0};
    small_machine_open(&small, "hgx-h100:1");
    SweepMachine machine = machine_of(&small, "hgx-h100:1");
    check_fails(sweep_machine_build(&machine, &(SweepSetting){.gpus = 12}, &variant, &err), &err,
                "hgx-h100:N has 8 GPUs for each of N: 12 is no multiple");
    machine.name = "nvl72.json";
    err = (Err){0};
    check_fails(sweep_machine_build(&machine, &(SweepSetting){.gpus = 10}, &variant, &err), &err,
                "nvl72.json has 4 GPUs for each \"tray\": 10 is no multiple");
    small_machine_close(&small);
}

// All links of the class get the rate, those of other classes keep theirs.
static void test_sweep_machine_sets_rates(void **state) {
    (void)state;
    SmallMachine small;
    SweepVariant variant;
    SweepSetting setting = {.rate_Bps = {[LINK_IB] = 12500000000}};
    Err err = {0};
    small_machine_open(&small, "hgx-h100:2");
    SweepMachine machine = machine_of(&small, "hgx-h100:2");
    check_ok(sweep_machine_build(&machine, &setting, &variant, &err), &err);
    for (LinkId link = 0; link < variant.fabric.link_count; link++) {
        FabricLink now = fabric_link(&variant.fabric, link);
        FabricLink before = fabric_link(&small.fabric, link);
        if (now.link_class == LINK_IB)
            assert_int_equal(now.capacity_Bps, now.cables * UINT64_C(12500000000));
        else
            assert_int_equal(now.capacity_Bps, before.capacity_Bps);
    }
    sweep_machine_free(&variant);
    small_machine_close(&small);
}

static void check_fault(const Fabric *fabric, SweepFail fail, const char *want) {
    Text text = {0};
    Err err = {0};
    check_ok(sweep_machine_fault(fabric, fail, &text, &err), &err);
    assert_string_equal(text_string(&text), want);
    text_free(&text);
}

static void test_sweep_machine_names_faults(void **state) {
    (void)state;
    SmallMachine small;
    Text text = {0};
    Err err = {0};
    small_machine_open(&small, "hgx-h100-cluster.json");
    check_fault(&small.fabric, SWEEP_FAIL_GPU, "unit[0].node[0].gpu[0]:down");
    check_fault(&small.fabric, SWEEP_FAIL_NIC, "unit[0].node[0].nic[0]:down");
    check_fault(&small.fabric, SWEEP_FAIL_PLANE, "unit[0].node[0].nvswitch[0]:down");
    check_fault(&small.fabric, SWEEP_FAIL_SWITCH, "unit[0].leaf[0]:down");
    check_fault(&small.fabric, SWEEP_FAIL_LINK, "unit[0].node[0].nic[0]>unit[0].leaf[0]:down");
    small_machine_close(&small);
    small_machine_open(&small, "switch:4,450GB/s");
    check_fails(sweep_machine_fault(&small.fabric, SWEEP_FAIL_NIC, &text, &err), &err,
                "switch:4,450GB/s has no NIC");
    small_machine_close(&small);
}

// ---- Grids

static Sweep run(const SweepMachine *machines, uint32_t count, const char *vary, SweepSpec spec,
                 Arena *arena) {
    Sweep sweep;
    Err err = {0};
    spec.machines = machines;
    spec.machine_count = count;
    check_ok(sweep_axes_parse(vary, arena, &spec.axes, &err), &err);
    check_ok(sweep_axes_bind(&spec.axes, machines, count, &err), &err);
    check_ok(sweep_run(&spec, &sweep, &err), &err);
    return sweep;
}

// A cell has the first row of a ranking that simulates every plan.
static void test_sweep_cell_is_the_first_of_a_ranking(void **state) {
    (void)state;
    static const char *const machines[] = {"switch:4,450GB/s", "switch:6,25GB/s", "hgx-h100:2"};
    for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
        SmallMachine small;
        Arena arena = {0};
        small_machine_open(&small, machines[m]);
        SweepMachine machine = machine_of(&small, machines[m]);
        Sweep sweep = run(&machine, 1, "isl=256,4k,20k", (SweepSpec){0}, &arena);
        for (uint32_t i = 0; i < 3; i++) {
            EvaluateInput input = small_machine_input(&small);
            Ranking ranking;
            Err err = {0};
            small.scenario.isl = sweep.axes.axes[0].values[i].number;
            check_ok(rank_plans(&input, &(SpaceExperts){0}, &ranking, &err), &err);
            const SweepCell *cell = &sweep.cells[i];
            assert_true(cell->is_feasible);
            assert_true(plan_digest(&cell->plan) == plan_digest(&ranking.rows[0].plan));
            assert_true(cell->evaluation.timelines == ranking.rows[0].evaluation.timelines);
            rank_free(&ranking);
        }
        sweep_free(&sweep);
        arena_free(&arena);
        small_machine_close(&small);
    }
}

// No plan takes no time: the nearest miss is named.
static void test_sweep_cell_says_why_none(void **state) {
    (void)state;
    SmallMachine small;
    Arena arena = {0};
    small_machine_open(&small, "switch:4,450GB/s");
    small.scenario.tpot_limit_ps = 1;
    SweepMachine machine = machine_of(&small, "switch:4,450GB/s");
    Sweep sweep = run(&machine, 1, "isl=256", (SweepSpec){0}, &arena);
    assert_false(sweep.cells[0].is_feasible || sweep.cells[0].has_figures);
    assert_int_equal(sweep.cells[0].winner, SWEEP_NONE);
    assert_non_null(strstr(sweep.cells[0].reason, "is over the limit of 1 ps"));
    sweep_free(&sweep);
    arena_free(&arena);
    small_machine_close(&small);
}

// Every cell of a grid is what a sweep of that cell alone gives, to the digest of its timelines:
// what cells share reaches no figure. Both orders of the axes agree.
static void test_sweep_cells_stand_alone(void **state) {
    (void)state;
    SmallMachine small;
    Arena arena = {0};
    small_machine_open(&small, "switch:4,450GB/s");
    SweepMachine machine = machine_of(&small, "switch:4,450GB/s");
    Sweep grid = run(&machine, 1, "isl=500,4k,gpus=2:4", (SweepSpec){0}, &arena);
    Sweep turned = run(&machine, 1, "gpus=2:4,isl=500,4k", (SweepSpec){0}, &arena);
    static const char *const cells[] = {"isl=500,gpus=2", "isl=500,gpus=4", "isl=4k,gpus=2",
                                        "isl=4k,gpus=4"};
    for (uint32_t i = 0; i < 4; i++) {
        Sweep one = run(&machine, 1, cells[i], (SweepSpec){0}, &arena);
        const SweepCell *same = &turned.cells[i % 2 * 2 + i / 2];
        assert_true(one.cells[0].is_feasible);
        assert_true(grid.cells[i].evaluation.timelines == one.cells[0].evaluation.timelines);
        assert_true(grid.cells[i].evaluation.timelines == same->evaluation.timelines);
        sweep_free(&one);
    }
    sweep_free(&grid);
    sweep_free(&turned);
    arena_free(&arena);
    small_machine_close(&small);
}

// Faults have no order: each is compared with the machine as it was. A plan of all 16 GPUs stays
// the best when a cable is down, and has no place when a GPU is.
static void test_sweep_faults_change_from_none(void **state) {
    (void)state;
    SmallMachine small;
    Arena arena = {0};
    small_machine_open(&small, "hgx-h100:2");
    SweepMachine machine = machine_of(&small, "hgx-h100:2");
    Sweep sweep = run(&machine, 1, "fail=plane|gpu|plane", (SweepSpec){0}, &arena);
    assert_int_equal(sweep.cell_count, 4);
    assert_int_equal(plan_gpus(&sweep.cells[0].plan), 16);
    assert_int_equal(sweep.change_count, 1);
    assert_string_equal(sweep.changes[0].from.text, "none");
    assert_string_equal(sweep.changes[0].to.text, "gpu");
    assert_true(sweep.cells[1].evaluation.tok_s_per_gpu < sweep.cells[0].evaluation.tok_s_per_gpu);
    sweep_free(&sweep);
    arena_free(&arena);
    small_machine_close(&small);
}

static Plan tp_plan(uint32_t tp) {
    Plan plan = {.pool_count = 1};
    plan.pools[0] = (Pool){.kind = POOL_UNIFIED,
                           .tp = tp,
                           .pp = 1,
                           .dp = 1,
                           .ep = 1,
                           .moe_tp = tp,
                           .cp = 1,
                           .replicas = 1,
                           .placement = PLACEMENT_LINEAR,
                           .micro_batches = 1,
                           .moe_comm = MOE_COMM_NONE,
                           .all_reduce = ALGORITHM_DIRECT,
                           .all_to_all = ALGORITHM_DIRECT,
                           .all_gather = ALGORITHM_DIRECT,
                           .reduce_scatter = ALGORITHM_DIRECT,
                           .kv_format = NUMFMT_BF16,
                           .activation_format = NUMFMT_BF16,
                           .dispatch_format = NUMFMT_BF16};
    return plan;
}

// A plan of TP alone has its collectives on the stream that computes: all of their time is exposed.
// At half the rate what the links' rate governs takes twice as long; the rest of the step stays.
static void test_sweep_halving_a_rate_doubles_its_time(void **state) {
    (void)state;
    SmallMachine small;
    Arena arena = {0};
    small_machine_open(&small, "switch:4,100GB/s");
    SweepMachine machine = machine_of(&small, "switch:4,100GB/s");
    SweepSpec spec = {.mode = SWEEP_HOLD, .held = tp_plan(4)};
    Sweep sweep = run(&machine, 1, "link.nvlink=50:100GB/s", spec, &arena);
    const Evaluation *slow = &sweep.cells[0].evaluation, *fast = &sweep.cells[1].evaluation;
    double slow_s = slow->prefill.part_s[CALIB_NVLINK];
    double fast_s = fast->prefill.part_s[CALIB_NVLINK];
    assert_true(fast_s > 0);
    check_close(slow_s, 2 * fast_s, 1e-6);
    check_close((double)(slow->prefill_ps - fast->prefill_ps) * 1e-12, fast_s, 1e-6);
    sweep_free(&sweep);
    arena_free(&arena);
    small_machine_close(&small);
}

// A cell that the plan does not fit says why; the others have figures.
static void test_sweep_held_plan_that_does_not_fit(void **state) {
    (void)state;
    SmallMachine small;
    Arena arena = {0};
    small_machine_open(&small, "switch:4,450GB/s");
    SweepMachine machine = machine_of(&small, "switch:4,450GB/s");
    SweepSpec spec = {.mode = SWEEP_HOLD, .held = tp_plan(4)};
    Sweep sweep = run(&machine, 1, "gpus=2:8", spec, &arena);
    assert_false(sweep.cells[0].has_figures);
    assert_string_equal(sweep.cells[0].reason, "the plan takes 4 GPUs, the machine has 2");
    assert_true(sweep.cells[1].is_feasible && sweep.cells[2].is_feasible);
    // 4 of 8 GPUs are idle and count: half the throughput of a GPU
    check_close(sweep.cells[2].evaluation.tok_s_per_gpu,
                sweep.cells[1].evaluation.tok_s_per_gpu / 2, 1e-9);
    sweep_free(&sweep);
    arena_free(&arena);
    small_machine_close(&small);
}

// Dollars for a token are price x GPUs / throughput, so that machine A stops being the cheaper one
// where its price is that of B times the ratio of their throughputs of a GPU.
static void test_sweep_winner_changes_at_the_price_by_hand(void **state) {
    (void)state;
    SmallMachine a, b;
    Arena arena = {0};
    small_machine_open(&a, "switch:4,450GB/s");
    small_machine_open(&b, "switch:2,450GB/s");
    a.scenario.price_uusd_per_gpu_hour = b.scenario.price_uusd_per_gpu_hour = 2000000;
    SweepMachine machines[] = {machine_of(&a, "switch:4,450GB/s"),
                               machine_of(&b, "switch:2,450GB/s")};
    SweepSpec spec = {
        .machines = machines, .machine_count = 2, .objective = OBJECTIVE_COST, .refine_ppm = 1000};
    Sweep sweep;
    Err err = {0};
    spec.axes = read_axes("price=0.25:16", &arena);
    spec.axes.axes[0].machine = 0;
    check_ok(sweep_run(&spec, &sweep, &err), &err);
    const SweepCell *first = &sweep.cells[0], *last = &sweep.cells[sweep.cell_count - 1];
    assert_int_equal(first->machine, 0);
    assert_int_equal(last->machine, 1);
    double turn = 2e6 * first->evaluation.tok_s_per_gpu / last->evaluation.tok_s_per_gpu;
    assert_int_equal(sweep.change_count, 1);
    assert_true((double)sweep.changes[0].from.number <= turn);
    assert_true((double)sweep.changes[0].to.number >= turn);
    check_close((double)sweep.changes[0].from.number, turn, 1e-3);
    assert_true(sweep.changes[0].is_refined);
    sweep_free(&sweep);
    arena_free(&arena);
    small_machine_close(&a);
    small_machine_close(&b);
}

// Cells of separate pools are those of a search of their own; of both kinds the one that serves
// more wins; and the winner of the first cell, held, has its figures there.
static void test_sweep_cells_take_pools(void **state) {
    (void)state;
    SmallMachine small;
    Arena arena = {0};
    Err err = {0};
    Sweep apart, either, held;
    PoolsRanking pools;
    small_machine_open(&small, "switch:4,450GB/s");
    small.scenario.isl = 4000;
    small.scenario.osl = 64;
    SweepMachine machine = machine_of(&small, "switch:4,450GB/s");
    SweepSpec spec = {.machines = &machine,
                      .machine_count = 1,
                      .axes = read_axes("concurrency=16,64", &arena),
                      .pools = POOLS_SEPARATE};
    check_ok(sweep_run(&spec, &apart, &err), &err);
    spec.pools = POOLS_EITHER;
    check_ok(sweep_run(&spec, &either, &err), &err);
    spec.pools = POOLS_SEPARATE;
    spec.mode = SWEEP_HOLD_FIRST;
    check_ok(sweep_run(&spec, &held, &err), &err);
    PoolsSpec own = {.most = 1};
    for (uint32_t i = 0; i < 2; i++) {
        EvaluateInput input = small_machine_input(&small);
        small.scenario.concurrency = i == 0 ? 16 : 64;
        check_ok(pools_rank(&input, &own, &pools, &err), &err);
        const SweepCell *cell = &apart.cells[i];
        assert_true(cell->is_feasible && cell->pooled != NULL);
        check_close(cell->evaluation.tok_s_per_gpu, pools.rows[0].tok_s_per_gpu, 1e-12);
        assert_true(plan_digest(&cell->plan) == plan_digest(&pools.rows[0].plan));
        assert_string_equal(cell->bottleneck, pools_limit_names[pools.rows[0].limit]);
        assert_true(either.cells[i].evaluation.output_tok_s >= cell->evaluation.output_tok_s);
        pools_free(&pools);
    }
    check_close(held.cells[0].evaluation.tok_s_per_gpu, apart.cells[0].evaluation.tok_s_per_gpu,
                1e-12);
    assert_int_equal(held.winner_count, 1);
    sweep_free(&apart);
    sweep_free(&either);
    sweep_free(&held);
    arena_free(&arena);
    small_machine_close(&small);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sweep_axes_double),
        cmocka_unit_test(test_sweep_axes_name_generations),
        cmocka_unit_test(test_sweep_axes_end_at_the_end),
        cmocka_unit_test(test_sweep_axes_list),
        cmocka_unit_test(test_sweep_axes_fail_begins_with_none),
        cmocka_unit_test(test_sweep_axes_bad),
        cmocka_unit_test(test_sweep_machine_scales),
        cmocka_unit_test(test_sweep_machine_refuses_a_part_of_a_unit),
        cmocka_unit_test(test_sweep_machine_sets_rates),
        cmocka_unit_test(test_sweep_machine_names_faults),
        cmocka_unit_test(test_sweep_cell_is_the_first_of_a_ranking),
        cmocka_unit_test(test_sweep_cell_says_why_none),
        cmocka_unit_test(test_sweep_cells_stand_alone),
        cmocka_unit_test(test_sweep_faults_change_from_none),
        cmocka_unit_test(test_sweep_halving_a_rate_doubles_its_time),
        cmocka_unit_test(test_sweep_held_plan_that_does_not_fit),
        cmocka_unit_test(test_sweep_winner_changes_at_the_price_by_hand),
        cmocka_unit_test(test_sweep_cells_take_pools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
