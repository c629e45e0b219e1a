// Published machines as link rules, with the counts that their descriptions state. Sources: the DGX
// and HGX user guides and white papers of NVIDIA, AMD's platform descriptions, the CloudMatrix384
// paper (arXiv 2506.12708), Google's TPU documentation, the DGX SuperPOD reference architectures.
#include "tests/machine/machine.h"

#include "model/machine/fabric_summary.h"

#define GBPS        UINT64_C(1000000000)
#define GPUS(n)     MACHINE_PART("gpu", "gpu", n)
#define SWITCHES(n) MACHINE_PART("sw", "switch", n)

typedef struct Want {
    LinkClass link_class;
    uint32_t links_per_gpu;
    uint64_t gpu_Bps;
    uint32_t domain;
    bool uniform;
} Want;

// Every GPU has so many cables of the class, in all directions together so much bandwidth.
static void check_gpus(const Fabric *fabric, Want want) {
    for (VertexId gpu = 0; gpu < fabric->gpu_count; gpu++) {
        uint64_t cursor = 0, capacity = 0;
        LinkId id;
        uint32_t cables = 0;
        while (fabric_next_link(fabric, gpu, &cursor, &id)) {
            FabricLink link = fabric_link(fabric, id);
            if (link.link_class != want.link_class) continue;
            cables += link.cables;
            capacity += link.capacity_Bps;
        }
        assert_int_equal(cables, want.links_per_gpu);
        assert_int_equal(capacity, want.gpu_Bps);
    }
    assert_int_equal(fabric->domain_size, want.domain);
    assert_int_equal(fabric->shape.uniform, want.uniform);
}

static void check_machine(const char *parts, const char *links, Want want) {
    Machine machine;
    machine_of(&machine, parts, links);
    check_gpus(&machine.fabric, want);
    machine_close(&machine);
}

static uint32_t ports_of(const Fabric *fabric, const char *class_name) {
    for (uint32_t i = 0; i < fabric->class_count; i++) {
        if (strcmp(fabric->classes[i].name, class_name) != 0) continue;
        uint64_t cursor = 0;
        LinkId id;
        uint32_t cables = 0;
        while (fabric_next_link(fabric, fabric->classes[i].first, &cursor, &id))
            cables += fabric_link(fabric, id).cables;
        return cables;
    }
    fail_msg("no class %s", class_name);
    return 0;
}

// Doubles form an 8-cycle, singles the rest: 2 + 2 + 1 + 1 = 6 links at each GPU. 0 and 7 are not
// neighbours, so pairs differ.
static void test_reference_systems_dgx1_v100(void **state) {
    (void)state;
#define DOUBLE(a, b) MACHINE_LINK("gpu[" #a "]", "gpu[" #b "]", "nvlink", 2, "25 GB/s") ", "
#define SINGLE(a, b) MACHINE_LINK("gpu[" #a "]", "gpu[" #b "]", "nvlink", 1, "25 GB/s")
    check_machine(
        GPUS(8),
        DOUBLE(0, 3) DOUBLE(0, 4) DOUBLE(1, 2) DOUBLE(1, 5) DOUBLE(2, 3) DOUBLE(4, 7) DOUBLE(5, 6)
            DOUBLE(6, 7) SINGLE(0, 1) ", " SINGLE(0, 2) ", " SINGLE(1, 3) ", " SINGLE(
                2, 6) ", " SINGLE(3, 7) ", " SINGLE(4, 5) ", " SINGLE(4, 6) ", " SINGLE(5, 7),
        (Want){LINK_NVLINK, 6, 150 * GBPS, 8, false});
#undef DOUBLE
#undef SINGLE
}

// 16 GPUs with 6 links to the chips of their board; 8 trunk links from chip k to chip k + 6: 6 x 8
// x 25 = 1200 GB/s between the boards. Pairs on one board are nearer than pairs on two: not uniform
// as one row of 16.
static void test_reference_systems_dgx2(void **state) {
    (void)state;
    Machine machine;
    FabricSummary summary;
    Err err = {{0}};
    machine_of(&machine, GPUS(16) ", " SWITCHES(12),
               MACHINE_LINK("gpu[0-7]", "sw[0-5]", "nvlink", 1, "25 GB/s") ", " MACHINE_LINK(
                   "gpu[8-15]", "sw[6-11]", "nvlink", 1,
                   "25 GB/s") ", " MACHINE_LINK("sw[k=0-5]", "sw[k+6]", "nvlink", 8, "25 GB/s"));
    check_gpus(&machine.fabric, (Want){LINK_NVLINK, 6, 150 * GBPS, 16, false});
    check_ok(fabric_summary_make(&machine.fabric, &summary, &err), &err);
    assert_int_equal(summary.bisection_Bps, 1200 * GBPS);
    assert_int_equal(summary.diameter_hops, 3);
    assert_int_equal(ports_of(&machine.fabric, "sw"), 8 + 8);
    machine_close(&machine);
}

