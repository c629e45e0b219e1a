// Matrices of nvidia-smi topo -m: cells, affinity, names; and the machine that they stand for.
//
// tests/golden/nvidia_smi_topo.json has the figures of the collected matrices, from its source
// field; the test of them reads the matrices in the shared folder.
#include "tests/machine/machine.h"

#include "model/base/json.h"
#include "model/base/text.h"
#include "model/machine/fabric_summary.h"
#include "model/machine/import_nvidia_topo.h"

static void open_import(Import *import, const char *name, const char *bytes, size_t count) {
    *import = (Import){.origin = name, .bytes = bytes, .count = count};
}

static void close_import(Import *import) {
    import_graph_free(&import->graph);
    arena_free(&import->arena);
}

// The matrix of a text, which must be one.
static void parse(Import *import, const char *text, ImportMatrix *out) {
    Err err = {{0}};
    open_import(import, "dump.txt", text, strlen(text));
    check_ok(import_nvidia_topo_parse(import, out, &err), &err);
}

static ImportCellKind kind_of(const ImportMatrix *matrix, uint32_t i, uint32_t k) {
    return import_nvidia_topo_cell(matrix, i, k).kind;
}

static void test_import_nvidia_topo_cuts_glued_cells(void **state) {
    (void)state;
    Import import;
    ImportMatrix matrix;
    parse(&import,
          "   GPU0 GPU1 NIC0NIC1CPU Affinity NUMA Affinity\n"
          "GPU0  X NV12 NODENODE0-35,72-107 0\n"
          "GPU1 NV12X SYSPXB36-71 1\n"
          "NIC0 NODE SYS X PIX\n"
          "NIC1 NODEPXB PIXX\n",
          &matrix);
    assert_int_equal(matrix.gpus, 2);
    assert_int_equal(matrix.nics, 2);
    assert_int_equal(import_nvidia_topo_cell(&matrix, 0, 1).links, 12);
    assert_int_equal(kind_of(&matrix, 0, 3), IMPORT_CELL_NODE);
    assert_int_equal(kind_of(&matrix, 1, 3), IMPORT_CELL_PXB);
    assert_int_equal(kind_of(&matrix, 3, 2), IMPORT_CELL_PIX);
    assert_string_equal(matrix.cpus[0], "0-35,72-107");
    assert_string_equal(matrix.numa[1], "1");
    close_import(&import);
}

// NV18 and the affinity 0-35 without a blank; NV8 and 0-35, since no GPU has 80 links.
static void test_import_nvidia_topo_parts_links_from_affinity(void **state) {
    (void)state;
    Import import;
    ImportMatrix matrix;
    parse(&import,
          "GPU0 GPU1 CPU Affinity NUMA Affinity\n"
          "GPU0 X NV180-35 0\n"
          "GPU1 NV8X 0-35 0\n",
          &matrix);
    assert_int_equal(import_nvidia_topo_cell(&matrix, 0, 1).links, 18);
    assert_string_equal(matrix.cpus[0], "0-35");
    assert_int_equal(import_nvidia_topo_cell(&matrix, 1, 0).links, 8);
    close_import(&import);
    parse(&import,
          "GPU1 GPU0 GPU2 CPU Affinity NUMA Affinity\n" // the header begins at GPU0
          "GPU0 X NV80-35 0\n"
          "GPU2 NV8 X 0-35 0\n",
          &matrix);
    assert_int_equal(import_nvidia_topo_cell(&matrix, 0, 1).links, 8);
    close_import(&import);
}

// Two fields where the CPU affinity is empty: they are the last two of three columns.
static void test_import_nvidia_topo_assigns_affinity_from_the_right(void **state) {
    (void)state;
    Import import;
    ImportMatrix matrix;
    parse(&import,
          "\x1b[4mGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
          "GPU0\t X \tNV18\t0-35\t0\t\t2\n"
          "GPU1\tNV18\t X \t\t1\t\tN/A\n",
          &matrix);
    assert_string_equal(matrix.cpus[0], "0-35");
    assert_string_equal(matrix.gpu_numa[0], "2");
    assert_string_equal(matrix.cpus[1], "");
    assert_string_equal(matrix.numa[1], "1");
    assert_string_equal(matrix.gpu_numa[1], "");
    close_import(&import);
}

