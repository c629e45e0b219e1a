// Placement of experts with redundancy.
#include "tests/check.h"

#include "model/plan/eplb.h"
#include "model/plan/routing.h"

static Load load_of(uint32_t layers, uint32_t experts, const uint64_t *tokens) {
    Load load = {0};
    Err err = {0};
    check_ok(load_of_counts(layers, 1, experts, tokens, "by hand", &load, &err), &err);
    return load;
}

// Loads 90, 40, 20, 10; 2 redundant slots, 2 GPUs of 3 slots. The first replica goes to expert 0
// (90), the second again to it (45 beside 40): 30, 30, 30, 40, 20, 10. Heaviest first into the
// lighter GPU with room: 40 to A, 30 to B, 30 to B (30 < 40), 30 to A (40 < 60), 20 to B (60 < 70;
// B is full: 80), 10 to A: 80. Both have 80.
static void test_eplb_by_hand(void **state) {
    (void)state;
    Load load = load_of(1, 4, (uint64_t[]){90, 40, 20, 10}), slots = {0};
    Eplb eplb = {0};
    Err err = {0};
    check_ok(eplb_place(&load, &(EplbSpec){.gpus = 2, .nodes = 1, .redundant = 2}, &eplb, &err),
             &err);
    const uint32_t replicas[] = {3, 1, 1, 1}, experts[] = {1, 0, 3, 0, 0, 2};
    assert_memory_equal(eplb.replicas, replicas, sizeof replicas);
    assert_memory_equal(eplb.expert_of_slot, experts, sizeof experts);
    check_ok(eplb_slots(&load, &eplb, &slots, &err), &err);
    const uint64_t tokens[] = {40, 30, 10, 30, 30, 20};
    assert_memory_equal(slots.tokens, tokens, sizeof tokens);
    check_close(eplb_balance(&load, 0, 2), 80 / 130.0, 1e-15); // 90 + 40 beside 20 + 10
    check_close(eplb_balance(&slots, 0, 2), 1, 0);
    assert_string_equal(slots.origin, "by hand, placed on 2 GPUs with 2 redundant");
    load_free(&slots);
    eplb_free(&eplb);
    load_free(&load);
}

// 4 groups of 2 on 2 nodes of 2 GPUs, two redundant a node: group loads 60, 50, 30, 4. 60 to node
// 0, 50 to node 1, 30 to node 1 (50 < 60), 4 to node 0. Node 0: groups 0 and 3, loads 50, 10, 3, 1:
// replicas of expert 0 (25, 25) and again of expert 0? The two redundant slots of the node: 50 ->
// 25
// -> 17. Node 1: groups 1 and 2, loads 40, 10, 16, 14: 40 -> 20 -> 13.3.
static void test_eplb_groups_stay_on_a_node(void **state) {
    (void)state;
    Load load = load_of(1, 8, (uint64_t[]){50, 10, 40, 10, 16, 14, 3, 1});
    Eplb eplb = {0};
    Err err = {0};
    EplbSpec spec = {.gpus = 4, .nodes = 2, .groups = 4, .redundant = 4};
    check_ok(eplb_place(&load, &spec, &eplb, &err), &err);
    const uint32_t replicas[] = {3, 1, 3, 1, 1, 1, 1, 1};
    assert_memory_equal(eplb.replicas, replicas, sizeof replicas);
    for (uint32_t slot = 0; slot < 12; slot++) {
        uint32_t group = eplb.expert_of_slot[slot] / 2, node = slot / 6;
        assert_int_equal(node, group == 0 || group == 3 ? 0 : 1);
    }
    // node 0: 16.7 x 3, 10, 3, 1 on two GPUs of 3. 16.7 A, 16.7 B, 16.7 A, 10 B, 3 B (26.7 < 33.3),
    // 1 A
    const uint32_t first[] = {0, 0, 7, 0, 1, 6};
    assert_memory_equal(eplb.expert_of_slot, first, sizeof first);
    eplb_free(&eplb);
    load_free(&load);
}

