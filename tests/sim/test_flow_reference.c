// Flow sharing against closed forms and against the reference solver, on random nets whose flows
// come and go: ends within 1 ns or 1e-9 of unrounded max-min, and to the bit equal to the rounded
// one, recomputed from nothing at every event.
#include "tests/check.h"

#include "model/base/rng.h"
#include "model/base/wide.h"
#include "sim/flow.h"
#include "tests/sim/reference_solver.h"

#define GBPS     UINT64_C(1000000000) // B/s
#define PS_PER_S 1e12L

// ---- Nets as data, and how to run them.

enum { LINKS_MAX = 144, FLOWS_MAX = 300, EDGES_MAX = 36 };

typedef struct Net {
    uint64_t capacity_Bps[LINKS_MAX];
    uint32_t link_count;
    ReferenceFlow flows[FLOWS_MAX];
    uint32_t flow_count;
    ReferenceEdge edges[FLOWS_MAX][EDGES_MAX];
} Net;

static ReferenceNet reference_of(const Net *net) {
    return (ReferenceNet){net->capacity_Bps, net->link_count, net->flows, net->flow_count};
}

static uint32_t add_link(Net *net, uint64_t capacity_Bps) {
    assert_true(net->link_count < LINKS_MAX);
    net->capacity_Bps[net->link_count] = capacity_Bps;
    return net->link_count++;
}

// `edges` are pairs of link and coefficient.
static uint32_t add_flow(Net *net, const ReferenceEdge *edges, uint32_t count, uint64_t scale,
                         uint64_t bytes, Time start) {
    assert_true(net->flow_count < FLOWS_MAX && count <= EDGES_MAX);
    uint32_t flow = net->flow_count++;
    if (count > 0) memcpy(net->edges[flow], edges, count * sizeof *edges);
    net->flows[flow] = (ReferenceFlow){net->edges[flow], count, scale, bytes, start};
    return flow;
}

// A new FlowNet with the links and paths of `net`; paths are numbered as flows are.
static FlowNet *open_net(const Net *net) {
    FlowNet *flows = flow_open();
    for (uint32_t i = 0; i < net->link_count; i++) flow_add_resource(flows, net->capacity_Bps[i]);
    for (uint32_t f = 0; f < net->flow_count; f++) {
        const ReferenceFlow *flow = &net->flows[f];
        FlowEdge edges[EDGES_MAX];
        PathId path;
        for (uint32_t i = 0; i < flow->edge_count; i++)
            edges[i] = (FlowEdge){flow->edges[i].link, flow->edges[i].coefficient};
        assert_true(flow_add_path(flows, edges, flow->edge_count, flow->scale, &path));
        assert_int_equal(path, f);
    }
    return flows;
}

// What a run looks like between two events.
typedef struct Run {
    const Net *net;
    FlowNet *flows;
    bool is_started[FLOWS_MAX], is_active[FLOWS_MAX];
    Time ends[FLOWS_MAX];
    Time now;
} Run;

static Time next_start(const Run *run) {
    Time next = TIME_MAX;
    for (uint32_t f = 0; f < run->net->flow_count; f++)
        if (!run->is_started[f] && run->net->flows[f].start < next) next = run->net->flows[f].start;
    return next;
}

// To the next event: takes what ends, starts what begins, solves. False when all is over.
static bool step(Run *run) {
    Time start = next_start(run), end = flow_next(run->flows);
    run->now = start < end ? start : end;
    if (run->now == TIME_MAX) return false;
    for (uint32_t f; flow_take(run->flows, run->now, &f);) {
        assert_true(run->is_active[f]);
        run->is_active[f] = false;
        run->ends[f] = run->now;
    }
    for (uint32_t f = 0; f < run->net->flow_count; f++) {
        const ReferenceFlow *flow = &run->net->flows[f];
        if (flow->start != run->now || run->is_started[f]) continue;
        assert_true(flow_start(run->flows, f, flow->bytes, f, run->now));
        run->is_started[f] = run->is_active[f] = true;
    }
    flow_solve(run->flows, run->now);
    return true;
}

