// Expands the tensor rows of a family over the layers of a model, under its quantisation scheme.
//
// Invariant: one TensorClass per name pattern and kind of layer; shapes, bytes and units are those
// of the stored tensor. A unit is a whole number of heads and of blocks, so that a cut at units
// never splits either.
#include "model/moe/tensor_internal.h"

#include <assert.h>
#include <string.h>

#include "model/base/wide.h"

#define NONE      UINT32_MAX
#define ROWS_MAX  96   // rows that one layer can have
#define NAMED_MAX 1000 // blocks

// The rows that hold in one layer, and how each of them is stored.
typedef struct LayerRows {
    const TensorRow *rows[ROWS_MAX];
    const QuantStore *stores[ROWS_MAX]; // NULL: in the type that the row says
    uint32_t count;
} LayerRows;

// Where a row's tensors go.
typedef struct Placement {
    const char *prefix;
    uint32_t layer_kind;
    bool is_draft; // counted as mtp, whatever the row says
    const QuantStore *store;
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

// How the row's tensor is stored in this layer. Rows that are never quantised are asked for too, so
// that exceptions which name them count as understood; of numbered blocks, the first NAMED_MAX.
static const QuantStore *row_store(const TensorExpander *expander, const char *prefix,
                                   const TensorRow *row) {
    Quant *quant = expander->input->quant;
    const QuantStore *store = NULL;
    bool by_block = strstr(row->name, "{B}") != NULL;
    uint64_t repeat = by_block ? dim_get(expander->dims, row->repeat) : 1;
    for (uint32_t block = 0; quant->store_count > 0 && block < repeat && block < NAMED_MAX;
         block++) {
        Text name = {0};
        text_add(&name, prefix);
        add_numbered(&name, row->name, by_block ? "{B}" : "{E}", by_block ? block : 0);
        name.data[tensor_stem_length(text_string(&name))] = '\0';
        store = quant_store(quant, text_string(&name), row);
        text_free(&name);
    }
    return store;
}

// Classes.

// Sizes of one tensor; refuses a dimension over 32 bits or a product over 64.
static bool set_size(const TensorExpander *expander, const TensorRow *row, TensorClass *class,
                     Err *err) {
    const DimSet *dims = expander->dims;
    char what[DIM_TEXT_MAX];
    uint64_t elements, bits;
    for (uint32_t i = 0; i < TENSOR_DIMS_MAX && row->dims[i] != DIM_NONE; i++) {
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
    if (row->is_buffer) class->parameters = 0;
    class->bytes = bits / 8;
    return true;
}

// What the rule cuts: outputs are the first dimension (after the experts of a fused tensor), inputs
// the last, unless they are stored the other way round.
static uint32_t cut_axis(const TensorRow *row, uint32_t dim_count) {
    uint32_t outputs = row->fused ? 1 : 0, inputs = dim_count > 0 ? dim_count - 1 : 0;
    if (row->inputs_first) {
        uint32_t swapped = outputs;
        outputs = inputs;
        inputs = swapped;
    }
    if (tensor_cuts_rows(row->shard)) return outputs;
    return tensor_cuts_columns(row->shard) ? inputs : 0;
}

static uint32_t unit_of(const TensorExpander *expander, Dim dim) {
    if (dim == DIM_NONE) return 1;
    uint64_t unit = dim_get(expander->dims, dim);
    return unit == 0 || unit > UINT32_MAX ? 1 : (uint32_t)unit;
}

// Parts without an extent are not there.
static bool set_segments(const TensorExpander *expander, const TensorRow *row, TensorClass *class,
                         Err *err) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < TENSOR_SEGMENTS_MAX && row->segments[i].extent != DIM_NONE; i++) {
        uint64_t extent = dim_get(expander->dims, row->segments[i].extent);
        if (extent == 0) continue;
        sum = wide_add_saturate(sum, extent);
        class->segments[class->segment_count++] =
            (TensorSegment){.extent = (uint32_t)extent,
                            .is_kv = row->kv_from != 0 && i >= row->kv_from,
                            .unit = unit_of(expander, row->segments[i].unit)};
    }
    class->interleaved = row->interleaved;
    if (class->segment_count == 0 || sum == class->dims[class->axis]) return true;
    return err_set(err, "%s: parts of %llu do not fill %u", row->name, (unsigned long long)sum,
                   class->dims[class->axis]);
}

