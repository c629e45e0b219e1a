// Lists of transfers, as people write them.
#include "tests/check.h"

#include "sim/transfers_file.h"
#include "tests/sim/net_machine.h"

typedef struct Case {
    NetMachine machine;
    TransfersFile file;
    Err err;
} Case;

static bool parse(Case *test, const char *text) {
    return transfers_file_parse(&test->machine.fabric, "t.csv", text, strlen(text), &test->file,
                                &test->err);
}

// The transfers as text, a line each: "tray[0].gpu[1] > tray[0].dram[0] 5 B at 0 ps".
static void check_list(Case *test, const char *text, const char *want) {
    Text got = {0};
    check_ok(parse(test, text), &test->err);
    for (uint32_t i = 0; i < test->file.count; i++) {
        const NetTransfer *transfer = &test->file.list[i];
        fabric_vertex_name(&test->machine.fabric, transfer->from, &got);
        text_add(&got, " > ");
        fabric_vertex_name(&test->machine.fabric, transfer->to, &got);
        text_addf(&got, " %llu B at %lld ps\n", (unsigned long long)transfer->bytes,
                  (long long)transfer->start);
    }
    check_text_equals(text_string(&got), want);
    text_free(&got);
    transfers_file_free(&test->file);
}

static void test_transfers_file_names_and_numbers(void **state) {
    (void)state;
    Case test = {0};
    net_machine_open(&test.machine, "nvl72.json");
    check_list(&test,
               "# from, to, bytes, start\n"
               "tray[1].gpu[0], tray[1].dram[0], 64 KiB, 10 us\n\n"
               "71 tray[0].nic[3] 5 1ps # blanks\n"
               "tray[17].dram[1], 0, 4096\n",
               "tray[1].gpu[0] > tray[1].dram[0] 65536 B at 10000000 ps\n"
               "tray[17].gpu[3] > tray[0].nic[3] 5 B at 1 ps\n"
               "tray[17].dram[1] > tray[0].gpu[0] 4096 B at 0 ps\n");
    net_machine_close(&test.machine);
}

// A letter keeps two ends together; without one all pairs are meant, but for a part with itself.
static void test_transfers_file_patterns(void **state) {
    (void)state;
    Case test = {0};
    net_machine_open(&test.machine, "hgx-h100.json");
    check_list(&test, "gpu[i=2-5], dram[i/4], 1\n",
               "gpu[2] > dram[0] 1 B at 0 ps\n"
               "gpu[3] > dram[0] 1 B at 0 ps\n"
               "gpu[4] > dram[1] 1 B at 0 ps\n"
               "gpu[5] > dram[1] 1 B at 0 ps\n");
    check_list(&test, "gpu[0,7] gpu[0-1] 1\n",
               "gpu[0] > gpu[1] 1 B at 0 ps\n"
               "gpu[7] > gpu[0] 1 B at 0 ps\n"
               "gpu[7] > gpu[1] 1 B at 0 ps\n");
    check_ok(parse(&test, "gpu[*] gpu[*] 1\ndram[*] gpu[*] 1\n"), &test.err);
    assert_int_equal(test.file.count, 8 * 7 + 2 * 8);
    transfers_file_free(&test.file);
    check_list(&test, "gpu[i=0-1], nic[(i+1)%8], 1",
               "gpu[0] > nic[1] 1 B at 0 ps\n"
               "gpu[1] > nic[2] 1 B at 0 ps\n");
    net_machine_close(&test.machine);
}

