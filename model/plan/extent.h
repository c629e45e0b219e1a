// A size that is linear in the shape of a step.
#ifndef MODEL_PLAN_EXTENT_H
#define MODEL_PLAN_EXTENT_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/hash.h"
#include "model/base/text.h"
#include "model/plan/step_shape.h"

#define EXTENT_PARTS_MAX 64

// ceil((fixed + per_token * tokens + per_sequence * sequences + per_kv * kv_tokens +
// per_pair * qk_pairs) / divide). A divide of 0 reads as 1. With `parts` above 1 the shape is that
// of part `part` of the step's tokens (step_shape_part). With a `window` above 0 kv_tokens and
// qk_pairs are those of attention to that many tokens at most (step_shape_window).
typedef struct Extent {
    uint64_t fixed, per_token, per_sequence, per_kv, per_pair;
    uint64_t divide, window;
    uint32_t part, parts;
} Extent;

Extent extent_fixed(uint64_t value);
Extent extent_tokens(uint64_t per_token);

// The value; saturates at UINT64_MAX (schedule_check refuses schedules whose sizes saturate for
// their largest shape).
uint64_t extent_value(const Extent *extent, const StepShape *shape);

// Equal for every shape because written with equal numbers (divide 0 and 1 are the same, and so are
// parts 0 and 1).
bool extent_equals(const Extent *a, const Extent *b);

Digest extent_hash(Digest hash, const Extent *extent);

// For people: "14336 tokens + 64", "ceil((7 tokens) / 2)", "0",
// "7 tokens in part 1 of 2", "4 qk pairs in a window of 128".
void extent_print(const Extent *extent, Text *out);

#endif
