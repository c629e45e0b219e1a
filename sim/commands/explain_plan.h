// A saved plan with its inputs, evaluated, and the step that is explained: what the parts of the
// command explain share.
#ifndef SIM_COMMANDS_EXPLAIN_PLAN_H
#define SIM_COMMANDS_EXPLAIN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/cli.h"
#include "model/base/err.h"
#include "model/base/text.h"
#include "sim/commands/inputs.h"
#include "sim/search/why_link.h"
#include "sim/search/why_vary.h"

// The phase that is explained, of an ExplainPlan.
typedef struct ExplainStep {
    const char *name;  // "TPOT", "prefill step"
    const char *cycle; // what the parts add up to: "TPOT", "prefill of a cycle"
    const EvaluatePhase *phase;
    const EvaluateParts *parts;
    double seconds; // that the parts add up to
    uint32_t lag;   // passes from one to the next of the same micro-batch
    bool is_decode;
    uint32_t member; // that works longest
    WhyLinks links;
    bool has_why;
    WhyStep why; // else `unknown` says why not
    Err unknown;
} ExplainStep;

// Pointers inside: not moved.
typedef struct ExplainPlan {
    const char *path;
    PlanFile file; // as it was saved
    Plan plan;     // what is explained: all of it, or one instance of one of its pools
    Inputs inputs;
    EvaluateInput input;
    WhyPlan why;
    Evaluation evaluation;
    ExplainStep step;
    WhyLab *lab;
} ExplainPlan;

// Reads the plan and its inputs, evaluates it, and follows the step of --phase. Freed by
// explain_plan_close, also after a failure.
bool explain_plan_read(const CliArgs *args, const char *path, ExplainPlan *out, Err *err);
bool explain_plan_evaluate(const CliArgs *args, ExplainPlan *plan, Err *err);
// The same of a given phase; of separate pools, of an instance of the pool that does it, whose
// batch is `sequences`.
bool explain_plan_evaluate_phase(ExplainPlan *plan, Phase phase, Err *err);
bool explain_plan_read_pool(const CliArgs *args, const char *path, uint32_t pool, ExplainPlan *out,
                            Err *err);
bool explain_plan_evaluate_pool(ExplainPlan *plan, Phase phase, uint64_t sequences, Err *err);
void explain_plan_close(ExplainPlan *plan);

// From one pass to the next in the last round of micro-batches; with one round, all of it.
double explain_plan_pass_s(const ExplainStep *step);
const Role *explain_plan_role(const ExplainStep *step, uint32_t member);

// The sums of all operations of one name, or of one class, of a member in a pass.
typedef struct ExplainComm {
    const char *name;
    OpClass op_class;
    double instances, bytes, transfer_s, exposed_s, bound_s;
} ExplainComm;
// Rows for at most op_count names; returns how many.
uint32_t explain_plan_comms(const ExplainStep *step, ExplainComm *rows);

// For tables.
char *explain_plan_time(double seconds, char *buffer); // of UNITS_TEXT_MAX
double explain_plan_percent(double part, double whole);

#endif
