// Applies the rules of a family's layer pattern, in order, to all layers.
//
// Invariant: on success each layer has exactly one kind of attention and one kind of feed-forward
// block.
#include "model/moe/layer_pattern.h"

#include <stdio.h>
#include <string.h>

#define UNSET UINT8_MAX

static const char *rule_place(const PatternRule *rule) {
    return rule->path != NULL ? rule->path : rule->part->name;
}

static bool assign(const Reader *reader, const PatternRule *rule, uint8_t *kinds, uint32_t layer,
                   JsonNode where, Err *err) {
    uint8_t position = 0;
    while (reader->family->parts[position] != rule->part) position++;
    if (rule->mode == PATTERN_EXCLUSIVE && kinds[layer] != UNSET)
        return json_error(where, err, "layer %u is already of kind %s", layer + rule->base,
                          reader->family->parts[kinds[layer]]->name);
    kinds[layer] = position;
    return true;
}

// Layers that a dimension picks: an arithmetic rule.
static bool apply_arithmetic(const Reader *reader, const PatternRule *rule, uint8_t *kinds,
                             uint32_t layers, Err *err) {
    uint64_t value = rule->dim == DIM_NONE ? 0 : dim_get(&reader->dims, rule->dim);
    uint64_t offset = rule->offset == DIM_NONE ? 0 : dim_get(&reader->dims, rule->offset);
    for (uint32_t layer = 0; layer < layers; layer++) {
        uint64_t at = (uint64_t)layer + rule->base;
        bool multiple = value != 0 && at >= offset && (at - offset) % value == 0;
        bool picked = rule->kind == PATTERN_ALL || (rule->kind == PATTERN_BELOW && at < value) ||
                      (rule->kind == PATTERN_PERIOD && multiple) ||
                      (rule->kind == PATTERN_OFF_PERIOD && value != 0 && !multiple);
        if (picked && !assign(reader, rule, kinds, layer, (JsonNode){0}, err)) return false;
    }
    return true;
}

// "4,5,6": layer numbers as text.
static bool apply_numbers(const Reader *reader, const PatternRule *rule, JsonNode node,
                          uint8_t *kinds, uint32_t layers, Err *err) {
    const char *rest;
    if (!json_as_string(node, &rest, err)) return false;
    while (*rest != '\0') {
        char word[24];
        uint64_t number;
        size_t length = strcspn(rest, ",");
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1),
                 rest);
        if (!text_parse_u64(word, &number) || number < rule->base || number - rule->base >= layers)
            return json_error(node, err, "expected layer numbers with commas, %u to %u, found %s",
                              rule->base, layers - 1 + rule->base, word);
        if (!assign(reader, rule, kinds, (uint32_t)number - rule->base, node, err)) return false;
        rest += length + (rest[length] == ',');
    }
    return true;
}

static bool apply_list(const Reader *reader, const PatternRule *rule, JsonNode list, uint8_t *kinds,
                       uint32_t layers, Err *err) {
    if (json_kind(list) == JSON_STRING)
        return apply_numbers(reader, rule, list, kinds, layers, err);
    if (json_kind(list) != JSON_ARRAY)
        return json_error(list, err, "expected an array of layer numbers");
    for (uint32_t i = 0; i < json_count(list); i++) {
        JsonNode node = json_at(list, i);
        uint64_t number;
        if (!json_as_u64(node, &number, err)) return false;
        if (number < rule->base || number - rule->base >= layers)
            return json_error(node, err, "no layer %llu, they are %u to %u",
                              (unsigned long long)number, rule->base, layers - 1 + rule->base);
        if (!assign(reader, rule, kinds, (uint32_t)number - rule->base, node, err)) return false;
    }
    return true;
}

// What an array has for one layer: whether the rule's flag or name is there.
static bool element_picks(const PatternRule *rule, JsonNode node, bool *picked, Err *err) {
    const char *name;
    uint64_t flag;
    if (rule->kind == PATTERN_FLAGS) {
        if (!json_as_u64(node, &flag, err)) return false;
        *picked = flag == rule->base;
        return true;
    }
    if (!json_as_string(node, &name, err)) return false;
    *picked = strcmp(name, rule->text) == 0;
    return true;
}

