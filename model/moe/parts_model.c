// What is not attention and not a feed-forward block, as tables: vocabulary tables, norms, draft
// layers, a vision tower; and the keys of a config that never change cost.
//
// Invariant: rows only; no code. Sources: tensor names and shapes of the released checkpoints;
// DeepSeek-V3, arXiv:2412.19437, section 2.2 for the draft layer.
#include "model/moe/parts_model.h"

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

#define LAYERS_MAX 10000 // about 80 times the deepest model released

static const FieldRow table_fields[] = {
    {.dim = DIM_LAYERS, .paths = "num_hidden_layers|num_layers", .min = 1, .max = LAYERS_MAX},
    PARTS_MODEL_FIELDS,
};
_Static_assert(NUMFMT_F32 == 0 && NUMFMT_F16 == 1 && NUMFMT_BF16 == 2, "choices of torch_dtype");

static const TensorRow table_tensors[] = {
    {.name = "model.embed_tokens.weight",
     .component = COMPONENT_EMBEDDING,
     .shard = SHARD_VOCAB,
     .store = STORE_PLAIN,
     .dims = {DIM_VOCAB, DIM_HIDDEN}},
    {.name = "model.norm.weight",
     .component = COMPONENT_NORM,
     .shard = SHARD_REPLICATED,
     .store = STORE_PLAIN,
     .dims = {DIM_HIDDEN}},
    {.name = "lm_head.weight",
     .component = COMPONENT_HEAD,
     .shard = SHARD_VOCAB,
     .store = STORE_PLAIN,
     .dims = {DIM_VOCAB, DIM_HIDDEN},
     .unless = DIM_TIED},
};

const Part parts_model_fields = {
    .scope = PART_MODEL,
    .name = "model",
    .fields = table_fields,
    .field_count = COUNT(table_fields),
};

const Part parts_model_tables = {
    .scope = PART_MODEL,
    .name = "tables",
    .fields = table_fields,
    .field_count = COUNT(table_fields),
    .tensors = table_tensors,
    .tensor_count = COUNT(table_tensors),
};

#define NORM                                                                                       \
    .component = COMPONENT_NORM, .shard = SHARD_REPLICATED, .store = STORE_PLAIN,                  \
    .dims = {DIM_HIDDEN}

static const TensorRow norm_tensors[] = {
    {.name = "input_layernorm.weight", NORM},
    {.name = "post_attention_layernorm.weight", NORM},
};

const Part parts_model_norms = {
    .scope = PART_EVERY_LAYER,
    .name = "norms",
    .tensors = norm_tensors,
    .tensor_count = COUNT(norm_tensors),
};

static const FieldRow attn_res_fields[] = {
    {.dim = DIM_ATTN_RES, .paths = "attn_res_block_size", .need = FIELD_OPTIONAL},
};

#define MIX                                                                                        \
    .component = COMPONENT_NORM, .shard = SHARD_REPLICATED, .store = STORE_PLAIN,                  \
    .when = DIM_ATTN_RES

static const TensorRow attn_res_tensors[] = {
    {.name = "self_attention_res_norm.weight", MIX, .dims = {DIM_HIDDEN}},
    {.name = "self_attention_res_proj.weight", MIX, .dims = {DIM_ONE, DIM_HIDDEN}},
    {.name = "mlp_res_norm.weight", MIX, .dims = {DIM_HIDDEN}},
    {.name = "mlp_res_proj.weight", MIX, .dims = {DIM_ONE, DIM_HIDDEN}},
};

const Part parts_model_attn_res = {
    .scope = PART_EVERY_LAYER,
    .name = "attention residual",
    .fields = attn_res_fields,
    .field_count = COUNT(attn_res_fields),
    .tensors = attn_res_tensors,
    .tensor_count = COUNT(attn_res_tensors),
};

static const TensorRow attn_res_out_tensors[] = {
    {.name = "model.output_attn_res_norm.weight", MIX, .dims = {DIM_HIDDEN}},
    {.name = "model.output_attn_res_proj.weight", MIX, .dims = {DIM_ONE, DIM_HIDDEN}},
};

const Part parts_model_attn_res_out = {
    .scope = PART_MODEL,
    .name = "attention residual of the output",
    .tensors = attn_res_out_tensors,
    .tensor_count = COUNT(attn_res_out_tensors),
};

