// Turns a config.json into named dimensions by the rows of its family.
//
// Invariant: nothing is skipped silently. A key is read by a field row, listed as inert (with the
// values for which that holds), named by an assumption of the user, or refused by name.
#include "model/moe/reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model/moe/parts_model.h"

#define PATH_MAX_B 256

// Paths.

// One step of a path: a member, or an element when the step is a number and the node an array.
static JsonNode descend(JsonNode node, const char *step) {
    uint64_t index;
    if (json_kind(node) != JSON_ARRAY) return json_find(node, step);
    if (!text_parse_u64(step, &index) || index >= json_count(node)) return (JsonNode){0};
    return json_at(node, (uint32_t)index);
}

static JsonNode find_below(JsonNode node, const char *path) {
    char step[PATH_MAX_B];
    while (*path != '\0' && !json_is_absent(node)) {
        size_t length = strcspn(path, ".");
        snprintf(step, sizeof step, "%.*s", (int)length, path);
        node = descend(node, step);
        path += length + (path[length] == '.');
    }
    return json_kind(node) == JSON_NULL ? (JsonNode){0} : node;
}

static bool is_wrapped(const Reader *reader) {
    return reader->text.index != reader->root.index;
}

JsonNode reader_find(const Reader *reader, const char *path) {
    JsonNode inner = find_below(reader->text, path);
    JsonNode outer = is_wrapped(reader) ? find_below(reader->root, path) : (JsonNode){0};
    return json_is_absent(inner) ? outer : inner;
}

