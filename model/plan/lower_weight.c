// Finds the weights of a layer kind among the tensors of the architecture, by what they are for,
// and cuts them as shard_slice.c does.
//
// Invariant: the matrices of a layer kind are each named by one GEMM, so that the weight bytes of
// the operations of a layer are the matrix bytes that shard_weights counts; lower_check refuses a
// model with a matrix that no operation names. The tests compare the bytes for every shipped model.
#include <assert.h>
#include <string.h>

#include "model/base/wide.h"
#include "model/moe/tensor.h"
#include "model/plan/lower_internal.h"
#include "model/plan/shard_slice.h"

// ---- One matrix.

// Vectors of stacked experts (biases) have two dimensions as well.
static bool is_bias(const TensorClass *tensor) {
    return shard_slice_stacked(tensor) > 0 && tensor->dim_count == 2 &&
           tensor->dims[0] == tensor->fused_experts;
}

static bool is_matrix(const TensorClass *tensor) {
    return !tensor->is_scale && tensor->parameters > 0 && tensor->dim_count >= 2 &&
           tensor->dims[0] > 0 && !is_bias(tensor);
}

// Rows and logical columns (two for each byte of packed 4-bit codes) of one matrix: of one expert
// where experts are stacked.
typedef struct Size {
    uint64_t n, k;
} Size;

// Experts read `width` inputs and give as many outputs, whichever side of the tensor that is.
static Size expert_size(const Arch *arch, const TensorClass *tensor) {
    const MlpSpec *mlp = &arch->mlps[arch->kinds[tensor->layer_kind].mlp];
    uint64_t width = mlp->latent > 0 ? mlp->latent : arch->hidden;
    uint32_t stacked = shard_slice_stacked(tensor);
    uint64_t inner = tensor->parameters / (stacked > 0 ? stacked : 1) / width;
    return tensor->shard == SHARD_EXPERT_ROW ? (Size){width, inner} : (Size){inner, width};
}

static Size size_of(const Arch *arch, const TensorClass *tensor) {
    if (shard_slice_is_routed(tensor)) return expert_size(arch, tensor);
    uint64_t rows = tensor->dims[0];
    if (tensor->shard == SHARD_ROW && tensor->axis == 0) rows = tensor->dims[1];
    if (tensor->shard != SHARD_ROW && tensor->axis > 0) rows = tensor->dims[tensor->axis];
    return (Size){rows, rows > 0 ? tensor->parameters / rows : 0};
}

// Of scales for `all` weights, what `part` of them have. Those of wider weights, one for 128 x 128
// or for a row, are less than a thousandth of them and left out.
static uint32_t scales_of(uint64_t scale_B, uint64_t part, uint64_t all) {
    uint64_t B = all == 0 ? 0 : wide_mul_div_up(scale_B, part, all);
    return B > UINT32_MAX ? UINT32_MAX : (uint32_t)B;
}

LowerWeight lower_weight_part(const LowerWeight *whole, uint64_t n, uint64_t k) {
    return (LowerWeight){.n = (uint32_t)n,
                         .k = (uint32_t)k,
                         .format = whole->format,
                         .scale_B =
                             scales_of(whole->scale_B, n * k, (uint64_t)whole->n * whole->k)};
}

// What the first rank holds of it, which has the longest part.
static LowerWeight cut(const Lower *lower, const TensorClass *tensor) {
    bool routed = shard_slice_is_routed(tensor);
    Size size = size_of(lower->arch, tensor);
    ShardPart part;
    uint64_t extent = shard_slice_shape(tensor).extent;
    shard_slice_part(tensor, routed ? lower->pool->moe_tp : lower->pool->tp, 0, &part);
    uint64_t held = part.padding;
    for (uint32_t i = 0; i < part.run_count; i++) held += part.runs[i].count;
    bool by_inputs = tensor->shard == SHARD_ROW || tensor->shard == SHARD_EXPERT_ROW;
    uint64_t *cut_side = by_inputs ? &size.k : &size.n;
    if (held != extent && extent > 0) *cut_side = *cut_side * held / extent;
    NumFmt format = tensor_format(tensor);
    uint64_t scale_B = numfmt_bits(format) > 4 ? 0 : tensor->scale_B;
    return (LowerWeight){.n = (uint32_t)size.n,
                         .k = (uint32_t)size.k,
                         .format = format,
                         .scale_B = scales_of(scale_B, size.n * size.k, tensor->parameters)};
}

