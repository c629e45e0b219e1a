// Seeded weights.
//
// Invariant: an element depends on the seed, the tensor's name and its place in the whole tensor
// alone; weights that checkpoints keep in bf16 are values of bf16. Spreads keep activations near 1
// through many layers: matrices by the root of their inputs (Glorot and Bengio, AISTATS 2010),
// norms around 1.
#include "exec/weights.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "exec/kernel/convert.h"
#include "model/base/hash.h"
#include "model/base/text.h"
#include "model/plan/shard.h"
#include "model/plan/shard_slice.h"
#include "model/base/wide.h"

#define NAME_MAX_B  256
#define NORM_SPREAD 0.1F
#define BIAS_SPREAD 0.05F
#define WEYL        UINT64_C(0x9e3779b97f4a7c15) // 2^64 / golden ratio: the step of splitmix64

static const char *const slot_names[WEIGHT_COUNT] = {
#define X(name, text) text,
    WEIGHT_LIST(X)
#undef X
};

// ---- Which slot a tensor is in.

static bool is_one_of(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *at = list; at != NULL; at = strchr(at, '|')) {
        at += *at == '|';
        if (strncmp(at, name, length) == 0 && (at[length] == '|' || at[length] == '\0'))
            return true;
    }
    return false;
}

static const char *name_in_layer(const TensorClass *tensor) {
    const char *layer = strstr(tensor->pattern, "{L}.");
    return layer != NULL ? layer + strlen("{L}.") : tensor->pattern;
}

static WeightSlot slot_of(const TensorClass *tensor) {
    uint32_t slot = 0;
    while (slot < WEIGHT_COUNT && !is_one_of(slot_names[slot], name_in_layer(tensor))) slot++;
    return (WeightSlot)slot;
}

static bool is_left_out(const TensorClass *tensor) {
    return tensor->component == COMPONENT_MTP || tensor->component == COMPONENT_VISION;
}

bool weights_check(const Arch *arch, Err *err) {
    for (uint32_t i = 0; i < arch->tensor_count; i++) {
        const TensorClass *tensor = &arch->tensors[i];
        if (is_left_out(tensor)) continue;
        if (slot_of(tensor) == WEIGHT_COUNT)
            return err_set(err, "%s: no kernel reads %s", arch->name, tensor->pattern);
        if (strcmp(tensor->type, "BF16") != 0 && strcmp(tensor->type, "F32") != 0)
            return err_set(err, "%s: no kernel for weights in %s (%s)", arch->name, tensor->type,
                           tensor->pattern);
    }
    return true;
}

// ---- Elements.

static uint64_t stream_of(uint64_t seed, const char *name) {
    return hash_spread(hash_string(hash_u64(HASH_START, seed), name));
}

// Uniform in [-1, 1), 24 bits.
static float uniform(uint64_t stream, uint64_t index) {
    return (float)(hash_spread(stream + index * WEYL) >> 40) * 0x1p-23F - 1;
}

static bool is_vector(const TensorClass *tensor) {
    return tensor->dim_count < 2;
}

static bool is_bias(const TensorClass *tensor) {
    size_t length = strlen(tensor->pattern), end = strlen("bias");
    return length >= end && strcmp(tensor->pattern + length - end, "bias") == 0;
}

static float element(uint64_t stream, const TensorClass *tensor, uint64_t index) {
    float spread = uniform(stream, index), value;
    if (is_bias(tensor))
        value = BIAS_SPREAD * spread;
    else if (is_vector(tensor))
        value = 1 + NORM_SPREAD * spread;
    else if (tensor->component == COMPONENT_EMBEDDING)
        value = sqrtf(3) * spread; // variance 1
    else
        value = sqrtf(3 / (float)tensor->dims[tensor->dim_count - 1]) * spread;
    if (strcmp(tensor->type, "BF16") == 0) convert_round(NUMFMT_BF16, &value, 1);
    return value;
}

float weights_element(uint64_t seed, const char *name, const TensorClass *tensor, uint64_t index) {
    return element(stream_of(seed, name), tensor, index);
}

// ---- One tensor as a position holds it.

