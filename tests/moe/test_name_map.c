// Names in a map: found, repeated, many.
#include "tests/check.h"

#include "model/base/text.h"
#include "model/moe/name_map.h"

static void test_name_map_finds_positions(void **state) {
    (void)state;
    static const char *const names[] = {"model.norm", "",        "lm_head",   "model.norm",
                                        "a",          "lm_head", "model.norm"};
    Arena arena = {0};
    NameMap map;
    uint32_t count;
    name_map_build(names, 7, &arena, &map);
    assert_int_equal(name_map_find(&map, "model.norm"), 0);
    assert_int_equal(name_map_find(&map, ""), 1);
    assert_int_equal(name_map_find(&map, "a"), 4);
    assert_int_equal(name_map_find(&map, "model.nor"), NAME_NONE);
    const NameEntry *all = name_map_all(&map, "model.norm", &count);
    assert_int_equal(count, 3);
    assert_int_equal(all[0].item, 0);
    assert_int_equal(all[1].item, 3);
    assert_int_equal(all[2].item, 6);
    // the second "model.norm" stands before the second "lm_head"
    assert_int_equal(name_map_repeated(&map), 3);
    arena_free(&arena);
}

static void test_name_map_may_be_empty(void **state) {
    (void)state;
    static const char *const wanted[] = {"a", "b"};
    Arena arena = {0};
    NameMap map;
    NameRun runs[2];
    name_map_build(NULL, 0, &arena, &map);
    assert_int_equal(name_map_find(&map, "a"), NAME_NONE);
    assert_int_equal(name_map_repeated(&map), NAME_NONE);
    name_map_all_of(&map, wanted, 2, runs);
    assert_int_equal(runs[1].count, 0);
    arena_free(&arena);
}

// 100 times the same name lie in one bucket, among others; the batch and the single search agree.
static void test_name_map_many_equal_names(void **state) {
    (void)state;
    Arena arena = {0};
    NameMap map;
    const char *names[1000];
    NameRun runs[1000];
    for (uint32_t i = 0; i < 1000; i++)
        names[i] = i % 10 == 3 ? "same" : arena_printf(&arena, "layers.%u.weight", i);
    name_map_build(names, 1000, &arena, &map);
    name_map_all_of(&map, names, 1000, runs);
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t count;
        assert_ptr_equal(name_map_all(&map, names[i], &count), runs[i].entries);
        assert_int_equal(count, i % 10 == 3 ? 100 : 1);
        assert_int_equal(runs[i].count, count);
        assert_int_equal(runs[i].entries[0].item, i % 10 == 3 ? 3 : i);
        assert_int_equal(runs[i].entries[count - 1].item, i % 10 == 3 ? 993 : i);
    }
    assert_int_equal(name_map_repeated(&map), 13);
    arena_free(&arena);
}

// Blocks of 64 KiB: a string that does not fit begins a new one, longer ones have their own.
static void test_name_map_pool_keeps_strings(void **state) {
    (void)state;
    Arena arena = {0};
    NamePool pool = {.arena = &arena};
    const char *kept[5000];
    for (uint32_t i = 0; i < 5000; i++) {
        size_t room = i == 2500 ? 100000 : 32;
        char *at = name_map_room(&pool, room);
        memset(at, 'x', room);
        int length = snprintf(at, room, "name %u", i);
        name_map_keep(&pool, (size_t)length + 1);
        kept[i] = at;
    }
    for (uint32_t i = 0; i < 5000; i++) {
        char want[32];
        snprintf(want, sizeof want, "name %u", i);
        assert_string_equal(kept[i], want);
    }
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_name_map_finds_positions),
        cmocka_unit_test(test_name_map_may_be_empty),
        cmocka_unit_test(test_name_map_many_equal_names),
        cmocka_unit_test(test_name_map_pool_keeps_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
