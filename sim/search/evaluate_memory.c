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
    for (uint32_t i = 0; i < memory->placed_count; i++) load_free(&memory->placed[i].load);
    mem_free(memory->placed);
    keymap_free(&memory->placed_by_key);
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

// ---- Placed loads

static Digest placed_key(const Pool *pool, const PlacedSpec *spec) {
    Digest key = hash_u64(hash_string(HASH_START, "placed"), pool->ep);
    key = hash_u64(hash_u64(key, pool->redundant_experts), spec->nodes);
    if (spec->load != NULL) key = hash_u64(key, spec->load->digest);
    if (spec->expected != NULL) key = hash_u64(key, spec->expected->digest);
    return key;
}

// Borrowed: the arena stays with the memory.
static Placed lend(const Placed *placed) {
    Placed lent = *placed;
    lent.load.arena = (Arena){0};
    return lent;
}

bool evaluate_memory_placed(EvaluateMemory *memory, const Pool *pool, const Arch *arch,
                            const PlacedSpec *spec, Placed *out, Err *err) {
    bool is_shared = memory != NULL && pool->expert_placement == EXPERT_PLACEMENT_EPLB;
    if (!is_shared) return placed_load(pool, arch, spec, out, err);
    Digest key = placed_key(pool, spec);
    uint32_t found = keymap_find(&memory->placed_by_key, key);
    if (found != KEYMAP_NONE) {
        *out = lend(&memory->placed[found]);
        return true;
    }
    if (!placed_load(pool, arch, spec, out, err)) return false;
    if (memory->placed_count == EVALUATE_PLACED_MAX) return true;
    memory->placed = mem_grow(memory->placed, &memory->placed_capacity, memory->placed_count + 1,
                              sizeof *memory->placed);
    keymap_add(&memory->placed_by_key, key, memory->placed_count);
    memory->placed[memory->placed_count++] = *out;
    *out = lend(out);
    return true;
}
