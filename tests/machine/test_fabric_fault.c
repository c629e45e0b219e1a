#include "tests/machine/machine.h"
#include "tests/machine/routes.h"

#include "model/base/rng.h"
#include "model/machine/fabric_fault.h"

#define GBPS UINT64_C(1000000000)

static uint64_t bandwidth(const Fabric *fabric, VertexId from, VertexId to) {
    Route route = {0};
    routes_find(fabric, from, to, &route);
    uint64_t bandwidth_Bps = route.bandwidth_Bps;
    fabric_route_free(&route);
    return bandwidth_Bps;
}

// The message of a machine that its faults make impossible.
static void check_impossible(const char *name, const char *faults, const char *message) {
    Topology topology = {0};
    DeviceCatalogue catalogue = {0};
    Fabric fabric = {0};
    Err err = {{0}};
    check_ok(device_load(&catalogue, &err), &err);
    check_ok(topology_load(name, &topology, &err), &err);
    bool done = topology_degrade_add(&topology, "--degrade", faults, &err) &&
                fabric_build(&topology, &catalogue, &fabric, &err);
    check_fails(done, &err, message);
    topology_free(&topology);
    device_free(&catalogue);
}

// One of 18 switch chips is dead: every pair loses 1/18 of 900 GB/s and keeps 17 x 50 = 850 GB/s.
static void test_fabric_fault_dead_plane_costs_every_pair_its_share(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_degraded(&machine, "nvl72", "nvswitch[4]:down");
    static const VertexId others[] = {1, 4, 35, 71};
    for (size_t i = 0; i < 4; i++) {
        routes_find(&machine.fabric, 0, others[i], &route);
        assert_int_equal(route.count, 34);
        assert_int_equal(route.weight_total, 17);
        assert_int_equal(route.bandwidth_Bps, 850 * GBPS);
    }
    assert_int_equal(machine.fabric.faults->dead_count, 1); // one part, not its 72 links
    assert_int_equal(machine.fabric.faults->link_count, 0);
    assert_int_equal(fabric_live_gpu_count(&machine.fabric), 72);
    assert_true(machine.fabric.shape.uniform); // as built
    Err err = {{0}};
    check_ok(fabric_route_healthy(&machine.fabric, 0, 1, &route, &err), &err);
    assert_int_equal(route.bandwidth_Bps, 900 * GBPS);
    fabric_route_free(&route);
    machine_close(&machine);
}

// GPU 1 has lost its link to chip 2: its pairs use 17 planes, all others 18.
static void test_fabric_fault_dead_link_costs_the_pairs_of_its_gpu(void **state) {
    (void)state;
    Machine machine;
    machine_degraded(&machine, "nvl72", "tray[0].gpu[1]>nvswitch[2]:down");
    assert_int_equal(bandwidth(&machine.fabric, 1, 0), 850 * GBPS);
    assert_int_equal(bandwidth(&machine.fabric, 71, 1), 850 * GBPS);
    assert_int_equal(bandwidth(&machine.fabric, 0, 2), 900 * GBPS);
    assert_int_equal(machine.fabric.faults->link_count, 1);
    assert_int_equal(machine.fabric.faults->dead_count, 0);
    machine_close(&machine);
}

// The two GPUs have lost different planes: 16 are alive at both ends.
static void test_fabric_fault_stripes_over_what_is_alive_at_both_ends(void **state) {
    (void)state;
    Machine machine;
    machine_degraded(&machine, "nvl72",
                     "tray[0].gpu[1]>nvswitch[2]:down, nvswitch[9]>tray[17].gpu[3]:down");
    assert_int_equal(bandwidth(&machine.fabric, 1, 71), 800 * GBPS);
    assert_int_equal(bandwidth(&machine.fabric, 1, 0), 850 * GBPS);
    machine_close(&machine);
}

