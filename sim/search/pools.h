// Separate pools: x instances that prefill and y that decode, joined by transfers of KV caches, and
// the ratio at which neither waits for the other.
//
// Workload: the closed loop of evaluate.h, of as many requests as the scenario's concurrency. A
// request is prefilled on one attention-DP rank of a prefill instance, its cache goes over the
// links of the machine to one of a decode instance, layer by layer as the prefill finishes them,
// and all of its `osl` tokens come out of decode steps. By Little's law the requests in flight are
// the rate times the time that each spends in prefill, in the exposed part of the transfer, and in
// decode; the rate is the largest one at which that holds and which the prefill instances, the
// links, and the memory of the decode instances allow.
#ifndef SIM_SEARCH_POOLS_H
#define SIM_SEARCH_POOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/plan/plan.h"
#include "sim/search/evaluate.h"
#include "sim/search/space.h"

// What keeps a pair of pools from serving more. BATCH: of a saved plan whose decode could hold
// more.
#define POOLS_LIMIT_LIST(X)                                                                        \
    X(CONCURRENCY, "concurrency")                                                                  \
    X(PREFILL, "prefill")                                                                          \
    X(MEMORY, "decode memory")                                                                     \
    X(BATCH, "decode batch")                                                                       \
    X(TRANSFER, "transfer")                                                                        \
    X(TPOT, "tpot limit")
typedef enum PoolsLimit {
#define X(name, text) POOLS_BY_##name,
    POOLS_LIMIT_LIST(X)
#undef X
        POOLS_LIMIT_COUNT
} PoolsLimit;
extern const char *const pools_limit_names[POOLS_LIMIT_COUNT];

// One pool as it works. Sequences are of an attention-DP rank (decode: of a micro-batch of it).
typedef struct PoolsSide {
    uint64_t sequences; // prefill: whole prompts of a step; decode: the batch
    uint64_t staging;   // prefill: caches held until they are sent; decode: slots that are received
                        // into, which are no room for decoding
    double requests_s;  // prefill: the most it can do; decode: at this batch
    MemoryUse memory;   // of the fullest GPU, staging included
    EvaluateParts step; // prefill: time of its prompts; decode: of a step without transfers beside
} PoolsSide;

// The hand-over of caches. `cache_B` counts each byte once, `moved_B` what ranks that hold the same
// receive too.
typedef struct PoolsMove {
    uint64_t cache_B, moved_B; // of one request
    Time transfer_ps;          // one request of each prefill rank of an instance at once, alone
    Time exposed_ps;           // of it, what is left when the last layer is computed
    double requests_s;         // that links carry when all prefill instances send at once
    LinkClass link_class;      // of the link that is fullest meanwhile
    char link[96];
    uint64_t link_B, link_Bps;          // over it; its capacity
    uint64_t class_B[LINK_CLASS_COUNT]; // of a request, over all links of a class
    // Decode beside transfers, in one simulation; false: they lengthen a step by less than 0.1 %,
    // or it could not be simulated together, and `beside_reason` says which.
    bool has_beside;
    Err beside_reason;
    Time tpot_alone_ps, tpot_beside_ps;
    double busy; // part of the time that a decode instance receives
} PoolsMove;

typedef struct PoolsRow {
    Plan plan; // a prefill pool, a decode pool, and the transfer between them
    PoolsSide prefill, decode;
    PoolsMove move;
    PoolsLimit limit;
    double requests_s;      // that are served
    double loop_requests_s; // that the requests in flight allow, by Little's law
    Time prefill_ps;        // of a prompt that does not queue
    Time ttft_ps;           // prefill_ps, the exposed part of the transfer, and a decode step
    Time tpot_ps;           // mean of steps with and without transfers beside them
    double output_tok_s, tok_s_per_user, tok_s_per_gpu, usd_per_mtok; // as EvaluateInput.paid
    uint32_t idle; // GPUs that belong to neither pool
} PoolsRow;

// What an instance and the number of them must be; 0: any.
typedef struct PoolsWish {
    uint32_t tp, pp, dp, ep, instances;
} PoolsWish;

// Another ratio of the instances of the best row, by arithmetic.
typedef struct PoolsRatio {
    uint32_t prefill, decode; // instances
    double requests_s;
    PoolsLimit limit;
} PoolsRatio;

typedef struct PoolsRanking {
    PoolsRow *rows; // best first, by tok/s/GPU; heap
    uint32_t row_count, row_capacity;
    PoolsRatio *ratios; // by prefill instances; heap
    uint32_t ratio_count, ratio_capacity;
    PoolsRow *others; // with POOLS_FRONT: rows besides that may stand on the front; heap
    uint32_t other_count, other_capacity;
    uint32_t pruned[2], simulated[2]; // shapes of an instance, by Phase
    uint32_t pairs, refined; // pairs of shapes whose best ratio was solved; that were simulated
    Space space;             // of shapes, with the ledger; rows over a limit are in it too
} PoolsRanking;

// Which plans are looked for: of one pool, of two, or the better of both.
typedef enum PoolsUse { POOLS_UNIFIED, POOLS_SEPARATE, POOLS_EITHER } PoolsUse;

// What is simulated. FRONT: also the ratios whose tok/s/GPU and tok/s/user, by the arithmetic that
// leaves transfers out, no other one beats in both; at most a few dozen, spread evenly.
typedef enum PoolsScope { POOLS_BEST, POOLS_FRONT } PoolsScope;

// Zeroed but for `most`: anything.
typedef struct PoolsSpec {
    SpaceExperts experts;
    PoolsWish wishes[2];         // by Phase
    uint32_t most;               // pairs of pools that are wanted
    uint32_t gpus;               // both pools together at most; 0: the machine
    const SpaceEngines *engines; // instances that all of them refuse are left out; NULL: none
    PoolsScope scope;
    const Plan *held; // these two pools and their numbers of instances alone, wherever they lie
                      // best; NULL: any
    bool is_quiet;    // draws no progress: the caller does
} PoolsSpec;

// The best pairs of pools. Refused: what can have no separate pools (one GPU, one token of answer,
// a model that keeps nothing), machines on which no two pools fit, and wishes that none meets.
bool pools_rank(const EvaluateInput *input, const PoolsSpec *spec, PoolsRanking *out, Err *err);
void pools_free(PoolsRanking *ranking);

// A plan of a prefill pool, a decode pool and one transfer, as pools_rank simulates it: `batch` is
// that of decode. Both kinds of rows are equal.
bool pools_evaluate(const EvaluateInput *input, const Plan *plan, uint64_t batch, PoolsRow *out,
                    Err *err);

// The figures that both kinds of plans have; no parts, no phases.
void pools_figures(const PoolsRow *row, Evaluation *out);

// "3P2D": prefill and decode instances.
char *pools_ratio_label(const Plan *plan, char *buffer); // of PLAN_TEXT_MAX bytes

#endif
