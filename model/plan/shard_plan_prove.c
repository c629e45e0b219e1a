// The proof that the ranges of all ranks cover the checkpoint as the rules say.
//
// Invariant: nothing is assumed of shard_slice or of the placement but what their outputs show. All
// tensors of a class are cut alike, so that one sweep over the row of one of them (the bytes
// between two steps of its stride) stands for all bytes of all of them; different tensors lie
// apart, which the reader of headers has checked and which virtual files have by construction.
#include <inttypes.h>
#include <stdlib.h>

#include "model/moe/count.h"
#include "model/plan/shard.h"
#include "model/plan/shard_plan.h"

#define NONE UINT32_MAX

// A byte of the row at which a reader begins (+1) or ends (-1).
typedef struct Border {
    uint64_t at;
    int32_t step;
} Border;

static int compare_borders(const void *left, const void *right) {
    const Border *a = left, *b = right;
    if (a->at != b->at) return a->at < b->at ? -1 : 1;
    return a->step < b->step ? -1 : a->step > b->step;
}

// The row of a tensor, or of an expert in it.
typedef struct Row {
    const TensorClass *tensor;
    uint32_t ways;
    uint64_t length, count;
} Row;

// Borders of one piece, which must be so many bytes of each row, or all bytes of all.
static bool add_piece(const Row *row, const ShardBytes *piece, Border *out, Err *err) {
    bool strided = piece->count == row->count && piece->offset + piece->length <= row->length &&
                   (row->count == 1 || piece->stride == row->length);
    bool is_all =
        piece->count == 1 && piece->offset == 0 && piece->length == row->length * row->count;
    if (!strided && !is_all)
        return err_set(err,
                       "%s: %" PRIu64 " pieces of %" PRIu64 " bytes every %" PRIu64 " from %" PRIu64
                       " on do not follow its %" PRIu64 " rows of %" PRIu64 " bytes",
                       row->tensor->pattern, piece->count, piece->length, piece->stride,
                       piece->offset, row->count, row->length);
    out[0] = (Border){piece->offset, 1};
    out[1] = (Border){is_all ? row->length : piece->offset + piece->length, -1};
    return true;
}

// [from, to) is read by `readers` positions: by as many as the rule says of each side it touches.
static bool check_between(const Row *row, uint64_t from, uint64_t to, int64_t readers, Err *err) {
    uint64_t inner_bits = shard_slice_shape(row->tensor).inner_bits, elements = 0;
    for (uint32_t i = 0; i < shard_slice_sides(row->tensor); i++) {
        uint64_t start = elements * inner_bits / 8, end;
        elements += shard_slice_side(row->tensor, i).extent;
        end = elements * inner_bits / 8;
        uint32_t copies = shard_slice_copies(row->tensor, row->ways, i);
        if (from >= end || to <= start || readers == copies) continue;
        return err_set(err,
                       "%s: bytes %" PRIu64 " to %" PRIu64 " of a row are read by %" PRId64
                       " of %" PRIu32 " positions, expected %" PRIu32,
                       row->tensor->pattern, from > start ? from : start, to < end ? to : end,
                       readers, row->ways, copies);
    }
    return true;
}

static bool sweep_borders(const Row *row, Border *borders, uint32_t count, Err *err) {
    uint64_t at = 0;
    int64_t readers = 0;
    if (count > 0) qsort(borders, count, sizeof *borders, compare_borders);
    for (uint32_t i = 0; i < count; i++) {
        if (borders[i].at > at && !check_between(row, at, borders[i].at, readers, err))
            return false;
        at = borders[i].at;
        readers += borders[i].step;
    }
    return at >= row->length || check_between(row, at, row->length, readers, err);
}

static bool check_sides(const TensorClass *tensor, uint64_t extent, Err *err) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < shard_slice_sides(tensor); i++)
        sum += shard_slice_side(tensor, i).extent;
    return sum == extent || err_set(err, "%s: its parts have %" PRIu64 " of %" PRIu64 " elements",
                                    tensor->pattern, sum, extent);
}

static bool sweep_class(const ShardClass *class, uint64_t *reads_B, Err *err) {
    const TensorClass *tensor = class->tensor;
    ShardShape shape = shard_slice_shape(tensor);
    uint64_t bits = shape.extent * shape.inner_bits;
    if (!check_sides(tensor, shape.extent, err)) return false;
    Row row = {tensor, class->ways, bits / 8, shape.outer};
    if (bits % 8 != 0 || bits / 8 * shape.outer != shard_slice_whole_B(tensor))
        return err_set(err,
                       "%s: %" PRIu64 " rows of %" PRIu64 " bits are not its %" PRIu64 " bytes",
                       tensor->pattern, shape.outer, bits, shard_slice_whole_B(tensor));
    Border *borders = mem_alloc((size_t) class->ways * 2 * TENSOR_SEGMENTS_MAX, sizeof *borders);
    uint32_t count = 0;
    bool good = true;
    *reads_B = 0;
    for (uint32_t w = 0; good && w < class->ways; w++) {
        ShardBytes pieces[TENSOR_SEGMENTS_MAX];
        uint32_t found = shard_slice_bytes(tensor, class->ways, w, pieces);
        for (uint32_t i = 0; good && i < found; i++, count += 2) {
            good = add_piece(&row, &pieces[i], borders + count, err);
            *reads_B += pieces[i].length * pieces[i].count;
        }
    }
    good = good && sweep_borders(&row, borders, count, err);
    mem_free(borders);
    return good;
}