// A link at half its rate, 25 of 50 GB/s: shares 2 for each whole plane and 1 for it, 35 in all.
// Alone a transfer fills all 17 x 50 + 25 = 875 GB/s.
static void test_fabric_fault_slow_link_carries_less(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_degraded(&machine, "nvl72", "tray[0].gpu[0]>nvswitch[0]:50%");
    routes_find(&machine.fabric, 0, 1, &route);
    assert_int_equal(route.count, 36);
    assert_int_equal(route.weight_total, 35);
    assert_int_equal(route.edges[0].weight, 1);
    assert_int_equal(route.edges[1].weight, 2);
    assert_int_equal(route.bandwidth_Bps, 875 * GBPS);
    FabricLink link = fabric_link(&machine.fabric, route.edges[0].link);
    assert_int_equal(link.capacity_Bps, 25 * GBPS);
    assert_true(fabric_link_is_faulty(&machine.fabric, route.edges[0].link));
    assert_true(fabric_link_is_faulty(&machine.fabric, route.edges[0].link ^ 1));
    assert_false(fabric_link_is_faulty(&machine.fabric, route.edges[1].link));
    fabric_route_free(&route);
    machine_close(&machine);
}

// Chips of an HGX H100 have 4, 5, 5 and 4 cables of 25 GB/s to a GPU. One of the 5 to chip 1 is
// down: 4 cables, and shares 4, 4, 5, 4 of 17.
static void test_fabric_fault_takes_cables_from_a_bundle(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_degraded(&machine, "hgx-h100", "gpu[0]>nvswitch[1]:cables-1");
    routes_find(&machine.fabric, 0, 7, &route);
    assert_int_equal(route.weight_total, 17);
    assert_int_equal(route.bandwidth_Bps, 17 * 25 * GBPS);
    for (uint32_t i = 0; i < route.count; i++) {
        FabricLink link = fabric_link(&machine.fabric, route.edges[i].link);
        if (!fabric_link_is_faulty(&machine.fabric, route.edges[i].link)) continue;
        assert_int_equal(link.cables, 4);
        assert_int_equal(link.capacity_Bps, 100 * GBPS);
        assert_int_equal(route.edges[i].weight, 4);
    }
    fabric_route_free(&route);
    machine_close(&machine);
}

// Two cables in one fault and one in another: 2 of 5 are left. A share of the whole, 125 GB/s x
// 1/2, is more than their 50 GB/s.
static void test_fabric_fault_merges_what_meets_on_a_link(void **state) {
    (void)state;
    Machine machine;
    machine_degraded(&machine, "hgx-h100",
                     "gpu[0]>nvswitch[1]:cables-2, nvswitch[1]:50%, gpu[0]>nvswitch[1]:cables-1");
    uint64_t cursor = 0;
    LinkId id;
    bool seen = false;
    while (fabric_next_link(&machine.fabric, 0, &cursor, &id)) {
        FabricLink link = fabric_link(&machine.fabric, id);
        if (!fabric_link_is_faulty(&machine.fabric, id)) continue;
        assert_int_equal(link.cables, 2);
        assert_int_equal(link.capacity_Bps, 50 * GBPS);
        seen = true;
    }
    assert_true(seen);
    assert_int_equal(bandwidth(&machine.fabric, 1, 2), (13 * 25 + 62) * GBPS + GBPS / 2);
    machine_close(&machine);
}

// NIC 3 of a node is dead. To the same rail of the next node its GPU goes over the CPU to the NIC
// of a neighbour below the same CPU, and changes the rail at a spine: 10 links. Changing it over
// the CPU of the other node takes 10 links too, and one CPU more.
static void test_fabric_fault_dead_nic_goes_by_a_neighbour(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_degraded(&machine, "hgx-h100-cluster", "unit[0].node[0].nic[3]:down");
    routes_find(&machine.fabric, 3, 8 + 3, &route);
    routes_check_path(
        &machine.fabric, &route,
        "unit[0].node[0].gpu[3] unit[0].node[0].pcie[3] unit[0].node[0].cpu[0] "
        "unit[0].node[0].pcie[0] unit[0].node[0].nic[0] unit[0].leaf[0] spine[0] unit[0].leaf[3] "
        "unit[0].node[1].nic[3] unit[0].node[1].pcie[3] unit[0].node[1].gpu[3]");
    assert_int_equal(route.hops, 10);
    assert_int_equal(bandwidth(&machine.fabric, 2, 8 + 2), 50 * GBPS); // another rail as before
    fabric_route_free(&route);
    machine_close(&machine);
}

