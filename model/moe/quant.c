// Reads quantization_config and answers, name by name, what is quantised.
//
// Invariant: a model either has one known scheme with known block sizes and exceptions that are all
// understood, or is refused. Sources: the config.json and tensor headers of deepseek-ai/DeepSeek-V3
// (fp8 blocks, F32 scales), Qwen/Qwen3-235B-A22B-FP8 (BF16 scales), moonshotai/Kimi-K3 (MXFP4: E2M1
// codes, one E8M0 scale per 32; OCP Microscaling Formats 1.0, section 5.3).
#include "model/moe/quant.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))
#define PATTERNS_MAX 1024    // with '*' or "re:"
#define WORK_MAX     1000000 // items of all patterns x layers: below a second
#define BLOCK_MAX    4096    // rows or columns of a block

typedef struct QuantMethod {
    const char *method;     // quant_method
    const char *format;     // `format` of compressed-tensors, else NULL
    const char *exceptions; // the key of the list of modules that keep the model's type
    uint32_t block_rows;    // 0: the config says it
    uint32_t block_columns;
    QuantScheme scheme;
} QuantMethod;

static const QuantMethod methods[] = {
    {.method = "fp8",
     .exceptions = "modules_to_not_convert",
     .scheme = {.name = "fp8 blocks",
                .numfmt = NUMFMT_FP8,
                .suffix = ".weight",
                .type = "F8_E4M3",
                .packed = 1,
                .beside = {{".weight_scale_inv", NULL, QUANT_BLOCKS}},
                .beside_count = 1}},
    {.method = "compressed-tensors",
     .format = "mxfp4-pack-quantized",
     .exceptions = "ignore",
     .block_rows = 1,
     .block_columns = 32,
     .scheme = {.name = "mxfp4",
                .numfmt = NUMFMT_FP4,
                .suffix = ".weight_packed",
                .type = "U8",
                .packed = 2,
                .beside = {{".weight_scale", "U8", QUANT_BLOCKS}},
                .beside_count = 1}},
};

static const struct {
    const char *type;
    uint32_t bits;
} types[] = {{"F32", 32},        {"F16", 16},       {"BF16", 16},   {"F8_E4M3", 8}, {"F8_E5M2", 8},
             {"F8_E8M0", 8},     {"U8", 8},         {"I8", 8},      {"I32", 32},    {"I64", 64},
             {"F64", 64},        {"I16", 16},       {"U16", 16},    {"U32", 32},    {"U64", 64},
             {"BOOL", 8},        {"F4", 4},         {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"C64", 64},
             {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}};

uint32_t quant_type_bits(const char *type) {
    for (uint32_t i = 0; i < COUNT(types); i++)
        if (strcmp(types[i].type, type) == 0) return types[i].bits;
    return 0;
}

// Exceptions.

