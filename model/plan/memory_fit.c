// Adds up the memory of each stage, and finds what there is room for.
//
// Invariant: the longest context and the most sequences are the largest for which the sums fit; all
// stages hold the same sequences, so the stage with the least room decides
// (vllm-project/vllm#34076, sgl-project/sglang#13282).
#include "model/plan/memory_fit.h"

#include "model/base/text.h"
#include "model/base/units.h"
#include "model/base/wide.h"
#include "model/plan/shard.h"
#include "model/plan/shard_slice.h"

const char *const memory_fit_part_names[MEMORY_PART_COUNT] = {
#define X(name, text) text,
    MEMORY_PART_LIST(X)
#undef X
};

// ---- Parts.

static bool is_inside(MemoryScope scope, MemoryPart part) {
    switch (part) {
    case MEMORY_PART_WEIGHTS:
    case MEMORY_PART_KV:
    case MEMORY_PART_STATE: return true;
    case MEMORY_PART_ACTIVATIONS:
    case MEMORY_PART_COMMUNICATION:
    case MEMORY_PART_OTHER: return scope == MEMORY_SCOPE_ALL;
    case MEMORY_PART_GRAPHS:
    case MEMORY_PART_COUNT: break;
    }
    return false;
}

static void add_up(MemoryStage *stage) {
    stage->inside_B = stage->beside_B = 0;
    for (uint32_t i = 0; i < MEMORY_PART_COUNT; i++) {
        uint64_t *sum =
            is_inside(stage->scope, (MemoryPart)i) ? &stage->inside_B : &stage->beside_B;
        *sum = wide_add_saturate(*sum, stage->part_B[i]);
    }
}

// A step of a chunk, with the scores of an indexer; or the start-up.
static uint64_t activations_B(const MemoryInput *input, uint64_t chunk) {
    uint64_t sequences = memory_engine_defaults(input->engine, input->memory_B)->sequences;
    uint64_t step = wide_add_saturate(
        input->buffers_B, memory_engine_index_B(input->engine, input->arch, chunk, input->context));
    uint64_t start = memory_engine_sampler_B(input->engine, input->arch, sequences, chunk);
    return step > start ? step : start;
}

static uint64_t less(uint64_t a, uint64_t b) {
    return a > b ? a - b : 0;
}

// Draft layers on the fullest rank, cut as the layers are.
static uint64_t mtp_B(const MemoryInput *input) {
    const Pool *pool = &input->plan->pools[input->pool];
    uint64_t sum = 0;
    for (uint32_t i = 0; i < input->arch->tensor_count; i++) {
        const TensorClass *tensor = &input->arch->tensors[i];
        if (tensor->component != COMPONENT_MTP) continue;
        uint64_t experts = wide_div_up_u64(shard_slice_experts(tensor), pool->ep);
        uint64_t class_B =
            shard_slice_is_routed(tensor)
                ? wide_mul_saturate(experts, shard_expert_B(tensor, pool->moe_tp, 0))
                : wide_mul_saturate(tensor->per_layer, shard_cut_B(tensor, pool->tp, 0));
        sum = wide_add_saturate(sum, class_B);
    }
    return sum;
}

static void fill_fixed(const MemoryInput *input, const StageWeights *weights, uint32_t index,
                       uint64_t chunk, MemoryStage *out) {
    const Pool *pool = &input->plan->pools[input->pool];
    uint64_t memory_B = input->memory_B;
    pool_stage_layers(pool, input->arch->layers, index, &out->first_layer, &out->layers);
    out->scope = input->engine->scope;
    out->checkpoint_B = weights->largest_B;
    if (input->with_mtp && index + 1 == pool->pp)
        out->checkpoint_B = wide_add_saturate(out->checkpoint_B, mtp_B(input));
    out->added_B = memory_engine_added_B(input->engine, pool, input->arch, index,
                                         weights->component_B[COMPONENT_ROUTED]);
    out->part_B[MEMORY_PART_WEIGHTS] =
        less(wide_add_saturate(out->checkpoint_B, out->added_B), input->away_weights_B);
    out->part_B[MEMORY_PART_ACTIVATIONS] = activations_B(input, chunk);
    out->part_B[MEMORY_PART_COMMUNICATION] =
        memory_engine_communication_B(input->engine, pool, input->arch);
    out->part_B[MEMORY_PART_OTHER] = input->engine->alone_B;
    out->part_B[MEMORY_PART_GRAPHS] = memory_engine_graphs_B(input->engine, pool, memory_B);
    out->usable_B =
        memory_engine_usable_B(input->engine, pool, memory_B, input->memory_permille, chunk);
    out->rest_B = less(memory_B, out->usable_B);
}