static void put_beside(LowerWeights *sum, const LowerWeight *weight) {
    uint32_t i = 0;
    while (i < sum->count && (sum->of[i].k != weight->k || sum->of[i].format != weight->format))
        i++;
    assert(i < LOWER_WEIGHTS_MAX);
    if (i == sum->count) sum->of[sum->count++] = (LowerWeight){0, weight->k, weight->format, 0};
    sum->of[i].n += weight->n;
    sum->of[i].scale_B += weight->scale_B;
}

uint32_t lower_rows(const LowerWeights *weights) {
    uint32_t rows = 0;
    for (uint32_t i = 0; i < weights->count; i++) rows += weights->of[i].n;
    return rows;
}

// ---- What a matrix of attention is for.

static bool is_kv_up(const AttentionSpec *spec, const Size *size) {
    if (spec->kind != ATTENTION_MLA || size->k != spec->kv_lora) return false;
    uint64_t head = (uint64_t)spec->head_dim - spec->rope + spec->value_dim;
    return size->n == spec->heads * head;
}

static TensorUse use_of(const Arch *arch, const TensorClass *tensor) {
    const AttentionSpec *spec = &arch->attentions[arch->kinds[tensor->layer_kind].attention];
    if (tensor->use != TENSOR_BY_RULE) return tensor->use;
    if (tensor->dim_count > 2) return TENSOR_TABLE; // the filters of a convolution
    if (tensor->shard == SHARD_ROW) return TENSOR_OUTPUT;
    Size size = size_of(arch, tensor);
    if (is_kv_up(spec, &size)) return TENSOR_KV_UP;
    if (size.k != arch->hidden) return TENSOR_UP;
    return tensor->shard == SHARD_REPLICATED ? TENSOR_LATENT : TENSOR_HEADS;
}

static uint32_t bit(TensorUse use) {
    return UINT32_C(1) << use;
}

// Uses that the operations of a kind of attention read (lower_attention.c, lower_state.c); of those
// in `needed` there must be one.
typedef struct Uses {
    uint32_t known, needed;
} Uses;

#define USE LOWER_USE

static Uses uses_of(AttentionKind kind) {
    const uint32_t ends = USE(HEADS) | USE(OUTPUT);
    switch (kind) {
    case ATTENTION_GQA: return (Uses){ends | USE(LATENT) | USE(UP) | USE(INDEX), ends};
    case ATTENTION_MLA:
        return (Uses){ends | USE(LATENT) | USE(UP) | USE(KV_UP) | USE(INDEX),
                      USE(LATENT) | USE(KV_UP) | USE(OUTPUT)};
    case ATTENTION_COMPRESSED:
        return (Uses){USE(LATENT) | USE(UP) | USE(INDEX) | USE(GROUPED) | USE(OUTPUT),
                      USE(LATENT) | USE(UP) | USE(GROUPED) | USE(OUTPUT)};
    case ATTENTION_KDA:
        return (Uses){ends | USE(LATENT) | USE(GATE) | USE(UP) | USE(GATE_UP), ends | USE(UP)};
    case ATTENTION_GATED_DELTA:
    case ATTENTION_LIGHTNING:
    case ATTENTION_MAMBA2: return (Uses){ends, ends};
    case ATTENTION_MAMBA1: return (Uses){ends | USE(STEP) | USE(UP), ends | USE(STEP) | USE(UP)};
    case ATTENTION_NONE:
    case ATTENTION_KIND_COUNT: break;
    }
    return (Uses){0, 0};
}

// ---- The weights of an operation.

// Which matrices: `rows` 0 and any `shard` where they do not matter.
typedef struct Wanted {
    Component component;
    uint32_t uses; // of attention
    bool any_shard;
    ShardRule shard;
    uint32_t rows;
} Wanted;

