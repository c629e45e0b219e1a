// Reads quantization_config: which tool wrote it, and what all of them have in common.
//
// Invariant: a config is understood key by key, or refused with the key that is not.
#include "model/moe/quant_internal.h"

#include <string.h>

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))
#define WORK_MAX     1000000 // items of all patterns x layers: below a second
#define BLOCK_MAX    4096    // rows or columns of a block

// Shared steps.

bool quant_add_store(Quant *quant, QuantSchemeId scheme, uint32_t block_rows,
                     uint32_t block_columns, uint32_t beside_count, JsonNode at, uint32_t *out,
                     Err *err) {
    QuantStore store = {&quant_schemes[scheme], block_rows, block_columns, beside_count};
    for (uint32_t i = 0; i < quant->store_count; i++) {
        const QuantStore *known = &quant->stores[i];
        *out = i;
        if (known->scheme == store.scheme && known->block_rows == block_rows &&
            known->block_columns == block_columns && known->beside_count == beside_count)
            return true;
    }
    if (quant->store_count == QUANT_STORES_MAX)
        return json_error(at, err, "more than %d ways to store a weight are not supported",
                          QUANT_STORES_MAX);
    *out = quant->store_count;
    quant->stores[quant->store_count++] = store;
    return true;
}

bool quant_read_names(Reader *reader, JsonNode config, const char *key, MatchSet *set,
                      uint32_t value, Err *err) {
    Err reason = {0};
    if (!json_has(config, key)) return true;
    JsonNode list = json_find(config, key);
    if (json_kind(list) != JSON_ARRAY) return json_error(list, err, "expected an array of names");
    for (uint32_t i = 0; i < json_count(list); i++) {
        JsonNode node = json_at(list, i);
        const char *entry;
        if (!json_as_string(node, &entry, err)) return false;
        if (!match_set_add(set, entry, value, reader->arena, &reason))
            return json_error(node, err, "%s", reason.text);
    }
    return true;
}

bool quant_read_word(JsonNode config, const char *key, const char *const *words, uint32_t count,
                     uint32_t *out, Err *err) {
    char quote[TEXT_QUOTE_MAX];
    const char *word;
    *out = count;
    if (!json_has(config, key)) return true;
    if (!json_string(config, key, &word, err)) return false;
    Text known = {0};
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(word, words[i]) == 0) *out = i;
        text_addf(&known, "%s%s", i > 0 ? ", " : "", words[i]);
    }
    if (*out == count)
        json_error(json_find(config, key), err, "%s is not supported, known: %s",
                   text_quote(word, quote), text_string(&known));
    text_free(&known);
    return *out < count;
}

bool quant_expect_number(JsonNode object, const char *key, uint64_t wanted, Err *err) {
    uint64_t found;
    if (!json_u64(object, key, &found, err)) return false;
    return found == wanted || json_error(json_find(object, key), err, "expected %llu, found %llu",
                                         (unsigned long long)wanted, (unsigned long long)found);
}

bool quant_read_block(JsonNode config, const char *key, uint32_t *rows, uint32_t *columns,
                      Err *err) {
    JsonNode block;
    uint64_t sides[2];
    if (!json_array(config, key, &block, err)) return false;
    if (json_count(block) != 2)
        return json_error(block, err, "expected two numbers, found %u", json_count(block));
    for (uint32_t i = 0; i < 2; i++) {
        if (!json_as_u64(json_at(block, i), &sides[i], err)) return false;
        if (sides[i] < 1 || sides[i] > BLOCK_MAX)
            return json_error(json_at(block, i), err, "expected 1 to %d, found %llu", BLOCK_MAX,
                              (unsigned long long)sides[i]);
    }
    *rows = (uint32_t)sides[0];
    *columns = (uint32_t)sides[1];
    return true;
}

