#include "tests/machine/machine.h"

#include "model/machine/fabric_summary.h"
#include "model/machine/topology_synth.h"

#define GBPS(n) ((n)*UINT64_C(1000000000))

static void check_counts(const char *name, uint32_t gpus, uint32_t vertices, uint32_t cables) {
    Machine machine;
    machine_open(&machine, name);
    if (machine.fabric.gpu_count != gpus || machine.fabric.vertex_count != vertices ||
        machine.fabric.link_count != 2 * cables) {
        fail_msg("%s: %u GPUs, %u vertices, %u links", name, machine.fabric.gpu_count,
                 machine.fabric.vertex_count, machine.fabric.link_count / 2);
    }
    machine_close(&machine);
}

// A ring of n has n links, a mesh n (n - 1) / 2; around a switch n.
static void test_topology_synthetic_graphs_have_their_links(void **state) {
    (void)state;
    check_counts("ring:4,450GB/s", 4, 4, 4);
    check_counts("ring:3,450GB/s", 3, 3, 3);
    check_counts("ring:2,450GB/s", 2, 2, 1);
    check_counts("mesh:2,64GB/s", 2, 2, 1);
    check_counts("mesh:8,64GB/s", 8, 8, 28);
    check_counts("switch:8,450GB/s", 8, 9, 8);
    check_counts("switch:1,450GB/s", 1, 2, 1);
}

// A node of 8 has 2 x 8 NVLink bundles to (0, 3) and (1, 2), 8 + 8 + 8 PCIe links, 1 between CPUs
// and 2 to their memories: 59; and 8 to the leaves. 4 nodes: 4 x (59 + 8) and 8 leaves x 16 spines.
static void test_topology_synthetic_cuts_a_shipped_cluster(void **state) {
    (void)state;
    check_counts("hgx-h100:1", 8, 32, 59);
    check_counts("hgx-h100:4", 32, 4 * 32 + 8 + 16, 4 * 67 + 128);
    check_counts("hgx-h100:96", 768, 96 * 32 + 3 * 8 + 16, 96 * 67 + 3 * 128);
    check_counts("nvl72:1", 72, 234, 1494);
}

static void test_topology_synthetic_whole_cluster_is_the_file(void **state) {
    (void)state;
    Topology file = {0}, text = {0};
    Err err = {{0}};
    check_ok(topology_load("hgx-h100-cluster", &file, &err), &err);
    check_ok(topology_load("hgx-h100:128", &text, &err), &err);
    assert_int_equal(file.templates[file.machine].parts[0].count, 4);
    assert_int_equal(text.templates[text.machine].parts[0].count, 4);
    assert_int_equal(text.templates[1].parts[0].count, 32);
    topology_free(&file);
    topology_free(&text);
}

static void test_topology_synthetic_takes_options(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "switch:2,900GB/s,latency=1us,device=B200");
    FabricLink link = fabric_link(&machine.fabric, 0);
    assert_int_equal(link.latency_ps, 1000000);
    assert_int_equal(link.capacity_Bps, UINT64_C(900000000000));
    assert_string_equal(fabric_device(&machine.fabric, 0)->name, "B200 SXM");
    assert_false(machine.topology.default_device);
    machine_close(&machine);
    machine_open(&machine, "switch:2,900GB/s");
    assert_string_equal(fabric_device(&machine.fabric, 0)->name, "H100 SXM");
    assert_true(machine.topology.default_device);
    machine_close(&machine);
    machine_open(&machine, "hgx-h100:2,device=H200");
    assert_string_equal(fabric_device(&machine.fabric, 15)->name, "H200 SXM");
    machine_close(&machine);
}

// A torus of sides 4, 5 and 2: 3 x 40 links, but a side of 2 has one link and not two between its
// parts, so 40 + 40 + 20. A ring of 6 chips is a torus of one side.
static void test_topology_synthetic_torus(void **state) {
    (void)state;
    check_counts("torus:4x4x4,100GB/s", 64, 64, 3 * 64);
    check_counts("torus:4x5x2,100GB/s", 40, 40, 40 + 40 + 20);
    check_counts("torus:6,100GB/s", 6, 6, 6);
    check_counts("torus:2x2x2x2x2x2,100GB/s", 64, 64, 6 * 32); // a hypercube
    check_counts("torus:16x20x28,100GB/s", 8960, 8960, 3 * 8960);
}

