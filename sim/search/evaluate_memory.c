// Remembers from plan to plan.
//
// Invariant: the key of a phase has all of the plan that its schedule, its shapes and its place
// depend on; what only the other phase reads is left out, so that plans that differ in that alone
// share it.
#include "sim/search/evaluate_memory.h"

#include "model/base/mem.h"

EvaluateMemory *evaluate_memory_open(const EvaluateInput *input) {
    EvaluateMemory *memory = mem_alloc(1, sizeof *memory);
    memory->chooser = choose_open(input->fabric, input->model, CHOOSE_REGULAR);
    memory->routes = fold_memory_open(input->fabric);
    return memory;
}

void evaluate_memory_close(EvaluateMemory *memory) {
    if (memory == NULL) return;
    choose_close(memory->chooser);
    fold_memory_close(memory->routes);
    mem_free(memory);
}

static Digest key_of(const Plan *plan, Phase phase, uint64_t sequences) {
    return hash_u64(lower_digest(plan, phase), sequences);
}

const EvaluatedPhase *evaluate_memory_find(const EvaluateMemory *memory, const Plan *plan,
                                           Phase phase, uint64_t sequences) {
    if (!memory->last[phase].is_set || memory->last[phase].key != key_of(plan, phase, sequences))
        return NULL;
    return &memory->last[phase].phase;
}

void evaluate_memory_keep(EvaluateMemory *memory, const Plan *plan, Phase phase, uint64_t sequences,
                          const EvaluatedPhase *evaluated) {
    memory->last[phase].is_set = true;
    memory->last[phase].key = key_of(plan, phase, sequences);
    memory->last[phase].phase = *evaluated;
}
