// Bytes of matrices in another number format.
//
// Invariant: parameters stay; scales go into the bytes of their matrix, so that they are cut with
// it.
#include "model/plan/memory_format.h"

#include "model/base/wide.h"

// The shortest side of a matrix that quantisation schemes take; convolutions have less.
#define SIDE_MIN 32

static bool is_matrix(const TensorClass *tensor) {
    switch (tensor->component) {
    case COMPONENT_ATTENTION:
    case COMPONENT_DENSE:
    case COMPONENT_ROUTED:
    case COMPONENT_SHARED:
    case COMPONENT_LATENT: break;
    case COMPONENT_EMBEDDING:
    case COMPONENT_HEAD:
    case COMPONENT_ROUTER:
    case COMPONENT_NORM:
    case COMPONENT_MTP:
    case COMPONENT_VISION:
    case COMPONENT_COUNT: return false;
    }
    // Biases of stacked experts are a vector for each.
    uint32_t sides = tensor->dim_count - (tensor->fused_experts > 0);
    return sides >= 2 && tensor->dims[tensor->dim_count - 1] >= SIDE_MIN;
}

static bool is_scaled(const TensorClass *tensor) {
    return tensor->is_scale && tensor->component != COMPONENT_MTP &&
           tensor->component != COMPONENT_VISION;
}

static uint64_t scales_B(NumFmt format, uint64_t weights) {
    switch (format) {
    case NUMFMT_FP8: return wide_div_up_u64(weights, 128 * 128) * 4;
    case NUMFMT_FP4: return wide_div_up_u64(weights, 16);
    case NUMFMT_INT4: return wide_div_up_u64(weights, 32) * 2;
    case NUMFMT_F32:
    case NUMFMT_F16:
    case NUMFMT_BF16:
    case NUMFMT_INT8:
    case NUMFMT_COUNT: break;
    }
    return 0;
}

void memory_format_change(const Arch *arch, NumFmt format, Arena *arena, Arch *out) {
    *out = *arch;
    out->arena = (Arena){0};
    out->tensors = arena_copy(arena, arch->tensors, arch->tensor_count, sizeof *arch->tensors);
    for (uint32_t i = 0; i < out->tensor_count; i++) {
        TensorClass *tensor = &out->tensors[i];
        if (is_scaled(tensor)) tensor->bytes = 0;
        if (tensor->is_scale || !is_matrix(tensor)) continue;
        tensor->bytes =
            numfmt_bytes(format, tensor->parameters) + scales_B(format, tensor->parameters);
    }
    out->expert_format = out->dense_format = format;
}

void memory_format_expand(const Arch *arch, Arena *arena, Arch *out) {
    *out = *arch;
    out->arena = (Arena){0};
    out->attentions =
        arena_copy(arena, arch->attentions, arch->attention_count, sizeof *arch->attentions);
    for (uint32_t i = 0; i < out->attention_count; i++) {
        AttentionSpec *spec = &out->attentions[i];
        if (spec->kind != ATTENTION_MLA) continue;
        spec->kind = ATTENTION_GQA;
        spec->kv_heads = spec->heads;
        spec->kv_elements_per_token = (uint64_t)spec->heads * (spec->head_dim + spec->value_dim);
        spec->kv_packed_B_per_token = 0;
    }
}
