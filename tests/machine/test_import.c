// What a dump becomes: recognised by its marks, imported or refused as the manifest of collected
// dumps says, read back unchanged, the same each time.
#include "tests/machine/machine.h"

#include "model/base/text.h"
#include "model/machine/fabric_summary.h"
#include "model/machine/import.h"

static void test_import_recognises_grammars_by_their_marks(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int grammar; // -1: no dump
    } cases[] = {
        {"\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV4\t0\n", IMPORT_NVIDIA_TOPO},
        {"GPU 0: A\n  Link 0: 25 GB/s\n", IMPORT_NVIDIA_NVLINK},
        {"== Link Type between two GPUs ==\n", IMPORT_ROCM},
        {"LINK TYPE TABLE:\n", IMPORT_AMD},
        {"<!-- x -->\n<system version=\"1\"/>", IMPORT_NCCL_XML},
        {"<graphs version=\"1\"/>", IMPORT_NCCL_GRAPH},
        {"<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"h\">\n<topology/>", IMPORT_HWLOC},
        {"vendid=0x1\nswitchguid=0x2\n", IMPORT_IBNETDISCOVER},
        {"Switch\t8 \"A\"\n[1]\t\"B\"[1]\n", IMPORT_IBNETDISCOVER},
        {"switchNAME=a Nodes=b\n", IMPORT_SLURM_CONF},
        {"---\n- topology: a\n", IMPORT_SLURM_YAML},
        {"switches:\n  a:\nblocks:\n", IMPORT_TOPOGRAPH},
        {"8 0 8\n\n0 1 25Gbps 1ns 0\n", IMPORT_NS3},
        {"topology: [ Ring ]\nnpus_count: [ 4 ]\n", IMPORT_ANALYTICAL},
        {"{\"logical-dims\": [\"8\"]}", IMPORT_LOGICAL},
        {"Nodes 8\nTiers 2\n\nTier 0\n", IMPORT_HTSIM},
        {"[{\"links\": [{\"compounded_links\": []}]}]", IMPORT_NETQ},
        {"[{\"DomainUUID\": \"d\"}]", IMPORT_NMX},
        {"{\"moesim\": \"topology\", \"name\": \"\\\"logical-dims\\\"\"}", -1},
        {"", -1},
        {"hello\n", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ImportGrammar grammar;
        bool found = import_recognise(cases[i].text, strlen(cases[i].text), &grammar);
        if (found != (cases[i].grammar >= 0) || (found && (int)grammar != cases[i].grammar))
            fail_msg("%s: grammar %d, want %d", cases[i].text, found ? (int)grammar : -1,
                     cases[i].grammar);
    }
}

// ---- The collected dumps

// Dumps that are no machine, or not enough of one.
static const char *const refused[] = {
    "nccl_xml/aws_g5_48xl_a10gx8.xml",          "nccl_graph/azure_ncv4_graph.xml",
    "hwloc_xml/synthetic_hetero_distances.xml", "ibnetdiscover/gb200_ca_only_no_links.out",
    "slurm/invalid_tree_switches_scalar.yaml",  "astra_sim/ns3_logical_16nodes_2d.json",
};

static bool is_refused(const char *file) {
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (strcmp(refused[i], file) == 0) return true;
    }
    return false;
}

static char *dump_path(Arena *arena, const char *file) {
    char *name = arena_printf(arena, "dumps/%s", file);
    return arena_string(arena, check_shared(name));
}

// Written, read back, compiled: the same topology.
static void check_usable(const char *path) {
    Err err = {{0}};
    Topology topology = {0}, again = {0};
    Text first = {0}, second = {0};
    check_ok(topology_load(path, &topology, &err), &err);
    assert_true(topology.is_import);
    topology_write(&topology, &first);
    check_ok(topology_parse("again", first.data, first.length, &again, &err), &err);
    assert_true(again.digest == topology.digest);
    topology_write(&again, &second);
    check_text_equals(text_string(&second), text_string(&first));
    Machine machine;
    machine_open(&machine, path);
    assert_true(machine.topology.digest == topology.digest);
    machine_close(&machine);
    topology_free(&topology);
    topology_free(&again);
    text_free(&first);
    text_free(&second);
}

static void check_row(const char *file) {
    Arena arena = {0};
    const char *path = dump_path(&arena, file);
    if (is_refused(file)) {
        Topology topology = {0};
        Err err = {{0}};
        assert_false(topology_load(path, &topology, &err));
        if (strncmp(err.text, path, strlen(path)) != 0)
            fail_msg("%s: the message does not begin with the file", err.text);
    } else {
        check_usable(path);
    }
    arena_free(&arena);
}

