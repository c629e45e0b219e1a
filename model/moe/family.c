// The table of families, and the look-up by model_type.
//
// Invariant: a family is a row; nothing outside this table depends on its name. A new family whose
// layers are made of known parts is one more row here; a new kind of layer is one more part in
// parts_*.c and, if need be, new names in dim.h.
#include "model/moe/family.h"

#include <string.h>

#include "model/moe/parts_attention.h"
#include "model/moe/parts_mlp.h"
#include "model/moe/parts_model.h"

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

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

#define DEEPSEEK                                                                                   \
    PLAIN_NAMES, .parts = {&parts_model_tables,  &parts_model_first_dense, &parts_model_norms,     \
                           &parts_attention_mla, &parts_mlp_dense,         &parts_mlp_moe,         \
                           &parts_model_mtp},                                                      \
                 .pattern = {ALL(parts_attention_mla), ALL(parts_mlp_moe), DENSE_OFF_PERIOD(0),    \
                             DENSE_FIRST},                                                         \
                 .mtp_attention = &parts_attention_mla, .mtp_mlp = &parts_mlp_moe

#define KIMI                                                                                       \
    .layer_prefix = "model.layers.{L}.", .mtp_prefix = "model.layers.{N}.",                        \
    .fp8_scale_type = "F32",                                                                       \
    .pattern = {LISTED(parts_attention_kda, "linear_attn_config.kda_layers"),                      \
                LISTED(parts_attention_mla, "linear_attn_config.full_attn_layers"),                \
                ALL(parts_mlp_moe_kimi), DENSE_OFF_PERIOD(0), DENSE_FIRST}

#define LLAMA                                                                                      \
    PLAIN_NAMES,                                                                                   \
        .parts = {&parts_model_tables, &parts_model_norms, &parts_attention_gqa, &parts_mlp_dense, \
                  &parts_model_no_window},                                                         \
        .pattern = {ALL(parts_attention_gqa), ALL(parts_mlp_dense)}

static const Family families[] = {
    {.model_types = "deepseek_v3", DEEPSEEK, .presets = {{DIM_MTP_TABLES, 1}}},
    {.model_types = "deepseek_v2|kimi_k2", DEEPSEEK},
    {.model_types = "kimi_linear",
     .prefix = "",
     .parts = {&parts_model_tables, &parts_model_first_dense, &parts_model_norms,
               &parts_model_attn_res, &parts_attention_kda, &parts_attention_mla, &parts_mlp_dense,
               &parts_mlp_moe_kimi, &parts_model_no_mtp, &parts_model_attn_res_out},
     .presets = {{DIM_ROUTER_BIAS, 1}, {DIM_KDA_PAD, 1}},
     KIMI},
    {.model_types = "kimi_k3",
     .text_path = "text_config",
     .text_types = "kimi_linear",
     .prefix = "language_model.",
     .parts = {&parts_model_tables, &parts_model_first_dense, &parts_model_norms,
               &parts_model_attn_res, &parts_attention_kda, &parts_attention_mla, &parts_mlp_dense,
               &parts_mlp_moe_kimi, &parts_model_no_mtp, &parts_model_attn_res_out,
               &parts_model_vision_k3},
     .presets = {{DIM_ROUTER_BIAS, 1}, {DIM_KDA_PAD, 128}}, // A_log is stored padded to 128
     KIMI},
    {.model_types = "qwen3_moe",
     .prefix = "",
     .layer_prefix = "model.layers.{L}.",
     .mtp_prefix = "",
     .fp8_scale_type = "BF16",
     .parts = {&parts_model_tables, &parts_model_qwen_step, &parts_model_norms,
               &parts_attention_gqa, &parts_mlp_dense, &parts_mlp_moe, &parts_model_no_window},
     .pattern = {ALL(parts_attention_gqa), ALL(parts_mlp_moe), DENSE_OFF_PERIOD(1),
                 DENSE_LISTED("mlp_only_layers")},
     .presets = {{DIM_QK_NORM, 1}}},
    {.model_types = "glm4_moe",
     PLAIN_NAMES,
     .parts = {&parts_model_tables, &parts_model_first_dense, &parts_model_norms,
               &parts_attention_gqa, &parts_attention_glm_flags, &parts_mlp_dense, &parts_mlp_moe,
               &parts_model_mtp},
     .pattern = {ALL(parts_attention_gqa), ALL(parts_mlp_moe), DENSE_FIRST},
     .presets = {{DIM_ROUTER_BIAS, 1}, {DIM_MTP_TABLES, 1}},
     .mtp_attention = &parts_attention_gqa,
     .mtp_mlp = &parts_mlp_moe},
    {.model_types = "mixtral",
     PLAIN_NAMES,
     .parts = {&parts_model_tables, &parts_model_norms, &parts_attention_gqa,
               &parts_mlp_moe_mixtral},
     .pattern = {ALL(parts_attention_gqa), ALL(parts_mlp_moe_mixtral)}},
    {.model_types = "llama|mistral", LLAMA},
    {.model_types = "qwen2", LLAMA, .presets = {{DIM_QKV_BIAS, 1}}},
    {.model_types = "qwen3", LLAMA, .presets = {{DIM_QK_NORM, 1}}},
};

// The next word of "a|b|c": its length, and *rest after the bar.
static size_t next_word(const char **rest, const char **word) {
    *word = *rest;
    size_t length = strcspn(*rest, "|");
    *rest += length + ((*rest)[length] == '|');
    return length;
}

bool family_word_in(const char *word, const char *joined) {
    while (*joined != '\0') {
        const char *candidate;
        size_t length = next_word(&joined, &candidate);
        if (strlen(word) == length && memcmp(word, candidate, length) == 0) return true;
    }
    return false;
}

const Family *family_find(const char *model_type) {
    for (uint32_t i = 0; i < COUNT(families); i++)
        if (family_word_in(model_type, families[i].model_types)) return &families[i];
    return NULL;
}

void family_list(Text *out) {
    const char *separator = "";
    for (uint32_t i = 0; i < COUNT(families); i++) {
        const char *rest = families[i].model_types;
        while (*rest != '\0') {
            const char *word;
            size_t length = next_word(&rest, &word);
            text_add(out, separator);
            text_add_bytes(out, word, length);
            separator = ", ";
        }
    }
}