// A draft layer is one layer of the main kind and these. Its copies of the embedding and of the
// head are in the checkpoint of families with the preset DIM_MTP_TABLES.
static const FieldRow mtp_fields[] = {
    {.dim = DIM_MTP_LAYERS, .paths = "num_nextn_predict_layers", .need = FIELD_OPTIONAL, .max = 64},
};
static const DimRule mtp_rules[] = {
    {DIM_TWO_HIDDEN, DIM_PRODUCT, DIM_HIDDEN, DIM_NONE, DIM_NONE, 2},
};

#define DRAFT .component = COMPONENT_MTP, .shard = SHARD_REPLICATED, .store = STORE_PLAIN
#define DRAFT_TABLE                                                                                \
    .component = COMPONENT_MTP, .shard = SHARD_VOCAB, .store = STORE_PLAIN,                        \
    .when = DIM_MTP_TABLES, .dims = {DIM_VOCAB, DIM_HIDDEN}

static const TensorRow mtp_tensors[] = {
    {.name = "eh_proj.weight", DRAFT, .dims = {DIM_HIDDEN, DIM_TWO_HIDDEN}},
    {.name = "enorm.weight", DRAFT, .dims = {DIM_HIDDEN}},
    {.name = "hnorm.weight", DRAFT, .dims = {DIM_HIDDEN}},
    {.name = "shared_head.norm.weight", DRAFT, .dims = {DIM_HIDDEN}},
    {.name = "embed_tokens.weight", DRAFT_TABLE},
    {.name = "shared_head.head.weight", DRAFT_TABLE},
};

const Part parts_model_mtp = {
    .scope = PART_MTP,
    .name = "mtp",
    .fields = mtp_fields,
    .field_count = COUNT(mtp_fields),
    .rules = mtp_rules,
    .rule_count = COUNT(mtp_rules),
    .tensors = mtp_tensors,
    .tensor_count = COUNT(mtp_tensors),
};

// A model that has the field but no draft layers in its checkpoints.
static const InertKey no_mtp_inert[] = {
    {"num_nextn_predict_layers", "0|null"},
};

const Part parts_model_no_mtp = {
    .scope = PART_MODEL,
    .name = "no mtp",
    .inert = no_mtp_inert,
    .inert_count = COUNT(no_mtp_inert),
};

static const FieldRow first_dense_fields[] = {
    {.dim = DIM_FIRST_DENSE,
     .paths = "first_k_dense_replace",
     .need = FIELD_OPTIONAL,
     .max = LAYERS_MAX},
    {.dim = DIM_MOE_PERIOD,
     .paths = "moe_layer_freq",
     .need = FIELD_OPTIONAL,
     .min = 1,
     .fallback = 1},
};
static const DimCheck first_dense_checks[] = {
    {DIM_FIRST_DENSE, DIM_AT_MOST, DIM_LAYERS},
};

const Part parts_model_first_dense = {
    .scope = PART_MODEL,
    .name = "first dense layers",
    .fields = first_dense_fields,
    .field_count = COUNT(first_dense_fields),
    .checks = first_dense_checks,
    .check_count = COUNT(first_dense_checks),
};

static const FieldRow qwen_step_fields[] = {
    {.dim = DIM_MOE_PERIOD,
     .paths = "decoder_sparse_step",
     .need = FIELD_OPTIONAL,
     .min = 1,
     .fallback = 1},
};

const Part parts_model_qwen_step = {
    .scope = PART_MODEL,
    .name = "sparse step",
    .fields = qwen_step_fields,
    .field_count = COUNT(qwen_step_fields),
};

// Qwen's configs carry the size of a sliding window that is switched off.
static const InertKey no_window_inert[] = {
    {"use_sliding_window", "false|null"},
    {"sliding_window", NULL},
    {"max_window_layers", NULL},
};

const Part parts_model_no_window = {
    .scope = PART_MODEL,
    .name = "no window",
    .inert = no_window_inert,
    .inert_count = COUNT(no_window_inert),
};

#define TOWER(field) "vision_config." field

