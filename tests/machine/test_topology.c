#include "tests/machine/machine.h"

static Topology parse(const char *json) {
    Topology topology = {0};
    Err err = {{0}};
    check_ok(topology_parse("text", json, strlen(json), &topology, &err), &err);
    return topology;
}

// Two trays of two GPUs under a switch.
static const char two_trays[] =
    "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"two trays\", \"source\": \"made up\",\n"
    " \"templates\": {\n"
    "  \"tray\": {\"parts\": {\"gpu\": {\"kind\": \"gpu\", \"count\": 2}}},\n"
    "  \"rack\": {\"parts\": {\"tray\": {\"template\": \"tray\", \"count\": 2}, \"sw\": {\"kind\": "
    "\"switch\"}},\n"
    "           \"links\": [{\"from\": \"tray[*].gpu[*]\", \"to\": \"sw\", \"class\": \"nvlink\", "
    "\"cables\": 3,\n"
    "                      \"bandwidth\": \"150 GB/s\", \"latency\": \"250 ns\", \"policy\": "
    "\"adaptive\"}]}\n"
    " }, \"machine\": \"rack\"}";

static void test_topology_reads_templates(void **state) {
    (void)state;
    Topology topology = parse(two_trays);
    assert_string_equal(topology.name, "two trays");
    assert_int_equal(topology.template_count, 2);
    assert_int_equal(topology.machine, 1);
    const Template *rack = &topology.templates[1];
    assert_int_equal(rack->part_count, 2);
    assert_int_equal(rack->parts[0].kind, PART_GROUP);
    assert_int_equal(rack->parts[0].template_id, 0);
    assert_int_equal(rack->parts[0].count, 2);
    assert_int_equal(rack->parts[1].count, 1); // the default
    const LinkRule *link = &rack->links[0];
    assert_int_equal(link->link_class, LINK_NVLINK);
    assert_int_equal(link->policy, ROUTE_ADAPTIVE);
    assert_int_equal(link->cables, 3);
    assert_int_equal(link->bandwidth_Bps, UINT64_C(150000000000));
    assert_int_equal(link->latency_ps, 250000);
    assert_int_equal(link->confidence, 'M'); // no source of its own
    topology_free(&topology);
    topology_free(&topology);
}

// Blanks, the order of members and of templates, units, sources and notes change the spelling, not
// the machine.
static void test_topology_digest_is_that_of_the_meaning(void **state) {
    (void)state;
    static const char other[] =
        "{\"machine\": \"rack\", \"templates\": {\n"
        "  \"rack\": {\"links\": [{\"latency\": \"0.25 us\", \"to\": \"sw\", \"from\": \"tray[ * "
        "].gpu[*]\", \"policy\": \"adaptive\",\n"
        "     \"class\": \"nvlink\", \"bandwidth\": \"1200 Gbit/s\", \"cables\": 3, \"source\": "
        "\"a data sheet\"}],\n"
        "     \"parts\": {\"tray\": {\"count\": 2, \"template\": \"tray\"}, \"sw\": {\"count\": 1, "
        "\"kind\": \"switch\"}}},\n"
        "  \"tray\": {\"parts\": {\"gpu\": {\"count\": 2, \"kind\": \"gpu\", \"note\": "
        "\"any\"}}}},\n"
        " \"name\": \"two trays\", \"version\": 1, \"moesim\": \"topology\"}";
    Topology a = parse(two_trays), b = parse(other);
    assert_true(a.digest == b.digest);
    topology_free(&a);
    topology_free(&b);
}

// Each of these changes what the machine does.
static void test_topology_digest_changes_with_the_meaning(void **state) {
    (void)state;
    static const char *const changes[][2] = {
        {"150 GB/s", "151 GB/s"},
        {"250 ns", "251 ns"},
        {"\"cables\": 3", "\"cables\": 4"},
        {"\"count\": 2}}}", "\"count\": 3}}}"},
        {"adaptive", "stripe"},
        {"\"nvlink\"", "\"xgmi\""},
        {"two trays", "two traps"},
    };
    Topology base = parse(two_trays);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        Text text = {0};
        const char *at = strstr(two_trays, changes[i][0]);
        assert_non_null(at);
        text_add_bytes(&text, two_trays, (size_t)(at - two_trays));
        text_add(&text, changes[i][1]);
        text_add(&text, at + strlen(changes[i][0]));
        Topology changed = parse(text_string(&text));
        if (changed.digest == base.digest)
            fail_msg("\"%s\" instead of \"%s\" has the same digest", changes[i][1], changes[i][0]);
        topology_free(&changed);
        text_free(&text);
    }
    topology_free(&base);
}