// When each flow of a net ends.
static void run_net(const Net *net, Time *out_ends) {
    Run run = {.net = net, .flows = open_net(net)};
    while (step(&run)) {
    }
    flow_close(run.flows);
    for (uint32_t f = 0; f < net->flow_count; f++) {
        assert_true(run.is_started[f] && !run.is_active[f]);
        out_ends[f] = run.ends[f];
    }
}

static void check_end(Time got_ps, long double want_ps, uint32_t flow) {
    long double apart = fabsl((long double)got_ps - want_ps);
    if (apart <= 1000 || apart <= want_ps * 1e-9L) return;
    fail_msg("flow %u ends at %lld ps, expected %.3Lf ps", flow, (long long)got_ps, want_ps);
}

// ---- Closed forms.

// The port-bound all-to-all of n endpoints on one switch: every port carries n - 1 messages.
static void check_switch(uint32_t n, uint64_t port_Bps, uint64_t bytes) {
    Net *net = mem_alloc(1, sizeof *net);
    for (uint32_t i = 0; i < 2 * n; i++) add_link(net, port_Bps);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++)
            if (i != j) add_flow(net, (ReferenceEdge[]){{i, 1}, {n + j, 1}}, 2, 1, bytes, 0);
    Time ends[FLOWS_MAX];
    run_net(net, ends);
    long double want = (n - 1) * (long double)bytes / (long double)port_Bps * PS_PER_S;
    for (uint32_t f = 0; f < net->flow_count; f++) check_end(ends[f], want, f);
    mem_free(net);
}

// 15 x 1 MiB / 450 GB/s = 34.952533 us; 7 x 100 kB / 7 B/s = 10^5 s.
static void test_flow_closed_form_of_one_switch(void **state) {
    (void)state;
    check_switch(16, 450 * GBPS, 1 << 20);
    check_switch(8, 7, 100000);
    check_switch(2, 1, 1);
}

// The parking lot: one flow through n links of capacity C, and one of its own on each. All get C /
// 2; all of B bytes end at 2 B / C, exactly together.
static void test_flow_closed_form_of_the_parking_lot(void **state) {
    (void)state;
    Net *net = mem_alloc(1, sizeof *net);
    ReferenceEdge all[10];
    for (uint32_t i = 0; i < 10; i++) all[i] = (ReferenceEdge){add_link(net, 3 * GBPS), 1};
    add_flow(net, all, 10, 1, GBPS, 0);
    for (uint32_t i = 0; i < 10; i++) add_flow(net, &all[i], 1, 1, GBPS, 0);
    Time ends[FLOWS_MAX];
    run_net(net, ends);
    for (uint32_t f = 0; f < net->flow_count; f++) check_end(ends[f], 2 / 3.0L * PS_PER_S, f);
    mem_free(net);
}

// The parking lot with links that grow: link i of (i + 1) GB/s carries the long flow and a short
// one of 1 GB. Link 0 holds the long flow at 0.5, so short flow i has i + 0.5 GB/s: 2 s, 2/3 s,
// 2/5 s ... as long as the long flow lasts. Of 1 GB, it ends with short flow 0, at 2 s.
static void test_flow_closed_form_of_growing_links(void **state) {
    (void)state;
    Net *net = mem_alloc(1, sizeof *net);
    ReferenceEdge all[6];
    for (uint32_t i = 0; i < 6; i++) all[i] = (ReferenceEdge){add_link(net, (i + 1) * GBPS), 1};
    for (uint32_t i = 0; i < 6; i++) add_flow(net, &all[i], 1, 1, GBPS, 0);
    add_flow(net, all, 6, 1, GBPS, 0);
    Time ends[FLOWS_MAX];
    run_net(net, ends);
    for (uint32_t i = 0; i < 6; i++) check_end(ends[i], PS_PER_S / (i + 0.5L), i);
    check_end(ends[6], 2 * PS_PER_S, 6);
    mem_free(net);
}

