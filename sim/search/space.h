// The plans to consider, and a ledger of those that are not: every combination is either kept or
// counted with its reason.
#ifndef SIM_SEARCH_SPACE_H
#define SIM_SEARCH_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/cost/price.h"
#include "model/machine/fabric.h"
#include "model/moe/arch.h"
#include "model/plan/memory.h"
#include "model/plan/plan.h"
#include "model/plan/scenario.h"
#include "sim/search/space_engine.h"
#include "sim/search/space_experts.h"
#include "sim/search/space_fit.h"

// Why a plan is not in the table. SKIPPED: could run, but is left out of the search as one that
// another plan beats (a TP group across scale-up domains, a quarter of the machine idle) or that
// lies between those tried.
// MISSES_LIMIT and PRUNED are decided by simulation or by its lower bounds (evaluate_bound).
// NO_DATA: cannot be priced.
#define LEDGER_LIST(X)                                                                             \
    X(ILLEGAL, "illegal for the model")                                                            \
    X(NOT_FIT, "does not fit")                                                                     \
    X(ENGINE, "engine refuses")                                                                    \
    X(SKIPPED, "not searched")                                                                     \
    X(MISSES_LIMIT, "misses a limit")                                                              \
    X(PRUNED, "pruned")                                                                            \
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

// What is searched beside or instead of the usual; zeroed: the usual.
typedef struct SpaceWidth {
    // Plans use from `least` to `most` GPUs: `most`, and what doubling `least` comes to below it;
    // most 0: the machine.
    uint32_t least_gpus, most_gpus;
    bool any_moe_tp; // mixtures of EP and MoE-TP that no other search has
    // Bit p: plans in placement p, where it can differ; 0: LINEAR alone, and others around leaders.
    uint32_t placements;
    bool any_kv_format;          // KV caches in fp8 and in bf16, whatever the scenario says
    bool shares_prompts;         // ranks that share prompts (Pool.cp): they shorten the TTFT alone
    const PriceModel *model;     // of times that rule plans out; NULL: none do
    const SpaceEngines *engines; // plans that all of them refuse are left out; NULL: none
} SpaceWidth;

// Called with each candidate as it is added, before the next plan is looked at; `fits` has its
// schedules (space_fit_lowered).
typedef struct SpaceVisitor {
    void (*visit)(void *context, const Space *space, uint32_t candidate, FitMemory *fits);
    void *context;
} SpaceVisitor;

typedef struct SpaceOptions {
    SpaceExperts experts;
    SpaceWidth width;
    SpaceVisitor visitor; // visit NULL: none
} SpaceOptions;

// Enumerates TP x PP x DP x EP x MoE communication, and as many replicas as the machine holds, in
// an order that depends on nothing but the numbers. TP: powers of two and divisors of the heads.
// PP: powers of two; any depth for one replica with stages of whole scale-up domains; layers are
// cut by their cost (stage_cut.h). DP: the widest for each number of replicas, powers of two, and
// those whose stages are whole domains, cut a domain evenly, or divide the experts. EP: divisors of
// a stage's ranks; the rest is MoE-TP. Overlap: as plans are by default, and two batches in
// prefill, or in both phases, of plans that reach experts by all-to-all and are candidates; their
// kernels take the SMs that the catalogue says. DCP: all copies of caches, or a quarter,
// where reading them takes longer than dealing them (space_context.h). CP: powers of two with
// DP 1, of prompts that are long enough, when the search asks for them. Checks structure
// (plan_legal), placement (space_place.h) and memory (weights, cache of the scenario's concurrency,
// buffers of the lowered schedules). Fails when the memory of the GPUs is not known.
bool space_search(const Fabric *fabric, const Arch *arch, const Scenario *scenario,
                  const SpaceOptions *options, Space *out, Err *err);
// With no other options.
bool space_build(const Fabric *fabric, const Arch *arch, const Scenario *scenario,
                 const SpaceExperts *experts, Space *out, Err *err);

// Looks at one more plan, as if the search had come to it; the options are those of the search.
bool space_try(const Fabric *fabric, const Arch *arch, const Scenario *scenario,
               const SpaceOptions *options, const Plan *plan, Space *space, Err *err);

// Counts one more rejected plan, or all those of a row of another ledger (kind and reason are the
// key; strings are copied).
void space_reject(Space *space, LedgerKind kind, const char *reason, double miss, const Plan *plan,
                  const char *text);
void space_reject_row(Space *space, const LedgerRow *row);
// The row with the smallest miss among those of one kind; NULL when there is none.
const LedgerRow *space_nearest(const Space *space, LedgerKind kind);
// Of all kinds the one by which the least would have to change: a limit, data, the machine, the
// engine, the model.
const LedgerRow *space_nearest_miss(const Space *space);
void space_free(Space *space);

// Sequences of each attention-DP rank and micro-batch when `concurrency` requests spread evenly,
// rounded up.
uint64_t space_sequences(const Pool *pool, uint64_t concurrency);

#endif
