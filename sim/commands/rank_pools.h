// rank --pools: separate pools of prefill and decode, beside unified plans.
#ifndef SIM_COMMANDS_RANK_POOLS_H
#define SIM_COMMANDS_RANK_POOLS_H

#include "model/base/cli.h"
#include "model/base/table.h"
#include "sim/commands/inputs.h"
#include "sim/commands/rank_front.h"
#include "sim/commands/rank_option.h"
#include "sim/search/pools.h"
#include "sim/search/rank.h"

// The choices of --pools are in the order of PoolsUse.

// What --pools separate or both asks for; returns the exit status.
int rank_pools_command(const CliArgs *args, const Inputs *inputs);

// What simulate does with a saved plan of separate pools; returns the exit status.
int rank_pools_simulate(const CliArgs *args, const PlanFile *file);

// Options of rank that say nothing of separate pools are refused.
bool rank_pools_check(const CliArgs *args, Err *err);

// What pools are searched for; nothing is read without separate ones.
bool rank_pools_spec(const CliArgs *args, const Inputs *inputs, const RankOption *option,
                     PoolsSpec *out, Err *err);

// What is shown: pools, and with `both` the best unified plan (NULL: not asked for, or none).
typedef struct RankPoolsAnswer {
    const Inputs *inputs;
    const PoolsRanking *pools; // NULL: there can be none, and `reason` says why
    const char *reason;
    const RankRow *unified;
    EvaluatePaid paid; // whose GPUs tok/s/GPU counts
    bool is_both;
    uint32_t shown;   // pools
    RankFront *front; // of --pareto; NULL: it was not asked for
} RankPoolsAnswer;

void rank_pools_show_text(const RankPoolsAnswer *answer, Text *out);
// The same in parts: the headline, the table of what is shown, the transfer and the memory of the
// first pools with what the figures mean, other ratios of them, and how many were looked at.
void rank_pools_show_headline(const RankPoolsAnswer *answer, Text *out);
void rank_pools_show_table(const RankPoolsAnswer *answer, Table *out);
void rank_pools_show_best(const RankPoolsAnswer *answer, Text *out);
void rank_pools_show_ratios(const RankPoolsAnswer *answer, Table *out);
void rank_pools_show_counts(const RankPoolsAnswer *answer, Text *out);
void rank_pools_show_csv(const RankPoolsAnswer *answer, Text *out);
void rank_pools_show_json(const RankPoolsAnswer *answer, Text *out);
// The page of --save, as that of a ranking (report.h).
void rank_pools_report_html(const RankPoolsAnswer *answer, Text *out);
// One row by its parts, and whether it is what was saved.
void rank_pools_show_row(const Inputs *inputs, const PoolsRow *row, bool is_reproduced, Text *out);
void rank_pools_show_simulation(const Inputs *inputs, const PoolsRow *row, bool is_reproduced,
                                Text *out); // the same as JSON
// Of one row, a line each: its two pools; decode beside transfers.
void rank_pools_show_pools(const PoolsRow *row, Text *out);
void rank_pools_show_beside(const PoolsRow *row, Text *out);
// The prediction of a saved plan of two pools, as JSON.
void rank_pools_show_result(const char *assume, const PoolsRow *row, Text *out);
// Its figures, as members of the open object.
void rank_pools_show_figures(JsonWriter *writer, const PoolsRow *row);

#endif
