// Plans of separate pools explained: both phases, the hand-over of caches, what the rates of the
// pools come to; and beside a plan of either kind, term by term.
#ifndef SIM_COMMANDS_EXPLAIN_POOLS_H
#define SIM_COMMANDS_EXPLAIN_POOLS_H

#include <stdbool.h>

#include "model/base/cli.h"
#include "model/base/err.h"
#include "model/base/table.h"
#include "sim/commands/explain_plan.h"
#include "sim/commands/explain_vary.h"
#include "sim/search/pools.h"

// A plan by its phases. Of separate pools each is an instance of the pool that does it, and the
// figures of its evaluation are those of the whole plan. Pointers inside: not moved.
typedef struct ExplainPools {
    bool is_pooled;
    PoolsRow row; // of separate pools
    EvaluateInput input;
    ExplainPlan phases[2]; // by Phase; what is simulated again is the lab of decode
} ExplainPools;

// Whether the file holds a plan of several pools.
bool explain_pools_are(const char *path, bool *out, Err *err);

// What explain does when a plan of separate pools is among its operands; returns the exit status.
int explain_pools_command(const CliArgs *args, Err *err);

// ---- Parts: explain_pools_show.c, explain_pools_compare.c

// Requests a second that each part of a plan could do if all others were without limit; 0: it does
// not exist.
typedef struct ExplainRates {
    double prefill, decode, links, in_flight, served;
} ExplainRates;
ExplainRates explain_pools_rates(const ExplainPools *plan);

// TTFT by what it is made of; of a unified plan prefill is all of it.
typedef struct ExplainFirst {
    Time prefill_ps, exposed_ps, step_ps;
} ExplainFirst;
ExplainFirst explain_pools_first(const ExplainPools *plan);

void explain_pools_show(const CliArgs *args, const ExplainPools *plan,
                        const ExplainInfluences *influences, Text *out);
void explain_pools_json(const ExplainPools *plan, const ExplainInfluences *influences, Text *out);
void explain_pools_csv(const ExplainPools *plan, const ExplainInfluences *influences, Text *out);

void explain_pools_compare_show(const ExplainPools *a, const ExplainPools *b,
                                const ExplainFlips *flips, Text *out);
void explain_pools_compare_json(const ExplainPools *a, const ExplainPools *b,
                                const ExplainFlips *flips, Text *out);
void explain_pools_compare_csv(const ExplainPools *a, const ExplainPools *b,
                               const ExplainFlips *flips, Text *out);

#endif
