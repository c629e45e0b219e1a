// The parts that families are made of, as rows: one kind of attention, one kind of feed-forward
// block, the vocabulary tables, a vision tower.
#ifndef MODEL_MOE_PART_H
#define MODEL_MOE_PART_H

#include <stdint.h>

#include "model/moe/arch.h"
#include "model/moe/dim.h"

// COUNT is a whole number of at least `min`, or an array of one number for each layer, all equal;
// FLAG is true or false; CHOICE is one of `choices`; LENGTH is the number of elements of an array
// or of letters of a string, which is read by a rule of the layer pattern too.
typedef enum FieldKind { FIELD_COUNT, FIELD_FLAG, FIELD_CHOICE, FIELD_LENGTH } FieldKind;

// REQUIRED fields must be there. OPTIONAL ones become `fallback_dim` or else `fallback` when absent
// or null; ASSUMED ones too, with a note to the user.
typedef enum FieldNeed { FIELD_REQUIRED, FIELD_OPTIONAL, FIELD_ASSUMED } FieldNeed;

// `paths` are synonyms joined by '|'; dots lead into nested objects, a number picks an array
// element. A path is looked up in the text config, then in the root.
typedef struct FieldRow {
    Dim dim;
    FieldNeed need;
    FieldKind kind;
    const char *paths;
    const char *choices; // "greedy=0|noaux_tc=1"
    uint64_t min, max;   // max 0: FIELD_MAX
    uint64_t fallback;
    Dim fallback_dim;
    const char *length_of; // when absent: the length of the array or string at one of these paths
} FieldRow;

#define FIELD_MAX (UINT64_C(1) << 31)

// A key that is known not to change cost. `accepted` joins the only values for which that is so
// ("false|null"); NULL: any value.
typedef struct InertKey {
    const char *path;
    const char *accepted;
} InertKey;

// WEIGHT is the matrix of a linear layer, which a quantisation scheme may replace; PLAIN keeps the
// model's own type under every scheme; F32 and I64 are always that.
typedef enum TensorStore { STORE_WEIGHT, STORE_PLAIN, STORE_F32, STORE_I64 } TensorStore;

typedef struct TensorRow {
    const char *name; // after the prefix of the layer or the model
    Component component;
    ShardRule shard;
    TensorUse use; // of attention
    Dim unit;      // NONE: 1
    TensorStore store;
    Dim dims[TENSOR_DIMS_MAX]; // as stored without quantisation; outputs before inputs
    bool inputs_first;         // the last two are inputs and outputs, transposed
    bool fused;                // dims[0] is the experts of the layer
    Dim stacked; // experts that lie below each other in dims[0], as many rows each; NONE: none
    // Extents of fused parts along the axis that the rule cuts, and how many elements of each stay
    // together; NONE ends the list. Parts from `kv_from` on (0: none) are cut as keys and values.
    struct {
        Dim extent, unit;
    } segments[TENSOR_SEGMENTS_MAX];
    uint8_t kv_from;
    bool interleaved; // the parts alternate, element by element
    Dim when, unless; // dim_holds
    Dim repeat;       // how many in one layer or in the model; NONE: 1
    Dim logical;      // logical weights, where more is stored (padding)
    bool is_buffer;   // stored, but no weights: a table of numbers
} TensorRow;

typedef struct AttentionDims {
    AttentionKind kind;
    Dim per_layer; // NONE: 1
    Dim heads, kv_heads, head_dim, value_dim, q_lora, kv_lora, rope, conv, output_gate, wide_norm;
    Dim state_dim, groups, window, ratio, index_heads, index_dim, index_top_k;
    Dim kv_elements, entry_elements, index_elements, kv_packed_B, index_packed_B, state_B;
} AttentionDims;

typedef struct MlpDims {
    Dim experts, top_k, groups, top_groups, zero_experts, width, shared_width, latent;
    uint32_t matrices; // 0: 3
} MlpDims;

// ATTENTION and MLP parts belong to the layers that the pattern gives them; EVERY_LAYER to all; MTP
// to each draft layer; MTP_ONCE rows exist once where there is a draft layer, under the family's
// mtp_root; MODEL rows exist once (times `repeat`); BESIDE rows too, outside the text model: its
// prefix is not put before their names.
typedef enum PartScope {
    PART_MODEL,
    PART_BESIDE,
    PART_ATTENTION,
    PART_MLP,
    PART_EVERY_LAYER,
    PART_MTP,
    PART_MTP_ONCE
} PartScope;

typedef struct Part {
    PartScope scope;
    const char *name;
    // A part whose tensors a layer of this part has too; it is in the family's list itself, and has
    // no base.
    const struct Part *base;
    const FieldRow *fields;
    uint32_t field_count;
    const DimRule *rules;
    uint32_t rule_count;
    const DimCheck *checks;
    uint32_t check_count;
    const InertKey *inert;
    uint32_t inert_count;
    const TensorRow *tensors;
    uint32_t tensor_count;
    AttentionDims attention; // scope PART_ATTENTION
    MlpDims mlp;             // scope PART_MLP
} Part;

#endif