static void test_transfers_file_refuses(void **state) {
    (void)state;
    Case test = {0};
    net_machine_open(&test.machine, "hgx-h100:2");
#define REFUSES(text, message) check_fails(parse(&test, text), &test.err, message)
    REFUSES("", "t.csv: expected transfers, found none");
    REFUSES("# nothing\n", "t.csv: expected transfers, found none");
    REFUSES("0,1,1\n0,1\n",
            "t.csv:2:4: expected FROM, TO, BYTES and at most START, found 2 of them");
    REFUSES("0,1,1,1us,2\n", "t.csv:1:11: expected FROM, TO, BYTES and at most START, found more");
    REFUSES("0, 16, 1\n", "t.csv:1:4: GPU 16 is not there: the machine has GPUs 0 to 15");
    REFUSES("0,,1\n", "t.csv:1:3: expected a part such as gpu[0] or the number of a GPU, found "
                      "nothing");
    REFUSES("0, -1, 1\n", "t.csv:1:4: pattern \"-1\", column 1: expected the name of a part");
    REFUSES("0, 1, much\n", "t.csv:1:7: expected a size such as \"80 GiB\", found \"much\"");
    REFUSES("0, 1, 4611686018427387904\n",
            "t.csv:1:7: expected less than 2^62 B, found 4611686018427387904 B");
    REFUSES("0, 1, 1, 5\n", "t.csv:1:10: expected a time such as \"500 ns\", found \"5\": no unit");
    REFUSES("0, 1, 1,\n", "t.csv:1:9: expected a start such as \"10us\", found nothing");
    REFUSES("0, 0, 1\n",
            "t.csv:1:4: unit.node[0].gpu[0] names no part but that of FROM: nothing to move");
    REFUSES("0, unit.leaf[1], 1\n",
            "t.csv:1:4: unit.leaf[1] is a switch, which sends and receives nothing itself: "
            "expected a gpu, cpu, nic, memory or storage");
    REFUSES("unit.node[0], 1, 1\n", "t.csv:1:1: unit.node[0] has parts inside: expected the name "
                                    "of one, such as its gpu[0]");
    REFUSES("unit.node[0].cpus[0], 1, 1\n",
            "t.csv:1:1: no part \"cpus\" in template \"node\", did you mean \"cpu\"?");
    REFUSES("0, unit.node[2].gpu[0], 1\n",
            "t.csv:1:4: node[2] does not exist, node has indices 0 to 1");
    REFUSES("unit.node[*].gpu[i], unit.node[*].nic[k], 1\n",
            "t.csv:1:22: letter k is not bound in \"from\"");
#undef REFUSES
    assert_int_equal(test.file.count, 0);
    net_machine_close(&test.machine);
}

// 65,536 GPUs have 2^32 pairs: refused by their number, before the first is looked at.
static void test_transfers_file_counts_before_it_adds(void **state) {
    (void)state;
    Case test = {0};
    net_machine_open(&test.machine, "switch:65536,450GB/s");
    check_fails(parse(&test, "gpu[*] gpu[*] 1\n"), &test.err,
                "t.csv:1:1: 65536 parts to 65536 each: expected at most 16777216 transfers in all");
    check_ok(parse(&test, "gpu[*] gpu[0] 1\n"), &test.err);
    assert_int_equal(test.file.count, 65535);
    transfers_file_free(&test.file);
    net_machine_close(&test.machine);
}

#define LINK "\"class\": \"pcie\", \"bandwidth\": \"1 GB/s\", \"latency\": \"1 us\""

// The link of the NIC is down, with a drive behind it, and so is a GPU.
static const char broken[] =
    "{\"moesim\": \"topology\", \"version\": 1, \"name\": \"t\", \"source\": \"test\","
    " \"templates\": {\"node\": {\"parts\": {\"gpu\": {\"kind\": \"gpu\", \"count\": 3},"
    " \"cpu\": {\"kind\": \"cpu\"}, \"nic\": {\"kind\": \"nic\"}, \"disk\": {\"kind\": "
    "\"storage\"}},"
    " \"links\": [{\"from\": \"gpu[*]\", \"to\": \"cpu\", " LINK "},"
    " {\"from\": \"nic\", \"to\": \"cpu\", " LINK "},"
    " {\"from\": \"disk\", \"to\": \"nic\", " LINK "}]}},"
    " \"machine\": \"node\", \"faults\": [{\"part\": \"gpu[2]\", \"state\": \"down\"},"
    " {\"from\": \"nic\", \"to\": \"cpu\", \"state\": \"down\"}]}";

static void test_transfers_file_names_what_cannot_be_reached(void **state) {
    (void)state;
    Case test = {0};
    net_machine_open(&test.machine, broken);
    check_fails(parse(&test, "0 1 5\ngpu[*] disk 5\n"), &test.err,
                "t.csv:2:8: gpu[0] cannot reach disk");
    check_fails(parse(&test, "gpu[*] gpu[0] 5\n"), &test.err, "t.csv:1:1: gpu[2] is down");
    check_fails(parse(&test, "cpu 2 5\n"), &test.err, "t.csv:1:5: gpu[2] is down");
    check_list(&test, "nic disk 5\n", "nic > disk 5 B at 0 ps\n");
    net_machine_close(&test.machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transfers_file_names_and_numbers),
        cmocka_unit_test(test_transfers_file_patterns),
        cmocka_unit_test(test_transfers_file_refuses),
        cmocka_unit_test(test_transfers_file_counts_before_it_adds),
        cmocka_unit_test(test_transfers_file_names_what_cannot_be_reached),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
