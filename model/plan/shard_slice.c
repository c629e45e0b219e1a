// Cuts one tensor over the positions of a group.
//
// Invariant: over all positions each element of the file is held, by shard_slice_copies of them: by
// one, or, where the rule replicates, by equally many for all elements. Runs are sorted and apart.
// Sources: vLLM's linear layers and vocabulary embedding, which cut in whole heads, pad the
// vocabulary to a multiple of 64 and give rank r of R replicas of a KV head the head r / R.
#include "model/plan/shard_slice.h"

#include <assert.h>
#include <stddef.h>

#include "model/base/wide.h"

#define VOCAB_PAD 64 // rows; vLLM's DEFAULT_VOCAB_PADDING_SIZE

static ShardDeal deal_of(const TensorClass *tensor) {
    switch (tensor->shard) {
    case SHARD_REPLICATED:
    case SHARD_EXPERT_WHOLE: break;
    case SHARD_COLUMN:
    case SHARD_ROW:
    case SHARD_EXPERT_COLUMN:
    case SHARD_EXPERT_ROW: return SHARD_DEAL_UNITS;
    case SHARD_KV: return SHARD_DEAL_HEADS;
    case SHARD_VOCAB: return SHARD_DEAL_VOCAB;
    }
    return SHARD_DEAL_WHOLE;
}

bool shard_slice_is_routed(const TensorClass *tensor) {
    return tensor->shard == SHARD_EXPERT_COLUMN || tensor->shard == SHARD_EXPERT_ROW ||
           tensor->shard == SHARD_EXPERT_WHOLE;
}

uint32_t shard_slice_stacked(const TensorClass *tensor) {
    return shard_slice_is_routed(tensor) ? tensor->fused_experts : 0;
}

uint32_t shard_slice_experts(const TensorClass *tensor) {
    if (!shard_slice_is_routed(tensor)) return 1;
    return tensor->fused_experts > 0 ? tensor->fused_experts : tensor->per_layer;
}

uint32_t shard_slice_stacks(const TensorClass *tensor) {
    return shard_slice_stacked(tensor) > 0 ? tensor->per_layer : 1;
}

ShardShape shard_slice_shape(const TensorClass *tensor) {
    ShardShape shape = {1, 1, tensor->element_bits};
    uint32_t stacked = shard_slice_stacked(tensor);
    for (uint32_t i = 0; i < tensor->dim_count; i++) {
        uint64_t extent = tensor->dims[i];
        if (i == 0 && stacked > 0) extent /= stacked;
        if (i < tensor->axis)
            shape.outer *= extent;
        else if (i == tensor->axis)
            shape.extent = extent;
        else
            shape.inner_bits *= extent;
    }
    return shape;
}

uint64_t shard_slice_whole_B(const TensorClass *tensor) {
    uint32_t stacked = shard_slice_stacked(tensor);
    return stacked > 0 ? tensor->bytes / stacked : tensor->bytes;
}

static bool is_cut_apart(const TensorClass *tensor) {
    return tensor->segment_count > 0 && !tensor->interleaved && deal_of(tensor) != SHARD_DEAL_WHOLE;
}

uint32_t shard_slice_sides(const TensorClass *tensor) {
    return is_cut_apart(tensor) ? tensor->segment_count : 1;
}

ShardSide shard_slice_side(const TensorClass *tensor, uint32_t index) {
    ShardSide side = {deal_of(tensor), shard_slice_shape(tensor).extent, tensor->unit};
    if (tensor->interleaved && tensor->segment_count > 0 && side.unit % tensor->segment_count != 0)
        side.unit *= tensor->segment_count;
    if (is_cut_apart(tensor)) {
        side.extent = tensor->segments[index].extent;
        side.unit = tensor->segments[index].unit;
        if (tensor->segments[index].is_kv) side.deal = SHARD_DEAL_HEADS;
    }
    if (side.unit == 0) side.unit = 1;
    return side;
}

uint32_t shard_slice_vocab_rows(uint32_t vocab, uint32_t ways) {
    uint64_t padded = wide_div_up_u64(vocab, VOCAB_PAD) * VOCAB_PAD;
    if (padded % ways == 0) return (uint32_t)(padded / ways);
    return (uint32_t)((padded / ways / VOCAB_PAD + 1) * VOCAB_PAD);
}

// Elements from `first` to `end`, as far as they exist.
static ShardRun clip(uint64_t first, uint64_t end, uint64_t extent) {
    if (first > extent) first = extent;
    return (ShardRun){first, (end < extent ? end : extent) - first};
}

