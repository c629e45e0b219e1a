// Flow sharing as worked examples, and against an independent solver on random cases.
#include "tests/check.h"

#include "model/base/rng.h"
#include "sim/flow.h"

#define GBPS      UINT64_C(1000000000) // B/s
#define PS_PER_US 1000000

// Runs from `now` until a flow has ended.
static Time finish_of(FlowNet *net, uint32_t want_tag, Time now) {
    uint32_t tag;
    for (;;) {
        flow_solve(net, now);
        now = flow_next(net);
        assert_true(now < TIME_MAX);
        while (flow_take(net, now, &tag))
            if (tag == want_tag) return now;
    }
}

// 1 MB over 100 GB/s: 10^6 / 10^11 s = 10 us.
static void test_flow_alone_takes_bytes_over_bandwidth(void **state) {
    (void)state;
    FlowNet net = {0};
    FlowEdge edge = {flow_add_resource(&net, 100 * GBPS), 1};
    assert_true(flow_start(&net, &edge, 1, 1, 1000000, 7, 0));
    assert_int_equal(finish_of(&net, 7, 0), 10 * PS_PER_US);
    flow_free(&net);
}

// Two flows of 1 MB and 3 MB on one link of 100 GB/s: 50 GB/s each until the first ends at 20 us;
// the other has 2 MB left, alone: 20 us more.
static void test_flow_two_on_one_link_share_evenly(void **state) {
    (void)state;
    FlowNet net = {0};
    FlowEdge edge = {flow_add_resource(&net, 100 * GBPS), 1};
    assert_true(flow_start(&net, &edge, 1, 1, 1000000, 1, 0));
    assert_true(flow_start(&net, &edge, 1, 1, 3000000, 2, 0));
    assert_int_equal(finish_of(&net, 1, 0), 20 * PS_PER_US);
    assert_int_equal(finish_of(&net, 2, 20 * PS_PER_US), 40 * PS_PER_US);
    flow_free(&net);
}

// The parking lot: link A (10 GB/s) carries flows 0 and 1, link B (40 GB/s) flows 1 and 2. A is the
// bottleneck: 5 each; flow 2 takes the other 35 of B.
static void test_flow_max_min_gives_the_rest_to_whom_can_use_it(void **state) {
    (void)state;
    FlowNet net = {0};
    ResourceId a = flow_add_resource(&net, 10 * GBPS), b = flow_add_resource(&net, 40 * GBPS);
    FlowEdge only_a[] = {{a, 1}}, both[] = {{a, 1}, {b, 1}}, only_b[] = {{b, 1}};
    assert_true(flow_start(&net, only_a, 1, 1, GBPS, 0, 0));
    assert_true(flow_start(&net, both, 2, 1, GBPS, 1, 0));
    assert_true(flow_start(&net, only_b, 1, 1, GBPS, 2, 0));
    flow_solve(&net, 0);
    assert_int_equal(net.flows[0].rate, (5 * GBPS) << 20);
    assert_int_equal(net.flows[1].rate, (5 * GBPS) << 20);
    assert_int_equal(net.flows[2].rate, (35 * GBPS) << 20);
    flow_free(&net);
}

// A transfer striped over four links as 4, 5, 5, 4 of 18 with capacities in the same proportion (25
// GB/s a cable) runs at 18 x 25 = 450 GB/s.
static void test_flow_striped_uses_all_planes(void **state) {
    (void)state;
    FlowNet net = {0};
    const uint64_t cables[] = {4, 5, 5, 4};
    FlowEdge edges[4];
    for (uint32_t i = 0; i < 4; i++)
        edges[i] = (FlowEdge){flow_add_resource(&net, cables[i] * 25 * GBPS), cables[i]};
    assert_true(flow_start(&net, edges, 4, 18, 450 * 1000, 0, 0));
    assert_int_equal(finish_of(&net, 0, 0), PS_PER_US);
    flow_free(&net);
}

// 71 alike transfers of 1 MiB out of one port of 450 GB/s, as one class with coefficient 71: 71 x
// 2^20 B / 450e9 B/s = 165,441,991.1 ps, rounded up to a picosecond.
static void test_flow_class_stands_for_many(void **state) {
    (void)state;
    FlowNet net = {0};
    FlowEdge edge = {flow_add_resource(&net, 450 * GBPS), 71};
    assert_true(flow_start(&net, &edge, 1, 1, 1 << 20, 0, 0));
    assert_int_equal(finish_of(&net, 0, 0), 165441992);
    flow_free(&net);
}

static void test_flow_without_links_or_bytes_ends_at_once(void **state) {
    (void)state;
    FlowNet net = {0};
    FlowEdge edge = {flow_add_resource(&net, GBPS), 1};
    uint32_t tag = 0;
    assert_true(flow_start(&net, NULL, 0, 1, 100, 3, 5));
    assert_true(flow_start(&net, &edge, 1, 1, 0, 4, 5));
    assert_true(flow_take(&net, 5, &tag));
    assert_int_equal(tag, 3);
    assert_true(flow_take(&net, 5, &tag));
    assert_int_equal(tag, 4);
    assert_false(flow_take(&net, 5, &tag));
    flow_free(&net);
}

