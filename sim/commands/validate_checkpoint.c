// Sums over the tensors of a model, compared with what is published of its files.
//
// Invariant: what a row counts follows from its quantity, from the words of its note, and from what
// the list of models says the files lack. Totals of elements count what is stored, packed weights
// as weights, and scales only where the note says so: the convention of the Hub's totals.
#include "sim/commands/validate_checkpoint.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/text.h"
#include "model/base/wide.h"
#include "model/moe/count.h"

// ---- formula_match

// The exact part of a row: its value and a difference, or another figure of some quantity.
typedef struct Stated {
    const char *quantity;
    double measured;
    int64_t difference;
} Stated;

// "61,064,245,248" at the start of the text; digits in groups of three.
static bool read_number(const char *text, uint64_t *out) {
    char digits[24];
    size_t length = 0, from = 0;
    for (; (text[from] >= '0' && text[from] <= '9') || (text[from] == ',' && from > 0); from++)
        if (text[from] != ',' && length + 1 < sizeof digits) digits[length++] = text[from];
    digits[length] = '\0';
    return text_parse_u64(digits, out);
}

static bool begins_with(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

// Figures that stand in formula_match in place of the value: the word before the number, and the
// quantity of which it is.
static const struct {
    const char *word, *quantity;
} parts[] = {{"payload ", "payload_bytes"}, {"text ", "text_parameters"}};

static bool read_part(const char *match, Stated *out) {
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        uint64_t figure;
        if (!begins_with(match, parts[i].word)) continue;
        if (!read_number(match + strlen(parts[i].word), &figure)) return false;
        *out = (Stated){parts[i].quantity, (double)figure, 0};
        return true;
    }
    return false;
}

static bool read_match(const RecordFile *file, uint32_t row, Stated *out, Err *reason) {
    const char *match = record_cell(file, row, "formula_match");
    char quote[TEXT_QUOTE_MAX];
    uint64_t size;
    *out = (Stated){record_cell(file, row, "quantity"), file->rows[row].value, 0};
    if (begins_with(match, "exact") || read_part(match, out)) return true;
    bool more = *match == '+', less = *match == '-';
    if ((more || less) && read_number(match + 1, &size) && size <= INT64_MAX) {
        out->difference = more ? (int64_t)size : -(int64_t)size;
        return true;
    }
    if (*match == '\0') return err_set(reason, "formula_match is empty: not known to be exact");
    return err_set(reason, "formula_match says %s: not an exact figure", text_quote(match, quote));
}

// ---- What is counted

typedef struct Counted {
    bool scales, without[VALIDATE_WITHOUT_COUNT];
} Counted;

static Counted read_note(const char *note, const ValidateModel *model) {
    Counted counted = {0};
    memcpy(counted.without, model->without, sizeof counted.without);
    counted.scales = strstr(note, "scales") != NULL && strstr(note, "scales not counted") == NULL;
    if (strstr(note, "no duplicates") != NULL || strstr(note, "without duplicates") != NULL)
        counted.without[VALIDATE_WITHOUT_MTP_TABLES] = true;
    return counted;
}

static bool is_counted(const Counted *counted, const TensorClass *class) {
    bool is_mtp = class->component == COMPONENT_MTP;
    if (is_mtp && counted->without[VALIDATE_WITHOUT_MTP]) return false;
    if (is_mtp && class->shard == SHARD_VOCAB && counted->without[VALIDATE_WITHOUT_MTP_TABLES])
        return false;
    return class->component != COMPONENT_VISION || !counted->without[VALIDATE_WITHOUT_VISION];
}

// Elements as stored (padding too), or the weights that are packed in them.
static uint64_t elements_of(const Counted *counted, const TensorClass *class) {
    uint64_t stored = 1;
    for (uint32_t i = 0; i < class->dim_count; i++)
        stored = wide_mul_saturate(stored, class->dims[i]);
    if (class->is_scale) return counted->scales ? stored : 0;
    return stored > class->parameters ? stored : class->parameters;
}

typedef enum Measure { MEASURE_TENSORS, MEASURE_BYTES, MEASURE_ELEMENTS, MEASURE_TEXT } Measure;

