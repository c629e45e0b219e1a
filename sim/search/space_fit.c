// The fit test of the search.
//
// Invariant: what is called fitting holds the weights, the cache of all requests at full length,
// and the buffers of the largest prefill and decode steps that the evaluation of the plan will
// simulate.
#include "sim/search/space_fit.h"

#include <inttypes.h>

#include "model/base/units.h"
#include "model/plan/lower.h"
#include "model/plan/shard.h"

void space_fit_forget(FitMemory *memory) {
    for (uint32_t i = 0; i < 2; i++) schedule_free(&memory->lowered[i].schedule);
    *memory = (FitMemory){0};
}

Schedule *space_fit_lowered(FitMemory *memory, const Plan *plan, const Arch *arch, Phase phase) {
    Digest key = lower_digest(plan, phase);
    Schedule *schedule = &memory->lowered[phase].schedule;
    if (memory->lowered[phase].is_set && memory->lowered[phase].key == key) return schedule;
    schedule_free(schedule);
    lower_plan(plan, 0, arch, phase, 1, schedule);
    memory->lowered[phase].key = key;
    memory->lowered[phase].is_set = true;
    return schedule;
}

static uint64_t peak_B(FitMemory *memory, const Plan *plan, const Arch *arch, Phase phase,
                       const StepShape *shape) {
    const Schedule *schedule = space_fit_lowered(memory, plan, arch, phase);
    uint64_t most = 0;
    for (RoleId role = 0; role < schedule->role_count; role++) {
        uint64_t peak = schedule_peak_B(schedule, role, shape);
        if (peak > most) most = peak;
    }
    return most;
}

// The last chunk of a long prompt, or as many short prompts as one step takes.
static StepShape largest_prefill(const Scenario *scenario, uint64_t sequences) {
    uint64_t chunk = scenario->prefill_chunk, isl = scenario->isl;
    if (isl >= chunk) return step_shape_prefill(chunk, isl - chunk);
    uint64_t prompts = chunk / isl < sequences ? chunk / isl : sequences;
    return step_shape_prompts(prompts, isl);
}

// Of a phase, unless it is remembered.
static uint64_t find_peak_B(const FitInput *input, const Plan *plan, Phase phase,
                            const StepShape *shape) {
    FitMemory *memory = input->memory;
    Digest key =
        hash_u64(hash_u64(lower_digest(plan, phase), input->sequences), step_shape_digest(shape));
    if (!memory->last[phase].is_set || memory->last[phase].key != key) {
        memory->last[phase].peak_B = peak_B(memory, plan, input->arch, phase, shape);
        memory->last[phase].key = key;
        memory->last[phase].is_set = true;
    }
    return memory->last[phase].peak_B;
}

static uint64_t buffers_B(const FitInput *input, const Plan *plan, uint64_t sequences) {
    const Scenario *scenario = input->scenario;
    StepShape whole = largest_prefill(scenario, sequences);
    StepShape prefill = step_shape_cp(&whole, plan->pools[0].cp);
    StepShape decode = step_shape_decode(input->sequences, scenario->isl + scenario->osl);
    uint64_t prefill_B = find_peak_B(input, plan, PHASE_PREFILL, &prefill);
    uint64_t decode_B = find_peak_B(input, plan, PHASE_DECODE, &decode);
    return prefill_B > decode_B ? prefill_B : decode_B;
}

// "weights 1.64 TB over 8 GPUs: 205 GB and 591 MB of engine reserve on the fullest exceed the
// usable 167 GB by 39.1 GB per GPU"
static void describe_weights(const FitInput *input, const Plan *plan, const MemoryUse *use,
                             Err *text) {
    char all[UNITS_TEXT_MAX], one[UNITS_TEXT_MAX], reserve[UNITS_TEXT_MAX];
    char usable[UNITS_TEXT_MAX], over[UNITS_TEXT_MAX];
    Arena arena = {0};
    ShardSummary shards;
    shard_weights(plan, 0, input->arch, &arena, &shards);
    uint32_t gpus = pool_replica_ranks(&plan->pools[0]);
    err_set(text,
            "weights %s over %" PRIu32
            " GPU%s: %s and %s of engine reserve on the fullest exceed the usable %s by %s per GPU",
            units_format_bytes(shards.total_B, all), gpus, gpus == 1 ? "" : "s",
            units_format_bytes(use->term_B[MEMORY_WEIGHTS], one),
            units_format_bytes(use->term_B[MEMORY_RESERVE], reserve),
            units_format_bytes(use->usable_B, usable),
            units_format_bytes(memory_over_B(use), over));
    arena_free(&arena);
}

static void describe_cache(const MemoryUse *use, Err *text) {
    Err terms = {0};
    if (memory_fits(use, &terms)) return;
    err_set(text, "%s; %" PRIu64 " of %" PRIu64 " sequences per rank would fit", terms.text,
            use->most_sequences, use->sequences);
}

const char *space_fit_alone(const FitInput *input, const Plan *plan, MemoryUse *out, Err *text) {
    uint64_t sequences = input->sequences * plan->pools[0].micro_batches;
    memory_use(plan, 0, input->arch, input->device, input->scenario, 0, 0, out);
    if (memory_over_B(out) > 0) {
        describe_weights(input, plan, out, text);
        return "weights exceed the memory of a GPU";
    }
    memory_use(plan, 0, input->arch, input->device, input->scenario, sequences, 0, out);
    if (memory_over_B(out) == 0) return NULL;
    describe_cache(out, text);
    return "the cache of the concurrency does not fit beside the weights";
}

const char *space_fit_full(const FitInput *input, const Plan *plan, MemoryUse *out, Err *text) {
    uint64_t sequences = input->sequences * plan->pools[0].micro_batches;
    FitMemory own = {0};
    FitInput remembering = *input;
    if (input->memory == NULL) remembering.memory = &own;
    memory_use(plan, 0, input->arch, input->device, input->scenario, sequences,
               buffers_B(&remembering, plan, sequences), out);
    space_fit_forget(&own);
    if (memory_over_B(out) == 0) return NULL;
    describe_cache(out, text);
    return "the buffers of a step do not fit beside weights and cache";
}
