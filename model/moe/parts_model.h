// What is neither attention nor a feed-forward block: tables only, see part.h.
#ifndef MODEL_MOE_PARTS_MODEL_H
#define MODEL_MOE_PARTS_MODEL_H

#include "model/moe/part.h"

// The fields of all models but for the number of layers, as rows of a part.
#define PARTS_MODEL_CONTEXT_MAX (UINT64_C(1) << 40)
#define PARTS_MODEL_FIELDS                                                                         \
    {.dim = DIM_HIDDEN, .paths = "hidden_size|d_model", .min = 1},                                 \
        {.dim = DIM_VOCAB, .paths = "vocab_size", .min = 1},                                       \
        {.dim = DIM_CONTEXT,                                                                       \
         .paths = "max_position_embeddings|model_max_length|max_seq_len",                          \
         .min = 1,                                                                                 \
         .max = PARTS_MODEL_CONTEXT_MAX},                                                          \
        {.dim = DIM_DTYPE,                                                                         \
         .paths = "torch_dtype|dtype",                                                             \
         .need = FIELD_ASSUMED,                                                                    \
         .kind = FIELD_CHOICE,                                                                     \
         .choices = "bfloat16=2|float16=1|float32=0", /* positions in NumFmt */                    \
         .fallback = NUMFMT_BF16},                                                                 \
    {                                                                                              \
        .dim = DIM_TIED, .paths = "tie_word_embeddings", .need = FIELD_OPTIONAL,                   \
        .kind = FIELD_FLAG                                                                         \
    }

extern const Part parts_model_fields;       // fields of all models, without tensors
extern const Part parts_model_tables;       // vocabulary, final norm, head; fields of all models
extern const Part parts_model_norms;        // two norms in each layer
extern const Part parts_model_attn_res;     // weighted residuals of Kimi-K3, in each layer
extern const Part parts_model_attn_res_out; // and at the end
extern const Part parts_model_first_dense;  // the fields of DeepSeek's layer pattern
extern const Part parts_model_qwen_step;    // and of Qwen's
extern const Part parts_model_no_window;    // the fields of a sliding window that is off
extern const Part parts_model_mtp;          // draft layers of DeepSeek and GLM
extern const Part parts_model_no_mtp;       // the field of draft layers, which must say 0
extern const Part parts_model_vision_k3;    // vision tower and projector of Kimi-K3

// Keys without any influence on cost, in every family.
extern const InertKey parts_model_inert[];
extern const uint32_t parts_model_inert_count;

#endif