// The same with a template for the board: 2 boards of 8.
static void test_reference_systems_dgx2_in_boards_is_uniform(void **state) {
    (void)state;
    static const char json[] =
        "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"DGX-2\", \"machine\": \"node\", "
        "\"templates\": {\n"
        "\"board\": {\"parts\": {" GPUS(8) ", " SWITCHES(6) "}, \"links\": [" MACHINE_LINK(
            "gpu[*]", "sw[*]", "nvlink", 1,
            "25 GB/s") "]},\n"
                       "\"node\": {\"parts\": {\"board\": {\"template\": \"board\", \"count\": "
                       "2}}, \"links\": [" MACHINE_LINK("board[0].sw[k]", "board[1].sw[k]",
                                                        "nvlink", 8, "25 GB/s") "]}}}";
    Machine machine;
    machine_parse(&machine, json);
    check_gpus(&machine.fabric, (Want){LINK_NVLINK, 6, 150 * GBPS, 16, true});
    assert_int_equal(machine.fabric.shape.digit_count, 2);
    assert_int_equal(machine.fabric.shape.size[0], 2);
    assert_int_equal(machine.fabric.shape.size[1], 8);
    machine_close(&machine);
}

// 2 links to each of 6 chips: 12 x 25 = 300 GB/s. Two GPUs and two NICs share a PCIe switch.
static void test_reference_systems_hgx_a100(void **state) {
    (void)state;
    check_machine(GPUS(8) ", " SWITCHES(6) ", " MACHINE_PART("pcie", "pcie-switch",
                                                             4) ", " MACHINE_PART("nic", "nic", 8),
                  MACHINE_LINK("gpu[*]", "sw[*]", "nvlink", 2, "25 GB/s") ", " MACHINE_LINK(
                      "gpu[i]", "pcie[i/2]", "pcie", 1,
                      "31.5 GB/s") ", " MACHINE_LINK("nic[i]", "pcie[i/2]", "pcie", 1, "31.5 GB/s"),
                  (Want){LINK_NVLINK, 12, 300 * GBPS, 8, true});
}

// 8 links instead of 18, assumed even over the 4 chips: 200 GB/s.
static void test_reference_systems_hgx_h800(void **state) {
    (void)state;
    check_machine(GPUS(8) ", " SWITCHES(4), MACHINE_LINK("gpu[*]", "sw[*]", "nvlink", 2, "25 GB/s"),
                  (Want){LINK_NVLINK, 8, 200 * GBPS, 8, true});
}

// 9 links to each of 2 chips: 18 x 50 = 900 GB/s.
static void test_reference_systems_hgx_b200_and_b300(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "hgx-b200");
    check_gpus(&machine.fabric, (Want){LINK_NVLINK, 18, 900 * GBPS, 8, true});
    assert_int_equal(ports_of(&machine.fabric, "nvswitch"), 72);
    machine_close(&machine);
}

static void test_reference_systems_hgx_h100_and_h200(void **state) {
    (void)state;
    static const char *const names[] = {"hgx-h100", "hgx-h200"};
    for (size_t i = 0; i < 2; i++) {
        Machine machine;
        machine_open(&machine, names[i]);
        check_gpus(&machine.fabric, (Want){LINK_NVLINK, 18, 450 * GBPS, 8, true});
        machine_close(&machine);
    }
}

static void test_reference_systems_gb200_nvl72(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "nvl72");
    check_gpus(&machine.fabric, (Want){LINK_NVLINK, 18, 900 * GBPS, 72, true});
    assert_int_equal(ports_of(&machine.fabric, "nvswitch"), 72);
    machine_close(&machine);
}

// 36 planes of 50 GB/s: 1800 GB/s out of a GPU, 72 x 1800 x 2 = 259.2 TB/s both ways.
static void test_reference_systems_vera_rubin_nvl72(void **state) {
    (void)state;
    check_machine(GPUS(72) ", " SWITCHES(36),
                  MACHINE_LINK("gpu[*]", "sw[*]", "nvlink", 1, "50 GB/s"),
                  (Want){LINK_NVLINK, 36, 1800 * GBPS, 72, true});
}

