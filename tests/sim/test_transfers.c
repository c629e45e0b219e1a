// Lists of transfers through the flow model, as worked examples.
#include "tests/check.h"

#include "model/base/rng.h"
#include "sim/transfers.h"
#include "tests/sim/net_machine.h"

#define PS_PER_NS 1000
#define MB        UINT64_C(1000000)

static const TransfersOptions nominal = {0};

static TransfersResult run(const char *text, const NetTransfer *list, uint32_t count,
                           const TransfersOptions *options) {
    NetMachine machine;
    Err err = {0};
    TransfersResult result = {0};
    net_machine_open(&machine, text);
    check_ok(transfers_run(&machine.fabric, list, count, options, &result, &err), &err);
    net_machine_close(&machine);
    return result;
}

static Time finish_ns(const TransfersResult *result, uint32_t transfer) {
    assert_int_equal(result->finish[transfer] % PS_PER_NS, 0);
    return result->finish[transfer] / PS_PER_NS;
}

// 500 ns of two links and 1 MB / 100 GB/s; the same from 3 us on; nothing takes the latency.
static void test_transfers_alone_take_latency_and_bytes(void **state) {
    (void)state;
    NetTransfer list[] = {{0, 1, MB, 0}, {2, 3, MB, 3000 * PS_PER_NS}, {4, 5, 0, 0}};
    TransfersResult r = run("switch:6,100GB/s,latency=250ns", list, 3, &nominal);
    assert_int_equal(finish_ns(&r, 0), 10500);
    assert_int_equal(finish_ns(&r, 1), 13500);
    assert_int_equal(finish_ns(&r, 2), 500);
    assert_int_equal(r.end_ps, 13500 * PS_PER_NS);
    assert_int_equal(r.bound_ps, r.end_ps);
    transfers_result_free(&r);
}

// 1 MB and 3 MB into one port of 100 GB/s: 50 GB/s each for 20 us, then 2 MB alone. The port is the
// bound: 4 MB and 500 ns.
static void test_transfers_share_a_port(void **state) {
    (void)state;
    NetTransfer list[] = {{1, 0, MB, 0}, {2, 0, 3 * MB, 0}};
    TransfersResult r = run("switch:3,100GB/s,latency=250ns", list, 2, &nominal);
    assert_int_equal(finish_ns(&r, 0), 20500);
    assert_int_equal(finish_ns(&r, 1), 40500);
    assert_int_equal(r.bound_ps, 40500 * PS_PER_NS);
    const LinkTotal *total = &r.links[LINK_NVLINK];
    assert_int_equal(total->bytes, 8 * MB);
    assert_int_equal(total->busiest_B, 4 * MB);
    assert_int_equal(total->busiest_Bps, 100000 * MB);
    assert_string_equal(total->busiest_name, "switch -> gpu[0]");
    transfers_result_free(&r);
}

// Two equal pairs are two transfers: 2 MB from GPU 0.
static void test_transfers_of_one_pair_share(void **state) {
    (void)state;
    NetTransfer list[] = {{0, 1, MB, 0}, {0, 1, MB, 0}};
    TransfersResult r = run("switch:3,100GB/s,latency=250ns", list, 2, &nominal);
    assert_int_equal(finish_ns(&r, 0), 20500);
    assert_int_equal(finish_ns(&r, 1), 20500);
    transfers_result_free(&r);
}

// An NVL72 GPU has 18 links of 50 GB/s: 900 GB/s, so 9 MB take 10 us; each link carries 500 kB.
static void test_transfers_stripe_over_planes(void **state) {
    (void)state;
    NetTransfer list[] = {{0, 71, 9 * MB, 0}};
    TransfersResult r = run("nvl72.json", list, 1, &nominal);
    assert_int_equal(r.end_ps, r.bound_ps);
    assert_int_equal(r.links[LINK_NVLINK].busiest_B, MB / 2);
    assert_int_equal(r.links[LINK_NVLINK].bytes, 18 * MB);
    transfers_result_free(&r);
}

// 10 000 B are 3 packets of up to 4000 B, each with 100 B more: 10 300 B at 100 GB/s are 103 ns.
static void test_transfers_count_headers(void **state) {
    (void)state;
    NetTransfer list[] = {{0, 1, 10000, 0}};
    TransfersOptions options = {.mtu_B = 4000, .header_B = 100};
    TransfersResult r = run("switch:2,100GB/s,latency=250ns", list, 1, &options);
    assert_int_equal(finish_ns(&r, 0), 603);
    assert_int_equal(r.bound_ps, 600 * PS_PER_NS);
    assert_int_equal(r.links[LINK_NVLINK].busiest_B, 10000);
    transfers_result_free(&r);
}