void reader_note(Reader *reader, const char *format, ...) {
    char line[ERR_TEXT_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    reader->notes =
        mem_grow(reader->notes, &reader->note_capacity, reader->note_count + 1, sizeof(char *));
    reader->notes[reader->note_count++] = arena_string(reader->arena, line);
}

// The next of the synonyms "a|b" into `path`; false at the end.
static bool next_path(const char **rest, char *path) {
    if (**rest == '\0') return false;
    size_t length = strcspn(*rest, "|");
    snprintf(path, PATH_MAX_B, "%.*s", (int)length, *rest);
    *rest += length + ((*rest)[length] == '|');
    return true;
}

// Assumptions.

// A field may be written as it is nested in the file ("text_config.hidden_size") or as rows name
// it.
static bool names_path(const Reader *reader, const char *field, const char *path) {
    const char *outer = reader->family != NULL ? reader->family->text_path : NULL;
    size_t length = outer == NULL ? 0 : strlen(outer);
    if (length > 0 && strncmp(field, outer, length) == 0 && field[length] == '.')
        field += length + 1;
    return strcmp(field, path) == 0;
}

// The assumption for a path, marked as used; NULL for none.
static const ArchAssumption *find_assumption(Reader *reader, const char *path) {
    for (uint32_t i = 0; i < reader->assumption_count; i++) {
        if (!names_path(reader, reader->assumptions[i].field, path)) continue;
        reader->assumption_used[i] = true;
        return &reader->assumptions[i];
    }
    return NULL;
}

static const Part *part_at(const Reader *reader, uint32_t index) {
    return index < FAMILY_PARTS_MAX ? reader->family->parts[index] : NULL;
}

typedef struct Names {
    const char **items;
    uint32_t count, capacity;
} Names;

// Each of the words that `joined` holds ("a|b").
static void add_names(Reader *reader, const char *joined, Names *names) {
    char word[PATH_MAX_B];
    while (next_path(&joined, word)) {
        names->items = mem_grow(names->items, &names->capacity, names->count + 1, sizeof(char *));
        names->items[names->count++] = arena_string(reader->arena, word);
    }
}

// The nearest of the names as the end of a message, "" when none is near. Frees them.
static const char *nearest_name(Reader *reader, const char *word, Names *names) {
    uint32_t near = text_nearest(word, names->items, names->count);
    const char *end = near == UINT32_MAX ? ""
                                         : arena_printf(reader->arena, ", did you mean \"%s\"?",
                                                        names->items[near]);
    mem_free(names->items);
    return end;
}

static const char *nearest_field(Reader *reader, const char *field) {
    Names names = {0};
    const Part *part;
    for (uint32_t p = 0; (part = part_at(reader, p)) != NULL; p++)
        for (uint32_t i = 0; i < part->field_count; i++)
            add_names(reader, part->fields[i].paths, &names);
    return nearest_name(reader, field, &names);
}

static const char *nearest_family(Reader *reader, const char *type) {
    Names names = {0};
    const Family *family;
    for (uint32_t i = 0; (family = family_at(i)) != NULL; i++)
        add_names(reader, family->model_types, &names);
    return nearest_name(reader, type, &names);
}

static bool check_assumptions_used(Reader *reader, Err *err) {
    char quote[TEXT_QUOTE_MAX];
    for (uint32_t i = 0; i < reader->assumption_count; i++) {
        if (reader->assumption_used[i]) continue;
        const char *field = reader->assumptions[i].field;
        return err_set(err, "--assume %s: no such field in %s, and its family has no use for one%s",
                       text_quote(field, quote), reader->name, nearest_field(reader, field));
    }
    return true;
}

// Opening.

// Python writes Infinity and NaN into what it calls JSON; they only stand in fields that do not
// change cost. Same length, so that places in messages stay true.
static const char *without_infinities(const ArchInput *input, Arena *arena) {
    static const struct {
        const char *word, *instead;
    } words[] = {{"-Infinity", "    -1e18"}, {"Infinity", "    1e18"}, {"NaN", "  0"}};
    char *out = arena_copy(arena, input->bytes, input->count, 1);
    bool in_string = false;
    for (size_t i = 0; i < input->count; i++) {
        if (out[i] == '"') in_string = !in_string;
        if (in_string && out[i] == '\\') i++;
        for (size_t w = 0; !in_string && w < sizeof words / sizeof *words; w++) {
            size_t length = strlen(words[w].word);
            if (input->count - i < length || memcmp(out + i, words[w].word, length) != 0) continue;
            memcpy(out + i, words[w].instead, length);
        }
    }
    return out;
}

bool reader_open(Reader *reader, const ArchInput *input, Arena *arena, Err *err) {
    *reader = (Reader){.arena = arena,
                       .name = input->name,
                       .assumptions = input->assumptions,
                       .assumption_count = input->assumption_count};
    reader->assumption_used = arena_alloc(arena, input->assumption_count, sizeof(bool));
    const char *bytes = without_infinities(input, arena);
    if (!json_parse(input->name, bytes, input->count, &reader->doc, err)) return false;
    if (input->quant_bytes != NULL) {
        if (!json_parse(input->quant_name, input->quant_bytes, input->quant_count,
                        &reader->quant_doc, err))
            return false;
        reader->quant = json_root(&reader->quant_doc);
    }
    reader->root = json_root(&reader->doc);
    reader->text = reader->root;
    return json_kind(reader->root) == JSON_OBJECT ||
           json_error(reader->root, err, "expected an object, the config of a model");
}

bool reader_name_family(Reader *reader, const Family **out, Err *err) {
    const char *type = NULL;
    const ArchAssumption *assumed = find_assumption(reader, "model_type");
    JsonNode node = json_find(reader->root, "model_type");
    char quote[TEXT_QUOTE_MAX];
    *out = NULL;
    if (assumed != NULL) {
        *out = family_find(assumed->value);
        reader_note(reader, "model_type: taken as %s (--assume)", assumed->value);
        return *out != NULL ||
               err_set(err, "--assume model_type=%s: no such family%s",
                       text_quote(assumed->value, quote), nearest_family(reader, assumed->value));
    }
    if (json_is_absent(node) || json_kind(node) == JSON_NULL) return true;
    if (!json_as_string(node, &type, err)) return false;
    *out = family_find(type);
    return true;
}

// Objects that a multimodal wrapper keeps its text model in.
static JsonNode find_text(const Reader *reader, const Family *family) {
    static const char *const wrappers[] = {"text_config", "llm_config", "language_config"};
    if (family->text_path != NULL) return find_below(reader->root, family->text_path);
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++) {
        JsonNode node = json_find(reader->root, wrappers[i]);
        if (json_kind(node) == JSON_OBJECT) return node;
    }
    return reader->root;
}