// The safetensors name of an unquantised row's type; a config can only name these three floats.
static const char *plain_type(const TensorExpander *expander, const TensorRow *row) {
    if (row->store == STORE_I64) return "I64";
    NumFmt format = row->store == STORE_F32 ? NUMFMT_F32 : expander->arch->dtype;
    return format == NUMFMT_F32 ? "F32" : format == NUMFMT_F16 ? "F16" : "BF16";
}

static bool push_row(TensorExpander *expander, const TensorRow *row, const Placement *place,
                     Err *err) {
    const char *type = plain_type(expander, row);
    uint64_t repeat = row->repeat == DIM_NONE ? 1 : dim_get(expander->dims, row->repeat);
    assert(repeat <= UINT32_MAX);
    TensorClass class = {
        .pattern = arena_printf(&expander->arch->arena, "%s%s", place->prefix, row->name),
        .component = place->is_draft ? COMPONENT_MTP : row->component,
        .shard = row->shard,
        .use = row->use,
        .type = type,
        .element_bits = quant_type_bits(type),
        .unit = unit_of(expander, row->unit),
        .layer_kind = place->layer_kind,
        .per_layer = (uint32_t)repeat,
    };
    if (!set_size(expander, row, &class, err)) return false;
    class.axis = cut_axis(row, class.dim_count);
    class.fused_experts =
        row->fused ? class.dims[0] : (uint32_t)dim_get(expander->dims, row->stacked);
    if (!set_segments(expander, row, &class, err)) return false;
    if (place->store != NULL)
        return tensor_push_quantised(expander, row, &class, place->store, err);
    tensor_pad_units(expander->input->quant, &class);
    tensor_push(expander, &class);
    return true;
}

// Layers.

static void add_own_rows(const TensorExpander *expander, const Part *part, LayerRows *out) {
    for (uint32_t i = 0; i < part->tensor_count; i++) {
        const TensorRow *row = &part->tensors[i];
        if (!dim_holds(expander->dims, row->when, row->unless)) continue;
        assert(out->count < ROWS_MAX);
        out->rows[out->count++] = row;
    }
}

static void add_rows(const TensorExpander *expander, const Part *part, LayerRows *out) {
    if (part->base != NULL) add_own_rows(expander, part->base, out);
    add_own_rows(expander, part, out);
}

// The rows of a layer with these parts, in the order of the family's list.
static void collect_rows(const TensorExpander *expander, const Part *const *parts, uint32_t count,
                         LayerRows *out) {
    const Family *family = expander->input->reader->family;
    *out = (LayerRows){0};
    for (uint32_t p = 0; p < FAMILY_PARTS_MAX && family->parts[p] != NULL; p++) {
        bool is_here = family->parts[p]->scope == PART_EVERY_LAYER;
        for (uint32_t i = 0; i < count; i++) is_here = is_here || family->parts[p] == parts[i];
        if (is_here) add_rows(expander, family->parts[p], out);
    }
}

// Sets how the rows are stored in the layer whose names begin so.
static void set_stores(const TensorExpander *expander, const Text *prefix, LayerRows *rows) {
    for (uint32_t i = 0; i < rows->count; i++)
        rows->stores[i] = row_store(expander, text_string(prefix), rows->rows[i]);
}

static bool push_layer(TensorExpander *expander, const LayerRows *rows, Placement place, Err *err) {
    for (uint32_t i = 0; i < rows->count; i++) {
        place.store = rows->stores[i];
        if (!push_row(expander, rows->rows[i], &place, err)) return false;
    }
    return true;
}