// Eight ports of 50 GB/s on two leaves of four, an all-to-all of 1 MiB a pair. A port sends 7 MiB;
// a leaf sends 4 x 4 = 16 MiB over its uplink. With 200 GB/s of uplink (1:1) the port is the
// bound: 7 MiB / 50 GB/s = 146.80 us. With 100 GB/s (2:1) crossing flows get 100 / 16 = 6.25 GB/s
// and end at 167.77 us; the three of a port that stay in the leaf share its other 25 GB/s,
// 8.33 each, and end at 125.83 us; what they leave cannot be used.
static void check_tree(uint64_t uplink_Bps, long double inside_us, long double across_us) {
    Net *net = mem_alloc(1, sizeof *net);
    for (uint32_t i = 0; i < 16; i++) add_link(net, 50 * GBPS); // 0-7 send, 8-15 receive
    for (uint32_t i = 0; i < 4; i++) add_link(net, uplink_Bps); // 16, 17 up; 18, 19 down
    for (uint32_t i = 0; i < 8; i++)
        for (uint32_t j = 0; j < 8; j++) {
            ReferenceEdge path[] = {{i, 1}, {8 + j, 1}, {16 + i / 4, 1}, {18 + j / 4, 1}};
            if (i != j) add_flow(net, path, i / 4 == j / 4 ? 2 : 4, 1, 1 << 20, 0);
        }
    Time ends[FLOWS_MAX];
    run_net(net, ends);
    for (uint32_t f = 0; f < net->flow_count; f++)
        check_end(ends[f], (net->flows[f].edge_count == 2 ? inside_us : across_us) * 1e6L, f);
    mem_free(net);
}

static void test_flow_closed_form_of_two_tiers(void **state) {
    (void)state;
    check_tree(200 * GBPS, 7 * 1048.576L / 50, 7 * 1048.576L / 50);
    check_tree(100 * GBPS, 1048.576L * 3 / 25, 1048.576L / 6.25L);
}

// Four GPUs with a cable of 25 GB/s to each of 18 planes; an all-to-all of B = 90 MB a pair,
// striped over the planes that both ends have. Healthy, a GPU sends 3 B at 450 GB/s: 600 us. Then
// GPU 0 loses plane 0: its messages, in and out, use 17 planes: 3 B / 425 GB/s = 635.29 us. The
// others keep 150 GB/s a message: on planes 1 to 17 of GPU 1, 141.67 / 17 + 2 x 150 / 18 = 25.
static void check_planes(bool has_dead_plane, long double hit_us) {
    enum { GPUS = 4, PLANES = 18 };
    Net *net = mem_alloc(1, sizeof *net);
    for (uint32_t i = 0; i < 2 * GPUS * PLANES; i++) add_link(net, 25 * GBPS);
    for (uint32_t i = 0; i < GPUS; i++)
        for (uint32_t j = 0; j < GPUS; j++) {
            ReferenceEdge path[2 * PLANES];
            uint32_t count = 0, dead = has_dead_plane && (i == 0 || j == 0) ? 1 : 0;
            for (uint32_t plane = dead; plane < PLANES; plane++) {
                path[count++] = (ReferenceEdge){i * PLANES + plane, 1};
                path[count++] = (ReferenceEdge){(GPUS + j) * PLANES + plane, 1};
            }
            if (i != j) add_flow(net, path, count, PLANES - dead, 90000000, 0);
        }
    Time ends[FLOWS_MAX];
    run_net(net, ends);
    for (uint32_t f = 0; f < net->flow_count; f++)
        check_end(ends[f], (net->flows[f].scale == 17 ? hit_us : 600) * 1e6L, f);
    mem_free(net);
}

static void test_flow_closed_form_of_striped_planes(void **state) {
    (void)state;
    check_planes(false, 600);
}

