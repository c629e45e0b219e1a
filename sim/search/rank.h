// Candidates bounded, the promising ones simulated, limits applied, ordered, ties found.
#ifndef SIM_SEARCH_RANK_H
#define SIM_SEARCH_RANK_H

#include "sim/search/evaluate.h"
#include "sim/search/objective.h"
#include "sim/search/space.h"

#define RANK_DRAWS 200 // common parameter draws for ties
#define RANK_SEED  42

#define RANK_AROUND_MAX 8

typedef struct RankRow {
    Plan plan;
    MemoryUse memory;
    uint64_t sequences; // per attention-DP rank and micro-batch
    const char *note;   // what the user should know of it, "" for nothing
    Evaluation evaluation;
    double ratio_low, ratio_high; // 95 % interval of (this plan's score) / (the leader's)
    bool ties; // 1 lies inside it; the leader is marked when another plan ties with it
} RankRow;

// What must be simulated. FIRST: the rows shown alone; ties are not looked for. LEADERS: also all
// that tie with the first. FRONT: also all that no other plan beats in both tok/s/GPU and
// tok/s/user. ALL: every candidate.
typedef enum RankScope { RANK_FIRST, RANK_LEADERS, RANK_FRONT, RANK_ALL } RankScope;

typedef struct RankOptions {
    Objective objective;
    RankScope scope;
    uint32_t top;    // rows that are shown
    uint32_t around; // plans of which neighbours are tried that the space does not have: no
                     // overlap, other micro-batches, dispatch in chunks, caches dealt out; at
                     // most RANK_AROUND_MAX
    bool is_quiet;   // draws no progress: the caller does
    SpaceWidth width;
} RankOptions;

typedef struct Ranking {
    RankRow *rows; // best first, by the objective, then by the numbers of the plan; heap
    uint32_t row_count, row_capacity;
    Objective objective;
    EvaluatePaid paid;
    uint32_t simulated;          // those that miss a limit included
    uint32_t pruned;             // neither simulated nor over a limit
    uint32_t ties;               // rows that tie with the leader, the leader not counted
    double median_tok_s_per_gpu; // of all candidates, upper bounds of those not simulated; 0: none
    Space space;                 // with the ledger, limits included
} Ranking;

// Rows are those of simulating every candidate, up to the first that was pruned; pruned ones are in
// the ledger, with the best of their bounds. All plans place experts in the same way. The memory of
// the input, if it has one, is used and kept. Plans that miss a limit, and plans that cannot be
// simulated, go to the ledger.
bool rank_search(const EvaluateInput *input, const SpaceExperts *experts,
                 const RankOptions *options, Ranking *out, Err *err);
// By throughput, every candidate simulated.
bool rank_plans(const EvaluateInput *input, const SpaceExperts *experts, Ranking *out, Err *err);

// Whether the figures of a plan keep both limits of the workload; else what is over is added to the
// text: "TPOT 61.0 ms is over the limit of 50.0 ms".
bool rank_keeps_limits(const Scenario *scenario, const Evaluation *evaluation, Text *over);
// Below, equal to or above 0 as the first plan comes before the second when their figures are
// equal.
int rank_compare_plans(const Plan *left, const Plan *right);
void rank_free(Ranking *ranking);

#endif