// Quantities as sums over tensors; those of one component, type or word in the name when given.
typedef struct Quantity {
    const char *name;
    Measure measure;
    Component component; // COMPONENT_COUNT: of all
    const char *type, *word;
} Quantity;

static const Quantity quantities[] = {
    {"tensors", MEASURE_TENSORS, COMPONENT_COUNT, NULL, NULL},
    {"payload_bytes", MEASURE_BYTES, COMPONENT_COUNT, NULL, NULL},
    {"hub_params_total", MEASURE_ELEMENTS, COMPONENT_COUNT, NULL, NULL},
    {"text_parameters", MEASURE_TEXT, COMPONENT_COUNT, NULL, NULL},
    {"routed_expert_bytes", MEASURE_BYTES, COMPONENT_ROUTED, NULL, NULL},
    {"latent_projection_bytes", MEASURE_BYTES, COMPONENT_LATENT, NULL, NULL},
    {"attention_f32_bytes", MEASURE_BYTES, COMPONENT_ATTENTION, "F32", NULL},
    {"router_bf16_bytes", MEASURE_BYTES, COMPONENT_ROUTER, "BF16", NULL},
    {"projector_bytes", MEASURE_BYTES, COMPONENT_VISION, NULL, "projector"},
};

static const Quantity *find_quantity(const char *name) {
    for (size_t i = 0; i < sizeof quantities / sizeof quantities[0]; i++)
        if (strcmp(quantities[i].name, name) == 0) return &quantities[i];
    return NULL;
}

static bool is_of(const Quantity *quantity, const TensorClass *class) {
    return (quantity->component == COMPONENT_COUNT || quantity->component == class->component) &&
           (quantity->type == NULL || strcmp(quantity->type, class->type) == 0) &&
           (quantity->word == NULL || strstr(class->pattern, quantity->word) != NULL);
}

static uint64_t measure_of(const Quantity *quantity, const Counted *counted,
                           const TensorClass *class) {
    bool is_text = class->component != COMPONENT_MTP && class->component != COMPONENT_VISION;
    switch (quantity->measure) {
    case MEASURE_TENSORS: return 1;
    case MEASURE_BYTES: return class->bytes;
    case MEASURE_ELEMENTS: return elements_of(counted, class);
    case MEASURE_TEXT: return is_text ? class->parameters : 0;
    }
    return 0;
}

static uint64_t sum_quantity(const Quantity *quantity, const Counted *counted, const Arch *arch) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < arch->tensor_count; i++) {
        const TensorClass *class = &arch->tensors[i];
        if (!is_counted(counted, class) || !is_of(quantity, class)) continue;
        sum = wide_add_saturate(sum, wide_mul_saturate(count_tensors(arch, class),
                                                       measure_of(quantity, counted, class)));
    }
    return sum;
}

// ---- "layer_bytes[0] dense+KDA", "layer_bytes KDA+MoE"

static bool same_word(const char *word, size_t length, const char *name) {
    if (strlen(name) != length) return false;
    for (size_t i = 0; i < length; i++) {
        char c = word[i] >= 'A' && word[i] <= 'Z' ? (char)(word[i] - 'A' + 'a') : word[i];
        if (c != name[i]) return false;
    }
    return true;
}

// Whether the layer has what each word joined by '+' says: a kind of attention, "dense" or "MoE".
static bool is_kind(const Arch *arch, const LayerKind *kind, const char *words) {
    const char *attention = arch_attention_names[arch->attentions[kind->attention].kind];
    const char *mlp = arch->mlps[kind->mlp].experts > 0 ? "moe" : "dense";
    for (const char *word = words; *word != '\0';) {
        size_t length = strcspn(word, "+");
        if (!same_word(word, length, attention) && !same_word(word, length, mlp)) return false;
        word += length + (word[length] == '+');
    }
    return true;
}

static uint64_t kind_B(const Arch *arch, uint32_t kind) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < arch->tensor_count; i++) {
        const TensorClass *class = &arch->tensors[i];
        if (class->layer_kind == kind)
            sum = wide_add_saturate(sum, wide_mul_saturate(class->per_layer, class->bytes));
    }
    return sum;
}

