// Memory by term: exact weights, cache and state of the requests in flight, buffers of the
// schedule, a fixed reserve.
//
// Invariant: the terms are those of the rank that is fullest in total, not the largest of each term
// over different ranks. Source: pages of 64 tokens, as logged for GLM-5.3 on vLLM
// (vllm-project/recipes#893).
#include "model/plan/memory.h"

#include "model/base/text.h"
#include "model/base/units.h"
#include "model/base/wide.h"
#include "model/plan/shard.h"

#define PAGE_TOKENS 64

// Memory outside of weights, activations and cache when vLLM starts on an H100 ("non-torch" in the
// start-up logs collected in llm-d-planner, docs/empirical-vllm-memory-results.md): 0.13 GiB on one
// GPU, 0.55 GiB with a communicator. CUDA graphs lie in the part of memory that the memory fraction
// leaves free.
#define RESERVE_ALONE_B  UINT64_C(139586437)
#define RESERVE_SHARED_B UINT64_C(590558003)

const char *const memory_term_names[MEMORY_TERM_COUNT] = {
#define X(name, text) text,
    MEMORY_TERM_LIST(X)
#undef X
};

uint64_t memory_kv_B(const Pool *pool, const Arch *arch, uint32_t stage, uint64_t tokens) {
    return memory_cache_sequence_B(pool, arch, stage, tokens, PAGE_TOKENS);
}

uint64_t memory_reserve_B(const Pool *pool) {
    return pool_ranks(pool) > 1 ? RESERVE_SHARED_B : RESERVE_ALONE_B;
}

uint64_t memory_over_B(const MemoryUse *use) {
    return use->total_B > use->usable_B ? use->total_B - use->usable_B : 0;
}

static uint64_t fitting_sequences(const MemoryUse *use, uint64_t sequence_B) {
    uint64_t fixed = wide_add_saturate(
        use->term_B[MEMORY_WEIGHTS],
        wide_add_saturate(use->term_B[MEMORY_BUFFERS], use->term_B[MEMORY_RESERVE]));
    if (fixed > use->usable_B) return 0;
    return sequence_B > 0 ? (use->usable_B - fixed) / sequence_B : UINT64_MAX;
}

void memory_use(const Plan *plan, uint32_t pool_index, const Arch *arch, const Device *device,
                const Scenario *scenario, uint64_t sequences, uint64_t buffers_B, MemoryUse *out) {
    const Pool *pool = &plan->pools[pool_index];
    Arena arena = {0};
    ShardSummary shards;
    shard_weights(plan, pool_index, arch, &arena, &shards);
    MemoryUse fullest = {0};
    uint64_t most = UINT64_MAX;
    for (uint32_t stage = 0; stage < pool->pp; stage++) {
        uint64_t kv_B = memory_kv_B(pool, arch, stage, scenario->isl + scenario->osl);
        uint64_t state_B = memory_cache_state_B(pool, arch, stage);
        MemoryUse use = {.stage = stage, .sequences = sequences};
        use.usable_B = wide_mul_div(device_low(device->memory_B), scenario->memory_permille, 1000);
        use.term_B[MEMORY_WEIGHTS] = shards.stages[stage].largest_B;
        use.term_B[MEMORY_KV] = wide_mul_saturate(kv_B, sequences);
        use.term_B[MEMORY_STATE] = wide_mul_saturate(state_B, sequences);
        use.term_B[MEMORY_BUFFERS] = buffers_B;
        use.term_B[MEMORY_RESERVE] = memory_reserve_B(pool);
        for (uint32_t i = 0; i < MEMORY_TERM_COUNT; i++)
            use.total_B = wide_add_saturate(use.total_B, use.term_B[i]);
        uint64_t fitting = fitting_sequences(&use, wide_add_saturate(kv_B, state_B));
        if (fitting < most) most = fitting;
        if (stage == 0 || use.total_B > fullest.total_B) fullest = use;
    }
    fullest.most_sequences = most;
    arena_free(&arena);
    *out = fullest;
}

// "weights 205 GB, kv cache 2.00 GB and engine reserve 591 MB"
static void list_terms(const MemoryUse *use, Text *out) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < MEMORY_TERM_COUNT; i++) left += use->term_B[i] > 0;
    for (uint32_t i = 0; i < MEMORY_TERM_COUNT; i++) {
        if (use->term_B[i] == 0) continue;
        char bytes[UNITS_TEXT_MAX];
        const char *joint = out->length == 0 ? "" : left == 1 ? " and " : ", ";
        text_addf(out, "%s%s %s", joint, memory_term_names[i],
                  units_format_bytes(use->term_B[i], bytes));
        left--;
    }
}

bool memory_fits(const MemoryUse *use, Err *reason) {
    if (use->total_B <= use->usable_B) return true;
    char usable[UNITS_TEXT_MAX], over[UNITS_TEXT_MAX];
    Text terms = {0};
    list_terms(use, &terms);
    err_set(reason, "%s exceed the usable %s by %s", text_string(&terms),
            units_format_bytes(use->usable_B, usable),
            units_format_bytes(memory_over_B(use), over));
    text_free(&terms);
    return false;
}
