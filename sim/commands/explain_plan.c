// Reads and evaluates what explain explains.
//
// Invariant: the step that is followed is the one that evaluate_plan kept, with its algorithms.
#include "sim/commands/explain_plan.h"

#include <string.h>

#include "model/base/mem.h"
#include "model/base/num.h"
#include "sim/commands/flow_eps.h"

#define PS 1e-12 // seconds in a picosecond

char *explain_plan_time(double seconds, char *buffer) {
    return units_format_time(num_round(seconds * (double)PS_PER_SECOND), buffer);
}

double explain_plan_percent(double part, double whole) {
    return whole > 0 ? 100 * part / whole : 0;
}

bool explain_plan_read(const CliArgs *args, const char *path, ExplainPlan *out, Err *err) {
    *out = (ExplainPlan){.path = path};
    if (!plan_read(path, &out->file, err) ||
        !inputs_load_beside(path, &out->file, &out->inputs, err) ||
        !flow_eps_read(args, &out->inputs.flow_eps_ppb, err))
        return false;
    out->plan = out->file.plan;
    return true;
}

bool explain_plan_read_pool(const CliArgs *args, const char *path, uint32_t pool, ExplainPlan *out,
                            Err *err) {
    *out = (ExplainPlan){.path = path};
    if (!plan_read(path, &out->file, err) ||
        !inputs_load_pools(path, &out->file, &out->inputs, err) ||
        !flow_eps_read(args, &out->inputs.flow_eps_ppb, err))
        return false;
    out->plan = (Plan){.pool_count = 1};
    out->plan.pools[0] = out->file.plan.pools[pool];
    out->plan.pools[0].replicas = 1;
    return true;
}

static ExplainStep chosen_step(Phase phase, const Pool *pool, const Evaluation *e) {
    if (phase == PHASE_DECODE)
        return (ExplainStep){.name = "TPOT",
                             .cycle = "TPOT",
                             .phase = &e->decode_phase,
                             .parts = &e->decode,
                             .seconds = (double)e->tpot_ps * PS,
                             .lag = pool->micro_batches,
                             .is_decode = true};
    return (ExplainStep){.name = "prefill step",
                         .cycle = "prefill of a cycle",
                         .phase = &e->prefill_phase,
                         .parts = &e->prefill,
                         .seconds = (double)e->prefill_ps * PS,
                         .lag = 1};
}

static Time window_ps(const ExplainStep *step) {
    const Time *ends = step->phase->timeline.round_ps;
    uint32_t last = step->phase->timeline.round_count - 1;
    return last < step->lag ? ends[last] : ends[last] - ends[last - step->lag];
}

double explain_plan_pass_s(const ExplainStep *step) {
    bool is_first = step->phase->timeline.round_count <= step->lag;
    return (double)window_ps(step) * PS / (is_first ? 1 : step->lag);
}

// Of decode the rest of TPOT, so that terms add up to what is printed.
static Time engine_ps(const ExplainPlan *plan) {
    if (plan->step.is_decode) return plan->evaluation.tpot_ps - window_ps(&plan->step);
    return num_round(plan->inputs.calib.values[CALIB_STEP_OVERHEAD].value / PS);
}

// Of what was evaluated.
static bool follow(ExplainPlan *plan, Phase phase, Err *err) {
    ExplainStep *step = &plan->step;
    *step = chosen_step(phase, &plan->plan.pools[0], &plan->evaluation);
    step->member = why_busiest(step->phase);
    step->has_why =
        why_step(&plan->why, step->phase, step->lag, engine_ps(plan), &step->why, &step->unknown);
    return why_link_read(&plan->why, step->phase, &step->links, err);
}

static void open_input(ExplainPlan *plan, uint64_t sequences) {
    plan->input = inputs_for_evaluation(&plan->inputs);
    plan->input.keep_phases = true;
    plan->why = (WhyPlan){&plan->input, &plan->plan, sequences};
}

bool explain_plan_evaluate_phase(ExplainPlan *plan, Phase phase, Err *err) {
    open_input(plan, plan->inputs.sequences);
    if (!evaluate_plan(&plan->input, &plan->plan, plan->inputs.sequences, &plan->evaluation, err))
        return err_prefix(err, "%s", plan->path);
    plan->lab = why_vary_open(&plan->why);
    return follow(plan, phase, err);
}

bool explain_plan_evaluate_pool(ExplainPlan *plan, Phase phase, uint64_t sequences, Err *err) {
    open_input(plan, sequences);
    return (evaluate_one_phase(&plan->input, &plan->plan, phase, sequences, &plan->evaluation,
                               err) ||
            err_prefix(err, "%s", plan->path)) &&
           follow(plan, phase, err);
}

bool explain_plan_evaluate(const CliArgs *args, ExplainPlan *plan, Err *err) {
    return explain_plan_evaluate_phase(
        plan, cli_choice(args, "phase") == 0 ? PHASE_DECODE : PHASE_PREFILL, err);
}

void explain_plan_close(ExplainPlan *plan) {
    why_vary_close(plan->lab);
    why_link_free(&plan->step.links);
    why_step_free(&plan->step.why);
    evaluate_free(&plan->evaluation);
    inputs_free(&plan->inputs);
    plan_file_free(&plan->file);
    *plan = (ExplainPlan){0};
}

const Role *explain_plan_role(const ExplainStep *step, uint32_t member) {
    const EvaluatePhase *phase = step->phase;
    return &phase->schedule.roles[timeline_role(&phase->timeline, member)];
}

static ExplainComm *provide_comm(ExplainComm *rows, uint32_t *count, const Op *op) {
    for (uint32_t i = 0; i < *count; i++)
        if (strcmp(rows[i].name, op->name) == 0) return &rows[i];
    rows[*count] = (ExplainComm){.name = op->name, .op_class = op->op_class};
    return &rows[(*count)++];
}

uint32_t explain_plan_comms(const ExplainStep *step, ExplainComm *rows) {
    const Timeline *timeline = &step->phase->timeline;
    double passes = explain_plan_role(step, step->member)->passes;
    uint32_t count = 0;
    for (OpId op = 0; op < timeline->op_count; op++) {
        const OpTotal *total = &timeline->totals[(size_t)step->member * timeline->op_count + op];
        const Op *o = &step->phase->schedule.ops[op];
        if (!schedule_op_is_comm(o->kind) || total->instances == 0) continue;
        ExplainComm *row = provide_comm(rows, &count, o);
        row->instances += (double)total->instances / passes;
        row->bytes += (double)total->instances * (double)total->bytes / passes;
        row->transfer_s += (double)total->transfer_ps * PS / passes;
        row->exposed_s += (double)total->exposed_ps * PS / passes;
        row->bound_s += (double)total->bound_ps * PS / passes;
    }
    return count;
}
