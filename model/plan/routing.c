// The routing simulator.
//
// Invariant: every token chooses exactly top_k distinct experts, inside top_groups groups where the
// rule limits them; the sum of a layer's counts is tokens * top_k.
//
// Method: adding Gumbel noise to log popularity and taking the top k is sampling without
// replacement in proportion to popularity (Yellott, "The relationship between Luce's choice axiom,
// Thurstone's theory of comparative judgment, and the double exponential distribution", 1977; Kool,
// van Hoof, Welling, "Stochastic beams and where to find them", ICML 2019). With t = e^-affinity
// that is a race: expert i arrives at an exponential time of rate popularity(i), the first k win.
// A race is run arrival by arrival: the next one comes after an exponential time of the rate of all
// who are still on their way, and is each of them in proportion to its rate. So a token costs as
// many logarithms as there are arrivals, not as there are experts. Group limit: DeepSeek-V3,
// arXiv:2412.19437, section 2.1.2, and its inference code (two highest affinities of a group).
#include "model/plan/routing.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "model/base/hash.h"
#include "model/base/mem.h"
#include "model/base/num.h"
#include "model/base/rng.h"
#include "model/base/wide.h"

#define SCORE_ARRIVALS  2    // affinities that make a group's score
#define EXPECTED_TOKENS 4096 // a chance of 1/2 comes out within 0.8 % (a standard error)

const char *const routing_law_names[ROUTING_LAW_COUNT] = {
#define X(name, text) text,
    ROUTING_LAW_LIST(X)
#undef X
};

// One group's race for one token.
typedef struct Race {
    const double *rates; // of its experts
    uint32_t size, first_expert;
    uint32_t arrived, taken; // so far; taken by the token
    uint32_t *order;         // [arrived]: experts of the group
    double *times;           // [arrived]
    bool *is_in;             // [size]
    double score;
    bool is_chosen;
} Race;

typedef struct Sampler {
    const RoutingSpec *spec;
    Arena arena;
    Rng rng;
    double *popularity;
    Race *races;
    uint32_t race_count, chosen_count;
    uint32_t *chosen, *experts; // races and experts of the token
    uint64_t *node_seen;        // [nodes]: the last token that saw it
    uint64_t token;             // number of the token, from 1
} Sampler;

// ---- Laws.

bool routing_parse_law(const char *text, RoutingLaw *out, Err *err) {
    char quoted[TEXT_QUOTE_MAX];
    for (uint32_t kind = 0; kind < ROUTING_LAW_COUNT; kind++) {
        size_t length = strlen(routing_law_names[kind]);
        if (strncmp(text, routing_law_names[kind], length) != 0) continue;
        double skew = 0;
        bool has_skew = text[length] == ':';
        if ((kind == ROUTING_UNIFORM) == has_skew || (!has_skew && text[length] != '\0')) continue;
        if (has_skew && (!text_parse_double(text + length + 1, &skew) || !(skew >= 0) ||
                         skew > ROUTING_SKEW_MAX))
            return err_set(err, "expected a number from 0 to %g after \"%s:\", found %s",
                           ROUTING_SKEW_MAX, routing_law_names[kind],
                           text_quote(text + length + 1, quoted));
        *out = (RoutingLaw){.kind = (RoutingLawKind)kind, .skew = skew};
        return true;
    }
    return err_set(err, "expected \"uniform\", \"zipf:S\" or \"lognormal:SIGMA\", found %s",
                   text_quote(text, quoted));
}

void routing_add_law(const RoutingLaw *law, Text *out) {
    text_add(out, routing_law_names[law->kind]);
    if (law->kind == ROUTING_UNIFORM) return;
    text_add_char(out, ':');
    text_add_double(out, law->skew);
}

// In (0, 1).
static double unit_inside(Rng *rng) {
    double unit;
    do unit = rng_unit(rng);
    while (unit == 0);
    return unit;
}

