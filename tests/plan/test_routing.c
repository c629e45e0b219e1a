// The routing simulator: samples against exact distributions, at fixed seeds.
#include "tests/check.h"

#include "model/base/rng.h"
#include "model/plan/routing.h"

// Chance of one-sided error of each bound below; some hundred are checked.
#define TAIL 1e-7

static Routing sample(const RoutingSpec *spec) {
    Routing routing = {0};
    Err err = {0};
    check_ok(routing_sample(spec, &routing, &err), &err);
    return routing;
}

// Binomial(n, p) is inside [*low, *high] but for TAIL on each side; by summing its terms.
static void binomial_bounds(uint64_t n, double p, uint64_t *low, uint64_t *high) {
    double below = 0, total = 0;
    *low = *high = n;
    bool has_low = false;
    for (uint64_t k = 0; k <= n; k++) {
        double term =
            exp(lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1) +
                (double)k * log(p) + (double)(n - k) * log1p(-p));
        below = total;
        total += term;
        if (!has_low && total > TAIL) *low = k, has_low = true;
        if (below < 1 - TAIL && total >= 1 - TAIL) *high = k;
    }
}

static void check_binomial(uint64_t count, uint64_t n, double p) {
    uint64_t low, high;
    binomial_bounds(n, p, &low, &high);
    if (count < low || count > high)
        fail_msg("%llu of %llu with chance %g, expected %llu to %llu", (unsigned long long)count,
                 (unsigned long long)n, p, (unsigned long long)low, (unsigned long long)high);
}

// 4 of 16 experts: each is chosen by a quarter of the tokens; 3 layers, 2 sources of half the
// tokens.
static void test_routing_uniform_counts_are_binomial(void **state) {
    (void)state;
    RoutingSpec spec = {
        .rule = {16, 4, 0, 0}, .seed = 7, .layers = 3, .sources = 2, .tokens = 4096};
    Routing routing = sample(&spec);
    for (uint32_t i = 0; i < 3 * 2 * 16; i++) check_binomial(routing.load.tokens[i], 2048, 0.25);
    uint64_t part, whole;
    load_share(&routing.load, 2, 16, 0, 16, &part, &whole);
    assert_int_equal(part, 4 * 4096);
    assert_int_equal(whole, 4 * 4096);
    routing_free(&routing);
}

static int larger_first(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x > y ? -1 : x < y;
}

// Two experts without replacement: expert i is first with p_i, and second with the sum over the
// others j of p_j * p_i / (1 - p_j). Zipf with exponent 1 over 4 experts: p = 12, 6, 4, 3 of 25.
static void test_routing_zipf_samples_without_replacement(void **state) {
    (void)state;
    const double p[] = {12 / 25.0, 6 / 25.0, 4 / 25.0, 3 / 25.0};
    RoutingSpec spec = {.rule = {4, 2, 0, 0},
                        .law = {ROUTING_ZIPF, 1},
                        .seed = 3,
                        .layers = 1,
                        .sources = 1,
                        .tokens = 20000};
    Routing routing = sample(&spec);
    uint64_t counts[4];
    memcpy(counts, routing.load.tokens, sizeof counts);
    qsort(counts, 4, sizeof *counts, larger_first);
    for (uint32_t i = 0; i < 4; i++) {
        double chance = p[i];
        for (uint32_t j = 0; j < 4; j++)
            if (j != i) chance += p[j] * p[i] / (1 - p[j]);
        check_binomial(counts[i], 20000, chance);
    }
    routing_free(&routing);
}

// ---- Groups, against the definition: noise for every expert, then sort.

static double gumbel(Rng *rng) {
    double unit;
    do unit = rng_unit(rng);
    while (unit == 0);
    return -log(-log(unit));
}

// The best of `count` that is not marked; marks it.
static uint32_t take_best(const double *values, uint32_t count, bool *marked) {
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++)
        if (!marked[i] && (best == UINT32_MAX || values[i] > values[best])) best = i;
    marked[best] = true;
    return best;
}

// 12 experts in 4 groups of 3; 3 experts in 2 groups.
static void choose_by_definition(const double *popularity, Rng *rng, uint64_t *counts) {
    double affinity[12], score[4];
    bool is_group[4] = {false}, is_out[12];
    for (uint32_t i = 0; i < 12; i++) affinity[i] = log(popularity[i]) + gumbel(rng);
    for (uint32_t g = 0; g < 4; g++) {
        bool marked[3] = {false};
        score[g] = affinity[3 * g + take_best(affinity + 3 * g, 3, marked)];
        score[g] += affinity[3 * g + take_best(affinity + 3 * g, 3, marked)];
    }
    take_best(score, 4, is_group);
    take_best(score, 4, is_group);
    for (uint32_t i = 0; i < 12; i++) is_out[i] = !is_group[i / 3];
    for (uint32_t k = 0; k < 3; k++) counts[take_best(affinity, 12, is_out)]++;
}