static void test_topology_written_reads_back(void **state) {
    (void)state;
    static const char *const names[] = {"nvl72",          "nvl72-cluster", "hgx-h100",
                                        "hgx-h200",       "hgx-b200",      "hgx-h100-cluster",
                                        "ring:5,450GB/s", "mesh:4,64GB/s"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        Topology topology = {0}, again;
        Err err = {{0}};
        Text text = {0}, twice = {0};
        check_ok(topology_load(names[i], &topology, &err), &err);
        check_ok(topology_check(&topology, &err), &err);
        topology_write(&topology, &text);
        again = parse(text_string(&text));
        assert_true(again.digest == topology.digest);
        topology_write(&again, &twice);
        check_text_equals(text_string(&twice), text_string(&text));
        text_free(&text);
        text_free(&twice);
        topology_free(&topology);
        topology_free(&again);
    }
}

static void test_topology_written_form_is_stable(void **state) {
    (void)state;
    Topology topology = parse(two_trays);
    Text text = {0};
    topology_write(&topology, &text);
    check_golden(text_string(&text), "tests/golden/topology.json");
    text_free(&text);
    topology_free(&topology);
}

// All figures of the shipped machines name a source and a confidence.
static void test_topology_shipped_machines_have_sources(void **state) {
    (void)state;
    static const char *const names[] = {"nvl72",    "nvl72-cluster", "hgx-h100",
                                        "hgx-h200", "hgx-b200",      "hgx-h100-cluster"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        Topology topology = {0};
        Err err = {{0}};
        check_ok(topology_load(names[i], &topology, &err), &err);
        assert_true(strlen(topology.source) > 10);
        for (uint32_t k = 0; k < topology.template_count; k++) {
            for (uint32_t m = 0; m < topology.templates[k].link_count; m++) {
                assert_true(strlen(topology.templates[k].links[m].source) > 10);
            }
        }
        topology_free(&topology);
    }
}

typedef struct Bad {
    const char *name, *message;
} Bad;