// The polar method: Marsaglia and Bray, "A convenient method for generating normal variables",
// 1964.
static double standard_normal(Rng *rng) {
    double x, y, square;
    do {
        x = 2 * rng_unit(rng) - 1;
        y = 2 * rng_unit(rng) - 1;
        square = x * x + y * y;
    } while (square >= 1 || square == 0);
    return x * sqrt(-2 * num_log(square) / square);
}

// Popularity i^-skew in a drawn order: Durstenfeld's shuffle.
static void draw_zipf(const RoutingSpec *spec, Rng *rng, double *popularity) {
    uint32_t experts = spec->rule.experts;
    for (uint32_t i = 0; i < experts; i++)
        popularity[i] = num_exp(-spec->law.skew * num_log((double)i + 1));
    for (uint32_t i = experts - 1; i > 0; i--) {
        uint32_t j = (uint32_t)rng_below(rng, (uint64_t)i + 1);
        double swapped = popularity[i];
        popularity[i] = popularity[j];
        popularity[j] = swapped;
    }
}

// Each layer has numbers of its own, so that it does not change with the number of layers.
static Digest layer_seed(const RoutingSpec *spec, uint32_t layer) {
    return hash_u64(hash_u64(HASH_START, spec->seed), layer);
}

static void draw_popularity(const RoutingSpec *spec, uint32_t layer, Rng *rng, double *popularity) {
    rng_seed(rng, layer_seed(spec, layer));
    switch (spec->law.kind) {
    case ROUTING_UNIFORM:
        for (uint32_t i = 0; i < spec->rule.experts; i++) popularity[i] = 1;
        break;
    case ROUTING_ZIPF: draw_zipf(spec, rng, popularity); break;
    case ROUTING_LOGNORMAL:
        for (uint32_t i = 0; i < spec->rule.experts; i++)
            popularity[i] = num_exp(spec->law.skew * standard_normal(rng));
        break;
    case ROUTING_LAW_COUNT: break;
    }
}

// ---- One token.

static void next_arrival(Race *race, Rng *rng) {
    double left = 0, last = race->arrived > 0 ? race->times[race->arrived - 1] : 0;
    for (uint32_t i = 0; i < race->size; i++)
        if (!race->is_in[i]) left += race->rates[i];
    race->times[race->arrived] = last - num_log(unit_inside(rng)) / left;
    double target = rng_unit(rng) * left;
    uint32_t found = race->size;
    for (uint32_t i = 0; i < race->size && target >= 0; i++) {
        if (race->is_in[i]) continue;
        found = i; // the last one also where rounding leaves a rest
        target -= race->rates[i];
    }
    race->is_in[found] = true;
    race->order[race->arrived++] = found;
}

static void start_races(Sampler *sampler) {
    for (uint32_t r = 0; r < sampler->race_count; r++) {
        Race *race = &sampler->races[r];
        for (uint32_t i = 0; i < race->arrived; i++) race->is_in[race->order[i]] = false;
        race->arrived = race->taken = 0;
        race->is_chosen = false;
    }
}

static void choose_groups(Sampler *sampler) {
    for (uint32_t r = 0; r < sampler->race_count; r++) {
        Race *race = &sampler->races[r];
        race->score = 0;
        while (race->arrived < SCORE_ARRIVALS && race->arrived < race->size) {
            next_arrival(race, &sampler->rng);
            race->score -= num_log(race->times[race->arrived - 1]);
        }
    }
    for (uint32_t n = 0; n < sampler->chosen_count; n++) {
        uint32_t best = SCHEDULE_NONE;
        for (uint32_t r = 0; r < sampler->race_count; r++) {
            const Race *race = &sampler->races[r];
            if (race->is_chosen) continue;
            if (best == SCHEDULE_NONE || race->score > sampler->races[best].score) best = r;
        }
        sampler->races[best].is_chosen = true;
        sampler->chosen[n] = best;
    }
}

// The first top_k arrivals of the chosen races together.
static void choose_experts(Sampler *sampler) {
    for (uint32_t k = 0; k < sampler->spec->rule.top_k; k++) {
        Race *first = NULL;
        for (uint32_t n = 0; n < sampler->chosen_count; n++) {
            Race *race = &sampler->races[sampler->chosen[n]];
            if (race->taken == race->size) continue;
            if (race->taken == race->arrived) next_arrival(race, &sampler->rng);
            if (!first || race->times[race->taken] < first->times[first->taken]) first = race;
        }
        assert(first); // the chosen groups have top_k experts: check_rule
        sampler->experts[k] = first->first_expert + first->order[first->taken++];
    }
}

