// Published figures of real machines, compared with the shipped files and the generators.
#include "tests/machine/machine.h"

#include "model/base/json.h"
#include "model/machine/fabric_rule.h"
#include "model/machine/fabric_summary.h"

#define SYSTEMS "tests/golden/reference/systems.json"
#define TREES   "tests/golden/reference/trees.json"

static const VertexClass *find_class(const Fabric *fabric, const char *name) {
    for (uint32_t i = 0; i < fabric->class_count; i++)
        if (strcmp(fabric->classes[i].name, name) == 0) return &fabric->classes[i];
    fail_msg("no class %s", name);
    return NULL;
}

// Cables of one class, or of all, at a vertex.
static uint32_t cables_at(const Fabric *fabric, VertexId vertex, LinkClass link_class) {
    uint64_t cursor = 0;
    LinkId id;
    uint32_t cables = 0;
    while (fabric_next_link(fabric, vertex, &cursor, &id)) {
        FabricLink link = fabric_link(fabric, id);
        if (link.link_class == link_class || link_class == LINK_CLASS_COUNT) cables += link.cables;
    }
    return cables;
}

static void check_number(const char *machine, const char *what, uint64_t got, uint64_t want) {
    if (got == want) return;
    fail_msg("%s, %s: got %llu, published %llu", machine, what, (unsigned long long)got,
             (unsigned long long)want);
}

// The members of `key`: names of classes of parts, each with a number.
static void check_parts(const char *name, const Fabric *fabric, JsonNode row) {
    JsonNode parts = json_find(row, "parts"), ports = json_find(row, "ports");
    Err err = {{0}};
    for (uint32_t i = 0; i < json_count(parts); i++) {
        uint64_t want = 0;
        const char *part = json_key(json_at(parts, i));
        check_ok(json_as_u64(json_at(parts, i), &want, &err), &err);
        check_number(name, part, find_class(fabric, part)->count, want);
    }
    for (uint32_t i = 0; i < json_count(ports); i++) {
        uint64_t want = 0;
        const char *part = json_key(json_at(ports, i));
        check_ok(json_as_u64(json_at(ports, i), &want, &err), &err);
        check_number(name, part,
                     cables_at(fabric, find_class(fabric, part)->first, LINK_CLASS_COUNT), want);
    }
}

// Links and bandwidth of each GPU, or of those with the fewest and the most.
static void check_gpus(const char *name, const Fabric *fabric, LinkClass link_class, JsonNode row,
                       const Range *out_Bps) {
    uint32_t links, most_links, least = UINT32_MAX, most = 0;
    uint64_t least_Bps, most_Bps;
    Err err = {{0}};
    check_ok(json_u32(row, "links_per_gpu", &links, &err), &err);
    check_ok(json_rate(row, "per_gpu", &least_Bps, &err), &err);
    most_links = links;
    most_Bps = least_Bps;
    if (json_has(row, "most_links_per_gpu")) {
        check_ok(json_u32(row, "most_links_per_gpu", &most_links, &err), &err);
        check_ok(json_rate(row, "most_per_gpu", &most_Bps, &err), &err);
    }
    for (uint32_t gpu = 0; gpu < fabric->gpu_count; gpu++) {
        uint32_t cables = cables_at(fabric, gpu, link_class);
        if (cables < least) least = cables;
        if (cables > most) most = cables;
    }
    check_number(name, "least links of a GPU", least, links);
    check_number(name, "most links of a GPU", most, most_links);
    check_number(name, "least out of a GPU", out_Bps->low, least_Bps);
    check_number(name, "most out of a GPU", out_Bps->high, most_Bps);
}