static bool is_wanted(const Lower *lower, const Wanted *wanted, const TensorClass *tensor) {
    if (tensor->layer_kind != lower->kind || tensor->component != wanted->component ||
        !is_matrix(tensor))
        return false;
    if (wanted->uses != 0) return (wanted->uses & bit(use_of(lower->arch, tensor))) != 0;
    return (wanted->any_shard || tensor->shard == wanted->shard) &&
           (wanted->rows == 0 || tensor->dims[0] == wanted->rows);
}

// Blocks of attention in a layer, each with a dense part.
static uint32_t blocks_of(const Lower *lower, Component component) {
    bool has_blocks = component == COMPONENT_ATTENTION || component == COMPONENT_DENSE;
    if (lower->kind == SCHEDULE_NONE || !has_blocks) return 1;
    uint32_t blocks = lower->arch->attentions[lower->arch->kinds[lower->kind].attention].per_layer;
    return blocks > 1 ? blocks : 1;
}

// The matrices of one block: blocks follow each other in the order of the tensors.
static LowerWeights find(const Lower *lower, const Wanted *wanted) {
    LowerWeights sum = {0};
    uint32_t count = 0, number = 0, blocks = blocks_of(lower, wanted->component);
    for (uint32_t i = 0; i < lower->arch->tensor_count; i++)
        count += is_wanted(lower, wanted, &lower->arch->tensors[i]);
    uint32_t first = lower->block * (count / blocks), end = first + count / blocks;
    for (uint32_t i = 0; i < lower->arch->tensor_count; i++) {
        const TensorClass *tensor = &lower->arch->tensors[i];
        if (!is_wanted(lower, wanted, tensor)) continue;
        LowerWeight weight = cut(lower, tensor);
        if (blocks == 1 || (number >= first && number < end)) put_beside(&sum, &weight);
        number++;
    }
    return sum;
}

LowerWeights lower_attention_weights(const Lower *lower, uint32_t uses) {
    return find(lower, &(Wanted){.component = COMPONENT_ATTENTION, .uses = uses});
}

LowerWeights lower_component_weights(const Lower *lower, Component component, ShardRule shard) {
    return find(lower, &(Wanted){.component = component, .shard = shard});
}

LowerWeights lower_weights_of_rows(const Lower *lower, Component component, uint32_t rows) {
    return find(lower, &(Wanted){.component = component, .any_shard = true, .rows = rows});
}

// Matrices among the norms whose inputs are several residual streams mix them
// (hyper-connections); with the hidden size as inputs they are one dot product of the norm kernel.
static bool mixes_streams(const Arch *arch, const TensorClass *tensor) {
    return tensor->component == COMPONENT_NORM && is_matrix(tensor) &&
           tensor->parameters / tensor->dims[0] > arch->hidden;
}

LowerWeight lower_stream_weight(const Lower *lower, uint32_t number) {
    for (uint32_t i = 0; i < lower->arch->tensor_count; i++) {
        const TensorClass *tensor = &lower->arch->tensors[i];
        if (tensor->layer_kind != lower->kind || !mixes_streams(lower->arch, tensor)) continue;
        if (number-- == 0) return cut(lower, tensor);
    }
    return (LowerWeight){0};
}

uint32_t lower_streams(const Arch *arch) {
    for (uint32_t i = 0; i < arch->tensor_count; i++) {
        const TensorClass *tensor = &arch->tensors[i];
        if (tensor->layer_kind < arch->kind_count && mixes_streams(arch, tensor))
            return (uint32_t)(tensor->parameters / tensor->dims[0] / arch->hidden);
    }
    return 1;
}

uint64_t lower_conv_channels(const Lower *lower, uint64_t *filter_B) {
    uint64_t channels = 0;
    *filter_B = 0;
    for (uint32_t i = 0; i < lower->arch->tensor_count; i++) {
        const TensorClass *tensor = &lower->arch->tensors[i];
        if (tensor->layer_kind != lower->kind || tensor->component != COMPONENT_ATTENTION ||
            !is_matrix(tensor) || tensor->dim_count != 3)
            continue;
        LowerWeight filters = cut(lower, tensor);
        channels += filters.n;
        *filter_B += numfmt_bytes(filters.format, (uint64_t)filters.n * filters.k);
    }
    return channels;
}

