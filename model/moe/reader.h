// Reads a config.json by the rows of its family: every field is understood, known not to matter,
// assumed by the user, or an error.
#ifndef MODEL_MOE_READER_H
#define MODEL_MOE_READER_H

#include "model/base/json.h"
#include "model/moe/family.h"

// A zeroed Reader is empty. Strings that it gives out live in `arena`.
typedef struct Reader {
    Arena *arena; // borrowed
    const char *name;
    Json doc, quant_doc; // of hf_quant_config.json; quant is absent without one
    JsonNode quant;
    JsonNode root, text; // the same node when the family has no text_path
    const Family *family;
    const ArchAssumption *assumptions; // borrowed
    bool *assumption_used;
    uint32_t assumption_count;
    DimSet dims;
    JsonNode source[DIM_COUNT]; // where a dimension was read; absent when it was not
    const char **notes;
    uint32_t note_count, note_capacity;
} Reader;

// Parses. reader_close may follow a failure of any of these.
bool reader_open(Reader *reader, const ArchInput *input, Arena *arena, Err *err);
// The family that model_type names, or --assume; NULL when it names none.
bool reader_name_family(Reader *reader, const Family **out, Err *err);
// Reads as this family from here on: finds the text config.
bool reader_use_family(Reader *reader, const Family *family, Err *err);
// Fills dims: presets, fields, rules, checks.
bool reader_read_dims(Reader *reader, Err *err);
// Refuses keys that nobody read and no row knows, and assumptions that nobody used.
bool reader_finish(Reader *reader, Err *err);
void reader_close(Reader *reader);
// Keys of the text config that no row knows and nothing has read yet.
uint32_t reader_count_unknown(const Reader *reader);

// The value at a dotted path in the text config or else in the root; absent when it is missing or
// null. Marks it read.
JsonNode reader_find(const Reader *reader, const char *path);
// The user's word for a key that is not understood: true, with a note, when there is one.
bool reader_may_leave_out(Reader *reader, const char *path);
// One line for the user about what was assumed or left out.
void reader_note(Reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
