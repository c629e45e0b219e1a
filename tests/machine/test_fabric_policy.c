#include "tests/machine/machine.h"
#include "tests/machine/routes.h"

#define GBPS UINT64_C(1000000000)

// Two leaves of `gpus` GPUs each on 25 GB/s, and 4 spines of 25 GB/s, with a policy between them.
static void open_leaves(Machine *machine, const char *policy, uint32_t gpus) {
    char json[2048];
    snprintf(json, sizeof json,
             "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"leaves\", \"machine\": \"m\", "
             "\"templates\": {\"unit\": {\"parts\": {\"gpu\": {\"kind\": \"gpu\", \"count\": %u}, "
             "\"leaf\": {\"kind\": \"switch\"}}, \"links\": [%s]}, \"m\": {\"parts\": {\"unit\": "
             "{\"template\": \"unit\", \"count\": 2}, \"spine\": {\"kind\": \"switch\", \"count\": "
             "4}}, \"links\": [{\"from\": \"unit[*].leaf\", \"to\": \"spine[*]\", \"class\": "
             "\"ib\", \"policy\": \"%s\", \"bandwidth\": \"25 GB/s\", \"latency\": \"1 us\"}]}}}",
             gpus, MACHINE_LINK("gpu[*]", "leaf", "ib", 1, "25 GB/s"), policy);
    machine_parse(machine, json);
}

static VertexId spine_of(const Fabric *fabric, const Route *route) {
    return fabric_link(fabric, route->edges[1].link).to;
}

// All of a transfer goes by one spine: 4 links, each with the whole weight.
static void test_fabric_policy_hash_takes_one_path(void **state) {
    (void)state;
    Machine machine;
    Route route = {0}, again = {0};
    Err err = {{0}};
    open_leaves(&machine, "hash", 4);
    routes_find(&machine.fabric, 0, 4, &route);
    assert_int_equal(route.count, 4);
    assert_int_equal(route.weight_total, 1);
    assert_int_equal(route.bandwidth_Bps, 25 * GBPS);
    assert_true(route.is_hashed);
    check_ok(fabric_route(&machine.fabric, 0, 4, &again, &err), &err);
    assert_memory_equal(route.edges, again.edges, route.count * sizeof *route.edges);
    routes_find(&machine.fabric, 0, 1, &route); // below one leaf there is nothing to choose
    assert_false(route.is_hashed);
    assert_false(machine.fabric.shape.uniform);
    fabric_route_free(&route);
    fabric_route_free(&again);
    machine_close(&machine);
}

// 64 x 64 pairs over 4 spines: 1,024 each on average, with a standard deviation of
// sqrt(4096 x 1/4 x 3/4) = 28 when chosen at random. Five of them on each side.
static void test_fabric_policy_hash_spreads_pairs(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    uint32_t uses[4] = {0};
    open_leaves(&machine, "hash", 64);
    VertexId first = machine.fabric.vertex_count;
    for (uint32_t i = 0; i < machine.fabric.class_count; i++)
        if (strcmp(machine.fabric.classes[i].name, "spine") == 0)
            first = machine.fabric.classes[i].first;
    for (VertexId from = 0; from < 64; from++) {
        for (VertexId to = 64; to < 128; to++) {
            routes_find(&machine.fabric, from, to, &route);
            uses[spine_of(&machine.fabric, &route) - first]++;
        }
    }
    for (size_t i = 0; i < 4; i++) assert_in_range(uses[i], 1024 - 140, 1024 + 140);
    fabric_route_free(&route);
    machine_close(&machine);
}

// Adaptive is striped: a quarter of the transfer over each spine, and pairs all alike.
static void test_fabric_policy_adaptive_is_striped(void **state) {
    (void)state;
    static const char *const policies[] = {"stripe", "adaptive"};
    for (size_t i = 0; i < 2; i++) {
        Machine machine;
        Route route = {0};
        open_leaves(&machine, policies[i], 4);
        routes_find(&machine.fabric, 0, 4, &route);
        assert_int_equal(route.count, 1 + 4 + 4 + 1);
        assert_int_equal(route.weight_total, 4);
        assert_false(route.is_hashed);
        assert_true(machine.fabric.shape.uniform);
        fabric_route_free(&route);
        machine_close(&machine);
    }
}

