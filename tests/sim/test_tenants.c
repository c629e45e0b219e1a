// Tenants that share links, as worked examples; and laws of real plans side by side.
#include "tests/check.h"

#include "sim/tenants.h"
#include "sim/tenants_place.h"
#include "sim/tenants_run.h"
#include "tests/plan/hand_plan.h"
#include "tests/sim/sim_machine.h"
#include "tests/sim/small_machine.h"

// ---- By hand: tenants of one collective, back to back

typedef struct Hand {
    SimMachine machine;
    Tenant tenants[2];
    TenantWork works[2];
    uint32_t order[2];
    TenantsInput input;
    TenantsResult result;
    TenantsState state;
} Hand;

// An all-to-all over the GPUs of each tenant, every step of it `step_ps` long when it is alone.
static void open_hand(Hand *hand, const char *json, const Collect *a, const Collect *b,
                      uint32_t a_first, uint32_t b_first) {
    const Collect *collects[] = {a, b};
    const uint32_t first_gpus[] = {a_first, b_first};
    *hand = (Hand){0};
    sim_machine_open(&hand->machine, json);
    hand->input = (TenantsInput){.fabric = &hand->machine.fabric,
                                 .model = &hand->machine.model,
                                 .tenants = hand->tenants,
                                 .count = 2};
    hand->state = (TenantsState){&hand->input, hand->works, hand->order, &hand->result};
    for (uint32_t t = 0; t < 2; t++) {
        hand->tenants[t] = (Tenant){.name = t == 0 ? "a.json" : "b.json"};
        hand->tenants[t].plan.pools[0].first_gpu = first_gpus[t];
        TenantWork *work = &hand->works[t];
        sim_machine_collect(&work->evaluation.decode_phase.schedule, collects[t]->size,
                            collects[t]);
        work->evaluation.decode_phase.shape = (StepShape){1, 1, 1, 1};
        work->load = load_uniform();
        work->lag = 1;
        hand->order[t] = t;
    }
}

static void close_hand(Hand *hand) {
    for (uint32_t t = 0; t < 2; t++) {
        schedule_free(&hand->works[t].evaluation.decode_phase.schedule);
        load_free(&hand->works[t].load);
    }
    tenants_free(&hand->result);
    sim_machine_close(&hand->machine);
}

static TenantsSpan run_hand(Hand *hand, uint32_t measured, uint32_t offset, uint32_t offsets) {
    const TenantsRun run = {.measured = measured,
                            .phase = PHASE_DECODE,
                            .shape = {1, 1, 1, 1},
                            .steps = TENANTS_STEPS,
                            .offset = offset,
                            .offsets = offsets,
                            .alone_ps = 6 * hand->works[measured].step_ps};
    TenantsSpan span = {0};
    Err err = {0};
    check_ok(tenants_run_one(&hand->state, &run, &span, &err), &err);
    return span;
}

// Three leaves of two GPUs under one spine, all links 50 GB/s and 250 ns: two GPUs share the one
// link between leaf and spine. GPUs 3 to 5 have `slow` links.
static char *leaves(Arena *arena, const char *slow) {
    return arena_printf(
        arena,
        "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"leaves\", \"source\": \"test\","
        "\"templates\": {\"box\": {\"parts\": {\"gpu\": {\"kind\": \"gpu\", \"count\": 6},"
        "\"leaf\": {\"kind\": \"switch\", \"count\": 3}, \"spine\": {\"kind\": \"switch\"}},"
        "\"links\": [{\"from\": \"gpu[i=0-2]\", \"to\": \"leaf[i/2]\", \"class\": \"ib\","
        "\"bandwidth\": \"50 GB/s\", \"latency\": \"250 ns\"},"
        "{\"from\": \"gpu[i=3-5]\", \"to\": \"leaf[i/2]\", \"class\": \"ib\","
        "\"bandwidth\": \"%s\", \"latency\": \"250 ns\"},"
        "{\"from\": \"leaf[*]\", \"to\": \"spine\", \"class\": \"ib\","
        "\"bandwidth\": \"50 GB/s\", \"latency\": \"250 ns\"}]}}, \"machine\": \"box\"}",
        slow);
}

#define STEP_PS (201 * PS_PER_US)