// The longest side is the outermost level, whatever the order in the line.
static void test_topology_synthetic_torus_is_cut_across_its_longest_side(void **state) {
    (void)state;
    static const char *const specs[] = {"torus:2x4x6,100GB/s", "torus:6x2x4,100GB/s"};
    for (size_t i = 0; i < 2; i++) {
        Machine machine;
        FabricSummary summary;
        Err err = {{0}};
        machine_open(&machine, specs[i]);
        assert_int_equal(machine.fabric.classes[0].shape[0], 6);
        check_ok(fabric_summary_make(&machine.fabric, &summary, &err), &err);
        assert_int_equal(summary.bisection_Bps, 2 * 2 * 4 * GBPS(100)); // a ring is cut twice
        machine_close(&machine);
    }
}

static uint32_t group_of(const Fabric *fabric, VertexId port) {
    const VertexClass *ports = fabric_class(fabric, port);
    return (port - ports->first) / (ports->count / ports->shape[0]);
}

// Every two of the g = a h + 1 groups are joined by one channel, and every port by one.
static void check_dragonfly(const char *spec, uint32_t p, uint32_t a, uint32_t h) {
    Machine machine;
    uint32_t g = a * h + 1, channels = 0;
    unsigned char *joined = calloc((size_t)g * g, 1);
    machine_open(&machine, spec);
    const Fabric *fabric = &machine.fabric;
    assert_int_equal(fabric->gpu_count, p * a * g);
    for (LinkId id = 0; id < fabric->link_count; id += 2) {
        FabricLink link = fabric_link(fabric, id);
        if (strcmp(fabric_class(fabric, link.from)->name, "group.router.port") != 0 ||
            strcmp(fabric_class(fabric, link.to)->name, "group.router.port") != 0)
            continue;
        uint32_t from = group_of(fabric, link.from), to = group_of(fabric, link.to);
        assert_int_not_equal(from, to);
        assert_int_equal(joined[from * g + to] + joined[to * g + from], 0);
        joined[from * g + to] = 1;
        channels++;
    }
    assert_int_equal(channels, g * (g - 1) / 2);
    free(joined);
    machine_close(&machine);
}

static void test_topology_synthetic_dragonfly_joins_each_two_groups_once(void **state) {
    (void)state;
    check_dragonfly("dragonfly:p=2,a=4,h=2,50GB/s", 2, 4, 2); // N = 72, the example of the paper
    check_dragonfly("dragonfly:p=1,a=1,h=4,50GB/s", 1, 1, 4);
    check_dragonfly("dragonfly:p=1,a=3,h=1,50GB/s", 1, 3, 1);
    check_dragonfly("dragonfly:p=2,a=3,h=3,50GB/s", 2, 3, 3);
    check_dragonfly("dragonfly:p=1,a=5,h=2,50GB/s", 1, 5, 2);
    check_dragonfly("dragonfly:p=4,a=8,h=4,50GB/s", 4, 8, 4);
}

// k = 8: 128 hosts, 32 edge and 32 aggregation switches, 16 cores; 128 links in each of three
// tiers.
static void test_topology_synthetic_fattree(void **state) {
    (void)state;
    Machine machine;
    FabricSummary summary;
    Err err = {{0}};
    check_counts("fattree:k=8,50GB/s", 128, 128 + 32 + 32 + 16, 3 * 128);
    machine_open(&machine, "fattree:k=8,50GB/s");
    check_ok(fabric_summary_make(&machine.fabric, &summary, &err), &err);
    assert_int_equal(summary.bisection_Bps, 64 * GBPS(50)); // as much as 64 hosts send
    machine_close(&machine);
}