// A transfer that is striped over two NICs and then hashed: each half takes one of the spines, so
// that there are two paths of weight 1.
static void test_fabric_policy_hash_follows_a_stripe(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_of(
        &machine,
        MACHINE_PART("gpu", "gpu", 2) ", " MACHINE_PART("rail", "switch",
                                                        4) ", " MACHINE_PART("spine", "switch", 8),
        MACHINE_LINK("gpu[0]", "rail[0-1]", "ib", 1, "25 GB/s") ", " MACHINE_LINK(
            "gpu[1]", "rail[2-3]", "ib", 1,
            "25 GB/s") ", {\"from\": \"rail[*]\", \"to\": \"spine[*]\", \"class\": \"ib\", "
                       "\"policy\": \"hash\", \"bandwidth\": \"25 GB/s\", \"latency\": \"1 us\"}");
    routes_find(&machine.fabric, 0, 1, &route);
    assert_true(route.is_hashed);
    assert_int_equal(route.weight_total, 2);
    assert_int_equal(route.hops, 4);
    assert_true(route.count == 8 || route.count == 7 || route.count == 6);
    uint32_t rails = 0, ups = 0;
    for (uint32_t i = 0; i < route.count; i++) {
        FabricLink link = fabric_link(&machine.fabric, route.edges[i].link);
        rails += link.from == 0;
        ups += link.from != 0 && link.to >= machine.fabric.classes[2].first;
    }
    assert_int_equal(rails, 2);
    assert_int_equal(ups, 2);
    fabric_route_free(&route);
    machine_close(&machine);
}

// A dead spine moves the transfers that went over it and no others.
static void test_fabric_policy_hash_keeps_its_choice(void **state) {
    (void)state;
    Machine machine;
    Route route = {0}, built = {0};
    Err err = {{0}};
    uint32_t moved = 0;
    open_leaves(&machine, "hash", 16);
    fabric_free(&machine.fabric);
    check_ok(topology_degrade_add(&machine.topology, "", "spine[1]:down", &err), &err);
    check_ok(fabric_build(&machine.topology, &machine.catalogue, &machine.fabric, &err), &err);
    for (VertexId from = 0; from < 16; from++) {
        for (VertexId to = 16; to < 32; to++) {
            routes_find(&machine.fabric, from, to, &route);
            check_ok(fabric_route_healthy(&machine.fabric, from, to, &built, &err), &err);
            if (fabric_is_dead(&machine.fabric, spine_of(&machine.fabric, &built)))
                moved++;
            else
                assert_memory_equal(route.edges, built.edges, built.count * sizeof *built.edges);
        }
    }
    assert_in_range(moved, 1, 255);
    fabric_route_free(&route);
    fabric_route_free(&built);
    machine_close(&machine);
}

// With three of four spines dead all pairs take the last.
static void test_fabric_policy_hash_chooses_among_the_living(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    Err err = {{0}};
    open_leaves(&machine, "hash", 4);
    fabric_free(&machine.fabric);
    check_ok(topology_degrade_add(&machine.topology, "", "spine[0,1,3]:down", &err), &err);
    check_ok(fabric_build(&machine.topology, &machine.catalogue, &machine.fabric, &err), &err);
    for (VertexId to = 4; to < 8; to++) {
        Text name = {0};
        routes_find(&machine.fabric, 0, to, &route);
        fabric_vertex_name(&machine.fabric, spine_of(&machine.fabric, &route), &name);
        assert_string_equal(text_string(&name), "spine[2]");
        text_free(&name);
    }
    fabric_route_free(&route);
    machine_close(&machine);
}

// ---- Machines worked by hand

#define NV1(a, b) MACHINE_LINK("gpu[" #a "]", "gpu[" #b "]", "nvlink", 1, "25 GB/s")
#define NV2(a, b) MACHINE_LINK("gpu[" #a "]", "gpu[" #b "]", "nvlink", 2, "25 GB/s")

// NVIDIA DGX-1 with V100, the hybrid cube mesh: every GPU has 6 NVLinks. Its doubles form a ring.
#define CUBE_MESH                                                                                                      \
    NV2(0, 3)                                                                                                          \
    ", " NV2(0, 4) ", " NV2(1, 2) ", " NV2(1, 5) ", " NV2(2, 3) ", " NV2(4, 7) ", " NV2(                               \
        5,                                                                                                             \
        6) ", " NV2(6,                                                                                                 \
                    7) ", " NV1(0,                                                                                     \
                                1) ", " NV1(0,                                                                         \
                                            2) ", " NV1(1,                                                             \
                                                        3) ", " NV1(2,                                                 \
                                                                    6) ", " NV1(3,                                     \
                                                                                7) ", " NV1(4,                         \
                                                                                            5) ","                     \
                                                                                               " " NV1(4, 6) ", " NV1( \
                                                                                                   5,                  \
                                                                                                   7)

