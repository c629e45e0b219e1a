// Reads what the compressed-tensors library writes: groups of modules, each with a format, and a
// list of exceptions.
//
// Invariant: every key of a group is checked against the format that it names. Source: the config
// classes of compressed-tensors (QuantizationConfig, QuantizationScheme, QuantizationArgs); a
// strategy that is not given follows from group_size, as there.
#include <string.h>

#include "model/moe/quant_internal.h"

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))
#define GROUP_MAX    65536 // weights that share a scale

typedef enum Format { FORMAT_FLOAT, FORMAT_MXFP4, FORMAT_INT, FORMAT_COUNT } Format;
static const char *const formats[FORMAT_COUNT] = {"float-quantized", "mxfp4-pack-quantized",
                                                  "pack-quantized"};

typedef enum Strategy {
    STRATEGY_TENSOR,
    STRATEGY_CHANNEL,
    STRATEGY_GROUP,
    STRATEGY_BLOCK
} Strategy;
#define STRATEGY_COUNT 4
static const char *const strategies[STRATEGY_COUNT] = {"tensor", "channel", "group", "block"};

static bool expect_word(JsonNode object, const char *key, const char *wanted, Err *err) {
    uint32_t ignored;
    if (json_has(object, key)) return quant_read_word(object, key, &wanted, 1, &ignored, err);
    return json_error(object, err, "missing \"%s\"", key);
}

// Keys that would add tensors (zero points, an order of the columns).
static bool check_plain(JsonNode weights, Err *err) {
    bool symmetric = true;
    if (json_has(weights, "symmetric") && !json_bool(weights, "symmetric", &symmetric, err))
        return false;
    if (!symmetric)
        return json_error(json_find(weights, "symmetric"), err, "only true is supported");
    if (json_has(weights, "actorder"))
        return json_error(json_find(weights, "actorder"), err, "only null is supported");
    return true;
}

static bool read_strategy(JsonNode weights, Format format, Strategy *out, Err *err) {
    uint32_t found;
    bool has_group = json_has(weights, "group_size");
    if (!quant_read_word(weights, "strategy", strategies, STRATEGY_COUNT, &found, err))
        return false;
    if (found == STRATEGY_COUNT) found = has_group ? STRATEGY_GROUP : STRATEGY_TENSOR;
    *out = (Strategy)found;
    bool fits = format == FORMAT_FLOAT || found == STRATEGY_GROUP ||
                (format == FORMAT_INT && found == STRATEGY_CHANNEL);
    if (fits) return true;
    JsonNode at = json_has(weights, "strategy") ? json_find(weights, "strategy") : weights;
    return json_error(at, err, "\"%s\" is not supported for %s", strategies[found],
                      formats[format]);
}

static bool read_group_size(JsonNode weights, uint32_t packed, uint32_t *out, Err *err) {
    uint64_t size;
    if (!json_u64(weights, "group_size", &size, err)) return false;
    if (size < 1 || size > GROUP_MAX || size % packed != 0)
        return json_error(json_find(weights, "group_size"), err,
                          "expected a multiple of %u up to %d, found %llu", packed, GROUP_MAX,
                          (unsigned long long)size);
    *out = (uint32_t)size;
    return true;
}

// True when the inputs have a scale of their own in the checkpoint.
static bool has_input_scale(JsonNode group) {
    JsonNode inputs = json_find(group, "input_activations");
    bool dynamic = true;
    Err ignored = {0};
    if (json_kind(inputs) != JSON_OBJECT) return false;
    return json_has(inputs, "dynamic") && json_bool(inputs, "dynamic", &dynamic, &ignored) &&
           !dynamic;
}

static bool add_store(JsonNode group, JsonNode weights, Format format, Quant *quant, uint32_t *out,
                      Err *err) {
    static const QuantSchemeId schemes[FORMAT_COUNT] = {QUANT_FP8_SCALED, QUANT_MXFP4, QUANT_INT4};
    Strategy strategy;
    QuantSchemeId id = schemes[format];
    uint32_t rows = 1, columns = QUANT_ALL;
    if (!read_strategy(weights, format, &strategy, err)) return false;
    switch (strategy) {
    case STRATEGY_TENSOR:
        id = QUANT_FP8_SCALED_TENSOR;
        rows = QUANT_ALL;
        break;
    case STRATEGY_CHANNEL: break;
    case STRATEGY_GROUP:
        if (!read_group_size(weights, quant_schemes[id].packed, &columns, err)) return false;
        break;
    case STRATEGY_BLOCK:
        if (!quant_read_block(weights, "block_structure", &rows, &columns, err)) return false;
        break;
    }
    if (format == FORMAT_MXFP4 && !quant_expect_number(weights, "group_size", 32, err))
        return false;
    bool has_input = has_input_scale(group);
    if (has_input && format != FORMAT_FLOAT)
        return json_error(json_find(group, "input_activations"), err,
                          "only dynamic ones are supported for %s", formats[format]);
    uint32_t beside = quant_schemes[id].beside_count - (format == FORMAT_FLOAT && !has_input);
    return quant_add_store(quant, id, rows, columns, beside, weights, out, err);
}