// ---- What there is room for.

static uint64_t tokens_B(const MemoryPages *pages, uint64_t tokens) {
    return wide_add_saturate(memory_page_cache_B(pages, tokens), memory_page_state_B(pages));
}

// The longest sequence within `room_B`, at most `most` tokens.
static uint64_t longest(const MemoryPages *pages, uint64_t room_B, uint64_t most) {
    uint64_t fits = 0, over = most + 1;
    if (memory_page_state_B(pages) > room_B) return 0;
    while (over - fits > 1) {
        uint64_t middle = fits + (over - fits) / 2;
        if (tokens_B(pages, middle) <= room_B)
            fits = middle;
        else
            over = middle;
    }
    return fits;
}

static void fill_room(const MemoryInput *input, MemoryStage *out) {
    const uint64_t limit = UINT64_C(1) << 62;
    add_up(out); // of all but the cache
    uint64_t room = less(out->usable_B, out->inside_B);
    uint64_t over = less(out->inside_B, out->usable_B);
    out->available_B =
        room > 0 ? (int64_t)(room < limit ? room : limit) : -(int64_t)(over < limit ? over : limit);
    if (out->available_B >= 0) room = wide_add_saturate(room, input->away_kv_B);
    out->sequence_B = tokens_B(&out->pages, input->context);
    out->most_context = longest(&out->pages, room, input->arch->max_context);
    out->most_sequences = out->sequence_B > 0 ? room / out->sequence_B : UINT64_MAX;
}

static void fill_asked(const MemoryInput *input, MemoryStage *out) {
    uint64_t kv =
        wide_mul_saturate(memory_page_cache_B(&out->pages, input->context), input->sequences);
    out->part_B[MEMORY_PART_KV] = less(kv, input->away_kv_B);
    out->part_B[MEMORY_PART_STATE] =
        wide_mul_saturate(memory_page_state_B(&out->pages), input->sequences);
    add_up(out);
}

static bool fill_stage(const MemoryInput *input, const StageWeights *weights, uint32_t index,
                       uint64_t chunk, MemoryStage *out, Err *err) {
    const Pool *pool = &input->plan->pools[input->pool];
    MemoryGrouping grouping =
        input->grouping < MEMORY_GROUPING_COUNT ? input->grouping : input->engine->grouping;
    uint64_t page_tokens = memory_engine_page_tokens(input->engine, input->arch);
    fill_fixed(input, weights, index, chunk, out);
    out->token_B = memory_cache_token_B(pool, input->arch, index);
    if (!memory_page_of_stage(pool, input->arch, index, grouping, page_tokens, &out->pages, err))
        return false;
    fill_room(input, out);
    fill_asked(input, out);
    return true;
}

// How tight a stage is: what is over, then what is left.
static bool is_tighter(const MemoryStage *a, const MemoryStage *b) {
    uint64_t over_a = memory_fit_over_B(a), over_b = memory_fit_over_B(b);
    if (over_a != over_b) return over_a > over_b;
    if (a->most_sequences != b->most_sequences) return a->most_sequences < b->most_sequences;
    return less(a->usable_B, a->inside_B) < less(b->usable_B, b->inside_B);
}

