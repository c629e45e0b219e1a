// Slow GPUs. Pairs of GPUs on a switch of 100 GB/s and 250 ns a link: an exchange of 100 kB with
// the partner takes 1 us and 0.5 us. Memory of 1 TB/s, 1 Pflop/s on 100 SMs, no fixed times.
#include "tests/check.h"

#include "model/cost/price.h"
#include "tests/sim/sim_machine.h"

typedef struct Bench {
    Arena arena;
    SimMachine machine;
    Schedule schedule;
} Bench;

// `gpus` in pairs; each computes, then exchanges 100 kB with its partner.
static void bench_open(Bench *bench, uint32_t gpus, const char *fault, const Op *compute) {
    *bench = (Bench){0};
    char *json = sim_machine_switch(&bench->arena, gpus, 1, "100 GB/s");
    json[strlen(json) - 1] = '\0';
    sim_machine_open(&bench->machine,
                     arena_printf(&bench->arena, "%s, \"faults\": [%s]}", json, fault));
    Schedule *schedule = &bench->schedule;
    schedule_init(schedule, "pairs", gpus);
    RoleId role = schedule_add_role(schedule, "all", (RankSet){0, gpus, gpus, 1}, 1);
    GroupId pair =
        schedule_add_group(schedule, &(GroupFamily){"pair", 2, 1, gpus / 2, 0, gpus, gpus / 2});
    BlockId block = schedule_add_block(schedule, role, "block");
    schedule_add_op(schedule, compute);
    schedule_add_op(schedule, &(Op){.kind = OP_COLLECTIVE,
                                    .op_class = OP_CLASS_OTHER,
                                    .name = "exchange",
                                    .comm = {.collective = COLLECTIVE_ALL_TO_ALL,
                                             .algorithm = ALGORITHM_DIRECT,
                                             .group = pair,
                                             .bytes = extent_fixed(200000),
                                             .element = 2,
                                             .format = NUMFMT_BF16}});
    schedule_add_segment(schedule, role, block, 1);
    schedule_finish(schedule);
}

static void bench_close(Bench *bench) {
    schedule_free(&bench->schedule);
    sim_machine_close(&bench->machine);
    arena_free(&bench->arena);
}

static OpTotal total_of(const Timeline *timeline, uint32_t rank, OpId op) {
    for (uint32_t m = timeline->member_count; m-- > 0;)
        if (timeline->members[m].first_rank == rank)
            return timeline->totals[m * timeline->op_count + op];
    fail_msg("rank %u is in a class of another", rank);
    return (OpTotal){0};
}

// A GEMM of 1,024 x 1,024 x 1,024 on a GPU at 80 % takes 1 / 0.8 = 1.25 times, and so does its
// bound. Its partner has ended before, and waits. The exchange runs at 80 GB/s: 1.25 us and 0.5 us.
// The other pair takes what it took.
static void check_gemm(SimForm form) {
    Bench bench;
    Timeline timeline = {0};
    Op gemm = {.kind = OP_GEMM,
               .op_class = OP_CLASS_OTHER,
               .name = "gemm",
               .compute = {.m = extent_fixed(1024),
                           .n = 1024,
                           .k = 1024,
                           .batch = 1,
                           .weight_format = NUMFMT_BF16,
                           .math_format = NUMFMT_BF16}};
    bench_open(&bench, 4, "{\"part\": \"gpu[3]\", \"capacity\": \"80 %\"}", &gemm);
    Price price = price_gemm(&bench.machine.model, 1024, 1024, 1024, 1,
                             (PriceWeights){.format = NUMFMT_BF16}, NUMFMT_BF16);
    Time slow = (price.time_ps * 5 + 3) / 4;
    sim_machine_run(&bench.machine, &bench.schedule, form, &timeline);
    assert_int_equal(total_of(&timeline, 3, 0).busy_ps, slow);
    assert_int_equal(total_of(&timeline, 3, 0).bound_ps, (price.roofline_ps * 5 + 3) / 4);
    assert_int_equal(total_of(&timeline, 2, 0).busy_ps, price.time_ps);
    assert_int_equal(total_of(&timeline, 0, 0).busy_ps, price.time_ps);
    assert_int_equal(total_of(&timeline, 2, 1).busy_ps, slow - price.time_ps + 1750 * PS_PER_NS);
    assert_int_equal(total_of(&timeline, 0, 1).busy_ps, 1500 * PS_PER_NS);
    assert_int_equal(timeline.end_ps, slow + 1750 * PS_PER_NS);
    timeline_free(&timeline);
    bench_close(&bench);
}

