// Families of DeepSeek, and those that took over its layers.
//
// Invariant: rows only; no code.
#include "model/moe/family_rows.h"

#define DEEPSEEK                                                                                   \
    PLAIN_NAMES, .parts = {&parts_model_tables,  &parts_model_first_dense, &parts_model_norms,     \
                           &parts_attention_mla, &parts_mlp_dense,         &parts_mlp_moe,         \
                           &parts_model_mtp},                                                      \
                 .pattern = {ALL(parts_attention_mla), ALL(parts_mlp_moe), DENSE_OFF_PERIOD(0),    \
                             DENSE_FIRST},                                                         \
                 .mtp_parts = {&parts_attention_mla, &parts_mlp_moe}

static const Family families[] = {
    {.model_types = "deepseek_v3", DEEPSEEK, .presets = {{DIM_MTP_TABLES, 1}, {DIM_MTP_COPIES, 2}}},
    {.model_types = "deepseek_v32",
     PLAIN_NAMES,
     .parts = {&parts_model_tables, &parts_model_first_dense, &parts_model_norms,
               &parts_attention_mla, &parts_attention_dsa, &parts_mlp_dense, &parts_mlp_moe,
               &parts_model_mtp},
     .pattern = {ALL(parts_attention_dsa), ALL(parts_mlp_moe), DENSE_OFF_PERIOD(0), DENSE_FIRST},
     .presets = {{DIM_MTP_TABLES, 1}, {DIM_MTP_COPIES, 2}},
     .mtp_parts = {&parts_attention_dsa, &parts_mlp_moe}},
    {.model_types = "deepseek_v2|kimi_k2", DEEPSEEK},
};

const FamilyGroup family_deepseek = {families, COUNT(families)};
