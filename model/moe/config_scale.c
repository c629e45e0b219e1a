// Scales a config.json by the rows of its family: a number is changed where the reader found it.
//
// Invariant: what no row of the family reads as a size is copied as it is.
#include "model/moe/config_scale.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/base/json_copy.h"
#include "model/moe/reader.h"

typedef struct Scaler {
    Reader reader;
    Arena arena;
    const ConfigScale *scale;
    JsonEdits edits;
} Scaler;

// ---- Widths

// DIVIDED must come out even; ROUNDED are rounded down; SHARED become 1 when they do not come out
// even.
typedef enum WidthKind { WIDTH_DIVIDED, WIDTH_ROUNDED, WIDTH_SHARED } WidthKind;
typedef struct Width {
    Dim dim;
    WidthKind kind;
} Width;

static const Width widths[] = {
    {DIM_HIDDEN, WIDTH_DIVIDED},          {DIM_VOCAB, WIDTH_ROUNDED},
    {DIM_HEADS, WIDTH_DIVIDED},           {DIM_KV_HEADS, WIDTH_SHARED},
    {DIM_Q_LORA, WIDTH_DIVIDED},          {DIM_KV_LORA, WIDTH_DIVIDED},
    {DIM_KDA_HEADS, WIDTH_DIVIDED},       {DIM_DENSE_WIDTH, WIDTH_DIVIDED},
    {DIM_EXPERT_WIDTH, WIDTH_DIVIDED},    {DIM_LATENT, WIDTH_DIVIDED},
    {DIM_INDEX_HEADS, WIDTH_SHARED},      {DIM_SWA_HEADS, WIDTH_DIVIDED},
    {DIM_SWA_KV_HEADS, WIDTH_SHARED},     {DIM_LIN_KEY_HEADS, WIDTH_DIVIDED},
    {DIM_LIN_VALUE_HEADS, WIDTH_DIVIDED}, {DIM_SHARED_WIDTH, WIDTH_DIVIDED},
    {DIM_SHARED_WIDTH_2, WIDTH_DIVIDED},  {DIM_O_LORA, WIDTH_DIVIDED},
    {DIM_SHARE_Q, WIDTH_DIVIDED},         {DIM_MAMBA_HEADS, WIDTH_DIVIDED},
    {DIM_MAMBA_GROUPS, WIDTH_SHARED},     {DIM_SHARED_EACH, WIDTH_DIVIDED},
    {DIM_GLOBAL_KV, WIDTH_SHARED},        {DIM_DT_GIVEN, WIDTH_DIVIDED},
    {DIM_VT_OUT, WIDTH_DIVIDED},
};

static void set_number(Scaler *scaler, JsonNode node, uint64_t number) {
    json_copy_add_edit(&scaler->edits,
                       (JsonEdit){.node = node, .kind = JSON_EDIT_NUMBER, .number = number});
}

static void drop(Scaler *scaler, JsonNode node) {
    json_copy_add_edit(&scaler->edits, (JsonEdit){.node = node, .kind = JSON_EDIT_DROP});
}

// A number, or each of an array of numbers (one for each layer).
static bool set_each(Scaler *scaler, JsonNode node, uint64_t number, Err *err) {
    if (json_kind(node) == JSON_NUMBER) {
        set_number(scaler, node, number);
        return true;
    }
    if (json_kind(node) != JSON_ARRAY)
        return json_error(node, err, "expected a number that can be made smaller");
    for (uint32_t i = 0; i < json_count(node); i++) set_number(scaler, json_at(node, i), number);
    return true;
}

static bool divide(Scaler *scaler, const Width *width, Err *err) {
    const Reader *reader = &scaler->reader;
    uint64_t by = scaler->scale->divide;
    JsonNode node = reader->source[width->dim];
    if (json_is_absent(node)) return true; // of no family, or it follows from others
    uint64_t value = dim_get(&reader->dims, width->dim);
    if (value == 0) return true;
    if (width->kind == WIDTH_SHARED && value % by != 0) return set_each(scaler, node, 1, err);
    if (width->kind == WIDTH_DIVIDED && value % by != 0)
        return json_error(node, err, "%" PRIu64 " cannot be divided by %" PRIu64, value, by);
    return set_each(scaler, node, value / by, err);
}

static bool divide_widths(Scaler *scaler, Err *err) {
    if (scaler->scale->divide <= 1) return true;
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        if (!divide(scaler, &widths[i], err)) return false;
    return true;
}

// ---- Experts

static bool take_experts(Scaler *scaler, Err *err) {
    const Reader *reader = &scaler->reader;
    uint32_t experts = scaler->scale->experts;
    JsonNode node = reader->source[DIM_EXPERTS];
    if (experts == 0) return true;
    if (json_is_absent(node))
        return json_error(reader->text, err, "no number of experts that can be made smaller");
    uint64_t value = dim_get(&reader->dims, DIM_EXPERTS);
    if (experts > value)
        return json_error(node, err, "expected at least %" PRIu32 " experts, found %" PRIu64,
                          experts, value);
    return set_each(scaler, node, experts, err);
}

// ---- Layers

// Layers [0, layers) of what is said layer by layer.
static void keep_first(Scaler *scaler, JsonNode list) {
    for (uint32_t i = scaler->scale->layers; i < json_count(list); i++)
        drop(scaler, json_at(list, i));
}

// Numbers of layers, from `base` on.
static bool keep_numbers(Scaler *scaler, JsonNode list, uint32_t base, Err *err) {
    for (uint32_t i = 0; i < json_count(list); i++) {
        uint64_t number;
        if (!json_as_u64(json_at(list, i), &number, err)) return false;
        if (number >= (uint64_t)base + scaler->scale->layers) drop(scaler, json_at(list, i));
    }
    return true;
}