static void check_refused(const char *text, const char *message) {
    Import import;
    ImportMatrix matrix;
    Err err = {{0}};
    open_import(&import, "dump.txt", text, strlen(text));
    check_fails(import_nvidia_topo_parse(&import, &matrix, &err), &err, message);
    close_import(&import);
}

static void test_import_nvidia_topo_refuses_what_is_no_matrix(void **state) {
    (void)state;
    check_refused("GPU0 GPU1\n",
                  "dump.txt: expected a header with GPU0 and \"CPU Affinity\", found none");
    check_refused("GPU0 GPU1 CPU Affinity\nGPU0 X PIX 0\n",
                  "dump.txt:1: expected a row GPU1 below the header, found none");
    check_refused("GPU0 GPU1 CPU Affinity\nGPU0 X ABC 0\nGPU1 PIX X 0\n",
                  "dump.txt:2: row GPU0, column GPU1: expected X, NV#, PIX, PXB, PHB, NODE or SYS, "
                  "found \"ABC 0\"");
    check_refused("GPU0 GPU1 CPU Affinity\nGPU0 PIX X 0\nGPU1 PIX X 0\n",
                  "dump.txt:2: row GPU0, column GPU0: expected X, found \"PIX\"");
    check_refused("GPU0 GPU0 CPU Affinity\n", "dump.txt:1: column \"GPU0\" is there twice");
    check_refused("GPU0 NIC0 GPU1 CPU Affinity\n",
                  "dump.txt:1: expected GPUs before NICs, found \"GPU1\" behind \"NIC0\"");
}

static uint64_t cables(const Machine *machine, LinkClass class) {
    FabricSummary summary;
    Err err = {{0}};
    check_ok(fabric_summary_make(&machine->fabric, &summary, &err), &err);
    return summary.cables[class];
}

static void check_finding(const Machine *machine, const char *text) {
    if (strstr(machine->topology.note, text) == NULL)
        fail_msg("no finding \"%s\" in \"%s\"", text, machine->topology.note);
}

// Two bridged pairs of A100 PCIe: 12 links, and 11 in the worse direction of the other, at
// 300 GB/s / 12 = 25 GB/s each. A switch holds GPU0 and NIC0, another GPU2, GPU3 and NIC1; GPU1
// hangs on its CPU: 4 GPUs + 2 NICs + 2 switches = 8 PCIe links, at PCIe 4.0 x16 as the device
// says.
static void test_import_nvidia_topo_builds_bridged_pairs(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "tests/machine/import/topo.txt");
    assert_int_equal(machine.fabric.gpu_count, 4);
    assert_string_equal(fabric_device(&machine.fabric, 3)->name, "A100 PCIe 80G");
    assert_int_equal(cables(&machine, LINK_NVLINK), 12 + 11);
    assert_int_equal(cables(&machine, LINK_PCIE), 8);
    uint64_t sums[LINK_CLASS_COUNT];
    fabric_summary_links(&machine.fabric, 0, sums);
    assert_int_equal(sums[LINK_NVLINK], UINT64_C(12) * 25000000000);
    assert_int_equal(sums[LINK_PCIE], UINT64_C(31500000000));
    check_finding(&machine, "asymmetric: row GPU2 says NV11 of GPU3, which says NV12");
    check_finding(&machine, "degraded: GPU2 has 11 NVLinks where others have 12");
    check_finding(&machine, "GPUs 1 have no NIC nearer than NODE");
    check_finding(&machine, "shared: the nearest NICs of GPUs 3 are those of another GPU");
    machine_close(&machine);
}

