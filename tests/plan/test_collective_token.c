// Routed tokens on real numbers: what arrives by node and rail is what arrives directly.
#include "tests/check.h"

#include "model/base/rng.h"
#include "model/plan/collective_token.h"

#define RANKS  12
#define TOKENS 40 // of each rank

typedef struct Token {
    uint32_t source, count;
    uint32_t targets[RANKS];
} Token;

static Token random_token(Rng *rng, uint32_t source) {
    Token token = {.source = source};
    for (uint32_t rank = 0; rank < RANKS; rank++)
        if (rng_below(rng, 3) == 0) token.targets[token.count++] = rank;
    return token;
}

// Copies of the token that each rank has, and what crosses nodes.
static uint32_t dispatch(CollectiveShape shape, const Token *token, uint32_t *copies) {
    uint32_t crossing = 0;
    bool holds[RANKS] = {0};
    holds[token->source] = true;
    for (uint32_t step = 0; step < collective_steps(shape); step++) {
        TokenHop hops[RANKS];
        uint32_t count =
            collective_token_hops(shape, step, token->source, token->targets, token->count, hops);
        for (uint32_t i = 0; i < count; i++) {
            assert_true(holds[hops[i].from]); // nobody hands on what it does not have
            if (step + 1 == collective_steps(shape)) copies[hops[i].to]++;
            crossing += hops[i].from / shape.inner != hops[i].to / shape.inner;
        }
        for (uint32_t i = 0; i < count; i++) holds[hops[i].to] = true;
    }
    return crossing;
}

static uint32_t other_nodes(const Token *token, uint32_t inner) {
    bool hit[RANKS] = {0};
    uint32_t count = 0;
    for (uint32_t i = 0; i < token->count; i++) hit[token->targets[i] / inner] = true;
    for (uint32_t node = 0; node < RANKS; node++)
        count += hit[node] && node != token->source / inner;
    return count;
}

static CollectiveShape shape_of(Algorithm algorithm, uint32_t inner, HierarchyOrder order) {
    return (CollectiveShape){COLLECTIVE_ALL_TO_ALL, algorithm, RANKS, inner, order};
}

// Each target gets each token once, both ways; over the rails goes one copy for each other node.
static void test_collective_token_dispatch_equals_direct(void **state) {
    (void)state;
    Rng rng;
    rng_seed(&rng, 7);
    for (uint32_t i = 0; i < RANKS * TOKENS; i++) {
        Token token = random_token(&rng, i % RANKS);
        for (uint32_t inner = 2; inner <= RANKS; inner++) {
            if (RANKS % inner != 0) continue;
            uint32_t direct[RANKS] = {0}, by_rail[RANKS] = {0};
            dispatch(shape_of(ALGORITHM_DIRECT, inner, RAIL_FIRST), &token, direct);
            uint32_t crossing =
                dispatch(shape_of(ALGORITHM_HIERARCHICAL, inner, RAIL_FIRST), &token, by_rail);
            assert_memory_equal(direct, by_rail, sizeof direct);
            assert_int_equal(crossing, other_nodes(&token, inner));
        }
    }
}

// Whole numbers: what target t computed for the token is added on the way. A rank hands on what it
// has gathered before the step, its own result with it when it is a target.
static uint64_t combine(CollectiveShape shape, const Token *token, uint32_t *crossing) {
    uint64_t held[RANKS] = {0};
    for (uint32_t i = 0; i < token->count; i++)
        held[token->targets[i]] = 1000 * (uint64_t)token->targets[i] + token->source;
    for (uint32_t step = 0; step < collective_steps(shape); step++) {
        TokenHop hops[RANKS];
        uint64_t next[RANKS];
        uint32_t count =
            collective_token_hops(shape, step, token->source, token->targets, token->count, hops);
        memcpy(next, held, sizeof next);
        for (uint32_t i = 0; i < count; i++) {
            if (hops[i].from == hops[i].to) continue;
            next[hops[i].to] += held[hops[i].from];
            next[hops[i].from] -= held[hops[i].from];
            *crossing += hops[i].from / shape.inner != hops[i].to / shape.inner;
        }
        memcpy(held, next, sizeof held);
    }
    for (uint32_t rank = 0; rank < RANKS; rank++)
        assert_true(rank == token->source || held[rank] == 0); // nothing is left on the way
    return held[token->source];
}

static void test_collective_token_combine_equals_direct(void **state) {
    (void)state;
    Rng rng;
    rng_seed(&rng, 11);
    for (uint32_t i = 0; i < RANKS * TOKENS; i++) {
        Token token = random_token(&rng, i % RANKS);
        for (uint32_t inner = 2; inner <= RANKS; inner++) {
            if (RANKS % inner != 0) continue;
            uint32_t crossing = 0, crossing_direct = 0;
            uint64_t by_rail =
                combine(shape_of(ALGORITHM_HIERARCHICAL, inner, NODE_FIRST), &token, &crossing);
            uint64_t direct =
                combine(shape_of(ALGORITHM_DIRECT, inner, NODE_FIRST), &token, &crossing_direct);
            assert_true(by_rail == direct);
            assert_int_equal(crossing, other_nodes(&token, inner));
            assert_true(crossing <= crossing_direct);
        }
    }
}

// Two nodes of 4; the token of rank 1 goes to ranks 0, 4, 6 and 7: once over the rail to rank 5,
// from there to 4, 6 and 7.
static void test_collective_token_of_two_nodes(void **state) {
    (void)state;
    CollectiveShape shape = {COLLECTIVE_ALL_TO_ALL, ALGORITHM_HIERARCHICAL, 8, 4, RAIL_FIRST};
    const uint32_t targets[] = {0, 4, 6, 7};
    TokenHop hops[4];
    assert_int_equal(collective_token_hops(shape, 0, 1, targets, 4, hops), 1);
    assert_int_equal(hops[0].from, 1);
    assert_int_equal(hops[0].to, 5);
    assert_int_equal(collective_token_hops(shape, 1, 1, targets, 4, hops), 4);
    assert_int_equal(hops[0].from, 1);
    assert_int_equal(hops[0].to, 0);
    assert_int_equal(hops[3].from, 5);
    assert_int_equal(hops[3].to, 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collective_token_dispatch_equals_direct),
        cmocka_unit_test(test_collective_token_combine_equals_direct),
        cmocka_unit_test(test_collective_token_of_two_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
