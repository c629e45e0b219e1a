// Routes of the generated and shipped machines: through chips of a torus, minimal in a dragonfly,
// over sub-planes, rails and cores, and to memory and storage.
#include "tests/machine/machine.h"
#include "tests/machine/routes.h"

#include "model/machine/fabric_rule.h"

#define GBPS(n) ((n)*UINT64_C(1000000000))

static VertexId vertex_of(const Fabric *fabric, const char *class_name, uint32_t index) {
    for (uint32_t i = 0; i < fabric->class_count; i++)
        if (strcmp(fabric->classes[i].name, class_name) == 0)
            return fabric->classes[i].first + index;
    fail_msg("no class %s", class_name);
    return 0;
}

typedef struct Want {
    uint32_t hops;
    uint64_t bandwidth_Bps;
    LinkClass narrowest;
    Time latency_ps;
} Want;

static void check_want(const Fabric *fabric, VertexId from, VertexId to, Want want) {
    Route route = {0};
    routes_find(fabric, from, to, &route);
    assert_int_equal(route.hops, want.hops);
    assert_int_equal(route.bandwidth_Bps, want.bandwidth_Bps);
    assert_int_equal(route.narrowest, want.narrowest);
    assert_int_equal(route.latency_ps, want.latency_ps);
    fabric_route_free(&route);
}

// Chip (x, y, z) of 4 x 4 x 4 is number 16 x + 4 y + z. A neighbour: one link. (0, 1, 1): one path
// of two links, z before y. (0, 0, 2): two ways round, half of the transfer each: 200 GB/s. (2, 2,
// 2): the same in each of the three rings, 3 x 2 x 2 links. 500 ns a link.
static void test_topology_synthetic_torus_routes_go_through_chips(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_open(&machine, "torus:4x4x4,100GB/s");
    const Fabric *fabric = &machine.fabric;
    check_want(fabric, 0, 1, (Want){1, GBPS(100), LINK_ICI, 500000});
    check_want(fabric, 0, 3, (Want){1, GBPS(100), LINK_ICI, 500000}); // around
    check_want(fabric, 0, 4 + 1, (Want){2, GBPS(100), LINK_ICI, 1000000});
    check_want(fabric, 0, 2, (Want){2, GBPS(200), LINK_ICI, 1000000});
    check_want(fabric, 0, 32 + 8 + 2, (Want){6, GBPS(200), LINK_ICI, 3000000});
    routes_find(fabric, 0, 32 + 8 + 2, &route);
    assert_int_equal(route.count, 12);
    assert_int_equal(route.weight_total, 2);
    fabric_route_free(&route);
    machine_close(&machine);
}

// The distance in a ring of n is the shorter way round; in a torus they add up over the sides.
static void test_topology_synthetic_torus_distances(void **state) {
    (void)state;
    static const uint32_t size[] = {5, 4, 3};
    Machine machine;
    machine_open(&machine, "torus:3x4x5,100GB/s");
    for (uint32_t to = 1; to < 60; to++) {
        uint32_t at[] = {to / 12, to / 3 % 4, to % 3}, hops = 0;
        Route route = {0};
        for (uint32_t i = 0; i < 3; i++) hops += at[i] < size[i] - at[i] ? at[i] : size[i] - at[i];
        routes_find(&machine.fabric, 0, to, &route);
        assert_int_equal(route.hops, hops);
        fabric_route_free(&route);
    }
    machine_close(&machine);
}

static uint32_t channels_of(const Fabric *fabric, const Route *route) {
    uint32_t channels = 0;
    for (uint32_t i = 0; i < route->count; i++) {
        FabricLink link = fabric_link(fabric, route->edges[i].link);
        channels += strcmp(fabric_class(fabric, link.from)->name, "group.router.port") == 0 &&
                    strcmp(fabric_class(fabric, link.to)->name, "group.router.port") == 0;
    }
    return channels;
}

// Between groups the one channel that joins them, with at most one local link on each side; inside
// a group none. GPU to router, local, router to port, channel, port to router, local, router to
// GPU: at most 7 links. One path only, so a link carries all of a transfer.
static void test_topology_synthetic_dragonfly_routes_are_minimal(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "dragonfly:p=2,a=4,h=2,50GB/s");
    const Fabric *fabric = &machine.fabric;
    uint32_t longest = 0;
    for (uint32_t from = 0; from < 72; from += 2) {
        for (uint32_t to = 1; to < 72; to += 2) {
            Route route = {0};
            routes_find(fabric, from, to, &route);
            bool is_inside = from / 8 == to / 8;
            assert_int_equal(channels_of(fabric, &route), is_inside ? 0 : 1);
            assert_int_equal(route.count, route.hops);
            assert_int_equal(route.bandwidth_Bps, GBPS(50));
            assert_true(route.hops <= (is_inside ? 3 : 7));
            if (route.hops > longest) longest = route.hops;
            fabric_route_free(&route);
        }
    }
    assert_int_equal(longest, 7);
    machine_close(&machine);
}