// GPUs have the published links and bandwidth; the cut between the halves of the GPUs is the
// published bisection.
static void check_system(JsonNode row) {
    Machine machine;
    FabricSummary summary;
    Err err = {{0}};
    const char *name;
    uint32_t link_class = 0;
    uint64_t bisection_Bps = 0, cables = 0;
    check_ok(json_string(row, "machine", &name, &err), &err);
    check_ok(json_enum(row, "class", topology_class_names, LINK_CLASS_COUNT, &link_class, &err),
             &err);
    check_ok(json_rate(row, "bisection", &bisection_Bps, &err), &err);
    machine_open(&machine, name);
    const Fabric *fabric = &machine.fabric;
    check_ok(fabric_summary_make(fabric, &summary, &err), &err);
    check_gpus(name, fabric, (LinkClass)link_class, row, &summary.gpu_Bps[link_class]);
    check_number(name, "bisection", summary.bisection_by_class[link_class], bisection_Bps);
    if (json_has(row, "cables")) {
        check_ok(json_u64(row, "cables", &cables, &err), &err);
        check_number(name, "cables", summary.cables[link_class], cables);
    }
    check_parts(name, fabric, row);
    machine_close(&machine);
}

static void each_row(const char *path, const char *key, void (*check)(JsonNode row)) {
    Json json = {0};
    JsonNode rows;
    Err err = {{0}};
    check_ok(json_read(path, &json, &err), &err);
    check_ok(json_array(json_root(&json), key, &rows, &err), &err);
    assert_true(json_count(rows) > 0);
    for (uint32_t i = 0; i < json_count(rows); i++) check(json_at(rows, i));
    json_free(&json);
}

static void test_reference_systems_have_their_published_figures(void **state) {
    (void)state;
    each_row(SYSTEMS, "systems", check_system);
}

// ---- Fat trees

// The last name of a class: "unit.plane.leaf" is a leaf.
static bool is_named(const Fabric *fabric, uint32_t class_id, const char *last) {
    const char *name = fabric->classes[class_id].name, *dot = strrchr(name, '.');
    return strcmp(dot == NULL ? name : dot + 1, last) == 0;
}

static uint64_t count_of(const Fabric *fabric, const char *last) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < fabric->class_count; i++)
        if (is_named(fabric, i, last)) count += fabric->classes[i].count;
    return count;
}

static uint64_t cables_between(const Fabric *fabric, const char *from, const char *to) {
    uint64_t cables = 0;
    for (uint32_t i = 0; i < fabric->rule_count; i++) {
        const FabricRule *rule = &fabric->rules[i];
        if (is_named(fabric, rule->from_class, from) && is_named(fabric, rule->to_class, to))
            cables += rule->instances * rule->link->cables;
    }
    return cables;
}

static void check_tier(const char *machine, const Fabric *fabric, JsonNode row, const char *tier) {
    uint64_t want;
    Err err = {{0}};
    check_ok(json_u64(row, tier, &want, &err), &err);
    check_number(machine, tier, count_of(fabric, tier), want);
}

// No port is used twice: fabric_build has compared cables with the ports of the devices. As much
// leaves a half of the GPUs as their NICs carry.
static void check_tree(JsonNode row) {
    static const char *const tiers[] = {"nic", "leaf", "spine", "core"};
    Machine machine;
    FabricSummary summary;
    JsonNode cables;
    Err err = {{0}};
    const char *name;
    uint64_t gpus = 0, nodes = 0, links = 0;
    check_ok(json_string(row, "machine", &name, &err), &err);
    check_ok(json_u64(row, "gpus", &gpus, &err) && json_u64(row, "nodes", &nodes, &err), &err);
    check_ok(json_u64(row, "links_per_cable", &links, &err), &err);
    check_ok(json_array(row, "cables", &cables, &err), &err);
    machine_open(&machine, name);
    const Fabric *fabric = &machine.fabric;
    check_number(name, "GPUs", fabric->gpu_count, gpus);
    check_number(name, "nodes", fabric->gpu_count / fabric->node_size, nodes);
    for (uint32_t i = 1; i < 4; i++) {
        uint64_t want = 0;
        check_tier(name, fabric, row, tiers[i]);
        check_ok(json_as_u64(json_at(cables, i - 1), &want, &err), &err);
        check_number(name, tiers[i], cables_between(fabric, tiers[i - 1], tiers[i]), links * want);
    }
    check_ok(fabric_summary_make(fabric, &summary, &err), &err);
    LinkClass link_class = summary.cables[LINK_ETH] > 0 ? LINK_ETH : LINK_IB;
    uint64_t nic_Bps = summary.gpu_Bps[link_class].low;
    check_number(name, "bisection", summary.bisection_Bps, gpus / 2 * nic_Bps);
    assert_int_equal(fabric->domain_size, 8);
    assert_true(fabric->shape.uniform);
    machine_close(&machine);
}

