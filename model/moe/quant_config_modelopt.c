// Reads what NVIDIA Model Optimizer writes, into config.json or into hf_quant_config.json: one
// algorithm for all layers, or a map from layers to algorithms, and a list of exceptions.
//
// Invariant: an algorithm is known with all its tensors, or refused. Source: the exporter of
// NVIDIA Model Optimizer (convert_hf_quant_config_format) and its published checkpoints.
#include <string.h>

#include "model/moe/quant_internal.h"

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))
#define NVFP4_GROUP  16 // codes that share a scale: NVIDIA Blackwell tensor cores, and nothing else

typedef enum Algo { ALGO_FP8, ALGO_NVFP4, ALGO_W4A16, ALGO_COUNT, ALGO_MIXED = ALGO_COUNT } Algo;
static const char *const algos[] = {"FP8", "NVFP4", "W4A16_NVFP4", "MIXED_PRECISION"};

// What a config says, read once, however many layers it lists.
typedef struct Modelopt {
    Reader *reader;
    JsonNode config;
    bool has_input_scale[ALGO_COUNT];
} Modelopt;

// The group of config_groups whose weights have so many bits; absent when there is none.
static JsonNode find_group(JsonNode config, uint64_t bits) {
    JsonNode groups = json_find(config, "config_groups");
    Err ignored = {0};
    for (uint32_t i = 0; i < json_count(groups); i++) {
        JsonNode group = json_at(groups, i), weights = json_find(group, "weights");
        uint64_t found;
        if (json_has(weights, "num_bits") && json_u64(weights, "num_bits", &found, &ignored) &&
            found == bits)
            return group;
    }
    return (JsonNode){0};
}

static uint64_t algo_bits(Algo algo) {
    return algo == ALGO_FP8 ? 8 : 4;
}

// Inputs have a scale when they are static, which they are by default but for W4A16.
static Modelopt open_config(Reader *reader, JsonNode config) {
    Modelopt out = {.reader = reader, .config = config};
    Err ignored = {0};
    for (int algo = 0; algo < ALGO_COUNT; algo++) {
        JsonNode group = find_group(config, algo_bits((Algo)algo));
        JsonNode inputs = json_find(group, "input_activations");
        bool dynamic = false;
        if (json_has(inputs, "dynamic")) (void)json_bool(inputs, "dynamic", &dynamic, &ignored);
        out.has_input_scale[algo] = json_is_absent(group)
                                        ? algo != ALGO_W4A16
                                        : json_kind(inputs) == JSON_OBJECT && !dynamic;
    }
    return out;
}

// `at` has a group_size where that is given.
static bool add_store(const Modelopt *from, JsonNode at, Algo algo, Quant *quant, uint32_t *out,
                      Err *err) {
    bool is_fp8 = algo == ALGO_FP8;
    QuantSchemeId id = is_fp8 ? QUANT_FP8_TENSOR : QUANT_NVFP4;
    uint32_t beside = quant_schemes[id].beside_count - !from->has_input_scale[algo];
    if (!is_fp8 && json_has(at, "group_size") &&
        !quant_expect_number(at, "group_size", NVFP4_GROUP, err))
        return false;
    json_ignore(at, "group_size");
    return quant_add_store(quant, id, is_fp8 ? QUANT_ALL : 1, is_fp8 ? QUANT_ALL : NVFP4_GROUP,
                           beside, at, out, err);
}

// A name with the number of an expert stands for all experts of its layer, which are asked for as
// expert 0: quantized_layers may list each.
static const char *any_expert(Arena *arena, const char *name) {
    static const char mark[] = ".experts.";
    const char *at = strstr(name, mark);
    if (at == NULL) return name;
    at += sizeof mark - 1;
    size_t digits = strspn(at, "0123456789");
    if (digits == 0 || (at[digits] != '.' && at[digits] != '\0')) return name;
    return arena_printf(arena, "%.*s0%s", (int)(at - name), name, at + digits);
}

static bool read_layer(const Modelopt *from, JsonNode layer, Quant *quant, Err *err) {
    uint32_t algo, store;
    Err reason = {0};
    const char *name = any_expert(from->reader->arena, json_key(layer));
    if (json_kind(layer) != JSON_OBJECT) return json_error(layer, err, "expected an object");
    if (!quant_read_word(layer, "quant_algo", algos, ALGO_COUNT, &algo, err)) return false;
    if (algo == ALGO_COUNT) return json_error(layer, err, "missing \"quant_algo\"");
    if (!add_store(from, layer, (Algo)algo, quant, &store, err)) return false;
    if (!match_set_add(&quant->targets, name, store, from->reader->arena, &reason))
        return json_error(layer, err, "%s", reason.text);
    return quant_check_keys(from->reader, layer, "quantized_layers", err);
}

static bool read_layers(const Modelopt *from, Quant *quant, Err *err) {
    JsonNode layers;
    if (!json_object(from->config, "quantized_layers", &layers, err)) return false;
    for (uint32_t i = 0; i < json_count(layers); i++)
        if (!read_layer(from, json_at(layers, i), quant, err)) return false;
    return true;
}

// `without`: what a module is that an exception names.
static bool read_rest(const Modelopt *from, Quant *quant, uint32_t without, Err *err) {
    static const char *const inert[] = {"producer", "group_size", "config_groups",
                                        "moe_quant_algo"};
    JsonNode config = from->config;
    for (uint32_t i = 0; i < COUNT(inert); i++) json_ignore(config, inert[i]);
    quant_note_cache(from->reader, config, "kv_cache_scheme", quant);
    quant_note_cache(from->reader, config, "kv_cache_quant_algo", quant);
    return quant_read_names(from->reader, config, "ignore", &quant->exceptions, without, err) &&
           quant_read_names(from->reader, config, "exclude_modules", &quant->exceptions, without,
                            err);
}

bool quant_read_modelopt_layers(Reader *reader, JsonNode config, Quant *quant, Err *err) {
    uint32_t ignored;
    Modelopt from = open_config(reader, config);
    return quant_read_word(config, "quant_algo", &algos[ALGO_MIXED], 1, &ignored, err) &&
           read_layers(&from, quant, err) && read_rest(&from, quant, QUANT_UNNAMED, err);
}

// One algorithm for all weights; groups, where given, say the same once more.
static bool read_algo(const Modelopt *from, Algo algo, Quant *quant, Err *err) {
    JsonNode config = from->config;
    if (json_has(config, "config_groups") && json_is_absent(find_group(config, algo_bits(algo))))
        return json_error(json_find(config, "config_groups"), err,
                          "no group has the %llu bits of quant_algo %s",
                          (unsigned long long)algo_bits(algo), algos[algo]);
    if (!add_store(from, config, algo, quant, &quant->others, err)) return false;
    quant->experts = quant->others;
    return true;
}

bool quant_read_modelopt(Reader *reader, JsonNode config, Quant *quant, Err *err) {
    uint32_t algo;
    const char *ignored;
    Modelopt from = open_config(reader, config);
    if (!json_string(config, "quant_algo", &ignored, err) ||
        !quant_read_word(config, "quant_algo", algos, ALGO_COUNT + 1, &algo, err))
        return false;
    bool good = algo == ALGO_MIXED ? read_layers(&from, quant, err)
                                   : read_algo(&from, (Algo)algo, quant, err);
    return good && read_rest(&from, quant, QUANT_PLAIN, err);
}