// What is known of the kinds found so far.
typedef struct KindList {
    LayerKind *kinds;
    LayerRows *rows;
    uint32_t count, kind_capacity, rows_capacity;
} KindList;

// The kind with these parts and, when `rows` is given, these stores; NONE when there is none yet.
static uint32_t find_kind(const KindList *list, LayerKind kind, const LayerRows *rows) {
    for (uint32_t k = 0; k < list->count; k++) {
        if (list->kinds[k].attention != kind.attention || list->kinds[k].mlp != kind.mlp) continue;
        if (rows == NULL) return k;
        if (memcmp(list->rows[k].stores, rows->stores, rows->count * sizeof *rows->stores) == 0)
            return k;
    }
    return NONE;
}

static uint32_t add_kind(KindList *list, LayerKind kind, const LayerRows *rows) {
    list->kinds = mem_grow(list->kinds, &list->kind_capacity, list->count + 1, sizeof kind);
    list->rows = mem_grow(list->rows, &list->rows_capacity, list->count + 1, sizeof *rows);
    list->kinds[list->count] = kind;
    list->rows[list->count] = *rows;
    return list->count++;
}

static bool expand_layer(TensorExpander *expander, KindList *list, uint32_t layer, Err *err) {
    const TensorInput *input = expander->input;
    const Family *family = input->reader->family;
    uint8_t attention = input->pattern->attention[layer], mlp = input->pattern->mlp[layer];
    LayerKind kind = {.attention = input->attention_of[attention], .mlp = input->mlp_of[mlp]};
    uint32_t found = NONE;
    if (!input->quant->by_layer) found = find_kind(list, kind, NULL);
    if (found == NONE) {
        LayerRows rows;
        const Part *parts[] = {family->parts[attention], family->parts[mlp]};
        collect_rows(expander, parts, 2, &rows);
        Text prefix = {0};
        text_add(&prefix, family->prefix);
        add_numbered(&prefix, family->layer_prefix, "{L}", layer);
        set_stores(expander, &prefix, &rows);
        text_free(&prefix);
        found = find_kind(list, kind, &rows);
        if (found == NONE) {
            found = add_kind(list, kind, &rows);
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

static bool expand_layers(TensorExpander *expander, Err *err) {
    Arch *arch = expander->arch;
    KindList list = {0};
    bool good = true;
    for (uint32_t layer = 0; good && layer < arch->layers; layer++)
        good = expand_layer(expander, &list, layer, err);
    arch->kinds = arena_copy(&arch->arena, list.kinds, list.count, sizeof *list.kinds);
    arch->kind_count = list.count;
    mem_free(list.kinds);
    mem_free(list.rows);
    return good;
}

// Everything that exists once.
static bool expand_model(TensorExpander *expander, PartScope scope, const char *prefix, Err *err) {
    const Family *family = expander->input->reader->family;
    for (uint32_t p = 0; p < FAMILY_PARTS_MAX && family->parts[p] != NULL; p++) {
        if (family->parts[p]->scope != scope) continue;
        LayerRows rows = {0};
        add_rows(expander, family->parts[p], &rows);
        for (uint32_t i = 0; i < rows.count; i++) {
            Placement place = {
                .prefix = prefix, .layer_kind = NONE, .is_draft = scope == PART_MTP_ONCE};
            place.store = row_store(expander, prefix, rows.rows[i]);
            if (!push_row(expander, rows.rows[i], &place, err)) return false;
        }
    }
    return true;
}

static uint32_t count_draft_parts(const Family *family) {
    uint32_t count = 0;
    while (count < FAMILY_MTP_PARTS_MAX && family->mtp_parts[count] != NULL) count++;
    return count;
}

// The number in a draft layer's prefix: {N}, {D} or {I} of family.h.
static void add_draft_prefix(const TensorExpander *expander, Text *out, uint32_t draft,
                             uint32_t block) {
    const Family *family = expander->input->reader->family;
    if (strstr(family->mtp_prefix, "{N}") != NULL)
        add_numbered(out, family->mtp_prefix, "{N}", expander->arch->layers + draft);
    else if (strstr(family->mtp_prefix, "{D}") != NULL)
        add_numbered(out, family->mtp_prefix, "{D}", draft);
    else
        add_numbered(out, family->mtp_prefix, "{I}", draft * count_draft_parts(family) + block);
}

static bool push_draft(TensorExpander *expander, uint32_t draft, uint32_t block, LayerRows *rows,
                       Err *err) {
    Text prefix = {0};
    add_draft_prefix(expander, &prefix, draft, block);
    set_stores(expander, &prefix, rows);
    Placement place = {.prefix = text_string(&prefix), .layer_kind = NONE, .is_draft = true};
    bool good = push_layer(expander, rows, place, err);
    text_free(&prefix);
    return good;
}

// A draft layer: a layer of the family's mtp_parts in one, or block by block where these have
// numbers of their own ({I}); with the rows of scope MTP in the first block.
static bool expand_draft(TensorExpander *expander, uint32_t draft, Err *err) {
    const Family *family = expander->input->reader->family;
    bool by_block = strstr(family->mtp_prefix, "{I}") != NULL;
    uint32_t count = count_draft_parts(family);
    for (uint32_t block = 0; block < (by_block ? count : 1); block++) {
        LayerRows rows;
        collect_rows(expander, family->mtp_parts + block, by_block ? 1 : count, &rows);
        for (uint32_t p = 0; p < FAMILY_PARTS_MAX && family->parts[p] != NULL; p++)
            if (family->parts[p]->scope == PART_MTP && block == 0)
                add_rows(expander, family->parts[p], &rows);
        if (!push_draft(expander, draft, block, &rows, err)) return false;
    }
    return true;
}

// Draft layers, each with names of its own, and what they share. Where the config declares them but
// checkpoints lack them, they are counted and left out.
static bool expand_drafts(TensorExpander *expander, Err *err) {
    const Family *family = expander->input->reader->family;
    uint64_t drafts = expander->dims->value[DIM_MTP_LAYERS];
    uint32_t before = expander->class_count;
    if (family->mtp_prefix == NULL || drafts == 0) return true;
    if (family->mtp_root != NULL && !expand_model(expander, PART_MTP_ONCE, family->mtp_root, err))
        return false;
    for (uint32_t draft = 0; draft < drafts; draft++)
        if (!expand_draft(expander, draft, err)) return false;
    if (expander->dims->value[DIM_MTP_UNSTORED] == 0) return true;
    expander->arch->unstored_drafts = (uint32_t)drafts;
    for (uint32_t i = before; i < expander->class_count; i++)
        expander->arch->unstored_parameters = wide_add_saturate(
            expander->arch->unstored_parameters,
            wide_mul_saturate(expander->classes[i].parameters, expander->classes[i].per_layer));
    expander->class_count = before;
    return true;
}

bool tensor_expand(const TensorInput *input, Arch *out, Err *err) {
    TensorExpander expander = {.input = input, .arch = out, .dims = &input->reader->dims};
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

NumFmt tensor_format(const TensorClass *tensor) {
    uint64_t bits = tensor->parameters > 0 ? tensor->bytes * 8 / tensor->parameters : 0;
    bool is_float = tensor->type[0] == 'F';
    if (bits == 32) return NUMFMT_F32;
    if (bits == 8) return is_float ? NUMFMT_FP8 : NUMFMT_INT8;
    if (bits == 4) return strcmp(tensor->type, "I32") == 0 ? NUMFMT_INT4 : NUMFMT_FP4;
    return strcmp(tensor->type, "F16") == 0 ? NUMFMT_F16 : NUMFMT_BF16;
}