// Scales come as a word (ModelOpt: "FP8") or as an object (compressed-tensors: 8 bits of a float).
static bool is_fp8_cache(JsonNode config, const char *key) {
    JsonNode node = json_find(config, key);
    const char *word = "";
    uint64_t bits = 0;
    Err ignored = {0};
    if (json_kind(node) == JSON_STRING)
        return json_string(config, key, &word, &ignored) && strcmp(word, "FP8") == 0;
    return json_kind(node) == JSON_OBJECT && json_has(node, "num_bits") &&
           json_u64(node, "num_bits", &bits, &ignored) && bits == 8;
}

void quant_note_cache(Reader *reader, JsonNode config, const char *key, Quant *quant) {
    if (json_has(config, key) && json_kind(json_find(config, key)) != JSON_NULL) {
        reader_note(reader, "%s: the checkpoint is calibrated for a quantised cache", key);
        quant->fp8_cache = quant->fp8_cache || is_fp8_cache(config, key);
    }
    json_ignore(config, key);
}

bool quant_check_keys(Reader *reader, JsonNode config, const char *path, Err *err) {
    for (;;) {
        JsonNode node = json_first_unread(config);
        if (json_is_absent(node)) return true;
        const char *key = arena_printf(reader->arena, "%s.%s", path, json_key(node));
        if (!reader_may_leave_out(reader, key))
            return json_error(node, err,
                              "unknown field, which may change the cost; go on without it by "
                              "--assume %s=ignored",
                              key);
        json_ignore(config, json_key(node));
    }
}

// Checkpoints of fp8.

// DeepSeek-V4: "expert_dtype" stands beside quantization_config.
static bool read_expert_type(Reader *reader, JsonNode config, Quant *quant, Err *err) {
    char quote[TEXT_QUOTE_MAX];
    const char *type;
    JsonNode node = reader_find(reader, "expert_dtype");
    if (json_is_absent(node)) return true;
    if (!json_as_string(node, &type, err)) return false;
    if (strcmp(type, "fp8") == 0) return true;
    if (strcmp(type, "fp4") != 0)
        return json_error(node, err, "%s is not supported, known: fp8, fp4",
                          text_quote(type, quote));
    // 32 codes share a scale: DeepSeek-V4-Flash, w1 of an expert has 2048 x 4096 weights and 2048 x
    // 128 scales
    return quant_add_store(quant, QUANT_FP4_EXPERTS, 1, 32, 1, config, &quant->experts, err);
}

bool quant_read_fp8(Reader *reader, JsonNode config, Quant *quant, Err *err) {
    static const char *const formats[] = {"e4m3", "float8_e4m3fn"};
    static const char *const schemes[] = {"dynamic", "static"};
    uint32_t ignored, scheme, rows = QUANT_ALL, columns = QUANT_ALL;
    bool has_blocks = json_has(config, "weight_block_size"), is_stored = true;
    if (!quant_read_word(config, "fmt", formats, COUNT(formats), &ignored, err) ||
        !quant_read_word(config, "activation_scheme", schemes, has_blocks ? 1 : 2, &scheme, err))
        return false;
    if (json_has(config, "is_checkpoint_fp8_serialized") &&
        !json_bool(config, "is_checkpoint_fp8_serialized", &is_stored, err))
        return false;
    if (!is_stored)
        return json_error(json_find(config, "is_checkpoint_fp8_serialized"), err,
                          "expected true: false is for weights that are quantised when loaded");
    if (has_blocks && !quant_read_block(config, "weight_block_size", &rows, &columns, err))
        return false;
    QuantSchemeId id = has_blocks ? QUANT_FP8_BLOCKS : QUANT_FP8_TENSOR;
    bool is_static = !has_blocks && scheme == 1; // inputs have a scale too
    if (!quant_add_store(quant, id, rows, columns, is_static ? 2 : 1, config, &quant->others, err))
        return false;
    quant->experts = quant->others;
    json_ignore(config, "scale_fmt"); // how scales are rounded
    return read_expert_type(reader, config, quant, err) &&
           quant_read_names(reader, config, "modules_to_not_convert", &quant->exceptions,
                            QUANT_PLAIN, err) &&
           quant_read_names(reader, config, "ignored_layers", &quant->exceptions, QUANT_PLAIN,
                            err) &&
           (!json_has(config, "quant_algo") ||
            quant_read_modelopt_layers(reader, config, quant, err));
}

