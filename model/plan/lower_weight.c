// Finds the weights of a layer kind among the tensors of the architecture and cuts them as shard.c
// does.
//
// Invariant: the matrices of a layer kind are each named by one GEMM, so that the weight bytes of
// the operations of a layer are the matrix bytes that shard_weights counts (the tests compare
// them).
#include "model/plan/lower_internal.h"

#include <assert.h>
#include <string.h>

#include "model/base/wide.h"
#include "model/moe/tensor.h"
#include "model/plan/shard.h"

static uint32_t share_of(uint32_t extent, uint32_t ways) {
    return (uint32_t)wide_div_up_u64(extent, ways);
}

// KV heads are replicated once there are more ranks than heads.
static uint32_t kv_rows(const TensorClass *tensor, uint32_t ways) {
    uint32_t unit = tensor->unit > 0 ? tensor->unit : 1, share = share_of(tensor->dims[0], ways);
    return share > unit ? share : unit;
}

// Rows and logical columns (two for each byte of packed 4-bit codes) of the part that a rank holds.
static LowerWeight cut(const Lower *lower, const TensorClass *tensor) {
    uint32_t rows = tensor->dims[0], tp = lower->pool->tp, moe_tp = lower->pool->moe_tp;
    uint32_t columns = (uint32_t)(tensor->parameters / rows);
    switch (tensor->shard) {
    case SHARD_REPLICATED:
    case SHARD_EXPERT_WHOLE: break;
    case SHARD_COLUMN: rows = share_of(rows, tp); break;
    case SHARD_ROW: columns = share_of(columns, tp); break;
    case SHARD_KV: rows = kv_rows(tensor, tp); break;
    case SHARD_VOCAB: rows = shard_vocab_rows(rows, tp); break;
    case SHARD_EXPERT_COLUMN: rows = share_of(rows, moe_tp); break;
    case SHARD_EXPERT_ROW: columns = share_of(columns, moe_tp); break;
    }
    return (LowerWeight){.n = rows, .k = columns, .format = tensor_format(tensor)};
}

static bool is_matrix(const TensorClass *tensor) {
    return !tensor->is_scale && tensor->dim_count == 2 && tensor->dims[0] > 0 &&
           tensor->parameters > 0;
}

static void put_beside(LowerWeight *sum, const LowerWeight *weight) {
    assert(sum->n == 0 || (sum->k == weight->k && sum->format == weight->format));
    sum->n += weight->n;
    sum->k = weight->k;
    sum->format = weight->format;
}

// ".q_proj." in the pattern of the tensor.
static bool is_named(const TensorClass *tensor, const char *name) {
    size_t length = strlen(name);
    for (const char *at = strstr(tensor->pattern, name); at != NULL; at = strstr(at + 1, name)) {
        if (at > tensor->pattern && at[-1] == '.' && at[length] == '.') return true;
    }
    return false;
}

LowerWeight lower_attention_weight(const Lower *lower, const char *const *names) {
    LowerWeight sum = {0};
    for (; *names != NULL; names++) {
        for (uint32_t i = 0; i < lower->arch->tensor_count; i++) {
            const TensorClass *tensor = &lower->arch->tensors[i];
            if (tensor->layer_kind != lower->kind || !is_matrix(tensor) ||
                tensor->component != COMPONENT_ATTENTION || !is_named(tensor, *names)) {
                continue;
            }
            LowerWeight weight = cut(lower, tensor);
            put_beside(&sum, &weight);
        }
    }
    return sum;
}

LowerWeight lower_component_weight(const Lower *lower, Component component, ShardRule shard) {
    LowerWeight sum = {0};
    for (uint32_t i = 0; i < lower->arch->tensor_count; i++) {
        const TensorClass *tensor = &lower->arch->tensors[i];
        if (tensor->layer_kind != lower->kind || tensor->component != component ||
            tensor->shard != shard || !is_matrix(tensor)) {
            continue;
        }
        LowerWeight weight = cut(lower, tensor);
        put_beside(&sum, &weight);
    }
    return sum;
}

LowerWeight lower_weight_of_rows(const Lower *lower, Component component, uint32_t rows) {
    for (uint32_t i = 0; i < lower->arch->tensor_count; i++) {
        const TensorClass *tensor = &lower->arch->tensors[i];
        if (tensor->layer_kind == lower->kind && tensor->component == component &&
            is_matrix(tensor) && tensor->dims[0] == rows) {
            return cut(lower, tensor);
        }
    }
    return (LowerWeight){0};
}

bool lower_has(const Lower *lower, uint32_t kind, const char *name) {
    for (uint32_t i = 0; i < lower->arch->tensor_count; i++) {
        const TensorClass *tensor = &lower->arch->tensors[i];
        if (tensor->layer_kind == kind && strstr(tensor->pattern, name) != NULL) return true;
    }
    return false;
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
