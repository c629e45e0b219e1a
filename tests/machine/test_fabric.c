#include "tests/machine/machine.h"

static void check_name(const Fabric *fabric, VertexId vertex, const char *want) {
    Text text = {0};
    fabric_vertex_name(fabric, vertex, &text);
    assert_string_equal(text_string(&text), want);
    text_free(&text);
}

static uint32_t degree(const Fabric *fabric, VertexId vertex, LinkClass link_class,
                       uint64_t *capacity) {
    uint64_t cursor = 0;
    LinkId id;
    uint32_t count = 0;
    *capacity = 0;
    while (fabric_next_link(fabric, vertex, &cursor, &id)) {
        FabricLink link = fabric_link(fabric, id);
        assert_int_equal(link.from, vertex);
        if (link.link_class != link_class) continue;
        count += link.cables;
        *capacity += link.capacity_Bps;
    }
    return count;
}

// 18 trays x (4 GPUs + 2 CPUs + 2 memories + 4 NICs) + 18 switch chips. GPUs come first, tray by
// tray: GPU 7 is the last of tray 1.
static void test_fabric_numbers_vertices_depth_first(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "nvl72");
    const Fabric *fabric = &machine.fabric;
    assert_int_equal(fabric->gpu_count, 72);
    assert_int_equal(fabric->vertex_count, 18 * 12 + 18);
    check_name(fabric, fabric_gpu(fabric, 7), "tray[1].gpu[3]");
    check_name(fabric, 72, "tray[0].cpu[0]");
    check_name(fabric, fabric->vertex_count - 1, "nvswitch[17]");
    assert_string_equal(fabric_device(fabric, 0)->name, "GB200");
    assert_int_equal(fabric_class(fabric, 0)->memory_B, UINT64_C(189471) << 20);
    machine_close(&machine);
}

// Every GPU has 18 links of 50 GB/s = 900 GB/s, every switch chip 72: 72 x 18 = 1296 links, 1296 x
// 50 x 2 = 129.6 TB/s both ways.
static void test_fabric_nvl72_has_its_nvlinks(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "nvl72");
    const Fabric *fabric = &machine.fabric;
    uint64_t capacity, total = 0, links = 0;
    for (VertexId gpu = 0; gpu < 72; gpu++) {
        links += degree(fabric, gpu, LINK_NVLINK, &capacity);
        assert_int_equal(capacity, UINT64_C(900000000000));
        total += 2 * capacity;
        assert_int_equal(degree(fabric, gpu, LINK_C2C, &capacity), 1);
    }
    assert_int_equal(links, 1296);
    assert_int_equal(total, UINT64_C(129600000000000));
    for (VertexId chip = fabric->vertex_count - 18; chip < fabric->vertex_count; chip++) {
        assert_int_equal(degree(fabric, chip, LINK_NVLINK, &capacity), 72);
    }
    machine_close(&machine);
}

// GPU 3 of a tray has its C2C link to CPU 3 / 2 = 1 of the same tray.
static void test_fabric_expressions_stay_inside_their_template(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "nvl72");
    const Fabric *fabric = &machine.fabric;
    for (VertexId gpu = 0; gpu < 72; gpu++) {
        uint64_t cursor = 0;
        LinkId id;
        char want[32];
        while (fabric_next_link(fabric, gpu, &cursor, &id)) {
            FabricLink link = fabric_link(fabric, id);
            if (link.link_class != LINK_C2C) continue;
            snprintf(want, sizeof want, "tray[%u].cpu[%u]", gpu / 4, gpu % 4 / 2);
            check_name(fabric, link.to, want);
        }
    }
    machine_close(&machine);
}

// 4 units x (32 nodes + 8 leaves) + 16 spines; 1024 cables from nodes to leaves and 32 leaves x 16
// spines x 2 = 1024 to spines: 64 ports of a leaf are 32 down and 32 up, those of a spine 32 leaves
// x 2.
static void test_fabric_h100_cluster_fills_its_switches(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "hgx-h100-cluster");
    const Fabric *fabric = &machine.fabric;
    uint64_t capacity;
    uint32_t leaves = 0, spines = 0;
    assert_int_equal(fabric->gpu_count, 1024);
    for (uint32_t i = 0; i < fabric->class_count; i++) {
        const VertexClass *class = &fabric->classes[i];
        if (strcmp(class->name, "unit.leaf") != 0 && strcmp(class->name, "spine") != 0) continue;
        if (class->name[0] == 'u') leaves = class->count;
        if (class->name[0] == 's') spines = class->count;
        for (VertexId vertex = class->first; vertex < class->first + class->count; vertex++) {
            assert_int_equal(degree(fabric, vertex, LINK_IB, &capacity), 64);
        }
    }
    assert_int_equal(leaves, 32);
    assert_int_equal(spines, 16);
    machine_close(&machine);
}