// 32 nodes of 8 GPUs, 16 NICs at a leaf: 16 leaves. 1:1 has 16 spines, 2:1 has 8, of which half as
// much crosses the middle. Links: 256 to node switches, 256 to NICs, 256 to leaves, 16 x spines.
static void test_topology_synthetic_leafspine(void **state) {
    (void)state;
    static const char one[] = "leafspine:nodes=32,gpus=8,nic=50GB/s,nvlink=450GB/s,leaf=16";
    static const char two[] =
        "leafspine:nodes=32,gpus=8,nic=50GB/s,nvlink=450GB/s,leaf=16,oversubscription=2";
    check_counts(one, 256, 256 + 32 + 256 + 16 + 16, 3 * 256 + 16 * 16);
    check_counts(two, 256, 256 + 32 + 256 + 16 + 8, 3 * 256 + 16 * 8);
    for (uint32_t over = 1; over <= 2; over++) {
        Machine machine;
        FabricSummary summary;
        Err err = {{0}};
        machine_open(&machine, over == 1 ? one : two);
        check_ok(fabric_summary_make(&machine.fabric, &summary, &err), &err);
        assert_int_equal(summary.bisection_Bps, 128 * GBPS(50) / over);
        machine_close(&machine);
    }
}

static void check_class(const Fabric *fabric, const char *name, uint32_t count, uint32_t ports) {
    for (uint32_t i = 0; i < fabric->class_count; i++) {
        if (strcmp(fabric->classes[i].name, name) != 0) continue;
        uint64_t cursor = 0;
        LinkId id;
        uint32_t cables = 0;
        while (fabric_next_link(fabric, fabric->classes[i].first, &cursor, &id))
            cables += fabric_link(fabric, id).cables;
        assert_int_equal(fabric->classes[i].count, count);
        assert_int_equal(cables, ports);
        return;
    }
    fail_msg("no class %s", name);
}

static FabricSummary summary_of(const Machine *machine) {
    FabricSummary summary;
    Err err = {{0}};
    check_ok(fabric_summary_make(&machine->fabric, &summary, &err), &err);
    return summary;
}

// Four racks with 18 NICs at each of four leaves: 16 leaves x 18 cables of 400 Gbit/s up, so half
// of the GPUs sends 144 x 50 GB/s = 7200 GB/s to the other; at 3:1 six cables up, a third of that.
static void test_topology_synthetic_racks_may_be_oversubscribed(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "nvl72:4,ib=400Gbps");
    assert_int_equal(summary_of(&machine).bisection_Bps, GBPS(7200));
    check_class(&machine.fabric, "rack.rails.leaf", 16, 36);
    machine_close(&machine);
    machine_open(&machine, "nvl72:4,ib=400Gbps,oversubscription=3");
    assert_int_equal(summary_of(&machine).bisection_Bps, GBPS(2400));
    check_class(&machine.fabric, "rack.rails.leaf", 16, 18 + 6);
    machine_close(&machine);
}

// Eight nodes of eight GPUs, a NIC each. The ConnectX-7 of the board does not reach 800 Gbit/s, a
// ConnectX-8 does. Spectrum-4 has 64 ports of that: 8 leaves x 8 cables up fill one spine.
static void test_topology_synthetic_nodes_take_a_network(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "hgx-b200:8,eth=800Gbps");
    FabricSummary summary = summary_of(&machine);
    assert_int_equal(machine.fabric.gpu_count, 64);
    assert_int_equal(summary.cables[LINK_IB], 0);
    assert_int_equal(summary.cables[LINK_ETH], 64 + 64);
    assert_int_equal(summary.gpu_Bps[LINK_ETH].low, GBPS(100));
    check_class(&machine.fabric, "unit.leaf", 8, 16);
    check_class(&machine.fabric, "spine", 1, 64);
    for (uint32_t i = 0; i < machine.fabric.class_count; i++)
        if (machine.fabric.classes[i].kind == PART_NIC)
            assert_string_equal(machine.fabric.classes[i].device->name, "ConnectX-8");
    machine_close(&machine);
}

// 48 nodes of 200 Gbit/s: a leaf of QM8700 has 40 ports, 20 down; 16 is the largest divisor of 48
// that fits. 3 units x 8 leaves x 16 cables up need 384 / 40 = 9.6 spines; 16 divides evenly.
static void test_topology_synthetic_nodes_become_equal_units(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "hgx-a100:48");
    check_class(&machine.fabric, "unit.leaf", 24, 32);
    check_class(&machine.fabric, "spine", 16, 24);
    machine_close(&machine);
}

