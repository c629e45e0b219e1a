// Layers that share pages: sizes of groups, and what padding and pages lose.
#include "tests/check.h"

#include "model/plan/memory_lengths.h"
#include "model/plan/memory_page.h"
#include "tests/plan/hand_arch.h"
#include "tests/plan/hand_plan.h"

// Full layers and layers with a window of 128 tokens, 2,048 B per token each.
static MemoryPages stack(uint32_t full, uint32_t window) {
    MemoryPages pages = {.kind_count = 2};
    pages.kinds[0] = (MemoryKind){.layer = {.token_B = 2048, .split = 1}, .layers = full};
    pages.kinds[1] =
        (MemoryKind){.layer = {.token_B = 2048, .window = 128, .split = 1}, .layers = window};
    return pages;
}

static void check_grouping(uint32_t full, uint32_t window, MemoryGrouping grouping, uint32_t group,
                           uint32_t padding, double percent) {
    MemoryPages pages = stack(full, window);
    uint64_t part, whole;
    memory_page_make(&pages, grouping, 16);
    memory_page_share(&pages, &part, &whole);
    assert_int_equal(pages.group_layers, group);
    assert_int_equal(memory_page_padding(&pages), padding);
    check_close(100.0 * (double)part / (double)whole, percent, 1e-3);
}

// vllm-project/vllm#29303: 19 full and 18 window layers. Groups of 18 need 2 x 18 - 19 = 17 layers
// of padding, 17 / 19 = 89.47 % of the full ones; groups of 19 one, 1 / 18 = 5.56 %. 19 < 1.25 x
// 18, and no other size does better with 8 groups.
static void test_memory_groups_nearly_equal_kinds(void **state) {
    (void)state;
    check_grouping(19, 18, MEMORY_GROUPING_SMALLEST, 18, 17, 89.4737);
    check_grouping(19, 18, MEMORY_GROUPING_NEAR, 19, 1, 5.5556);
    check_grouping(19, 18, MEMORY_GROUPING_BEST, 19, 1, 5.5556);
    check_grouping(19, 18, MEMORY_GROUPING_COMMON, 1, 0, 0);
}

// vllm-project/vllm#56445: 20 full and 30 window layers lose 2 x 20 - 30 = 10 of 30 = 33.3 % in
// groups of 20, 10 and 16 lose 2 x 10 - 16 = 4 of 16 = 25 % in groups of 10; groups of the common
// divisor lose nothing.
static void test_memory_groups_of_the_common_divisor(void **state) {
    (void)state;
    check_grouping(20, 30, MEMORY_GROUPING_SMALLEST, 20, 10, 33.3333);
    check_grouping(20, 30, MEMORY_GROUPING_NEAR, 20, 10, 33.3333);
    check_grouping(20, 30, MEMORY_GROUPING_COMMON, 10, 0, 0);
    check_grouping(20, 30, MEMORY_GROUPING_BEST, 10, 0, 0);
    check_grouping(10, 16, MEMORY_GROUPING_SMALLEST, 10, 4, 25);
    check_grouping(10, 16, MEMORY_GROUPING_COMMON, 2, 0, 0);
}

// In groups of 18 a sequence of 1,000 tokens has 63 pages in each of 2 groups of full layers and 9
// in the one of window layers; a block is 18 x 16 x 2,048 B. Without groups it takes 19 x 1,000 and
// 18 x 128 tokens.
static void test_memory_pages_of_a_sequence(void **state) {
    (void)state;
    MemoryPages pages = stack(19, 18);
    memory_page_make(&pages, MEMORY_GROUPING_SMALLEST, 16);
    assert_int_equal(memory_page_cache_B(&pages, 1000), (2 * 63 + 9) * 18 * 16 * 2048);
    assert_int_equal(memory_page_used_B(&pages, 1000), (19 * 1000 + 18 * 128) * 2048);
    memory_page_make(&pages, MEMORY_GROUPING_SEPARATE, 16);
    assert_int_equal(memory_page_cache_B(&pages, 1000), (19 * 63 + 18 * 9) * 16 * 2048);
}

// Qwen3.6-35B-A3B (vllm-project/vllm#46251): 10 full layers of 2,048 B per token, 30 with a state
// of 2,146,304 B. The state needs 1,048 tokens of a page; in whole blocks of 16 that is 1,056
// tokens, where separate pools keep 16. A sequence of 1,057 tokens has two such pages in the one
// group of full layers and one in each of the 3 groups of states.
static void test_memory_pages_grow_to_hold_a_state(void **state) {
    (void)state;
    MemoryPages pages = {.kind_count = 2};
    pages.kinds[0] = (MemoryKind){.layer = {.token_B = 2048, .split = 1}, .layers = 10};
    pages.kinds[1] = (MemoryKind){.layer = {.state_B = 2146304, .split = 1}, .layers = 30};
    memory_page_make(&pages, MEMORY_GROUPING_NEAR, 16);
    assert_int_equal(pages.kinds[0].page_tokens, 1056);
    assert_int_equal(pages.page_B, 1056 * 2048);
    assert_int_equal(memory_page_cache_B(&pages, 1057), 2 * 10 * 1056 * 2048);
    assert_int_equal(memory_page_state_B(&pages), 3 * 10 * 1056 * 2048);
    memory_page_make(&pages, MEMORY_GROUPING_SEPARATE, 16);
    assert_int_equal(pages.kinds[0].page_tokens, 16);
    assert_int_equal(memory_page_cache_B(&pages, 1057), 10 * 67 * 16 * 2048);
    assert_int_equal(memory_page_state_B(&pages), 30 * 2146304);
}