// Notes the parts of the model that its family does not count.
static void note_not_counted(Reader *reader) {
    char key[PATH_MAX_B];
    const char *rest = reader->family->not_counted;
    while (rest != NULL && next_path(&rest, key)) {
        JsonNode node = find_below(reader->root, key);
        if (json_is_absent(node)) node = find_below(reader->text, key);
        if (json_is_absent(node)) continue;
        json_ignore(reader->root, key);
        json_ignore(reader->text, key);
        reader_note(reader, "%s: its tensors are not counted", key);
    }
}

bool reader_use_family(Reader *reader, const Family *family, Err *err) {
    reader->family = family;
    reader->text = find_text(reader, family);
    if (json_is_absent(reader->text))
        return json_error(reader->root, err, "missing \"%s\"", family->text_path);
    if (json_kind(reader->text) != JSON_OBJECT)
        return json_error(reader->text, err, "expected an object");
    json_ignore(reader->text, "model_type");
    json_ignore(reader->root, "model_type");
    note_not_counted(reader);
    if (family->text_types == NULL) return true;
    const char *type;
    if (!json_string(reader->text, "model_type", &type, err)) return false;
    if (family_word_in(type, family->text_types)) return true;
    char quote[TEXT_QUOTE_MAX];
    return json_error(json_find(reader->text, "model_type"), err, "expected %s, found %s",
                      family->text_types, text_quote(type, quote));
}

void reader_close(Reader *reader) {
    json_free(&reader->doc);
    json_free(&reader->quant_doc);
    mem_free(reader->notes);
    reader->notes = NULL;
}

// Fields.

static bool choose(const FieldRow *row, const char *word, uint64_t *out) {
    const char *rest = row->choices;
    size_t length = strlen(word);
    while (*rest != '\0') {
        size_t end = strcspn(rest, "|");
        if (strncmp(rest, word, length) == 0 && rest[length] == '=') {
            *out = (uint64_t)(rest[length + 1] - '0');
            return true;
        }
        rest += end + (rest[end] == '|');
    }
    return false;
}

// The word of a value: "bfloat16" for 2; the number itself when the row has no words.
static const char *word_of(const Reader *reader, const FieldRow *row, uint64_t value) {
    for (const char *p = row->choices; p != NULL && *p != '\0';) {
        size_t length = strcspn(p, "=");
        if ((uint64_t)(p[length + 1] - '0') == value)
            return arena_printf(reader->arena, "%.*s", (int)length, p);
        p += length + 2 + (p[length + 2] == '|');
    }
    return arena_printf(reader->arena, "%llu", (unsigned long long)value);
}

// "bfloat16|float16" of "bfloat16=2|float16=1", for messages.
static const char *choice_names(const FieldRow *row, char *buffer, size_t size) {
    size_t used = 0;
    for (const char *p = row->choices; *p != '\0' && used + 1 < size; p++) {
        if (*p == '=') p += strcspn(p, "|");
        if (*p == '\0') break;
        buffer[used++] = *p;
    }
    buffer[used] = '\0';
    return buffer;
}

static bool in_range(const FieldRow *row, uint64_t value, Err *err) {
    uint64_t max = row->max != 0 ? row->max : FIELD_MAX;
    if (row->kind != FIELD_COUNT || (value >= row->min && value <= max)) return true;
    return err_set(err, "expected %llu to %llu, found %llu", (unsigned long long)row->min,
                   (unsigned long long)max, (unsigned long long)value);
}