static void count_nodes(Sampler *sampler, Routing *out) {
    uint32_t distinct = 0;
    for (uint32_t k = 0; k < sampler->spec->rule.top_k; k++) {
        uint64_t node = (uint64_t)sampler->experts[k] * out->nodes / sampler->spec->rule.experts;
        distinct += sampler->node_seen[node] != sampler->token;
        sampler->node_seen[node] = sampler->token;
    }
    out->token_nodes[distinct]++;
}

// ---- All tokens.

static bool check_rule(const RoutingRule *rule, Err *err) {
    if (rule->experts == 0 || rule->experts > ROUTING_EXPERTS_MAX)
        return err_set(err, "expected 1 to %d experts, found %u", ROUTING_EXPERTS_MAX,
                       rule->experts);
    if (rule->top_k == 0 || rule->top_k > rule->experts)
        return err_set(err, "a token cannot choose %u of %u experts", rule->top_k, rule->experts);
    if (rule->top_groups == 0 || rule->groups == 0) return true;
    if (rule->groups > ROUTING_GROUPS_MAX)
        return err_set(err, "expected at most %d groups, found %u", ROUTING_GROUPS_MAX,
                       rule->groups);
    if (rule->experts % rule->groups != 0)
        return err_set(err, "%u experts cannot be in %u equal groups", rule->experts, rule->groups);
    if (rule->top_groups > rule->groups)
        return err_set(err, "a token cannot choose %u of %u groups", rule->top_groups,
                       rule->groups);
    uint64_t reachable = (uint64_t)rule->experts / rule->groups * rule->top_groups;
    return rule->top_k <= reachable ||
           err_set(err, "a token cannot choose %u experts in %u groups of %u", rule->top_k,
                   rule->top_groups, rule->experts / rule->groups);
}

static bool check_spec(const RoutingSpec *spec, Err *err) {
    char text[40];
    if (!check_rule(&spec->rule, err)) return false;
    if (spec->layers == 0 || spec->sources == 0 || spec->tokens == 0)
        return err_set(err, "expected at least one layer, source and token, found %u, %u and %llu",
                       spec->layers, spec->sources, (unsigned long long)spec->tokens);
    if (spec->nodes > spec->rule.experts)
        return err_set(err, "%u experts cannot be on %u nodes", spec->rule.experts, spec->nodes);
    Wide counts = wide_mul(spec->layers, spec->sources) * spec->rule.experts;
    if (counts > LOAD_COUNTS_MAX)
        return err_set(err, "%u layer%s of %u experts from %u source%s are %s counts, at most %u",
                       spec->layers, spec->layers == 1 ? "" : "s", spec->rule.experts,
                       spec->sources, spec->sources == 1 ? "" : "s", wide_format(counts, text),
                       (unsigned)LOAD_COUNTS_MAX);
    Wide places = wide_mul(spec->layers, spec->rule.experts) * spec->rule.top_k;
    return (places <= ROUTING_STEPS_MAX && places * spec->tokens <= ROUTING_STEPS_MAX) ||
           err_set(err,
                   "%llu tokens in %u layer%s that choose %u of %u experts are too many to sample",
                   (unsigned long long)spec->tokens, spec->layers, spec->layers == 1 ? "" : "s",
                   spec->rule.top_k, spec->rule.experts);
}

static bool has_group_limit(const RoutingRule *rule) {
    return rule->top_groups > 0 && rule->top_groups < rule->groups;
}

