// The table of schemes: which tensors stand for a quantised matrix.
//
// Invariant: what follows from the scheme alone is here; sizes that a config chooses are in
// QuantStore. Sources, headers of published checkpoints: deepseek-ai/DeepSeek-V3 (fp8 blocks, F32
// scales), Qwen/Qwen3-235B-A22B-FP8 (BF16 scales), deepseek-ai/DeepSeek-V4-Flash (fp4 experts in
// bytes, E8M0 scales), moonshotai/Kimi-K3 (MXFP4 with U8 scales), openai/gpt-oss-120b (_blocks and
// _scales), moonshotai/Kimi-K2.5 (int4 in I32). Source: OCP Microscaling Formats 1.0, section 5.3,
// for the 32 codes that share a scale; the exporter of NVIDIA Model Optimizer for NVFP4 (16 codes
// share an E4M3 scale, all of a matrix an F32 one) and for its FP8; the compressed-tensors library
// for scales in the type of the model and for weight_shape (I32).
#include <string.h>

#include "model/moe/quant.h"

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

const QuantScheme quant_schemes[QUANT_SCHEME_COUNT] = {
    [QUANT_FP8_BLOCKS] = {.name = "fp8 blocks",
                          .suffix = ".weight",
                          .type = "F8_E4M3",
                          .packed = 1,
                          .beside = {{.type_of = QUANT_FAMILY}},
                          .beside_count = 1},
    [QUANT_FP8_TENSOR] = {.name = "fp8 per tensor",
                          .suffix = ".weight",
                          .type = "F8_E4M3",
                          .packed = 1,
                          .beside = {{".weight_scale", "F32", QUANT_NAMED, QUANT_ONE},
                                     {".input_scale", "F32", QUANT_NAMED, QUANT_ONE}},
                          .beside_count = 2},
    [QUANT_FP8_SCALED] = {.name = "fp8 scaled",
                          .suffix = ".weight",
                          .type = "F8_E4M3",
                          .packed = 1,
                          .beside = {{".weight_scale", NULL, QUANT_MODEL, QUANT_BLOCKS},
                                     {".input_scale", NULL, QUANT_MODEL, QUANT_LIST}},
                          .beside_count = 2},
    [QUANT_FP8_SCALED_TENSOR] = {.name = "fp8 scaled per tensor",
                                 .suffix = ".weight",
                                 .type = "F8_E4M3",
                                 .packed = 1,
                                 .beside = {{".weight_scale", NULL, QUANT_MODEL, QUANT_LIST},
                                            {".input_scale", NULL, QUANT_MODEL, QUANT_LIST}},
                                 .beside_count = 2},
    [QUANT_FP4_EXPERTS] = {.name = "fp4 experts",
                           .suffix = ".weight",
                           .type = "I8",
                           .packed = 2,
                           .beside = {{NULL, "F8_E8M0", QUANT_NAMED, QUANT_BLOCKS}},
                           .beside_count = 1},
    [QUANT_MXFP4] = {.name = "mxfp4",
                     .suffix = ".weight_packed",
                     .type = "U8",
                     .packed = 2,
                     .beside = {{".weight_scale", "U8", QUANT_NAMED, QUANT_BLOCKS}},
                     .beside_count = 1},
    [QUANT_MXFP4_FUSED] = {.name = "mxfp4 fused",
                           .suffix = "_blocks",
                           .type = "U8",
                           .packed = 2,
                           .fused_by_group = true,
                           .pads = true, // vLLM and SGLang, quantization/mxfp4.py
                           .beside = {{"_scales", "U8", QUANT_NAMED, QUANT_BLOCKS}},
                           .beside_count = 1},
    [QUANT_NVFP4] = {.name = "nvfp4",
                     .suffix = ".weight",
                     .type = "U8",
                     .packed = 2,
                     .beside = {{".weight_scale", "F8_E4M3", QUANT_NAMED, QUANT_BLOCKS},
                                {".weight_scale_2", "F32", QUANT_NAMED, QUANT_ONE},
                                {".input_scale", "F32", QUANT_NAMED, QUANT_ONE}},
                     .beside_count = 3},
    [QUANT_INT4] = {.name = "int4 groups",
                    .suffix = ".weight_packed",
                    .type = "I32",
                    .packed = 8,
                    .beside = {{".weight_scale", NULL, QUANT_MODEL, QUANT_BLOCKS},
                               {".weight_shape", "I32", QUANT_NAMED, QUANT_SHAPE}},
                    .beside_count = 2},
};

static const struct {
    const char *type;
    uint32_t bits;
} types[] = {{"F32", 32},        {"F16", 16},       {"BF16", 16},   {"F8_E4M3", 8}, {"F8_E5M2", 8},
             {"F8_E8M0", 8},     {"U8", 8},         {"I8", 8},      {"I32", 32},    {"I64", 64},
             {"F64", 64},        {"I16", 16},       {"U16", 16},    {"U32", 32},    {"U64", 64},
             {"BOOL", 8},        {"F4", 4},         {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"C64", 64},
             {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}};

uint32_t quant_type_bits(const char *type) {
    for (uint32_t i = 0; i < COUNT(types); i++)
        if (strcmp(types[i].type, type) == 0) return types[i].bits;
    return 0;
}
