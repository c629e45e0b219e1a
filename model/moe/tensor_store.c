// Stores a matrix by its quantisation scheme: codes, and beside them their scales.
//
// Invariant: codes and scales of a matrix are cut at the same weights, so that a rank has the
// scales of its codes and no others. Sources: tensor names and shapes of the checkpoints that the
// schemes of quant_scheme.c name.
#include "model/moe/tensor_internal.h"

#include <assert.h>
#include <string.h>

#include "model/base/wide.h"

size_t tensor_stem_length(const char *name) {
    static const char suffix[] = ".weight";
    size_t length = strlen(name), tail = sizeof suffix - 1;
    return length > tail && strcmp(name + length - tail, suffix) == 0 ? length - tail : length;
}

void tensor_push(TensorExpander *expander, const TensorClass *class) {
    expander->classes = mem_grow(expander->classes, &expander->class_capacity,
                                 expander->class_count + 1, sizeof *class);
    expander->classes[expander->class_count++] = *class;
}

static uint64_t least_common_multiple(uint64_t a, uint64_t b) {
    return a / wide_gcd(a, b) * b; // both are below 2^32
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
static TensorClass beside(const TensorExpander *expander, const QuantStore *store,
                          const QuantTensor *tensor, const TensorClass *matrix, int stem) {
    const Quant *quant = expander->input->quant;
    uint32_t inputs = matrix->dim_count - 1, outputs = inputs - 1;
    TensorClass out = *matrix;
    out.pattern = arena_printf(&expander->arch->arena, "%.*s%s", stem, matrix->pattern,
                               tensor->suffix != NULL ? tensor->suffix : quant->scale_suffix);
    switch (tensor->type_of) {
    case QUANT_NAMED: out.type = tensor->type; break;
    case QUANT_FAMILY: out.type = quant->scale_type; break;
    case QUANT_MODEL: break; // the matrix has it
    }
    out.element_bits = quant_type_bits(out.type);
    out.is_scale = true;
    out.parameters = 0;
    if (tensor->size == QUANT_BLOCKS) {
        bool whole = store->block_columns == QUANT_ALL;
        out.dims[outputs] = blocks_of(out.dims[outputs], store->block_rows);
        out.dims[inputs] = whole ? 1 : blocks_of(out.dims[inputs], store->block_columns);
    } else {
        // one number, or two; never cut
        assert(out.fused_experts == 0); // such schemes store each expert by itself
        out.dim_count = tensor->size == QUANT_ONE ? 0 : 1;
        out.dims[0] = tensor->size == QUANT_SHAPE ? 2 : 1;
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
static bool check_groups(const TensorExpander *expander, const TensorRow *row,
                         const QuantStore *store, uint32_t inputs, Err *err) {
    bool whole = store->block_columns == QUANT_ALL;
    uint32_t group = whole ? store->scheme->packed : store->block_columns;
    if (store->scheme->packed == 1 || inputs % group == 0) return true;
    Dim dim = DIM_NONE; // the last one, or the one before when inputs come first
    for (uint32_t i = 0; i < TENSOR_DIMS_MAX && row->dims[i] != DIM_NONE; i++)
        if (!row->inputs_first || i + 1 == TENSOR_DIMS_MAX || row->dims[i + 1] != DIM_NONE)
            dim = row->dims[i];
    return err_set(err, "%s: %s (%u) is not a multiple of the group of %u", row->name,
                   dim_name(expander->dims, dim), inputs, group);
}

void tensor_pad_units(const Quant *quant, TensorClass *class) {
    for (uint32_t i = 0; i < quant->store_count; i++) {
        const QuantStore *store = &quant->stores[i];
        uint32_t group = store->block_columns, extent = class->dims[class->axis];
        uint32_t unit = class->interleaved ? group * class->segment_count : group;
        if (!store->scheme->pads || class->unit != 1 || extent % unit != 0) continue;
        if (class->shard != SHARD_EXPERT_COLUMN) continue;
        class->unit = unit;
        class->pads = true;
    }
}

// The stored codes of a quantised matrix, outputs first, and, beside them, their scales.
static void push_codes(TensorExpander *expander, const TensorClass *matrix,
                       const QuantStore *store) {
    const QuantScheme *scheme = store->scheme;
    TensorClass codes = *matrix, scaled = *matrix;
    uint32_t inputs = matrix->dim_count - 1;
    int stem = (int)tensor_stem_length(matrix->pattern);
    bool by_columns = tensor_cuts_columns(matrix->shard);
    codes.pattern =
        arena_printf(&expander->arch->arena, "%.*s%s", stem, matrix->pattern, scheme->suffix);
    codes.type = scheme->type;
    codes.element_bits = quant_type_bits(codes.type);
    if (by_columns || tensor_cuts_rows(matrix->shard)) {
        uint32_t block = by_columns ? store->block_columns : store->block_rows;
        uint32_t packed = by_columns ? scheme->packed : 1;
        set_units(matrix->dims[matrix->axis], block, packed, &codes.unit, &scaled.unit);
        set_segment_units(&codes, &scaled, block, packed);
    }
    codes.dims[inputs] = matrix->dims[inputs] / scheme->packed;
    if (scheme->fused_by_group) {
        codes.dims[inputs] = matrix->dims[inputs] / store->block_columns;
        codes.dims[codes.dim_count++] = store->block_columns / scheme->packed;
        if (by_columns) codes.unit = scaled.unit;
    }
    codes.pads = scaled.pads = scheme->pads;
    tensor_pad_units(expander->input->quant, &codes);
    tensor_pad_units(expander->input->quant, &scaled);
    codes.bytes = size_in_bits(&codes) / 8;
    uint32_t number = expander->class_count;
    tensor_push(expander, &codes);
    for (uint32_t i = 0; i < store->beside_count; i++) {
        TensorClass tensor = beside(expander, store, &scheme->beside[i], &scaled, stem);
        if (tensor_cuts_columns(tensor.shard) && tensor.dims[tensor.axis] == 1)
            tensor.shard = tensor.shard == SHARD_ROW ? SHARD_REPLICATED : SHARD_EXPERT_WHOLE;
        if (scheme->beside[i].size == QUANT_BLOCKS)
            expander->classes[number].scale_B += tensor.bytes;
        tensor_push(expander, &tensor);
    }
}

// The name of one expert's matrix: "experts.gate_up_proj" becomes "experts.{E}.gate_proj" and
// "experts.{E}.up_proj" (two halves), "experts.down_proj" "experts.{E}.down_proj".
static const char *expert_name(Arena *arena, const char *fused, bool is_half, uint32_t half) {
    static const char *const words[] = {"gate", "up"}, both[] = "gate_up";
    int stem = (int)tensor_stem_length(fused), outer = stem;
    while (outer > 0 && fused[outer - 1] != '.') outer--;
    const char *leaf = fused + outer;
    if (!is_half) return arena_printf(arena, "%.*s{E}.%.*s", outer, fused, stem - outer, leaf);
    int rest = stem - outer - (int)(sizeof both - 1);
    return arena_printf(arena, "%.*s{E}.%s%.*s", outer, fused, words[half], rest,
                        leaf + sizeof both - 1);
}

// Quantised checkpoints keep experts one by one, and their gate and up halves too, whatever the
// model's own do: each expert has scales of its own.
static bool push_experts(TensorExpander *expander, const TensorClass *fused,
                         const QuantStore *store, Err *err) {
    bool halves = fused->segment_count == 2 && strstr(fused->pattern, ".gate_up") != NULL;
    TensorClass matrix = *fused;
    uint64_t count = (uint64_t)fused->per_layer * fused->dims[0];
    if (count > UINT32_MAX)
        return err_set(err, "%s: more than %u in a layer", fused->pattern, UINT32_MAX);
    matrix.fused_experts = 0;
    matrix.per_layer = (uint32_t)count;
    matrix.axis = fused->axis > 0 ? fused->axis - 1 : 0;
    matrix.dim_count = fused->dim_count - 1;
    memmove(matrix.dims, fused->dims + 1, matrix.dim_count * sizeof *matrix.dims);
    matrix.dims[matrix.dim_count] = 0;
    for (uint32_t i = 0; i < (halves ? 2u : 1u); i++) {
        TensorClass one = matrix;
        one.pattern = expert_name(&expander->arch->arena, fused->pattern, halves, i);
        if (halves) {
            one.dims[one.axis] = fused->segments[i].extent;
            one.unit = fused->segments[i].unit;
            one.segment_count = 0;
            one.interleaved = false;
        }
        one.parameters = (uint64_t)one.dims[0] * one.dims[1];
        push_codes(expander, &one, store);
    }
    return true;
}

bool tensor_push_quantised(TensorExpander *expander, const TensorRow *row, const TensorClass *plain,
                           const QuantStore *store, Err *err) {
    TensorClass matrix = outputs_first(plain, row);
    assert(matrix.dim_count >= 2);
    if (!check_groups(expander, row, store, matrix.dims[matrix.dim_count - 1], err)) return false;
    if (matrix.fused_experts > 0 && !row->fused)
        return err_set(err, "%s: experts stacked in one matrix are not supported in %s", row->name,
                       store->scheme->name);
    if (row->fused && !store->scheme->fused_by_group)
        return push_experts(expander, &matrix, store, err);
    push_codes(expander, &matrix, store);
    return true;
}
