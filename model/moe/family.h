// Model families as data: what each field of a config means, which layers are of which kind, which tensors a layer has.
//
// A family is a row that names parts; a part (one kind of attention, one kind of feed-forward block, the tables, a vision tower)
// is a set of rows. The generic code in reader.c, pattern.c, quant.c, tensor.c and count.c knows no family by name.
#ifndef MODEL_MOE_FAMILY_H
#define MODEL_MOE_FAMILY_H

#include <stdint.h>

#include "model/base/text.h"
#include "model/moe/arch.h"
#include "model/moe/dim.h"

// COUNT is a whole number of at least `min`; FLAG is true or false; CHOICE is one of `choices`.
typedef enum FieldKind { FIELD_COUNT, FIELD_FLAG, FIELD_CHOICE } FieldKind;

// REQUIRED fields must be there. OPTIONAL ones become `fallback_dim` or else `fallback` when absent or null;
// ASSUMED ones too, with a note to the user.
typedef enum FieldNeed { FIELD_REQUIRED, FIELD_OPTIONAL, FIELD_ASSUMED } FieldNeed;

// `paths` are synonyms joined by '|'; dots lead into nested objects, a number picks an array element. A path is looked up in the text
// config, then in the root.
typedef struct FieldRow {
    Dim dim;
    FieldNeed need;
    FieldKind kind;
    const char *paths;
    const char *choices; // "greedy=0|noaux_tc=1"
    uint64_t min, max;   // max 0: FIELD_MAX
    uint64_t fallback;
    Dim fallback_dim;
} FieldRow;

#define FIELD_MAX (UINT64_C(1) << 31)

// A key that is known not to change cost. `accepted` joins the only values for which that is so
// ("false|null"); NULL: any value.
typedef struct InertKey {
    const char *path;
    const char *accepted;
} InertKey;

// WEIGHT is the matrix of a linear layer, which a quantisation scheme may replace; PLAIN keeps the model's
// own type under every scheme; F32 is always that.
typedef enum TensorStore { STORE_WEIGHT, STORE_PLAIN, STORE_F32 } TensorStore;

typedef struct TensorRow {
    const char *name; // after the prefix of the layer or the model
    Component component;
    ShardRule shard;
    Dim unit; // NONE: 1
    TensorStore store;
    Dim dims[4];
    Dim when, unless; // dim_holds
    Dim repeat;       // how many in one layer or in the model; NONE: 1
    Dim logical;      // logical weights, where more is stored (padding)
} TensorRow;

typedef struct AttentionDims {
    AttentionKind kind;
    Dim heads, kv_heads, head_dim, value_dim, q_lora, kv_lora, rope, conv, output_gate;
    Dim kv_elements, kv_packed_B, state_B;
} AttentionDims;

typedef struct MlpDims {
    Dim experts, top_k, groups, top_groups, width, shared_width, latent;
} MlpDims;

// ATTENTION and MLP parts belong to the layers that the pattern gives them; EVERY_LAYER to all; MTP to each draft
// layer; MODEL rows exist once (times `repeat`); BESIDE rows too, outside the text model: its prefix is not put before their names.
typedef enum PartScope {
    PART_MODEL,
    PART_BESIDE,
    PART_ATTENTION,
    PART_MLP,
    PART_EVERY_LAYER,
    PART_MTP
} PartScope;

typedef struct Part {
    PartScope scope;
    const char *name;
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

// Which layers get a part. BELOW: layer < dim. PERIOD: (layer + base) is a multiple of dim. OFF_PERIOD: is not. LIST: the
// array at `path` names the layer, counted from `base`. FLAGS: the array at `path` has `base` (0 or 1) at the layer;
// skipped when `path` is not an array. NAMES: the array of strings has `text` there. LETTERS: the string at `path` has the letter `text`.
typedef enum PatternKind {
    PATTERN_ALL,
    PATTERN_BELOW,
    PATTERN_PERIOD,
    PATTERN_OFF_PERIOD,
    PATTERN_LIST,
    PATTERN_FLAGS,
    PATTERN_NAMES,
    PATTERN_LETTERS
} PatternKind;

// EXCLUSIVE rules may not meet a layer that already has such a part; OVERRIDE ones replace it.
typedef enum PatternMode { PATTERN_EXCLUSIVE, PATTERN_OVERRIDE } PatternMode;

typedef struct PatternRule {
    const Part *part;
    PatternKind kind;
    PatternMode mode;
    Dim dim;
    const char *path;
    uint32_t base;
    const char *text;
} PatternRule;

#define FAMILY_PARTS_MAX   12
#define FAMILY_PATTERN_MAX 6
#define FAMILY_PRESETS_MAX 4

typedef struct Family {
    const char *model_types;    // joined by '|'
    const char *text_path;      // "text_config", or NULL: the root
    const char *text_types;     // what model_type says there; NULL: not looked at
    const char *prefix;         // of every tensor of the text model
    const char *layer_prefix;   // after `prefix`
    const char *mtp_prefix;     // after `prefix`; {N} is the number of the layer after the main ones
    const char *fp8_scale_type; // of block scales
    const Part *parts[FAMILY_PARTS_MAX];
    PatternRule pattern[FAMILY_PATTERN_MAX];
    struct {
        Dim dim;
        uint64_t value;
    } presets[FAMILY_PRESETS_MAX];
    const Part *mtp_attention, *mtp_mlp; // of draft layers
} Family;

// The row for a model_type, or NULL.
const Family *family_find(const char *model_type);
// All known model types, joined by ", ".
void family_list(Text *out);
// True when `word` is one of the words of `joined` ("a|b").
bool family_word_in(const char *word, const char *joined);

#endif
