// The plans to consider, and a ledger of those that are not: every combination is either kept or counted with its reason.
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

// Why a plan is not in the table. MISSES_LIMIT is decided after simulation; NO_DATA: cannot be priced.
#define LEDGER_LIST(X)                                                                             \
    X(ILLEGAL, "illegal for the model") X(NOT_FIT, "does not fit") X(ENGINE, "engine refuses") X(MISSES_LIMIT, "misses a limit") X(NO_DATA, "no data")
typedef enum LedgerKind {
#define X(name, text) LEDGER_##name,
    LEDGER_LIST(X)
#undef X
        LEDGER_KIND_COUNT
} LedgerKind;
extern const char *const space_ledger_names[LEDGER_KIND_COUNT];

// One reason: a template of the message ("TP does not divide the query heads"), how many plans it took, and the nearest miss.
typedef struct LedgerRow {
    LedgerKind kind;
    const char *reason;
    uint32_t count;
    double miss;          // how far the nearest was off: bytes over, or ratio over the limit - 1; smaller is nearer
    Plan nearest;
    const char *nearest_text; // the full message for the nearest plan
} LedgerRow;

typedef struct Candidate {
    Plan plan;
    MemoryUse memory;
    uint64_t sequences; // per attention-DP rank and micro-batch
} Candidate;

typedef struct Space {
    Arena arena;
    Candidate *candidates;
    uint32_t candidate_count, candidate_capacity;
    LedgerRow *ledger; // ordered by kind, then count
    uint32_t ledger_count, ledger_capacity;
    uint32_t considered;
} Space;

// Enumerates TP x PP x DP x EP x MoE-TP x replicas x MoE communication that use GPUs of the fabric (as many as fit; replicas fill the machine), in an order that
// depends on nothing but the numbers. Checks structure (plan_legal), placement (a TP group inside one scale-up domain, ...) and memory (weights, KV of the
// scenario's concurrency, buffers of the lowered schedules).
bool space_build(const Fabric *fabric, const Arch *arch, const Scenario *scenario, Space *out, Err *err);
// Counts one more rejected plan (the reason's template is the key).
void space_reject(Space *space, LedgerKind kind, const char *reason, double miss, const Plan *plan, const char *text);
void space_free(Space *space);

#endif
