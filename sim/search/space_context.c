// What context parallelism can gain, before anything is lowered.
//
// Invariant: where reading is compared, a plan that deals caches out and is left out here has a
// longer decode step than the one that does not. Dealing them to n ranks saves n - 1 of n parts of
// the time in which the caches are read; it adds three collectives of a step or more, and a kernel,
// in each layer that has such a cache (lower_context.c), each with its fixed times.
#include "sim/search/space_context.h"

#include <inttypes.h>

#include "model/base/num.h"
#include "model/base/units.h"
#include "model/base/wide.h"
#include "model/plan/memory_cache.h"
#include "model/plan/plan_legal.h"

#define COLLECTIVES 3 // of a layer: queries, sums of the scores, heads
#define PARTS_TRIED 4 // of the copies, beside all of them
#define PART_SAVED  4 // of what a step reads; plans that save less are tried as neighbours of others

// Tokens of a chunk for each rank that shares it: from as many on does vLLM cut a prefill step in
// two (--dbo-prefill-token-threshold).
#define SHARE_LEAST 512

uint32_t space_context_most_dealt(const Pool *pool, const Arch *arch) {
    uint32_t most = plan_legal_most_dealt(pool, arch);
    return most > 0 ? most : 1;
}

static uint32_t dealt_layers(const Pool *pool, const Arch *arch) {
    Pool dealing = *pool;
    uint32_t count = 0;
    dealing.dcp = 2;
    for (uint32_t i = 0; i < arch->layers; i++) {
        const AttentionSpec *spec =
            &arch->attentions[arch->kinds[arch->kind_of_layer[i]].attention];
        uint32_t blocks = spec->per_layer > 1 ? spec->per_layer : 1;
        if (memory_cache_ways(&dealing, spec) > 1) count += blocks;
    }
    return count;
}

// The caches of one micro-batch in the stage that has most, times all stages.
static uint64_t step_cache_B(const Pool *pool, const MemoryUse *use) {
    return wide_mul_div_up(use->term_B[MEMORY_KV], pool->pp, pool->micro_batches);
}

// What dealing adds to a layer, at least.
static double layer_s(const Calib *calib) {
    static const CalibParam steps[] = {CALIB_NVLINK_STEP, CALIB_PCIE_STEP, CALIB_NET_STEP};
    double least = calib->values[steps[0]].value;
    for (size_t i = 1; i < sizeof steps / sizeof *steps; i++)
        if (calib->values[steps[i]].value < least) least = calib->values[steps[i]].value;
    return COLLECTIVES * (calib->values[CALIB_COLLECTIVE].value + least) +
           calib->values[CALIB_KERNEL].value;
}

// Less than a part of what a step reads at most: weights and caches.
static PlaceFault check_part(const Pool *pool, const MemoryUse *use, Err *text) {
    uint64_t cache_B = step_cache_B(pool, use), saved_B = cache_B - cache_B / pool->dcp;
    uint64_t weights_B = wide_mul_saturate(use->term_B[MEMORY_WEIGHTS], pool->pp);
    uint64_t least_B = wide_add_saturate(cache_B, weights_B) / PART_SAVED;
    if (memory_over_B(use) > 0 || saved_B >= least_B) return (PlaceFault){0};
    char cache[UNITS_TEXT_MAX], weights[UNITS_TEXT_MAX];
    err_set(text, "saves reading %s beside weights of %s", units_format_bytes(saved_B, cache),
            units_format_bytes(weights_B, weights));
    return (PlaceFault){LEDGER_SKIPPED,
                        "decode context parallelism saves less than a quarter of what a step reads "
                        "(tried around the first plans)",
                        (double)least_B / (double)(saved_B > 0 ? saved_B : 1) - 1};
}

static PlaceFault check_gain(const Pool *pool, const Arch *arch, const PriceModel *model,
                             const MemoryUse *use, Err *text) {
    uint32_t layers = dealt_layers(pool, arch);
    uint64_t cache_B = step_cache_B(pool, use);
    Time reads = price_memory(model, 0, cache_B).memory_ps, saved = reads - reads / pool->dcp;
    Time added = num_round(layer_s(model->calib) * layers * (double)PS_PER_SECOND);
    if (memory_over_B(use) > 0 || saved > added) return (PlaceFault){0};
    char cache[UNITS_TEXT_MAX], less[UNITS_TEXT_MAX], more[UNITS_TEXT_MAX];
    err_set(text,
            "saves %s of a step that reads %s of caches, and adds at least %s in %" PRIu32
            " layers",
            units_format_time(saved, less), units_format_bytes(cache_B, cache),
            units_format_time(added, more), layers);
    return (PlaceFault){LEDGER_SKIPPED,
                        "decode context parallelism takes longer than what it saves of reading",
                        (double)added / (double)(saved > 0 ? saved : 1) - 1};
}

PlaceFault space_context_untried(const Pool *pool, const Arch *arch, const PriceModel *model,
                                 const MemoryUse *use, Err *text) {
    uint32_t most = space_context_most_dealt(pool, arch), dcp = pool->dcp;
    if (dcp != most && dcp != most / PARTS_TRIED) {
        err_set(text, "dcp %" PRIu32 " of %" PRIu32 " copies, tried with all and a quarter of them",
                dcp, most);
        return (PlaceFault){LEDGER_SKIPPED,
                            "decode context parallelism to neither all copies nor a quarter of "
                            "them",
                            (double)most / dcp - 1};
    }
    if (model == NULL) return (PlaceFault){0};
    PlaceFault fault = check_gain(pool, arch, model, use, text);
    return fault.reason == NULL ? check_part(pool, use, text) : fault;
}

PlaceFault space_context_unshared(const Scenario *scenario, uint32_t cp, Err *text) {
    uint64_t chunk =
        scenario->prefill_chunk < scenario->isl ? scenario->prefill_chunk : scenario->isl;
    if (chunk / cp >= SHARE_LEAST) return (PlaceFault){0};
    err_set(text,
            "%" PRIu64 " of %" PRIu64 " tokens of a chunk on each of %" PRIu32
            " ranks, expected at least %d",
            wide_div_up_u64(chunk, cp), chunk, cp, SHARE_LEAST);
    return (PlaceFault){LEDGER_SKIPPED, "prefill context parallelism with few tokens on each rank",
                        (double)SHARE_LEAST * cp / (double)chunk - 1};
}