// ---- Experts and stages.

// Every expert on one position, or, where EPLB places them, on one or more; returns how many
// positions hold one, over all experts, in *held.
static bool count_holders(const ShardPlan *plan, const ShardClass *class, uint32_t layer,
                          uint64_t *held, Err *err) {
    uint32_t experts = shard_slice_experts(class->tensor);
    uint32_t *holders = mem_alloc(experts, sizeof *holders);
    for (uint32_t e = 0; e < experts; e++) holders[e] = 0;
    *held = 0;
    for (uint32_t p = 0; p < plan->pool.ep; p++) {
        uint32_t first, count;
        const uint32_t *list = shard_plan_experts(plan, class, layer, p, &first, &count);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t expert = list != NULL ? list[i] : first + i;
            if (expert < experts) holders[expert]++;
        }
        *held += count;
    }
    bool good = true, may_repeat = plan->experts.layers > 0;
    for (uint32_t e = 0; good && e < experts; e++)
        if (holders[e] == 0 || (holders[e] > 1 && !may_repeat))
            good = err_set(err, "%s: expert %" PRIu32 " is on %" PRIu32 " positions, expected %s",
                           class->tensor->pattern, e, holders[e], may_repeat ? "at least 1" : "1");
    mem_free(holders);
    return good;
}

// Bytes that all positions of a stage read of the class in all its layers. Layers are alike unless
// EPLB places each by a load of its own.
static bool prove_routed(const ShardPlan *plan, const ShardClass *class, uint64_t expert_reads_B,
                         uint64_t *out_B, Err *err) {
    const Arch *arch = plan->arch;
    uint32_t kind = class->tensor->layer_kind;
    uint64_t held = 0, sum = 0, layers = kind == NONE ? 1 : arch->kinds[kind].count;
    bool is_alike = plan->experts.layers <= 1 || kind == NONE;
    if (is_alike) {
        uint32_t layer = kind == NONE || plan->experts.layers == 0 ? NONE : 0;
        if (!count_holders(plan, class, layer, &held, err)) return false;
        sum = held * layers;
    }
    for (uint32_t layer = 0; !is_alike && layer < arch->layers; layer++) {
        if (arch->kind_of_layer[layer] != kind) continue;
        if (!count_holders(plan, class, layer, &held, err)) return false;
        sum += held;
    }
    *out_B = sum * expert_reads_B * shard_slice_stacks(class->tensor);
    return true;
}

// On how many stages each tensor of the class is, over all its layers.
static bool check_stages(const ShardPlan *plan, const ShardClass *class, uint64_t *out, Err *err) {
    const Arch *arch = plan->arch;
    uint32_t kind = class->tensor->layer_kind;
    bool twice = class->tensor->component == COMPONENT_EMBEDDING && arch->tied_embeddings;
    uint64_t want = kind != NONE ? arch->kinds[kind].count : twice && plan->pool.pp > 1 ? 2 : 1;
    *out = 0;
    for (uint32_t stage = 0; stage < plan->pool.pp; stage++)
        *out += shard_stage_repeats(&plan->pool, arch, stage,
                                    plan->kind_layers + (size_t)stage * arch->kind_count,
                                    class->tensor);
    return *out == want || err_set(err, "%s: stages have it %" PRIu64 " times, expected %" PRIu64,
                                   class->tensor->pattern, *out, want);
}

static bool prove_class(const ShardPlan *plan, const ShardClass *class, ShardProof *proof,
                        Err *err) {
    uint64_t reads_B = 0, on_stages = 0, count = count_tensors(plan->arch, class->tensor);
    if (!class->is_read) {
        proof->skipped_tensors += count;
        proof->skipped_B += count * class->tensor->bytes;
        return true;
    }
    if (!check_stages(plan, class, &on_stages, err) || !sweep_class(class, &reads_B, err))
        return false;
    if (class->is_routed) {
        if (!prove_routed(plan, class, reads_B, &reads_B, err)) return false;
    } else {
        reads_B *= on_stages * class->tensor->per_layer * pool_token_groups(&plan->pool);
    }
    proof->reads_B += reads_B;
    proof->tensors += count;
    proof->bytes += count * class->tensor->bytes;
    return true;
}

// Each layer on one stage, in order.
static bool check_layers(const ShardPlan *plan, Err *err) {
    uint32_t next = 0;
    for (uint32_t stage = 0; stage < plan->pool.pp; stage++) {
        uint32_t first, count;
        pool_stage_layers(&plan->pool, plan->arch->layers, stage, &first, &count);
        if (first != next)
            return err_set(err, "stage %" PRIu32 " begins at layer %" PRIu32 ", expected %" PRIu32,
                           stage, first, next);
        next += count;
    }
    return next == plan->arch->layers ||
           err_set(err, "the stages have %" PRIu32 " layers, expected %" PRIu32, next,
                   plan->arch->layers);
}

bool shard_plan_prove(const ShardPlan *plan, ShardProof *out, Err *err) {
    ShardProof proof = {0};
    if (!check_layers(plan, err)) return false;
    for (uint32_t i = 0; i < plan->arch->tensor_count; i++)
        if (!prove_class(plan, &plan->classes[i], &proof, err)) return false;
    *out = proof;
    return true;
}
