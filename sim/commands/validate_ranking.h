// Rankings: whether the order in which plans are predicted is that in which they were measured.
//
// Rows of a ranking file that share case, metric and load are a group. A group is scored when it
// has two plans or more, all of which are simulated; else it has the reason why not. Scores stand
// beside two baselines: plans in random order, and the widest TP within a node first.
#ifndef SIM_COMMANDS_VALIDATE_RANKING_H
#define SIM_COMMANDS_VALIDATE_RANKING_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/moe/match.h"
#include "model/report/rank_score.h"
#include "model/report/record.h"
#include "sim/commands/validate_predict.h"
#include "sim/commands/validate_ranking_plan.h"

typedef struct ValidateRankingPlan {
    uint32_t row;               // of the file
    char label[96];             // "" when it was not simulated
    double predicted, measured; // in the unit of the metric
    double tp_in_node;
} ValidateRankingPlan;

typedef struct ValidateRankingGroup {
    const char *case_id, *metric, *load;
    ValidateRankingPlan *plans;
    uint32_t plan_count;
    ValidateRankingReason reason; // NONE: scored
    const char *text;             // of the reason, "" when it says all
    RankScore predicted, random, widest;
} ValidateRankingGroup;

// Means over scored groups; `top` over those with more than RANK_SCORE_TOP plans.
typedef struct ValidateRankingMean {
    const char *metric; // NULL: of all
    bool is_apart;      // not in the mean of all: predicted without queueing
    uint32_t groups, scored, large;
    RankScore predicted, random, widest;
} ValidateRankingMean;

typedef struct ValidateRanking {
    ValidateRankingGroup *groups; // in the order of their first rows
    ValidateRankingMean *means;   // by metric, in that order
    ValidateRankingMean all;
    uint32_t group_count, mean_count, simulated;
} ValidateRanking;

// `metrics` NULL: of all. Everything is the arena's. The context's folder of models is set.
bool validate_ranking_run(const RecordFile *file, const Match *metrics, ValidateContext *context,
                          Arena *arena, ValidateRanking *out, Err *err);

#endif
