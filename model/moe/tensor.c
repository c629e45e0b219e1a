// Expands the tensor rows of a family over the layers of a model, under its quantisation scheme.
//
// Invariant: one TensorClass per name pattern and kind of layer; shapes, bytes and units are those
// of the stored tensor. A unit is a whole number of heads and of blocks, so that a cut at units
// never splits either, and a scale tensor is cut where its matrix is.
#include "model/moe/tensor.h"

#include <assert.h>
#include <string.h>

#include "model/base/wide.h"

#define NONE     UINT32_MAX
#define ROWS_MAX 64 // rows that one layer can have: the bits of a mask

// The rows that hold in one layer, and which of them are quantised.
typedef struct LayerRows {
    const TensorRow *rows[ROWS_MAX];
    uint32_t count;
    uint64_t quantised;
} LayerRows;

typedef struct Expander {
    const TensorInput *input;
    Arch *arch;
    const DimSet *dims;
    TensorClass *classes;
    uint32_t class_count, class_capacity;
} Expander;

// Where a row's tensors go.
typedef struct Placement {
    const char *prefix;
    uint32_t layer_kind;
    bool is_draft; // counted as mtp, whatever the row says
    bool quantised;
} Placement;

bool tensor_cuts_rows(ShardRule rule) {
    return rule == SHARD_COLUMN || rule == SHARD_KV || rule == SHARD_VOCAB ||
           rule == SHARD_EXPERT_COLUMN;
}

bool tensor_cuts_columns(ShardRule rule) {
    return rule == SHARD_ROW || rule == SHARD_EXPERT_ROW;
}

// Names.

// `text` with the first `mark` ("{L}") replaced by a number.
static void add_numbered(Text *out, const char *text, const char *mark, uint32_t number) {
    const char *at = strstr(text, mark);
    if (at == NULL) {
        text_add(out, text);
        return;
    }
    text_add_bytes(out, text, (size_t)(at - text));
    text_addf(out, "%u", number);
    text_add(out, at + strlen(mark));
}

// The length of a name without ".weight".
static size_t stem_length(const char *name) {
    static const char suffix[] = ".weight";
    size_t length = strlen(name), tail = sizeof suffix - 1;
    return length > tail && strcmp(name + length - tail, suffix) == 0 ? length - tail : length;
}

// Whether the scheme stores this row's tensor in this layer. Rows that are never quantised are
// asked for too, so that exceptions which name them count as understood.
static bool is_quantised(Quant *quant, const char *prefix, const TensorRow *row) {
    Text name = {0};
    if (quant->scheme == NULL) return false;
    text_add(&name, prefix);
    add_numbered(&name, row->name, "{E}", 0);
    size_t length = stem_length(text_string(&name));
    name.data[length] = '\0';
    bool covered = quant_covers(quant, text_string(&name)) && row->store == STORE_WEIGHT;
    text_free(&name);
    quant->is_used = quant->is_used || covered;
    return covered;
}

// Classes.

static uint64_t least_common_multiple(uint64_t a, uint64_t b) {
    return a / wide_gcd(a, b) * b; // both are below 2^32
}

// Sizes of one tensor; refuses a dimension over 32 bits or a product over 64.
static bool set_size(const Expander *expander, const TensorRow *row, TensorClass *class, Err *err) {
    const DimSet *dims = expander->dims;
    char what[DIM_TEXT_MAX];
    uint64_t elements, bits;
    for (uint32_t i = 0; i < 4 && row->dims[i] != DIM_NONE; i++) {
        uint64_t value = dim_get(dims, row->dims[i]);
        if (value == 0 || value > UINT32_MAX)
            return err_set(err, "%s: %s: expected 1 to %u, found %llu", row->name,
                           dim_describe(dims, row->dims[i], what), UINT32_MAX,
                           (unsigned long long)value);
        class->dims[class->dim_count++] = (uint32_t)value;
    }
    if (!dim_product(dims, row->dims, 1, &elements, err) ||
        !dim_product(dims, row->dims, class->element_bits, &bits, err))
        return err_prefix(err, "%s", row->name);
    class->parameters = row->logical != DIM_NONE ? dim_get(dims, row->logical) : elements;
    class->bytes = bits / 8;
    return true;
}