// Tenants on GPUs 1-2 and 3-4: the first crosses from leaf 0 to leaf 1, the second from leaf 1 to
// leaf 2, and both use the link of leaf 1 to the spine in both directions. A step exchanges 10 MB:
// 4 links x 250 ns + 10 MB / 50 GB/s = 201 us alone. Beside each other each gets 25 GB/s. When both
// begin a step at once: 1 us + 10 MB / 25 GB/s = 401 us. When one begins while the other moves, it
// leaves the link to it for its 1 us of latency and finds it alone for another: of a step of T,
// 1 us waits, 1 us moves at 50 GB/s and T - 2 us at 25 GB/s: 50 kB + (T - 2 us) 25 GB/s = 10 MB,
// T = 400 us.
static void test_tenants_share_the_link_of_a_leaf(void **state) {
    (void)state;
    Arena arena = {0};
    Hand hand;
    Collect collect = {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 20000000, 2, 1, 1};
    open_hand(&hand, leaves(&arena, "50 GB/s"), &collect, &collect, 1, 3);
    hand.works[0].step_ps = hand.works[1].step_ps = STEP_PS;
    for (uint32_t t = 0; t < 2; t++) {
        assert_int_equal(run_hand(&hand, t, 0, 0).steps_ps, TENANTS_STEPS * STEP_PS);
        assert_int_equal(run_hand(&hand, t, 0, 8).steps_ps, TENANTS_STEPS * 401 * PS_PER_US);
        for (uint32_t offset = 1; offset < 8; offset++)
            assert_int_equal(run_hand(&hand, t, offset, 8).steps_ps,
                             TENANTS_STEPS * 400 * PS_PER_US);
    }
    close_hand(&hand);
    arena_free(&arena);
}

// Of the 50 GB/s of leaf 1 each takes 10 MB / 201 us = 49.75 GB/s on average, up and down: 0.995,
// together 1.99. No other link is used by both.
static void test_tenants_find_the_contested_links(void **state) {
    (void)state;
    Arena arena = {0};
    Hand hand;
    Err err = {0};
    Text name = {0};
    Collect collect = {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 20000000, 2, 1, 1};
    open_hand(&hand, leaves(&arena, "50 GB/s"), &collect, &collect, 1, 3);
    hand.works[0].step_ps = hand.works[1].step_ps = STEP_PS;
    check_ok(tenants_link_find(&hand.state, &err), &err);
    assert_int_equal(hand.result.link_count, 1);
    const TenantLink *link = &hand.result.links[0];
    assert_int_equal(link->links, 2);
    assert_int_equal(link->link_class, LINK_IB);
    check_close(link->share[0], 10e6 / 201e-6 / 50e9, 1e-12);
    check_close(link->share[1], 10e6 / 201e-6 / 50e9, 1e-12);
    check_close(link->total, 2 * 10e6 / 201e-6 / 50e9, 1e-12);
    fabric_vertex_name(&hand.machine.fabric, fabric_link(&hand.machine.fabric, link->link).from,
                       &name);
    check_text_equals(text_string(&name), "leaf[1]");
    text_free(&name);
    close_hand(&hand);
    arena_free(&arena);
}

// The GPUs of the second tenant have 10 GB/s: it gets them whatever the first does, and the first
// gets what is left of the leaf, 40 GB/s. First: 1 us + 10 MB / 40 GB/s = 251 us instead of 201.
// Second: 100 MB take 1 us + 10 ms, alone and beside. (Half a step of the second lies between the
// window of the first and its next pause.)
static void test_tenants_max_min_leaves_the_slow_one_alone(void **state) {
    (void)state;
    Arena arena = {0};
    Hand hand;
    Collect fast = {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 20000000, 2, 1, 1};
    Collect slow = {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 200000000, 2, 1, 1};
    open_hand(&hand, leaves(&arena, "10 GB/s"), &fast, &slow, 1, 3);
    hand.works[0].step_ps = STEP_PS;
    hand.works[1].step_ps = 10001 * (Time)PS_PER_US;
    assert_int_equal(run_hand(&hand, 0, 4, 8).steps_ps, TENANTS_STEPS * 251 * PS_PER_US);
    assert_int_equal(run_hand(&hand, 1, 0, 0).steps_ps, TENANTS_STEPS * 10001 * (int64_t)PS_PER_US);
    assert_int_equal(run_hand(&hand, 1, 3, 8).steps_ps, TENANTS_STEPS * 10001 * (int64_t)PS_PER_US);
    close_hand(&hand);
    arena_free(&arena);
}

