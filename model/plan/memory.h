// Memory of one GPU under a plan, by term, and whether it fits.
#ifndef MODEL_PLAN_MEMORY_H
#define MODEL_PLAN_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/machine/device.h"
#include "model/moe/arch.h"
#include "model/plan/memory_cache.h"
#include "model/plan/plan.h"
#include "model/plan/scenario.h"

#define MEMORY_TERM_LIST(X)                                                                        \
    X(WEIGHTS, "weights")                                                                          \
    X(KV, "kv cache")                                                                              \
    X(STATE, "recurrent state")                                                                    \
    X(BUFFERS, "buffers")                                                                          \
    X(RESERVE, "engine reserve")
typedef enum MemoryTerm {
#define X(name, text) MEMORY_##name,
    MEMORY_TERM_LIST(X)
#undef X
        MEMORY_TERM_COUNT
} MemoryTerm;
extern const char *const memory_term_names[MEMORY_TERM_COUNT];

// Of one GPU, the fullest of its pool. Sums saturate at UINT64_MAX.
typedef struct MemoryUse {
    uint64_t term_B[MEMORY_TERM_COUNT];
    uint64_t total_B, usable_B; // usable = device memory (low end) x memory fraction
    uint32_t stage;             // of the fullest rank
    uint64_t sequences;      // per attention-DP rank that were counted (the concurrency asked for)
    uint64_t most_sequences; // that would fit, at isl + osl tokens each
} MemoryUse;

// Bytes of cache that one sequence of `tokens` tokens takes on each rank of a stage, in pages of 64
// tokens (memory_cache.h; constant state comes on top).
uint64_t memory_kv_B(const Pool *pool, const Arch *arch, uint32_t stage, uint64_t tokens);

// What the engine and its libraries hold besides (context, communicators); the source is in
// memory.c.
uint64_t memory_reserve_B(const Pool *pool);

// `buffers_B` is schedule_peak_B of the larger of the two phases. `sequences`: per attention-DP
// rank, summed over micro-batches: each stage keeps the cache of all of them.
void memory_use(const Plan *plan, uint32_t pool, const Arch *arch, const Device *device,
                const Scenario *scenario, uint64_t sequences, uint64_t buffers_B, MemoryUse *out);
// False with every term, so that the sum can be done by hand: "weights 205 GB, kv cache 2.00 GB and
// engine reserve 591 MB exceed the usable 167 GB by 41.1 GB".
bool memory_fits(const MemoryUse *use, Err *reason);
// Bytes over; 0 when it fits.
uint64_t memory_over_B(const MemoryUse *use);

#endif
