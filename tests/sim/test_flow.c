// Flow sharing as worked examples, and against an independent solver on random cases.
#include "tests/check.h"

#include "model/base/rng.h"
#include "sim/flow.h"

#define GBPS      UINT64_C(1000000000) // B/s
#define PS_PER_US 1000000

static bool start(FlowNet *net, const FlowEdge *edges, uint32_t count, uint64_t scale,
                  uint64_t bytes, uint32_t tag, Time now) {
    PathId path;
    return flow_add_path(net, edges, count, scale, &path) && flow_start(net, path, bytes, tag, now);
}

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
    FlowNet *net = flow_open();
    FlowEdge edge = {flow_add_resource(net, 100 * GBPS), 1};
    assert_true(start(net, &edge, 1, 1, 1000000, 7, 0));
    assert_int_equal(finish_of(net, 7, 0), 10 * PS_PER_US);
    flow_close(net);
}

// Two flows of 1 MB and 3 MB on one link of 100 GB/s: 50 GB/s each until the first ends at 20 us;
// the other has 2 MB left, alone: 20 us more.
static void test_flow_two_on_one_link_share_evenly(void **state) {
    (void)state;
    FlowNet *net = flow_open();
    FlowEdge edge = {flow_add_resource(net, 100 * GBPS), 1};
    assert_true(start(net, &edge, 1, 1, 1000000, 1, 0));
    assert_true(start(net, &edge, 1, 1, 3000000, 2, 0));
    assert_int_equal(finish_of(net, 1, 0), 20 * PS_PER_US);
    assert_int_equal(finish_of(net, 2, 20 * PS_PER_US), 40 * PS_PER_US);
    flow_close(net);
}

// The parking lot: link A (10 GB/s) carries flows 0 and 1, link B (40 GB/s) flows 1 and 2. A is the
// bottleneck: 5 each; flow 2 takes the other 35 of B.
static void test_flow_max_min_gives_the_rest_to_whom_can_use_it(void **state) {
    (void)state;
    FlowNet *net = flow_open();
    ResourceId a = flow_add_resource(net, 10 * GBPS), b = flow_add_resource(net, 40 * GBPS);
    FlowEdge only_a[] = {{a, 1}}, both[] = {{a, 1}, {b, 1}}, only_b[] = {{b, 1}};
    assert_true(start(net, only_a, 1, 1, GBPS, 0, 0));
    assert_true(start(net, both, 2, 1, GBPS, 1, 0));
    assert_true(start(net, only_b, 1, 1, GBPS, 2, 0));
    flow_solve(net, 0);
    assert_int_equal(flow_rate(net, 0), (5 * GBPS) << 20);
    assert_int_equal(flow_rate(net, 1), (5 * GBPS) << 20);
    assert_int_equal(flow_rate(net, 2), (35 * GBPS) << 20);
    flow_close(net);
}

// A transfer striped over four links as 4, 5, 5, 4 of 18 with capacities in the same proportion (25
// GB/s a cable) runs at 18 x 25 = 450 GB/s.
static void test_flow_striped_uses_all_planes(void **state) {
    (void)state;
    FlowNet *net = flow_open();
    const uint64_t cables[] = {4, 5, 5, 4};
    FlowEdge edges[4];
    for (uint32_t i = 0; i < 4; i++)
        edges[i] = (FlowEdge){flow_add_resource(net, cables[i] * 25 * GBPS), cables[i]};
    assert_true(start(net, edges, 4, 18, 450 * 1000, 0, 0));
    assert_int_equal(finish_of(net, 0, 0), PS_PER_US);
    flow_close(net);
}

// 71 alike transfers of 1 MiB out of one port of 450 GB/s, as one class with coefficient 71: 71 x
// 2^20 B / 450e9 B/s = 165,441,991.1 ps, rounded up to a picosecond.
static void test_flow_class_stands_for_many(void **state) {
    (void)state;
    FlowNet *net = flow_open();
    FlowEdge edge = {flow_add_resource(net, 450 * GBPS), 71};
    assert_true(start(net, &edge, 1, 1, 1 << 20, 0, 0));
    assert_int_equal(finish_of(net, 0, 0), 165441992);
    flow_close(net);
}