// Port 0 of router 0 of group 0 is channel 0, to group 1, where it ends in the last port, that of
// router 3. So GPU 2 (router 1 of group 0) reaches GPU 8 (router 0 of group 1) by a local link to
// router 0, the channel, and a local link from router 3.
static void test_topology_synthetic_dragonfly_goes_local_global_local(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_open(&machine, "dragonfly:p=2,a=4,h=2,50GB/s");
    routes_find(&machine.fabric, 2, 8, &route);
    routes_check_path(&machine.fabric, &route,
                      "group[0].router[1].gpu[0] group[0].router[1].switch "
                      "group[0].router[0].switch group[0].router[0].port[0] "
                      "group[1].router[3].port[1] group[1].router[3].switch "
                      "group[1].router[0].switch group[1].router[0].gpu[0]");
    fabric_route_free(&route);
    machine_close(&machine);
}

// Inside a node: 7 level-1 switches. Across nodes: 7 sub-planes of 16 level-2 switches, each with
// 1/112: NPU - 7 - 112 - 112 - 7. 14 links of 28 GB/s in both cases. 600 ns to a level-1 switch,
// 350 ns between the levels.
static void test_topology_shipped_cloudmatrix_uses_all_subplanes(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_open(&machine, "cloudmatrix384");
    const Fabric *fabric = &machine.fabric;
    check_want(fabric, 0, 1, (Want){2, GBPS(392), LINK_UB, 1200000});
    check_want(fabric, 0, 8, (Want){4, GBPS(392), LINK_UB, 1900000});
    routes_find(fabric, 0, 8, &route);
    assert_int_equal(route.count, 7 + 112 + 112 + 7);
    assert_int_equal(route.weight_total, 112);
    fabric_route_free(&route);
    machine_close(&machine);
}

// Leaves alone on a rail of a unit (1 switch), spines between rails or units (3), cores between
// units with spines of their own (5). Always the NIC of 50 GB/s. 600 ns for NIC and PCIe on each
// side, 250 ns a switch.
static void test_topology_synthetic_superpod_switches_on_the_way(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "superpod-b200:16su");
    const Fabric *fabric = &machine.fabric;
    check_want(fabric, 0, 8, (Want){6, GBPS(50), LINK_IB, 1450000});       // next node, same rail
    check_want(fabric, 0, 9, (Want){8, GBPS(50), LINK_IB, 1950000});       // another rail
    check_want(fabric, 0, 32 * 8, (Want){10, GBPS(50), LINK_IB, 2450000}); // another unit
    check_want(fabric, 0, 32 * 8 + 1, (Want){10, GBPS(50), LINK_IB, 2450000}); // and rail
    machine_close(&machine);
}

// Two planes: both ports of the NIC, 50 GB/s each.
static void test_topology_synthetic_superpod_b300_uses_both_planes(void **state) {
    (void)state;
    Machine machine;
    Route route = {0};
    machine_open(&machine, "superpod-b300:2su");
    routes_find(&machine.fabric, 0, 8, &route);
    assert_int_equal(route.bandwidth_Bps, GBPS(100));
    assert_int_equal(route.count, 1 + 2 + 2 + 1); // NIC, two leaves, NIC
    assert_int_equal(route.weight_total, 2);
    fabric_route_free(&route);
    machine_close(&machine);
}

// A GPU of a GB200 tray reaches both NICs of its superchip through the CPU: 100 GB/s and two rails;
// across units over 18 spines each and 16 cores behind each spine.
static void test_topology_synthetic_racks_use_their_rails(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "nvl72:144");
    check_want(&machine.fabric, 0, 71, (Want){2, GBPS(900), LINK_NVLINK, 500000});
    check_want(&machine.fabric, 0, 72, (Want){8, GBPS(100), LINK_IB, 1950000});
    check_want(&machine.fabric, 0, 8 * 72, (Want){10, GBPS(100), LINK_IB, 2450000});
    machine_close(&machine);
}

// GPU 0 of a DGX A100: its PCIe switch, the CPU, the memory: PCIe 4.0 x16 is narrowest, 200 + 200 +
// 100 ns. The memory of the other CPU is behind the link between them. Two drives share its PCIe
// switch, the rest are further away: a drive is narrowest in any case.
static void test_topology_shipped_a100_reaches_memory_and_storage(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "hgx-a100");
    const Fabric *fabric = &machine.fabric;
    const uint64_t drive_Bps = UINT64_C(7875000000);
    check_want(fabric, 0, vertex_of(fabric, "dram", 0),
               (Want){3, UINT64_C(31500000000), LINK_PCIE, 500000});
    check_want(fabric, 0, vertex_of(fabric, "dram", 1), (Want){4, GBPS(16), LINK_OTHER, 700000});
    check_want(fabric, 0, vertex_of(fabric, "nvme", 1),
               (Want){2, drive_Bps, LINK_STORAGE, 10200000});
    check_want(fabric, 0, vertex_of(fabric, "nvme", 7),
               (Want){5, drive_Bps, LINK_STORAGE, 10800000});
    machine_close(&machine);
}

