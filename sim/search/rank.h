// All candidates simulated, limits applied, ordered, ties found.
#ifndef SIM_SEARCH_RANK_H
#define SIM_SEARCH_RANK_H

#include "sim/search/evaluate.h"
#include "sim/search/space.h"

#define RANK_DRAWS 200 // common parameter draws for ties
#define RANK_SEED  42

typedef struct RankRow {
    Plan plan;
    MemoryUse memory;
    uint64_t sequences; // per attention-DP rank and micro-batch
    const char *note;   // what the user should know of it, "" for nothing
    Evaluation evaluation;
    double ratio_low, ratio_high; // 95 % interval of (this plan's tok/s/GPU) / (the leader's)
    bool ties; // 1 lies inside it; the leader is marked when another plan ties with it
} RankRow;

typedef struct Ranking {
    RankRow *rows; // best first, by tok/s/GPU, then by the numbers of the plan; heap
    uint32_t row_count, row_capacity;
    uint32_t simulated;          // space.considered minus those rejected before simulation
    uint32_t ties;               // rows that tie with the leader, the leader not counted
    double median_tok_s_per_gpu; // of all simulated plans, those that miss a limit included; 0 when
                                 // none
    Space space;                 // with the ledger, limits included
} Ranking;

// Simulates every candidate, all with experts placed in the same way. Plans that miss a limit, and
// plans that cannot be simulated, go to the ledger.
bool rank_plans(const EvaluateInput *input, const SpaceExperts *experts, Ranking *out, Err *err);
void rank_free(Ranking *ranking);

#endif
