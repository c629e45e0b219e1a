// Lists of hosts, frames and greetings: small forms that people or other processes give.
#include "tests/check.h"

#include "exec/net/frame.h"
#include "exec/net/hosts.h"

static void test_hosts_number_ranks_host_by_host(void **state) {
    (void)state;
    Hosts hosts;
    Arena arena = {0};
    Err err = {0};
    check_ok(hosts_parse("10.99.0.1:2,node7,h0:3", &hosts, &err), &err);
    assert_int_equal(hosts.count, 3);
    assert_int_equal(hosts.ranks, 6);
    assert_string_equal(hosts.hosts[1].name, "node7");
    // ranks 0 and 1, rank 2, ranks 3 to 5
    assert_int_equal(hosts.hosts[2].first, 3);
    assert_int_equal(hosts_of_rank(&hosts, 1), 0);
    assert_int_equal(hosts_of_rank(&hosts, 2), 1);
    assert_int_equal(hosts_of_rank(&hosts, 5), 2);
    assert_string_equal(hosts_text(&hosts, &arena), "3 hosts, 6 ranks");
    hosts_free(&hosts);
    hosts_one(4, &hosts);
    assert_string_equal(hosts_text(&hosts, &arena), "1 host x 4 ranks");
    hosts_free(&hosts);
    arena_free(&arena);
}

#define EXAMPLES ", such as \"10.99.0.1:2\" or \"[fd00::1]:2\""

static void check_refused(const char *list, const char *message) {
    Hosts hosts;
    Err err = {0};
    check_fails(hosts_parse(list, &hosts, &err), &err, message);
}

static void test_hosts_refuse_bad_lists(void **state) {
    (void)state;
    check_refused("", "host \"\": expected NAME:RANKS" EXAMPLES);
    check_refused("a:2,,b", "host \"\": expected NAME:RANKS" EXAMPLES);
    check_refused("a:0", "host \"a:0\": expected NAME:RANKS with 1 to 4096 ranks");
    check_refused("a:two", "host \"a:two\": expected NAME:RANKS with 1 to 4096 ranks");
    check_refused("a:4096,b", "expected at most 256 hosts and 4096 ranks");
    check_refused("fe80::1:2", "host \"fe80::1:2\": expected NAME:RANKS" EXAMPLES);
    check_refused("[fd00::1]2", "host \"[fd00::1]2\": expected NAME:RANKS" EXAMPLES);
    check_refused("[fd00::1", "host \"[fd00::1\": expected NAME:RANKS" EXAMPLES);
    check_refused("[]:2", "host \"[]:2\": expected NAME:RANKS" EXAMPLES);
    check_refused("[fe80::1%eth0]:2", "host \"[fe80::1%eth0]:2\": expected NAME:RANKS" EXAMPLES);
    check_refused("[fd00::1]:0", "host \"[fd00::1]:0\": expected NAME:RANKS with 1 to 4096 ranks");
    // an agent would read it as an option
    check_refused("-oProxyCommand=x:1",
                  "host \"-oProxyCommand=x:1\": expected NAME:RANKS" EXAMPLES);
}

// Brackets keep the colons of an address from that of the ranks; an agent gets it without them.
static void test_hosts_take_addresses_of_ipv6(void **state) {
    (void)state;
    Hosts hosts;
    Err err = {0};
    check_ok(hosts_parse("[fd00::1]:2,[::ffff:10.0.0.1],h:3", &hosts, &err), &err);
    assert_int_equal(hosts.ranks, 6);
    assert_string_equal(hosts.hosts[0].name, "fd00::1");
    assert_int_equal(hosts.hosts[0].count, 2);
    assert_string_equal(hosts.hosts[1].name, "::ffff:10.0.0.1");
    assert_int_equal(hosts.hosts[1].count, 1);
    hosts_free(&hosts);
}

static void test_hosts_frame_reads_back(void **state) {
    (void)state;
    uint8_t bytes[FRAME_B];
    Frame frame = {.tag = UINT64_C(0x0123456789abcdef), .count = FRAME_COUNT_MAX}, got;
    Err err = {0};
    frame_write(&frame, bytes);
    assert_int_equal(bytes[8], 0xef); // the lowest byte first
    check_ok(frame_read(bytes, &got, &err), &err);
    assert_true(got.tag == frame.tag && got.count == frame.count);
    frame.count++;
    frame_write(&frame, bytes);
    check_fails(frame_read(bytes, &got, &err), &err,
                "malformed frame: a message of 4294967297 bytes, at most 4294967296");
}

static void test_hosts_greeting_reads_back(void **state) {
    (void)state;
    uint8_t bytes[FRAME_GREETING_B];
    FrameGreeting greeting = {.token = "secret", .from = 3, .to = 70000, .job = 5}, got;
    Err err = {0};
    frame_write_greeting(&greeting, bytes);
    check_ok(frame_read_greeting(bytes, &got, &err), &err);
    assert_true(got.from == 3 && got.to == 70000 && got.job == 5);
    check_ok(frame_same_run(&got, &greeting, &err), &err);
    bytes[8] = 2;
    check_fails(frame_read_greeting(bytes, &got, &err), &err, "greets with version 2, expected 1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hosts_number_ranks_host_by_host),
        cmocka_unit_test(test_hosts_refuse_bad_lists),
        cmocka_unit_test(test_hosts_take_addresses_of_ipv6),
        cmocka_unit_test(test_hosts_frame_reads_back),
        cmocka_unit_test(test_hosts_greeting_reads_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
