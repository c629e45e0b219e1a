// Rotary position embedding.
//
// Invariant: angles are computed in double, so that position 100000 is turned as exactly as
// position 1. Sources: Su et al., arXiv:2104.09864; Peng et al., arXiv:2309.00071, sections 3.2 and
// 3.4 (YaRN); the config fields and the two mscales as in the modelling code of DeepSeek-V3.
#include "exec/kernel/rope.h"

#include <math.h>
#include <stdbool.h>

#include "model/base/mem.h"

#define TURN 6.283185307179586476925

// The pair whose wave turns `turns` times in the trained context, as a fraction of pairs.
static double pair_of_turns(const RopeSpec *spec, double turns) {
    return spec->width * log((double)spec->trained / (turns * TURN)) / (2 * log(spec->theta));
}

static double clamp(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

// 1: as trained; 0: divided by the factor.
static double kept(const RopeSpec *spec, uint32_t pair) {
    double low = clamp(floor(pair_of_turns(spec, spec->beta_fast)), 0, spec->width - 1);
    double high = clamp(ceil(pair_of_turns(spec, spec->beta_slow)), 0, spec->width - 1);
    if (high <= low) high = low + 0.001; // as the modelling code does, against a division by 0
    return 1 - clamp((pair - low) / (high - low), 0, 1);
}

static double mscale(double factor, double by) {
    return factor > 1 && by > 0 ? 0.1 * by * log(factor) + 1 : 1;
}

static double frequency(const RopeSpec *spec, uint32_t pair) {
    double plain = pow(spec->theta, -2.0 * pair / spec->width);
    if (spec->factor <= 1) return plain;
    double part = kept(spec, pair);
    return plain * part + plain / spec->factor * (1 - part);
}

void rope_build(const RopeSpec *spec, uint64_t positions, RopeTable *out) {
    uint32_t pairs = spec->width / 2;
    double scale = mscale(spec->factor, spec->mscale) / mscale(spec->factor, spec->mscale_all_dim);
    RopeTable table = {.pairs = spec->pairs, .width = spec->width};
    table.cosines = mem_alloc(positions * pairs, sizeof *table.cosines);
    table.sines = mem_alloc(positions * pairs, sizeof *table.sines);
    for (uint32_t pair = 0; pair < pairs; pair++) {
        double step = frequency(spec, pair);
        for (uint64_t position = 0; position < positions; position++) {
            double angle = (double)position * step;
            table.cosines[position * pairs + pair] = (float)(cos(angle) * scale);
            table.sines[position * pairs + pair] = (float)(sin(angle) * scale);
        }
    }
    *out = table;
}

void rope_free(RopeTable *table) {
    mem_free(table->cosines);
    mem_free(table->sines);
    *table = (RopeTable){0};
}

void rope_turn(const RopeTable *table, uint64_t position, float *head) {
    uint32_t pairs = table->width / 2;
    for (uint32_t pair = 0; pair < pairs; pair++) {
        bool halves = table->pairs == ROPE_HALVES;
        float *x = head + (halves ? pair : 2 * pair), *y = halves ? x + pairs : x + 1;
        float cosine = table->cosines[position * pairs + pair];
        float sine = table->sines[position * pairs + pair], before = *x;
        *x = before * cosine - *y * sine;
        *y = *y * cosine + before * sine;
    }
}

double rope_attention_scale(const RopeSpec *spec) {
    double scale = mscale(spec->factor, spec->mscale_all_dim);
    return scale * scale;
}
