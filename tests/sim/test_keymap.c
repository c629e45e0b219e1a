// Keys to indices: what was added is found, through growth and where slots collide.
#include "tests/check.h"

#include "sim/keymap.h"

static void test_keymap_empty_finds_nothing(void **state) {
    (void)state;
    KeyMap map = {0};
    assert_int_equal(keymap_find(&map, 0), KEYMAP_NONE);
    keymap_free(&map);
    keymap_free(&map);
}

// 1,000 keys with the same low 32 bits want the same slot at every capacity.
static void test_keymap_keeps_apart_keys_of_one_slot(void **state) {
    (void)state;
    KeyMap map = {0};
    for (uint64_t i = 0; i < 1000; i++) keymap_add(&map, i << 32 | 7, (uint32_t)i);
    for (uint64_t i = 0; i < 1000; i++) assert_int_equal(keymap_find(&map, i << 32 | 7), i);
    assert_int_equal(keymap_find(&map, UINT64_C(1000) << 32 | 7), KEYMAP_NONE);
    assert_int_equal(keymap_find(&map, 8), KEYMAP_NONE);
    keymap_free(&map);
}

// Keys 0 and 2^64 - 1 are keys like any other.
static void test_keymap_takes_any_key(void **state) {
    (void)state;
    KeyMap map = {0};
    keymap_add(&map, 0, 5);
    keymap_add(&map, UINT64_MAX, 6);
    assert_int_equal(keymap_find(&map, 0), 5);
    assert_int_equal(keymap_find(&map, UINT64_MAX), 6);
    keymap_free(&map);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keymap_empty_finds_nothing),
        cmocka_unit_test(test_keymap_keeps_apart_keys_of_one_slot),
        cmocka_unit_test(test_keymap_takes_any_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