bool memory_fit_find(const MemoryInput *input, Arena *arena, MemoryFit *out, Err *err) {
    const Pool *pool = &input->plan->pools[input->pool];
    ShardSummary shards;
    MemoryFit fit = {.stage_count = pool->pp,
                     .available_B = INT64_MAX,
                     .most_context = UINT64_MAX,
                     .most_sequences = UINT64_MAX};
    fit.chunk =
        input->chunk > 0 ? input->chunk : memory_engine_chunk(input->engine, pool, input->memory_B);
    shard_weights(input->plan, input->pool, input->arch, arena, &shards);
    fit.stages = arena_alloc(arena, pool->pp, sizeof *fit.stages);
    for (uint32_t i = 0; i < pool->pp; i++) {
        MemoryStage *stage = &fit.stages[i];
        if (!fill_stage(input, &shards.stages[i], i, fit.chunk, stage, err)) return false;
        if (stage->available_B < fit.available_B) fit.available_B = stage->available_B;
        if (stage->most_context < fit.most_context) fit.most_context = stage->most_context;
        if (stage->most_sequences < fit.most_sequences) fit.most_sequences = stage->most_sequences;
        if (is_tighter(stage, &fit.stages[fit.fullest])) fit.fullest = i;
    }
    *out = fit;
    return true;
}

uint64_t memory_fit_tokens(const MemoryFit *fit, uint64_t context) {
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < fit->stage_count; i++) {
        const MemoryStage *stage = &fit->stages[i];
        uint64_t room = stage->available_B > 0 ? (uint64_t)stage->available_B : 0;
        if (stage->sequence_B == 0) continue;
        uint64_t tokens = wide_mul_div(room, context, stage->sequence_B);
        if (tokens < least) least = tokens;
    }
    return least;
}

// ---- What overflows.

uint64_t memory_fit_over_B(const MemoryStage *stage) {
    uint64_t inside = less(stage->inside_B, stage->usable_B);
    return inside > 0 ? inside : less(stage->beside_B, stage->rest_B);
}

static bool is_over_inside(const MemoryStage *stage) {
    return stage->inside_B > stage->usable_B;
}

// Parts on the side that overflows, the largest first.
static uint32_t order_parts(const MemoryStage *stage, MemoryPart *out) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < MEMORY_PART_COUNT; i++) {
        bool inside = is_inside(stage->scope, (MemoryPart)i);
        if (stage->part_B[i] == 0 || inside != is_over_inside(stage)) continue;
        uint32_t at = count++;
        for (; at > 0 && stage->part_B[out[at - 1]] < stage->part_B[i]; at--) out[at] = out[at - 1];
        out[at] = (MemoryPart)i;
    }
    return count;
}

MemoryPart memory_fit_overflow(const MemoryStage *stage) {
    static const MemoryPart order[] = {
        MEMORY_PART_WEIGHTS, MEMORY_PART_OTHER,       MEMORY_PART_COMMUNICATION,
        MEMORY_PART_GRAPHS,  MEMORY_PART_ACTIVATIONS, MEMORY_PART_STATE,
        MEMORY_PART_KV};
    uint64_t room = is_over_inside(stage) ? stage->usable_B : stage->rest_B;
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        uint64_t part_B = stage->part_B[order[i]];
        if (is_inside(stage->scope, order[i]) != is_over_inside(stage)) continue;
        if (part_B > room) return order[i];
        room -= part_B;
    }
    return MEMORY_PART_KV;
}

bool memory_fit_holds(const MemoryFit *fit, Err *reason) {
    const MemoryStage *stage = &fit->stages[fit->fullest];
    uint64_t over = memory_fit_over_B(stage);
    if (over == 0) return true;
    MemoryPart parts[MEMORY_PART_COUNT];
    uint32_t count = order_parts(stage, parts);
    char bytes[UNITS_TEXT_MAX], usable[UNITS_TEXT_MAX];
    Text terms = {0};
    if (fit->stage_count > 1) text_addf(&terms, "stage %u of %u: ", fit->fullest, fit->stage_count);
    for (uint32_t i = 0; i < count; i++)
        text_addf(&terms, "%s%s %s",
                  i == 0           ? ""
                  : i + 1 == count ? " and "
                                   : ", ",
                  memory_fit_part_names[parts[i]],
                  units_format_bytes(stage->part_B[parts[i]], bytes));
    units_format_bytes(is_over_inside(stage) ? stage->usable_B : stage->rest_B, usable);
    err_set(reason, "%s exceed%s the %s %s by %s", text_string(&terms), count == 1 ? "s" : "",
            is_over_inside(stage) ? "usable" : "remaining", usable,
            units_format_bytes(over, bytes));
    text_free(&terms);
    return false;
}
