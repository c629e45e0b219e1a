// Choice of experts.
//
// Invariant: a choice depends on the scores and the order of experts alone; each expert is chosen
// once. Sources: Qwen3 technical report, arXiv:2505.09388, section 2; DeepSeek-V3,
// arXiv:2412.19437, section 2.1.2 (bias that counts in the choice only, groups by their two best);
// DeepSeek-V2, arXiv:2405.04434, section 2.2.2 (groups by their best).
#include "exec/kernel/router.h"

#include <math.h>
#include <string.h>

#include "exec/kernel/elementwise.h"

#define TINY 1e-20F // added to a sum that is divided by, as the modelling code of DeepSeek-V3 does

static void score(const RouterSpec *spec, const float *logits, float *scores) {
    memcpy(scores, logits, spec->experts * sizeof *scores);
    switch (spec->score) {
    case ROUTER_SOFTMAX: elementwise_softmax(spec->experts, scores); break;
    case ROUTER_SIGMOID:
        for (uint32_t i = 0; i < spec->experts; i++) scores[i] = elementwise_sigmoid(scores[i]);
        break;
    }
}

static float worth_of(const RouterSpec *spec, const float *scores, uint32_t count) {
    float best = -INFINITY, second = -INFINITY;
    for (uint32_t i = 0; i < count; i++) {
        if (scores[i] > best) {
            second = best;
            best = scores[i];
        } else if (scores[i] > second) {
            second = scores[i];
        }
    }
    return spec->worth == ROUTER_TWO_BEST && count > 1 ? best + second : best;
}

// Groups that are better than this one, or as good and before it.
static uint32_t groups_before(const RouterSpec *spec, const float *scores, uint32_t size,
                              uint32_t group) {
    float own = worth_of(spec, scores + (uint64_t)group * size, size);
    uint32_t before = 0;
    for (uint32_t i = 0; i < spec->groups; i++) {
        float other = worth_of(spec, scores + (uint64_t)i * size, size);
        before += other > own || (i < group && !(other < own));
    }
    return before;
}

// Experts of groups that do not stay cannot be chosen.
static void drop_groups(const RouterSpec *spec, float *scores, bool *dropped_of_group) {
    uint32_t size = spec->experts / spec->groups;
    for (uint32_t group = 0; group < spec->groups; group++)
        dropped_of_group[group] = groups_before(spec, scores, size, group) >= spec->top_groups;
    for (uint32_t i = 0; i < size * spec->groups; i++)
        if (dropped_of_group[i / size]) scores[i] = -INFINITY;
}

static void finish_weights(const RouterSpec *spec, float *weights) {
    double sum = 0;
    for (uint32_t i = 0; i < spec->top_k; i++) sum += (double)weights[i];
    float scale = spec->normalises ? (float)(1 / (sum + (double)TINY)) : 1;
    for (uint32_t i = 0; i < spec->top_k; i++) weights[i] *= scale * spec->scaling;
}

void router_choose(const RouterSpec *spec, const float *logits, const float *bias, float *scratch,
                   RouterChoice *choice) {
    bool dropped[ROUTER_GROUPS_MAX];
    float *scores = scratch, *ranked = scratch + spec->experts, last = 0;
    score(spec, logits, scores);
    memcpy(ranked, scores, spec->experts * sizeof *ranked);
    if (bias != NULL) elementwise_add(spec->experts, bias, ranked);
    if (spec->groups > 1) drop_groups(spec, ranked, dropped);
    for (uint32_t i = 0; i < spec->top_k; i++) {
        uint32_t best = (uint32_t)elementwise_largest(spec->experts, ranked);
        choice->experts[i] = best;
        choice->weights[i] = scores[best];
        last = ranked[best];
        ranked[best] = -INFINITY;
    }
    choice->margin = last - ranked[elementwise_largest(spec->experts, ranked)];
    finish_weights(spec, choice->weights);
}

void router_weigh(const RouterSpec *spec, const float *logits, float *scratch,
                  RouterChoice *choice) {
    score(spec, logits, scratch);
    for (uint32_t i = 0; i < spec->top_k; i++) choice->weights[i] = scratch[choice->experts[i]];
    finish_weights(spec, choice->weights);
}