static int compare_strings(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_pattern(const char *entry) {
    return strncmp(entry, "re:", 3) == 0 || strchr(entry, '*') != NULL;
}

static bool add_pattern(Reader *reader, JsonNode node, const char *entry, Match **list,
                        uint32_t *count, Err *err) {
    Err reason = {0};
    if (*count == PATTERNS_MAX)
        return json_error(node, err, "more than %d patterns are not supported", PATTERNS_MAX);
    if (*count == 0) *list = arena_alloc(reader->arena, PATTERNS_MAX, sizeof **list);
    if (!match_compile(entry, reader->arena, &(*list)[*count], &reason))
        return json_error(node, err, "%s", reason.text);
    *count += 1;
    return true;
}

// The array has been read as text, so its length is bounded by that of the file.
static bool read_exceptions(Reader *reader, JsonNode list, Quant *quant, Err *err) {
    if (json_kind(list) != JSON_ARRAY) return json_error(list, err, "expected an array of names");
    quant->exact = arena_alloc(reader->arena, json_count(list), sizeof *quant->exact);
    quant->exact_used = arena_alloc(reader->arena, json_count(list), sizeof(bool));
    for (uint32_t i = 0; i < json_count(list); i++) {
        JsonNode node = json_at(list, i);
        const char *entry;
        if (!json_as_string(node, &entry, err)) return false;
        if (!is_pattern(entry))
            quant->exact[quant->exact_count++] = arena_string(reader->arena, entry);
        else if (!add_pattern(reader, node, entry, &quant->ignored, &quant->ignored_count, err))
            return false;
        if (strpbrk(entry, "0123456789") != NULL || strstr(entry, "\\d") != NULL)
            quant->by_layer = true;
    }
    qsort(quant->exact, quant->exact_count, sizeof *quant->exact, compare_strings);
    return true;
}

// Exact names also stand for all below them ("model.layers.61").
static bool is_listed(Quant *quant, const char *module) {
    char name[MATCH_NAME_MAX + 1];
    size_t length = strlen(module);
    if (quant->exact_count == 0 || length > MATCH_NAME_MAX) return false;
    memcpy(name, module, length + 1);
    for (;;) {
        const char *key = name;
        const char **found =
            bsearch(&key, quant->exact, quant->exact_count, sizeof *quant->exact, compare_strings);
        if (found != NULL) {
            quant->exact_used[found - quant->exact] = true;
            return true;
        }
        char *dot = strrchr(name, '.');
        if (dot == NULL) return false;
        *dot = '\0';
    }
}

static bool any_matches(const Match *list, uint32_t count, const char *module) {
    for (uint32_t i = 0; i < count; i++)
        if (match_test(&list[i], module)) return true;
    return false;
}

const QuantStore *quant_store(Quant *quant, const char *module) {
    if (quant->store_count == 0) return NULL;
    if (quant->target_count > 0 && !any_matches(quant->targets, quant->target_count, module))
        return NULL;
    bool is_ignored =
        is_listed(quant, module) || any_matches(quant->ignored, quant->ignored_count, module);
    return is_ignored ? NULL : &quant->stores[0];
}

void quant_note_unused(const Quant *quant, Reader *reader) {
    uint32_t unused = 0;
    const char *first = NULL;
    for (uint32_t i = 0; i < quant->exact_count; i++) {
        if (quant->exact_used[i]) continue;
        if (first == NULL) first = quant->exact[i];
        unused++;
    }
    if (unused > 0)
        reader_note(reader, "quantization_config: %u of %u exceptions name nothing known, first %s",
                    unused, quant->exact_count, first);
}

bool quant_check_used(const Quant *quant, Reader *reader, Err *err) {
    if (quant->store_count == 0 || quant->is_used) return true;
    return json_error(reader_find(reader, "quantization_config"), err,
                      "its targets and exceptions leave no weight in %s",
                      quant->stores[0].scheme->name);
}

// The config.

// Patterns are tried layer by layer when some exception names a layer.
static bool check_work(const Reader *reader, JsonNode config, const Quant *quant, Err *err) {
    uint64_t items = 0, layers = dim_get(&reader->dims, DIM_LAYERS);
    for (uint32_t i = 0; i < quant->ignored_count; i++) items += quant->ignored[i].count;
    for (uint32_t i = 0; i < quant->target_count; i++) items += quant->targets[i].count;
    if (!quant->by_layer || items * layers <= WORK_MAX) return true;
    return json_error(config, err, "patterns of %llu characters for %llu layers are too many",
                      (unsigned long long)items, (unsigned long long)layers);
}

static const QuantMethod *find_method(const char *method, const char *format) {
    for (uint32_t i = 0; i < COUNT(methods); i++) {
        if (strcmp(methods[i].method, method) != 0) continue;
        if (methods[i].format == NULL || strcmp(methods[i].format, format) == 0) return &methods[i];
    }
    return NULL;
}

static bool is_method(const char *method) {
    for (uint32_t i = 0; i < COUNT(methods); i++)
        if (strcmp(methods[i].method, method) == 0) return true;
    return false;
}

static bool choose_method(JsonNode config, const QuantMethod **out, Err *err) {
    const char *method, *format = "";
    char quote[TEXT_QUOTE_MAX];
    if (!json_string(config, "quant_method", &method, err)) return false;
    if (json_has(config, "format") && !json_string(config, "format", &format, err)) return false;
    *out = find_method(method, format);
    if (*out != NULL) return true;
    if (!is_method(method))
        return json_error(json_find(config, "quant_method"), err,
                          "quantisation %s is not supported, known: fp8, compressed-tensors",
                          text_quote(method, quote));
    if (*format == '\0')
        return json_error(config, err, "missing \"format\", known: mxfp4-pack-quantized");
    return json_error(json_find(config, "format"), err,
                      "format %s is not supported, known: mxfp4-pack-quantized",
                      text_quote(format, quote));
}

static bool read_block(JsonNode config, QuantStore *store, Err *err) {
    JsonNode block;
    uint64_t sides[2];
    if (!json_array(config, "weight_block_size", &block, err)) return false;
    if (json_count(block) != 2)
        return json_error(block, err, "expected two numbers, found %u", json_count(block));
    for (uint32_t i = 0; i < 2; i++) {
        if (!json_as_u64(json_at(block, i), &sides[i], err)) return false;
        if (sides[i] < 1 || sides[i] > BLOCK_MAX)
            return json_error(json_at(block, i), err, "expected 1 to %d, found %llu", BLOCK_MAX,
                              (unsigned long long)sides[i]);
    }
    store->block_rows = (uint32_t)sides[0];
    store->block_columns = (uint32_t)sides[1];
    return true;
}

static bool expect_number(JsonNode object, const char *key, uint64_t wanted, Err *err) {
    uint64_t found;
    if (!json_u64(object, key, &found, err)) return false;
    return found == wanted || json_error(json_find(object, key), err, "expected %llu, found %llu",
                                         (unsigned long long)wanted, (unsigned long long)found);
}

static bool read_targets(Reader *reader, JsonNode group, Quant *quant, Err *err) {
    JsonNode list;
    if (!json_array(group, "targets", &list, err)) return false;
    for (uint32_t i = 0; i < json_count(list); i++) {
        JsonNode node = json_at(list, i);
        const char *entry;
        if (!json_as_string(node, &entry, err)) return false;
        if (strcmp(entry, "Linear") == 0) {
            quant->target_count = 0; // the class of all matrices: nothing narrows it
            return true;
        }
        if (!add_pattern(reader, node, entry, &quant->targets, &quant->target_count, err))
            return false;
        if (quant->targets[quant->target_count - 1].has_digits) quant->by_layer = true;
    }
    return quant->target_count > 0 || json_error(list, err, "no target");
}

// compressed-tensors: one group of modules with one format.
static bool read_groups(Reader *reader, JsonNode config, const QuantMethod *method, Quant *quant,
                        Err *err) {
    JsonNode groups, weights;
    const QuantScheme *scheme = &method->scheme;
    if (!json_object(config, "config_groups", &groups, err)) return false;
    if (json_count(groups) != 1)
        return json_error(groups, err, "%u groups, one is supported", json_count(groups));
    JsonNode group = json_at(groups, 0);
    if (!json_object(group, "weights", &weights, err)) return false;
    if (!expect_number(weights, "num_bits", numfmt_bits(scheme->numfmt), err)) return false;
    if (!expect_number(weights, "group_size", method->block_columns, err)) return false;
    const char *type;
    if (!json_string(weights, "type", &type, err)) return false;
    if (strcmp(type, "float") != 0)
        return json_error(json_find(weights, "type"), err, "expected \"float\" for %s",
                          scheme->name);
    quant->stores[0].block_rows = method->block_rows;
    quant->stores[0].block_columns = method->block_columns;
    return read_targets(reader, group, quant, err);
}

static bool check_keys(Reader *reader, JsonNode config, Err *err) {
    static const char *const inert[] = {"activation_scheme",   "fmt",
                                        "scale_fmt",           "kv_cache_scheme",
                                        "quantization_status", "global_compression_ratio"};
    for (uint32_t i = 0; i < COUNT(inert); i++) json_ignore(config, inert[i]);
    for (;;) {
        JsonNode node = json_first_unread(config);
        if (json_is_absent(node)) return true;
        const char *path = arena_printf(reader->arena, "quantization_config.%s", json_key(node));
        if (!reader_may_leave_out(reader, path))
            return json_error(node, err,
                              "unknown field, which may change the cost; go on without it by "
                              "--assume %s=ignored",
                              path);
        json_ignore(config, json_key(node));
    }
}

bool quant_read(Reader *reader, Quant *out, Err *err) {
    Quant quant = {0};
    JsonNode config = reader_find(reader, "quantization_config");
    if (json_is_absent(config)) {
        *out = quant;
        return true;
    }
    if (json_kind(config) != JSON_OBJECT) return json_error(config, err, "expected an object");
    const QuantMethod *method;
    if (!choose_method(config, &method, err)) return false;
    quant.scale_type = reader->family->fp8_scale_type;
    quant.stores[0].scheme = &method->scheme;
    quant.store_count = 1;
    if (method->format != NULL ? !read_groups(reader, config, method, &quant, err)
                               : !read_block(config, &quant.stores[0], err))
        return false;
    JsonNode list = json_find(config, method->exceptions);
    if (json_has(config, method->exceptions) && !read_exceptions(reader, list, &quant, err))
        return false;
    if (!check_work(reader, config, &quant, err) || !check_keys(reader, config, err)) return false;
    *out = quant;
    return true;
}
