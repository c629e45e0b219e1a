#include "tests/check.h"

#include "model/machine/port_rate.h"

#define GBITS(n) ((n)*UINT64_C(125000000)) // bytes per second of n Gbit/s

static uint64_t rate(LinkClass link_class, const char *text) {
    uint64_t Bps = 0;
    Err err = {{0}};
    check_ok(port_rate_parse(link_class, text, &Bps, &err), &err);
    return Bps;
}

// A port has four lanes: EDR 4 x 25 Gbit/s, HDR 4 x 50, NDR 4 x 100, XDR 4 x 200. Of a port that is
// split NDR200 is two lanes and HDR100 two of 50; NDR400 is a whole one.
static void test_port_rate_reads_generations_of_infiniband(void **state) {
    (void)state;
    assert_int_equal(rate(LINK_IB, "EDR"), GBITS(100));
    assert_int_equal(rate(LINK_IB, "HDR"), GBITS(200));
    assert_int_equal(rate(LINK_IB, "NDR"), GBITS(400));
    assert_int_equal(rate(LINK_IB, "xdr"), GBITS(800));
    assert_int_equal(rate(LINK_IB, "NDR200"), GBITS(200));
    assert_int_equal(rate(LINK_IB, "HDR100"), GBITS(100));
    assert_int_equal(rate(LINK_IB, "NDR400"), GBITS(400));
}

// 400G is 400 Gbit/s, in each spelling that ports are sold by.
static void test_port_rate_reads_speeds_and_rates(void **state) {
    (void)state;
    assert_int_equal(rate(LINK_IB, "400G"), GBITS(400));
    assert_int_equal(rate(LINK_ETH, "800G"), GBITS(800));
    assert_int_equal(rate(LINK_ETH, "200GbE"), GBITS(200));
    assert_int_equal(rate(LINK_ETH, "100GE"), GBITS(100));
    assert_int_equal(rate(LINK_IB, "400Gbps"), GBITS(400));
    assert_int_equal(rate(LINK_IB, "50 GB/s"), GBITS(400));
    assert_int_equal(rate(LINK_NVLINK, "50GB/s"), GBITS(400));
}

static void test_port_rate_refuses_what_no_port_has(void **state) {
    (void)state;
    static const struct {
        LinkClass link_class;
        const char *text, *message;
    } cases[] = {
        {LINK_IB, "NDX",
         "expected a rate such as \"400 Gbit/s\" or \"400G\", or a generation of InfiniBand (SDR, "
         "DDR, QDR, FDR, EDR, HDR, NDR, XDR), found \"NDX\""},
        {LINK_IB, "NDR300",
         "NDR has 100 Gbit/s a lane, expected a port of one, two or four, found 300"},
        {LINK_IB, "NDR2G",
         "expected a rate such as \"400 Gbit/s\" or \"400G\", or a generation of InfiniBand (SDR, "
         "DDR, QDR, FDR, EDR, HDR, NDR, XDR), found \"NDR2G\""},
        {LINK_IB, "", "expected a rate such as \"400 Gbit/s\", found \"\""},
        {LINK_IB, "400", "expected a rate such as \"400 Gbit/s\", found \"400\": no unit"},
        {LINK_ETH, "NDR", "expected a rate such as \"400 Gbit/s\", found \"NDR\""},
        {LINK_IB, "400GbE",
         "expected a rate such as \"400 Gbit/s\", found \"400GbE\": unknown unit"},
        {LINK_NVLINK, "400G",
         "expected a rate such as \"400 Gbit/s\", found \"400G\": unknown unit"},
        {LINK_IB, "0G", "expected a rate above 0 and at most 100 TB/s"},
        {LINK_IB, "99999999999999999999G", "expected a rate above 0 and at most 100 TB/s"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t Bps;
        Err err = {{0}};
        check_fails(port_rate_parse(cases[i].link_class, cases[i].text, &Bps, &err), &err,
                    cases[i].message);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_port_rate_reads_generations_of_infiniband),
        cmocka_unit_test(test_port_rate_reads_speeds_and_rates),
        cmocka_unit_test(test_port_rate_refuses_what_no_port_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