static void test_flow_closed_form_of_a_dead_plane(void **state) {
    (void)state;
    check_planes(true, 270000 / 425.0L);
}

// ---- Random nets.

typedef struct Sizes {
    uint32_t links, flows, edges;
} Sizes;

// Half of the nets draw from a few values only, so that levels tie, flows start and end together
// and links are shared by alike flows; the others draw all at random.
static void draw_net(Rng *rng, Sizes most, Net *net) {
    static const uint64_t scales[] = {1, 1, 1, 2, 3, 17, 18};
    bool is_coarse = rng_below(rng, 2) == 0, is_weighted = rng_below(rng, 2) == 0;
    bool is_staggered = rng_below(rng, 2) == 0;
    net->link_count = net->flow_count = 0;
    uint32_t links = 1 + (uint32_t)rng_below(rng, most.links);
    uint32_t flows = 1 + (uint32_t)rng_below(rng, most.flows);
    for (uint32_t i = 0; i < links; i++)
        add_link(net,
                 is_coarse ? (1 + rng_below(rng, 3)) * GBPS : 1000 + rng_below(rng, 50 * GBPS));
    for (uint32_t f = 0; f < flows; f++) {
        ReferenceEdge edges[EDGES_MAX];
        uint32_t count = 0;
        for (uint32_t i = 0; i < links && count < most.edges; i++)
            if (rng_below(rng, links) < (most.edges + 1) / 2)
                edges[count++] = (ReferenceEdge){i, is_weighted ? 1 + rng_below(rng, 18) : 1};
        uint64_t bytes = is_coarse ? rng_below(rng, 4) * 1000000
                                   : rng_below(rng, UINT64_C(1) << rng_below(rng, 30));
        Time start = !is_staggered ? 5
                     : is_coarse   ? (Time)rng_below(rng, 6) * 500000000
                                   : (Time)rng_below(rng, 10000000000);
        add_flow(net, edges, count, is_weighted ? scales[rng_below(rng, 7)] : 1, bytes, start);
    }
}

static void check_ends(const Net *net) {
    long double want[FLOWS_MAX];
    Time ends[FLOWS_MAX];
    ReferenceNet reference = reference_of(net);
    run_net(net, ends);
    reference_solver_ends(&reference, want);
    for (uint32_t f = 0; f < net->flow_count; f++) check_end(ends[f], want[f], f);
}

static void test_flow_ends_are_those_of_unrounded_max_min(void **state) {
    (void)state;
    Net *net = mem_alloc(1, sizeof *net);
    Rng rng;
    rng_seed(&rng, 3);
    for (uint32_t trial = 0; trial < 1500; trial++) {
        draw_net(&rng, (Sizes){8, 16, 4}, net);
        check_ends(net);
    }
    for (uint32_t trial = 0; trial < 8; trial++) {
        draw_net(&rng, (Sizes){40, 200, 8}, net);
        check_ends(net);
    }
    mem_free(net);
}

// Whether a flow has rate now: it has started and not ended, not even at its start.
static bool is_sharing(const Run *run, uint32_t f) {
    const ReferenceFlow *flow = &run->net->flows[f];
    return run->is_active[f] && flow->edge_count > 0 && flow->bytes > 0;
}

static void check_rate(const Run *run, uint32_t f, uint64_t want, const char *of) {
    uint64_t got = flow_rate(run->flows, f);
    if (got == want) return;
    fail_msg("at %lld ps flow %u has rate %llu, and %llu in %s (2^-20 B/s)", (long long)run->now, f,
             (unsigned long long)got, (unsigned long long)want, of);
}

// Against a new FlowNet in which the flows that share now start together, in another order.
static void check_fresh(const Run *run) {
    FlowNet *fresh = open_net(run->net);
    for (uint32_t f = run->net->flow_count; f-- > 0;)
        if (is_sharing(run, f)) assert_true(flow_start(fresh, f, 1 << 30, f, 0));
    flow_solve(fresh, 0);
    for (uint32_t f = 0; f < run->net->flow_count; f++)
        if (is_sharing(run, f)) check_rate(run, f, flow_rate(fresh, f), "a fresh net");
    flow_close(fresh);
}