// 8 window heads of 5,120 B per token beside full ones of 2,560 B: a page of 16 tokens of the
// former holds 32 of the latter.
static void test_memory_pages_have_equal_bytes(void **state) {
    (void)state;
    MemoryPages pages = stack(9, 39);
    pages.kinds[0].layer.token_B = 2560;
    pages.kinds[1].layer.token_B = 5120;
    memory_page_make(&pages, MEMORY_GROUPING_NEAR, 16);
    assert_int_equal(pages.page_B, 16 * 5120);
    assert_int_equal(pages.kinds[0].page_tokens, 32);
    assert_int_equal(pages.kinds[1].page_tokens, 16);
}

// Kinds that keep every token make one group whatever their bytes: 78 latents of which 21 have
// index keys, as in GLM-5.2, lose nothing but the last page.
static void test_memory_pages_of_kinds_that_keep_all(void **state) {
    (void)state;
    MemoryPages pages = {.kind_count = 2};
    pages.kinds[0] = (MemoryKind){.layer = {.token_B = 656 + 132, .split = 1}, .layers = 21};
    pages.kinds[1] = (MemoryKind){.layer = {.token_B = 656, .split = 1}, .layers = 57};
    memory_page_make(&pages, MEMORY_GROUPING_NEAR, 64);
    assert_int_equal(memory_page_padding(&pages), 0);
    assert_int_equal(memory_page_cache_B(&pages, 64), 64 * 53940);
    assert_int_equal(memory_page_cache_B(&pages, 65), 128 * 53940);
}

// 6 layers of KDA and 2 of MLA are two kinds; the stage is that of all layers.
static void test_memory_pages_of_a_stage(void **state) {
    (void)state;
    Arch arch;
    Err err = {0};
    MemoryPages pages;
    hand_arch_kimi_small(&arch);
    Plan plan = hand_plan(1, 1, 1, 1);
    check_ok(memory_page_of_stage(&plan.pools[0], &arch, 0, MEMORY_GROUPING_NEAR, 64, &pages, &err),
             &err);
    assert_int_equal(pages.kind_count, 2);
    assert_int_equal(pages.kinds[0].layers + pages.kinds[1].layers, 8);
    assert_int_equal(pages.group_layers, 2);
    arch_free(&arch);
}

// Lengths 1 to 16 in pages of 16 take a page each: 16 x 16 tokens for 1 + ... + 16 = 136. Means are
// rounded down: 136 x 2,048 / 16 = 17,408 B.
static void test_memory_lengths_lose_the_last_page(void **state) {
    (void)state;
    Arena arena = {0};
    Err err = {0};
    MemoryLengths lengths;
    uint64_t taken, used;
    MemoryPages pages = {.kind_count = 1};
    pages.kinds[0] = (MemoryKind){.layer = {.token_B = 2048, .split = 1}, .layers = 1};
    memory_page_make(&pages, MEMORY_GROUPING_NEAR, 16);
    check_ok(memory_lengths_read("uniform:1-16", &arena, &lengths, &err), &err);
    memory_lengths_mean(&lengths, &pages, &taken, &used);
    assert_int_equal(taken, 16 * 2048);
    assert_int_equal(used, 17408);
    check_ok(memory_lengths_parse("list", "1\n17\n", 5, &arena, &lengths, &err), &err);
    memory_lengths_mean(&lengths, &pages, &taken, &used);
    assert_int_equal(taken, (16 + 32) / 2 * 2048);
    assert_int_equal(used, 9 * 2048);
    arena_free(&arena);
}

static void test_memory_lengths_refuse_what_is_none(void **state) {
    (void)state;
    Arena arena = {0};
    Err err = {0};
    MemoryLengths lengths;
    check_fails(memory_lengths_read("uniform:9-3", &arena, &lengths, &err), &err,
                "expected the shorter length first, found \"9-3\"");
    check_fails(memory_lengths_read("uniform:9", &arena, &lengths, &err), &err,
                "expected lengths such as 1000-8000, found \"9\"");
    check_fails(memory_lengths_read("fixed:0", &arena, &lengths, &err), &err,
                "expected 1 to 2^40 tokens, found 0");
    check_fails(memory_lengths_parse("list", "", 0, &arena, &lengths, &err), &err,
                "list: no lengths, expected one a line");
    check_fails(memory_lengths_parse("list", "5\n\n", 3, &arena, &lengths, &err), &err,
                "list:2: expected a length in tokens such as 4096");
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_groups_nearly_equal_kinds),
        cmocka_unit_test(test_memory_groups_of_the_common_divisor),
        cmocka_unit_test(test_memory_pages_of_a_sequence),
        cmocka_unit_test(test_memory_pages_grow_to_hold_a_state),
        cmocka_unit_test(test_memory_pages_have_equal_bytes),
        cmocka_unit_test(test_memory_pages_of_kinds_that_keep_all),
        cmocka_unit_test(test_memory_pages_of_a_stage),
        cmocka_unit_test(test_memory_lengths_lose_the_last_page),
        cmocka_unit_test(test_memory_lengths_refuse_what_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