static void fill_name(const char *pattern, uint32_t layer, uint32_t expert, char *out) {
    size_t length = 0;
    for (const char *at = pattern; *at != '\0' && length + 16 < NAME_MAX_B;) {
        bool is_layer = strncmp(at, "{L}", 3) == 0, is_expert = strncmp(at, "{E}", 3) == 0;
        if (is_layer || is_expert) {
            length += (size_t)snprintf(out + length, 16, "%u", is_layer ? layer : expert);
            at += 3;
        } else {
            out[length++] = *at++;
        }
    }
    out[length] = '\0';
}

typedef struct Cut {
    const TensorClass *tensor;
    uint32_t layer, expert, ways, index;
} Cut;

static uint64_t held_of(const Cut *cut) {
    ShardPart part;
    shard_slice_part(cut->tensor, cut->ways, cut->index, &part);
    uint64_t held = part.padding;
    for (uint32_t i = 0; i < part.run_count; i++) held += part.runs[i].count;
    return held;
}

// Rows and columns of it.
static void size_of(const Cut *cut, uint64_t *n, uint64_t *k) {
    const TensorClass *tensor = cut->tensor;
    *n = tensor->dims[0];
    *k = is_vector(tensor) ? 1 : tensor->dims[1];
    uint64_t held = held_of(cut);
    if (tensor->axis == 0)
        *n = held;
    else
        *k = held;
}

// Padding stays 0, at the end.
static void fill_cut(const Cut *cut, uint64_t seed, float *out) {
    const TensorClass *tensor = cut->tensor;
    ShardShape shape = shard_slice_shape(tensor);
    uint64_t inner = shape.inner_bits / tensor->element_bits;
    ShardPart part;
    char name[NAME_MAX_B];
    fill_name(tensor->pattern, cut->layer, cut->expert, name);
    uint64_t stream = stream_of(seed, name);
    shard_slice_part(tensor, cut->ways, cut->index, &part);
    for (uint64_t row = 0; row < shape.outer; row++) {
        for (uint32_t i = 0; i < part.run_count; i++) {
            uint64_t first = (row * shape.extent + part.runs[i].first) * inner;
            for (uint64_t j = 0; j < part.runs[i].count * inner; j++)
                *out++ = element(stream, tensor, first + j);
        }
    }
}

// ---- All that a rank holds.

typedef struct Builder {
    const Arch *arch;
    const Pool *pool;
    uint64_t seed;
    WeightPlace place;
    Weights *out;
} Builder;

static Cut cut_of(const Builder *builder, const TensorClass *tensor, uint32_t layer,
                  uint32_t expert) {
    bool routed = shard_slice_is_routed(tensor);
    return (Cut){.tensor = tensor,
                 .layer = layer,
                 .expert = expert,
                 .ways = routed ? builder->pool->moe_tp : builder->pool->tp,
                 .index = routed ? builder->place.moe_index : builder->place.tp_index};
}

// Experts of a routed tensor that the rank holds.
static void experts_of(const Builder *builder, const TensorClass *tensor, uint32_t *first,
                       uint32_t *count) {
    *first = 0;
    *count = 1;
    if (shard_slice_is_routed(tensor))
        pool_experts(builder->pool, shard_slice_experts(tensor), builder->place.ep_position, first,
                     count);
}

static bool is_in(const TensorClass *tensor, WeightSlot slot, uint32_t kind) {
    return !is_left_out(tensor) && tensor->layer_kind == kind && slot_of(tensor) == slot;
}

// The tensors of a slot in the order of the architecture; for experts, those of one expert before
// those of the next.
static Weight build_slot(const Builder *builder, WeightSlot slot, uint32_t kind, uint32_t layer) {
    const Arch *arch = builder->arch;
    Weight weight = {0};
    uint32_t first = 0;
    uint64_t rows = 0, columns = 0, n, k;
    for (uint32_t i = 0; i < arch->tensor_count; i++) {
        if (!is_in(&arch->tensors[i], slot, kind)) continue;
        Cut cut = cut_of(builder, &arch->tensors[i], layer, 0);
        size_of(&cut, &n, &k);
        rows += n;
        columns = k;
        experts_of(builder, &arch->tensors[i], &first, &weight.count);
    }
    weight.n = (uint32_t)rows;
    weight.k = (uint32_t)columns;
    uint64_t elements = rows * columns * weight.count;
    float *values = arena_alloc(&builder->out->arena, elements, sizeof *values), *at = values;
    for (uint32_t expert = first; expert < first + weight.count; expert++) {
        for (uint32_t i = 0; i < arch->tensor_count; i++) {
            if (!is_in(&arch->tensors[i], slot, kind)) continue;
            Cut cut = cut_of(builder, &arch->tensors[i], layer, expert);
            fill_cut(&cut, builder->seed, at);
            size_of(&cut, &n, &k);
            at += n * k;
        }
    }
    weight.values = values;
    builder->out->elements += elements;
    return weight;
}