static ShardRun deal_units(ShardSide side, uint64_t units, uint32_t ways, uint32_t index) {
    uint64_t base = units / ways, longer = units % ways;
    uint64_t first = index * base + (index < longer ? index : longer);
    uint64_t end = first + base + (index < longer);
    return clip(first * side.unit, end * side.unit, side.extent);
}

static ShardRun run_of(ShardSide side, uint32_t ways, uint32_t index) {
    uint64_t units = wide_div_up_u64(side.extent, side.unit);
    switch (side.deal) {
    case SHARD_DEAL_WHOLE: break;
    case SHARD_DEAL_UNITS: return deal_units(side, units, ways, index);
    case SHARD_DEAL_HEADS: {
        if (units >= ways) return deal_units(side, units, ways, index);
        uint64_t head = index * units / ways;
        return clip(head * side.unit, (head + 1) * side.unit, side.extent);
    }
    case SHARD_DEAL_VOCAB: {
        uint64_t rows = shard_slice_vocab_rows((uint32_t)side.extent, ways);
        return clip(index * rows, (index + 1) * rows, side.extent);
    }
    }
    return (ShardRun){0, side.extent};
}

void shard_slice_part(const TensorClass *tensor, uint32_t ways, uint32_t index, ShardPart *out) {
    assert(ways > 0 && index < ways);
    ShardPart part = {0};
    uint64_t start = 0;
    for (uint32_t i = 0; i < shard_slice_sides(tensor); i++) {
        ShardSide side = shard_slice_side(tensor, i);
        ShardRun run = run_of(side, ways, index);
        if (side.deal == SHARD_DEAL_VOCAB)
            part.padding += shard_slice_vocab_rows((uint32_t)side.extent, ways) - run.count;
        run.first += start;
        start += side.extent;
        if (run.count == 0) continue;
        ShardRun *last = part.run_count > 0 ? &part.runs[part.run_count - 1] : NULL;
        if (last != NULL && last->first + last->count == run.first)
            last->count += run.count;
        else
            part.runs[part.run_count++] = run;
    }
    *out = part;
}

uint32_t shard_slice_copies(const TensorClass *tensor, uint32_t ways, uint32_t index) {
    ShardSide side = shard_slice_side(tensor, index);
    uint64_t units = wide_div_up_u64(side.extent, side.unit);
    switch (side.deal) {
    case SHARD_DEAL_WHOLE: return ways;
    case SHARD_DEAL_HEADS: return units > 0 && units < ways ? (uint32_t)(ways / units) : 1;
    case SHARD_DEAL_UNITS:
    case SHARD_DEAL_VOCAB: break;
    }
    return 1;
}

static uint64_t all_of(ShardSide side, uint32_t ways) {
    switch (side.deal) {
    case SHARD_DEAL_WHOLE: return side.extent * ways;
    case SHARD_DEAL_HEADS: return side.unit * ways > side.extent ? side.unit * ways : side.extent;
    case SHARD_DEAL_VOCAB:
        return (uint64_t)shard_slice_vocab_rows((uint32_t)side.extent, ways) * ways;
    case SHARD_DEAL_UNITS: break;
    }
    return side.extent;
}

uint64_t shard_slice_all(const TensorClass *tensor, uint32_t ways) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < shard_slice_sides(tensor); i++)
        sum += all_of(shard_slice_side(tensor, i), ways);
    return sum;
}

uint32_t shard_slice_bytes(const TensorClass *tensor, uint32_t ways, uint32_t index,
                           ShardBytes out[TENSOR_SEGMENTS_MAX]) {
    ShardShape shape = shard_slice_shape(tensor);
    ShardPart part;
    uint64_t row = shape.extent * shape.inner_bits;
    shard_slice_part(tensor, ways, index, &part);
    for (uint32_t i = 0; i < part.run_count; i++) {
        uint64_t first = part.runs[i].first * shape.inner_bits;
        uint64_t end = first + part.runs[i].count * shape.inner_bits;
        if (first == 0 && end == row) { // whole rows lie one behind the other
            end *= shape.outer;
            shape.outer = 1;
        }
        uint64_t length = wide_div_up_u64(end, 8) - first / 8;
        out[i] = (ShardBytes){first / 8, length, length, 1};
        if (shape.outer > 1) out[i].stride = row / 8, out[i].count = shape.outer;
    }
    return part.run_count;
}
