#include "tests/machine/machine.h"
#include "tests/machine/routes.h"

// 18 links up and 18 down, each with 1/18 of the transfer: 18 x 50 GB/s. The CPU that two GPUs
// share is as near, but no way for what NVLink can carry.
static void test_fabric_route_nvl72_pair_uses_all_planes(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_open(&machine, "nvl72");
    static const VertexId others[] = {1, 2, 4, 71};
    for (size_t i = 0; i < 4; i++) {
        routes_find(&machine.fabric, 0, others[i], &route);
        assert_int_equal(route.count, 36);
        assert_int_equal(route.weight_total, 18);
        assert_int_equal(route.hops, 2);
        assert_int_equal(route.latency_ps, 500000);
        assert_int_equal(route.narrowest, LINK_NVLINK);
        assert_int_equal(route.bandwidth_Bps, UINT64_C(900000000000));
        for (uint32_t k = 0; k < 36; k++) assert_int_equal(route.edges[k].weight, 1);
    }
    fabric_route_free(&route);
    fabric_route_free(&route);
    machine_close(&machine);
}

// Chips 0 and 3 have 4 links to each GPU, 1 and 2 have 5: shares 4, 5, 5, 4 of 18.
static void test_fabric_route_hgx_pair_weighs_planes_by_their_links(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_open(&machine, "hgx-h100");
    routes_find(&machine.fabric, 0, 7, &route);
    assert_int_equal(route.count, 8);
    assert_int_equal(route.weight_total, 18);
    assert_int_equal(route.bandwidth_Bps, UINT64_C(450000000000));
    for (uint32_t i = 0; i < 8; i++) {
        FabricLink link = fabric_link(&machine.fabric, route.edges[i].link);
        VertexId chip = link.from == 0 ? link.to : link.from;
        uint32_t plane = chip - fabric_class(&machine.fabric, chip)->first;
        static const uint32_t shares[] = {4, 5, 5, 4};
        assert_int_equal(route.edges[i].weight, shares[plane]);
    }
    fabric_route_free(&route);
    machine_close(&machine);
}

// GPU i of one node to GPU i of the next: out by NIC i, over leaf i, in by NIC i. 0.6 us on each
// side and 0.25 us for the leaf.
static void test_fabric_route_same_rail_crosses_one_leaf(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_open(&machine, "hgx-h100-cluster");
    routes_find(&machine.fabric, 3, 8 + 3, &route);
    routes_check_path(
        &machine.fabric, &route,
        "unit[0].node[0].gpu[3] unit[0].node[0].pcie[3] unit[0].node[0].nic[3] unit[0].leaf[3] "
        "unit[0].node[1].nic[3] unit[0].node[1].pcie[3] unit[0].node[1].gpu[3]");
    assert_int_equal(route.count, 6);
    assert_int_equal(route.weight_total, 1);
    assert_int_equal(route.latency_ps, 2 * 600000 + 250000);
    assert_int_equal(route.bandwidth_Bps, UINT64_C(50000000000));
    assert_int_equal(route.narrowest, LINK_IB);
    fabric_route_free(&route);
    machine_close(&machine);
}

// Another rail, or another unit: leaf, any of 16 spines, leaf. 3 links before the leaf, 16 up, 16
// down, 3 after: 38 edges.
static void test_fabric_route_other_rail_stripes_over_all_spines(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_open(&machine, "hgx-h100-cluster");
    static const VertexId others[] = {8 + 1, 256, 1023}; // other rail; other unit, same rail; both
    for (size_t i = 0; i < 3; i++) {
        routes_find(&machine.fabric, 0, others[i], &route);
        assert_int_equal(route.count, 38);
        assert_int_equal(route.hops, 8);
        assert_int_equal(route.weight_total, 16);
        assert_int_equal(route.edges[0].weight, 16);
        assert_int_equal(route.edges[3].weight, 1);
        assert_int_equal(route.latency_ps, 2 * 600000 + 3 * 250000);
        assert_int_equal(route.bandwidth_Bps, UINT64_C(50000000000));
    }
    fabric_route_free(&route);
    machine_close(&machine);
}

// Racks have no NVLink between them: out by C2C, CPU and either NIC of the CPU.
static void test_fabric_route_between_racks_goes_by_nics(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_open(&machine, "nvl72:2");
    routes_find(&machine.fabric, 0, 72, &route);
    routes_check_path(&machine.fabric, &route,
                      "rack[0].tray[0].superchip[0].gpu[0] rack[0].tray[0].superchip[0].cpu "
                      "rack[0].tray[0].superchip[0].nic[0] rack[0].rails[0].leaf[0] spine[0] "
                      "rack[1].rails[0].leaf[0] rack[1].tray[0].superchip[0].nic[0] "
                      "rack[1].tray[0].superchip[0].cpu rack[1].tray[0].superchip[0].gpu[0]");
    assert_int_equal(route.hops, 8);
    fabric_route_free(&route);
    machine_close(&machine);
}