// From each vertex all links are found once, with the far end that fabric_link gives; the reverse
// link is id ^ 1. Every id is found.
static void check_numbering(const Fabric *fabric) {
    unsigned char *seen = mem_alloc(fabric->link_count, 1);
    for (VertexId vertex = 0; vertex < fabric->vertex_count; vertex++) {
        uint64_t cursor = 0;
        LinkId id;
        while (fabric_next_link(fabric, vertex, &cursor, &id)) {
            FabricLink link = fabric_link(fabric, id), back = fabric_link(fabric, id ^ 1);
            assert_int_equal(link.from, vertex);
            assert_int_equal(back.from, link.to);
            assert_int_equal(back.to, vertex);
            assert_int_equal(seen[id], 0);
            seen[id] = 1;
        }
    }
    for (LinkId id = 0; id < fabric->link_count; id++) assert_int_equal(seen[id], 1);
    mem_free(seen);
}

static void test_fabric_links_are_numbered_without_holes(void **state) {
    (void)state;
    static const char *const names[] = {"nvl72", "hgx-h100-cluster", "nvl72-cluster",
                                        "ring:7,1GB/s", "mesh:9,1GB/s"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        Machine machine;
        machine_open(&machine, names[i]);
        check_numbering(&machine.fabric);
        machine_close(&machine);
    }
}

// Two letters in one index: GPU j of node i has port 2 i + j of 6, and the ports have one hub.
static void test_fabric_two_letters_are_followed_back(void **state) {
    (void)state;
    static const char json[] =
        "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"x\", \"machine\": \"m\", "
        "\"templates\": {\n"
        "\"node\": {\"parts\": {" MACHINE_PART(
            "gpu", "gpu", 2) "}},\n"
                             "\"m\": {\"parts\": {\"node\": {\"template\": \"node\", \"count\": "
                             "3},\n" MACHINE_PART("port", "switch", 6) ", " MACHINE_PART(
                                 "hub", "switch",
                                 1) "},\n"
                                    "\"links\": [" MACHINE_LINK(
                                        "node[i].gpu[j]", "port[i*2+j]", "ib", 1,
                                        "50 GB/s") ",\n" MACHINE_LINK("port[*]", "hub", "ib", 1,
                                                                      "50 GB/s") "]}}}";
    Machine machine;
    machine_parse(&machine, json);
    check_numbering(&machine.fabric);
    for (VertexId gpu = 0; gpu < 6; gpu++) {
        uint64_t cursor = 0;
        LinkId id;
        char want[16];
        assert_true(fabric_next_link(&machine.fabric, gpu, &cursor, &id));
        snprintf(want, sizeof want, "port[%u]", gpu);
        check_name(&machine.fabric, fabric_link(&machine.fabric, id).to, want);
    }
    machine_close(&machine);
}

static uint32_t count_links(const char *parts, const char *links) {
    Machine machine;
    machine_of(&machine, parts, links);
    const Fabric *fabric = &machine.fabric;
    uint32_t found = 0;
    for (VertexId vertex = 0; vertex < fabric->vertex_count; vertex++) {
        uint64_t cursor = 0;
        LinkId id;
        while (fabric_next_link(fabric, vertex, &cursor, &id)) {
            assert_true(fabric_link(fabric, id).from == vertex);
            found++;
        }
    }
    assert_int_equal(found, fabric->link_count);
    check_numbering(fabric);
    machine_close(&machine);
    return found / 2;
}