// Each of 4 GPUs has 18 links to each peer, more than it has: so switches, as in HGX H100 4, 5, 5
// and 4 links to each; GPU3 has 17: 3 x 18 + 17 = 71.
static void test_import_nvidia_topo_finds_switches(void **state) {
    (void)state;
    Machine machine;
    machine_open(&machine, "tests/machine/import/topo_switch.txt");
    assert_int_equal(cables(&machine, LINK_NVLINK), 71);
    assert_int_equal(machine.fabric.domain_size, 4);
    check_finding(&machine, "they are assumed to be H100 SXM");
    check_finding(&machine, "degraded: GPU3 has 17 NVLinks where others have 18");
    check_finding(&machine, "the NVLink domain is larger than what is visible here");
    machine_close(&machine);
}

// ---- The collected matrices

static void add_cell(ImportCell cell, Text *out) {
    text_add(out, import_nvidia_topo_cells[cell.kind]);
    if (cell.kind == IMPORT_CELL_NV) text_addf(out, "%u", cell.links);
}

static void check_pairs(const char *file, const ImportMatrix *matrix, JsonNode pairs) {
    uint32_t total = 0;
    for (uint32_t p = 0; p < json_count(pairs); p++) {
        uint32_t count = 0;
        uint64_t want;
        Err err = {{0}};
        check_ok(json_as_u64(json_at(pairs, p), &want, &err), &err);
        for (uint32_t i = 0; i < matrix->gpus; i++) {
            for (uint32_t k = i + 1; k < matrix->gpus; k++) {
                Text text = {0};
                add_cell(import_nvidia_topo_cell(matrix, i, k), &text);
                count += strcmp(text_string(&text), json_key(json_at(pairs, p))) == 0;
                text_free(&text);
            }
        }
        if (count != want) fail_msg("%s: %u pairs of %s", file, count, json_key(json_at(pairs, p)));
        total += count;
    }
    assert_int_equal(total, matrix->gpus * (matrix->gpus - 1) / 2);
}

static void check_domains(const char *file, const ImportMatrix *matrix, JsonNode domains) {
    uint32_t island[IMPORT_TOPO_NAMES_MAX], members = 0;
    Err err = {{0}};
    if (import_nvidia_topo_islands(matrix, island) != json_count(domains))
        fail_msg("%s: other domains", file);
    for (uint32_t d = 0; d < json_count(domains); d++) {
        for (uint32_t i = 0; i < json_count(json_at(domains, d)); i++) {
            uint64_t gpu;
            check_ok(json_as_u64(json_at(json_at(domains, d), i), &gpu, &err), &err);
            assert_int_equal(island[gpu], d);
            members++;
        }
    }
    for (uint32_t i = 0; i < matrix->gpus; i++) members -= island[i] != IMPORT_NONE;
    assert_int_equal(members, 0);
}

// ["PIX", ["NIC0"]], or ["NODE", ["62 NICs"]] where there are too many to list.
static void check_nearest(const char *file, const ImportMatrix *matrix, JsonNode nearest) {
    for (uint32_t g = 0; g < json_count(nearest); g++) {
        uint32_t nics[IMPORT_TOPO_NAMES_MAX], count;
        const char *kind, *name;
        Err err = {{0}};
        JsonNode want = json_at(nearest, g), names = json_at(want, 1);
        assert_string_equal(json_key(want), matrix->names[g]);
        check_ok(json_as_string(json_at(want, 0), &kind, &err), &err);
        ImportCellKind found = import_nvidia_topo_nearest(matrix, g, nics, &count);
        if (strcmp(import_nvidia_topo_cells[found], kind) != 0)
            fail_msg("%s: %s nearest %s", file, matrix->names[g], import_nvidia_topo_cells[found]);
        check_ok(json_as_string(json_at(names, 0), &name, &err), &err);
        if (strstr(name, " NICs") != NULL) {
            assert_int_equal(count, strtoul(name, NULL, 10));
            continue;
        }
        assert_int_equal(count, json_count(names));
        for (uint32_t i = 0; i < count; i++) {
            check_ok(json_as_string(json_at(names, i), &name, &err), &err);
            assert_string_equal(matrix->names[matrix->gpus + nics[i]], name);
        }
    }
}