// The manifest has 103 dumps, of which 6 are refused.
static void test_import_reads_every_dump_of_the_manifest(void **state) {
    (void)state;
    Arena arena = {0};
    Err err = {{0}};
    char *text, *line;
    size_t count;
    uint32_t rows = 0;
    const char *manifest = check_shared("dumps/MANIFEST.csv");
    check_ok(file_read(manifest, FILE_CAP_B, &arena, &text, &count, &err), &err);
    line = strchr(text, '\n') + 1;
    while (*line != '\0') {
        size_t length = strcspn(line, "\n"), name = strcspn(line, ",");
        check_row(arena_printf(&arena, "%.*s", (int)name, line));
        line += length + (line[length] == '\n');
        rows++;
    }
    assert_int_equal(rows, 103);
    arena_free(&arena);
}

typedef struct Want {
    const char *file;
    uint64_t gpus, switches, nics;
    LinkClass class;
    uint64_t cables; // of that class
} Want;

// Counts that the manifest states, or that follow from what it states.
static const Want wants[] = {
    // 8 GPUs x 12 links; 12 NICs
    {"nvidia_smi_topo/a100_dgx_8g_12nic.txt", 8, 6, 12, LINK_NVLINK, 96},
    // 8 pairs of 2 and 8 pairs of 1
    {"nvidia_smi_topo/v100_dgx1_hybrid_cube_mesh.txt", 8, 0, 1, LINK_NVLINK, 24},
    // three pairs of 18 and one of 17
    {"nvidia_smi_topo/h100_pairs_nv18_one_nv17.txt", 8, 0, 0, LINK_NVLINK, 71},
    // 62 functions of one card
    {"nvidia_smi_topo/l20_2g_62nic_vf.txt", 2, 0, 1, LINK_NVLINK, 0},
    // 18 functions of one card and 8 bonds; 8 x 18 links
    {"nvidia_smi_topo/h20_8g_26nic.txt", 8, 4, 9, LINK_NVLINK, 144},
    // the worse direction: of 4 pairs of NV6 above the diagonal 2 are SYS below it
    {"nvidia_smi_topo/h100_4g_nv6_asymmetric.txt", 4, 0, 2, LINK_NVLINK, 12},
    // 4 x 18 links, one to each of 18 chips
    {"nvidia_smi_nvlink/gb200_4g_18x53.txt", 4, 18, 0, LINK_NVLINK, 72},
    // 36 links, of which 4 lost lanes
    {"nvidia_smi_nvlink/h200_2g_degraded_lanes.txt", 2, 4, 0, LINK_NVLINK, 32},
    // 7 GPUs x 6 links, 6 of them inactive
    {"nvidia_smi_nvlink/v100_dgx1_inactive.txt", 7, 1, 0, LINK_NVLINK, 36},
    // every pair of 8
    {"rocm_smi/mi300x_8g_full.txt", 8, 0, 0, LINK_XGMI, 28},
    // two hives of 4: 2 x 6 pairs
    {"rocm_smi/mi210_8g_two_hives.txt", 8, 0, 0, LINK_XGMI, 12},
    // 12 pairs of weight 15, 14 of 30, 2 of 45
    {"rocm_smi/mi250x_8gcd_weights_15_30_45.txt", 8, 0, 0, LINK_XGMI, 12},
    {"rocm_smi/hygon_hcu_7g_variant.txt", 7, 0, 0, LINK_XGMI, 0},
    {"amd_smi/mi300x_8g_topology.txt", 8, 0, 0, LINK_XGMI, 28},
    // 8 x (4 + 5 + 5 + 4); 4 NVSwitches and the network
    {"nccl_xml/oci_bm_h100x8_full_dump.xml", 8, 5, 8, LINK_NVLINK, 144},
    // 16 ports of 200 Gbit/s
    {"nccl_xml/oci_bm_h100x8_full_dump.xml", 8, 5, 8, LINK_IB, 16},
    // 4 EFA; NVLinks of 8 A100 assumed: 8 x 12
    {"nccl_xml/aws_p4d_a100x8_efa4.xml", 8, 7, 4, LINK_NVLINK, 96},
    // 8 groups of 4 EFA, a GPU assumed at each
    {"nccl_xml/aws_p5_h100_efa32_nogpu.xml", 8, 0, 32, LINK_NVLINK, 0},
    {"nccl_xml/azure_ndv5_h100x8.xml", 8, 0, 8, LINK_NVLINK, 0},
    // 28 pairs with one link
    {"nccl_xml/rccl_mi300x_8p.xml", 8, 1, 8, LINK_XGMI, 28},
    // two hives of 4
    {"nccl_xml/rccl_mi100_8p_two_hives.xml", 8, 1, 1, LINK_XGMI, 12},
    // 8 C2C links and two NICs
    {"nccl_xml/gb10_c2c_gpu.xml", 1, 1, 2, LINK_C2C, 8},
    // 16 GPUs x 6 links into 12 chips
    {"hwloc_xml/dgx2_v100x16_nvlinkbandwidth.xml", 16, 12, 0, LINK_NVLINK, 96},
    // 8, not 24 devices of three libraries
    {"hwloc_xml/aws_g4dn_metal_t4x8.xml", 8, 0, 1, LINK_NVLINK, 0},
    {"hwloc_xml/corona_v1_rsmi_mi50x8.xml", 8, 1, 1, LINK_XGMI, 0},
    // 3 racks of 18, 18 and 17 trays of 4: 53 x 4 GPUs x 18 links
    {"slurm/block_nvl72_18node_racks.conf", 212, 55, 212, LINK_NVLINK, 3816},
    // 10000 nodes of 8
    {"slurm/tree_unbalanced_10k_nodes.conf", 80000, 40528, 80000, LINK_NVLINK, 1440000},
    // 40 nodes, 3 trees and what joins them, 4 chips in each node
    {"slurm/tree_disconnected_trunks.conf", 320, 168, 320, LINK_NVLINK, 5760},
    // 64 GPUs, 8 NVSwitches and 72 others; 640 links less 64
    {"simai/spectrumx_64g_h100_400g.topo", 64, 80, 0, LINK_ETH, 576},
    {"simai/handmade_dgx_h100_4plane.topo", 8, 4, 0, LINK_NVLINK, 32},
    {"astra_sim/ns3_128node_16switch.txt", 128, 16, 0, LINK_ETH, 192},
    {"astra_sim/ns3_dgx1_hybrid_cube_mesh.txt", 8, 0, 0, LINK_OTHER, 16},
    // 32 rings of 2, 8 meshes of 8, 16 switches of 4: 32 + 8 x 28 + 64
    {"astra_sim/analytical_3d_ring_fc_switch.yml", 64, 16, 0, LINK_OTHER, 320},
    // 8 down, 8 between tiers, 8 x 2 in bundles of 2
    {"astra_sim/htsim_8nodes_3tier.topo", 8, 12, 0, LINK_ETH, 32},
    // 8 hosts x 4, and 28 + 19 up
    {"other/netq_topology_graph.json", 64, 35, 8, LINK_ETH, 79},
    {"other/nmx_compute_nodes.json", 8, 19, 8, LINK_NVLINK, 144},
    // 4 racks of 18 trays: 288 GPUs x 18; 4 x 18 chips, 4 leaves, 2 spines and a core
    {"other/topograph_model_nvl72.yaml", 288, 79, 288, LINK_NVLINK, 5184},
};