// Files in tests/bad, and the message after "tests/bad/topo-NAME.json:".
static const Bad bad_files[] = {
    {"bad-name", "3:89: templates.node.parts[\"s w\"]: expected a name of letters, digits, _ and "
                 "-, starting with a letter, at most 47 long"},
    {"both-ends", "4:49: templates.node.links[0].to: names the pair of gpu[0] from both ends: bind "
                  "the letter to one of them, such as i=0"},
    {"burst-size", "4:127: templates.node.links[0].burst: expected 1 B to 1 GiB of all cables"},
    {"burst-two",
     " templates.node.links[0].burst: expected one burst of all links of class eth and this rate "
     "(with faults: of the class), and templates.node.links[1] has another"},
    {"bracket", "4:33: templates.node.links[0].from: pattern \"gpu[*\", column 5: '[' without ']'"},
    {"brackets", "1:65: nesting deeper than 64 levels"},
    {"count-huge", "3:78: templates.node.parts.gpu.count: expected 1 to 1000000, found 1000000000"},
    {"count-product",
     " 100000000 times part \"gpu\" of template \"tray\", at most 1000000 are possible"},
    {"count-zero", "3:78: templates.node.parts.gpu.count: expected 1 to 1000000, found 0"},
    {"cycle", " template \"a\" contains itself through \"b\""},
    {"deep", " template \"t8\" is nested deeper than 8 levels"},
    {"device-kind",
     "3:57: templates.node.parts.gpu.device: \"NVSwitch 4\" is a switch, expected a gpu"},
    {"disconnected", " gpu[0] cannot reach gpu[2]"},
    {"divide-zero", "4:49: templates.node.links[0].to: the index of sw cannot be computed for i=0"},
    {"duplicate-key", "3:108: templates.node.parts: duplicate key \"sw\""},
    {"empty", "1:1: empty file, expected a JSON value"},
    {"expression-range",
     "4:49: templates.node.links[0].to: sw[4] does not exist, sw has indices 0 to 3 (for i=3)"},
    {"fault-all", " its faults leave no GPU"},
    {"fault-both", "7:14: faults[0]: expected \"part\", or \"from\" and \"to\", found both"},
    {"fault-cables",
     "7:14: faults[0]: sw[0] to gpu[0] has 1 cable: take fewer, or write down for all of it"},
    {"fault-capacity", "7:44: faults[0].capacity: expected a share such as \"50 %\" or \"17/18\", "
                       "or a rate such as \"25 GB/s\", found \"50\""},
    {"fault-cut", " with its faults gpu[0] cannot reach gpu[2]"},
    {"fault-fast", "7:14: faults[0]: no link that it names is faster as built"},
    {"fault-key", "7:49: faults[0]: unknown key \"sorce\", did you mean \"source\"?"},
    {"fault-no-link", "7:14: faults[0]: no link joins gpu[0] to gpu[1]"},
    {"fault-nothing",
     "7:14: faults[0]: expected one of \"state\", \"capacity\" and \"cables_down\""},
    {"fault-range", "7:39: faults[0].to: sw[2] does not exist, sw has indices 0 to 1"},
    {"fault-share",
     "7:44: faults[0].capacity: expected a share above 0 and below 1, found \"150 %\""},
    {"fault-state",
     "7:41: faults[0].state: expected \"down\", found \"dwon\", did you mean \"down\"?"},
    {"fault-twice", "7:14: faults[0]: expected one of \"state\", \"capacity\" and \"cables_down\""},
    {"fault-unknown",
     "7:23: faults[0].part: no part \"swi\" in template \"node\", did you mean \"sw\"?"},
    {"group-end", "5:33: templates.node.links[0].from: tray stands for template \"tray\": name a "
                  "part inside it"},
    {"index-missing",
     "4:33: templates.node.links[0].from: there are 4 of gpu: write gpu[*] for all"},
    {"index-range",
     "4:33: templates.node.links[0].from: gpu[4] does not exist, gpu has indices 0 to 3"},
    {"kind-and-template",
     "3:88: templates.node.parts.sw: expected \"kind\" or \"template\", found both"},
    {"island", " no link joins cpu to a GPU, directly or through other parts"},
    {"no-memory", "3:89: templates.node.parts.dram.memory: expected a size above 0"},
    {"long-index", "4:33: templates.node.links[0].from: pattern "
                   "\"gpu[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,"
                   "0,0,0,0,1]\", column 5: index longer than 64 characters"},
    {"many-links", " the machine has more than 2147483647 links"},
    {"missing-part", "4:49: templates.node.links[0].to: no part \"swi\" in template \"node\", did "
                     "you mean \"sw\"?"},
    {"negative-bandwidth", "4:87: templates.node.links[0].bandwidth: expected a rate such as \"400 "
                           "Gbit/s\", found \"-450 GB/s\""},
    {"newer-version",
     "1:35: version: topology format 2 is newer than this program, which reads up to 1"},
    {"no-gpu", " machine \"node\" has no part of kind \"gpu\""},
    {"no-latency", "4:24: templates.node.links[0]: missing \"latency\""},
    {"no-parts", "3:23: templates.node.parts: expected 1 to 256 parts, found 0"},
    {"no-version", "1:1: missing \"version\""},
    {"not-utf8", "1:48: byte 0xe4 is not UTF-8"},
    {"number-bandwidth",
     "4:87: templates.node.links[0].bandwidth: expected a rate such as \"400 Gbit/s\", found 450"},
    {"other-kind", "1:12: moesim: expected \"topology\", found \"plan\""},
    {"overlap", "4:51: templates.node.links[0].to: both ends name some of the same parts: write a "
                "rule for each set"},
    {"ports", " leaf: 65 cables for 1 of QM9700, which has 64 ports"},
    {"self", " template \"a\" contains itself through \"a\""},
    {"to-itself", "4:49: templates.node.links[0].to: links gpu[0] to itself"},
    {"truncated", "4:24: unexpected end of file, expected a value or ']'"},
    {"unbound-letter", "4:49: templates.node.links[0].to: letter k is not bound in \"from\""},
    {"unitless-bandwidth", "4:87: templates.node.links[0].bandwidth: expected a rate such as \"400 "
                           "Gbit/s\", found \"450\": no unit"},
    {"unknown-class", "4:64: templates.node.links[0].class: expected one of \"nvlink\", \"c2c\", "
                      "\"xgmi\", \"ub\", \"ici\", \"pcie\", \"ib\", \"eth\", \"memory\", "
                      "\"storage\", \"other\", found \"nvlnik\", did you mean \"nvlink\"?"},
    {"unknown-gpu", "3:57: templates.node.parts.gpu.device: unknown device \"H1000 SXM\", did you "
                    "mean \"H100 SXM\"?"},
    {"unknown-key",
     "4:120: templates.node.links[0]: unknown key \"bandwith\", did you mean \"bandwidth\"?"},
    {"unknown-template", "6:14: machine: no template \"nodes\", did you mean \"node\"?"},
    {"unlinked-part", " sw[2] has no link"},
    {"zero-bandwidth", "4:87: templates.node.links[0].bandwidth: expected a rate above 0"},
};