// Opposite corners of a ring of four are two links apart both ways: half of the transfer goes each
// way.
static void test_fabric_route_ring_of_four_splits_between_both_ways(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_open(&machine, "ring:4,450GB/s");
    routes_find(&machine.fabric, 0, 1, &route);
    routes_check_path(&machine.fabric, &route, "gpu[0] gpu[1]");
    assert_int_equal(route.weight_total, 1);
    routes_find(&machine.fabric, 0, 2, &route);
    assert_int_equal(route.count, 4);
    assert_int_equal(route.weight_total, 2);
    assert_int_equal(route.bandwidth_Bps, UINT64_C(900000000000));
    assert_int_equal(route.latency_ps, 1000000);
    fabric_route_free(&route);
    machine_close(&machine);
}

static void test_fabric_route_two_gpus_on_one_link(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_open(&machine, "ring:2,450GB/s");
    routes_find(&machine.fabric, 1, 0, &route);
    assert_int_equal(route.count, 1);
    FabricLink link = fabric_link(&machine.fabric, route.edges[0].link);
    assert_int_equal(link.from, 1);
    assert_int_equal(link.to, 0);
    fabric_route_free(&route);
    machine_close(&machine);
}

static void test_fabric_route_to_itself_has_no_links(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    Err err = {{0}};
    machine_open(&machine, "ring:4,450GB/s");
    routes_find(&machine.fabric, 0, 2, &route);
    check_ok(fabric_route(&machine.fabric, 1, 1, &route, &err),
             &err); // the memory of the last route is used again
    assert_int_equal(route.count, 0);
    assert_int_equal(route.hops, 0);
    assert_int_equal(route.latency_ps, 0);
    fabric_route_free(&route);
    machine_close(&machine);
}

#define PARALLEL                                                                                   \
    MACHINE_PART("gpu", "gpu", 2)                                                                  \
    ", " MACHINE_PART("wide", "switch", 1) ", " MACHINE_PART("thin", "switch", 1)

// Two ways of equal length: 100 GB/s through one switch, 100 then 50 GB/s through the other. Shares
// 2 and 1 of 3; alone a transfer gets 150 GB/s.
static void test_fabric_route_shares_by_the_narrowest_link(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_of(&machine, PARALLEL,
               MACHINE_LINK("gpu[*]", "wide", "nvlink", 2, "50 GB/s") ", " MACHINE_LINK(
                   "gpu[0]", "thin", "nvlink", 2,
                   "50 GB/s") ", " MACHINE_LINK("gpu[1]", "thin", "nvlink", 1, "50 GB/s"));
    routes_find(&machine.fabric, 0, 1, &route);
    assert_int_equal(route.count, 4);
    assert_int_equal(route.weight_total, 3);
    assert_int_equal(route.edges[0].weight, 2);
    assert_int_equal(route.edges[1].weight, 1);
    assert_int_equal(route.bandwidth_Bps, UINT64_C(150000000000));
    fabric_route_free(&route);
    machine_close(&machine);
}

// Rates without a common divisor whose exact ratio needs more than 32 bits: 50 GB/s and 33333333331
// B/s. The shares are rounded, and still add up.
static void test_fabric_route_rounds_shares_to_32_bits(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_of(&machine, PARALLEL,
               MACHINE_LINK("gpu[*]", "wide", "nvlink", 1, "50 GB/s") ", " MACHINE_LINK(
                   "gpu[*]", "thin", "nvlink", 1, "33333333331 B/s"));
    routes_find(&machine.fabric, 0, 1, &route);
    assert_int_equal(route.count, 4);
    check_close((double)route.edges[0].weight / route.edges[1].weight, 50e9 / 33333333331.0, 1e-8);
    fabric_route_free(&route);
    machine_close(&machine);
}

// Of two ways with as many links and CPUs, the one of less latency is taken alone.
static void test_fabric_route_takes_the_lower_latency(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_of(
        &machine, PARALLEL,
        MACHINE_LINK("gpu[*]", "wide", "nvlink", 1,
                     "50 GB/s") ", {\"from\": \"gpu[*]\", \"to\": \"thin\", \"class\": \"nvlink\", "
                                "\"bandwidth\": \"50 GB/s\", \"latency\": \"400 ns\"}");
    routes_find(&machine.fabric, 0, 1, &route);
    routes_check_path(&machine.fabric, &route, "gpu[0] thin gpu[1]");
    assert_int_equal(route.count, 2);
    assert_int_equal(route.latency_ps, 800000);
    fabric_route_free(&route);
    machine_close(&machine);
}