// Leaf 3 of unit 0 is dead: rail 3 of its nodes has no way of its own, and its NICs, which have no
// network any more, are no reason to refuse the machine.
static void test_fabric_fault_dead_leaf_leaves_its_nics_alone(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_degraded(&machine, "hgx-h100-cluster", "unit[0].leaf[3]:down");
    routes_find(&machine.fabric, 3, 8 + 3, &route);
    for (uint32_t i = 0; i < route.count; i++) {
        VertexId to = fabric_link(&machine.fabric, route.edges[i].link).to;
        assert_false(fabric_is_dead(&machine.fabric, to));
    }
    assert_true(route.hops > 6);
    routes_find(&machine.fabric, 256 + 3, 256 + 8 + 3, &route); // unit 1 has its leaf 3
    assert_int_equal(route.hops, 6);
    fabric_route_free(&route);
    machine_close(&machine);
}

// GPUs 5 and 70 are dead: 70 are left, numbered past them.
static void test_fabric_fault_dead_gpus_leave_the_numbering(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    Err err = {{0}};
    machine_degraded(&machine, "nvl72", "tray[17].gpu[2]:down, tray[1].gpu[1]:down");
    const Fabric *fabric = &machine.fabric;
    assert_int_equal(fabric_live_gpu_count(fabric), 70);
    assert_int_equal(fabric->gpu_count, 72);
    assert_int_equal(fabric_live_gpu(fabric, 0), 0);
    assert_int_equal(fabric_live_gpu(fabric, 4), 4);
    assert_int_equal(fabric_live_gpu(fabric, 5), 6);
    assert_int_equal(fabric_live_gpu(fabric, 68), 69);
    assert_int_equal(fabric_live_gpu(fabric, 69), 71);
    check_fails(fabric_route(fabric, 0, 5, &route, &err), &err, "tray[1].gpu[1] is down");
    assert_int_equal(bandwidth(fabric, 4, 6), 900 * GBPS);
    uint64_t cursor = 0;
    LinkId link;
    assert_false(fabric_next_link(fabric, 5, &cursor, &link));
    fabric_route_free(&route);
    machine_close(&machine);
}

static void check_live(const Fabric *fabric, const uint32_t (*want)[2], uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(fabric_live_gpu(fabric, want[i][0]), want[i][1]);
    bool *seen = mem_alloc(fabric->gpu_count, sizeof *seen);
    for (uint32_t i = 0; i < fabric_live_gpu_count(fabric); i++) {
        uint32_t gpu = fabric_live_gpu(fabric, i);
        assert_false(seen[gpu] || fabric_is_dead(fabric, gpu));
        seen[gpu] = true;
    }
    mem_free(seen);
}

// 4 nodes of 8. Without GPU 2 of node 1: nodes 0, 2 and 3 are whole and come first, then what is
// left of node 1. Without GPU 0 of node 0, GPUs 3 and 7 of node 2 and all of node 3: node 1, then 7
// of node 0, then 6 of node 2.
static void test_fabric_fault_whole_domains_come_first(void **state) {
    (void)state;
    Machine machine;
    machine_degraded(&machine, "hgx-h100:4", "unit[0].node[1].gpu[2]:down");
    assert_int_equal(fabric_live_gpu_count(&machine.fabric), 31);
    check_live(&machine.fabric,
               (const uint32_t[][2]){
                   {0, 0}, {7, 7}, {8, 16}, {23, 31}, {24, 8}, {25, 9}, {26, 11}, {30, 15}},
               8);
    machine_close(&machine);
    machine_degraded(&machine, "hgx-h100:4",
                     "unit[0].node[0].gpu[0]:down, unit[0].node[2].gpu[3,7]:down, "
                     "unit[0].node[3].gpu[*]:down");
    assert_int_equal(fabric_live_gpu_count(&machine.fabric), 21);
    check_live(
        &machine.fabric,
        (const uint32_t[][2]){{0, 8}, {7, 15}, {8, 1}, {14, 7}, {15, 16}, {18, 20}, {20, 22}}, 7);
    machine_close(&machine);
}

