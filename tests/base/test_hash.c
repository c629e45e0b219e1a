// FNV-1a against published vectors.
#include "model/base/hash.h"
#include "tests/check.h"

// The vectors of draft-eastlake-fnv, appendix C, 64-bit FNV-1a.
static void test_hash_equals_published_vectors(void **state) {
    (void)state;
    assert_true(hash_bytes(HASH_START, "", 0) == UINT64_C(0xcbf29ce484222325));
    assert_true(hash_bytes(HASH_START, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(hash_bytes(HASH_START, "foobar", 6) == UINT64_C(0x85944171f73967e8));
}

static void test_hash_u64_is_little_endian_everywhere(void **state) {
    (void)state;
    const unsigned char bytes[] = {8, 7, 6, 5, 4, 3, 2, 1};
    assert_true(hash_u64(HASH_START, UINT64_C(0x0102030405060708)) ==
                hash_bytes(HASH_START, bytes, 8));
}

// A value of every length, from no byte that counts to eight: leading zeros are bytes like others.
static void test_hash_u64_mixes_zero_bytes(void **state) {
    (void)state;
    uint64_t value = 0;
    for (uint32_t length = 0; length <= 8; length++) {
        unsigned char bytes[8] = {0};
        for (uint32_t i = 0; i < 8; i++) bytes[i] = (unsigned char)(value >> 8 * i & 0xff);
        assert_true(hash_u64(HASH_START, value) == hash_bytes(HASH_START, bytes, 8));
        value = value << 8 | (0xa0 + length);
    }
}

static void test_hash_string_keeps_boundaries(void **state) {
    (void)state;
    Digest left = hash_string(hash_string(HASH_START, "ab"), "c");
    Digest right = hash_string(hash_string(HASH_START, "a"), "bc");
    assert_true(left != right);
    assert_true(left == hash_bytes(HASH_START, "ab\0c", 5));
}

// The first number of splitmix64 with seed 0, as published with it: the spread of 2^64 / phi.
static void test_hash_spread_is_the_finaliser_of_splitmix64(void **state) {
    (void)state;
    assert_true(hash_spread(UINT64_C(0x9e3779b97f4a7c15)) == UINT64_C(0xe220a8397b1dcdaf));
    assert_true(hash_spread(0) == 0);
}

static void test_hash_format_has_16_digits(void **state) {
    (void)state;
    char buffer[17];
    assert_string_equal(hash_format(0xabc, buffer), "0000000000000abc");
    assert_string_equal(hash_format(UINT64_C(0xfedcba9876543210), buffer), "fedcba9876543210");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash_equals_published_vectors),
        cmocka_unit_test(test_hash_u64_is_little_endian_everywhere),
        cmocka_unit_test(test_hash_u64_mixes_zero_bytes),
        cmocka_unit_test(test_hash_string_keeps_boundaries),
        cmocka_unit_test(test_hash_spread_is_the_finaliser_of_splitmix64),
        cmocka_unit_test(test_hash_format_has_16_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
