// Values of the named dimensions and the arithmetic between them.
//
// Invariant: no value wraps. A product or sum over 64 bits is an error that names its fields.
#include "model/moe/dim.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>

#include "model/base/wide.h"

static const char *const texts[DIM_COUNT] = {
#define X(name, text) [DIM_##name] = text,
    DIM_LIST(X)
#undef X
};

void dim_set(DimSet *dims, Dim dim, uint64_t value) {
    dims->value[dim] = value;
    dims->known[dim] = true;
}

uint64_t dim_get(const DimSet *dims, Dim dim) {
    if (dim == DIM_NONE) return 0;
    if (dim == DIM_ONE) return 1;
    assert(dims->known[dim]);
    return dims->value[dim];
}

const char *dim_name(const DimSet *dims, Dim dim) {
    return dims->field[dim] != NULL ? dims->field[dim] : texts[dim];
}

bool dim_holds(const DimSet *dims, Dim when, Dim unless) {
    bool wanted = when == DIM_NONE || dims->value[when] != 0;
    return wanted && (unless == DIM_NONE || dims->value[unless] == 0);
}

// The names of up to four dimensions, joined by `sign`.
static void join(const DimSet *dims, const Dim *list, uint32_t count, const char *sign,
                 char *buffer) {
    size_t used = 0;
    buffer[0] = '\0';
    for (uint32_t i = 0; i < count && list[i] != DIM_NONE; i++) {
        int length = snprintf(buffer + used, DIM_TEXT_MAX - used, "%s%s", i > 0 ? sign : "",
                              dim_name(dims, list[i]));
        if (length < 0 || (size_t)length >= DIM_TEXT_MAX - used) return;
        used += (size_t)length;
    }
}

char *dim_describe(const DimSet *dims, Dim dim, char *buffer) {
    const DimRule *rule = dims->rule[dim];
    bool is_product = rule != NULL && rule->op == DIM_PRODUCT;
    if (is_product || (rule != NULL && rule->op == DIM_SUM))
        join(dims, (const Dim[3]){rule->a, rule->b, rule->c}, 3, is_product ? " x " : " + ",
             buffer);
    else
        snprintf(buffer, DIM_TEXT_MAX, "%s", dim_name(dims, dim));
    return buffer;
}

static bool multiply(const DimSet *dims, const Dim *factors, uint32_t count, uint64_t k,
                     uint64_t *out, Err *err) {
    uint64_t product = k == 0 ? 1 : k;
    for (uint32_t i = 0; i < count && factors[i] != DIM_NONE; i++) {
        if (wide_mul_u64(product, dim_get(dims, factors[i]), &product)) continue;
        char names[DIM_TEXT_MAX];
        join(dims, factors, count, " x ", names);
        return err_set(err, "%s: too large for 64 bits", names);
    }
    *out = product;
    return true;
}

bool dim_product(const DimSet *dims, const Dim *factors, uint64_t k, uint64_t *out, Err *err) {
    return multiply(dims, factors, DIM_FACTORS_MAX, k, out, err);
}

static bool add(const DimSet *dims, const DimRule *rule, uint64_t *out, Err *err) {
    uint64_t a = dim_get(dims, rule->a), b = dim_get(dims, rule->b), c = dim_get(dims, rule->c);
    uint64_t sum;
    if (wide_add_u64(a, b, &sum) && wide_add_u64(sum, c, out)) return true;
    char names[DIM_TEXT_MAX];
    join(dims, (const Dim[3]){rule->a, rule->b, rule->c}, 3, " + ", names);
    return err_set(err, "%s: too large for 64 bits", names);
}

static bool round_up(const DimSet *dims, const DimRule *rule, uint64_t *out, Err *err) {
    uint64_t a = dim_get(dims, rule->a), b = dim_get(dims, rule->b);
    if (wide_mul_u64(wide_div_up_u64(a, b), b, out)) return true;
    return err_set(err, "%s: too large", dim_name(dims, rule->a));
}

static bool evaluate(const DimSet *dims, const DimRule *rule, uint64_t *out, Err *err) {
    uint64_t a = dim_get(dims, rule->a);
    switch (rule->op) {
    case DIM_PRODUCT:
        return multiply(dims, (const Dim[3]){rule->a, rule->b, rule->c}, 3, rule->k, out, err);
    case DIM_SUM: return add(dims, rule, out, err);
    case DIM_LESS: *out = a > rule->k ? a - rule->k : 0; return true;
    case DIM_ROUND_UP: return round_up(dims, rule, out, err);
    case DIM_PARTS: *out = wide_div_up_u64(a, rule->k); return true;
    case DIM_SHARE: {
        uint64_t b = dim_get(dims, rule->b);
        *out = b != 0 && a % b == 0 ? a / b : 0;
        return true;
    }
    case DIM_FIRST: *out = a != 0 ? a : dim_get(dims, rule->b); return true;
    }
    return false; // not reached: the switch names every operation
}

bool dim_apply(DimSet *dims, const DimRule *rules, uint32_t count, Err *err) {
    for (uint32_t i = 0; i < count; i++) {
        uint64_t value;
        if (!evaluate(dims, &rules[i], &value, err)) return false;
        if (rules[i].op == DIM_FIRST) // has the name of what was taken
            dims->field[rules[i].out] =
                dim_name(dims, dim_get(dims, rules[i].a) != 0 ? rules[i].a : rules[i].b);
        dim_set(dims, rules[i].out, value);
        dims->rule[rules[i].out] = &rules[i];
    }
    return true;
}

static bool related(uint64_t a, DimRelation relation, uint64_t b) {
    switch (relation) {
    case DIM_MULTIPLE_OF: return b != 0 && a % b == 0;
    case DIM_AT_MOST: return a <= b;
    case DIM_EQUAL: return a == b;
    case DIM_NOT_ZERO: return a != 0;
    }
    return false; // not reached: the switch names every relation
}

bool dim_check(const DimSet *dims, const DimCheck *checks, uint32_t count, uint32_t *failed,
               Err *err) {
    static const char *const wanted[] = {[DIM_MULTIPLE_OF] = "a multiple of",
                                         [DIM_AT_MOST] = "at most",
                                         [DIM_EQUAL] = "equal to",
                                         [DIM_NOT_ZERO] = ""};
    for (uint32_t i = 0; i < count; i++) {
        uint64_t a = dim_get(dims, checks[i].a), b = dim_get(dims, checks[i].b);
        if (related(a, checks[i].relation, b)) continue;
        *failed = i;
        if (checks[i].relation == DIM_NOT_ZERO) return err_set(err, "expected at least 1, found 0");
        return err_set(err, "expected %s %s (%llu), found %llu", wanted[checks[i].relation],
                       dim_name(dims, checks[i].b), (unsigned long long)b, (unsigned long long)a);
    }
    return true;
}
