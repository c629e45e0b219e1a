// Loads with few different ranks.
#include "tests/check.h"

#include "model/plan/load_classes.h"

// 8 experts on 4 ranks: 1 + 3, 20 + 4, 6 + 0, 2 + 8 of 44. Rank 1 keeps 24 (12 for each expert),
// the others share 20: 20 / 6 for each expert, so rank 1 has 24 of 44 again, to 2^-20 of a token.
static void test_load_classes_keep_the_hottest_rank(void **state) {
    (void)state;
    const uint64_t tokens[] = {1, 3, 20, 4, 6, 0, 2, 8};
    Load load = {0}, two = {0};
    Err err = {0};
    double error;
    check_ok(load_of_counts(1, 1, 8, tokens, "by hand", &load, &err), &err);
    check_ok(load_classes_reduce(&load, &(LoadClasses){.ranks = 4, .classes = LOAD_CLASSES_DEFAULT},
                                 &two, &error, &err),
             &err);
    for (uint32_t e = 0; e < 8; e++)
        check_close((double)two.tokens[e] / 1048576, e / 2 == 1 ? 12 : 20 / 6.0, 1e-6);
    assert_true(two.tokens[0] == two.tokens[7]);
    assert_true(error < 1e-6);
    assert_string_equal(two.origin, "by hand, 2 classes of 4 ranks");
    load_free(&load);
    load_free(&two);
}

// One class: all alike, 11 tokens a rank; the hottest had 24, an error of 13 / 24. Three: rank 3
// keeps its 10 too. Eight: more classes than ranks, every rank its own.
static void test_load_classes_state_their_error(void **state) {
    (void)state;
    const uint64_t tokens[] = {1, 3, 20, 4, 6, 0, 2, 8};
    Load load = {0}, out = {0};
    Err err = {0};
    double error;
    check_ok(load_of_counts(1, 1, 8, tokens, "by hand", &load, &err), &err);
    check_ok(
        load_classes_reduce(&load, &(LoadClasses){.ranks = 4, .classes = 1}, &out, &error, &err),
        &err);
    check_close(error, 13 / 24.0, 1e-6);
    load_free(&out);
    check_ok(
        load_classes_reduce(&load, &(LoadClasses){.ranks = 4, .classes = 3}, &out, &error, &err),
        &err);
    check_close((double)out.tokens[6] / 1048576, 5, 1e-6);
    check_close((double)out.tokens[0] / 1048576, 2.5, 1e-6);
    load_free(&out);
    check_ok(
        load_classes_reduce(&load, &(LoadClasses){.ranks = 4, .classes = 8}, &out, &error, &err),
        &err);
    check_close((double)out.tokens[0] / 1048576, 2, 1e-6);
    check_close((double)out.tokens[4] / 1048576, 3, 1e-6);
    load_free(&out);
    check_fails(
        load_classes_reduce(&load, &(LoadClasses){.ranks = 9, .classes = 2}, &out, &error, &err),
        &err, "a load of 8 experts has no 2 classes of 9 ranks");
    load_free(&load);
}

// 4 ranks, two layers of which are alike: tokens by rank 24, 8, 6, 2 of 40 and 4, 10, 2, 64 of 80.
// Sorted and brought to 40: 24, 8, 6, 2 and 32, 5, 2, 1. Together 56, 13, 8, 3 of 80 in the order
// of the first layer; the hottest keeps 56, the others get 24 / 3 = 8 each, so 0.7 and 0.1 of a
// layer: the mean of 24 / 40 and 64 / 80. The third layer is alone and keeps its 20 of 40.
static void test_load_classes_of_alike_layers_are_their_mean(void **state) {
    (void)state;
    const uint64_t tokens[] = {24, 8, 6, 2, 4, 10, 2, 64, 5, 5, 20, 10};
    const uint32_t alike[] = {7, 7, 9};
    Load load = {0}, out = {0};
    Err err = {0};
    double error;
    LoadClasses spec = {.ranks = 4, .classes = 2, .alike = alike};
    check_ok(load_of_counts(3, 1, 4, tokens, "by hand", &load, &err), &err);
    check_ok(load_classes_reduce(&load, &spec, &out, &error, &err), &err);
    const double want[3][4] = {
        {0.7, 0.1, 0.1, 0.1}, {0.7, 0.1, 0.1, 0.1}, {1 / 6.0, 1 / 6.0, 0.5, 1 / 6.0}};
    for (uint32_t layer = 0; layer < 3; layer++) {
        for (uint32_t e = 0; e < 4; e++) {
            uint64_t part, whole;
            load_share(&out, layer, 4, e, 1, &part, &whole);
            check_close((double)part / (double)whole, want[layer][e], 1e-6);
        }
    }
    assert_true(error < 1e-6);
    load_free(&out);
    load_free(&load);
}

// 8 layers on 2 stages, of which one in four has another kind of attention: the layers with experts
// are alike by stage and kind. Two rows more than the model has are each alone.
static void test_load_classes_alike_are_the_blocks_of_a_schedule(void **state) {
    (void)state;
    MlpSpec mlps[] = {{.experts = 0}, {.experts = 8}};
    LayerKind kinds[] = {{.mlp = 0}, {.mlp = 1}, {.mlp = 1}};
    uint32_t kind_of_layer[] = {0, 1, 1, 2, 1, 1, 1, 2};
    Arch arch = {.mlps = mlps,
                 .mlp_count = 2,
                 .kinds = kinds,
                 .kind_count = 3,
                 .layers = 8,
                 .kind_of_layer = kind_of_layer};
    Pool pool = {.pp = 2};
    Arena arena = {0};
    const uint32_t *alike = load_classes_alike(&pool, &arch, 9, &arena);
    const uint32_t same[9] = {0, 0, 2, 3, 3, 3, 6, 7, 8}; // the first that is alike
    for (uint32_t i = 0; i < 9; i++) {
        uint32_t first = 0;
        while (alike[first] != alike[i]) first++;
        assert_int_equal(first, same[i]);
    }
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load_classes_keep_the_hottest_rank),
        cmocka_unit_test(test_load_classes_state_their_error),
        cmocka_unit_test(test_load_classes_of_alike_layers_are_their_mean),
        cmocka_unit_test(test_load_classes_alike_are_the_blocks_of_a_schedule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