// Every pair has its own links: 3 x 6 = 18, 3 x 4 = 12, 7 x 1, 7 x 1, 3 x 2.
static void test_reference_systems_direct_boards(void **state) {
    (void)state;
    check_machine(GPUS(4), MACHINE_LINK("gpu[*]", "gpu[*]", "nvlink", 6, "25 GB/s"),
                  (Want){LINK_NVLINK, 18, 450 * GBPS, 4, true});
    check_machine(GPUS(4), MACHINE_LINK("gpu[*]", "gpu[*]", "nvlink", 4, "25 GB/s"),
                  (Want){LINK_NVLINK, 12, 300 * GBPS, 4, true});
    check_machine(GPUS(8), MACHINE_LINK("gpu[*]", "gpu[*]", "xgmi", 1, "64 GB/s"),
                  (Want){LINK_XGMI, 7, 448 * GBPS, 8, true});
    check_machine(GPUS(8), MACHINE_LINK("gpu[*]", "gpu[*]", "xgmi", 1, "76.8 GB/s"),
                  (Want){LINK_XGMI, 7, UINT64_C(537600000000), 8, true});
    check_machine(GPUS(4), MACHINE_LINK("gpu[*]", "gpu[*]", "xgmi", 2, "64 GB/s"),
                  (Want){LINK_XGMI, 6, 384 * GBPS, 4, true});
}

// 48 nodes of 8 NPUs and 7 L1 switches; 2 links of 28 GB/s from an NPU to each: 14 x 28 = 392 GB/s.
// L1 p of a node has 16 links up, one to each L2 of sub-plane p: 16 x 28 = 448 GB/s; an L2 has a
// link from each of 48 nodes.
static void test_reference_systems_cloudmatrix384(void **state) {
    (void)state;
    static const char json[] =
        "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"CloudMatrix384\", \"machine\": "
        "\"pod\", \"templates\": {\n"
        "\"node\": {\"parts\": {" GPUS(8) ", " MACHINE_PART("cpu", "cpu", 4) ", " MACHINE_PART(
            "l1", "switch",
            7) "},\n"
               "  \"links\": [" MACHINE_LINK(
                   "gpu[*]", "l1[*]", "ub", 2,
                   "28 GB/s") ", " MACHINE_LINK("cpu[*]", "l1[*]", "ub", 1,
                                                "22 GB/s") "]},\n"
                                                           "\"plane\": {\"parts\": {\"l2\": "
                                                           "{\"kind\": \"switch\", \"count\": "
                                                           "16}}},\n"
                                                           "\"pod\": {\"parts\": {\"node\": "
                                                           "{\"template\": \"node\", \"count\": "
                                                           "48}, \"plane\": {\"template\": "
                                                           "\"plane\", \"count\": 7}},\n"
                                                           "  \"links\": [" MACHINE_LINK(
                                                               "node[*].l1[p]", "plane[p].l2[*]",
                                                               "ub", 1, "28 GB/s") "]}}}";
    Machine machine;
    Route route = {0};
    Err err = {{0}};
    machine_parse(&machine, json);
    check_gpus(&machine.fabric, (Want){LINK_UB, 14, 392 * GBPS, 384, true});
    assert_int_equal(machine.fabric.shape.size[0], 48);
    assert_int_equal(machine.fabric.shape.size[1], 8);
    assert_int_equal(ports_of(&machine.fabric, "plane.l2"), 48);
    assert_int_equal(ports_of(&machine.fabric, "node.l1"), 8 * 2 + 4 + 16);
    // NPU, 7 L1, 7 x 16 L2, 7 L1, NPU: 7 + 112 + 112 + 7 edges, 392 GB/s
    check_ok(fabric_route(&machine.fabric, 0, 8, &route, &err), &err);
    assert_int_equal(route.count, 7 + 112 + 112 + 7);
    assert_int_equal(route.weight_total, 112);
    assert_int_equal(route.bandwidth_Bps, 392 * GBPS);
    fabric_route_free(&route);
    machine_close(&machine);
}

// 20 x 16 x 28 = 8960 chips with 6 links of 100 GB/s each.
static void test_reference_systems_tpu_v5p_pod(void **state) {
    (void)state;
    static const char json[] =
        "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"TPU v5p pod\", \"machine\": "
        "\"pod\", \"templates\": {\n"
        "\"plane\": {\"parts\": {\"row\": {\"template\": \"row\", \"count\": 16}}},\n"
        "\"row\": {\"parts\": {\"chip\": {\"kind\": \"gpu\", \"device\": \"TPU v5p\", \"count\": "
        "28}}},\n"
        "\"pod\": {\"parts\": {\"plane\": {\"template\": \"plane\", \"count\": 20}}, \"links\": "
        "[\n" MACHINE_LINK(
            "plane[i].row[j].chip[k]", "plane[(i+1)%20].row[j].chip[k]", "ici", 1,
            "100 GB/s") ",\n" MACHINE_LINK("plane[i].row[j].chip[k]",
                                           "plane[i].row[(j+1)%16].chip[k]", "ici", 1,
                                           "100 GB/s") ",\n" MACHINE_LINK("plane[i].row[j].chip[k]",
                                                                          "plane[i].row[j].chip[(k+"
                                                                          "1)%28]",
                                                                          "ici", 1,
                                                                          "100 GB/s") "]}}}";
    Machine machine;
    machine_parse(&machine, json);
    assert_int_equal(machine.fabric.gpu_count, 8960);
    check_gpus(&machine.fabric, (Want){LINK_ICI, 6, 600 * GBPS, 8960, false});
    machine_close(&machine);
}