// From the file to a fabric, as every command does it.
static bool open_file(const char *path, const DeviceCatalogue *catalogue, Err *err) {
    Topology topology = {0};
    Fabric fabric = {0};
    bool done =
        topology_load(path, &topology, err) && fabric_build(&topology, catalogue, &fabric, err);
    fabric_free(&fabric);
    topology_free(&topology);
    return done;
}

static void test_topology_bad_files_are_refused_with_the_place(void **state) {
    (void)state;
    DeviceCatalogue catalogue;
    Err err = {{0}};
    check_ok(device_load(&catalogue, &err), &err);
    for (size_t i = 0; i < sizeof bad_files / sizeof bad_files[0]; i++) {
        char path[128], message[ERR_TEXT_MAX];
        snprintf(path, sizeof path, "tests/bad/topo-%s.json", bad_files[i].name);
        snprintf(message, sizeof message, "%s:%s", path, bad_files[i].message);
        check_fails(open_file(path, &catalogue, &err), &err, message);
    }
    device_free(&catalogue);
}

static void test_topology_folder_is_no_file(void **state) {
    (void)state;
    Topology topology = {0};
    Err err = {{0}};
    check_fails(topology_load("tests/bad", &topology, &err), &err,
                "tests/bad: is a directory, expected a file");
}

static void test_topology_unknown_name_has_a_near_one(void **state) {
    (void)state;
    Topology topology = {0};
    Err err = {{0}};
    check_fails(topology_load("nvl73", &topology, &err), &err,
                "nvl73: no such file here or in the shipped data, did you mean \"nvl72\"?");
}

// A rate has a '/', yet a string with an unknown generator is no path. A path that is not there is.
static void test_topology_unknown_generator_points_to_the_help(void **state) {
    (void)state;
    Topology topology = {0};
    Err err = {{0}};
    check_fails(
        topology_load("full:8,100GB/s", &topology, &err), &err,
        "full:8,100GB/s: no such file here or in the shipped data, and no machine: expected a name "
        "such as ring:4,450GB/s, see \"moesim help topo\"");
    check_fails(topology_load("full/8:100", &topology, &err), &err,
                "full/8:100: no such file or folder");
}

// 17 parts that each hold 17 parts ... 8 levels deep: 17^8 places are not walked.
static void test_topology_wide_and_deep_is_refused_at_once(void **state) {
    (void)state;
    Text text = {0};
    text_add(&text, "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"x\", \"machine\": "
                    "\"t0\", \"templates\": {");
    for (int level = 0; level < 8; level++) {
        text_addf(&text, "%s\"t%d\": {\"parts\": {", level == 0 ? "" : ", ", level);
        for (int i = 0; i < 17; i++) {
            text_addf(&text, "%s\"p%d\": {", i == 0 ? "" : ", ", i);
            if (level < 7) text_addf(&text, "\"template\": \"t%d\"}", level + 1);
            if (level == 7) text_add(&text, "\"kind\": \"gpu\"}");
        }
        text_add(&text, "}}");
    }
    text_add(&text, "}}");
    Topology topology = {0};
    Err err = {{0}};
    check_fails(topology_parse("x.json", text.data, text.length, &topology, &err), &err,
                "x.json: more than 1024 kinds of parts in the machine");
    text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_topology_reads_templates),
        cmocka_unit_test(test_topology_digest_is_that_of_the_meaning),
        cmocka_unit_test(test_topology_digest_changes_with_the_meaning),
        cmocka_unit_test(test_topology_written_reads_back),
        cmocka_unit_test(test_topology_written_form_is_stable),
        cmocka_unit_test(test_topology_shipped_machines_have_sources),
        cmocka_unit_test(test_topology_bad_files_are_refused_with_the_place),
        cmocka_unit_test(test_topology_folder_is_no_file),
        cmocka_unit_test(test_topology_unknown_name_has_a_near_one),
        cmocka_unit_test(test_topology_unknown_generator_points_to_the_help),
        cmocka_unit_test(test_topology_wide_and_deep_is_refused_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
