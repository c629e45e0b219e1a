// Families of GLM.
//
// Invariant: rows only; no code. Sources: tensor names and shapes of zai-org/GLM-4.5, GLM-5 and
// GLM-5.2; copies of the tables stand beside the draft layer in GLM-4.5 and GLM-4.7, not in GLM-4.6
// and GLM-5.
#include "model/moe/family_rows.h"

static const Family families[] = {
    {.model_types = "glm4_moe",
     PLAIN_NAMES,
     .parts = {&parts_model_tables, &parts_model_first_dense, &parts_model_norms,
               &parts_attention_gqa, &parts_attention_glm_flags, &parts_mlp_dense, &parts_mlp_moe,
               &parts_model_mtp},
     .pattern = {ALL(parts_attention_gqa), ALL(parts_mlp_moe), DENSE_FIRST},
     .presets = {{DIM_ROUTER_BIAS, 1}, {DIM_MTP_TABLES, 1}, {DIM_MTP_COPIES, 2}},
     .mtp_parts = {&parts_attention_gqa, &parts_mlp_moe}},
    // Layers that share the indexer of the layer before have none of their own.
    {.model_types = "glm_moe_dsa",
     PLAIN_NAMES,
     .parts = {&parts_model_tables, &parts_model_first_dense, &parts_model_norms,
               &parts_attention_mla, &parts_attention_dsa, &parts_attention_dsa_shared,
               &parts_mlp_dense, &parts_mlp_moe, &parts_model_mtp},
     .pattern = {ALL(parts_attention_dsa),
                 {.part = &parts_attention_dsa_shared,
                  .kind = PATTERN_NAMES,
                  .mode = PATTERN_OVERRIDE,
                  .path = "indexer_types",
                  .text = "shared"},
                 ALL(parts_mlp_moe),
                 DENSE_FIRST,
                 {.part = &parts_mlp_dense,
                  .kind = PATTERN_NAMES,
                  .mode = PATTERN_OVERRIDE,
                  .path = "mlp_layer_types",
                  .text = "dense"}},
     .presets = {{DIM_MTP_COPIES, 2}},
     .mtp_parts = {&parts_attention_dsa, &parts_mlp_moe}},
};

const FamilyGroup family_glm = {families, COUNT(families)};