static void test_flow_without_links_or_bytes_ends_at_once(void **state) {
    (void)state;
    FlowNet *net = flow_open();
    FlowEdge edge = {flow_add_resource(net, GBPS), 1};
    uint32_t tag = 0;
    assert_true(start(net, NULL, 0, 1, 100, 3, 5));
    assert_true(start(net, &edge, 1, 1, 0, 4, 5));
    assert_true(flow_take(net, 5, &tag));
    assert_int_equal(tag, 3);
    assert_true(flow_take(net, 5, &tag));
    assert_int_equal(tag, 4);
    assert_false(flow_take(net, 5, &tag));
    flow_close(net);
}

static void test_flow_refuses_what_the_arithmetic_cannot_hold(void **state) {
    (void)state;
    FlowNet *net = flow_open();
    FlowEdge edge = {flow_add_resource(net, GBPS), 1};
    PathId path;
    assert_false(start(net, &edge, 1, 1, UINT64_C(1) << 63, 0, 0));
    assert_false(flow_add_path(net, &edge, 1, 0, &path));
    assert_false(flow_add_path(net, &edge, 1, (UINT64_C(1) << 32) + 1, &path));
    // scales of 2^31 and 3 have no common multiple up to 2^32
    edge.coefficient = 5;
    assert_true(flow_add_path(net, &edge, 1, UINT64_C(1) << 31, &path));
    assert_false(flow_add_path(net, &edge, 1, 3, &path));
    edge.coefficient = UINT64_C(1) << 28;
    assert_false(flow_add_path(net, &edge, 1, 2, &path));
    flow_close(net);
}

// Two transfers of 1 MB on one path at the same time share its link of 100 GB/s: 20 us both.
static void test_flow_two_on_one_path(void **state) {
    (void)state;
    FlowNet *net = flow_open();
    FlowEdge edge = {flow_add_resource(net, 100 * GBPS), 1};
    PathId path;
    assert_true(flow_add_path(net, &edge, 1, 1, &path));
    for (uint32_t round = 0; round < 3; round++) {
        Time begin = round * 20 * PS_PER_US;
        assert_true(flow_start(net, path, 1000000, 1, begin));
        assert_true(flow_start(net, path, 1000000, 2, begin));
        assert_int_equal(finish_of(net, 2, begin), begin + 20 * PS_PER_US);
    }
    flow_close(net);
}

// Two links of 100 GB/s with 1 MB each beside 1 MB and 1.1 MB: the first of one ends at 20 us, that
// of the other at 20.1 us with 1.005 MB. Half a percent apart, so with an eps of 1 % both end at
// 20.1 us; the other of each link moves on at half the rate until then. It had 0.1 MB left at 20 us
// alone on the first link: 0.005 MB in 0.1 us, then 0.095 MB in 0.95 us, to 21.05 us instead of 21.
static void test_flow_eps_ends_together_what_is_close(void **state) {
    (void)state;
    FlowNet *net = flow_open();
    FlowEdge a = {flow_add_resource(net, 100 * GBPS), 1},
             b = {flow_add_resource(net, 100 * GBPS), 1};
    uint32_t tag;
    flow_set_eps(net, 10000000);
    assert_true(start(net, &a, 1, 1, 1000000, 1, 0));
    assert_true(start(net, &a, 1, 1, 1100000, 2, 0));
    assert_true(start(net, &b, 1, 1, 1005000, 3, 0));
    assert_true(start(net, &b, 1, 1, 2000000, 4, 0));
    flow_solve(net, 0);
    Time both = flow_next(net);
    assert_int_equal(both, 20100000);
    assert_true(flow_take(net, both, &tag) && flow_take(net, both, &tag));
    assert_false(flow_take(net, both, &tag));
    // 0.1 us of 20.1 us, rounded up
    assert_int_equal(flow_stats(net).late_ppb, 4975125);
    assert_int_equal(finish_of(net, 2, both), 21050000);
    flow_close(net);
}

// Random nets: resources, paths over some of them with coefficients, transfers that begin at
// multiples of 1 us.
enum { RESOURCES = 18, FLOWS = 72, STARTS = 4 };

typedef struct RandomNet {
    uint32_t resources, flows;
    uint64_t capacity_Bps[RESOURCES];
    FlowEdge edges[FLOWS][RESOURCES];
    uint32_t count[FLOWS];
    uint64_t scale[FLOWS], bytes[FLOWS];
    Time begin[FLOWS], finish[FLOWS]; // finish: TIME_MAX while it runs
} RandomNet;