static uint32_t row_unit(const Expander *expander, const TensorRow *row) {
    if (row->unit == DIM_NONE) return 1;
    uint64_t unit = dim_get(expander->dims, row->unit);
    return unit == 0 || unit > UINT32_MAX ? 1 : (uint32_t)unit;
}

static void push(Expander *expander, const TensorClass *class) {
    expander->classes = mem_grow(expander->classes, &expander->class_capacity,
                                 expander->class_count + 1, sizeof *class);
    expander->classes[expander->class_count++] = *class;
}

// The safetensors name of the model's own type; a config can only name these three.
static const char *plain_type(const Expander *expander, const TensorRow *row) {
    NumFmt format = row->store == STORE_F32 ? NUMFMT_F32 : expander->arch->dtype;
    return format == NUMFMT_F32 ? "F32" : format == NUMFMT_F16 ? "F16" : "BF16";
}

// Units of the codes and of the scales: whole heads and whole blocks, or, when these do not fit
// together, the whole tensor.
static void set_quantised_units(const Quant *quant, TensorClass *codes, TensorClass *scale) {
    bool by_rows = tensor_cuts_rows(codes->shard);
    uint32_t block = by_rows ? quant->block_rows : quant->block_columns;
    uint32_t whole = codes->dims[by_rows ? 0 : 1];
    uint64_t unit = least_common_multiple(codes->unit, block);
    codes->unit = scale->unit = 1;
    if (!by_rows && !tensor_cuts_columns(codes->shard)) return;
    if (whole % unit != 0) unit = whole;
    scale->unit = (uint32_t)(unit / block + (unit % block != 0));
    codes->unit = (uint32_t)(by_rows ? unit : unit / quant->scheme->packed);
}

// The stored codes of a quantised matrix and, beside them, their scales. `matrix` is as it would be
// unquantised.
static bool push_quantised(Expander *expander, const TensorRow *row, const TensorClass *matrix,
                           Err *err) {
    const Quant *quant = expander->input->quant;
    const QuantScheme *scheme = quant->scheme;
    Arena *arena = &expander->arch->arena;
    uint32_t rows = matrix->dims[0], columns = matrix->dims[1];
    int stem = (int)stem_length(matrix->pattern);
    assert(matrix->dim_count == 2);
    if (scheme->packed > 1 && columns % quant->block_columns != 0)
        return err_set(err, "%s: %s (%u) is not a multiple of the group of %u", row->name,
                       dim_name(expander->dims, row->dims[1]), columns, quant->block_columns);
    TensorClass codes = *matrix, scale = *matrix;
    codes.pattern = arena_printf(arena, "%.*s%s", stem, matrix->pattern, scheme->weight.suffix);
    codes.type = scheme->weight.type;
    codes.element_bits = quant_type_bits(codes.type);
    scale.pattern = arena_printf(arena, "%.*s%s", stem, matrix->pattern, scheme->scale.suffix);
    scale.type = quant->scale_type;
    scale.element_bits = quant_type_bits(scale.type);
    scale.is_scale = true;
    scale.parameters = 0;
    scale.dims[0] = rows / quant->block_rows + (rows % quant->block_rows != 0);
    scale.dims[1] = columns / quant->block_columns + (columns % quant->block_columns != 0);
    scale.bytes = (uint64_t)scale.dims[0] * scale.dims[1] * scale.element_bits / 8;
    set_quantised_units(quant, &codes, &scale);
    codes.dims[1] = columns / scheme->packed;
    codes.bytes = (uint64_t)rows * codes.dims[1] * codes.element_bits / 8;
    push(expander, &codes);
    push(expander, &scale);
    return true;
}

