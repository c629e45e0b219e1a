// Rotary position embedding: turns pairs of elements of a head by angles that grow with the
// position.
#ifndef EXEC_KERNEL_ROPE_H
#define EXEC_KERNEL_ROPE_H

#include <stdint.h>

// HALVES: element i is paired with i + width / 2 (Qwen, Llama). INTERLEAVED: 2 i with 2 i + 1
// (DeepSeek).
typedef enum RopePairs { ROPE_HALVES, ROPE_INTERLEAVED } RopePairs;

// YaRN (arXiv:2309.00071) when factor is above 1: frequencies whose waves are longer than the
// trained context are divided by it, shorter ones are left, those between blend; the fields are
// those of rope_scaling in config.json.
typedef struct RopeSpec {
    RopePairs pairs;
    uint32_t width; // elements of a head that are turned, even
    double theta;
    double factor; // 0 or 1: none
    double beta_fast, beta_slow, mscale, mscale_all_dim;
    uint64_t trained; // original_max_position_embeddings
} RopeSpec;

// Cosine and sine of every angle; heap memory, freed by rope_free.
typedef struct RopeTable {
    RopePairs pairs;
    uint32_t width;
    float *cosines, *sines; // [position][width / 2]
} RopeTable;

void rope_build(const RopeSpec *spec, uint64_t positions, RopeTable *out);
void rope_free(RopeTable *table);

// Turns the first `width` elements in place.
void rope_turn(const RopeTable *table, uint64_t position, float *head);

// What attention scores are multiplied by besides 1 / sqrt(width of a head): DeepSeek's
// mscale(factor, mscale_all_dim) squared; 1 without YaRN.
double rope_attention_scale(const RopeSpec *spec);

#endif