// A share on a GPU is one of its compute too, the lowest of several; one on a part around it, on a
// link, a rate or a cable is not.
static void test_fabric_fault_slow_gpu_computes_slower(void **state) {
    (void)state;
    Machine machine;
    static const uint32_t want[][3] = {{0, 1, 1}, {1, 4, 5}, {2, 1, 2}, {3, 1, 1}, {4, 1, 1}};
    machine_degraded(&machine, "hgx-h100",
                     "gpu[1]:80%, gpu[2]:2/3, gpu[1-2]:90%, gpu[2]:50%, gpu[3]:20GB/s, "
                     "gpu[3]>nvswitch[0]:cables-1, gpu[4]>nvswitch[0]:50%, nvswitch[1]:50%");
    assert_true(fabric_has_slow_gpus(&machine.fabric));
    for (uint32_t i = 0; i < 5; i++) {
        uint32_t part, whole;
        fabric_gpu_rate(&machine.fabric, want[i][0], &part, &whole);
        assert_int_equal(part, want[i][1]);
        assert_int_equal(whole, want[i][2]);
    }
    machine_close(&machine);
    machine_degraded(&machine, "nvl72", "tray[2]:50%"); // a template: its 4 GPUs
    assert_int_equal(machine.fabric.faults->slow_count, 4);
    machine_close(&machine);
}

// 4 nodes of 8, GPU 3 of node 0 and GPU 0 of node 3 slow: 16 ranks begin at node 1 and meet none,
// 24 meet one from node 0 on, which is first, and 32 have no choice.
static void test_fabric_fault_plans_begin_behind_slow_gpus(void **state) {
    (void)state;
    Machine machine;
    machine_degraded(&machine, "hgx-h100:4",
                     "unit[0].node[0].gpu[3]:80%, unit[0].node[3].gpu[0]:50%");
    assert_int_equal(fabric_fault_start(&machine.fabric, 16), 8);
    assert_int_equal(fabric_fault_start(&machine.fabric, 24), 0);
    assert_int_equal(fabric_fault_start(&machine.fabric, 32), 0);
    machine_close(&machine);
    machine_degraded(&machine, "hgx-h100:4", "unit[0].node[0].gpu[3]:down");
    assert_int_equal(fabric_fault_start(&machine.fabric, 16), 0);
    machine_close(&machine);
}

// A pattern that ends at a template stands for all inside: a tray has 4 GPUs, 2 CPUs, 2 memories
// and 4 NICs.
static void test_fabric_fault_of_a_tray_takes_all_its_parts(void **state) {
    (void)state;
    Machine machine;
    machine_degraded(&machine, "nvl72", "tray[3]:down");
    assert_int_equal(machine.fabric.faults->dead_count, 12);
    assert_int_equal(fabric_live_gpu_count(&machine.fabric), 68);
    assert_int_equal(fabric_live_gpu(&machine.fabric, 12), 16);
    machine_close(&machine);
}

// Letters bind in faults as they do in links: GPU i of tray 0 and chip i, four links in all.
static void test_fabric_fault_follows_letters(void **state) {
    (void)state;
    Machine machine;
    machine_degraded(&machine, "nvl72", "tray[0].gpu[i]>nvswitch[i]:down");
    assert_int_equal(machine.fabric.faults->link_count, 4);
    assert_int_equal(bandwidth(&machine.fabric, 0, 1), 800 * GBPS);
    assert_int_equal(bandwidth(&machine.fabric, 0, 4), 850 * GBPS);
    machine_close(&machine);
}

// A ring of four without one link is a line: the ends are three links apart.
static void test_fabric_fault_breaks_a_ring_into_a_line(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_degraded(&machine, "ring:4,450GB/s", "gpu[0]>gpu[3]:down");
    routes_find(&machine.fabric, 0, 3, &route);
    routes_check_path(&machine.fabric, &route, "gpu[0] gpu[1] gpu[2] gpu[3]");
    assert_int_equal(route.bandwidth_Bps, 450 * GBPS);
    routes_find(&machine.fabric, 0, 2, &route);
    assert_int_equal(route.weight_total, 1); // the other way round is gone
    fabric_route_free(&route);
    machine_close(&machine);
}

