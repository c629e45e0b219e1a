// Loads: how many tokens go to which expert; sizes that depend on routing.
#ifndef MODEL_PLAN_LOAD_H
#define MODEL_PLAN_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/hash.h"
#include "model/base/mem.h"
#include "model/base/text.h"

#define LOAD_VERSION 1

// Tokens by expert. UNIFORM: every expert gets the same share. RECORDED: shares from a file, per
// layer (or one row for all layers). A zeroed Load is uniform, without a digest.
typedef enum LoadKind { LOAD_UNIFORM, LOAD_RECORDED } LoadKind;

typedef struct Load {
    Arena arena;
    LoadKind kind;
    uint32_t experts, layers; // of the recorded rows; layers == 1 applies to all
    const uint64_t *tokens;   // [layers][experts]; the sum of each row is > 0 and fits 64 bits
    Digest digest;
} Load;

Load load_uniform(void);
// {"moesim": "load", "version": 1, "experts": E, "tokens": [[...], ...]}: one row of E counts per
// MoE layer, or one for all.
bool load_read(const char *path, Load *out, Err *err);
bool load_parse(const char *name, const char *bytes, size_t count, Load *out, Err *err);
void load_write(const Load *load, Text *out); // of a recorded one; reads back to the same digest
void load_free(Load *load);

// Whether the load has rows for `layers` MoE layers of `experts` experts (a uniform one always
// has).
bool load_check(const Load *load, uint32_t layers, uint32_t experts, Err *err);

// Share of the routed tokens of MoE layer `layer` that goes to experts [first, first + count) of
// `experts`, as the fraction *part / *whole (*whole > 0). Uniform: count / experts. Layers and
// experts that load_check would refuse get the uniform share.
void load_share(const Load *load, uint32_t layer, uint32_t experts, uint32_t first, uint32_t count,
                uint64_t *part, uint64_t *whole);

#endif