static void make_random(Rng *rng, RandomNet *random) {
    random->resources = 6;
    random->flows = 24;
    for (uint32_t r = 0; r < random->resources; r++)
        random->capacity_Bps[r] = 1000000 + rng_below(rng, 1000000000);
    bool is_plain = rng_below(rng, 2) == 0;
    for (uint32_t f = 0; f < random->flows; f++) {
        random->count[f] = 0;
        random->scale[f] = is_plain ? 1 : 1 + rng_below(rng, 6);
        for (uint32_t r = 0; r < random->resources; r++)
            if (rng_below(rng, 3) == 0 || (r == random->resources - 1 && random->count[f] == 0))
                random->edges[f][random->count[f]++] =
                    (FlowEdge){r, is_plain ? 1 : 1 + rng_below(rng, 18)};
        random->bytes[f] = 1 + rng_below(rng, 2000);
        random->begin[f] = (Time)rng_below(rng, STARTS) * PS_PER_US;
        random->finish[f] = TIME_MAX;
    }
}

// A net with the transfers that run at `now`, rates solved from scratch. `backward` lists resources
// and transfers the other way round.
typedef enum Direction { FORWARD, BACKWARD } Direction;

static FlowNet *fresh_net(const RandomNet *random, Time now, Direction direction) {
    FlowNet *net = flow_open();
    bool is_backward = direction == BACKWARD;
    for (uint32_t i = 0; i < random->resources; i++)
        flow_add_resource(net, random->capacity_Bps[is_backward ? random->resources - 1 - i : i]);
    for (uint32_t i = 0; i < random->flows; i++) {
        uint32_t f = is_backward ? random->flows - 1 - i : i, count = random->count[f];
        FlowEdge edges[RESOURCES];
        for (uint32_t e = 0; e < count; e++) {
            FlowEdge edge = random->edges[f][e];
            if (is_backward) edge.resource = random->resources - 1 - edge.resource;
            edges[is_backward ? count - 1 - e : e] = edge;
        }
        if (random->begin[f] <= now && random->finish[f] > now)
            assert_true(start(net, edges, count, random->scale[f], 1000, f, now));
    }
    flow_solve(net, now);
    return net;
}

// Every flow has a bottleneck, that is a full link on which no flow is faster.
static void check_certificate(const RandomNet *random, const FlowNet *net) {
    double used[RESOURCES] = {0}, lost[RESOURCES] = {0}, fastest[RESOURCES] = {0};
    for (uint32_t f = 0; f < random->flows; f++) {
        double rate = (double)flow_rate(net, f) / 1048576;
        if (rate <= 0) continue;
        for (uint32_t i = 0; i < random->count[f]; i++) {
            ResourceId r = random->edges[f][i].resource;
            double share = (double)random->edges[f][i].coefficient / (double)random->scale[f];
            used[r] += rate * share;
            lost[r] += share / 1048576;
            if (rate > fastest[r]) fastest[r] = rate;
        }
    }
    for (ResourceId r = 0; r < random->resources; r++)
        assert_true(used[r] <= (double)random->capacity_Bps[r] * (1 + 1e-12));
    for (uint32_t f = 0; f < random->flows; f++) {
        bool has_bottleneck = false;
        double rate = (double)flow_rate(net, f) / 1048576;
        for (uint32_t i = 0; i < random->count[f]; i++) {
            ResourceId r = random->edges[f][i].resource;
            bool is_full = used[r] + lost[r] >= (double)random->capacity_Bps[r] * (1 - 1e-12);
            if (is_full && rate >= fastest[r]) has_bottleneck = true;
        }
        assert_true(has_bottleneck || rate <= 0);
    }
}

// After every instant the rates, kept up to date by what came and went, equal those of fresh nets
// to the bit, in either order, and are max-min fair.
static void check_instant(const RandomNet *random, const FlowNet *net, Time now) {
    FlowNet *forward = fresh_net(random, now, FORWARD),
            *backward = fresh_net(random, now, BACKWARD);
    for (uint32_t f = 0; f < random->flows; f++) {
        assert_int_equal(flow_rate(net, f), flow_rate(forward, f));
        assert_int_equal(flow_rate(net, f), flow_rate(backward, f));
    }
    check_certificate(random, net);
    flow_close(forward);
    flow_close(backward);
}