// One unit of 4 nodes with 2 GPUs on 2 rails, one spine. Tenants of two nodes: of the 1 MB that a
// GPU sends to each of the two GPUs of the other node, one stays on its rail, one crosses from leaf
// to leaf: two in each direction over the 50 GB/s between leaf and spine. Alone: 6 links x 300 ns
// and 1 MB / 25 GB/s = 41.8 us. Beside each other, at once, 4 transfers cross: 1.8 us and 1 MB /
// 12.5 GB/s = 81.8 us. Whether ranks, or links, are taken together makes no difference.
static void test_tenants_folded_equals_expanded(void **state) {
    (void)state;
    static const SimForm forms[] = {SIM_AUTO, SIM_FOLDED, SIM_REFINED, SIM_EXPANDED};
    Arena arena = {0};
    Hand hand;
    Collect collect = {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 4000000, 4, 1, 1};
    open_hand(&hand, sim_machine_rails(&arena, 1, 4, 2, 1), &collect, &collect, 0, 4);
    Time alone = run_hand(&hand, 0, 0, 0).steps_ps;
    assert_int_equal(alone, TENANTS_STEPS * 41800000);
    hand.works[0].step_ps = hand.works[1].step_ps = alone / TENANTS_STEPS;
    for (uint32_t offset = 0; offset < 8; offset++) {
        Time folded = 0;
        for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
            hand.input.form = forms[f];
            Time a = run_hand(&hand, 0, offset, 8).steps_ps;
            Time b = run_hand(&hand, 1, offset, 8).steps_ps;
            assert_int_equal(a, b);
            if (f == 0) folded = a;
            assert_int_equal(a, folded);
        }
        if (offset == 0) assert_int_equal(folded, TENANTS_STEPS * 81800000);
        assert_true(folded > alone);
    }
    close_hand(&hand);
    arena_free(&arena);
}

static void test_tenants_refuse_steps_too_unlike(void **state) {
    (void)state;
    Arena arena = {0};
    Hand hand;
    Err err = {0};
    TenantsSpan span;
    Collect collect = {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 20000000, 2, 1, 1};
    open_hand(&hand, leaves(&arena, "50 GB/s"), &collect, &collect, 1, 3);
    hand.works[0].step_ps = hand.works[1].step_ps = STEP_PS;
    const TenantsRun run = {.measured = 0,
                            .shape = {1, 1, 1, 1},
                            .phase = PHASE_DECODE,
                            .steps = 1,
                            .offsets = 8,
                            .alone_ps = 30000 * (Time)STEP_PS};
    check_fails(tenants_run_one(&hand.state, &run, &span, &err), &err,
                "a step of a.json lasts longer than 20000 steps of b.json: too many to simulate "
                "together");
    close_hand(&hand);
    arena_free(&arena);
}

// ---- Real plans

// Expert parallelism over all dp GPUs from `first` on.
static Tenant make_tenant(const SmallMachine *machine, const char *name, uint32_t dp,
                          uint32_t first) {
    Tenant tenant = {.name = name,
                     .plan = hand_plan(1, 1, dp, dp),
                     .arch = &machine->arch,
                     .scenario = &machine->scenario,
                     .sequences = 8};
    tenant.plan.pools[0].first_gpu = first;
    return tenant;
}

static TenantsResult measure(const SmallMachine *machine, const Tenant *tenants, uint32_t count) {
    const TenantsInput input = {
        .fabric = &machine->fabric, .model = &machine->model, .tenants = tenants, .count = count};
    TenantsResult result = {0};
    Err err = {0};
    check_ok(tenants_measure(&input, TENANTS_ALL, &result, &err), &err);
    return result;
}

static void check_untouched(const TenantTime *time) {
    assert_true(time->alone_ps > 0);
    assert_int_equal(time->shared_ps, time->alone_ps);
    assert_int_equal(time->least_ps, time->alone_ps);
    assert_int_equal(time->most_ps, time->alone_ps);
}

// Two nodes with an NVLink domain each: no link is common, and nothing changes by a picosecond. The
// lone times are those of rank.
static void test_tenants_apart_are_as_alone(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "hgx-h100:2");
    const Tenant tenants[] = {make_tenant(&machine, "a", 8, 0), make_tenant(&machine, "b", 4, 8)};
    TenantsResult result = measure(&machine, tenants, 2);
    assert_int_equal(result.link_count, 0);
    for (uint32_t t = 0; t < 2; t++) {
        Evaluation alone;
        Err err = {0};
        EvaluateInput input = small_machine_input(&machine);
        check_untouched(&result.times[t].tpot);
        check_untouched(&result.times[t].ttft);
        check_ok(evaluate_plan(&input, &tenants[t].plan, 8, &alone, &err), &err);
        assert_in_range(result.times[t].tpot.alone_ps, alone.tpot_ps - 1, alone.tpot_ps + 1);
        assert_in_range(result.times[t].ttft.alone_ps, alone.ttft_ps - 1, alone.ttft_ps + 1);
        evaluate_free(&alone);
    }
    tenants_free(&result);
    small_machine_close(&machine);
}

