// Kinds of feed-forward blocks that families are made of: tables only, see part.h.
#ifndef MODEL_MOE_PARTS_MLP_H
#define MODEL_MOE_PARTS_MLP_H

#include "model/moe/part.h"

extern const Part parts_mlp_dense;
extern const Part parts_mlp_moe;         // experts named gate_proj, up_proj, down_proj
extern const Part parts_mlp_moe_kimi;    // named w1, w2, w3; optionally in a latent space
extern const Part parts_mlp_moe_mixtral; // the same names, and a field of its own for the width

#endif