static void test_sim_fault_slow_gpu_takes_longer_and_its_group_waits(void **state) {
    (void)state;
    check_gemm(SIM_EXPANDED);
    check_gemm(SIM_REFINED);
    check_gemm(SIM_AUTO);
}

// Two of 64 GPUs are slow, of two rates: five classes of ranks are left (two slow ones, their two
// partners, 60 others). 10 MB of memory: 10 us; at 3/7 23.333334 us, rounded up.
static void test_sim_fault_slow_gpus_are_classes_of_their_own(void **state) {
    (void)state;
    Bench bench;
    Timeline timeline = {0};
    Op memory = sim_machine_memory_op("memory", 0, 10000000);
    bench_open(&bench, 64,
               "{\"part\": \"gpu[7]\", \"capacity\": \"1/2\"},"
               "{\"part\": \"gpu[40]\", \"capacity\": \"3/7\"},"
               "{\"part\": \"gpu[40]\", \"capacity\": \"1/2\"}",
               &memory);
    sim_machine_run(&bench.machine, &bench.schedule, SIM_AUTO, &timeline);
    assert_int_equal(timeline.form, TIMELINE_REFINED);
    assert_int_equal(timeline.member_count, 5);
    assert_int_equal(total_of(&timeline, 40, 0).busy_ps, 23333334);
    assert_int_equal(total_of(&timeline, 7, 0).busy_ps, 20 * PS_PER_US);
    timeline_free(&timeline);
    bench_close(&bench);
}

// A rate or a lost cable is one of links: the GPU computes as before.
static void test_sim_fault_slow_links_leave_compute_alone(void **state) {
    (void)state;
    Bench bench;
    Timeline timeline = {0};
    Op memory = sim_machine_memory_op("memory", 0, 10000000);
    bench_open(&bench, 2, "{\"part\": \"gpu[1]\", \"capacity\": \"50 GB/s\"}", &memory);
    sim_machine_run(&bench.machine, &bench.schedule, SIM_AUTO, &timeline);
    assert_int_equal(timeline.end_ps, 10 * PS_PER_US + 2500 * PS_PER_NS);
    timeline_free(&timeline);
    bench_close(&bench);
}

// Four racks of 8 GPUs; 24 ranks reduce in groups of 8.
static Timeline reduce_in_racks(const char *fault) {
    Arena arena = {0};
    SimMachine machine;
    Schedule schedule = {0};
    Timeline timeline = {0};
    char *json = sim_machine_racks(&arena, 4, 4);
    json[strlen(json) - 1] = '\0';
    sim_machine_open(&machine, arena_printf(&arena, "%s, \"faults\": [%s]}", json, fault));
    const Collect reduce = {COLLECTIVE_ALL_REDUCE, ALGORITHM_DIRECT, 1000000, 8, 1, 1};
    sim_machine_collect(&schedule, 24, &reduce);
    sim_machine_run(&machine, &schedule, SIM_AUTO, &timeline);
    schedule_free(&schedule);
    sim_machine_close(&machine);
    arena_free(&arena);
    return timeline;
}

// A dead GPU in rack 1: the three groups sit on the three whole racks, and take what they take on
// the machine as built; nothing leaves a rack.
static void test_sim_fault_groups_sit_on_whole_domains(void **state) {
    (void)state;
    Timeline built = reduce_in_racks("");
    Timeline left = reduce_in_racks("{\"part\": \"rack[1].tray[0].gpu[1]\", \"state\": \"down\"}");
    assert_int_equal(left.end_ps, built.end_ps);
    assert_int_equal(left.links[LINK_NVLINK].bytes, built.links[LINK_NVLINK].bytes);
    assert_true(left.links[LINK_NVLINK].bytes > 0);
    assert_int_equal(left.links[LINK_IB].bytes, 0);
    timeline_free(&built);
    timeline_free(&left);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sim_fault_slow_gpu_takes_longer_and_its_group_waits),
        cmocka_unit_test(test_sim_fault_slow_gpus_are_classes_of_their_own),
        cmocka_unit_test(test_sim_fault_slow_links_leave_compute_alone),
        cmocka_unit_test(test_sim_fault_groups_sit_on_whole_domains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