// Without a host GPUs forward. 0 to 5 over 1 (one cable, two cables) or 4 (two, one): equal halves,
// 2 x 25 GB/s. 0 to 7 over 3 (two, one) or 4 (two, two): 25 and 50 GB/s, shares 1 and 2 of 3.
static void test_fabric_policy_cube_mesh_forwards_by_weight(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_of(&machine, MACHINE_PART("gpu", "gpu", 8), CUBE_MESH);
    assert_int_equal(machine.fabric.domain_size, 8);
    assert_false(machine.fabric.shape.uniform);
    routes_find(&machine.fabric, 0, 3, &route);
    assert_int_equal(route.bandwidth_Bps, 50 * GBPS);
    routes_find(&machine.fabric, 0, 1, &route);
    assert_int_equal(route.bandwidth_Bps, 25 * GBPS);
    routes_find(&machine.fabric, 0, 5, &route);
    assert_int_equal(route.weight_total, 2);
    assert_int_equal(route.bandwidth_Bps, 50 * GBPS);
    routes_find(&machine.fabric, 0, 7, &route);
    assert_int_equal(route.weight_total, 3);
    assert_int_equal(route.bandwidth_Bps, 75 * GBPS);
    for (uint32_t i = 0; i < route.count; i++) {
        FabricLink link = fabric_link(&machine.fabric, route.edges[i].link);
        assert_int_equal(route.edges[i].weight, link.from == 4 || link.to == 4 ? 2 : 1);
    }
    fabric_route_free(&route);
    machine_close(&machine);
}

// With PCIe and a host, pairs without NVLink go over the host ("SYS" of nvidia-smi), not through
// other GPUs.
static void test_fabric_policy_cube_mesh_with_a_host(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_of(&machine,
               MACHINE_PART("gpu", "gpu", 8) ", " MACHINE_PART(
                   "pcie", "pcie-switch", 4) ", " MACHINE_PART("cpu", "cpu", 2),
               CUBE_MESH
               ", " MACHINE_LINK("gpu[i]", "pcie[i/2]", "pcie", 1, "15 GB/s") ", " MACHINE_LINK(
                   "pcie[i]", "cpu[i/2]", "pcie", 1,
                   "15 GB/s") ", " MACHINE_LINK("cpu[0]", "cpu[1]", "other", 1, "10 GB/s"));
    routes_find(&machine.fabric, 0, 5, &route);
    routes_check_path(&machine.fabric, &route, "gpu[0] pcie[0] cpu[0] cpu[1] pcie[2] gpu[5]");
    assert_int_equal(route.bandwidth_Bps, 10 * GBPS);
    routes_find(&machine.fabric, 0, 4, &route);
    assert_int_equal(route.bandwidth_Bps, 50 * GBPS);
    fabric_route_free(&route);
    machine_close(&machine);
}

// A torus of 4 x 4: to (2,2) there are 6 orders of two steps each way, two ways in each direction:
// 24 shortest paths of 4 links. A quarter leaves by each of the 4 links: 4 x 100 GB/s.
static void test_fabric_policy_torus_uses_both_ways_round(void **state) {
    (void)state;
    static const char torus[] =
        "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"torus\", \"machine\": \"pod\", "
        "\"templates\": {\"row\": {\"parts\": {\"gpu\": {\"kind\": \"gpu\", \"count\": 4}}, "
        "\"links\": [" MACHINE_LINK(
            "gpu[i]", "gpu[(i+1)%4]", "ici", 1,
            "100 GB/s") "]}, \"pod\": {\"parts\": {\"row\": {\"template\": \"row\", \"count\": 4}},"
                        " \"links\": [" MACHINE_LINK("row[i].gpu[j]", "row[(i+1)%4].gpu[j]", "ici",
                                                     1, "100 GB/s") "]}}}";
    Machine machine;
    Route route = {0};
    machine_parse(&machine, torus);
    routes_find(&machine.fabric, 0, 2 * 4 + 2, &route);
    assert_int_equal(route.hops, 4);
    assert_int_equal(route.bandwidth_Bps, 400 * GBPS);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(4 * route.edges[i].weight, route.weight_total);
    routes_find(&machine.fabric, 0, 1 * 4 + 1, &route); // a corner apart: two ways
    assert_int_equal(route.hops, 2);
    assert_int_equal(route.count, 4);
    assert_int_equal(route.bandwidth_Bps, 200 * GBPS);
    routes_find(&machine.fabric, 0, 2, &route); // opposite in a row: left and right
    assert_int_equal(route.bandwidth_Bps, 200 * GBPS);
    fabric_route_free(&route);
    machine_close(&machine);
}