static void set_text(Scaler *scaler, JsonNode node, const char *text, size_t length) {
    const char *copy = arena_printf(&scaler->arena, "%.*s", (int)length, text);
    json_copy_add_edit(&scaler->edits,
                       (JsonEdit){.node = node, .kind = JSON_EDIT_TEXT, .text = copy});
}

// "3,4,5": numbers of layers as text, in any order.
static bool keep_written(Scaler *scaler, JsonNode node, uint32_t base, Err *err) {
    const char *rest;
    Text kept = {0};
    if (!json_as_string(node, &rest, err)) return false;
    while (*rest != '\0') {
        size_t length = strcspn(rest, ",");
        uint64_t number;
        char word[24];
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1),
                 rest);
        if (text_parse_u64(word, &number) && number < (uint64_t)base + scaler->scale->layers)
            text_addf(&kept, "%s%s", kept.length > 0 ? "," : "", word);
        rest += length + (rest[length] == ',');
    }
    set_text(scaler, node, text_string(&kept), kept.length);
    text_free(&kept);
    return true;
}

static bool keep_letters(Scaler *scaler, JsonNode node, Err *err) {
    const char *letters;
    if (!json_as_string(node, &letters, err)) return false;
    if (strlen(letters) > scaler->scale->layers)
        set_text(scaler, node, letters, scaler->scale->layers);
    return true;
}

static bool shorten(Scaler *scaler, const PatternRule *rule, Err *err) {
    JsonNode node = rule->path == NULL ? (JsonNode){0} : reader_find(&scaler->reader, rule->path);
    if (json_is_absent(node)) return true;
    switch (rule->kind) {
    case PATTERN_LIST:
        return json_kind(node) == JSON_ARRAY ? keep_numbers(scaler, node, rule->base, err)
                                             : keep_written(scaler, node, rule->base, err);
    case PATTERN_FLAGS:
    case PATTERN_NAMES: keep_first(scaler, node); return true;
    case PATTERN_LETTERS: return keep_letters(scaler, node, err);
    case PATTERN_ALL:
    case PATTERN_BELOW:
    case PATTERN_PERIOD:
    case PATTERN_OFF_PERIOD: break;
    }
    return true;
}

// The layers below a number are the first ones: as large a part of fewer layers, at least one.
static bool lower_border(Scaler *scaler, const PatternRule *rule, uint64_t layers, Err *err) {
    const Reader *reader = &scaler->reader;
    if (rule->kind != PATTERN_BELOW || json_is_absent(reader->source[rule->dim])) return true;
    uint64_t value = dim_get(&reader->dims, rule->dim),
             kept = value * scaler->scale->layers / layers;
    if (value == 0) return true;
    return set_each(scaler, reader->source[rule->dim], kept > 0 ? kept : 1, err);
}

// Other arrays that have a number for each layer.
static void shorten_sizes(Scaler *scaler, uint64_t layers) {
    for (uint32_t dim = 0; dim < DIM_COUNT; dim++) {
        JsonNode node = scaler->reader.source[dim];
        if (json_kind(node) == JSON_ARRAY && json_count(node) == layers) keep_first(scaler, node);
    }
}

static bool take_layers(Scaler *scaler, Err *err) {
    const Reader *reader = &scaler->reader;
    const Family *family = reader->family;
    uint32_t kept = scaler->scale->layers;
    if (kept == 0) return true;
    uint64_t layers = dim_get(&reader->dims, DIM_LAYERS);
    JsonNode node = reader->source[DIM_LAYERS];
    if (kept > layers)
        return json_error(reader->text, err, "expected at least %" PRIu32 " layers, found %" PRIu64,
                          kept, layers);
    if (json_kind(node) == JSON_NUMBER) set_number(scaler, node, kept);
    shorten_sizes(scaler, layers);
    for (uint32_t i = 0; i < FAMILY_PATTERN_MAX && family->pattern[i].part != NULL; i++)
        if (!shorten(scaler, &family->pattern[i], err) ||
            !lower_border(scaler, &family->pattern[i], layers, err))
            return false;
    return true;
}

// ----

static bool read(Scaler *scaler, const ArchInput *input, Err *err) {
    ArchInput plain = *input;
    const Family *family;
    plain.assumption_count = 0;
    if (!reader_open(&scaler->reader, &plain, &scaler->arena, err) ||
        !reader_name_family(&scaler->reader, &family, err))
        return false;
    if (family == NULL)
        return json_error(scaler->reader.root, err,
                          "expected a model_type that moesim knows, to know its sizes by name");
    return reader_use_family(&scaler->reader, family, err) &&
           reader_read_dims(&scaler->reader, err);
}

bool config_scale_write(const ArchInput *input, const ConfigScale *scale, Text *out, Err *err) {
    Scaler scaler = {.scale = scale};
    Text text = {0};
    JsonWriter writer = {.text = &text};
    bool done = read(&scaler, input, err) && divide_widths(&scaler, err) &&
                take_experts(&scaler, err) && take_layers(&scaler, err) &&
                json_copy_value(scaler.reader.root, &scaler.edits, &writer, NULL, err);
    if (done) {
        jsonw_finish(&writer);
        text_add(out, text_string(&text));
    }
    text_free(&text);
    json_copy_free_edits(&scaler.edits);
    reader_close(&scaler.reader);
    arena_free(&scaler.arena);
    return done;
}