// A prompt of 5 chunks and a rest is sampled as evaluate.c does it.
static void test_tenants_add_up_chunks_as_rank_does(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "hgx-h100:2");
    machine.scenario.isl = 5500;
    machine.scenario.prefill_chunk = 1000;
    scenario_rehash(&machine.scenario);
    Tenant tenant = make_tenant(&machine, "a", 4, 4);
    tenant.plan.pools[0].pp = tenant.plan.pools[0].micro_batches = 2;
    TenantsResult result = measure(&machine, &tenant, 1);
    EvaluateInput input = small_machine_input(&machine);
    Evaluation alone;
    Err err = {0};
    check_ok(evaluate_plan(&input, &tenant.plan, 8, &alone, &err), &err);
    assert_in_range(result.times[0].tpot.alone_ps, alone.tpot_ps - 1, alone.tpot_ps + 1);
    assert_in_range(result.times[0].ttft.alone_ps, alone.ttft_ps - 1, alone.ttft_ps + 1);
    check_untouched(&result.times[0].ttft);
    evaluate_free(&alone);
    tenants_free(&result);
    small_machine_close(&machine);
}

// Leaves of two nodes with two GPUs, two links up: tenants of two nodes that lie across two leaves
// each, on GPUs 2-5 and 6-9.
#define CROSSED "leafspine:nodes=10,gpus=2,nic=50GB/s,nvlink=450GB/s,leaf=4,oversubscription=4"

// Mirror images of each other: the same for both, and they do cost each other something.
static void test_tenants_alike_slow_down_alike(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, CROSSED);
    const Tenant tenants[] = {make_tenant(&machine, "a", 4, 2), make_tenant(&machine, "b", 4, 6)};
    TenantsResult result = measure(&machine, tenants, 2);
    const TenantTimes *a = &result.times[0], *b = &result.times[1];
    assert_true(tenants_slowdown(&a->tpot) > 0.1 && tenants_slowdown(&a->ttft) > 0.1);
    assert_memory_equal(a, b, sizeof *a);
    assert_true(a->tpot.least_ps < a->tpot.most_ps);
    assert_true(a->tpot.alone_ps <= a->tpot.least_ps);
    assert_true(result.link_count > 0);
    tenants_free(&result);
    small_machine_close(&machine);
}

// Four unlike tenants in a row, each on a leaf with the next, in several orders: each has the same
// times in all. (With three, the offsets of two neighbours are the same pairs in any order.)
static void test_tenants_order_has_no_effect(void **state) {
    (void)state;
    static const uint32_t orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 2, 0, 3}};
    SmallMachine machine;
    small_machine_open(&machine, CROSSED);
    Tenant tenants[] = {make_tenant(&machine, "a", 4, 2), make_tenant(&machine, "b", 4, 6),
                        make_tenant(&machine, "c", 4, 10), make_tenant(&machine, "d", 4, 14)};
    TenantsResult first = {0};
    for (uint32_t t = 1; t < 4; t++) tenants[t].sequences = 8 + 4 * t;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        Tenant ordered[4];
        for (uint32_t t = 0; t < 4; t++) ordered[t] = tenants[orders[i][t]];
        TenantsResult result = measure(&machine, ordered, 4);
        if (i == 0) first = result;
        for (uint32_t t = 0; t < 4; t++)
            assert_memory_equal(&result.times[t], &first.times[orders[i][t]], sizeof *result.times);
        assert_int_equal(result.link_count, first.link_count);
        if (i > 0) tenants_free(&result);
    }
    tenants_free(&first);
    small_machine_close(&machine);
}

// ---- Places

// What is remembered from call to call changes no figure.
static void test_tenants_memory_changes_nothing(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, CROSSED);
    const Tenant tenants[] = {make_tenant(&machine, "a", 4, 2), make_tenant(&machine, "b", 2, 6)};
    EvaluateInput machine_input = small_machine_input(&machine);
    TenantsResult alone = measure(&machine, tenants, 2), again;
    TenantsInput input = {.fabric = &machine.fabric,
                          .model = &machine.model,
                          .tenants = tenants,
                          .count = 2,
                          .memory = evaluate_memory_open(&machine_input)};
    Err err = {0};
    for (uint32_t i = 0; i < 2; i++) {
        check_ok(tenants_measure(&input, TENANTS_ALL, &again, &err), &err);
        assert_memory_equal(alone.times, again.times, 2 * sizeof *alone.times);
        tenants_free(&again);
    }
    evaluate_memory_close(input.memory);
    tenants_free(&alone);
    small_machine_close(&machine);
}

