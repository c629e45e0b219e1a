// The shape of one step.
//
// Invariant: a shape made here has kv_tokens and qk_pairs as causal attention counts them; what
// does not fit 64 bits saturates, and is then refused by schedule_check.
#include "model/plan/step_shape.h"

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

Digest step_shape_digest(const StepShape *shape) {
    Digest digest = hash_string(HASH_START, "step shape");
    digest = hash_u64(digest, shape->tokens);
    digest = hash_u64(digest, shape->sequences);
    digest = hash_u64(digest, shape->kv_tokens);
    return hash_u64(digest, shape->qk_pairs);
}