static void test_fabric_fault_refuses_what_cannot_be(void **state) {
    (void)state;
    static const struct {
        const char *machine, *faults, *message;
    } bad[] = {
        {"nvl72", "nvswich[4]:down",
         "--degrade \"nvswich[4]:down\": no part \"nvswich\" in template \"rack\", did you mean "
         "\"nvswitch\"?"},
        {"nvl72", "nvswitch[18]:down",
         "--degrade \"nvswitch[18]:down\": nvswitch[18] does not exist, nvswitch has indices 0 to "
         "17"},
        {"nvl72", "nvswitch:down",
         "--degrade \"nvswitch:down\": there are 18 of nvswitch: write nvswitch[*] for all"},
        {"nvl72", "gpu[1]>nvswitch[0]:down",
         "--degrade \"gpu[1]>nvswitch[0]:down\": no part \"gpu\" in template \"rack\", it has "
         "tray, nvswitch"},
        {"nvl72", "tray[0].nic[0]>nvswitch[0]:down",
         "--degrade \"tray[0].nic[0]>nvswitch[0]:down\": no link joins tray[0].nic[0] to "
         "nvswitch[0]"},
        {"nvl72", "tray[0].gpu[0]>nvswitch[*]:50GB/s",
         "--degrade \"tray[0].gpu[0]>nvswitch[*]:50GB/s\": no link that it names is faster as "
         "built"},
        {"nvl72", "nvswitch[3]:cables-1",
         "--degrade \"nvswitch[3]:cables-1\": nvswitch[3] to tray[0].gpu[0] has 1 cable: take "
         "fewer, or write down for all of it"},
        {"switch:3,450GB/s", "gpu[*]:down", "switch:3,450GB/s: its faults leave no GPU"},
        {"ring:4,450GB/s", "gpu[0]>gpu[3]:down,gpu[1]>gpu[2]:down",
         "ring:4,450GB/s: with its faults gpu[0] cannot reach gpu[2]"},
        {"switch:3,450GB/s", "switch:down",
         "switch:3,450GB/s: with its faults gpu[0] cannot reach gpu[1]"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check_impossible(bad[i].machine, bad[i].faults, bad[i].message);
}

// The digest is that of another machine, whatever the order of the faults; written and read back it
// is the same.
static void test_fabric_fault_is_part_of_the_topology(void **state) {
    (void)state;
    Topology built = {0}, one = {0}, two = {0}, again = {0};
    Text text = {0};
    Err err = {{0}};
    Topology *const all[] = {&built, &one, &two};
    for (size_t i = 0; i < 3; i++) check_ok(topology_load("nvl72", all[i], &err), &err);
    check_ok(topology_degrade_add(&one, "", "nvswitch[1]:down,tray[0].nic[*]:17/18", &err), &err);
    check_ok(topology_degrade_add(&two, "", "tray[ 0 ].nic[*]:17/18,nvswitch[1]:down", &err), &err);
    assert_int_not_equal(built.digest, one.digest);
    assert_int_equal(one.digest, two.digest);
    topology_write(&one, &text);
    check_ok(topology_parse("written", text_string(&text), text.length, &again, &err), &err);
    assert_int_equal(again.digest, one.digest);
    assert_int_equal(again.fault_count, 2);
    text_free(&text);
    for (size_t i = 0; i < 3; i++) topology_free(all[i]);
    topology_free(&again);
}

// ---- Random machines and faults

// Two nodes of `gpus` GPUs on `planes` chips with cables of two kinds, a NIC for every two GPUs,
// and two leaves.
static void random_machine(Rng *rng, Text *out) {
    unsigned gpus = 2 * (unsigned)(1 + rng_below(rng, 3)), planes = 1 + (unsigned)rng_below(rng, 5);
    unsigned cables = 1 + (unsigned)rng_below(rng, 4), rate = 10 + (unsigned)rng_below(rng, 90);
    text_addf(out,
              "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"random\", \"templates\": "
              "{\"node\": {\"parts\": {\"gpu\": {\"kind\": \"gpu\", \"count\": %u}, \"chip\": "
              "{\"kind\": \"switch\", \"count\": %u}, \"cpu\": {\"kind\": \"cpu\"}, \"nic\": "
              "{\"kind\": \"nic\", \"count\": %u}}, \"links\": [",
              gpus, planes, gpus / 2);
    text_addf(out,
              "{\"from\": \"gpu[*]\", \"to\": \"chip[*]\", \"class\": \"nvlink\", \"cables\": %u, "
              "\"bandwidth\": \"%u GB/s\", \"latency\": \"1 ns\"},",
              cables, rate);
    text_add(out, MACHINE_LINK("gpu[*]", "cpu", "pcie", 1, "30 GB/s") ", " MACHINE_LINK(
                      "nic[*]", "cpu", "pcie", 1, "30 GB/s") "]}, ");
    text_add(out, "\"m\": {\"parts\": {\"node\": {\"template\": \"node\", \"count\": 3}, \"leaf\": "
                  "{\"kind\": \"switch\", \"count\": 2}}, \"links\": [");
    text_addf(out,
              "{\"from\": \"node[*].nic[*]\", \"to\": \"leaf[*]\", \"class\": \"ib\", "
              "\"policy\": \"%s\", \"cables\": 3, \"bandwidth\": \"7 GB/s\", \"latency\": \"1 "
              "us\"}]}}, \"machine\": \"m\"}",
              topology_policy_names[rng_below(rng, ROUTE_DIMENSION_ORDER)]);
}

static void random_pattern(Rng *rng, const Topology *topology, Text *out) {
    static const char *const names[] = {"gpu", "chip", "nic"};
    const Template *node = &topology->templates[0];
    const char *name = names[rng_below(rng, 3)];
    uint32_t count = node->parts[topology_find_part(node, name)].count;
    text_addf(out, "node[%u].%s", (unsigned)rng_below(rng, 3), name);
    if (count > 1) text_addf(out, "[%u]", (unsigned)rng_below(rng, count));
}

static void random_fault(Rng *rng, const Topology *topology, Text *out) {
    static const char *const lefts[] = {"down", "50%", "3/5", "5GB/s", "down"};
    if (out->length > 0) text_add_char(out, ',');
    uint64_t kind = rng_below(rng, 4);
    if (kind == 0) {
        const Template *node = &topology->templates[0];
        uint32_t planes = node->parts[1].count, of = (unsigned)rng_below(rng, 3);
        text_addf(out, "node[%u].gpu[%u]>node[%u].chip", of, (unsigned)rng_below(rng, 2), of);
        if (planes > 1) text_addf(out, "[%u]", (unsigned)rng_below(rng, planes));
    } else if (kind == 1) {
        text_addf(out, "leaf[%u]", (unsigned)rng_below(rng, 2));
    } else {
        random_pattern(rng, topology, out);
    }
    text_addf(out, ":%s", lefts[rng_below(rng, 5)]);
}

// Of two links, each over one part: shares are exactly those of the narrower link of each way.
static void check_proportional(const Fabric *fabric, const Route *route) {
    uint64_t total = 0, narrow[64] = {0};
    uint32_t ways = route->count / 2;
    if (route->hops != 2 || route->is_hashed) return;
    assert_true(ways <= 64);
    for (uint32_t i = 0; i < ways; i++) {
        FabricLink out = fabric_link(fabric, route->edges[i].link), in = {0};
        for (uint32_t k = ways; k < route->count && in.from != out.to; k++)
            in = fabric_link(fabric, route->edges[k].link);
        assert_int_equal(in.from, out.to);
        narrow[i] = in.capacity_Bps < out.capacity_Bps ? in.capacity_Bps : out.capacity_Bps;
        total += narrow[i];
    }
    for (uint32_t i = 0; i < ways; i++)
        check_close((double)route->edges[i].weight / route->weight_total,
                    (double)narrow[i] / (double)total, 1e-12);
}

// A pair whose route as built meets no faulty link keeps it.
static void check_untouched(const Fabric *fabric, const Route *route, VertexId from, VertexId to) {
    Route built = {0};
    Err err = {{0}};
    bool is_touched = false;
    check_ok(fabric_route_healthy(fabric, from, to, &built, &err), &err);
    for (uint32_t i = 0; i < built.count; i++)
        is_touched = is_touched || fabric_link_is_faulty(fabric, built.edges[i].link);
    if (!is_touched) {
        assert_int_equal(route->count, built.count);
        assert_memory_equal(route->edges, built.edges, built.count * sizeof *built.edges);
        assert_int_equal(route->bandwidth_Bps, built.bandwidth_Bps);
    }
    fabric_route_free(&built);
}

// Each pair of live GPUs has a route that routes_find accepts: live links only, weights that add up
// at each distance, and no link with more than its share of capacity.
static void check_pairs(const Fabric *fabric) {
    Route route = {0};
    for (uint32_t i = 0; i < fabric_live_gpu_count(fabric); i++) {
        for (uint32_t k = 0; k < fabric_live_gpu_count(fabric); k++) {
            if (i == k) continue;
            VertexId from = fabric_live_gpu(fabric, i), to = fabric_live_gpu(fabric, k);
            routes_find(fabric, from, to, &route);
            check_untouched(fabric, &route, from, to);
            assert_true(route.bandwidth_Bps > 0);
            check_proportional(fabric, &route);
        }
    }
    fabric_route_free(&route);
}

static bool try_machine(uint64_t seed, const DeviceCatalogue *catalogue) {
    Rng rng;
    Text json = {0}, faults = {0};
    Topology topology = {0};
    Fabric fabric = {0};
    Err err = {{0}};
    rng_seed(&rng, seed);
    random_machine(&rng, &json);
    check_ok(topology_parse("random", text_string(&json), json.length, &topology, &err), &err);
    for (uint64_t i = 1 + rng_below(&rng, 4); i > 0; i--) random_fault(&rng, &topology, &faults);
    check_ok(topology_degrade_add(&topology, "--degrade", text_string(&faults), &err), &err);
    bool built = fabric_build(&topology, catalogue, &fabric, &err);
    if (built) {
        check_ok(fabric_check(&fabric, &err), &err);
        check_pairs(&fabric);
    } else {
        assert_true(err_is_set(&err));
    }
    fabric_free(&fabric);
    topology_free(&topology);
    text_free(&json);
    text_free(&faults);
    return built;
}

// At least half of the seeds must give a machine, or the property says little.
static void test_fabric_fault_routes_hold_on_random_machines(void **state) {
    (void)state;
    DeviceCatalogue catalogue = {0};
    uint32_t built = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) built += try_machine(seed, &catalogue);
    assert_true(built > 200);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fabric_fault_dead_plane_costs_every_pair_its_share),
        cmocka_unit_test(test_fabric_fault_dead_link_costs_the_pairs_of_its_gpu),
        cmocka_unit_test(test_fabric_fault_stripes_over_what_is_alive_at_both_ends),
        cmocka_unit_test(test_fabric_fault_slow_link_carries_less),
        cmocka_unit_test(test_fabric_fault_takes_cables_from_a_bundle),
        cmocka_unit_test(test_fabric_fault_merges_what_meets_on_a_link),
        cmocka_unit_test(test_fabric_fault_dead_nic_goes_by_a_neighbour),
        cmocka_unit_test(test_fabric_fault_dead_leaf_leaves_its_nics_alone),
        cmocka_unit_test(test_fabric_fault_dead_gpus_leave_the_numbering),
        cmocka_unit_test(test_fabric_fault_whole_domains_come_first),
        cmocka_unit_test(test_fabric_fault_slow_gpu_computes_slower),
        cmocka_unit_test(test_fabric_fault_plans_begin_behind_slow_gpus),
        cmocka_unit_test(test_fabric_fault_of_a_tray_takes_all_its_parts),
        cmocka_unit_test(test_fabric_fault_follows_letters),
        cmocka_unit_test(test_fabric_fault_breaks_a_ring_into_a_line),
        cmocka_unit_test(test_fabric_fault_refuses_what_cannot_be),
        cmocka_unit_test(test_fabric_fault_is_part_of_the_topology),
        cmocka_unit_test(test_fabric_fault_routes_hold_on_random_machines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