static bool apply_elements(const Reader *reader, const PatternRule *rule, JsonNode list,
                           uint8_t *kinds, uint32_t layers, Err *err) {
    if (json_kind(list) != JSON_ARRAY) // a flag list may be a plain number instead
        return rule->kind == PATTERN_FLAGS || json_error(list, err, "expected an array of names");
    if (json_count(list) < layers)
        return json_error(list, err, "%u entries for %u layers", json_count(list), layers);
    for (uint32_t layer = 0; layer < layers; layer++) {
        JsonNode node = json_at(list, layer);
        bool picked;
        if (!element_picks(rule, node, &picked, err)) return false;
        if (picked && !assign(reader, rule, kinds, layer, node, err)) return false;
    }
    return true;
}

static bool apply_letters(const Reader *reader, const PatternRule *rule, JsonNode node,
                          uint8_t *kinds, uint32_t layers, Err *err) {
    const char *letters;
    if (!json_as_string(node, &letters, err)) return false;
    if (strlen(letters) < layers)
        return json_error(node, err, "%zu letters for %u layers", strlen(letters), layers);
    for (uint32_t layer = 0; layer < layers; layer++) {
        if (letters[layer] != rule->text[0]) continue;
        if (!assign(reader, rule, kinds, layer, node, err)) return false;
    }
    return true;
}

// An OVERRIDE rule may lack its field; an EXCLUSIVE one needs it.
static bool apply(const Reader *reader, const PatternRule *rule, uint8_t *kinds, uint32_t layers,
                  Err *err) {
    if (!dim_holds(&reader->dims, rule->when, rule->unless)) return true;
    JsonNode node = rule->path == NULL ? (JsonNode){0} : reader_find(reader, rule->path);
    if (rule->path != NULL && json_is_absent(node))
        return rule->mode == PATTERN_OVERRIDE ||
               json_error(reader->text, err, "missing \"%s\"", rule->path);
    switch (rule->kind) {
    case PATTERN_ALL:
    case PATTERN_BELOW:
    case PATTERN_PERIOD:
    case PATTERN_OFF_PERIOD: return apply_arithmetic(reader, rule, kinds, layers, err);
    case PATTERN_LIST: return apply_list(reader, rule, node, kinds, layers, err);
    case PATTERN_FLAGS:
    case PATTERN_NAMES: return apply_elements(reader, rule, node, kinds, layers, err);
    case PATTERN_LETTERS: return apply_letters(reader, rule, node, kinds, layers, err);
    }
    return false; // not reached: the switch names every kind
}

// "a and b": the places that could have given a layer its kind.
static bool refuse_gap(const Reader *reader, PartScope scope, uint32_t layer, Err *err) {
    Text places = {0};
    uint32_t base = 0;
    for (uint32_t i = 0; i < FAMILY_PATTERN_MAX; i++) {
        const PatternRule *rule = &reader->family->pattern[i];
        if (rule->part == NULL || rule->part->scope != scope) continue;
        text_addf(&places, "%s%s", places.length > 0 ? " and " : "", rule_place(rule));
        base = rule->base;
    }
    json_error(reader->text, err, "layer %u is missing from %s", layer + base,
               text_string(&places));
    text_free(&places);
    return false;
}

static bool check_covered(const Reader *reader, PartScope scope, const uint8_t *kinds,
                          uint32_t layers, Err *err) {
    for (uint32_t layer = 0; layer < layers; layer++)
        if (kinds[layer] == UNSET) return refuse_gap(reader, scope, layer, err);
    return true;
}

bool layer_pattern_read(Reader *reader, LayerPattern *out, Err *err) {
    uint32_t layers = (uint32_t)dim_get(&reader->dims, DIM_LAYERS);
    LayerPattern pattern = {.attention = arena_alloc(reader->arena, layers, 1),
                            .mlp = arena_alloc(reader->arena, layers, 1),
                            .layers = layers};
    memset(pattern.attention, UNSET, layers);
    memset(pattern.mlp, UNSET, layers);
    for (uint32_t i = 0; i < FAMILY_PATTERN_MAX; i++) {
        const PatternRule *rule = &reader->family->pattern[i];
        if (rule->part == NULL) break;
        uint8_t *kinds = rule->part->scope == PART_ATTENTION ? pattern.attention : pattern.mlp;
        if (!apply(reader, rule, kinds, layers, err)) return false;
    }
    if (!check_covered(reader, PART_ATTENTION, pattern.attention, layers, err)) return false;
    if (!check_covered(reader, PART_MLP, pattern.mlp, layers, err)) return false;
    *out = pattern;
    return true;
}