static bool parse_word(const FieldRow *row, const char *word, uint64_t *out, Err *err) {
    char names[PATH_MAX_B], quote[TEXT_QUOTE_MAX];
    switch (row->kind) {
    case FIELD_COUNT:
        if (text_parse_u64(word, out)) return in_range(row, *out, err);
        return err_set(err, "expected a whole number, found %s", text_quote(word, quote));
    case FIELD_LENGTH: return err_set(err, "a number cannot stand for a list of layers");
    case FIELD_FLAG:
        *out = strcmp(word, "true") == 0;
        if (*out == 1 || strcmp(word, "false") == 0) return true;
        return err_set(err, "expected true or false, found %s", text_quote(word, quote));
    case FIELD_CHOICE:
        if (choose(row, word, out)) return true;
        return err_set(err, "expected %s, found %s", choice_names(row, names, sizeof names),
                       text_quote(word, quote));
    }
    return false; // not reached: the switch names every kind
}

// One number, or one for each layer, which must be the same.
static bool parse_count(const FieldRow *row, JsonNode node, uint64_t *out, Err *err) {
    Err reason = {0};
    JsonNode first = node;
    if (json_kind(node) == JSON_ARRAY && json_count(node) > 0) first = json_at(node, 0);
    if (!json_as_u64(first, out, err)) return false;
    if (!in_range(row, *out, &reason)) return json_error(first, err, "%s", reason.text);
    if (json_kind(node) != JSON_ARRAY) return true;
    for (uint32_t i = 1; i < json_count(node); i++) {
        uint64_t other;
        if (!json_as_u64(json_at(node, i), &other, err)) return false;
        if (other != *out)
            return json_error(json_at(node, i), err,
                              "%llu here and %llu before: a value that differs from layer to layer "
                              "is not supported",
                              (unsigned long long)other, (unsigned long long)*out);
    }
    return true;
}

static bool parse_length(JsonNode node, uint64_t *out, Err *err) {
    const char *text;
    if (json_kind(node) == JSON_ARRAY) {
        *out = json_count(node);
        return true;
    }
    if (!json_as_string(node, &text, err)) return false;
    *out = strlen(text);
    return true;
}

static bool parse_node(const FieldRow *row, JsonNode node, uint64_t *out, Err *err) {
    Err reason = {0};
    const char *word;
    bool flag;
    switch (row->kind) {
    case FIELD_COUNT: return parse_count(row, node, out, err);
    case FIELD_LENGTH: return parse_length(node, out, err);
    case FIELD_FLAG:
        if (!json_as_bool(node, &flag, err)) return false;
        *out = flag;
        return true;
    case FIELD_CHOICE:
        if (!json_as_string(node, &word, err)) return false;
        return parse_word(row, word, out, &reason) || json_error(node, err, "%s", reason.text);
    }
    return false; // not reached: the switch names every kind
}

// Takes the value of one place in the file; a second place for the same field must agree.
static bool take_node(Reader *reader, const FieldRow *row, const char *path, JsonNode node,
                      bool *found, Err *err) {
    uint64_t value;
    if (json_is_absent(node)) return true;
    if (!parse_node(row, node, &value, err)) return false;
    if (*found && value != reader->dims.value[row->dim])
        return json_error(node, err, "%llu contradicts %s, which is %llu",
                          (unsigned long long)value, dim_name(&reader->dims, row->dim),
                          (unsigned long long)reader->dims.value[row->dim]);
    if (*found) return true;
    *found = true;
    dim_set(&reader->dims, row->dim, value);
    reader->source[row->dim] = node;
    reader->dims.field[row->dim] = arena_string(reader->arena, path);
    return true;
}

static bool take_assumption(Reader *reader, const FieldRow *row, const char *path,
                            const ArchAssumption *assumed, Err *err) {
    uint64_t value = 0;
    bool empty = strcmp(assumed->value, "null") == 0 && row->need != FIELD_REQUIRED;
    if (!empty && !parse_word(row, assumed->value, &value, err))
        return err_prefix(err, "--assume %s=%s", assumed->field, assumed->value);
    dim_set(&reader->dims, row->dim, value);
    reader->source[row->dim] = (JsonNode){0};
    reader->dims.field[row->dim] = arena_string(reader->arena, path);
    reader_note(reader, "%s: taken as %s (--assume)", path, assumed->value);
    return true;
}

