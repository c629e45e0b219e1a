// The named dimensions of a model: those that a config gives, and those that follow from them.
//
// Tensor shapes, cache sizes and layer patterns of all families are written in these names. A flag
// is a dimension that is 0 or 1.
#ifndef MODEL_MOE_DIM_H
#define MODEL_MOE_DIM_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/moe/dim_list.h"

typedef enum Dim {
#define X(name, text) DIM_##name,
    DIM_LIST(X)
#undef X
        DIM_COUNT
} Dim;

// A zeroed DimSet knows nothing. Reading an unknown dimension is a programming error, so each field
// of a family gives a value (0 when it is optional and absent).
typedef struct DimSet {
    uint64_t value[DIM_COUNT];
    bool known[DIM_COUNT];
    const char *field[DIM_COUNT];          // the path that gave it, or NULL; borrowed
    const struct DimRule *rule[DIM_COUNT]; // the rule that gave it, or NULL; borrowed
} DimSet;

void dim_set(DimSet *dims, Dim dim, uint64_t value);
uint64_t dim_get(const DimSet *dims, Dim dim);
// The field that gave it, or what it is.
const char *dim_name(const DimSet *dims, Dim dim);
// The same, with the factors or terms of what follows by a rule ("num_attention_heads x head_dim").
// `buffer` has at least DIM_TEXT_MAX bytes. Returns buffer.
#define DIM_TEXT_MAX 256
char *dim_describe(const DimSet *dims, Dim dim, char *buffer);
// Whether a row with this condition applies: `when` is NONE or not 0, and `unless` is NONE or 0.
// Unknown counts as 0.
bool dim_holds(const DimSet *dims, Dim when, Dim unless);

// How a dimension follows from others. NONE stands for 1 in a product and for 0 in a sum; k == 0
// for 1.
typedef enum DimOp {
    DIM_PRODUCT,  // k a b c
    DIM_SUM,      // a + b + c
    DIM_LESS,     // a - k, at least 0
    DIM_ROUND_UP, // a, up to a multiple of b
    DIM_PARTS,    // a / k, rounded up
    DIM_SHARE,    // a / b, or 0 when b does not divide a
    DIM_FIRST     // a, or b when a is 0
} DimOp;

typedef struct DimRule {
    Dim out;
    DimOp op;
    Dim a, b, c;
    uint32_t k;
} DimRule;

// The message of a failure names the fields of a product that overflows 64 bits.
bool dim_apply(DimSet *dims, const DimRule *rules, uint32_t count, Err *err);

// What must hold between dimensions.
typedef enum DimRelation { DIM_MULTIPLE_OF, DIM_AT_MOST, DIM_EQUAL, DIM_NOT_ZERO } DimRelation;

typedef struct DimCheck {
    Dim a;
    DimRelation relation;
    Dim b;
} DimCheck;

// *failed is the position of the check that does not hold, for the place in the file.
bool dim_check(const DimSet *dims, const DimCheck *checks, uint32_t count, uint32_t *failed,
               Err *err);

// The product of k and the dimensions of a list of DIM_FACTORS_MAX (NONE ends it earlier); overflow
// names them.
#define DIM_FACTORS_MAX 5
bool dim_product(const DimSet *dims, const Dim *factors, uint64_t k, uint64_t *out, Err *err);

#endif