// Only fused experts are stored so: Hugging Face transformers, quantizers for mxfp4.
bool quant_read_mxfp4(Reader *reader, JsonNode config, Quant *quant, Err *err) {
    return quant_add_store(quant, QUANT_MXFP4_FUSED, 1, 32, 1, config, &quant->experts, err) &&
           quant_read_names(reader, config, "modules_to_not_convert", &quant->exceptions,
                            QUANT_PLAIN, err);
}

// The whole.

static bool read_config(Reader *reader, JsonNode config, Quant *quant, Err *err) {
    static const char *const methods[] = {"fp8", "mxfp4", "compressed-tensors", "modelopt",
                                          "modelopt_fp4"};
    static bool (*const readers[])(Reader *, JsonNode, Quant *, Err *) = {
        quant_read_fp8, quant_read_mxfp4, quant_read_compressed, quant_read_modelopt,
        quant_read_modelopt};
    uint32_t method;
    if (json_kind(config) != JSON_OBJECT) return json_error(config, err, "expected an object");
    if (!quant_read_word(config, "quant_method", methods, COUNT(methods), &method, err))
        return false;
    if (method < COUNT(methods)) return readers[method](reader, config, quant, err);
    if (json_has(config, "quant_algo")) return quant_read_modelopt(reader, config, quant, err);
    return json_error(config, err, "missing \"quant_method\" or \"quant_algo\"");
}

static bool finish_names(JsonNode config, MatchSet *set, Err *err) {
    Err reason = {0};
    return match_set_finish(set, &reason) || json_error(config, err, "%s", reason.text);
}

// Patterns are tried layer by layer when some name tells layers apart.
static bool check_work(const Reader *reader, JsonNode config, const Quant *quant, Err *err) {
    uint64_t items = quant->targets.pattern_items + quant->exceptions.pattern_items;
    uint64_t layers = dim_get(&reader->dims, DIM_LAYERS);
    if (!quant->by_layer || items * layers <= WORK_MAX) return true;
    return json_error(config, err, "patterns of %llu characters for %llu layers are too many",
                      (unsigned long long)items, (unsigned long long)layers);
}

// Where the config is: an object in config.json, or else in the file beside it.
static bool find_config(Reader *reader, JsonNode *out, const char **where, Err *err) {
    *where = "quantization_config";
    *out = reader_find(reader, *where);
    if (!json_is_absent(*out) || json_is_absent(reader->quant)) return true;
    *where = "quantization";
    json_ignore(reader->quant, "producer");
    return json_object(reader->quant, *where, out, err) && json_finish(reader->quant, err);
}

bool quant_read(Reader *reader, Quant *out, Err *err) {
    const char *suffix = reader->family->scale_suffix, *type = reader->family->fp8_scale_type;
    Quant quant = {.scale_type = type != NULL ? type : "F32",
                   .scale_suffix = suffix != NULL ? suffix : ".weight_scale_inv",
                   .experts = QUANT_PLAIN,
                   .others = QUANT_PLAIN};
    JsonNode config;
    if (!find_config(reader, &config, &quant.where, err)) return false;
    if (json_is_absent(config)) {
        *out = (Quant){0};
        return true;
    }
    if (!read_config(reader, config, &quant, err) ||
        !quant_check_keys(reader, config, quant.where, err) ||
        !finish_names(config, &quant.targets, err) || !finish_names(config, &quant.exceptions, err))
        return false;
    quant.by_layer = quant.targets.has_digits || quant.exceptions.has_digits;
    if (!check_work(reader, config, &quant, err)) return false;
    *out = quant;
    return true;
}