static const FieldRow vision_fields[] = {
    {.dim = DIM_VT_LAYERS, .paths = TOWER("vt_num_hidden_layers"), .min = 1, .max = LAYERS_MAX},
    {.dim = DIM_VT_HIDDEN, .paths = TOWER("vt_hidden_size|vision_config.mm_hidden_size"), .min = 1},
    {.dim = DIM_VT_WIDTH, .paths = TOWER("vt_intermediate_size"), .min = 1},
    {.dim = DIM_VT_QKV, .paths = TOWER("qkv_hidden_size"), .min = 1},
    {.dim = DIM_VT_PATCH, .paths = TOWER("patch_size"), .min = 1},
    {.dim = DIM_VT_ROWS, .paths = TOWER("init_pos_emb_height"), .min = 1},
    {.dim = DIM_VT_COLUMNS, .paths = TOWER("init_pos_emb_width"), .min = 1},
    {.dim = DIM_VT_MERGE_ROWS, .paths = TOWER("merge_kernel_size.0"), .min = 1},
    {.dim = DIM_VT_MERGE_COLUMNS, .paths = TOWER("merge_kernel_size.1"), .min = 1},
    {.dim = DIM_VT_OUT, .paths = TOWER("text_hidden_size"), .min = 1},
};
static const DimRule vision_rules[] = {
    {DIM_VT_QKV_ROWS, DIM_PRODUCT, DIM_VT_QKV, DIM_NONE, DIM_NONE, 3},
    {DIM_VT_COLORS, DIM_PRODUCT, DIM_ONE, DIM_NONE, DIM_NONE, 3},
    {DIM_VT_MERGED, DIM_PRODUCT, DIM_VT_HIDDEN, DIM_VT_MERGE_ROWS, DIM_VT_MERGE_COLUMNS, 0},
};
static const DimCheck vision_checks[] = {
    {DIM_VT_OUT, DIM_EQUAL, DIM_HIDDEN},
};
static const InertKey vision_inert[] = {
    {TOWER("_attn_implementation"), NULL},
    {TOWER("activation_func"), NULL},
    {TOWER("attn_bias"), "false"},
    {TOWER("init_pos_emb_time"), NULL}, // computed, not stored
    {TOWER("linear_bias"), "false"},
    {TOWER("merge_type"), NULL},
    {TOWER("mlp_type"), "mlp2"},
    {TOWER("mm_projector_type"), "patchmergerv2"},
    {TOWER("norm_type"), "rmsnorm"},
    {TOWER("patch_embed_proj_bias"), "false"},
    {TOWER("pos_emb_interpolation_mode"), NULL},
    {TOWER("pos_emb_type"), "divided_fixed"},
    {TOWER("projector_hidden_act"), NULL},
    {TOWER("projector_ln_eps"), NULL},
    {TOWER("vt_num_attention_heads"), NULL}, // the widths are given
};

#define VISION  .component = COMPONENT_VISION, .shard = SHARD_REPLICATED, .store = STORE_PLAIN
#define BLOCK   VISION, .repeat = DIM_VT_LAYERS
#define ENCODER "vision_tower.encoder."

static const TensorRow vision_tensors[] = {
    {.name = "vision_tower.patch_embed.proj.weight",
     VISION,
     .dims = {DIM_VT_HIDDEN, DIM_VT_COLORS, DIM_VT_PATCH, DIM_VT_PATCH}},
    {.name = "vision_tower.patch_embed.pos_emb.weight",
     VISION,
     .dims = {DIM_VT_ROWS, DIM_VT_COLUMNS, DIM_VT_HIDDEN}},
    {.name = ENCODER "blocks.{B}.norm0.weight", BLOCK, .dims = {DIM_VT_HIDDEN}},
    {.name = ENCODER "blocks.{B}.wqkv.weight", BLOCK, .dims = {DIM_VT_QKV_ROWS, DIM_VT_HIDDEN}},
    {.name = ENCODER "blocks.{B}.wo.weight", BLOCK, .dims = {DIM_VT_HIDDEN, DIM_VT_QKV}},
    {.name = ENCODER "blocks.{B}.norm1.weight", BLOCK, .dims = {DIM_VT_HIDDEN}},
    {.name = ENCODER "blocks.{B}.mlp.fc0.weight", BLOCK, .dims = {DIM_VT_WIDTH, DIM_VT_HIDDEN}},
    {.name = ENCODER "blocks.{B}.mlp.fc1.weight", BLOCK, .dims = {DIM_VT_HIDDEN, DIM_VT_WIDTH}},
    {.name = ENCODER "final_layernorm.weight", VISION, .dims = {DIM_VT_HIDDEN}},
    {.name = "mm_projector.proj.0.weight", VISION, .dims = {DIM_VT_MERGED, DIM_VT_MERGED}},
    {.name = "mm_projector.proj.2.weight", VISION, .dims = {DIM_HIDDEN, DIM_VT_MERGED}},
    {.name = "mm_projector.post_norm.weight", VISION, .dims = {DIM_HIDDEN}},
};