// 7 tokens on 3 replicas: 3, 2, 2, by source.
static void test_eplb_left_over_tokens_go_to_the_first_replicas(void **state) {
    (void)state;
    Load load = {0}, slots = {0};
    Err err = {0};
    Eplb eplb = {0};
    const uint64_t tokens[] = {7, 0, 2, 1};
    check_ok(load_of_counts(1, 2, 2, tokens, "", &load, &err), &err);
    check_ok(eplb_place(&load, &(EplbSpec){.gpus = 2, .nodes = 1, .redundant = 2}, &eplb, &err),
             &err);
    check_ok(eplb_slots(&load, &eplb, &slots, &err), &err);
    assert_int_equal(slots.sources, 2);
    assert_int_equal(eplb.replicas[0], 3);
    uint64_t of_source[2] = {0};
    for (uint32_t s = 0, seen = 0; s < 4; s++) {
        if (eplb.expert_of_slot[s] != 0) continue;
        assert_int_equal(slots.tokens[s], seen++ == 0 ? 3 : 2);
        of_source[0] += slots.tokens[s];
        of_source[1] += slots.tokens[4 + s];
    }
    assert_int_equal(of_source[0], 7);
    assert_int_equal(of_source[1], 2);
    load_free(&slots);
    eplb_free(&eplb);
    load_free(&load);
}

// ---- Sampled loads: what must hold for any.

static void check_placement(const Load *load, const EplbSpec *spec) {
    Eplb eplb = {0};
    Load slots = {0};
    Err err = {0};
    check_ok(eplb_place(load, spec, &eplb, &err), &err);
    check_ok(eplb_slots(load, &eplb, &slots, &err), &err);
    for (uint32_t layer = 0; layer < load->layers; layer++) {
        uint32_t held[64] = {0}, total = 0;
        for (uint32_t s = 0; s < eplb.slots; s++)
            held[eplb.expert_of_slot[layer * eplb.slots + s]]++;
        for (uint32_t e = 0; e < load->experts; e++) {
            assert_true(held[e] >= 1);
            assert_int_equal(held[e], eplb.replicas[layer * load->experts + e]);
            total += held[e];
        }
        assert_int_equal(total, load->experts + spec->redundant);
        uint64_t part, before, after;
        load_share(load, layer, load->experts, 0, 0, &part, &before);
        load_share(&slots, layer, eplb.slots, 0, 0, &part, &after);
        assert_int_equal(before, after);
        assert_true(eplb_balance(&slots, layer, spec->gpus) >=
                    eplb_balance(load, layer, spec->gpus));
    }
    load_free(&slots);
    eplb_free(&eplb);
}

// 64 experts, four in 64 chosen; every seed and law here is better balanced than in order of
// number.
static void test_eplb_is_never_worse_than_in_order(void **state) {
    (void)state;
    const EplbSpec specs[] = {{8, 1, 0, 0}, {8, 1, 0, 16}, {16, 2, 8, 16}, {16, 4, 8, 64}};
    for (uint64_t seed = 1; seed <= 10; seed++) {
        RoutingSpec spec = {.rule = {64, 4, 0, 0},
                            .law = {seed % 2 ? ROUTING_ZIPF : ROUTING_LOGNORMAL, 0.8},
                            .seed = seed,
                            .layers = 3,
                            .sources = 2,
                            .tokens = 500};
        Routing routing = {0};
        Err err = {0};
        check_ok(routing_sample(&spec, &routing, &err), &err);
        for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
            check_placement(&routing.load, &specs[i]);
        routing_free(&routing);
    }
}

static void check_bad(const Load *load, EplbSpec spec, const char *message) {
    Eplb eplb = {0};
    Err err = {0};
    check_fails(eplb_place(load, &spec, &eplb, &err), &err, message);
}

static void test_eplb_refuses_uneven_slots(void **state) {
    (void)state;
    Load load = load_of(1, 4, (uint64_t[]){1, 1, 1, 1}), uniform = load_uniform();
    check_bad(&load, (EplbSpec){4, 1, 0, 2},
              "4 experts and 2 redundant ones are not the same number on 4 GPUs; with 4 redundant "
              "ones they are");
    check_bad(&load, (EplbSpec){0, 1, 0, 0}, "expected at least one GPU, found none");
    check_bad(&load, (EplbSpec){4, 3, 0, 0}, "4 GPUs are not the same number on 3 nodes");
    check_bad(&load, (EplbSpec){4, 1, 3, 0}, "4 experts are not the same number in 3 groups");
    check_bad(&load, (EplbSpec){1, 1, 0, UINT32_MAX},
              "4294967299 replicas of experts, expected at most 8192");
    check_bad(&uniform, (EplbSpec){1, 1, 0, 0},
              "a uniform load has nothing to balance, expected a recorded one");
    load_free(&load);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eplb_by_hand),
        cmocka_unit_test(test_eplb_groups_stay_on_a_node),
        cmocka_unit_test(test_eplb_left_over_tokens_go_to_the_first_replicas),
        cmocka_unit_test(test_eplb_is_never_worse_than_in_order),
        cmocka_unit_test(test_eplb_refuses_uneven_slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