// More work than allowed is refused before it is done.
static void test_tenants_refuse_too_much_work(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, CROSSED);
    const Tenant tenants[] = {make_tenant(&machine, "a", 4, 2), make_tenant(&machine, "b", 4, 6)};
    const TenantsInput input = {.fabric = &machine.fabric,
                                .model = &machine.model,
                                .tenants = tenants,
                                .count = 2,
                                .work_max = 100000};
    TenantsResult result;
    Err err = {0};
    assert_false(tenants_measure(&input, TENANTS_ALL, &result, &err));
    assert_non_null(strstr(err.text, "operations and transfers to simulate rank by rank, at most "
                                     "1e+05: place tenants on whole scale-up domains or nodes"));
    small_machine_close(&machine);
}

// On the same machine each tenant fits under one leaf, GPUs 0-3 and 4-7 or 8-11: then nothing is
// shared. What is found must be such a place, and gain.
static void test_tenants_place_finds_whole_leaves(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, CROSSED);
    const Tenant tenants[] = {make_tenant(&machine, "a", 4, 2), make_tenant(&machine, "b", 4, 6)};
    const TenantsInput input = {
        .fabric = &machine.fabric, .model = &machine.model, .tenants = tenants, .count = 2};
    TenantsResult given = measure(&machine, tenants, 2);
    TenantsPlaces places;
    tenants_place_find(&input, &given, TENANT_HOSTS_APART, 50, &places);
    assert_true(places.cost < 1);
    assert_int_equal(places.failed, 0);
    for (uint32_t t = 0; t < 2; t++) {
        assert_int_equal(places.first_gpu[t] % 4, 0);
        check_untouched(&places.best.times[t].tpot);
        assert_true(places.best.times[t].tpot.shared_ps < given.times[t].tpot.shared_ps);
    }
    assert_int_not_equal(places.first_gpu[0], places.first_gpu[1]);
    // a bound is kept, and what was left out is said
    TenantsPlaces few;
    tenants_place_find(&input, &given, TENANT_HOSTS_APART, 1, &few);
    assert_int_equal(few.tried, 1);
    assert_int_equal(few.left, places.tried - 1);
    tenants_place_free(&few);
    tenants_place_free(&places);
    tenants_free(&given);
    small_machine_close(&machine);
}

// Two tenants of 2 GPUs on an HGX H100: packed they share the first CPU's memory, and a place where
// they do is not proposed.
static void test_tenants_place_keeps_hosts_apart(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "hgx-h100");
    const Tenant tenants[] = {make_tenant(&machine, "a", 2, 0), make_tenant(&machine, "b", 2, 4)};
    const TenantsInput input = {
        .fabric = &machine.fabric, .model = &machine.model, .tenants = tenants, .count = 2};
    TenantsResult given = measure(&machine, tenants, 2);
    TenantsPlaces places;
    tenants_place_find(&input, &given, TENANT_HOSTS_APART, 50, &places);
    assert_true(places.refused > 0);
    assert_true(places.cost == 1);
    assert_int_equal(places.first_gpu[0], 0);
    assert_int_equal(places.first_gpu[1], 4);
    tenants_place_free(&places);
    tenants_free(&given);
    small_machine_close(&machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tenants_share_the_link_of_a_leaf),
        cmocka_unit_test(test_tenants_find_the_contested_links),
        cmocka_unit_test(test_tenants_max_min_leaves_the_slow_one_alone),
        cmocka_unit_test(test_tenants_folded_equals_expanded),
        cmocka_unit_test(test_tenants_refuse_steps_too_unlike),
        cmocka_unit_test(test_tenants_apart_are_as_alone),
        cmocka_unit_test(test_tenants_add_up_chunks_as_rank_does),
        cmocka_unit_test(test_tenants_alike_slow_down_alike),
        cmocka_unit_test(test_tenants_order_has_no_effect),
        cmocka_unit_test(test_tenants_memory_changes_nothing),
        cmocka_unit_test(test_tenants_refuse_too_much_work),
        cmocka_unit_test(test_tenants_place_finds_whole_leaves),
        cmocka_unit_test(test_tenants_place_keeps_hosts_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