static void open_sampler(Sampler *sampler, const RoutingSpec *spec) {
    const RoutingRule *rule = &spec->rule;
    bool is_limited = has_group_limit(rule);
    Arena *arena = &sampler->arena;
    sampler->spec = spec;
    sampler->race_count = is_limited ? rule->groups : 1;
    sampler->chosen_count = is_limited ? rule->top_groups : 1;
    sampler->popularity = arena_alloc(arena, rule->experts, sizeof(double));
    sampler->races = arena_alloc(arena, sampler->race_count, sizeof(Race));
    sampler->chosen = arena_alloc(arena, sampler->chosen_count, sizeof(uint32_t));
    sampler->experts = arena_alloc(arena, rule->top_k, sizeof(uint32_t));
    sampler->node_seen = arena_alloc(arena, spec->nodes > 0 ? spec->nodes : 1, sizeof(uint64_t));
    uint32_t size = rule->experts / sampler->race_count;
    for (uint32_t r = 0; r < sampler->race_count; r++)
        sampler->races[r] = (Race){.rates = sampler->popularity + (size_t)r * size,
                                   .size = size,
                                   .first_expert = r * size,
                                   .order = arena_alloc(arena, size, sizeof(uint32_t)),
                                   .times = arena_alloc(arena, size, sizeof(double)),
                                   .is_in = arena_alloc(arena, size, sizeof(bool))};
}

static void sample_layer(Sampler *sampler, uint32_t layer, uint64_t *tokens, Routing *out) {
    const RoutingSpec *spec = sampler->spec;
    draw_popularity(spec, layer, &sampler->rng, sampler->popularity);
    rng_seed(&sampler->rng, hash_u64(layer_seed(spec, layer), spec->draw));
    for (uint64_t t = 0; t < spec->tokens; t++) {
        uint64_t source = wide_mul_div(t, spec->sources, spec->tokens);
        sampler->token++;
        start_races(sampler);
        if (sampler->race_count > 1) choose_groups(sampler);
        choose_experts(sampler);
        for (uint32_t k = 0; k < spec->rule.top_k; k++)
            tokens[source * spec->rule.experts + sampler->experts[k]]++;
        count_nodes(sampler, out);
    }
}

static void add_rule(const RoutingRule *rule, Text *out) {
    text_addf(out, "top %u of %u", rule->top_k, rule->experts);
    if (has_group_limit(rule))
        text_addf(out, " in %u of %u groups", rule->top_groups, rule->groups);
}

static void describe(const RoutingSpec *spec, Text *out) {
    routing_add_law(&spec->law, out);
    text_addf(out, ", seed %llu", (unsigned long long)spec->seed);
    if (spec->draw > 0) text_addf(out, ", draw %llu", (unsigned long long)spec->draw);
    text_addf(out, ", %llu tokens, ", (unsigned long long)spec->tokens);
    add_rule(&spec->rule, out);
}

bool routing_sample(const RoutingSpec *spec, Routing *out, Err *err) {
    if (!check_spec(spec, err)) return false;
    Sampler sampler = {0};
    Routing routing = {.nodes = spec->nodes > 0 ? spec->nodes : 1};
    Text origin = {0};
    open_sampler(&sampler, spec);
    uint64_t row = (uint64_t)spec->sources * spec->rule.experts;
    uint64_t *tokens = arena_alloc(&sampler.arena, spec->layers * row, sizeof *tokens);
    routing.token_nodes = mem_alloc((size_t)routing.nodes + 1, sizeof *routing.token_nodes);
    memset(routing.token_nodes, 0, ((size_t)routing.nodes + 1) * sizeof *routing.token_nodes);
    for (uint32_t layer = 0; layer < spec->layers; layer++)
        sample_layer(&sampler, layer, tokens + layer * row, &routing);
    describe(spec, &origin);
    bool done = load_of_counts(spec->layers, spec->sources, spec->rule.experts, tokens,
                               text_string(&origin), &routing.load, err);
    if (done)
        *out = routing;
    else
        routing_free(&routing);
    text_free(&origin);
    arena_free(&sampler.arena);
    return done;
}

void routing_free(Routing *routing) {
    load_free(&routing->load);
    mem_free(routing->token_nodes);
    *routing = (Routing){0};
}

// ---- Expected shares.

