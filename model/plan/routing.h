// The routing simulator: which experts tokens choose, sampled with a seed, as a Load.
//
// The popularity of the experts of a layer follows a law; each layer has a draw of its own. A token
// chooses its top_k experts by affinity: the logarithm of the popularity plus noise of its own, so
// that popular experts are chosen more often and no expert twice.
#ifndef MODEL_PLAN_ROUTING_H
#define MODEL_PLAN_ROUTING_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/text.h"
#include "model/plan/load.h"

// Popularity. UNIFORM: all alike. ZIPF: i^-skew for the i-th most popular expert, in an order drawn
// anew for each layer. LOGNORMAL: e^(skew * z), z drawn from the standard normal for each expert.
#define ROUTING_LAW_LIST(X) X(UNIFORM, "uniform") X(ZIPF, "zipf") X(LOGNORMAL, "lognormal")
typedef enum RoutingLawKind {
#define X(name, text) ROUTING_##name,
    ROUTING_LAW_LIST(X)
#undef X
        ROUTING_LAW_COUNT
} RoutingLawKind;
extern const char *const routing_law_names[ROUTING_LAW_COUNT];

typedef struct RoutingLaw {
    RoutingLawKind kind;
    double skew; // the exponent or sigma, 0 to ROUTING_SKEW_MAX; 0 when UNIFORM
} RoutingLaw;

#define ROUTING_SKEW_MAX    8.0
#define ROUTING_EXPERTS_MAX 65536
#define ROUTING_GROUPS_MAX  256
#define ROUTING_STEPS_MAX   (UINT64_C(1) << 38) // tokens x layers x top_k x experts: minutes

// "uniform", "zipf:0.8", "lognormal:1".
bool routing_parse_law(const char *text, RoutingLaw *out, Err *err);
void routing_add_law(const RoutingLaw *law, Text *out); // reads back to the same law

// How a model routes. With 0 < top_groups < groups the experts are `groups` equal runs, of which a
// token chooses top_groups by the sum of their two highest affinities, and its experts inside them
// (DeepSeek-V3: 4 of 8, which limits the nodes of a token to 4 where a node has a group).
typedef struct RoutingRule {
    uint32_t experts, top_k, groups, top_groups;
} RoutingRule;

typedef struct RoutingSpec {
    RoutingRule rule;
    RoutingLaw law;
    uint64_t seed; // of the popularity and, with `draw`, of the tokens
    uint64_t draw; // number of the sample: other tokens of the same popularity
    uint32_t layers, sources;
    uint64_t tokens; // of a layer, all sources together; source s has the s-th of equal runs
    uint32_t nodes;  // over which the experts lie in equal runs, for counting; 0 reads as 1
} RoutingSpec;

typedef struct Routing {
    Load load;             // counts by layer, source and expert
    uint32_t nodes;        // of the spec
    uint64_t *token_nodes; // [n]: tokens of all layers whose experts lie on n nodes, n <= nodes
} Routing;

// Refuses rules that no model has and specs over the limits above. The same spec gives the same
// counts on every machine.
bool routing_sample(const RoutingSpec *spec, Routing *out, Err *err);
void routing_free(Routing *routing);

// The shares that the law itself states: proportional to the popularity, but no expert gets more
// than one of a token's top_k choices; what is over that goes to the others in proportion. Sampled
// tokens spread more: zipf:1, 8 of 128, gives the hottest 0.84 of its stated share. With a
// group limit the mean of 4096 tokens of a draw of its own, because no such formula knows the
// limit. Tokens, sources and draw of the spec do not matter. For ranking by expected value.
bool routing_expect(const RoutingSpec *spec, Load *out, Err *err);

// Mean number of nodes that a sampled token's experts lie on; what experts that are all alike give
// is node_spread_mean.
double routing_mean_nodes(const Routing *routing);

#endif
