#include "tests/check.h"

#include "model/machine/fault.h"

// The first fault of a text.
static Fault read_one(const char *text, Arena *arena) {
    Fault *faults = NULL;
    uint32_t count = 0;
    Err err = {{0}};
    check_ok(fault_parse_list(text, "--degrade", arena, &faults, &count, &err), &err);
    assert_int_equal(count, 1);
    return faults[0];
}

static void check_written(const char *text, const char *want) {
    Arena arena = {0};
    Text out = {0};
    Fault fault = read_one(text, &arena);
    fault_write(&fault, &out);
    assert_string_equal(text_string(&out), want);
    Fault again = read_one(text_string(&out), &arena);
    assert_int_equal(fault_digest(&again), fault_digest(&fault));
    text_free(&out);
    arena_free(&arena);
}

static void check_refused(const char *text, const char *message) {
    Arena arena = {0};
    Fault *faults;
    uint32_t count;
    Err err = {{0}};
    check_fails(fault_parse_list(text, "--degrade", &arena, &faults, &count, &err), &err, message);
    arena_free(&arena);
}

static void test_fault_reads_what_is_left(void **state) {
    (void)state;
    check_written("rack[0].nvswitch[4]:down", "rack[0].nvswitch[4]:down");
    check_written("tray[0].gpu[1] > nvswitch[2] : down", "tray[0].gpu[1]>nvswitch[2]:down");
    check_written("nic[*]:50%", "nic[*]:50 %");
    check_written("nic[0,2]:12.5 %", "nic[0,2]:1/8"); // 12.5 of 100 in lowest terms
    check_written("gpu[3]>nvswitch[*]:17/18", "gpu[3]>nvswitch[*]:17/18");
    check_written("nic[0]:25GB/s", "nic[0]:25 GB/s");
    check_written("nic[0]:200 Gbit/s", "nic[0]:25 GB/s");
    check_written("gpu[0]>nvswitch[1]:cables-2", "gpu[0]>nvswitch[1]:cables-2");
}

// Commas inside brackets belong to the pattern.
static void test_fault_splits_a_list_at_commas(void **state) {
    (void)state;
    Arena arena = {0};
    Fault *faults = NULL;
    uint32_t count = 0;
    Err err = {{0}};
    check_ok(fault_parse_list("nic[0,2-3]:down, gpu[1]>leaf[0]:50%", "--degrade", &arena, &faults,
                              &count, &err),
             &err);
    assert_int_equal(count, 2);
    assert_string_equal(faults[0].from, "nic[0,2-3]");
    assert_string_equal(faults[0].to, "");
    assert_int_equal(faults[0].kind, FAULT_DOWN);
    assert_string_equal(faults[1].from, "gpu[1]");
    assert_string_equal(faults[1].to, "leaf[0]");
    assert_int_equal(faults[1].part, 1);
    assert_int_equal(faults[1].whole, 2);
    assert_string_equal(faults[1].place, "--degrade \"gpu[1]>leaf[0]:50%\"");
    arena_free(&arena);
}

static void test_fault_digest_is_of_the_meaning(void **state) {
    (void)state;
    Arena arena = {0};
    Fault half = read_one("nic[0]:50%", &arena), same = read_one("nic[ 0 ]:1/2", &arena),
          other = read_one("nic[0]:51%", &arena), ends = read_one("nic[0]>leaf:50%", &arena);
    assert_int_equal(fault_digest(&half), fault_digest(&same));
    assert_int_not_equal(fault_digest(&half), fault_digest(&other));
    assert_int_not_equal(fault_digest(&half), fault_digest(&ends));
    arena_free(&arena);
}

static void test_fault_refuses_with_the_reason(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "--degrade: expected a fault on both sides of each comma, found \"\""},
        {"nic[0]:down,",
         "--degrade: expected a fault on both sides of each comma, found \"nic[0]:down,\""},
        {"nic[0]", "--degrade \"nic[0]\": expected PART:LEFT or FROM>TO:LEFT, such as "
                   "tray[0].nic[1]:down"},
        {":down", "--degrade \":down\": expected the name of a part on the left of the colon"},
        {"gpu[0]>:down",
         "--degrade \"gpu[0]>:down\": expected the name of a part on both sides of >"},
        {"gpu[0]:down>nic[0]",
         "--degrade \"gpu[0]:down>nic[0]\": expected FROM>TO before the colon"},
        {"nic[0]:dwon", "--degrade \"nic[0]:dwon\": expected what is left: down, a share such as "
                        "50% or 17/18, a rate such as 25GB/s, or cables-1, found \"dwon\""},
        {"nic[0]:50", "--degrade \"nic[0]:50\": expected what is left: down, a share such as 50% "
                      "or 17/18, a rate such as 25GB/s, or cables-1, found \"50\""},
        {"nic[0]:cables-0",
         "--degrade \"nic[0]:cables-0\": expected what is left: down, a share such as 50% or "
         "17/18, a rate such as 25GB/s, or cables-1, found \"cables-0\""},
        {"nic[0]:100%", "--degrade \"nic[0]:100%\": expected a share above 0 and below 1, found "
                        "\"100%\""},
        {"nic[0]:0%",
         "--degrade \"nic[0]:0%\": expected a share above 0 and below 1, found \"0%\""},
        {"nic[0]:19/18",
         "--degrade \"nic[0]:19/18\": expected a share above 0 and below 1, found \"19/18\""},
        {"nic[0]:0B/s", "--degrade \"nic[0]:0B/s\": expected what is left: down, a share such as "
                        "50% or 17/18, a rate such as 25GB/s, or cables-1, found \"0B/s\""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        check_refused(bad[i].text, bad[i].message);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fault_reads_what_is_left),
        cmocka_unit_test(test_fault_splits_a_list_at_commas),
        cmocka_unit_test(test_fault_digest_is_of_the_meaning),
        cmocka_unit_test(test_fault_refuses_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