// 8 racks are the shipped cluster: 32 leaves with 18 cables up over 9 spines.
static void test_topology_synthetic_eight_racks_are_the_file(void **state) {
    (void)state;
    Topology file = {0}, text = {0};
    Err err = {{0}};
    check_ok(topology_load("nvl72-cluster", &file, &err), &err);
    check_ok(topology_load("nvl72:8", &text, &err), &err);
    text.name = file.name;
    check_ok(topology_finish(&text, &err), &err);
    assert_int_equal(text.digest, file.digest);
    topology_free(&file);
    topology_free(&text);
}

// 144 racks in 18 units of 8. A leaf has 18 trays below and 18 spines of its unit above; a spine 32
// leaves below and 32 cables up, two to each of the 16 cores of its group, which the 18 units give
// 36 cables. GPUs: 18 x 8 racks of 18 trays of 2 x 2.
static void test_topology_synthetic_10368_gpus(void **state) {
    (void)state;
    static const uint32_t shape[] = {18, 8, 18, 2, 2};
    Machine machine;
    machine_open(&machine, "nvl72:144");
    const Fabric *fabric = &machine.fabric;
    assert_int_equal(fabric->gpu_count, 10368);
    assert_int_equal(fabric->domain_size, 72);
    assert_true(fabric->shape.uniform);
    assert_int_equal(fabric->shape.digit_count, 5);
    assert_memory_equal(fabric->shape.size, shape, sizeof shape);
    check_class(fabric, "unit.rack.rails.leaf", 576, 36);
    check_class(fabric, "unit.spine", 324, 64);
    check_class(fabric, "cores.core", 288, 36);
    machine_close(&machine);
}

// Racks of GB300 have four leaves of 144 ports: 16 racks need 64 x 18 / 144 = 8 spines, and 9 is
// the next divisor of 18. Racks of Vera Rubin have eight.
static void test_topology_synthetic_racks_of_800_gbit(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "gb300-nvl72:16");
    check_class(&machine.fabric, "rack.leaf", 64, 36);
    check_class(&machine.fabric, "spine", 9, 128);
    assert_int_equal(machine.fabric.domain_size, 72);
    machine_close(&machine);
    machine_open(&machine, "vr-nvl72:18");
    check_class(&machine.fabric, "rack.leaf", 144, 36);
    check_class(&machine.fabric, "spine", 18, 144);
    assert_true(machine.fabric.shape.uniform);
    machine_close(&machine);
}

// 31 nodes, a prime: 31 spines with one cable from each of 32 leaves.
static void test_topology_synthetic_uplinks_divide_evenly(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "superpod-h100:4su,nodes=31");
    assert_int_equal(machine.fabric.gpu_count, 4 * 31 * 8);
    check_class(&machine.fabric, "unit.leaf", 32, 62);
    check_class(&machine.fabric, "spine", 31, 32);
    machine_close(&machine);
}

static void test_topology_synthetic_refuses_more_cables_than_ports(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"superpod-h100:4su,nodes=40",
         "\"superpod-h100:4su,nodes=40\", column 19: a leaf would have 40 cables down and 40 up, "
         "QM9700 has 64 ports"},
        {"superpod-b200:65su",
         "\"superpod-b200:65su\", column 15: a core switch would have a cable "
         "from each of 65 units, QM9700 has 64 ports"},
        {"nvl72:521", "\"nvl72:521\", column 7: a core switch would have a cable from each of 521 "
                      "units, QM9700 has 64 ports"},
        {"leafspine:nodes=32,gpus=8,nic=50GB/s,nvlink=450GB/s,leaf=40,ports=64",
         "\"leafspine:nodes=32,gpus=8,nic=50GB/s,nvlink=450GB/s,leaf=40,ports=64\", column 53: "
         "expected whole nodes of 8 NICs at a leaf, and a divisor of 32 nodes, found 40 NICs"},
        {"leafspine:nodes=40,gpus=8,nic=50GB/s,nvlink=450GB/s,leaf=40,ports=64",
         "\"leafspine:nodes=40,gpus=8,nic=50GB/s,nvlink=450GB/s,leaf=40,ports=64\", column 61: a "
         "leaf has 40 cables down and 40 up, a spine 8: more than the 64 ports of a switch"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Topology topology = {0};
        Err err = {{0}};
        check_fails(topology_synth_make(cases[i][0], &topology, &err), &err, cases[i][1]);
    }
}