// Two boards with a switch each are two domains in one host: inside, NVLink; between them, the NIC
// of each board.
static void test_fabric_policy_several_domains(void **state) {
    (void)state;
    static const char boards[] =
        "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"boards\", \"machine\": \"m\", "
        "\"templates\": {\"board\": {\"parts\": {\"gpu\": {\"kind\": \"gpu\", \"count\": 4}, "
        "\"sw\": {\"kind\": \"switch\"}, \"nic\": {\"kind\": \"nic\"}}, \"links\": [" MACHINE_LINK(
            "gpu[*]", "sw", "nvlink", 6,
            "25 GB/s") ", " MACHINE_LINK("gpu[*]", "nic", "pcie", 1,
                                         "30 GB/s") "]}, \"m\": {\"parts\": {\"board\": "
                                                    "{\"template\": \"board\", \"count\": 2}, "
                                                    "\"net\": {\"kind\": \"switch\"}}, "
                                                    "\"links\": [" MACHINE_LINK("board[*].nic",
                                                                                "net", "eth", 1,
                                                                                "12 GB/s") "]}}}";
    Machine machine;
    Route route = {0};
    machine_parse(&machine, boards);
    assert_int_equal(machine.fabric.domain_size, 4);
    routes_find(&machine.fabric, 0, 3, &route);
    assert_int_equal(route.bandwidth_Bps, 150 * GBPS);
    routes_find(&machine.fabric, 0, 4, &route);
    routes_check_path(&machine.fabric, &route,
                      "board[0].gpu[0] board[0].nic net board[1].nic board[1].gpu[0]");
    assert_int_equal(route.bandwidth_Bps, 12 * GBPS);
    assert_int_equal(route.narrowest, LINK_ETH);
    fabric_route_free(&route);
    machine_close(&machine);
}

// GPUs of two kinds on two switches: 4 cables from each old one and 2 from each new one to switch
// 0, 4 and 4 to switch 1. Old to new: 2 and 4 cables, shares 1 and 2, 6 x 25 = 150 GB/s.
static void test_fabric_policy_mixed_gpus_share_by_the_narrow_end(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_of(&machine,
               MACHINE_PART("old", "gpu", 2) ", " MACHINE_PART("new", "gpu", 2) ", " MACHINE_PART(
                   "sw", "switch", 2),
               MACHINE_LINK("old[*]", "sw[*]", "nvlink", 4, "25 GB/s") ", " MACHINE_LINK(
                   "new[*]", "sw[0]", "nvlink", 2,
                   "25 GB/s") ", " MACHINE_LINK("new[*]", "sw[1]", "nvlink", 4, "25 GB/s"));
    assert_false(machine.fabric.shape.uniform);
    routes_find(&machine.fabric, 0, 2, &route);
    assert_int_equal(route.weight_total, 3);
    assert_int_equal(route.bandwidth_Bps, 150 * GBPS);
    routes_find(&machine.fabric, 0, 1, &route);
    assert_int_equal(route.bandwidth_Bps, 200 * GBPS);
    routes_find(&machine.fabric, 2, 3, &route);
    assert_int_equal(route.bandwidth_Bps, 150 * GBPS);
    fabric_route_free(&route);
    machine_close(&machine);
}

// Three ways of 100, 200 and 300 GB/s between the same switches: exactly 1, 2 and 3 of 6.
static void test_fabric_policy_unequal_ways_are_exact(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_of(&machine, MACHINE_PART("gpu", "gpu", 2) ", " MACHINE_PART("sw", "switch", 3),
               MACHINE_LINK("gpu[*]", "sw[0]", "ib", 1, "100 GB/s") ", " MACHINE_LINK(
                   "gpu[*]", "sw[1]", "ib", 2, "100 GB/s") ", " MACHINE_LINK("gpu[*]", "sw[2]",
                                                                             "ib", 3, "100 GB/s"));
    routes_find(&machine.fabric, 0, 1, &route);
    assert_int_equal(route.weight_total, 6);
    for (uint32_t i = 0; i < 3; i++) assert_int_equal(route.edges[i].weight, i + 1);
    assert_int_equal(route.bandwidth_Bps, 600 * GBPS);
    fabric_route_free(&route);
    machine_close(&machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fabric_policy_hash_takes_one_path),
        cmocka_unit_test(test_fabric_policy_hash_spreads_pairs),
        cmocka_unit_test(test_fabric_policy_adaptive_is_striped),
        cmocka_unit_test(test_fabric_policy_hash_follows_a_stripe),
        cmocka_unit_test(test_fabric_policy_hash_keeps_its_choice),
        cmocka_unit_test(test_fabric_policy_hash_chooses_among_the_living),
        cmocka_unit_test(test_fabric_policy_cube_mesh_forwards_by_weight),
        cmocka_unit_test(test_fabric_policy_cube_mesh_with_a_host),
        cmocka_unit_test(test_fabric_policy_torus_uses_both_ways_round),
        cmocka_unit_test(test_fabric_policy_several_domains),
        cmocka_unit_test(test_fabric_policy_mixed_gpus_share_by_the_narrow_end),
        cmocka_unit_test(test_fabric_policy_unequal_ways_are_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