// Without NVLink: over the PCIe switch and the CPU of the node, not over NIC, leaf and NIC. GPUs 0
// and 1 share a switch.
static void test_fabric_route_pcie_node_stays_in_the_host(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_of(
        &machine,
        MACHINE_PART("gpu", "gpu", 4) ", " MACHINE_PART("pcie", "pcie-switch", 2) ", " MACHINE_PART(
            "nic", "nic", 2) ", " MACHINE_PART("cpu", "cpu", 1) ", " MACHINE_PART("leaf", "switch",
                                                                                  1),
        MACHINE_LINK("gpu[i]", "pcie[i/2]", "pcie", 1, "31.5 GB/s") ", " MACHINE_LINK(
            "nic[i]", "pcie[i]", "pcie", 1,
            "31.5 GB/s") ", " MACHINE_LINK("pcie[*]", "cpu", "pcie", 1,
                                           "31.5 GB/s") ", " MACHINE_LINK("nic[*]", "leaf", "ib", 1,
                                                                          "25 GB/s"));
    routes_find(&machine.fabric, 0, 1, &route);
    routes_check_path(&machine.fabric, &route, "gpu[0] pcie[0] gpu[1]");
    routes_find(&machine.fabric, 0, 3, &route);
    routes_check_path(&machine.fabric, &route, "gpu[0] pcie[0] cpu pcie[1] gpu[3]");
    fabric_route_free(&route);
    machine_close(&machine);
}

// A longer way over NVLink beats a shorter one over PCIe: 3 links of a pair of boards (DGX-2)
// against 2.
static void test_fabric_route_prefers_scale_up(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_of(&machine,
               MACHINE_PART("gpu", "gpu", 2) ", " MACHINE_PART("sw", "switch", 2) ", " MACHINE_PART(
                   "pcie", "pcie-switch", 1),
               MACHINE_LINK("gpu[i]", "sw[i]", "nvlink", 6, "25 GB/s") ", " MACHINE_LINK(
                   "sw[0]", "sw[1]", "nvlink", 8,
                   "25 GB/s") ", " MACHINE_LINK("gpu[*]", "pcie", "pcie", 1, "15.75 GB/s"));
    routes_find(&machine.fabric, 0, 1, &route);
    routes_check_path(&machine.fabric, &route, "gpu[0] sw[0] sw[1] gpu[1]");
    assert_int_equal(route.bandwidth_Bps, UINT64_C(150000000000));
    fabric_route_free(&route);
    machine_close(&machine);
}

// GPUs forward only when nothing else does: with a CPU beside the line of GPUs, the far pair goes
// over the CPU.
static void test_fabric_route_forwards_through_gpus_last(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_of(&machine, MACHINE_PART("gpu", "gpu", 3),
               MACHINE_LINK("gpu[i=0-1]", "gpu[i+1]", "nvlink", 1, "50 GB/s"));
    routes_find(&machine.fabric, 0, 2, &route);
    routes_check_path(&machine.fabric, &route, "gpu[0] gpu[1] gpu[2]");
    machine_close(&machine);
    machine_of(&machine, MACHINE_PART("gpu", "gpu", 3) ", " MACHINE_PART("cpu", "cpu", 1),
               MACHINE_LINK("gpu[i=0-1]", "gpu[i+1]", "nvlink", 1,
                            "50 GB/s") ", " MACHINE_LINK("gpu[*]", "cpu", "pcie", 1, "31.5 GB/s"));
    routes_find(&machine.fabric, 0, 2, &route);
    routes_check_path(&machine.fabric, &route, "gpu[0] cpu gpu[2]");
    fabric_route_free(&route);
    machine_close(&machine);
}

// To the memory of a CPU: C2C, then the memory link, which is the narrower one.
static void test_fabric_route_reaches_memory(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_open(&machine, "nvl72");
    VertexId memory = FABRIC_NONE;
    for (uint32_t i = 0; i < machine.fabric.class_count; i++) {
        if (machine.fabric.classes[i].kind == PART_MEMORY)
            memory = machine.fabric.classes[i].first + 1;
    }
    routes_find(&machine.fabric, 2, memory, &route); // GPU 2 is at CPU 1
    routes_check_path(&machine.fabric, &route, "tray[0].gpu[2] tray[0].cpu[1] tray[0].dram[1]");
    assert_int_equal(route.bandwidth_Bps, UINT64_C(450000000000));
    fabric_route_free(&route);
    machine_close(&machine);
}