static void run_random(RandomNet *random) {
    FlowNet *net = flow_open();
    PathId paths[FLOWS];
    for (uint32_t r = 0; r < random->resources; r++)
        flow_add_resource(net, random->capacity_Bps[r]);
    for (uint32_t f = 0; f < random->flows; f++)
        assert_true(
            flow_add_path(net, random->edges[f], random->count[f], random->scale[f], &paths[f]));
    uint32_t left = random->flows, tag;
    for (Time now = 0; left > 0;) {
        while (flow_take(net, now, &tag)) {
            random->finish[tag] = now;
            left--;
        }
        for (uint32_t f = 0; f < random->flows; f++)
            if (random->begin[f] == now)
                assert_true(flow_start(net, paths[f], random->bytes[f], f, now));
        flow_solve(net, now);
        check_instant(random, net, now);
        Time next = flow_next(net);
        for (uint32_t f = 0; f < random->flows; f++)
            if (random->begin[f] > now && random->begin[f] < next) next = random->begin[f];
        assert_true(next > now && (next < TIME_MAX || left == 0));
        now = next;
    }
    flow_close(net);
}

// All pairs of 9 ports, in and out: 72 transfers, sizes and capacities from so few values that many
// levels are equal.
static void make_crossbar(Rng *rng, RandomNet *random) {
    enum { PORTS = 9 };
    uint64_t sizes = rng_below(rng, 2) == 0 ? 4 : 1000;
    random->resources = 2 * PORTS;
    random->flows = PORTS * (PORTS - 1);
    for (uint32_t r = 0; r < random->resources; r++)
        random->capacity_Bps[r] = 1000000000 * (1 + rng_below(rng, 8) / 7);
    uint32_t f = 0;
    for (uint32_t a = 0; a < PORTS; a++)
        for (uint32_t b = 0; b < PORTS; b++) {
            if (a == b) continue;
            random->edges[f][0] = (FlowEdge){a, 1};
            random->edges[f][1] = (FlowEdge){PORTS + b, 1};
            random->count[f] = 2;
            random->scale[f] = 1;
            random->bytes[f] = 1000 + rng_below(rng, sizes) * (1000 / sizes);
            random->begin[f] = rng_below(rng, 20) == 0 ? PS_PER_US : 0;
            random->finish[f++] = TIME_MAX;
        }
}

static void test_flow_incremental_equals_from_scratch(void **state) {
    (void)state;
    Rng rng;
    rng_seed(&rng, 1);
    for (uint32_t trial = 0; trial < 300; trial++) {
        RandomNet random;
        if (trial % 3 == 0)
            make_crossbar(&rng, &random);
        else
            make_random(&rng, &random);
        run_random(&random);
    }
}

// Each link a second time, loaded as the first by every path but, in some nets, one: what says the
// same is dropped, what does not is kept, and no rate changes.
static void test_flow_merge_changes_no_rate(void **state) {
    (void)state;
    Rng rng;
    rng_seed(&rng, 3);
    for (uint32_t trial = 0; trial < 100; trial++) {
        RandomNet random;
        make_random(&rng, &random);
        FlowNet *nets[2] = {flow_open(), flow_open()};
        uint32_t odd = trial % 2 == 0 ? FLOW_NONE : (uint32_t)rng_below(&rng, random.flows);
        PathId paths[2][FLOWS];
        for (uint32_t n = 0; n < 2; n++) {
            for (uint32_t r = 0; r < 2 * random.resources; r++)
                flow_add_resource(nets[n], random.capacity_Bps[r % random.resources]);
            for (uint32_t f = 0; f < random.flows; f++) {
                FlowEdge edges[2 * RESOURCES];
                uint32_t count = random.count[f];
                for (uint32_t e = 0; e < 2 * count; e++) {
                    edges[e] = random.edges[f][e % count];
                    if (e >= count) edges[e].resource += random.resources;
                }
                if (f == odd) edges[2 * count - 1].coefficient++;
                assert_true(
                    flow_add_path(nets[n], edges, 2 * count, random.scale[f], &paths[n][f]));
            }
            if (n == 1) flow_merge(nets[n]);
            for (uint32_t f = 0; f < random.flows; f++)
                assert_true(flow_start(nets[n], paths[n][f], random.bytes[f], f, 0));
            flow_solve(nets[n], 0);
        }
        for (uint32_t f = 0; f < random.flows; f++)
            assert_int_equal(flow_rate(nets[0], f), flow_rate(nets[1], f));
        assert_true(flow_stats(nets[1]).levels < flow_stats(nets[0]).levels);
        flow_close(nets[0]);
        flow_close(nets[1]);
    }
}