// Over C2C the GPU is narrower than the memory of Grace: 450 of 512 GB/s.
static void test_topology_shipped_nvl72_reaches_host_memory(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "gb300-nvl72");
    check_want(&machine.fabric, 0, vertex_of(&machine.fabric, "tray.dram", 0),
               (Want){2, GBPS(450), LINK_C2C, 300000});
    machine_close(&machine);
}

// The memory of a CPU in another node is part of the pool: NPU, level 1, level 2, level 1, CPU,
// memory. A CPU has 7 x 22.857 GB/s, less than its memory has and than an NPU.
static void test_topology_shipped_cloudmatrix_pools_its_memory(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "cloudmatrix384");
    check_want(&machine.fabric, 0, vertex_of(&machine.fabric, "node.dram", 4),
               (Want){5, UINT64_C(159999000000), LINK_UB, 2000000});
    machine_close(&machine);
}

// Without switch and bridges everything goes through the CPUs, which are no scale-up network.
static void test_topology_shipped_pcie_boxes_have_no_scale_up(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "a100-pcie");
    assert_int_equal(machine.fabric.domain_size, 1);
    check_want(&machine.fabric, 0, 1, (Want){2, UINT64_C(31500000000), LINK_PCIE, 400000});
    check_want(&machine.fabric, 0, 3, (Want){3, GBPS(16), LINK_OTHER, 600000});
    machine_close(&machine);
}

// GPUs 0 and 5 of a DGX-1 have no link: 0 - PCIe switch - CPU - CPU - PCIe switch - 5.
static void test_topology_shipped_dgx1_falls_back_to_pcie(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "dgx1-v100");
    check_want(&machine.fabric, 0, 3, (Want){1, GBPS(50), LINK_NVLINK, 500000});
    check_want(&machine.fabric, 0, 1, (Want){1, GBPS(25), LINK_NVLINK, 500000});
    check_want(&machine.fabric, 0, 5, (Want){5, GBPS(6), LINK_OTHER, 1000000});
    machine_close(&machine);
}

// Dies 0 and 1 of an MI250X node are one package: 4 links of 50 GB/s. 0 and 6 have two links, 0 and
// 2 one. 0 and 3 have none: both 1 and 2 lie between, by 4 links and 1 link, or 1 link and 4.
static void test_topology_shipped_mi250x_forwards_through_dies(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "mi250x");
    check_want(&machine.fabric, 0, 1, (Want){1, GBPS(200), LINK_XGMI, 500000});
    check_want(&machine.fabric, 0, 6, (Want){1, GBPS(100), LINK_XGMI, 500000});
    check_want(&machine.fabric, 0, 2, (Want){1, GBPS(50), LINK_XGMI, 500000});
    check_want(&machine.fabric, 0, 3, (Want){2, GBPS(100), LINK_XGMI, 1000000});
    machine_close(&machine);
}

// Every shipped machine builds, and every link of it says where its figures come from.
static void test_topology_shipped_machines_build_and_have_sources(void **state) {
    (void)state;
    Arena arena = {0};
    const char **names;
    uint32_t count = file_shipped("topologies", &arena, &names);
    assert_true(count > 20);
    for (uint32_t i = 0; i < count; i++) {
        Machine machine;
        machine_open(&machine, names[i]);
        for (uint32_t k = 0; k < machine.fabric.rule_count; k++) {
            const LinkRule *link = machine.fabric.rules[k].link;
            if (link->source[0] == '\0') fail_msg("%s: %s has no source", names[i], link->from);
        }
        machine_close(&machine);
    }
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_topology_synthetic_torus_routes_go_through_chips),
        cmocka_unit_test(test_topology_synthetic_torus_distances),
        cmocka_unit_test(test_topology_synthetic_dragonfly_routes_are_minimal),
        cmocka_unit_test(test_topology_synthetic_dragonfly_goes_local_global_local),
        cmocka_unit_test(test_topology_shipped_cloudmatrix_uses_all_subplanes),
        cmocka_unit_test(test_topology_synthetic_superpod_switches_on_the_way),
        cmocka_unit_test(test_topology_synthetic_superpod_b300_uses_both_planes),
        cmocka_unit_test(test_topology_synthetic_racks_use_their_rails),
        cmocka_unit_test(test_topology_shipped_a100_reaches_memory_and_storage),
        cmocka_unit_test(test_topology_shipped_nvl72_reaches_host_memory),
        cmocka_unit_test(test_topology_shipped_cloudmatrix_pools_its_memory),
        cmocka_unit_test(test_topology_shipped_pcie_boxes_have_no_scale_up),
        cmocka_unit_test(test_topology_shipped_dgx1_falls_back_to_pcie),
        cmocka_unit_test(test_topology_shipped_mi250x_forwards_through_dies),
        cmocka_unit_test(test_topology_shipped_machines_build_and_have_sources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