// Chances that sum to top_k, in proportion to popularity and at most 1: experts that would get more
// get 1, and the rest of the choices is shared by the others, until nobody is over.
static void cap_chances(const RoutingRule *rule, double *popularity) {
    uint32_t capped = 0, before;
    do {
        double sum = 0;
        before = capped;
        for (uint32_t i = 0; i < rule->experts; i++)
            if (popularity[i] >= 0) sum += popularity[i];
        for (uint32_t i = 0; i < rule->experts && capped < rule->top_k; i++) {
            if (popularity[i] < 0) continue;
            if (popularity[i] * (double)(rule->top_k - before) < sum) continue;
            popularity[i] = -1; // marks a chance of 1
            capped++;
        }
    } while (capped != before);
    double sum = 0;
    for (uint32_t i = 0; i < rule->experts; i++)
        if (popularity[i] >= 0) sum += popularity[i];
    for (uint32_t i = 0; i < rule->experts; i++)
        popularity[i] =
            popularity[i] < 0 ? 1 : popularity[i] * (double)(rule->top_k - capped) / sum;
}

static void state_chances(const RoutingSpec *spec, double *chances) {
    Rng rng;
    for (uint32_t layer = 0; layer < spec->layers; layer++) {
        double *of_layer = chances + (size_t)layer * spec->rule.experts;
        draw_popularity(spec, layer, &rng, of_layer);
        cap_chances(&spec->rule, of_layer);
    }
}

// The group limit has no such rule: a popular expert also makes its group popular, and shares it.
// The draw is one that no numbered sample reaches.
static bool estimate_chances(const RoutingSpec *spec, double *chances, Err *err) {
    RoutingSpec mean = *spec;
    Routing routing;
    mean.tokens = EXPECTED_TOKENS;
    mean.draw = UINT64_MAX;
    mean.nodes = 1;
    if (!routing_sample(&mean, &routing, err)) return false;
    for (size_t i = 0; i < (size_t)spec->layers * spec->rule.experts; i++)
        chances[i] = (double)routing.load.tokens[i] / EXPECTED_TOKENS;
    routing_free(&routing);
    return true;
}

static void describe_expected(const RoutingSpec *spec, bool is_estimated, Text *out) {
    text_add(out, "expected shares of ");
    routing_add_law(&spec->law, out);
    text_addf(out, ", seed %llu, ", (unsigned long long)spec->seed);
    add_rule(&spec->rule, out);
    if (is_estimated) text_addf(out, ", mean of %d tokens", EXPECTED_TOKENS);
}

bool routing_expect(const RoutingSpec *spec, Load *out, Err *err) {
    const double unit = 1073741824.0; // counts of a chance of 1: fine enough for 9 digits
    RoutingSpec one = *spec;
    one.sources = 1;
    one.tokens = 1;
    if (!check_spec(&one, err)) return false;
    Arena scratch = {0};
    Text origin = {0};
    size_t places = (size_t)spec->layers * spec->rule.experts;
    double *chances = arena_alloc(&scratch, places, sizeof *chances);
    uint64_t *tokens = arena_alloc(&scratch, places, sizeof *tokens);
    // Where all are alike, the limit changes no share.
    bool is_estimated = has_group_limit(&spec->rule) && spec->law.skew > 0, done = true;
    if (is_estimated)
        done = estimate_chances(&one, chances, err);
    else
        state_chances(&one, chances);
    for (size_t i = 0; done && i < places; i++) tokens[i] = (uint64_t)num_round(chances[i] * unit);
    describe_expected(spec, is_estimated, &origin);
    done = done && load_of_counts(spec->layers, 1, spec->rule.experts, tokens, text_string(&origin),
                                  out, err);
    text_free(&origin);
    arena_free(&scratch);
    return done;
}

// ---- Nodes of a token.

double routing_mean_nodes(const Routing *routing) {
    uint64_t tokens = 0, nodes = 0;
    for (uint32_t n = 0; n <= routing->nodes; n++) {
        tokens += routing->token_nodes[n];
        nodes += routing->token_nodes[n] * n;
    }
    return tokens > 0 ? (double)nodes / (double)tokens : 0;
}