static void test_fabric_route_says_what_cannot_be_reached(void **state) {
    (void)state;
    Topology topology = {0};
    DeviceCatalogue catalogue;
    Fabric fabric = {0};
    Err err = {{0}};
    check_ok(device_load(&catalogue, &err), &err);
    check_ok(topology_read("tests/bad/topo-disconnected.json", &topology, &err), &err);
    check_fails(fabric_build(&topology, &catalogue, &fabric, &err), &err,
                "tests/bad/topo-disconnected.json: gpu[0] cannot reach gpu[2]");
    topology_free(&topology);
    device_free(&catalogue);
}

// Fewest links by trying all vertices again and again (Bellman and Ford), in the tiers that
// fabric.h documents.
static bool oracle_forwards(PartKind kind, bool any, bool gpus) {
    if (kind == PART_GPU) return gpus;
    if (kind == PART_SWITCH || kind == PART_CPU) return true;
    return any && (kind == PART_NIC || kind == PART_PCIE_SWITCH);
}

static uint32_t oracle_hops(const Fabric *fabric, VertexId from, VertexId to) {
    uint32_t *hops = mem_alloc(fabric->vertex_count, sizeof *hops);
    uint32_t found = UINT32_MAX;
    for (int tier = 0; tier < 4 && found == UINT32_MAX; tier++) {
        bool any = tier % 2 == 1, gpus = tier >= 2, changed = true;
        for (VertexId v = 0; v < fabric->vertex_count; v++) hops[v] = UINT32_MAX;
        hops[from] = 0;
        while (changed) {
            changed = false;
            for (LinkId id = 0; id < fabric->link_count; id++) {
                FabricLink link = fabric_link(fabric, id);
                if (!any && !topology_class_is_scale_up(link.link_class)) continue;
                if (hops[link.from] == UINT32_MAX || hops[link.to] <= hops[link.from] + 1) continue;
                if (link.from != from &&
                    !oracle_forwards(fabric_class(fabric, link.from)->kind, any, gpus))
                    continue;
                hops[link.to] = hops[link.from] + 1;
                changed = true;
            }
        }
        found = hops[to];
    }
    mem_free(hops);
    return found;
}

static void check_against_oracle(const Fabric *fabric, uint32_t stride) {
    Route route = {0};
    for (VertexId from = 0; from < fabric->vertex_count; from += stride) {
        for (VertexId to = 0; to < fabric->vertex_count; to += stride) {
            if (from == to) continue;
            routes_find(fabric, from, to, &route);
            assert_int_equal(route.hops, oracle_hops(fabric, from, to));
        }
    }
    fabric_route_free(&route);
}

static void test_fabric_route_agrees_with_a_plain_search(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint32_t stride;
    } machines[] = {{"ring:7,1GB/s", 1},
                    {"hgx-h100", 1},
                    {"mesh:5,1GB/s", 1},
                    {"hgx-h100:2", 7},
                    {"nvl72", 29}};
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        Machine machine;
        machine_open(&machine, machines[i].name);
        check_against_oracle(&machine.fabric, machines[i].stride);
        machine_close(&machine);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fabric_route_nvl72_pair_uses_all_planes),
        cmocka_unit_test(test_fabric_route_hgx_pair_weighs_planes_by_their_links),
        cmocka_unit_test(test_fabric_route_same_rail_crosses_one_leaf),
        cmocka_unit_test(test_fabric_route_other_rail_stripes_over_all_spines),
        cmocka_unit_test(test_fabric_route_between_racks_goes_by_nics),
        cmocka_unit_test(test_fabric_route_ring_of_four_splits_between_both_ways),
        cmocka_unit_test(test_fabric_route_two_gpus_on_one_link),
        cmocka_unit_test(test_fabric_route_to_itself_has_no_links),
        cmocka_unit_test(test_fabric_route_shares_by_the_narrowest_link),
        cmocka_unit_test(test_fabric_route_rounds_shares_to_32_bits),
        cmocka_unit_test(test_fabric_route_takes_the_lower_latency),
        cmocka_unit_test(test_fabric_route_pcie_node_stays_in_the_host),
        cmocka_unit_test(test_fabric_route_prefers_scale_up),
        cmocka_unit_test(test_fabric_route_forwards_through_gpus_last),
        cmocka_unit_test(test_fabric_route_reaches_memory),
        cmocka_unit_test(test_fabric_route_says_what_cannot_be_reached),
        cmocka_unit_test(test_fabric_route_agrees_with_a_plain_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