static bool read_weights(Reader *reader, JsonNode group, Format format, Quant *quant, uint32_t *out,
                         Err *err) {
    static const char *const inert[] = {"dynamic",     "observer", "observer_kwargs",
                                        "scale_dtype", "zp_dtype", "block_structure",
                                        "group_size"};
    JsonNode weights;
    if (!json_object(group, "weights", &weights, err) ||
        !quant_expect_number(weights, "num_bits", format == FORMAT_FLOAT ? 8 : 4, err) ||
        !expect_word(weights, "type", format == FORMAT_INT ? "int" : "float", err) ||
        !check_plain(weights, err) || !add_store(group, weights, format, quant, out, err))
        return false;
    for (uint32_t i = 0; i < COUNT(inert); i++) json_ignore(weights, inert[i]);
    return quant_check_keys(reader, weights, "quantization_config.weights", err);
}

static bool is_class(const char *target) {
    return target[0] >= 'A' && target[0] <= 'Z' && strpbrk(target, ".*:") == NULL;
}

// "Linear" is every weight; a class of experts ("Llama4TextExperts", "FusedMoE") the routed ones.
static bool add_class(JsonNode node, const char *target, uint32_t store, Quant *quant, Err *err) {
    char quote[TEXT_QUOTE_MAX];
    size_t length = strlen(target), tail = strlen("Experts");
    bool is_experts = strcmp(target, "FusedMoE") == 0 ||
                      (length > tail && strcmp(target + length - tail, "Experts") == 0);
    if (strcmp(target, "Linear") != 0 && !is_experts)
        return json_error(node, err, "class %s is not supported, known: Linear, FusedMoE, *Experts",
                          text_quote(target, quote));
    uint32_t *known = is_experts ? &quant->experts : &quant->others;
    if (*known != QUANT_PLAIN && *known != store)
        return json_error(node, err, "%s is a target of an earlier group too",
                          text_quote(target, quote));
    *known = store;
    return true;
}

static bool read_targets(Reader *reader, JsonNode group, uint32_t store, Quant *quant, Err *err) {
    JsonNode list;
    Err reason = {0};
    if (!json_array(group, "targets", &list, err)) return false;
    if (json_count(list) == 0) return json_error(list, err, "no target");
    for (uint32_t i = 0; i < json_count(list); i++) {
        JsonNode node = json_at(list, i);
        const char *target;
        if (!json_as_string(node, &target, err)) return false;
        if (is_class(target)) {
            if (!add_class(node, target, store, quant, err)) return false;
        } else if (!match_set_add(&quant->targets, target, store, reader->arena, &reason)) {
            return json_error(node, err, "%s", reason.text);
        }
    }
    return true;
}

// `outer` is the format of the whole config, FORMAT_COUNT when it leaves that to the groups.
static bool read_group(Reader *reader, JsonNode group, uint32_t outer, Quant *quant, Err *err) {
    uint32_t format, store;
    if (json_kind(group) != JSON_OBJECT) return json_error(group, err, "expected an object");
    if (!quant_read_word(group, "format", formats, FORMAT_COUNT, &format, err)) return false;
    if (format == FORMAT_COUNT) format = outer;
    if (format == FORMAT_COUNT)
        return json_error(group, err, "missing \"format\", known: %s, %s, %s", formats[0],
                          formats[1], formats[2]);
    if (!read_weights(reader, group, (Format)format, quant, &store, err)) return false;
    json_ignore(group, "input_activations");
    json_ignore(group, "output_activations");
    return read_targets(reader, group, store, quant, err) &&
           quant_check_keys(reader, group, "quantization_config.config_groups", err);
}

static bool read_outer_format(JsonNode config, uint32_t *out, Err *err) {
    const char *format;
    *out = FORMAT_COUNT;
    if (!json_has(config, "format")) return true;
    if (!json_string(config, "format", &format, err)) return false;
    if (strcmp(format, "mixed-precision") == 0) return true;
    return quant_read_word(config, "format", formats, FORMAT_COUNT, out, err);
}

// An object that must be empty where it is given.
static bool expect_empty(JsonNode config, const char *key, Err *err) {
    JsonNode node = json_find(config, key);
    if (!json_has(config, key) || (json_kind(node) == JSON_OBJECT && json_count(node) == 0))
        return true;
    return json_error(node, err, "only an empty one is supported");
}

bool quant_read_compressed(Reader *reader, JsonNode config, Quant *quant, Err *err) {
    static const char *const stored[] = {"compressed"};
    JsonNode groups;
    uint32_t format, ignored;
    if (!read_outer_format(config, &format, err) ||
        !json_object(config, "config_groups", &groups, err))
        return false;
    if (json_count(groups) == 0) return json_error(groups, err, "no group");
    for (uint32_t i = 0; i < json_count(groups); i++)
        if (!read_group(reader, json_at(groups, i), format, quant, err)) return false;
    if (quant->experts == QUANT_PLAIN) quant->experts = quant->others;
    json_ignore(config, "global_compression_ratio");
    json_ignore(config, "version");
    quant_note_cache(reader, config, "kv_cache_scheme", quant);
    return quant_read_word(config, "quantization_status", stored, 1, &ignored, err) &&
           expect_empty(config, "sparsity_config", err) &&
           expect_empty(config, "transform_config", err) &&
           quant_read_names(reader, config, "ignore", &quant->exceptions, QUANT_PLAIN, err);
}