// Tables and norms outside of the layers, where the stage has them.
static void build_model(const Builder *builder) {
    const Arch *arch = builder->arch;
    uint32_t *kinds = mem_alloc(arch->kind_count, sizeof *kinds);
    shard_stage_kinds(builder->pool, arch, builder->place.stage, kinds);
    for (uint32_t i = 0; i < arch->tensor_count; i++) {
        const TensorClass *tensor = &arch->tensors[i];
        if (tensor->layer_kind != UINT32_MAX || is_left_out(tensor)) continue;
        if (shard_stage_repeats(builder->pool, arch, builder->place.stage, kinds, tensor) == 0)
            continue;
        WeightSlot slot = slot_of(tensor);
        builder->out->model[slot] = build_slot(builder, slot, UINT32_MAX, 0);
    }
    mem_free(kinds);
}

WeightPlace weights_place(const Pool *pool, uint32_t rank) {
    uint32_t in_replica = rank % pool_replica_ranks(pool), in_stage = rank % pool_stage_ranks(pool);
    return (WeightPlace){.stage = in_replica / pool_stage_ranks(pool),
                         .tp_index = in_stage % pool->tp,
                         .ep_position = in_stage / pool->moe_tp,
                         .moe_index = in_stage % pool->moe_tp};
}

void weights_build(const Arch *arch, const Pool *pool, uint64_t seed, WeightPlace place,
                   Weights *out) {
    Builder builder = {arch, pool, seed, place, out};
    *out = (Weights){0};
    pool_stage_layers(pool, arch->layers, place.stage, &out->first_layer, &out->layer_count);
    out->layers = arena_alloc(&out->arena, out->layer_count, sizeof *out->layers);
    build_model(&builder);
    for (uint32_t i = 0; i < out->layer_count; i++) {
        uint32_t layer = out->first_layer + i;
        for (uint32_t slot = 0; slot < WEIGHT_COUNT; slot++)
            out->layers[i][slot] =
                build_slot(&builder, (WeightSlot)slot, arch->kind_of_layer[layer], layer);
    }
}

static uint64_t count_kind(const Builder *builder, uint32_t kind) {
    const Arch *arch = builder->arch;
    uint64_t elements = 0;
    for (uint32_t i = 0; i < arch->tensor_count; i++) {
        const TensorClass *tensor = &arch->tensors[i];
        if (tensor->layer_kind != kind || is_left_out(tensor)) continue;
        Cut cut = cut_of(builder, tensor, 0, 0);
        uint32_t first, count;
        uint64_t n, k;
        size_of(&cut, &n, &k);
        experts_of(builder, tensor, &first, &count);
        elements = wide_add_saturate(elements, wide_mul_saturate(wide_mul_saturate(n, k), count));
    }
    return elements;
}

uint64_t weights_count(const Arch *arch, const Pool *pool, WeightPlace place) {
    Builder builder = {arch, pool, 0, place, NULL};
    uint32_t first, layers;
    pool_stage_layers(pool, arch->layers, place.stage, &first, &layers);
    uint64_t elements = count_kind(&builder, UINT32_MAX); // of all stages: a few more than it has
    for (uint32_t i = 0; i < layers; i++)
        elements =
            wide_add_saturate(elements, count_kind(&builder, arch->kind_of_layer[first + i]));
    return elements;
}

void weights_free(Weights *weights) {
    arena_free(&weights->arena);
    *weights = (Weights){0};
}
