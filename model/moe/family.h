// Model families as data: what each field of a config means, which layers are of which kind, which
// tensors a layer has.
//
// A family is a row that names parts; a part (one kind of attention, one kind of feed-forward
// block, the tables, a vision tower) is a set of rows. The generic code in reader.c,
// layer_pattern.c, quant.c, tensor.c and count.c knows no family by name.
#ifndef MODEL_MOE_FAMILY_H
#define MODEL_MOE_FAMILY_H

#include <stdint.h>

#include "model/base/text.h"
#include "model/moe/part.h"

// Which layers get a part. BELOW: layer < dim. PERIOD: (layer + base) is a multiple of dim, from
// layer `offset` on. OFF_PERIOD: is not. LIST: the array at `path` (or the string of numbers with
// commas) names the layer, counted from `base`. FLAGS: the array at `path` has the number `base` at
// the layer; skipped when `path` is not an array. NAMES: the array of strings has `text` there.
// LETTERS: the string at `path` has the letter `text`. `when` and `unless` as in TensorRow.
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
    Dim dim, offset;
    const char *path;
    uint32_t base;
    const char *text;
    Dim when, unless;
} PatternRule;

#define FAMILY_PARTS_MAX     16
#define FAMILY_PATTERN_MAX   12
#define FAMILY_PRESETS_MAX   8
#define FAMILY_MTP_PARTS_MAX 3

typedef struct Family {
    const char *model_types;    // joined by '|'
    const char *text_path;      // "text_config", or NULL: the root
    const char *text_types;     // what model_type says there; NULL: not looked at
    const char *not_counted;    // keys of parts of the model whose tensors are left out, joined by
                                // '|'; where they are there, a note says so; NULL: none
    const char *prefix;         // of every tensor of the text model
    const char *layer_prefix;   // after `prefix`
    const char *mtp_prefix;     // of a draft layer; {N} is the number of the layer after the main
                                // ones, {D} that of the draft from 0
    const char *mtp_root;       // of what all draft layers share
    const char *fp8_scale_type; // of block scales; NULL: F32
    const char *scale_suffix;   // of their names, instead of ".weight"; NULL: ".weight_scale_inv"
    const Part *parts[FAMILY_PARTS_MAX];
    PatternRule pattern[FAMILY_PATTERN_MAX];
    struct {
        Dim dim;
        uint64_t value;
    } presets[FAMILY_PRESETS_MAX];
    const Part *mtp_parts[FAMILY_MTP_PARTS_MAX]; // of draft layers, besides those of scope MTP
} Family;

// The families in the order of the table; NULL after the last.
const Family *family_at(uint32_t index);
// The row for a model_type, or NULL.
const Family *family_find(const char *model_type);
// Its name: the first of its model types.
const char *family_name(const Family *family, Arena *arena);
// True when `word` is one of the words of `joined` ("a|b").
bool family_word_in(const char *word, const char *joined);

#endif