static void check_rates(const Run *run) {
    uint64_t want[FLOWS_MAX];
    bool is_active[FLOWS_MAX];
    ReferenceNet reference = reference_of(run->net);
    for (uint32_t f = 0; f < run->net->flow_count; f++) is_active[f] = is_sharing(run, f);
    reference_solver_rates_exact(&reference, is_active, want);
    for (uint32_t f = 0; f < run->net->flow_count; f++)
        if (is_active[f]) check_rate(run, f, want[f], "the reference");
}

// After every event, against the reference and, now and then, a fresh net.
static void check_bits(const Net *net, uint32_t fresh_every) {
    Time want[FLOWS_MAX];
    ReferenceNet reference = reference_of(net);
    reference_solver_ends_exact(&reference, want);
    Run run = {.net = net, .flows = open_net(net)};
    for (uint32_t events = 0; step(&run); events++) {
        check_rates(&run);
        if (events % fresh_every == 0) check_fresh(&run);
    }
    flow_close(run.flows);
    for (uint32_t f = 0; f < net->flow_count; f++) {
        assert_true(run.is_started[f] && !run.is_active[f]);
        assert_int_equal(run.ends[f], want[f]);
    }
}

static void test_flow_incremental_equals_recomputation_to_the_bit(void **state) {
    (void)state;
    Net *net = mem_alloc(1, sizeof *net);
    Rng rng;
    rng_seed(&rng, 4);
    for (uint32_t trial = 0; trial < 3000; trial++) {
        draw_net(&rng, (Sizes){6, 14, 3}, net);
        check_bits(net, 1);
    }
    mem_free(net);
}

static void test_flow_incremental_equals_recomputation_on_larger_nets(void **state) {
    (void)state;
    Net *net = mem_alloc(1, sizeof *net);
    Rng rng;
    rng_seed(&rng, 5);
    for (uint32_t trial = 0; trial < 20; trial++) {
        draw_net(&rng, (Sizes){48, 120, 6}, net);
        check_bits(net, 7);
    }
    mem_free(net);
}

// Three ports send to three: all six are full at a third of 1 GB/s, which is no whole number of
// 2^-20 B/s. One flow ends first. Four ports still tie at a third and freeze together, so the two
// that are left of its sender get that third rounded down, and not what their receivers have left
// when the other two flows were rounded down: 2^-20 B/s more.
static void test_flow_ports_that_tie_stay_tied_when_a_flow_ends(void **state) {
    (void)state;
    Net *net = mem_alloc(1, sizeof *net);
    for (uint32_t i = 0; i < 6; i++) add_link(net, GBPS);
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t j = 0; j < 3; j++)
            add_flow(net, (ReferenceEdge[]){{i, 1}, {3 + j, 1}}, 2, 1, i + j == 0 ? 1000 : 2000, 0);
    Run run = {.net = net, .flows = open_net(net)};
    assert_true(step(&run) && step(&run)); // all start; flow 0 ends
    assert_false(run.is_active[0]);
    for (uint32_t f = 1; f < 9; f++) assert_int_equal(flow_rate(run.flows, f), (GBPS << 20) / 3);
    flow_close(run.flows);
    mem_free(net);
}

