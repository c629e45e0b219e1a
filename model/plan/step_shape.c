// The shape of one step.
//
// Invariant: a shape made here has kv_tokens and qk_pairs as causal attention counts them; what
// does not fit 64 bits saturates, and is then refused by schedule_check.
#include "model/plan/step_shape.h"

#include <stdbool.h>

#include "model/base/wide.h"

StepShape step_shape_decode(uint64_t sequences, uint64_t context) {
    uint64_t attended = wide_mul_saturate(sequences, context);
    return (StepShape){
        .tokens = sequences, .sequences = sequences, .kv_tokens = attended, .qk_pairs = attended};
}

StepShape step_shape_prefill(uint64_t tokens, uint64_t cached) {
    // new token i (from 1 on) attends to the cached ones and to the first i new ones
    Wide causal = wide_mul(tokens, tokens) / 2 + (tokens + 1) / 2;
    return (StepShape){
        .tokens = tokens,
        .sequences = 1,
        .kv_tokens = wide_add_saturate(tokens, cached),
        .qk_pairs = wide_add_saturate(wide_mul_saturate(tokens, cached), wide_saturate(causal))};
}

StepShape step_shape_prompts(uint64_t prompts, uint64_t tokens) {
    StepShape one = step_shape_prefill(tokens, 0);
    return (StepShape){.tokens = wide_mul_saturate(one.tokens, prompts),
                       .sequences = wide_mul_saturate(one.sequences, prompts),
                       .kv_tokens = wide_mul_saturate(one.kv_tokens, prompts),
                       .qk_pairs = wide_mul_saturate(one.qk_pairs, prompts)};
}

// ---- Parts.

// Of `whole`, what lies before part `part` when the longer parts come first.
static uint64_t before_part(uint64_t whole, uint64_t part, uint64_t parts) {
    return wide_mul_div_up(whole, part, parts);
}

// Sequences of `tokens` new tokens after `cached` ones each.
typedef struct Equal {
    uint64_t tokens, cached, pairs;
} Equal;

static bool find_equal(const StepShape *shape, Equal *out) {
    uint64_t sequences = shape->sequences;
    if (sequences == 0 || shape->tokens == 0 || shape->tokens % sequences != 0 ||
        shape->kv_tokens % sequences != 0 || shape->kv_tokens < shape->tokens)
        return false;
    Equal equal = {.tokens = shape->tokens / sequences};
    equal.cached = shape->kv_tokens / sequences - equal.tokens;
    equal.pairs = step_shape_prefill(equal.tokens, equal.cached).qk_pairs;
    *out = equal;
    return equal.pairs < UINT64_MAX && wide_mul(equal.pairs, sequences) == shape->qk_pairs;
}

// Pairs of the first `tokens` tokens.
static uint64_t pairs_before(const Equal *equal, uint64_t tokens) {
    StepShape rest = step_shape_prefill(tokens % equal->tokens, equal->cached);
    return tokens / equal->tokens * equal->pairs + rest.qk_pairs;
}

static StepShape part_of_equal(const Equal *equal, uint64_t first, uint64_t end) {
    uint64_t first_sequence = first / equal->tokens, last = (end - 1) / equal->tokens;
    uint64_t length = equal->cached + equal->tokens;
    return (StepShape){.tokens = end - first,
                       .sequences = last - first_sequence + 1,
                       .kv_tokens = (last - first_sequence) * length + equal->cached +
                                    (end - 1) % equal->tokens + 1,
                       .qk_pairs = pairs_before(equal, end) - pairs_before(equal, first)};
}

StepShape step_shape_part(const StepShape *shape, uint32_t part, uint32_t parts) {
    if (parts <= 1) return *shape;
    uint64_t whole = shape->tokens;
    uint64_t first = before_part(whole, part, parts), end = before_part(whole, part + 1, parts);
    Equal equal;
    if (first == end) return (StepShape){0};
    if (find_equal(shape, &equal)) return part_of_equal(&equal, first, end);
    const uint64_t sums[] = {shape->sequences, shape->kv_tokens, shape->qk_pairs};
    uint64_t cut[3];
    for (uint32_t i = 0; i < 3; i++)
        cut[i] = wide_mul_div_up(sums[i], end, whole) - wide_mul_div_up(sums[i], first, whole);
    return (StepShape){
        .tokens = end - first, .sequences = cut[0], .kv_tokens = cut[1], .qk_pairs = cut[2]};
}

// ---- Windows.

// Pairs of an equal sequence: its first tokens still attend to all before them.
static uint64_t pairs_within(const Equal *equal, uint64_t window) {
    uint64_t growing = window > equal->cached ? window - equal->cached : 0;
    if (growing > equal->tokens) growing = equal->tokens;
    return wide_add_saturate(step_shape_prefill(growing, equal->cached).qk_pairs,
                             wide_mul_saturate(equal->tokens - growing, window));
}

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

StepShape step_shape_window(const StepShape *shape, uint64_t window) {
    StepShape seen = *shape;
    Equal equal;
    if (window == 0) return seen;
    // the first new token of a sequence attends to window - 1 tokens before it
    uint64_t kept =
        wide_add_saturate(wide_mul_saturate(shape->sequences, window - 1), shape->tokens);
    seen.kv_tokens = smaller(shape->kv_tokens, kept);
    uint64_t pairs = wide_mul_saturate(shape->tokens, window);
    if (find_equal(shape, &equal))
        pairs = wide_mul_saturate(pairs_within(&equal, window), shape->sequences);
    seen.qk_pairs = smaller(shape->qk_pairs, pairs);
    return seen;
}

// ---- Context parallelism.

StepShape step_shape_cp(const StepShape *shape, uint32_t cp) {
    StepShape share = *shape;
    if (cp <= 1) return share;
    share.tokens = wide_div_up_u64(shape->tokens, cp);
    share.qk_pairs = wide_div_up_u64(shape->qk_pairs, cp);
    share.sequences = smaller(shape->sequences, share.tokens);
    return share;
}

Digest step_shape_digest(const StepShape *shape) {
    Digest digest = hash_string(HASH_START, "step shape");
    digest = hash_u64(digest, shape->tokens);
    digest = hash_u64(digest, shape->sequences);
    digest = hash_u64(digest, shape->kv_tokens);
    return hash_u64(digest, shape->qk_pairs);
}