static bool push_row(Expander *expander, const TensorRow *row, const Placement *place, Err *err) {
    const char *type = plain_type(expander, row);
    uint64_t repeat = row->repeat == DIM_NONE ? 1 : dim_get(expander->dims, row->repeat);
    assert(repeat <= UINT32_MAX);
    TensorClass class = {
        .pattern = arena_printf(&expander->arch->arena, "%s%s", place->prefix, row->name),
        .component = place->is_draft ? COMPONENT_MTP : row->component,
        .shard = row->shard,
        .type = type,
        .element_bits = quant_type_bits(type),
        .unit = row_unit(expander, row),
        .layer_kind = place->layer_kind,
        .per_layer = (uint32_t)repeat,
    };
    if (!set_size(expander, row, &class, err)) return false;
    if (place->quantised) return push_quantised(expander, row, &class, err);
    push(expander, &class);
    return true;
}

// Layers.

static void add_rows(const Expander *expander, const Part *part, LayerRows *out) {
    for (uint32_t i = 0; i < part->tensor_count; i++) {
        const TensorRow *row = &part->tensors[i];
        if (!dim_holds(expander->dims, row->when, row->unless)) continue;
        assert(out->count < ROWS_MAX);
        out->rows[out->count++] = row;
    }
}

static void collect_rows(const Expander *expander, const Part *attention, const Part *mlp,
                         LayerRows *out) {
    const Family *family = expander->input->reader->family;
    *out = (LayerRows){0};
    for (uint32_t p = 0; p < FAMILY_PARTS_MAX && family->parts[p] != NULL; p++) {
        const Part *part = family->parts[p];
        if (part->scope == PART_EVERY_LAYER || part == attention || part == mlp)
            add_rows(expander, part, out);
    }
}

// Sets the mask of quantised rows for the layer with this number.
static void mark_quantised(const Expander *expander, const char *layer_prefix, const char *mark,
                           uint32_t number, LayerRows *rows) {
    Text prefix = {0};
    text_add(&prefix, expander->input->reader->family->prefix);
    add_numbered(&prefix, layer_prefix, mark, number);
    rows->quantised = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        if (is_quantised(expander->input->quant, text_string(&prefix), rows->rows[i]))
            rows->quantised |= UINT64_C(1) << i;
    }
    text_free(&prefix);
}

static bool push_layer(Expander *expander, const LayerRows *rows, Placement place, Err *err) {
    for (uint32_t i = 0; i < rows->count; i++) {
        place.quantised = (rows->quantised >> i & 1) != 0;
        if (!push_row(expander, rows->rows[i], &place, err)) return false;
    }
    return true;
}

// What is known of the kinds found so far.
typedef struct KindList {
    LayerKind *kinds;
    uint64_t *quantised;
    uint32_t count, kind_capacity, quantised_capacity;
} KindList;

// The kind with these parts and, when `mask` is given, this mask; NONE when there is none yet.
static uint32_t find_kind(const KindList *list, uint32_t attention, uint32_t mlp,
                          const uint64_t *mask) {
    for (uint32_t k = 0; k < list->count; k++) {
        if (list->kinds[k].attention != attention || list->kinds[k].mlp != mlp) continue;
        if (mask == NULL || list->quantised[k] == *mask) return k;
    }
    return NONE;
}

static uint32_t add_kind(KindList *list, LayerKind kind, uint64_t mask) {
    list->kinds = mem_grow(list->kinds, &list->kind_capacity, list->count + 1, sizeof kind);
    list->quantised =
        mem_grow(list->quantised, &list->quantised_capacity, list->count + 1, sizeof mask);
    list->kinds[list->count] = kind;
    list->quantised[list->count] = mask;
    return list->count++;
}