// Two samples of n of the same chance p differ by a normal of deviation sqrt(2 n p (1 - p)), at
// most sqrt(n / 2); 5.3 deviations leave 1e-7. The popularity is what routing_expect gives for one
// choice.
static void test_routing_groups_follow_the_definition(void **state) {
    (void)state;
    const uint64_t tokens = 40000;
    RoutingSpec spec = {.rule = {12, 3, 4, 2},
                        .law = {ROUTING_LOGNORMAL, 1.2},
                        .seed = 11,
                        .layers = 1,
                        .sources = 1,
                        .tokens = tokens};
    Routing routing = sample(&spec);
    RoutingSpec one = spec;
    one.rule = (RoutingRule){12, 1, 0, 0};
    Load popular = {0};
    Err err = {0};
    check_ok(routing_expect(&one, &popular, &err), &err);
    double popularity[12];
    uint64_t counts[12] = {0};
    for (uint32_t i = 0; i < 12; i++) popularity[i] = (double)popular.tokens[i];
    Rng rng;
    rng_seed(&rng, 5);
    for (uint64_t t = 0; t < tokens; t++) choose_by_definition(popularity, &rng, counts);
    for (uint32_t i = 0; i < 12; i++) {
        double apart = fabs((double)counts[i] - (double)routing.load.tokens[i]);
        if (apart > 5.3 * sqrt((double)tokens / 2))
            fail_msg("expert %u: %llu by definition, %llu sampled", i,
                     (unsigned long long)counts[i], (unsigned long long)routing.load.tokens[i]);
    }
    load_free(&popular);
    routing_free(&routing);
}

// DeepSeek-V3: 8 of 256 experts in 4 of 8 groups; a node has a group, so no token is on more than 4
// nodes, and 8 experts need at least one.
static void test_routing_never_passes_the_node_limit(void **state) {
    (void)state;
    RoutingSpec spec = {.rule = {256, 8, 8, 4},
                        .law = {ROUTING_ZIPF, 0.8},
                        .seed = 1,
                        .layers = 4,
                        .sources = 1,
                        .tokens = 2000,
                        .nodes = 8};
    Routing routing = sample(&spec);
    uint64_t tokens = 0;
    for (uint32_t n = 1; n <= 4; n++) tokens += routing.token_nodes[n];
    assert_int_equal(tokens, 4 * 2000);
    for (uint32_t n = 5; n <= 8; n++) assert_int_equal(routing.token_nodes[n], 0);
    assert_int_equal(routing.token_nodes[0], 0);
    routing_free(&routing);
}

// The mean of n tokens is within 5.3 of its standard errors of the expected value, except once in
// 1e7. 8 of 64 experts on 8 nodes: 8 * (1 - C(56, 8) / C(64, 8)) = 5.43271 nodes.
static void test_routing_mean_nodes_are_hypergeometric(void **state) {
    (void)state;
    RoutingSpec spec = {
        .rule = {64, 8, 0, 0}, .seed = 21, .layers = 1, .sources = 1, .tokens = 20000, .nodes = 8};
    Routing routing = sample(&spec);
    double product = 1;
    for (uint32_t k = 0; k < 8; k++) product *= (56.0 - k) / (64.0 - k);
    double expected = 8 * (1 - product);
    double mean = routing_mean_nodes(&routing), square = 0;
    for (uint32_t n = 0; n <= 8; n++)
        square += (double)routing.token_nodes[n] * ((double)n - mean) * ((double)n - mean);
    double standard_error = sqrt(square / 20000 / 20000);
    assert_true(fabs(mean - expected) < 5.3 * standard_error);
    assert_true(standard_error < 0.01);
    routing_free(&routing);
}

// ---- Layers, seeds.