bool lower_has(const Lower *lower, uint32_t kind, const char *name) {
    for (uint32_t i = 0; i < lower->arch->tensor_count; i++) {
        const TensorClass *tensor = &lower->arch->tensors[i];
        if (tensor->layer_kind == kind && strstr(tensor->pattern, name) != NULL) return true;
    }
    return false;
}

// ---- What cannot be lowered.

// Whether an operation reads this matrix of a layer (lower_moe.c, lower_tokens.c).
static bool is_read(const Arch *arch, const TensorClass *tensor) {
    const LayerKind *kind = &arch->kinds[tensor->layer_kind];
    const MlpSpec *mlp = &arch->mlps[kind->mlp];
    bool routed = shard_slice_is_routed(tensor);
    Size size = size_of(arch, tensor);
    switch (tensor->component) {
    case COMPONENT_ATTENTION:
        return ((uses_of(arch->attentions[kind->attention].kind).known | USE(TABLE)) &
                bit(use_of(arch, tensor))) != 0;
    case COMPONENT_DENSE:
    case COMPONENT_SHARED:
        return !routed && (tensor->shard == SHARD_ROW ? size.n : size.k) == arch->hidden;
    case COMPONENT_ROUTED: return routed && mlp->experts > 0;
    case COMPONENT_ROUTER: return tensor->shard == SHARD_REPLICATED && size.k == arch->hidden;
    case COMPONENT_LATENT:
        return mlp->latent > 0 && (size.n == mlp->latent || size.n == arch->hidden);
    case COMPONENT_NORM:
    case COMPONENT_EMBEDDING:
    case COMPONENT_HEAD:
    case COMPONENT_MTP:
    case COMPONENT_VISION:
    case COMPONENT_COUNT: break;
    }
    return true;
}

static bool check_tensors(const Arch *arch, uint32_t kind, uint32_t *found, Err *err) {
    for (uint32_t i = 0; i < arch->tensor_count; i++) {
        const TensorClass *tensor = &arch->tensors[i];
        if (tensor->layer_kind != kind || !is_matrix(tensor)) continue;
        if (!is_read(arch, tensor))
            return err_set(err, "%s cannot be priced: no operation is known that reads %s (%s)",
                           arch->name, tensor->pattern, arch_component_names[tensor->component]);
        if (tensor->component == COMPONENT_ATTENTION) *found |= bit(use_of(arch, tensor));
    }
    return true;
}

static bool check_kind(const Arch *arch, uint32_t number, Err *err) {
    const LayerKind *kind = &arch->kinds[number];
    const AttentionSpec *spec = &arch->attentions[kind->attention];
    uint32_t found = 0;
    if (!check_tensors(arch, number, &found, err)) return false;
    if ((uses_of(spec->kind).needed & ~found) != 0)
        return err_set(err, "%s cannot be priced: %s attention lacks one of its projections",
                       arch->name, arch_attention_names[spec->kind]);
    if (spec->per_layer > 1 && arch->mlps[kind->mlp].experts == 0)
        return err_set(err, "%s cannot be priced: %u attentions in a layer without experts",
                       arch->name, spec->per_layer);
    return true;
}

bool lower_check(const Arch *arch, Err *err) {
    for (uint32_t i = 0; i < arch->kind_count; i++)
        if (!check_kind(arch, i, err)) return false;
    return true;
}

// FP8 checkpoints are made for FP8 arithmetic (dynamic activation scales). 4-bit weights are stored
// alone: they compute in the format of the activations, which the plan says.
NumFmt lower_math(const Lower *lower, NumFmt weights) {
    NumFmt activations = lower->pool->activation_format;
    switch (weights) {
    case NUMFMT_FP8: return NUMFMT_FP8;
    case NUMFMT_INT8: return NUMFMT_INT8;
    case NUMFMT_FP4:
        return activations == NUMFMT_FP4 || activations == NUMFMT_FP8 ? activations : NUMFMT_BF16;
    case NUMFMT_INT4:
        return activations == NUMFMT_INT8 || activations == NUMFMT_FP8 ? activations : NUMFMT_BF16;
    case NUMFMT_F32:
    case NUMFMT_F16:
    case NUMFMT_BF16:
    case NUMFMT_COUNT: break;
    }
    return NUMFMT_BF16;
}