// A bucket of 20 kB on a link of 1 GB/s: what has passed by t is 20 kB + 1 GB/s x t at most, so
// 100 kB need 80 us. 10 us later 10 kB of tokens are back: 30 kB need 20 us. The bucket runs dry
// between two picoseconds and is closed at the first: of what could pass in one, 2^43 B/s x 1 ps =
// 8.8 B, which take 8.8 ns, may be missing each time.
static void test_flow_burst_passes_at_once(void **state) {
    (void)state;
    FlowNet *net = flow_open();
    FlowEdge edge = {flow_add_resource(net, GBPS), 1};
    flow_set_burst(net, edge.resource, 20000);
    assert_true(start(net, &edge, 1, 1, 100000, 1, 0));
    Time first = finish_of(net, 1, 0);
    assert_in_range(first, 80 * PS_PER_US, 80 * PS_PER_US + 8800);
    flow_solve(net, first);
    assert_true(start(net, &edge, 1, 1, 30000, 2, first + 10 * PS_PER_US));
    Time second = finish_of(net, 2, first + 10 * PS_PER_US);
    assert_in_range(second, first + 30 * PS_PER_US - 8800, first + 30 * PS_PER_US + 8800);
    flow_close(net);
}

// Behind two links of 1 GB/s with 20 kB each lies one of 500 MB/s with 50 kB. 120 kB have passed
// all three when they have passed the last: (120 - 50) kB / 500 MB/s = 140 us; the others pass
// (120 - 20) kB in 100 us and do not limit it. Up to 8.8 ns are missing at each of the two that run
// dry.
static void test_flow_bursts_along_a_path(void **state) {
    (void)state;
    FlowNet *net = flow_open();
    ResourceId near = flow_add_resource(net, GBPS), far = flow_add_resource(net, GBPS);
    ResourceId up = flow_add_resource(net, GBPS / 2);
    flow_set_burst(net, near, 20000);
    flow_set_burst(net, far, 20000);
    flow_set_burst(net, up, 50000);
    FlowEdge path[] = {{near, 1}, {up, 1}, {far, 1}};
    assert_true(start(net, path, 3, 1, 120000, 1, 0));
    Time end = finish_of(net, 1, 0);
    assert_in_range(end, 140 * PS_PER_US, 140 * PS_PER_US + 17600);
    flow_close(net);
}

// The tokens that come back are what the link does not use: at half of its rate for 40 us, 1 GB/s x
// 40 us / 2 = 20 kB. Then 60 kB more need 40 us.
static void test_flow_burst_refills_while_in_use(void **state) {
    (void)state;
    FlowNet *net = flow_open();
    ResourceId slow = flow_add_resource(net, GBPS / 2), link = flow_add_resource(net, GBPS);
    flow_set_burst(net, link, 30000);
    FlowEdge fast[] = {{link, 1}}, halved[] = {{slow, 1}, {link, 1}};
    assert_true(start(net, fast, 1, 1, 30000, 1, 0)); // empties the bucket
    Time empty = finish_of(net, 1, 0);
    assert_true(empty < 10000);
    assert_true(start(net, halved, 2, 1, 20000, 2, empty));
    Time half = finish_of(net, 2, empty);
    assert_in_range(half, empty + 40 * PS_PER_US - 2, empty + 40 * PS_PER_US + 2);
    assert_true(start(net, fast, 1, 1, 60000, 3, half));
    Time end = finish_of(net, 3, half);
    assert_in_range(end, half + 40 * PS_PER_US - 5000, half + 40 * PS_PER_US + 5000);
    flow_close(net);
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
        cmocka_unit_test(test_flow_two_on_one_path),
        cmocka_unit_test(test_flow_eps_ends_together_what_is_close),
        cmocka_unit_test(test_flow_incremental_equals_from_scratch),
        cmocka_unit_test(test_flow_merge_changes_no_rate),
        cmocka_unit_test(test_flow_burst_passes_at_once),
        cmocka_unit_test(test_flow_bursts_along_a_path),
        cmocka_unit_test(test_flow_burst_refills_while_in_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