static bool expand_layer(Expander *expander, KindList *list, uint32_t layer, Err *err) {
    const TensorInput *input = expander->input;
    const Family *family = input->reader->family;
    uint8_t attention = input->pattern->attention[layer], mlp = input->pattern->mlp[layer];
    LayerKind kind = {.attention = input->attention_of[attention], .mlp = input->mlp_of[mlp]};
    uint32_t found = NONE;
    if (!input->quant->by_layer) found = find_kind(list, kind.attention, kind.mlp, NULL);
    if (found == NONE) {
        LayerRows rows;
        collect_rows(expander, family->parts[attention], family->parts[mlp], &rows);
        mark_quantised(expander, family->layer_prefix, "{L}", layer, &rows);
        found = find_kind(list, kind.attention, kind.mlp, &rows.quantised);
        if (found == NONE) {
            found = add_kind(list, kind, rows.quantised);
            Placement place = {.prefix = arena_printf(&expander->arch->arena, "%s%s",
                                                      family->prefix, family->layer_prefix),
                               .layer_kind = found};
            if (!push_layer(expander, &rows, place, err)) return false;
        }
    }
    list->kinds[found].count++;
    expander->arch->kind_of_layer[layer] = found;
    return true;
}

static bool expand_layers(Expander *expander, Err *err) {
    Arch *arch = expander->arch;
    KindList list = {0};
    bool good = true;
    for (uint32_t layer = 0; good && layer < arch->layers; layer++)
        good = expand_layer(expander, &list, layer, err);
    arch->kinds = arena_copy(&arch->arena, list.kinds, list.count, sizeof *list.kinds);
    arch->kind_count = list.count;
    mem_free(list.kinds);
    mem_free(list.quantised);
    return good;
}

// Everything that exists once.
static bool expand_model(Expander *expander, PartScope scope, const char *prefix, Err *err) {
    const Family *family = expander->input->reader->family;
    for (uint32_t p = 0; p < FAMILY_PARTS_MAX && family->parts[p] != NULL; p++) {
        if (family->parts[p]->scope != scope) continue;
        LayerRows rows = {0};
        add_rows(expander, family->parts[p], &rows);
        for (uint32_t i = 0; i < rows.count; i++) {
            Placement place = {.prefix = prefix, .layer_kind = NONE};
            place.quantised = is_quantised(expander->input->quant, prefix, rows.rows[i]);
            if (!push_row(expander, rows.rows[i], &place, err)) return false;
        }
    }
    return true;
}

// Draft layers are numbered after the main ones. Each has names of its own.
static bool expand_drafts(Expander *expander, Err *err) {
    const Family *family = expander->input->reader->family;
    uint64_t drafts = expander->dims->value[DIM_MTP_LAYERS];
    if (family->mtp_attention == NULL) return true;
    for (uint32_t draft = 0; draft < drafts; draft++) {
        uint32_t number = expander->arch->layers + draft;
        LayerRows rows;
        collect_rows(expander, family->mtp_attention, family->mtp_mlp, &rows);
        for (uint32_t p = 0; p < FAMILY_PARTS_MAX && family->parts[p] != NULL; p++)
            if (family->parts[p]->scope == PART_MTP) add_rows(expander, family->parts[p], &rows);
        mark_quantised(expander, family->mtp_prefix, "{N}", number, &rows);
        Text prefix = {0};
        text_add(&prefix, family->prefix);
        add_numbered(&prefix, family->mtp_prefix, "{N}", number);
        Placement place = {.prefix = text_string(&prefix), .layer_kind = NONE, .is_draft = true};
        bool good = push_layer(expander, &rows, place, err);
        text_free(&prefix);
        if (!good) return false;
    }
    return true;
}

bool tensor_expand(const TensorInput *input, Arch *out, Err *err) {
    Expander expander = {.input = input, .arch = out, .dims = &input->reader->dims};
    const Family *family = input->reader->family;
    out->kind_of_layer = arena_alloc(&out->arena, out->layers, sizeof *out->kind_of_layer);
    bool good = expand_model(&expander, PART_MODEL, family->prefix, err) &&
                expand_layers(&expander, err) && expand_drafts(&expander, err) &&
                expand_model(&expander, PART_BESIDE, "", err);
    out->tensors =
        arena_copy(&out->arena, expander.classes, expander.class_count, sizeof *expander.classes);
    out->tensor_count = expander.class_count;
    mem_free(expander.classes);
    if (good) quant_note_unused(input->quant, input->reader);
    return good || err_prefix(err, "%s", input->reader->name);
}
