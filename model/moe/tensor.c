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
#define ROWS_MAX 96 // rows that one layer can have

// The rows that hold in one layer, and how each of them is stored.
typedef struct LayerRows {
    const TensorRow *rows[ROWS_MAX];
    const QuantStore *stores[ROWS_MAX]; // NULL: in the type that the row says
    uint32_t count;
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

// The length of a name without ".weight".
static size_t stem_length(const char *name) {
    static const char suffix[] = ".weight";
    size_t length = strlen(name), tail = sizeof suffix - 1;
    return length > tail && strcmp(name + length - tail, suffix) == 0 ? length - tail : length;
}

// How the row's tensor is stored in this layer. Rows that are never quantised are asked for too, so
// that exceptions which name them count as understood.
static const QuantStore *row_store(Quant *quant, const char *prefix, const TensorRow *row) {
    Text name = {0};
    if (quant->store_count == 0) return NULL;
    text_add(&name, prefix);
    add_numbered(&name, row->name, "{E}", 0);
    size_t length = stem_length(text_string(&name));
    name.data[length] = '\0';
    const QuantStore *store = quant_store(quant, text_string(&name));
    text_free(&name);
    if (row->store != STORE_WEIGHT) return NULL;
    quant->is_used = quant->is_used || store != NULL;
    return store;
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

static uint32_t unit_of(const Expander *expander, Dim dim) {
    if (dim == DIM_NONE) return 1;
    uint64_t unit = dim_get(expander->dims, dim);
    return unit == 0 || unit > UINT32_MAX ? 1 : (uint32_t)unit;
}

// Parts without an extent are not there.
static bool set_segments(const Expander *expander, const TensorRow *row, TensorClass *class,
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

static void push(Expander *expander, const TensorClass *class) {
    expander->classes = mem_grow(expander->classes, &expander->class_capacity,
                                 expander->class_count + 1, sizeof *class);
    expander->classes[expander->class_count++] = *class;
}

// The safetensors name of an unquantised row's type; a config can only name these three floats.
static const char *plain_type(const Expander *expander, const TensorRow *row) {
    if (row->store == STORE_I64) return "I64";
    NumFmt format = row->store == STORE_F32 ? NUMFMT_F32 : expander->arch->dtype;
    return format == NUMFMT_F32 ? "F32" : format == NUMFMT_F16 ? "F16" : "BF16";
}

static uint32_t blocks_of(uint32_t extent, uint32_t block) {
    return extent / block + (extent % block != 0);
}

// Units of the codes and of the block scales: whole heads and whole blocks, or, when these do not
// fit together, the whole extent. `packed` weights lie in one element along the axis.
static void set_units(uint32_t extent, uint32_t block, uint32_t packed, uint32_t *codes,
                      uint32_t *scales) {
    uint64_t unit = block == QUANT_ALL ? *codes : least_common_multiple(*codes, block);
    if (extent % unit != 0) unit = extent;
    *scales = block == QUANT_ALL ? 1 : (uint32_t)(unit / block + (unit % block != 0));
    *codes = (uint32_t)(unit / packed + (unit % packed != 0));
}

// The same for the fused parts of a tensor.
static void set_segment_units(TensorClass *codes, TensorClass *scale, uint32_t block,
                              uint32_t packed) {
    for (uint32_t i = 0; i < codes->segment_count; i++) {
        TensorSegment *part = &codes->segments[i], *scaled = &scale->segments[i];
        set_units(part->extent, block, packed, &part->unit, &scaled->unit);
        if (block != QUANT_ALL) scaled->extent = blocks_of(part->extent, block);
        part->extent /= packed;
    }
}

static uint64_t size_in_bits(const TensorClass *class) {
    uint64_t bits = class->element_bits;
    for (uint32_t i = 0; i < class->dim_count; i++) bits *= class->dims[i];
    return bits;
}

// A tensor beside the codes: `like` has their names and cut, with outputs at `out` and inputs after
// it.
static TensorClass beside(const Expander *expander, const QuantStore *store,
                          const QuantTensor *tensor, const TensorClass *matrix, int stem) {
    const Quant *quant = expander->input->quant;
    uint32_t inputs = matrix->dim_count - 1, outputs = inputs - 1;
    TensorClass out = *matrix;
    out.pattern =
        arena_printf(&expander->arch->arena, "%.*s%s", stem, matrix->pattern, tensor->suffix);
    out.type = tensor->type != NULL ? tensor->type : quant->scale_type;
    out.element_bits = quant_type_bits(out.type);
    out.is_scale = true;
    out.parameters = 0;
    if (tensor->size == QUANT_BLOCKS) {
        bool whole = store->block_columns == QUANT_ALL;
        out.dims[outputs] = blocks_of(out.dims[outputs], store->block_rows);
        out.dims[inputs] = whole ? 1 : blocks_of(out.dims[inputs], store->block_columns);
    } else {
        // one number, or two, for each expert that is fused; never cut
        out.dim_count = out.fused_experts > 0 ? 1 : 0;
        if (tensor->size == QUANT_SHAPE) out.dims[out.dim_count++] = 2;
        bool routed = out.shard == SHARD_EXPERT_COLUMN || out.shard == SHARD_EXPERT_ROW;
        out.shard = routed ? SHARD_EXPERT_WHOLE : SHARD_REPLICATED;
        out.unit = 1;
        out.segment_count = 0;
        out.axis = 0;
    }
    for (uint32_t i = out.dim_count; i < TENSOR_DIMS_MAX; i++) out.dims[i] = 0;
    out.bytes = size_in_bits(&out) / 8;
    return out;
}

// The matrix with outputs before inputs, as quantised forms are stored.
static TensorClass outputs_first(const TensorClass *matrix, const TensorRow *row) {
    TensorClass out = *matrix;
    if (!row->inputs_first) return out;
    uint32_t inputs = out.dim_count - 1, outputs = inputs - 1;
    out.dims[outputs] = matrix->dims[inputs];
    out.dims[inputs] = matrix->dims[outputs];
    if (out.axis == inputs)
        out.axis = outputs;
    else if (out.axis == outputs &&
             (tensor_cuts_rows(row->shard) || tensor_cuts_columns(row->shard)))
        out.axis = inputs;
    return out;
}

// A matrix whose inputs are not whole groups cannot be packed.
static bool check_groups(const Expander *expander, const TensorRow *row, const QuantStore *store,
                         uint32_t inputs, Err *err) {
    uint32_t group = store->block_columns;
    if (store->scheme->packed == 1 || group == QUANT_ALL || inputs % group == 0) return true;
    Dim dim = DIM_NONE; // the last one, or the one before when inputs come first
    for (uint32_t i = 0; i < TENSOR_DIMS_MAX && row->dims[i] != DIM_NONE; i++)
        if (!row->inputs_first || i + 1 == TENSOR_DIMS_MAX || row->dims[i + 1] != DIM_NONE)
            dim = row->dims[i];
    return err_set(err, "%s: %s (%u) is not a multiple of the group of %u", row->name,
                   dim_name(expander->dims, dim), inputs, group);
}

// The stored codes of a quantised matrix and, beside them, their scales. `plain` is as it would be
// unquantised.
static bool push_quantised(Expander *expander, const TensorRow *row, const TensorClass *plain,
                           const QuantStore *store, Err *err) {
    const QuantScheme *scheme = store->scheme;
    TensorClass matrix = outputs_first(plain, row), codes = matrix, scaled = matrix;
    uint32_t inputs = matrix.dim_count - 1;
    int stem = (int)stem_length(matrix.pattern);
    bool by_columns = tensor_cuts_columns(matrix.shard);
    assert(matrix.dim_count >= 2);
    if (!check_groups(expander, row, store, matrix.dims[inputs], err)) return false;
    codes.pattern =
        arena_printf(&expander->arch->arena, "%.*s%s", stem, matrix.pattern, scheme->suffix);
    codes.type = scheme->type;
    codes.element_bits = quant_type_bits(codes.type);
    if (by_columns || tensor_cuts_rows(matrix.shard)) {
        uint32_t block = by_columns ? store->block_columns : store->block_rows;
        uint32_t packed = by_columns ? scheme->packed : 1;
        set_units(matrix.dims[matrix.axis], block, packed, &codes.unit, &scaled.unit);
        set_segment_units(&codes, &scaled, block, packed);
    }
    codes.dims[inputs] = matrix.dims[inputs] / scheme->packed;
    if (scheme->by_group) {
        codes.dims[inputs] = matrix.dims[inputs] / store->block_columns;
        codes.dims[codes.dim_count++] = store->block_columns / scheme->packed;
        if (by_columns) codes.unit = scaled.unit;
    }
    codes.bytes = size_in_bits(&codes) / 8;
    push(expander, &codes);
    for (uint32_t i = 0; i < scheme->beside_count; i++) {
        TensorClass tensor = beside(expander, store, &scheme->beside[i], &scaled, stem);
        if (tensor_cuts_columns(tensor.shard) && tensor.dims[tensor.axis] == 1)
            tensor.shard = tensor.shard == SHARD_ROW ? SHARD_REPLICATED : SHARD_EXPERT_WHOLE;
        push(expander, &tensor);
    }
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
        .unit = unit_of(expander, row->unit),
        .layer_kind = place->layer_kind,
        .per_layer = (uint32_t)repeat,
    };
    if (!set_size(expander, row, &class, err)) return false;
    class.axis = cut_axis(row, class.dim_count);
    class.fused_experts = row->fused ? class.dims[0] : 0;
    if (!set_segments(expander, row, &class, err)) return false;
    if (place->store != NULL) return push_quantised(expander, row, &class, place->store, err);
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

// Sets how the rows are stored in the layer with this number.
static void set_stores(const Expander *expander, const char *layer_prefix, const char *mark,
                       uint32_t number, LayerRows *rows) {
    Text prefix = {0};
    text_add(&prefix, expander->input->reader->family->prefix);
    add_numbered(&prefix, layer_prefix, mark, number);
    for (uint32_t i = 0; i < rows->count; i++)
        rows->stores[i] = row_store(expander->input->quant, text_string(&prefix), rows->rows[i]);
    text_free(&prefix);
}

static bool push_layer(Expander *expander, const LayerRows *rows, Placement place, Err *err) {
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

static bool expand_layer(Expander *expander, KindList *list, uint32_t layer, Err *err) {
    const TensorInput *input = expander->input;
    const Family *family = input->reader->family;
    uint8_t attention = input->pattern->attention[layer], mlp = input->pattern->mlp[layer];
    LayerKind kind = {.attention = input->attention_of[attention], .mlp = input->mlp_of[mlp]};
    uint32_t found = NONE;
    if (!input->quant->by_layer) found = find_kind(list, kind, NULL);
    if (found == NONE) {
        LayerRows rows;
        collect_rows(expander, family->parts[attention], family->parts[mlp], &rows);
        set_stores(expander, family->layer_prefix, "{L}", layer, &rows);
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

static bool expand_layers(Expander *expander, Err *err) {
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
static bool expand_model(Expander *expander, PartScope scope, const char *prefix, Err *err) {
    const Family *family = expander->input->reader->family;
    for (uint32_t p = 0; p < FAMILY_PARTS_MAX && family->parts[p] != NULL; p++) {
        if (family->parts[p]->scope != scope) continue;
        LayerRows rows = {0};
        add_rows(expander, family->parts[p], &rows);
        for (uint32_t i = 0; i < rows.count; i++) {
            Placement place = {.prefix = prefix, .layer_kind = NONE};
            place.store = row_store(expander->input->quant, prefix, rows.rows[i]);
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
        set_stores(expander, family->mtp_prefix, "{N}", number, &rows);
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

NumFmt tensor_format(const TensorClass *tensor) {
    uint64_t bits = tensor->parameters > 0 ? tensor->bytes * 8 / tensor->parameters : 0;
    bool is_float = tensor->type[0] == 'F';
    if (bits == 32) return NUMFMT_F32;
    if (bits == 8) return is_float ? NUMFMT_FP8 : NUMFMT_INT8;
    if (bits == 4) return strcmp(tensor->type, "I32") == 0 ? NUMFMT_INT4 : NUMFMT_FP4;
    return strcmp(tensor->type, "F16") == 0 ? NUMFMT_F16 : NUMFMT_BF16;
}
