// Words that rows of families are written in: layer names and layer patterns that several of them
// share. For family_*.c alone.
#ifndef MODEL_MOE_FAMILY_ROWS_H
#define MODEL_MOE_FAMILY_ROWS_H

#include "model/moe/family.h"
#include "model/moe/parts_attention.h"
#include "model/moe/parts_mlp.h"
#include "model/moe/parts_model.h"

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

// The rows of a part, by the name that their arrays begin with.
#define FIELDS(name)  .fields = name##_fields, .field_count = COUNT(name##_fields)
#define RULES(name)   .rules = name##_rules, .rule_count = COUNT(name##_rules)
#define CHECKS(name)  .checks = name##_checks, .check_count = COUNT(name##_checks)
#define INERT(name)   .inert = name##_inert, .inert_count = COUNT(name##_inert)
#define TENSORS(name) .tensors = name##_tensors, .tensor_count = COUNT(name##_tensors)

// The families of one file.
typedef struct FamilyGroup {
    const Family *families;
    uint32_t count;
} FamilyGroup;

extern const FamilyGroup family_deepseek, family_deepseek_v4, family_kimi, family_qwen, family_glm,
    family_minimax, family_nemotron, family_step, family_open, family_bailing, family_phimoe,
    family_granite, family_dbrx, family_arctic, family_grok, family_hunyuan, family_jamba,
    family_gpt_oss, family_llama4, family_gemma;

#define PLAIN_NAMES                                                                                \
    .prefix = "", .layer_prefix = "model.layers.{L}.", .mtp_prefix = "model.layers.{N}.",          \
    .fp8_scale_type = "F32"

// The rules shared by several families: all layers of one kind; experts except in the first layers;
// experts in every n-th layer except the listed ones; linear attention in one list of layers and
// full attention in the other.
#define ALL(which)                                                                                 \
    { .part = &(which), .kind = PATTERN_ALL }
#define DENSE_FIRST                                                                                \
    {                                                                                              \
        .part = &parts_mlp_dense, .kind = PATTERN_BELOW, .mode = PATTERN_OVERRIDE,                 \
        .dim = DIM_FIRST_DENSE                                                                     \
    }
#define DENSE_OFF_PERIOD(start)                                                                    \
    {                                                                                              \
        .part = &parts_mlp_dense, .kind = PATTERN_OFF_PERIOD, .mode = PATTERN_OVERRIDE,            \
        .dim = DIM_MOE_PERIOD, .base = (start)                                                     \
    }
#define DENSE_LISTED(where)                                                                        \
    { .part = &parts_mlp_dense, .kind = PATTERN_LIST, .mode = PATTERN_OVERRIDE, .path = (where) }
#define LISTED(which, where)                                                                       \
    { .part = &(which), .kind = PATTERN_LIST, .path = (where), .base = 1 }

// Dense decoders of one kind of layer.
#define LLAMA                                                                                      \
    PLAIN_NAMES,                                                                                   \
        .parts = {&parts_model_tables, &parts_model_norms, &parts_attention_gqa, &parts_mlp_dense, \
                  &parts_model_no_window},                                                         \
        .pattern = {ALL(parts_attention_gqa), ALL(parts_mlp_dense)}

#endif
