// Figures of one published plan, simulated: what a row of a ranking file says becomes a machine, a
// model, a workload and a plan.
//
// The plan is that of the row, with the algorithms that simulation finds fastest. Where the memory
// model finds no room for all requests, as many run as fit.
#ifndef SIM_COMMANDS_VALIDATE_RANKING_PLAN_H
#define SIM_COMMANDS_VALIDATE_RANKING_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/report/record.h"
#include "sim/commands/validate_predict.h"
#include "sim/commands/validate_ranking_ask.h"

typedef struct ValidateRankingFigures {
    ValidateRankingReason reason; // NONE: simulated
    Err text;                     // else in full
    double ttft_s, tpot_s;        // unloaded; of the decode step
    double output_tok_s;          // of all GPUs of the plan
    double isl, osl, gpus;
    uint32_t tp_in_node; // TP (of decode) when it lies inside a node, else 0
    char label[96];      // of the plan
} ValidateRankingFigures;

// What plans are simulated with; remembers all of them.
typedef struct ValidateRankingPlans ValidateRankingPlans;
// Borrows the context, whose folder of models does not change.
bool validate_ranking_plan_open(ValidateContext *context, ValidateRankingPlans **out, Err *err);
void validate_ranking_plan_close(ValidateRankingPlans *plans); // NULL is allowed
// Of a row of a ranking file; lives until the next call.
const ValidateRankingFigures *validate_ranking_plan_figures(ValidateRankingPlans *plans,
                                                            const RecordFile *file, uint32_t row);
// Plans simulated so far.
uint32_t validate_ranking_plan_count(const ValidateRankingPlans *plans);

#endif