static void test_routing_layers_and_seeds_differ(void **state) {
    (void)state;
    RoutingSpec spec = {.rule = {32, 4, 0, 0},
                        .law = {ROUTING_ZIPF, 1},
                        .seed = 1,
                        .layers = 2,
                        .sources = 1,
                        .tokens = 500};
    Routing first = sample(&spec), again = sample(&spec);
    assert_true(first.load.digest == again.load.digest);
    assert_memory_not_equal(first.load.tokens, first.load.tokens + 32, 32 * sizeof(uint64_t));
    spec.layers = 1; // a layer does not change with the number of layers
    Routing one = sample(&spec);
    assert_memory_equal(first.load.tokens, one.load.tokens, 32 * sizeof(uint64_t));
    spec.draw = 1; // other tokens, the same experts in favour
    Routing drawn = sample(&spec);
    assert_memory_not_equal(one.load.tokens, drawn.load.tokens, 32 * sizeof(uint64_t));
    for (uint32_t i = 0; i < 32; i++) {
        double apart = (double)one.load.tokens[i] - (double)drawn.load.tokens[i];
        assert_true(fabs(apart) < 5.3 * sqrt(500 / 2.0)); // as of two samples of one chance, above
    }
    assert_string_equal(drawn.load.origin, "zipf:1, seed 1, draw 1, 500 tokens, top 4 of 32");
    routing_free(&drawn);
    spec.draw = 0;
    spec.seed = 2;
    Routing other = sample(&spec);
    assert_memory_not_equal(one.load.tokens, other.load.tokens, 32 * sizeof(uint64_t));
    assert_string_equal(one.load.origin, "zipf:1, seed 1, 500 tokens, top 4 of 32");
    routing_free(&first);
    routing_free(&again);
    routing_free(&one);
    routing_free(&other);
}

// ---- Expected shares.

static void check_chances(double skew, const double *chances) {
    RoutingSpec spec = {
        .rule = {4, 2, 0, 0}, .law = {ROUTING_ZIPF, skew}, .seed = 1, .layers = 1, .sources = 1};
    Load load = {0};
    Err err = {0};
    check_ok(routing_expect(&spec, &load, &err), &err);
    uint64_t counts[4];
    memcpy(counts, load.tokens, sizeof counts);
    qsort(counts, 4, sizeof *counts, larger_first);
    for (uint32_t i = 0; i < 4; i++) check_close((double)counts[i] / 1073741824, chances[i], 1e-8);
    load_free(&load);
}

// Two choices among 1, 1/2, 1/3, 1/4 (sum 25/12): 24/25, 12/25, 8/25, 6/25.
static void test_routing_expected_shares_follow_the_law(void **state) {
    (void)state;
    check_chances(1, (double[]){24 / 25.0, 12 / 25.0, 8 / 25.0, 6 / 25.0});
}

// 1, 1/4, 1/9, 1/16: two choices would give the first 2 * 144 / 205 > 1. It gets 1, the others
// share the second choice: 36, 16, 9 of 61.
static void test_routing_expected_shares_stop_at_one_choice(void **state) {
    (void)state;
    check_chances(2, (double[]){1, 36 / 61.0, 16 / 61.0, 9 / 61.0});
}

static uint64_t most_of(const Load *load, uint32_t layer) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < load->experts; i++) {
        uint64_t count = load->tokens[layer * load->experts + i];
        if (count > most) most = count;
    }
    return most;
}

// DeepSeek-V3, zipf:1: 8 / H(256) = 1.3, so that without the limit the most popular expert would
// get its whole chance of 1; in 4 of 8 groups it is missed when its group is. Two estimates of one
// chance from 4096 and 20000 tokens differ by a deviation of at most sqrt(1/4 (1/4096 + 1/20000)).
static void test_routing_expected_shares_hold_the_group_limit(void **state) {
    (void)state;
    RoutingSpec spec = {.rule = {256, 8, 8, 4},
                        .law = {ROUTING_ZIPF, 1},
                        .seed = 1,
                        .layers = 3,
                        .sources = 1,
                        .tokens = 20000};
    Routing routing = sample(&spec);
    Load load = {0};
    Err err = {0};
    check_ok(routing_expect(&spec, &load, &err), &err);
    for (uint32_t layer = 0; layer < 3; layer++) {
        double expected = (double)most_of(&load, layer) / 1073741824;
        double sampled = (double)most_of(&routing.load, layer) / 20000;
        assert_true(fabs(expected - sampled) < 5.3 * sqrt(0.25 * (1 / 4096.0 + 1 / 20000.0)));
        assert_true(expected < 0.9);
    }
    assert_string_equal(load.origin, "expected shares of zipf:1, seed 1, top 8 of 256 in 4 of 8 "
                                     "groups, mean of 4096 tokens");
    load_free(&load);
    spec.law = (RoutingLaw){ROUTING_UNIFORM, 0}; // 8 of 256: 1/32, exactly
    check_ok(routing_expect(&spec, &load, &err), &err);
    for (uint32_t i = 0; i < 3 * 256; i++) assert_int_equal(load.tokens[i], 1073741824 / 32);
    load_free(&load);
    routing_free(&routing);
}