const Part parts_model_vision_k3 = {
    .scope = PART_BESIDE,
    .name = "vision tower",
    .fields = vision_fields,
    .field_count = COUNT(vision_fields),
    .rules = vision_rules,
    .rule_count = COUNT(vision_rules),
    .checks = vision_checks,
    .check_count = COUNT(vision_checks),
    .inert = vision_inert,
    .inert_count = COUNT(vision_inert),
    .tensors = vision_tensors,
    .tensor_count = COUNT(vision_tensors),
};

const InertKey parts_model_inert[] = {
    {"_attn_implementation", NULL},
    {"_attn_implementation_autoset", NULL},
    {"_name_or_path", NULL},
    {"activation_situ_beta", NULL},
    {"activation_situ_linear_beta", NULL},
    {"add_cross_attention", "false|null"},
    {"architectures", NULL},
    {"attention_dropout", NULL},
    {"auto_map", NULL},
    {"bad_words_ids", NULL},
    {"begin_suppress_tokens", NULL},
    {"bos_token_id", NULL},
    {"chunk_size_feed_forward", NULL},
    {"cross_attention_hidden_size", "null"},
    {"decoder_start_token_id", NULL},
    {"diversity_penalty", NULL},
    {"do_sample", NULL},
    {"early_stopping", NULL},
    {"encoder_no_repeat_ngram_size", NULL},
    {"eos_token_id", NULL},
    {"exponential_decay_length_penalty", NULL},
    {"finetuning_task", NULL},
    {"forced_bos_token_id", NULL},
    {"forced_eos_token_id", NULL},
    {"hidden_act", "silu|situ|swiglu"}, // each has a gate: three matrices
    {"id2label", NULL},
    {"ignore_index", NULL},
    {"image_placeholder", NULL},
    {"initializer_range", NULL},
    {"is_decoder", NULL},
    {"is_encoder_decoder", "false"},
    {"label2id", NULL},
    {"length_penalty", NULL},
    {"max_length", NULL},
    {"media_placeholder_token_id", NULL},
    {"min_length", NULL},
    {"mlp_bias", "false|null"},
    {"no_repeat_ngram_size", NULL},
    {"num_beam_groups", NULL},
    {"num_beams", NULL},
    {"num_return_sequences", NULL},
    {"output_attentions", NULL},
    {"output_hidden_states", NULL},
    {"output_scores", NULL},
    {"pad_token_id", NULL},
    {"partial_rotary_factor", NULL},
    {"prefix", NULL},
    {"pretraining_tp", NULL},
    {"problem_type", NULL},
    {"pruned_heads", "{}|null"},
    {"remove_invalid_values", NULL},
    {"repetition_penalty", NULL},
    {"return_dict", NULL},
    {"return_dict_in_generate", NULL},
    {"rms_norm_eps", NULL},
    {"rope_interleave", NULL},
    {"rope_parameters", NULL},
    {"rope_scaling", NULL},
    {"rope_theta", NULL},
    {"sep_token_id", NULL},
    {"sliding_window", "null"},
    {"suppress_tokens", NULL},
    {"task_specific_params", NULL},
    {"temperature", NULL},
    {"tf_legacy_loss", NULL},
    {"tie_encoder_decoder", "false|null"},
    {"tokenizer_class", NULL},
    {"top_k", NULL},
    {"top_p", NULL},
    {"torchscript", NULL},
    {"transformers_version", NULL},
    {"typical_p", NULL},
    {"use_bfloat16", NULL},
    {"use_cache", NULL},
};
const uint32_t parts_model_inert_count = COUNT(parts_model_inert);
