// A size that is linear in the shape of a step.
//
// Invariant: extent_value is the exact ceiling of the exact sum, or UINT64_MAX when that does not
// fit in 64 bits; it never wraps.
#include "model/plan/extent.h"

#include "model/base/wide.h"

#define TERMS 5

static uint64_t divisor(const Extent *extent) {
    return extent->divide == 0 ? 1 : extent->divide;
}

static bool is_part(const Extent *extent) {
    return extent->parts > 1;
}

Extent extent_fixed(uint64_t value) {
    return (Extent){.fixed = value};
}

Extent extent_tokens(uint64_t per_token) {
    return (Extent){.per_token = per_token};
}

uint64_t extent_value(const Extent *extent, const StepShape *whole) {
    StepShape part = *whole;
    const StepShape *shape = &part;
    if (is_part(extent)) part = step_shape_part(whole, extent->part, extent->parts);
    if (extent->window > 0) part = step_shape_window(&part, extent->window);
    const Wide terms[TERMS] = {
        extent->fixed,
        wide_mul(extent->per_token, shape->tokens),
        wide_mul(extent->per_sequence, shape->sequences),
        wide_mul(extent->per_kv, shape->kv_tokens),
        wide_mul(extent->per_pair, shape->qk_pairs),
    };
    Wide sum = 0;
    for (uint32_t i = 0; i < TERMS; i++) {
        if (terms[i] > ~(Wide)0 - sum) return UINT64_MAX;
        sum += terms[i];
    }
    return wide_saturate(wide_div_up(sum, divisor(extent)));
}

bool extent_equals(const Extent *a, const Extent *b) {
    return a->fixed == b->fixed && a->per_token == b->per_token &&
           a->per_sequence == b->per_sequence && a->per_kv == b->per_kv &&
           a->per_pair == b->per_pair && divisor(a) == divisor(b) && a->window == b->window &&
           is_part(a) == is_part(b) &&
           (!is_part(a) || (a->part == b->part && a->parts == b->parts));
}

Digest extent_hash(Digest hash, const Extent *extent) {
    hash = hash_u64(hash, extent->fixed);
    hash = hash_u64(hash, extent->per_token);
    hash = hash_u64(hash, extent->per_sequence);
    hash = hash_u64(hash, extent->per_kv);
    hash = hash_u64(hash, extent->per_pair);
    hash = hash_u64(hash, divisor(extent));
    if (extent->window > 0) hash = hash_u64(hash_string(hash, "window"), extent->window);
    if (!is_part(extent)) return hash;
    return hash_u64(hash_u64(hash, extent->part), extent->parts);
}

void extent_print(const Extent *extent, Text *out) {
    const struct {
        uint64_t factor;
        const char *unit;
    } terms[TERMS] = {{extent->per_token, " tokens"},
                      {extent->per_sequence, " sequences"},
                      {extent->per_kv, " kv tokens"},
                      {extent->per_pair, " qk pairs"},
                      {extent->fixed, ""}};
    uint32_t printed = 0;
    if (divisor(extent) > 1) text_add(out, "ceil((");
    for (uint32_t i = 0; i < TERMS; i++) {
        if (terms[i].factor == 0) continue;
        text_addf(out, "%s%llu%s", printed > 0 ? " + " : "", (unsigned long long)terms[i].factor,
                  terms[i].unit);
        printed++;
    }
    if (printed == 0) text_add(out, "0");
    if (divisor(extent) > 1) text_addf(out, ") / %llu)", (unsigned long long)divisor(extent));
    if (extent->window > 0)
        text_addf(out, " in a window of %llu", (unsigned long long)extent->window);
    if (is_part(extent))
        text_addf(out, " in part %lu of %lu", (unsigned long)extent->part + 1,
                  (unsigned long)extent->parts);
}