// Ports of one or two capacities, all pairs, few sizes and starts: many ports tie, at levels that
// are no whole numbers.
static void draw_crossbar(Rng *rng, Net *net) {
    uint32_t senders = 2 + (uint32_t)rng_below(rng, 5), receivers = 2 + (uint32_t)rng_below(rng, 5);
    uint64_t capacities = 1 + rng_below(rng, 2), sizes = 1 + rng_below(rng, 3);
    uint64_t starts = 1 + rng_below(rng, 2);
    net->link_count = net->flow_count = 0;
    for (uint32_t i = 0; i < senders + receivers; i++)
        add_link(net, (1 + rng_below(rng, capacities)) * GBPS);
    for (uint32_t i = 0; i < senders; i++)
        for (uint32_t j = 0; j < receivers; j++)
            add_flow(net, (ReferenceEdge[]){{i, 1}, {senders + j, 1}}, 2, 1,
                     (1 + rng_below(rng, sizes)) * 1000, (Time)rng_below(rng, starts) * 1500000);
}

static void test_flow_crossbars_equal_recomputation_to_the_bit(void **state) {
    (void)state;
    Net *net = mem_alloc(1, sizeof *net);
    Rng rng;
    rng_seed(&rng, 7);
    for (uint32_t trial = 0; trial < 1500; trial++) {
        draw_crossbar(&rng, net);
        check_bits(net, 1);
    }
    mem_free(net);
}

// A crossbar where no two messages are equal: every end changes the rates of two ports, and through
// them of others.
static void test_flow_skewed_all_to_all_equals_recomputation(void **state) {
    (void)state;
    Net *net = mem_alloc(1, sizeof *net);
    Rng rng;
    rng_seed(&rng, 6);
    for (uint32_t i = 0; i < 24; i++) add_link(net, 450 * GBPS);
    for (uint32_t i = 0; i < 12; i++)
        for (uint32_t j = 0; j < 12; j++)
            if (i != j)
                add_flow(net, (ReferenceEdge[]){{i, 1}, {12 + j, 1}}, 2, 1,
                         (1 << 19) + rng_below(&rng, (1 << 20) + 1), 0);
    check_bits(net, 1);
    check_ends(net);
    mem_free(net);
}

// With eps an end may come late by no more than was stated, and is reported.
static void test_flow_eps_states_how_late_an_end_came(void **state) {
    (void)state;
    const uint32_t ppb = 1000000; // 1e-3
    Net *net = mem_alloc(1, sizeof *net);
    uint32_t link = add_link(net, 1000 * GBPS);
    for (uint32_t f = 0; f < 2; f++) // 2000 B and 2001 B at 500 GB/s: 4000 ps, then 1 B more
        add_flow(net, (ReferenceEdge[]){{link, 1}}, 1, 1, 2000 + f, 0);
    Run run = {.net = net, .flows = open_net(net)};
    flow_set_eps(run.flows, ppb);
    while (step(&run)) {
    }
    assert_int_equal(run.ends[0], 4002); // 1 B at 500 GB/s is 2 ps: within 4 ps
    assert_int_equal(run.ends[1], 4002);
    uint64_t late_ppb = flow_stats(run.flows).late_ppb;
    assert_int_equal(late_ppb, 499751); // 2 of 4002, rounded up
    flow_close(run.flows);
    mem_free(net);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flow_closed_form_of_one_switch),
        cmocka_unit_test(test_flow_closed_form_of_the_parking_lot),
        cmocka_unit_test(test_flow_closed_form_of_growing_links),
        cmocka_unit_test(test_flow_closed_form_of_two_tiers),
        cmocka_unit_test(test_flow_closed_form_of_striped_planes),
        cmocka_unit_test(test_flow_closed_form_of_a_dead_plane),
        cmocka_unit_test(test_flow_ends_are_those_of_unrounded_max_min),
        cmocka_unit_test(test_flow_incremental_equals_recomputation_to_the_bit),
        cmocka_unit_test(test_flow_incremental_equals_recomputation_on_larger_nets),
        cmocka_unit_test(test_flow_ports_that_tie_stay_tied_when_a_flow_ends),
        cmocka_unit_test(test_flow_crossbars_equal_recomputation_to_the_bit),
        cmocka_unit_test(test_flow_skewed_all_to_all_equals_recomputation),
        cmocka_unit_test(test_flow_eps_states_how_late_an_end_came),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