static bool use_fallback(Reader *reader, const FieldRow *row, Err *err) {
    char path[PATH_MAX_B];
    const char *rest = row->paths;
    next_path(&rest, path);
    if (row->need == FIELD_REQUIRED)
        return json_error(reader->text, err, "missing \"%s\"; give it with --assume %s=VALUE",
                          row->paths, path);
    DimSet *dims = &reader->dims;
    uint64_t value = row->fallback_dim != DIM_NONE ? dims->value[row->fallback_dim] : row->fallback;
    for (rest = row->length_of; rest != NULL && next_path(&rest, path);) {
        JsonNode node = reader_find(reader, path);
        if (json_is_absent(node)) continue;
        if (!parse_length(node, &value, err)) return false;
        if (row->max != 0 && value > row->max)
            return json_error(node, err, "%llu layers, expected at most %llu",
                              (unsigned long long)value, (unsigned long long)row->max);
        reader->source[row->dim] = node;
        break;
    }
    dim_set(dims, row->dim, value);
    if (row->need == FIELD_ASSUMED)
        reader_note(reader, "%s: absent, taken as %s", path, word_of(reader, row, value));
    return true;
}

static bool read_field(Reader *reader, const FieldRow *row, Err *err) {
    char path[PATH_MAX_B];
    const char *rest = row->paths;
    const ArchAssumption *assumed = NULL;
    bool found = false;
    while (next_path(&rest, path)) {
        const ArchAssumption *given = find_assumption(reader, path);
        JsonNode inner = find_below(reader->text, path), outer = {0};
        if (is_wrapped(reader)) outer = find_below(reader->root, path);
        if (given != NULL) assumed = given;
        if (assumed != NULL) continue;
        if (!take_node(reader, row, path, inner, &found, err)) return false;
        if (!take_node(reader, row, path, outer, &found, err)) return false;
    }
    rest = row->paths;
    next_path(&rest, path);
    if (assumed != NULL) return take_assumption(reader, row, path, assumed, err);
    return found || use_fallback(reader, row, err);
}

static bool check_dims(Reader *reader, const Part *part, Err *err) {
    Err reason = {0};
    uint32_t failed;
    if (dim_check(&reader->dims, part->checks, part->check_count, &failed, &reason)) return true;
    Dim dim = part->checks[failed].a;
    if (!json_is_absent(reader->source[dim]))
        return json_error(reader->source[dim], err, "%s", reason.text);
    return err_set(err, "%s: %s: %s", reader->name, dim_name(&reader->dims, dim), reason.text);
}

bool reader_read_dims(Reader *reader, Err *err) {
    for (uint32_t i = 0; i < FAMILY_PRESETS_MAX; i++)
        dim_set(&reader->dims, reader->family->presets[i].dim, reader->family->presets[i].value);
    const Part *part;
    for (uint32_t p = 0; (part = part_at(reader, p)) != NULL; p++)
        for (uint32_t i = 0; i < part->field_count; i++)
            if (!read_field(reader, &part->fields[i], err)) return false;
    for (uint32_t p = 0; (part = part_at(reader, p)) != NULL; p++) {
        if (!dim_apply(&reader->dims, part->rules, part->rule_count, err))
            return err_prefix(err, "%s", reader->name);
        if (!check_dims(reader, part, err)) return false;
    }
    return true;
}

// What is left over.

// How a value is written in InertKey.accepted; "" for values that cannot be.
static void value_text(JsonNode node, char *out) {
    const char *word = "";
    uint64_t count;
    bool flag;
    Err ignored = {0};
    *out = '\0';
    switch (json_kind(node)) {
    case JSON_NONE: break;
    case JSON_NULL: word = "null"; break;
    case JSON_BOOL: word = json_as_bool(node, &flag, &ignored) && flag ? "true" : "false"; break;
    case JSON_STRING: (void)json_as_string(node, &word, &ignored); break;
    case JSON_ARRAY: word = json_count(node) == 0 ? "[]" : ""; break;
    case JSON_OBJECT: word = json_count(node) == 0 ? "{}" : ""; break;
    case JSON_NUMBER:
        if (json_as_u64(node, &count, &ignored))
            snprintf(out, PATH_MAX_B, "%llu", (unsigned long long)count);
        return;
    }
    snprintf(out, PATH_MAX_B, "%s", word);
}