// A line gives the value that its file would give.
static void test_topology_synthetic_reads_back_from_its_file(void **state) {
    (void)state;
    static const char *const specs[] = {
        "ring:4,450GB/s",
        "torus:4x5x2,100GB/s",
        "dragonfly:p=2,a=3,h=3,50GB/s,latency=1us",
        "fattree:k=4,50GB/s",
        "leafspine:nodes=4,gpus=8,nic=50GB/s,nvlink=450GB/s,leaf=16,oversubscription=2",
        "superpod-b200:16su",
        "superpod-b300:32su",
        "nvl72:17,device=GB300",
        "vr-nvl72:3",
        "hgx-h100:4",
        "hgx-h100:4,eth=800Gbps",
        "nvl72:2,eth=200Gbps,oversubscription=2",
        "mi300x:2",
    };
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        Topology made = {0}, read = {0};
        Text json = {0};
        Err err = {{0}};
        check_ok(topology_load(specs[i], &made, &err), &err);
        topology_write(&made, &json);
        check_ok(topology_parse("text", text_string(&json), json.length, &read, &err), &err);
        assert_int_equal(read.digest, made.digest);
        text_free(&json);
        topology_free(&made);
        topology_free(&read);
    }
}

static void test_topology_synthetic_errors_name_the_column(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"ring:1,1GB/s", "\"ring:1,1GB/s\", column 6: expected 2 to 65536 GPUs"},
        {"ring:0,1GB/s", "\"ring:0,1GB/s\", column 6: expected a count of 1 to 1000000"},
        {"ring:x,1GB/s", "\"ring:x,1GB/s\", column 6: expected a count of 1 to 1000000"},
        {"ring:4", "\"ring:4\", column 7: expected a rate, such as \",450GB/s\""},
        {"ring:4,450GB", "\"ring:4,450GB\", column 8: expected a rate such as \"450 GB/s\", "
                         "latency=TIME or device=NAME, found \"450GB\""},
        {"ring:4,450GB/s,foo=1", "\"ring:4,450GB/s,foo=1\", column 16: expected a rate such as "
                                 "\"450 GB/s\", latency=TIME or device=NAME, found \"foo=1\""},
        {"ring:4,450GB/s,device=H200,device=H100",
         "\"ring:4,450GB/s,device=H200,device=H100\", column 28: device is given twice"},
        {"ring:4,450GB/s,latency=1us,latency=2us",
         "\"ring:4,450GB/s,latency=1us,latency=2us\", column 28: latency is given twice"},
        {"ring:4,0GB/s",
         "\"ring:4,0GB/s\", column 8: expected a rate above 0 and at most 100 TB/s"},
        {"mesh:4,1GB/s,latency=4", "\"mesh:4,1GB/s,latency=4\", column 14: expected a time such as "
                                   "\"500 ns\", found \"4\": no unit"},
        {"mesh:4,1GB/s,device=",
         "\"mesh:4,1GB/s,device=\", column 14: expected the name of a device"},
        {"mesh:4,1GB/s,device=H\xf3",
         "\"mesh:4,1GB/s,device=H?\", column 14: expected the name of a device"},
        {"star:4,1GB/s",
         "\"star:4,1GB/s\", column 1: expected ring, switch, mesh, torus, dragonfly, fattree, "
         "leafspine, superpod-h100, superpod-b200, superpod-b300, superpod-b300-xdr, "
         "superpod-rubin, nvl72, gb300-nvl72, vr-nvl72, hgx-h100, hgx-a100, hgx-h200, hgx-h20, "
         "hgx-h800, hgx-b200, hgx-b300, hgx-rubin, mi300x, mi325x or mi355x"},
        {"nvl72:2,ib=400Gbps,eth=400Gbps",
         "\"nvl72:2,ib=400Gbps,eth=400Gbps\", column 20: expected ib= or eth=, not both"},
        {"nvl72:2,eth=1Tbps",
         "\"nvl72:2,eth=1Tbps\", column 9: expected at most 800 Gbit/s, the port of a switch"},
        {"mi300x:1,eth=400Gbps", "\"mi300x:1,eth=400Gbps\", column 10: one copy has no network, "
                                 "expected a size of 2 or more"},
        {"hgx-b200:4,oversubscription=64", "\"hgx-b200:4,oversubscription=64\", column 12: "
                                           "expected fewer than the 64 ports of QM9700"},
        {"hgx-h100:131", "\"hgx-h100:131\", column 10: expected at most 128 copies in equal groups "
                         "of at most 32, found 131"},
        {"hgx-h100:4,1GB/s", "\"hgx-h100:4,1GB/s\", column 12: expected oversubscription=N, "
                             "ib=RATE, eth=RATE or device=NAME, found \"1GB/s\""},
        {"superpod-b200:4", "\"superpod-b200:4\", column 15: expected a count such as \"4su\""},
        {"nvl72", "\"nvl72\", column 6: expected a size, such as \":4\""},
        {"torus:4x1,1GB/s", "\"torus:4x1,1GB/s\", column 7: expected 1 to 6 sizes of at least 2, "
                            "such as \"4x4x4\""},
        {"torus:4x4x,1GB/s", "\"torus:4x4x,1GB/s\", column 7: expected 1 to 6 sizes of at least 2, "
                             "such as \"4x4x4\""},
        {"torus:300x300,1GB/s", "\"torus:300x300,1GB/s\", column 7: expected at most 65536 GPUs"},
        {"dragonfly:p=2,a=4,1GB/s", "\"dragonfly:p=2,a=4,1GB/s\", column 24: expected \"h=\""},
        {"dragonfly:p=2,a=900,h=900,1GB/s",
         "\"dragonfly:p=2,a=900,h=900,1GB/s\", column 21: 810001 groups of 900 routers with 900 "
         "global ports each: expected at most 65536 global links"},
        {"fattree:k=5,1GB/s", "\"fattree:k=5,1GB/s\", column 9: expected an even k of 4 to 128"},
        {"leafspine:nodes=4,gpus=8,nic=50GB/s,nvlink=450GB/s,leaf=16,oversubscription=3",
         "\"leafspine:nodes=4,gpus=8,nic=50GB/s,nvlink=450GB/s,leaf=16,oversubscription=3\", "
         "column "
         "60: expected a divisor of the 16 NICs of a leaf, found 3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Topology topology = {0};
        Err err = {{0}};
        check_fails(topology_synth_make(cases[i][0], &topology, &err), &err, cases[i][1]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_topology_synthetic_graphs_have_their_links),
        cmocka_unit_test(test_topology_synthetic_cuts_a_shipped_cluster),
        cmocka_unit_test(test_topology_synthetic_whole_cluster_is_the_file),
        cmocka_unit_test(test_topology_synthetic_takes_options),
        cmocka_unit_test(test_topology_synthetic_torus),
        cmocka_unit_test(test_topology_synthetic_torus_is_cut_across_its_longest_side),
        cmocka_unit_test(test_topology_synthetic_dragonfly_joins_each_two_groups_once),
        cmocka_unit_test(test_topology_synthetic_fattree),
        cmocka_unit_test(test_topology_synthetic_leafspine),
        cmocka_unit_test(test_topology_synthetic_racks_may_be_oversubscribed),
        cmocka_unit_test(test_topology_synthetic_nodes_take_a_network),
        cmocka_unit_test(test_topology_synthetic_nodes_become_equal_units),
        cmocka_unit_test(test_topology_synthetic_eight_racks_are_the_file),
        cmocka_unit_test(test_topology_synthetic_10368_gpus),
        cmocka_unit_test(test_topology_synthetic_racks_of_800_gbit),
        cmocka_unit_test(test_topology_synthetic_uplinks_divide_evenly),
        cmocka_unit_test(test_topology_synthetic_refuses_more_cables_than_ports),
        cmocka_unit_test(test_topology_synthetic_reads_back_from_its_file),
        cmocka_unit_test(test_topology_synthetic_errors_name_the_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