// One row of a SuperPOD table: units of `nodes` with 8 rails, `spines` spines, leaves and spines of
// `ports` ports.
typedef struct Tree {
    uint32_t units, nodes, leaves, spines, ports;
} Tree;

// Nodes of 8 GPUs with a NIC each.
static const char tree_node[] =
    "\"node\": {\"parts\": {" GPUS(8) ", " SWITCHES(2) ", " MACHINE_PART(
        "nic", "nic",
        8) "},\n"
           "\"links\": [" MACHINE_LINK("gpu[*]", "sw[*]", "nvlink", 9, "50 GB/s") ", " MACHINE_LINK(
               "gpu[i]", "nic[i]", "pcie", 1, "63 GB/s") "]}";

// The uplinks of a leaf, as many as its nodes, spread evenly over the spines: nodes / spines cables
// to each.
static void write_tree(const Tree *tree, Text *out) {
    text_add(out, "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"tree\", \"machine\": "
                  "\"cluster\",\n");
    text_addf(out, "\"templates\": {%s,\n", tree_node);
    text_addf(out,
              "\"unit\": {\"parts\": {\"node\": {\"template\": \"node\", \"count\": %u}, "
              "\"leaf\": {\"kind\": \"switch\", \"count\": 8}},\n",
              tree->nodes);
    text_add(out,
             "\"links\": [" MACHINE_LINK("node[*].nic[r]", "leaf[r]", "ib", 1, "50 GB/s") "]},\n");
    text_addf(out,
              "\"cluster\": {\"parts\": {\"unit\": {\"template\": \"unit\", \"count\": %u}, "
              "\"spine\": {\"kind\": \"switch\", \"count\": %u}},\n",
              tree->units, tree->spines);
    text_addf(
        out,
        "\"links\": [{\"from\": \"unit[*].leaf[*]\", \"to\": \"spine[*]\", \"class\": \"ib\", "
        "\"cables\": %u, \"bandwidth\": \"50 GB/s\", \"latency\": \"250 ns\"}]}}}",
        tree->nodes / tree->spines);
}

static void check_tree(const Tree *tree) {
    Machine machine;
    Text json = {0};
    assert_int_equal(tree->nodes % tree->spines, 0);
    write_tree(tree, &json);
    machine_parse(&machine, text_string(&json));
    const Fabric *fabric = &machine.fabric;
    assert_int_equal(fabric->gpu_count, tree->units * tree->nodes * 8);
    for (uint32_t i = 0; i < fabric->class_count; i++) {
        if (strcmp(fabric->classes[i].name, "unit.leaf") == 0) {
            assert_int_equal(fabric->classes[i].count, tree->leaves);
        }
    }
    assert_int_equal(ports_of(fabric, "unit.leaf"), 2 * tree->nodes); // as many up as down
    assert_true(ports_of(fabric, "unit.leaf") <= tree->ports);
    assert_true(ports_of(fabric, "spine") <= tree->ports);
    assert_int_equal(fabric->domain_size, 8);
    assert_true(fabric->shape.uniform);
    text_free(&json);
    machine_close(&machine);
}

static void test_reference_systems_superpod_trees(void **state) {
    (void)state;
    static const Tree trees[] = {
        {2, 32, 16, 8, 64},   {4, 32, 32, 16, 64},    {8, 32, 64, 32, 64}, // B200, NDR
        {1, 72, 8, 4, 144},   {2, 72, 16, 8, 144},    {4, 72, 32, 18, 144},
        {8, 72, 64, 36, 144}, {18, 72, 144, 72, 144}, // B300, XDR
    };
    for (size_t i = 0; i < sizeof trees / sizeof trees[0]; i++) check_tree(&trees[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference_systems_dgx1_v100),
        cmocka_unit_test(test_reference_systems_dgx2),
        cmocka_unit_test(test_reference_systems_dgx2_in_boards_is_uniform),
        cmocka_unit_test(test_reference_systems_hgx_a100),
        cmocka_unit_test(test_reference_systems_hgx_h800),
        cmocka_unit_test(test_reference_systems_hgx_h100_and_h200),
        cmocka_unit_test(test_reference_systems_hgx_b200_and_b300),
        cmocka_unit_test(test_reference_systems_gb200_nvl72),
        cmocka_unit_test(test_reference_systems_vera_rubin_nvl72),
        cmocka_unit_test(test_reference_systems_direct_boards),
        cmocka_unit_test(test_reference_systems_cloudmatrix384),
        cmocka_unit_test(test_reference_systems_tpu_v5p_pod),
        cmocka_unit_test(test_reference_systems_superpod_trees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