static void test_reference_systems_superpod_tables(void **state) {
    (void)state;
    each_row(TREES, "trees", check_tree);
}

// ---- DGX-1 under another numbering

#define DGX1 8

// Links of each pair as `nvidia-smi topo -m` prints them: NV2 is two.
static void read_smi(const char *path, uint32_t links[DGX1][DGX1]) {
    FILE *file = fopen(path, "r");
    char line[512];
    assert_non_null(file);
    memset(links, 0, sizeof(uint32_t[DGX1][DGX1]));
    while (fgets(line, sizeof line, file) != NULL) {
        unsigned row;
        const char *at = strchr(line, '\t');
        if (sscanf(line, "GPU%u", &row) != 1 || row >= DGX1 || line[0] != 'G' || at == NULL)
            continue;
        if (strncmp(at + 1, "GPU", 3) == 0) continue; // the headline
        for (uint32_t k = 0; k < DGX1 && at != NULL; k++, at = strchr(at + 1, '\t'))
            if (sscanf(at, "\tNV%u", &links[row][k]) != 1) links[row][k] = 0;
    }
    fclose(file);
}

static void read_fabric(const Fabric *fabric, uint32_t links[DGX1][DGX1]) {
    memset(links, 0, sizeof(uint32_t[DGX1][DGX1]));
    for (LinkId id = 0; id < fabric->link_count; id++) {
        FabricLink link = fabric_link(fabric, id);
        if (link.from < DGX1 && link.to < DGX1) links[link.from][link.to] += link.cables;
    }
}

static bool is_same(const uint32_t *order, uint32_t a[DGX1][DGX1], uint32_t b[DGX1][DGX1]) {
    for (uint32_t i = 0; i < DGX1; i++)
        for (uint32_t k = 0; k < DGX1; k++)
            if (a[i][k] != b[order[i]][order[k]]) return false;
    return true;
}

// The next order in the dictionary; false after the last.
static bool next_order(uint32_t *order) {
    uint32_t i = DGX1 - 1, k = DGX1 - 1;
    while (i > 0 && order[i - 1] > order[i]) i--;
    if (i == 0) return false;
    while (order[k] < order[i - 1]) k--;
    uint32_t kept = order[i - 1];
    order[i - 1] = order[k];
    order[k] = kept;
    for (k = DGX1 - 1; i < k; i++, k--) {
        kept = order[i];
        order[i] = order[k];
        order[k] = kept;
    }
    return true;
}

// One of the 8! orders of the GPUs makes the shipped graph that of a real machine's dump.
static void test_reference_systems_dgx1_is_a_real_one_renumbered(void **state) {
    (void)state;
    uint32_t dump[DGX1][DGX1], ours[DGX1][DGX1], order[DGX1] = {0, 1, 2, 3, 4, 5, 6, 7};
    Machine machine;
    read_smi(check_shared("dumps/nvidia_smi_topo/v100_dgx1_hybrid_cube_mesh.txt"), dump);
    machine_open(&machine, "dgx1-v100");
    read_fabric(&machine.fabric, ours);
    machine_close(&machine);
    assert_int_equal(dump[0][1], 2);
    while (!is_same(order, dump, ours)) assert_true(next_order(order));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference_systems_have_their_published_figures),
        cmocka_unit_test(test_reference_systems_superpod_tables),
        cmocka_unit_test(test_reference_systems_dgx1_is_a_real_one_renumbered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
