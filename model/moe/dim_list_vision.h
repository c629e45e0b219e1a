// Named dimensions of vision towers; see dim.h.
#ifndef MODEL_MOE_DIM_LIST_VISION_H
#define MODEL_MOE_DIM_LIST_VISION_H

// name, text in messages
#define DIM_LIST_VISION(X)                                                                         \
    X(VT_LAYERS, "vision_config.vt_num_hidden_layers")                                             \
    X(VT_HIDDEN, "vision_config.vt_hidden_size")                                                   \
    X(VT_WIDTH, "vision_config.vt_intermediate_size")                                              \
    X(VT_QKV, "vision_config.qkv_hidden_size")                                                     \
    X(VT_PATCH, "vision_config.patch_size")                                                        \
    X(VT_COLORS, "colours of a pixel")                                                             \
    X(VT_ROWS, "vision_config.init_pos_emb_height")                                                \
    X(VT_COLUMNS, "vision_config.init_pos_emb_width")                                              \
    X(VT_MERGE_ROWS, "vision_config.merge_kernel_size[0]")                                         \
    X(VT_MERGE_COLUMNS, "vision_config.merge_kernel_size[1]")                                      \
    X(VT_OUT, "vision_config.text_hidden_size")                                                    \
    X(VT_QKV_ROWS, "vision query, key and value width")                                            \
    X(VT_TIME, "temporal_patch_size")                                                              \
    X(VT_SIDE, "spatial_merge_size")                                                               \
    X(VT_POSITIONS, "num_position_embeddings")                                                     \
    X(VT_DEEP, "deepstack_visual_indexes")                                                         \
    X(VT_MERGED, "merged patch width")                                                             \
    X(VT_IMAGE, "vision_config.image_size")                                                        \
    X(VT_PROJECT_IN, "vision_config.projector_input_dim")                                          \
    X(VT_PROJECT_OUT, "vision_config.projector_output_dim")                                        \
    X(VT_STANDARD, "vision_config.standardize")                                                    \
    X(VT_HEADS, "vision_config.num_attention_heads")                                               \
    X(VT_KV, "vision_config.num_key_value_heads")                                                  \
    X(VT_HEAD_DIM, "vision_config.head_dim")                                                       \
    X(VT_GRID, "patches of a side")                                                                \
    X(VT_PATCHES, "patches of an image")                                                           \
    X(VT_PATCH_IN, "values of a patch")                                                            \
    X(VT_KV_WIDTH, "vision key width")

#endif
