// What the parts of pools share.
#ifndef SIM_SEARCH_POOLS_INTERNAL_H
#define SIM_SEARCH_POOLS_INTERNAL_H

#include "sim/search/pools.h"

#define POOLS_CURVE_MAX 16

typedef struct PoolsPoint {
    double sequences; // per attention-DP rank and micro-batch
    double tpot_s;
} PoolsPoint;

// An instance of one phase, from GPU 0 on.
typedef struct PoolsShape {
    Pool pool;
    uint32_t gpus;
    MemoryUse memory; // without sequences; its most_sequences is what fits
    // Prefill: whole prompts of a step on each attention-DP rank; the rate of the instance.
    uint64_t prompts;
    double requests_s;
    Time prefill_ps;
    // Decode: steps by batch, ascending.
    PoolsPoint curve[POOLS_CURVE_MAX];
    uint32_t points;
} PoolsShape;

typedef struct PoolsShapes {
    PoolsShape *items; // heap
    uint32_t count, capacity;
} PoolsShapes;

// Decode beside transfers, as it was simulated last: leaders that share a decode pool follow each
// other. A zeroed one is empty.
typedef struct PoolsBeside {
    bool is_set, is_done;
    Digest key;
    Time slower_ps, round_ps; // by how much a step is longer; of a round of caches
    Err reason;
} PoolsBeside;

typedef struct PoolsSearch {
    EvaluateInput input; // with a memory
    const PoolsSpec *spec;
    const Device *device;
    uint32_t gpus; // both pools together at most
    PoolsRanking *ranking;
    PoolsShapes prefill, decode; // those worth pairing
    PoolsBeside beside;
} PoolsSearch;

// A pair of shapes with its numbers of instances.
typedef struct PoolsPair {
    uint32_t prefill, decode; // index of the shape
    uint32_t x, y;
    double requests_s; // upper bound
    double value;      // requests/s for each GPU that is paid for
    double batch;      // sequences per attention-DP rank and micro-batch
    double user_s;     // tok/s/user at that batch
    PoolsLimit limit;
} PoolsPair;

// What a pair has to live with.
typedef struct PoolsTerms {
    double outside_s; // a request spends outside of decode: prefill and exposed transfer
    double hold_s;    // a decode slot is taken before it decodes
    double most_s;    // requests/s that links carry; 0: not known
} PoolsTerms;

// Sequences, of which there are whole ones.
static inline uint64_t pools_round_up(double value) {
    uint64_t whole = (uint64_t)value;
    return whole + ((double)whole < value);
}

// ---- pools_shape.c: the instances of a phase that are worth pairing.
bool pools_shape_find(PoolsSearch *search, Phase phase, PoolsShapes *out, Err *err);
Plan pools_shape_plan(const PoolsShape *shape); // of one pool

// ---- pools_solve.c: arithmetic of a ratio.
// Step time at a batch, on the lines between the points that were simulated.
double pools_solve_tpot_s(const PoolsShape *decode, double batch);
void pools_solve(const PoolsSearch *search, const PoolsTerms *terms, PoolsPair *pair);
// Fills x and y of a pair of shapes with the best ratio; false when no ratio has a place.
bool pools_solve_best(const PoolsSearch *search, PoolsPair *pair);
// Called with every ratio of a pair of shapes that is tried, whether or not it has a place.
typedef struct PoolsVisitor {
    void (*visit)(void *context, const PoolsSearch *search, const PoolsPair *pair);
    void *context;
} PoolsVisitor;
void pools_solve_each(const PoolsSearch *search, const PoolsPair *shapes, PoolsVisitor visitor);

// ---- pools_run.c
// pools_evaluate, with what was simulated last.
bool pools_run_plan(const EvaluateInput *input, const Plan *plan, uint64_t batch,
                    PoolsBeside *memory, PoolsRow *out, Err *err);
// Whole prompts of a prefill step on each attention-DP rank.
uint64_t pools_run_prompts(const Scenario *scenario, const Pool *pool);
// Buffers of the largest step of so many sequences (or prompts) on the fullest rank of a pool.
uint64_t pools_run_buffers_B(const EvaluateInput *input, const Plan *plan, uint32_t pool,
                             uint64_t sequences);

// ---- pools_place.c: where two pools lie.
typedef struct PoolsPlace {
    uint32_t prefill, decode; // first GPUs
} PoolsPlace;
#define POOLS_PLACES_MAX 8
// All that is tried, without repeats; 0: they do not fit.
uint32_t pools_place_list(const PoolsSearch *search, const PoolsPair *pair,
                          PoolsPlace out[POOLS_PLACES_MAX]);

// ---- pools_move.c: caches on the links.
// Both pools of the plan at their place. Fills cache_B to link_Bps of *out.
bool pools_move_run(const EvaluateInput *input, const Plan *plan, Time prefill_ps, PoolsMove *out,
                    Time *out_hold_ps, Err *err);

// ---- pools_beside.c
// A decode instance at this batch, while every attention-DP rank of it receives one cache after the
// other; what comes out is in *memory.
bool pools_beside_run(const EvaluateInput *input, const Plan *plan, uint64_t sequences,
                      uint64_t moved_B, PoolsBeside *memory);

#endif
