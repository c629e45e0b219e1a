// What fits: the memory of each stage of a plan under an engine, the longest context and the most
// sequences that there is room for.
#ifndef MODEL_PLAN_MEMORY_FIT_H
#define MODEL_PLAN_MEMORY_FIT_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/plan/memory_engine.h"
#include "model/plan/memory_page.h"
#include "model/plan/plan.h"

// ACTIVATIONS: the most that a step or the start-up holds at once. OTHER: context and libraries.
#define MEMORY_PART_LIST(X)                                                                        \
    X(WEIGHTS, "weights")                                                                          \
    X(KV, "kv cache")                                                                              \
    X(STATE, "recurrent state")                                                                    \
    X(ACTIVATIONS, "activations")                                                                  \
    X(COMMUNICATION, "communication buffers")                                                      \
    X(OTHER, "engine reserve")                                                                     \
    X(GRAPHS, "cuda graphs")
typedef enum MemoryPart {
#define X(name, text) MEMORY_PART_##name,
    MEMORY_PART_LIST(X)
#undef X
        MEMORY_PART_COUNT
} MemoryPart;
extern const char *const memory_fit_part_names[MEMORY_PART_COUNT];

typedef struct MemoryInput {
    const Plan *plan; // legal for arch (plan_legal)
    uint32_t pool;
    const Arch *arch;
    const MemoryEngine *engine;
    MemoryGrouping grouping;  // MEMORY_GROUPING_COUNT: the engine's
    uint64_t memory_B;        // of one GPU, as a process sees it
    uint32_t memory_permille; // 0: the engine's default
    uint64_t context;         // tokens of a sequence, prompt and answer
    uint64_t sequences;       // at once, per attention-DP rank
    uint64_t chunk;           // new tokens of a step on one attention-DP rank; 0: the default
    uint64_t buffers_B;       // schedule_peak_B of a step of so many tokens; 0: without
    uint64_t away_weights_B, away_kv_B; // of one GPU, put into other memory
    bool with_mtp; // draft layers are loaded, on the last stage; their own cache is left out
} MemoryInput;

typedef struct MemoryStage {
    MemoryScope scope;
    uint32_t first_layer, layers;
    uint64_t part_B[MEMORY_PART_COUNT]; // KV and STATE: of the sequences asked for
    uint64_t inside_B, usable_B;        // of what the fraction covers; what it covers
    uint64_t beside_B, rest_B;          // of what lies beside it; room there
    uint64_t checkpoint_B, added_B;     // weights of the checkpoint, draft layers too; padding and
                                        // copies
    int64_t available_B;     // for cache and state, as engines print it: negative when too little
    uint64_t token_B;        // growth of the cache by a token
    uint64_t sequence_B;     // of one sequence of `context` tokens, pages and state
    uint64_t most_context;   // of one sequence alone, at most the model's
    uint64_t most_sequences; // of `context` tokens each
    MemoryPages pages;
} MemoryStage;

// The least over stages: an engine gives all stages equally many tokens.
typedef struct MemoryFit {
    MemoryStage *stages;           // [pp]
    uint32_t stage_count, fullest; // the stage with the least room for what was asked
    int64_t available_B;
    uint64_t most_context, most_sequences;
    uint64_t chunk; // that was reckoned with
} MemoryFit;

// Stages are the arena's.
bool memory_fit_find(const MemoryInput *input, Arena *arena, MemoryFit *out, Err *err);

// Bytes over in a stage, inside the fraction or beside it; 0 when what was asked for fits.
uint64_t memory_fit_over_B(const MemoryStage *stage);
// The part that does not fit any more when parts are put in one after the other: weights, engine
// reserve, communication buffers, graphs, activations, state, cache.
MemoryPart memory_fit_overflow(const MemoryStage *stage);
// False with the terms of the fullest stage, largest first, and the shortfall: "stage 1 of 2:
// weights 94.5 GB and kv cache 30.0 GB exceed the usable 120 GB by 4.5 GB".
bool memory_fit_holds(const MemoryFit *fit, Err *reason);

// Tokens of cache as vLLM prints them: sequences of `context` tokens that fit at once, with their
// fraction, times context.
uint64_t memory_fit_tokens(const MemoryFit *fit, uint64_t context);

#endif