// At 80 % of the rate 1 MB takes 12.5 us; 2 us of software come before it.
static void test_transfers_use_the_calibration(void **state) {
    (void)state;
    Calib calib = {0};
    calib.values[CALIB_NVLINK].value = 0.8;
    calib.values[CALIB_NVLINK_STEP].value = 2e-6;
    NetTransfer list[] = {{0, 1, MB, 0}};
    TransfersOptions options = {.calib = &calib};
    TransfersResult r = run("switch:2,100GB/s,latency=250ns", list, 1, &options);
    assert_int_equal(finish_ns(&r, 0), 2000 + 500 + 12500);
    assert_int_equal(r.bound_ps, 10500 * PS_PER_NS);
    transfers_result_free(&r);
}

// All pairs of a fat tree, 2 spines for 16 ports a leaf: a leaf sends 16 x 16 x 100 kB over 2 links
// of 50 GB/s to the other leaf: 256 us and 2 us of latency. Backwards the same.
static void test_transfers_find_the_narrow_tier(void **state) {
    (void)state;
    Arena arena = {0};
    NetTransfer *list = arena_alloc(&arena, 1024, sizeof *list), *back;
    back = arena_alloc(&arena, 1024, sizeof *list);
    uint32_t count = 0;
    for (uint32_t from = 0; from < 32; from++)
        for (uint32_t to = 0; to < 32; to++)
            if (from != to) list[count++] = (NetTransfer){from, to, 100000, 0};
    for (uint32_t i = 0; i < count; i++) back[i] = list[count - 1 - i];
    TransfersResult a = run(net_machine_fat_tree(&arena, 4, 2), list, count, &nominal);
    TransfersResult b = run(net_machine_fat_tree(&arena, 4, 2), back, count, &nominal);
    assert_int_equal(a.end_ps, 258000 * PS_PER_NS);
    assert_int_equal(a.bound_ps, a.end_ps);
    for (uint32_t i = 0; i < count; i++) assert_int_equal(a.finish[i], b.finish[count - 1 - i]);
    assert_string_equal(a.links[LINK_IB].busiest_name, b.links[LINK_IB].busiest_name);
    transfers_result_free(&a);
    transfers_result_free(&b);
    arena_free(&arena);
}

static void test_transfers_refuse(void **state) {
    (void)state;
    NetMachine machine;
    Err err = {0};
    TransfersResult result = {0};
    TransfersOptions options = {0};
    net_machine_open(&machine, "switch:4,1GB/s");
#define REFUSES(message, ...)                                                                      \
    do {                                                                                           \
        NetTransfer list[] = {{0, 1, 1, 0}, __VA_ARGS__};                                          \
        check_fails(transfers_run(&machine.fabric, list, 2, &options, &result, &err), &err,        \
                    message);                                                                      \
    } while (0)
    REFUSES("transfer 1: GPU 4 is not there: the machine has GPUs 0 to 3", {4, 1, 1, 0});
    REFUSES("transfer 1: GPU 9 is not there: the machine has GPUs 0 to 3", {1, 9, 1, 0});
    REFUSES("transfer 1: expected two GPUs, found GPU 2 twice", {2, 2, 1, 0});
    REFUSES("transfer 1: expected less than 2^62 B, found 9223372036854775808 B",
            {2, 3, UINT64_C(1) << 63, 0});
    REFUSES("transfer 1: expected a start of 0 or later, found -1 ps", {2, 3, 1, -1});
    REFUSES("the transfers take longer than 9223372 s, the most that can be timed",
            {2, 3, UINT64_C(1) << 61, 0});
    REFUSES("transfer 1: the transfers take longer than 9223372 s, the most that can be timed",
            {2, 3, 1, TIME_MAX});
#undef REFUSES
    assert_null(result.finish);
    net_machine_close(&machine);
}

static void test_transfers_of_an_empty_list(void **state) {
    (void)state;
    TransfersResult r = run("switch:4,1GB/s", NULL, 0, &nominal);
    assert_int_equal(r.end_ps, 0);
    assert_int_equal(r.bound_ps, 0);
    transfers_result_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transfers_alone_take_latency_and_bytes),
        cmocka_unit_test(test_transfers_share_a_port),
        cmocka_unit_test(test_transfers_of_one_pair_share),
        cmocka_unit_test(test_transfers_stripe_over_planes),
        cmocka_unit_test(test_transfers_count_headers),
        cmocka_unit_test(test_transfers_use_the_calibration),
        cmocka_unit_test(test_transfers_find_the_narrow_tier),
        cmocka_unit_test(test_transfers_refuse),
        cmocka_unit_test(test_transfers_of_an_empty_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
