// Which plans tie with the leader. Both are scaled by the same draws of all constants, so that what
// they share cancels.
#ifndef SIM_SEARCH_RANK_TIE_H
#define SIM_SEARCH_RANK_TIE_H

#include "sim/search/rank.h"

// Draws, and what the leader's score is under each.
typedef struct RankTie {
    Objective objective;
    EvaluateParts *draws; // [RANK_DRAWS], heap
    double *leader;       // [RANK_DRAWS], heap
} RankTie;

void rank_tie_open(const Calib *calib, Objective objective, RankTie *out);
void rank_tie_close(RankTie *tie);
void rank_tie_lead(RankTie *tie, const Evaluation *leader);
// Whether a plan may tie of which only an upper bound of the score is known, and what it consists
// of.
bool rank_tie_can(const RankTie *tie, double score, const EvaluateParts *parts);

// Below 0 when the left row comes first: by score, then by the numbers of the plans.
int rank_tie_compare(Objective objective, const RankRow *left, const RankRow *right);
// Orders the rows and marks those that tie with the first.
void rank_tie_order(const Calib *calib, Ranking *ranking);

#endif
