// Remembers from plan to plan.
//
// Invariant: the key of a phase has all of the plan and of the scenario that its schedule, its
// shapes and its place depend on; what only the other phase reads is left out, so that plans that
// differ in that alone share it.
#include "sim/search/evaluate_memory.h"

#include "model/base/mem.h"

EvaluateMemory *evaluate_memory_open(const EvaluateInput *input) {
    EvaluateMemory *memory = mem_alloc(1, sizeof *memory);
    *memory = (EvaluateMemory){0};
    memory->chooser = choose_open(input->fabric, input->model, CHOOSE_REGULAR);
    memory->routes = fold_memory_open(input->fabric);
    return memory;
}

void evaluate_memory_close(EvaluateMemory *memory) {
    if (memory == NULL) return;
    choose_close(memory->chooser);
    fold_memory_close(memory->routes);
    mem_free(memory->phases);
    keymap_free(&memory->by_key);
    mem_free(memory);
}

Digest evaluate_memory_key(const EvaluateInput *input, const Plan *plan, Phase phase,
                           uint64_t sequences, EvaluateDepth depth) {
    const Scenario *scenario = input->scenario;
    Digest key = hash_u64(hash_u64(lower_digest(plan, phase), sequences), (uint64_t)phase);
    key = hash_u64(key, (uint64_t)depth);
    key = hash_u64(hash_u64(key, scenario->isl), scenario->prefill_chunk);
    switch (phase) {
    case PHASE_PREFILL: break;
    case PHASE_DECODE: key = hash_u64(key, scenario->osl); break;
    }
    return key;
}

const EvaluatedPhase *evaluate_memory_find(const EvaluateMemory *memory, Phase phase, Digest key) {
    if (memory->bounds[phase].is_set && memory->bounds[phase].key == key)
        return &memory->bounds[phase].phase;
    uint32_t found = keymap_find(&memory->by_key, key);
    return found == KEYMAP_NONE ? NULL : &memory->phases[found];
}

void evaluate_memory_keep(EvaluateMemory *memory, Phase phase, Digest key, EvaluateDepth depth,
                          const EvaluatedPhase *evaluated) {
    switch (depth) {
    case EVALUATE_BOUND:
        memory->bounds[phase].is_set = true;
        memory->bounds[phase].key = key;
        memory->bounds[phase].phase = *evaluated;
        break;
    case EVALUATE_SIMULATED:
        if (memory->phase_count == EVALUATE_PHASES_MAX) return;
        memory->phases = mem_grow(memory->phases, &memory->phase_capacity, memory->phase_count + 1,
                                  sizeof *memory->phases);
        keymap_add(&memory->by_key, key, memory->phase_count);
        memory->phases[memory->phase_count++] = *evaluated;
        break;
    }
}