// What a family's parts say of a key; else what holds for all models, also inside of objects
// ("vision_config.dtype").
static const InertKey *find_inert(const Reader *reader, const char *path) {
    const Part *part;
    const char *dot = strrchr(path, '.');
    for (uint32_t p = 0; (part = part_at(reader, p)) != NULL; p++)
        for (uint32_t i = 0; i < part->inert_count; i++)
            if (strcmp(part->inert[i].path, path) == 0) return &part->inert[i];
    for (uint32_t i = 0; i < parts_model_inert_count; i++)
        if (strcmp(parts_model_inert[i].path, dot == NULL ? path : dot + 1) == 0)
            return &parts_model_inert[i];
    return NULL;
}

bool reader_may_leave_out(Reader *reader, const char *path) {
    if (find_assumption(reader, path) == NULL) return false;
    reader_note(reader, "%s: left out (--assume)", path);
    return true;
}

static bool judge_key(Reader *reader, JsonNode node, const char *path, Err *err) {
    if (reader_may_leave_out(reader, path)) return true;
    const InertKey *inert = find_inert(reader, path);
    if (inert == NULL)
        return json_error(node, err,
                          "unknown field of %s, which may change the cost; go on without it by "
                          "--assume %s=ignored",
                          family_name(reader->family, reader->arena), path);
    char value[PATH_MAX_B];
    value_text(node, value);
    if (inert->accepted == NULL || family_word_in(value, inert->accepted)) return true;
    return json_error(node, err,
                      "only %s is supported for %s; go on as if it were that by --assume "
                      "%s=ignored",
                      inert->accepted, family_name(reader->family, reader->arena), path);
}

// `prefix` is "" or "linear_attn_config.".
static bool check_object(Reader *reader, JsonNode object, const char *prefix, Err *err) {
    for (;;) {
        JsonNode node = json_first_unread(object);
        if (json_is_absent(node)) return true;
        const char *path = arena_printf(reader->arena, "%s%s", prefix, json_key(node));
        if (!judge_key(reader, node, path, err)) return false;
        json_ignore(object, json_key(node));
    }
}

// The objects that paths lead through ("linear_attn_config"), each as often as rows name it:
// checking one again finds nothing unread.
static bool check_container_of(Reader *reader, const char *path, Err *err) {
    const char *dot = strchr(path, '.');
    if (dot == NULL || dot[1] == '\0' || (dot[1] >= '0' && dot[1] <= '9')) return true;
    char outer[PATH_MAX_B], prefix[PATH_MAX_B];
    snprintf(outer, sizeof outer, "%.*s", (int)(dot - path), path);
    snprintf(prefix, sizeof prefix, "%.*s", (int)(dot - path) + 1, path);
    JsonNode object = reader_find(reader, outer);
    if (object.index == reader->text.index) return true; // checked by itself
    return json_kind(object) != JSON_OBJECT || check_object(reader, object, prefix, err);
}

bool reader_finish(Reader *reader, Err *err) {
    const Part *part;
    for (uint32_t p = 0; (part = part_at(reader, p)) != NULL; p++)
        for (uint32_t i = 0; i < part->field_count; i++)
            if (!check_container_of(reader, part->fields[i].paths, err)) return false;
    if (!check_object(reader, reader->text, "", err)) return false;
    if (is_wrapped(reader) && !check_object(reader, reader->root, "", err)) return false;
    return check_assumptions_used(reader, err);
}

uint32_t reader_count_unknown(const Reader *reader) {
    uint32_t count = 0;
    if (json_kind(reader->text) != JSON_OBJECT) return UINT32_MAX;
    for (;;) {
        JsonNode node = json_first_unread(reader->text);
        if (json_is_absent(node)) return count;
        count += find_inert(reader, json_key(node)) == NULL;
        json_ignore(reader->text, json_key(node));
    }
}
