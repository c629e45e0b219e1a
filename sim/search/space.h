// The plans to consider, and a ledger of those that are not: every combination is either kept or
// counted with its reason.
#ifndef SIM_SEARCH_SPACE_H
#define SIM_SEARCH_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/machine/fabric.h"
#include "model/moe/arch.h"
#include "model/plan/memory.h"
#include "model/plan/plan.h"
#include "model/plan/scenario.h"

// Why a plan is not in the table. SKIPPED: could run, but is left out of the search as one that
// another plan beats (a TP group across scale-up domains, a quarter of the machine idle) or that
// lies between those tried.
// MISSES_LIMIT is decided after simulation. NO_DATA: cannot be priced.
#define LEDGER_LIST(X)                                                                             \
    X(ILLEGAL, "illegal for the model")                                                            \
    X(NOT_FIT, "does not fit")                                                                     \
    X(ENGINE, "engine refuses")                                                                    \
    X(SKIPPED, "not searched")                                                                     \
    X(MISSES_LIMIT, "misses a limit")                                                              \
    X(NO_DATA, "no data")
typedef enum LedgerKind {
#define X(name, text) LEDGER_##name,
    LEDGER_LIST(X)
#undef X
        LEDGER_KIND_COUNT
} LedgerKind;
extern const char *const space_ledger_names[LEDGER_KIND_COUNT];

// One reason: a template of the message ("tp does not divide the attention heads"), how many plans
// it took, and the nearest miss.
typedef struct LedgerRow {
    LedgerKind kind;
    const char *reason;
    uint32_t count;
    double miss; // how far the nearest was off: bytes over, or a ratio - 1; smaller is nearer
    Plan nearest;
    const char *nearest_text; // the full message for the nearest plan
} LedgerRow;

typedef struct Candidate {
    Plan plan;
    MemoryUse memory;
    uint64_t sequences; // per attention-DP rank and micro-batch
    const char *note; // what the user should know of it, "" for nothing; lives as long as the Space
} Candidate;

typedef struct Space {
    Arena arena;
    Candidate *candidates; // heap
    uint32_t candidate_count, candidate_capacity;
    LedgerRow *ledger; // heap; ordered by kind, then count, then first occurrence
    uint32_t ledger_count, ledger_capacity;
    uint32_t considered; // candidates and rejected ones
} Space;

// How plans with more than one EP position place their experts; zeroed: in order.
typedef struct SpaceExperts {
    ExpertPlacement placement;
    uint32_t redundant;
} SpaceExperts;

// Enumerates TP x PP x DP x EP x MoE communication, and as many replicas as the machine holds, in
// an order that depends on nothing but the numbers. TP: powers of two and divisors of the heads.
// PP: powers of two; any depth for one replica with stages of whole scale-up domains. DP: the
// widest for each number of replicas, powers of two, and those whose stages are whole domains, cut
// a domain evenly, or divide the experts. EP: divisors of a stage's ranks; the rest is MoE-TP.
// Overlap: as plans are by default, and two batches in prefill, or in both phases, of plans that
// reach experts by all-to-all and are candidates; their kernels take the SMs that the catalogue
// says. Checks structure (plan_legal), placement (space_place.h) and memory (weights, cache of the
// scenario's concurrency, buffers of the lowered schedules). Fails when the memory of the GPUs is
// not known.
bool space_build(const Fabric *fabric, const Arch *arch, const Scenario *scenario,
                 const SpaceExperts *experts, Space *out, Err *err);

// Counts one more rejected plan, or all those of a row of another ledger (kind and reason are the
// key; strings are copied).
void space_reject(Space *space, LedgerKind kind, const char *reason, double miss, const Plan *plan,
                  const char *text);
void space_reject_row(Space *space, const LedgerRow *row);
// The row with the smallest miss among those of one kind; NULL when there is none.
const LedgerRow *space_nearest(const Space *space, LedgerKind kind);
void space_free(Space *space);

// Sequences of each attention-DP rank and micro-batch when `concurrency` requests spread evenly,
// rounded up.
uint64_t space_sequences(const Pool *pool, uint64_t concurrency);

#endif