static void test_import_counts_what_the_manifest_states(void **state) {
    (void)state;
    check_shared("dumps/MANIFEST.csv");
    for (size_t i = 0; i < sizeof wants / sizeof wants[0]; i++) {
        const Want *want = &wants[i];
        Arena arena = {0};
        Machine machine;
        FabricSummary summary;
        Err err = {{0}};
        machine_open(&machine, dump_path(&arena, want->file));
        check_ok(fabric_summary_make(&machine.fabric, &summary, &err), &err);
        if (summary.count[PART_GPU] != want->gpus || summary.count[PART_SWITCH] != want->switches ||
            summary.count[PART_NIC] != want->nics || summary.cables[want->class] != want->cables)
            fail_msg("%s: %d GPUs, %d switches, %d NICs, %d cables, want %d, %d, %d, %d",
                     want->file, (int)summary.count[PART_GPU], (int)summary.count[PART_SWITCH],
                     (int)summary.count[PART_NIC], (int)summary.cables[want->class],
                     (int)want->gpus, (int)want->switches, (int)want->nics, (int)want->cables);
        machine_close(&machine);
        arena_free(&arena);
    }
}

static uint32_t count_of(const Machine *machine, const char *class) {
    for (uint32_t i = 0; i < machine->fabric.class_count; i++) {
        if (strcmp(machine->fabric.classes[i].name, class) == 0)
            return machine->fabric.classes[i].count;
    }
    return 0;
}

// 31 leaves, 9 spines; 582 adapters, of which 40 are of switches, 2 of the fabric manager and 69
// without a host: 471 NICs. 263 pairs of switches with 2 cables and 6 with one (which each end
// prints, hence 12 lines): 532; with 471 + 69 to adapters 1072.
static void test_import_of_a_fabric_of_540_adapters(void **state) {
    (void)state;
    Machine machine;
    FabricSummary summary;
    Err err = {{0}};
    machine_open(&machine, check_shared("dumps/ibnetdiscover/ndr_two_level_real_fabric.out"));
    check_ok(fabric_summary_make(&machine.fabric, &summary, &err), &err);
    assert_int_equal(count_of(&machine, "leaf"), 31);
    assert_int_equal(count_of(&machine, "spine"), 9);
    assert_int_equal(count_of(&machine, "adapter"), 69);
    assert_int_equal(summary.count[PART_NIC], 471 + 69);
    assert_int_equal(summary.cables[LINK_IB], 1072);
    assert_non_null(strstr(machine.topology.note, "6 of 269 pairs of switches have 1 cables"));
    machine_close(&machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_import_recognises_grammars_by_their_marks),
        cmocka_unit_test(test_import_reads_every_dump_of_the_manifest),
        cmocka_unit_test(test_import_counts_what_the_manifest_states),
        cmocka_unit_test(test_import_of_a_fabric_of_540_adapters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
