// The shape of one step: how much work the program of a schedule is given.
#ifndef MODEL_PLAN_STEP_SHAPE_H
#define MODEL_PLAN_STEP_SHAPE_H

#include <stdint.h>

#include "model/base/hash.h"

// One step of one attention-DP rank (one micro-batch of it under pipeline parallelism), or of one
// of the ranks that share its prompts (step_shape_cp).
typedef struct StepShape {
    uint64_t tokens;    // new tokens that enter the model: the chunk in prefill, one per sequence
                        // in decode
    uint64_t sequences; // sequences they belong to
    uint64_t kv_tokens; // cached tokens that attention reads, summed over sequences (the new ones
                        // included)
    uint64_t qk_pairs;  // pairs (new token, token it attends to), summed: the work of attention
} StepShape;

// A decode step: `sequences` sequences whose new token attends to `context` tokens each, itself
// included. Sums saturate at UINT64_MAX.
StepShape step_shape_decode(uint64_t sequences, uint64_t context);

// A prefill chunk: one sequence of `tokens` new ones after `cached` earlier ones, causal.
StepShape step_shape_prefill(uint64_t tokens, uint64_t cached);

// A prefill step of `prompts` whole prompts of `tokens` tokens each, side by side.
StepShape step_shape_prompts(uint64_t prompts, uint64_t tokens);

// Part `part` of `parts` of the step's tokens: consecutive ones, as even as can be, the longer
// parts first. Sequences that a cut goes through count in both parts; what a token attends to is
// counted in its own part, the cached tokens of a sequence in every part that it has tokens in.
// Exact for equal sequences with causal attention (all shapes made here); sums that are not those
// of equal sequences are cut in proportion to the tokens.
StepShape step_shape_part(const StepShape *shape, uint32_t part, uint32_t parts);

// The same step when a token attends to the last `window` tokens at most, itself included (0: to
// all): cached tokens that some new token of the sequence attends to, and pairs. Exact for equal
// sequences; else a bound from above, as if the lengths were equal.
StepShape step_shape_window(const StepShape *shape, uint64_t window);

// What one of `cp` ranks that share the prompts of a step has: as many of the tokens, and as many
// of the pairs, as the others (tokens are dealt to ranks from both ends of a prompt, and filled
// up), after all cached tokens; of all sequences, where each has a token for every rank.
StepShape step_shape_cp(const StepShape *shape, uint32_t cp);

Digest step_shape_digest(const StepShape *shape);

#endif