static void check_asymmetric(const ImportMatrix *matrix, JsonNode asymmetric) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < matrix->gpus; i++) {
        for (uint32_t k = i + 1; k < matrix->gpus; k++) {
            ImportCell there = import_nvidia_topo_cell(matrix, i, k);
            ImportCell back = import_nvidia_topo_cell(matrix, k, i);
            if (import_nvidia_topo_same(there, back)) continue;
            const char *want[4];
            Err err = {{0}};
            Text texts[2] = {{0}, {0}};
            assert_true(found < json_count(asymmetric));
            for (uint32_t p = 0; p < 4; p++)
                check_ok(json_as_string(json_at(json_at(asymmetric, found), p), &want[p], &err),
                         &err);
            add_cell(there, &texts[0]);
            add_cell(back, &texts[1]);
            assert_string_equal(want[0], matrix->names[i]);
            assert_string_equal(want[1], matrix->names[k]);
            assert_string_equal(want[2], text_string(&texts[0]));
            assert_string_equal(want[3], text_string(&texts[1]));
            text_free(&texts[0]);
            text_free(&texts[1]);
            found++;
        }
    }
    assert_int_equal(found, json_count(asymmetric));
}

static void check_file(const char *file, JsonNode want) {
    Arena arena = {0};
    Err err = {{0}};
    Import import;
    ImportMatrix matrix;
    char *bytes;
    size_t count;
    uint32_t gpus, nics;
    const char *path = check_shared(arena_printf(&arena, "dumps/nvidia_smi_topo/%s", file));
    check_ok(file_read(path, FILE_CAP_B, &arena, &bytes, &count, &err), &err);
    open_import(&import, file, bytes, count);
    check_ok(import_nvidia_topo_parse(&import, &matrix, &err), &err);
    check_ok(json_u32(want, "gpus", &gpus, &err), &err);
    check_ok(json_u32(want, "nics", &nics, &err), &err);
    assert_int_equal(matrix.gpus, gpus);
    assert_int_equal(matrix.nics, nics);
    check_pairs(file, &matrix, json_find(want, "gpu_pairs"));
    check_domains(file, &matrix, json_find(want, "nv_domains"));
    check_nearest(file, &matrix, json_find(want, "nearest"));
    check_asymmetric(&matrix, json_find(want, "asym"));
    close_import(&import);
    arena_free(&arena);
}

static void test_import_nvidia_topo_meets_the_collected_figures(void **state) {
    (void)state;
    Json json = {0};
    Err err = {{0}};
    JsonNode files;
    check_shared("dumps/MANIFEST.csv");
    check_ok(json_read("tests/golden/nvidia_smi_topo.json", &json, &err), &err);
    check_ok(json_object(json_root(&json), "files", &files, &err), &err);
    assert_int_equal(json_count(files), 36);
    for (uint32_t i = 0; i < json_count(files); i++)
        check_file(json_key(json_at(files, i)), json_at(files, i));
    json_free(&json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_import_nvidia_topo_cuts_glued_cells),
        cmocka_unit_test(test_import_nvidia_topo_parts_links_from_affinity),
        cmocka_unit_test(test_import_nvidia_topo_assigns_affinity_from_the_right),
        cmocka_unit_test(test_import_nvidia_topo_refuses_what_is_no_matrix),
        cmocka_unit_test(test_import_nvidia_topo_builds_bridged_pairs),
        cmocka_unit_test(test_import_nvidia_topo_finds_switches),
        cmocka_unit_test(test_import_nvidia_topo_meets_the_collected_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