// What each form of index names, and so how many links there are. The hub joins the switches: one
// link more for each.
static void test_fabric_patterns_lay_the_links_that_they_name(void **state) {
    (void)state;
#define GPUS         MACHINE_PART("gpu", "gpu", 8)
#define GPUS_AND(n)  GPUS ", " MACHINE_PART("sw", "switch", n) ", " MACHINE_PART("hub", "switch", 1)
#define HUB          ", " MACHINE_LINK("sw[*]", "hub", "nvlink", 1, "50 GB/s")
#define TO(from, to) MACHINE_LINK(from, to, "nvlink", 1, "50 GB/s")
    assert_int_equal(count_links(GPUS_AND(4), TO("gpu[*]", "sw[*]") HUB), 32 + 4);
    assert_int_equal(
        count_links(GPUS_AND(4), TO("gpu[*]", "sw[0,3]") ", " TO("gpu[*]", "sw[1-2]") HUB), 32 + 4);
    assert_int_equal(count_links(GPUS_AND(4), TO("gpu[i]", "sw[i/2]") HUB), 8 + 4);
    assert_int_equal(count_links(GPUS_AND(4), TO("gpu[i]", "sw[i%4]") HUB), 8 + 4);
    assert_int_equal(
        count_links(GPUS_AND(4), TO("gpu[i=0-3]", "sw[i]") ", " TO("gpu[i=4-7]", "sw[7-i]") HUB),
        8 + 4);
    assert_int_equal(count_links(GPUS, TO("gpu[i]", "gpu[(i+1)%8]")), 8);
    assert_int_equal(count_links(GPUS, TO("gpu[i]", "gpu[(i-1)%8]")), 8);
    assert_int_equal(count_links(GPUS, TO("gpu[i=0-6]", "gpu[i+1]")), 7); // a line
    assert_int_equal(count_links(GPUS, TO("gpu[*]", "gpu[*]")), 28);      // 8 x 7 / 2
    assert_int_equal(count_links(GPUS, TO("gpu[0-3]", "gpu[4-7]")), 16);  // 4 x 4
    assert_int_equal(count_links(GPUS, TO("gpu[0-3]", "gpu[0-3]") ", " TO("gpu[3]", "gpu[4-7]")),
                     6 + 4);
    assert_int_equal(
        count_links(GPUS, TO("gpu[i=0-3]", "gpu[i*2+1]") ", " TO("gpu[0]", "gpu[2,4,6]")), 4 + 3);
#undef GPUS
#undef GPUS_AND
#undef TO
#undef HUB
}

// A torus of 3 x 4 x 5 with 6 links at each chip has 60 x 6 / 2 = 180 links.
static void test_fabric_makes_a_torus_from_three_rules(void **state) {
    (void)state;
    static const char torus[] =
        "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"torus\", \"machine\": \"pod\", "
        "\"templates\": {\n"
        "\"z\": {\"parts\": {\"gpu\": {\"kind\": \"gpu\"}}},\n"
        "\"y\": {\"parts\": {\"z\": {\"template\": \"z\", \"count\": 5}}},\n"
        "\"x\": {\"parts\": {\"y\": {\"template\": \"y\", \"count\": 4}}},\n"
        "\"pod\": {\"parts\": {\"x\": {\"template\": \"x\", \"count\": 3}}, \"links\": "
        "[\n" MACHINE_LINK(
            "x[i].y[j].z[k].gpu", "x[(i+1)%3].y[j].z[k].gpu", "ici", 1,
            "100 GB/s") ",\n" MACHINE_LINK("x[i].y[j].z[k].gpu", "x[i].y[(j+1)%4].z[k].gpu", "ici",
                                           1, "100 GB/s") ",\n" MACHINE_LINK("x[i].y[j].z[k].gpu",
                                                                             "x[i].y[j].z[(k+1)%5]."
                                                                             "gpu",
                                                                             "ici", 1,
                                                                             "100 GB/s") "]}}}";
    Machine machine;
    uint64_t capacity;
    machine_parse(&machine, torus);
    assert_int_equal(machine.fabric.link_count, 2 * 180);
    for (VertexId chip = 0; chip < 60; chip++) {
        assert_int_equal(degree(&machine.fabric, chip, LINK_ICI, &capacity), 6);
        assert_int_equal(capacity, UINT64_C(600000000000));
    }
    machine_close(&machine);
}

// A rack of 8,000 GPUs takes no more memory than one of 8: nothing is stored per GPU.
static void test_fabric_memory_does_not_grow_with_gpus(void **state) {
    (void)state;
    Machine small, large;
    machine_open(&small, "switch:8,450GB/s");
    machine_open(&large, "switch:8000,450GB/s");
    assert_int_equal(large.fabric.gpu_count, 8000);
    assert_int_equal(large.fabric.arena.used_B, small.fabric.arena.used_B);
    machine_close(&small);
    machine_close(&large);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fabric_numbers_vertices_depth_first),
        cmocka_unit_test(test_fabric_nvl72_has_its_nvlinks),
        cmocka_unit_test(test_fabric_expressions_stay_inside_their_template),
        cmocka_unit_test(test_fabric_h100_cluster_fills_its_switches),
        cmocka_unit_test(test_fabric_links_are_numbered_without_holes),
        cmocka_unit_test(test_fabric_two_letters_are_followed_back),
        cmocka_unit_test(test_fabric_patterns_lay_the_links_that_they_name),
        cmocka_unit_test(test_fabric_makes_a_torus_from_three_rules),
        cmocka_unit_test(test_fabric_memory_does_not_grow_with_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