static bool one_layer_B(const Arch *arch, uint64_t layer, const char *words, uint64_t *out,
                        Err *reason) {
    if (layer >= arch->layers)
        return err_set(reason, "layer %" PRIu64 " of a model of %" PRIu32 " layers", layer,
                       arch->layers);
    uint32_t kind = arch->kind_of_layer[layer];
    if (!is_kind(arch, &arch->kinds[kind], words))
        return err_set(reason, "layer %" PRIu64 " of the model is not %s", layer, words);
    *out = kind_B(arch, kind);
    return true;
}

// All layers that the words describe must have the same bytes.
static bool layers_B(const Arch *arch, const char *words, uint64_t *out, Err *reason) {
    bool found = false;
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < arch->kind_count; k++) {
        if (!is_kind(arch, &arch->kinds[k], words)) continue;
        if (found && kind_B(arch, k) != bytes)
            return err_set(reason, "layers that are %s differ in bytes", words);
        bytes = kind_B(arch, k);
        found = true;
    }
    if (!found) return err_set(reason, "no layer of the model is %s", words);
    *out = bytes;
    return true;
}

static bool layer_B(const Arch *arch, const char *rest, uint64_t *out, Err *reason) {
    const char *words = strchr(rest, ' ');
    uint64_t layer;
    words = words == NULL ? "" : words + 1;
    if (*rest != '[') return layers_B(arch, words, out, reason);
    if (!read_number(rest + 1, &layer)) return err_set(reason, "layer_bytes without a layer");
    return one_layer_B(arch, layer, words, out, reason);
}

// ---- One row

// As rows write it.
static const char *unit_of(const char *quantity) {
    const Quantity *found = find_quantity(quantity);
    if (found == NULL) return "B"; // bytes of files and of layers
    switch (found->measure) {
    case MEASURE_TENSORS: return "count";
    case MEASURE_BYTES: return "B";
    case MEASURE_ELEMENTS: return "params";
    case MEASURE_TEXT: return "params";
    }
    return "";
}

static bool check_unit(const RecordFile *file, uint32_t row, Err *reason) {
    const char *quantity = record_cell(file, row, "quantity"),
               *unit = record_cell(file, row, "unit");
    char quote[TEXT_QUOTE_MAX];
    return strcmp(unit, unit_of(quantity)) == 0 ||
           err_set(reason, "%s in %s, expected %s", quantity, text_quote(unit, quote),
                   unit_of(quantity));
}

static bool sum_row(const char *quantity, const Counted *counted, const Arch *arch, uint64_t *out,
                    Err *reason) {
    const char layer_bytes[] = "layer_bytes";
    if (begins_with(quantity, layer_bytes))
        return layer_B(arch, quantity + strlen(layer_bytes), out, reason);
    const Quantity *found = find_quantity(quantity);
    if (found == NULL) {
        char quote[TEXT_QUOTE_MAX];
        return err_set(reason, "no rule counts %s", text_quote(quantity, quote));
    }
    *out = sum_quantity(found, counted, arch);
    return true;
}

static const char *remark_of(const Stated *stated, const char *quantity, Arena *arena) {
    if (strcmp(stated->quantity, quantity) != 0)
        return arena_printf(arena, "%s, as formula_match states it", stated->quantity);
    if (stated->difference != 0)
        return arena_printf(arena, "with the stated difference of %+" PRId64, stated->difference);
    return "";
}

uint64_t validate_checkpoint_payload_B(const ValidateModel *model) {
    Counted counted = read_note("", model);
    return sum_quantity(find_quantity("payload_bytes"), &counted, &model->arch);
}

bool validate_checkpoint_predict(ValidateContext *context, const RecordFile *file, uint32_t row,
                                 Arena *arena, ValidatePrediction *out, Err *reason) {
    Stated stated;
    uint64_t sum = 0;
    if (!read_match(file, row, &stated, reason)) return false;
    const ValidateModel *model =
        validate_models_find(&context->models, record_cell(file, row, "model"), reason);
    if (model == NULL) return false;
    Counted counted = read_note(record_cell(file, row, "note"), model);
    if (!sum_row(stated.quantity, &counted, &model->arch, &sum, reason) ||
        !check_unit(file, row, reason))
        return false;
    out->predicted = (double)sum + (double)stated.difference;
    out->measured = out->basis = stated.measured;
    out->remark = remark_of(&stated, record_cell(file, row, "quantity"), arena);
    return true;
}