static void test_flow_refuses_what_the_arithmetic_cannot_hold(void **state) {
    (void)state;
    FlowNet net = {0};
    FlowEdge edge = {flow_add_resource(&net, GBPS), 1};
    FlowEdge wide = {flow_add_resource(&net, UINT64_C(1) << 44), 1};
    assert_false(flow_start(&net, &edge, 1, 1, UINT64_C(1) << 63, 0, 0));
    assert_false(flow_start(&net, &wide, 1, 1, 1, 0, 0));
    assert_false(flow_start(&net, &edge, 1, UINT64_C(1) << 21, 1, 0, 0));
    flow_free(&net);
}

// A random net, kept small enough to certify by hand: every flow has a bottleneck, that is a full
// link on which no flow is faster.
enum { RESOURCES = 6, FLOWS = 12 };

static void check_certificate(const FlowNet *net) {
    double used[RESOURCES] = {0}, lost[RESOURCES] = {0}, fastest[RESOURCES] = {0};
    for (uint32_t f = 0; f < net->flow_count; f++) {
        const Flow *flow = &net->flows[f];
        for (uint32_t i = 0; i < flow->edge_count; i++) {
            ResourceId r = flow->edges[i].resource;
            double rate = (double)flow->rate / 1048576;
            double share = (double)flow->edges[i].coefficient / (double)flow->scale;
            used[r] += rate * share;
            lost[r] += share / 1048576;
            if (rate > fastest[r]) fastest[r] = rate;
        }
    }
    for (ResourceId r = 0; r < RESOURCES; r++)
        assert_true(used[r] <= (double)net->capacity_Bps[r] * (1 + 1e-12));
    for (uint32_t f = 0; f < net->flow_count; f++) {
        bool has_bottleneck = false;
        const Flow *flow = &net->flows[f];
        for (uint32_t i = 0; i < flow->edge_count; i++) {
            ResourceId r = flow->edges[i].resource;
            bool is_full = used[r] + lost[r] >= (double)net->capacity_Bps[r] * (1 - 1e-12);
            if (is_full && (double)flow->rate / 1048576 >= fastest[r]) has_bottleneck = true;
        }
        assert_true(has_bottleneck);
    }
}

static void test_flow_random_rates_are_max_min_fair(void **state) {
    (void)state;
    Rng rng;
    rng_seed(&rng, 1);
    for (uint32_t trial = 0; trial < 2000; trial++) {
        FlowNet net = {0};
        FlowEdge edges[FLOWS][RESOURCES];
        for (uint32_t r = 0; r < RESOURCES; r++)
            flow_add_resource(&net, 1000 + rng_below(&rng, 1000000));
        for (uint32_t f = 0; f < FLOWS; f++) {
            uint32_t count = 0;
            for (uint32_t r = 0; r < RESOURCES; r++)
                if (rng_below(&rng, 3) == 0)
                    edges[f][count++] = (FlowEdge){r, 1 + rng_below(&rng, 18)};
            if (count == 0) edges[f][count++] = (FlowEdge){0, 1};
            assert_true(flow_start(&net, edges[f], count, 1 + rng_below(&rng, 6), 1000, f, 0));
        }
        flow_solve(&net, 0);
        check_certificate(&net);
        flow_free(&net);
    }
}

// Order of flows and of links must not matter, to the bit.
static void test_flow_rates_do_not_depend_on_order(void **state) {
    (void)state;
    Rng rng;
    rng_seed(&rng, 2);
    for (uint32_t trial = 0; trial < 500; trial++) {
        FlowNet forward = {0}, backward = {0};
        uint64_t capacity[RESOURCES];
        FlowEdge a[FLOWS][2], b[FLOWS][2];
        for (uint32_t r = 0; r < RESOURCES; r++) capacity[r] = 1 + rng_below(&rng, 1000000);
        for (uint32_t r = 0; r < RESOURCES; r++) {
            flow_add_resource(&forward, capacity[r]);
            flow_add_resource(&backward, capacity[RESOURCES - 1 - r]);
        }
        for (uint32_t f = 0; f < FLOWS; f++) {
            uint32_t x = (uint32_t)rng_below(&rng, RESOURCES), y = (x + 1) % RESOURCES;
            uint64_t c = 1 + rng_below(&rng, 9);
            a[f][0] = (FlowEdge){x, c};
            a[f][1] = (FlowEdge){y, 3};
            b[f][0] = (FlowEdge){RESOURCES - 1 - y, 3};
            b[f][1] = (FlowEdge){RESOURCES - 1 - x, c};
        }
        for (uint32_t f = 0; f < FLOWS; f++) {
            assert_true(flow_start(&forward, a[f], 2, 7, 1000, f, 0));
            assert_true(flow_start(&backward, b[FLOWS - 1 - f], 2, 7, 1000, f, 0));
        }
        flow_solve(&forward, 0);
        flow_solve(&backward, 0);
        for (uint32_t f = 0; f < FLOWS; f++)
            assert_true(forward.flows[f].rate == backward.flows[FLOWS - 1 - f].rate);
        flow_free(&forward);
        flow_free(&backward);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flow_alone_takes_bytes_over_bandwidth),
        cmocka_unit_test(test_flow_two_on_one_link_share_evenly),
        cmocka_unit_test(test_flow_max_min_gives_the_rest_to_whom_can_use_it),
        cmocka_unit_test(test_flow_striped_uses_all_planes),
        cmocka_unit_test(test_flow_class_stands_for_many),
        cmocka_unit_test(test_flow_without_links_or_bytes_ends_at_once),
        cmocka_unit_test(test_flow_refuses_what_the_arithmetic_cannot_hold),
        cmocka_unit_test(test_flow_random_rates_are_max_min_fair),
        cmocka_unit_test(test_flow_rates_do_not_depend_on_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
