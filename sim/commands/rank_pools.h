// rank --pools: separate pools of prefill and decode, beside unified plans.
#ifndef SIM_COMMANDS_RANK_POOLS_H
#define SIM_COMMANDS_RANK_POOLS_H

#include "model/base/cli.h"
#include "sim/commands/inputs.h"
#include "sim/search/pools.h"
#include "sim/search/rank.h"

// In order of the choices.
typedef enum RankPools { RANK_POOLS_UNIFIED, RANK_POOLS_SEPARATE, RANK_POOLS_BOTH } RankPools;

// What --pools separate or both asks for; returns the exit status.
int rank_pools_command(const CliArgs *args, const Inputs *inputs);

// What simulate does with a saved plan of separate pools; returns the exit status.
int rank_pools_simulate(const CliArgs *args, const PlanFile *file);

// Options of rank that say nothing of separate pools are refused.
bool rank_pools_check(const CliArgs *args, Err *err);

// What is shown: pools, and with `both` the best unified plan (NULL: not asked for, or none).
typedef struct RankPoolsAnswer {
    const Inputs *inputs;
    const PoolsRanking *pools; // NULL: there can be none, and `reason` says why
    const char *reason;
    const RankRow *unified;
    EvaluatePaid paid; // whose GPUs tok/s/GPU counts
    bool is_both;
    uint32_t shown; // pools
} RankPoolsAnswer;

void rank_pools_show_text(const RankPoolsAnswer *answer, Text *out);
void rank_pools_show_csv(const RankPoolsAnswer *answer, Text *out);
void rank_pools_show_json(const RankPoolsAnswer *answer, Text *out);
// One row by its parts, and whether it is what was saved.
void rank_pools_show_row(const Inputs *inputs, const PoolsRow *row, bool is_reproduced, Text *out);
void rank_pools_show_simulation(const Inputs *inputs, const PoolsRow *row, bool is_reproduced,
                                Text *out); // the same as JSON
// The prediction of a saved plan of two pools, as JSON.
void rank_pools_show_result(const char *assume, const PoolsRow *row, Text *out);

#endif
