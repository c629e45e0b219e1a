// Kinds of attention that families are made of: tables only, see part.h.
#ifndef MODEL_MOE_PARTS_ATTENTION_H
#define MODEL_MOE_PARTS_ATTENTION_H

#include "model/moe/part.h"

extern const Part parts_attention_gqa;        // grouped-query attention
extern const Part parts_attention_glm_flags;  // what GLM's configs say about it
extern const Part parts_attention_mla;        // multi-head latent attention
extern const Part parts_attention_dsa;        // with an indexer that picks tokens (sparse)
extern const Part parts_attention_dsa_shared; // that uses the picks of an earlier layer
extern const Part parts_attention_kda;        // Kimi delta attention

#endif
