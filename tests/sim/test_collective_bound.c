// The bound of a collective that no algorithm can go below, in closed form and against all
// algorithms.
#include <inttypes.h>

#include "tests/check.h"

#include "sim/collective_bound.h"
#include "sim/search/choose.h"
#include "tests/sim/net_machine.h"
#include "tests/sim/sim_machine.h"

static Time bound_of(const Fabric *fabric, uint32_t n, Collective kind, uint64_t bytes) {
    Err err = {0};
    Time bound = 0;
    if (!collective_bound_find(fabric, 0, n, kind, bytes, &bound, &err)) fail_msg("%s", err.text);
    return bound;
}

static void check_bound(const char *machine, Collective kind, uint64_t bytes, Time want) {
    NetMachine bench;
    net_machine_open(&bench, machine);
    assert_int_equal(bound_of(&bench.fabric, bench.fabric.gpu_count, kind, bytes), want);
    net_machine_close(&bench);
}

// 8 endpoints of 100 GB/s, 8 MB in all, 2 x 250 ns: 7 MB take 70 us, all 8 MB 80 us. The switch may
// sum, so that an all-reduce sends its buffer once.
static void test_collective_bound_of_endpoints(void **state) {
    (void)state;
    const char *machine = "switch:8,100GB/s,latency=250ns";
    check_bound(machine, COLLECTIVE_ALL_GATHER, 8000000, 70500 * PS_PER_NS);
    check_bound(machine, COLLECTIVE_REDUCE_SCATTER, 8000000, 70500 * PS_PER_NS);
    check_bound(machine, COLLECTIVE_ALL_TO_ALL, 8000000, 70500 * PS_PER_NS);
    check_bound(machine, COLLECTIVE_BROADCAST, 8000000, 80500 * PS_PER_NS);
    check_bound(machine, COLLECTIVE_ALL_REDUCE, 8000000, 80500 * PS_PER_NS);
}

// Two nodes of 8 GPUs with a port of 50 GB/s each: 16 MB are 1 MB to each, 8 x 8 MB cross over 400
// GB/s: 160 us, and longer than 15 MB at more than 450 GB/s.
static void test_collective_bound_of_a_cut(void **state) {
    (void)state;
    NetMachine bench;
    net_machine_open(&bench, "hgx-h100:2");
    Time bound = bound_of(&bench.fabric, 16, COLLECTIVE_ALL_TO_ALL, 16000000);
    assert_true(bound > 160 * PS_PER_US && bound < 165 * PS_PER_US);
    net_machine_close(&bench);
}

static void check_algorithms(const char *machine, uint32_t n, uint64_t bytes) {
    NetMachine net;
    SimMachine bench;
    net_machine_open(&net, machine);
    sim_machine_init(&bench);
    Chooser *chooser = choose_open(&net.fabric, &bench.model, CHOOSE_ALL);
    uint32_t times = 0;
    for (uint32_t kind = 0; kind < COLLECTIVE_COUNT; kind++) {
        ChooseCase given = {.kind = (Collective)kind,
                            .bytes = bytes,
                            .family = {.name = "all", .size = n, .stride = 1, .count = 1}};
        const Choice *choice = choose_times(chooser, &given);
        Time bound = bound_of(&net.fabric, n, (Collective)kind, bytes);
        assert_true(bound > 0);
        for (uint32_t i = 0; i < choice->count; i++) {
            const ChooseTime *way = &choice->times[i];
            if (way->time_ps < 0) continue;
            times++;
            if (way->time_ps < bound)
                fail_msg("%s, %s %s: %" PRId64 " ps, below %" PRId64 " ps", machine,
                         algorithm_names[way->algorithm], collective_names[kind], way->time_ps,
                         bound);
        }
    }
    assert_true(times >= 10);
    choose_close(chooser);
    net_machine_close(&net);
}

// Links without losses and no software time, where a time comes closest to the bound.
static void test_collective_bound_is_below_all_algorithms(void **state) {
    (void)state;
    const uint64_t sizes[] = {1, 1000003, 64 << 20};
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        check_algorithms("nvl72", 72, sizes[i]);
        check_algorithms("hgx-h100:2", 16, sizes[i]);
        check_algorithms("hgx-h100:2", 12, sizes[i]);
        check_algorithms("switch:16,100GB/s", 16, sizes[i]);
        check_algorithms("ring:8,100GB/s", 8, sizes[i]);
        check_algorithms("torus:4x4,100GB/s", 16, sizes[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collective_bound_of_endpoints),
        cmocka_unit_test(test_collective_bound_of_a_cut),
        cmocka_unit_test(test_collective_bound_is_below_all_algorithms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