// ---- What is refused.

static void check_law(const char *text, RoutingLawKind kind, double skew) {
    RoutingLaw law = {0};
    Err err = {0};
    Text again = {0};
    check_ok(routing_parse_law(text, &law, &err), &err);
    assert_int_equal(law.kind, kind);
    assert_true(law.skew == skew);
    routing_add_law(&law, &again);
    assert_string_equal(text_string(&again), text);
    text_free(&again);
}

static void check_bad_law(const char *text, const char *message) {
    RoutingLaw law = {0};
    Err err = {0};
    check_fails(routing_parse_law(text, &law, &err), &err, message);
}

static void test_routing_laws_read_back(void **state) {
    (void)state;
    check_law("uniform", ROUTING_UNIFORM, 0);
    check_law("zipf:0.8", ROUTING_ZIPF, 0.8);
    check_law("lognormal:1", ROUTING_LOGNORMAL, 1);
    check_bad_law("zipf",
                  "expected \"uniform\", \"zipf:S\" or \"lognormal:SIGMA\", found \"zipf\"");
    check_bad_law("uniform:1",
                  "expected \"uniform\", \"zipf:S\" or \"lognormal:SIGMA\", found \"uniform:1\"");
    check_bad_law("zipf:9", "expected a number from 0 to 8 after \"zipf:\", found \"9\"");
    check_bad_law("zipf:-1", "expected a number from 0 to 8 after \"zipf:\", found \"-1\"");
    check_bad_law("zipf:", "expected a number from 0 to 8 after \"zipf:\", found \"\"");
}

static void check_bad_spec(RoutingRule rule, uint32_t layers, uint64_t tokens,
                           const char *message) {
    RoutingSpec spec = {.rule = rule, .layers = layers, .sources = 1, .tokens = tokens};
    Routing routing = {0};
    Err err = {0};
    check_fails(routing_sample(&spec, &routing, &err), &err, message);
}

static void test_routing_refuses_what_no_model_does(void **state) {
    (void)state;
    check_bad_spec((RoutingRule){0}, 1, 1, "expected 1 to 65536 experts, found 0");
    check_bad_spec((RoutingRule){8, 9, 0, 0}, 1, 1, "a token cannot choose 9 of 8 experts");
    check_bad_spec((RoutingRule){8, 2, 3, 1}, 1, 1, "8 experts cannot be in 3 equal groups");
    check_bad_spec((RoutingRule){8, 2, 2, 3}, 1, 1, "a token cannot choose 3 of 2 groups");
    check_bad_spec((RoutingRule){8, 5, 2, 1}, 1, 1,
                   "a token cannot choose 5 experts in 1 groups of 4");
    check_bad_spec((RoutingRule){8, 2, 0, 0}, 0, 1,
                   "expected at least one layer, source and token, found 0, 1 and 1");
    check_bad_spec((RoutingRule){8, 2, 0, 0}, 1, UINT64_MAX,
                   "18446744073709551615 tokens in 1 layer that choose 2 of 8 experts are too many "
                   "to sample");
    check_bad_spec((RoutingRule){65536, 2, 0, 0}, 4000000000, 1,
                   "4000000000 layers of 65536 experts from 1 source are 262144000000000 counts, "
                   "at most 4194304");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_routing_uniform_counts_are_binomial),
        cmocka_unit_test(test_routing_zipf_samples_without_replacement),
        cmocka_unit_test(test_routing_groups_follow_the_definition),
        cmocka_unit_test(test_routing_never_passes_the_node_limit),
        cmocka_unit_test(test_routing_mean_nodes_are_hypergeometric),
        cmocka_unit_test(test_routing_layers_and_seeds_differ),
        cmocka_unit_test(test_routing_expected_shares_follow_the_law),
        cmocka_unit_test(test_routing_expected_shares_stop_at_one_choice),
        cmocka_unit_test(test_routing_expected_shares_hold_the_group_limit),
        cmocka_unit_test(test_routing_laws_read_back),
        cmocka_unit_test(test_routing_refuses_what_no_model_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
