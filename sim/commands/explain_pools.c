// Opens plans of separate pools, and unified ones beside them, phase by phase.
//
// Invariant: the figures of the whole are those of pools_evaluate, which saved and replays them;
// the step of a phase is one of an instance alone, without transfers beside it.
#include "sim/commands/explain_pools.h"

#include "sim/commands/output.h"

#define PS 1e-12

typedef enum Format { FORMAT_TABLE, FORMAT_JSON, FORMAT_CSV } Format;

bool explain_pools_are(const char *path, bool *out, Err *err) {
    PlanFile file = {0};
    if (!plan_read(path, &file, err)) return false;
    *out = file.plan.pool_count > 1;
    plan_file_free(&file);
    return true;
}

static void close_plan(ExplainPools *plan) {
    for (uint32_t i = 0; i < 2; i++) explain_plan_close(&plan->phases[i]);
    *plan = (ExplainPools){0};
}

static bool check(const ExplainPlan *plan, Err *err) {
    if (plan->step.has_why) return true;
    *err = plan->step.unknown;
    return err_prefix(err, "%s", plan->path);
}

// Both phases show the figures and the constants of all of the plan.
static void set_figures(ExplainPools *plan) {
    Evaluation whole;
    EvaluateParts cycle = plan->row.prefill.step;
    pools_figures(&plan->row, &whole);
    for (uint32_t i = 0; i < EVALUATE_PARTS; i++)
        cycle.part_s[i] += plan->row.decode.step.part_s[i];
    for (uint32_t i = 0; i < 2; i++) {
        Evaluation *e = &plan->phases[i].evaluation;
        e->ttft_ps = whole.ttft_ps;
        e->tpot_ps = whole.tpot_ps;
        e->output_tok_s = whole.output_tok_s;
        e->tok_s_per_gpu = whole.tok_s_per_gpu;
        e->tok_s_per_user = whole.tok_s_per_user;
        e->usd_per_mtok = whole.usd_per_mtok;
        e->cycle = cycle;
    }
}

static bool open_pooled(const CliArgs *args, const char *path, ExplainPools *out, Err *err) {
    ExplainPlan *prefill = &out->phases[PHASE_PREFILL], *decode = &out->phases[PHASE_DECODE];
    if (!explain_plan_read_pool(args, path, 0, prefill, err) ||
        !explain_plan_read_pool(args, path, 1, decode, err))
        return false;
    const Plan *whole = &prefill->file.plan;
    out->input = inputs_for_ranking(&prefill->inputs);
    if (!pools_evaluate(&out->input, whole, prefill->inputs.sequences, &out->row, err))
        return err_prefix(err, "%s", path);
    if (!explain_plan_evaluate_pool(prefill, PHASE_PREFILL, out->row.prefill.sequences, err) ||
        !explain_plan_evaluate_pool(decode, PHASE_DECODE, out->row.decode.sequences, err))
        return false;
    set_figures(out);
    prefill->step.cycle = "the prompts of a step";
    decode->lab = why_vary_open(&(WhyPlan){&out->input, whole, prefill->inputs.sequences});
    return true;
}

static bool open_unified(const CliArgs *args, const char *path, ExplainPools *out, Err *err) {
    for (uint32_t i = 0; i < 2; i++)
        if (!explain_plan_read(args, path, &out->phases[i], err) ||
            !explain_plan_evaluate_phase(&out->phases[i], (Phase)i, err))
            return false;
    return true;
}

static bool open_plan(const CliArgs *args, const char *path, ExplainPools *out, Err *err) {
    return explain_pools_are(path, &out->is_pooled, err) &&
           (out->is_pooled ? open_pooled(args, path, out, err)
                           : open_unified(args, path, out, err));
}

// ---- What both kinds have

ExplainRates explain_pools_rates(const ExplainPools *plan) {
    const PoolsRow *row = &plan->row;
    const ExplainPlan *decode = &plan->phases[PHASE_DECODE];
    const Evaluation *e = &decode->evaluation;
    const Scenario *s = &decode->inputs.scenario;
    if (plan->is_pooled)
        return (ExplainRates){row->prefill.requests_s, row->decode.requests_s, row->move.requests_s,
                              row->loop_requests_s, row->requests_s};
    double steps = (double)(s->osl - 1);
    return (ExplainRates){
        .prefill = (double)e->requests / ((double)e->prefill_ps * PS),
        .decode = steps > 0 ? (double)e->requests / (steps * (double)e->tpot_ps * PS) : 0,
        .served = e->output_tok_s / (double)s->osl};
}

ExplainFirst explain_pools_first(const ExplainPools *plan) {
    if (!plan->is_pooled)
        return (ExplainFirst){.prefill_ps = plan->phases[PHASE_DECODE].evaluation.ttft_ps};
    return (ExplainFirst){plan->row.prefill_ps, plan->row.move.exposed_ps, plan->row.tpot_ps};
}

// ---- The command

static int explain(const CliArgs *args, Err *err) {
    ExplainPools plan = {0};
    ExplainInfluences influences;
    Text out = {0};
    int status = OUTPUT_BAD;
    if (open_plan(args, args->operands[0], &plan, err) &&
        explain_vary_influences(args, &plan.phases[PHASE_DECODE], &influences, err)) {
        switch ((Format)cli_choice(args, "format")) {
        case FORMAT_TABLE: explain_pools_show(args, &plan, &influences, &out); break;
        case FORMAT_JSON: explain_pools_json(&plan, &influences, &out); break;
        case FORMAT_CSV: explain_pools_csv(&plan, &influences, &out); break;
        }
        status = output_text(&out, OUTPUT_OK);
    } else {
        output_bad(err);
    }
    close_plan(&plan);
    return status;
}

static bool open_both(const CliArgs *args, ExplainPools plans[2], Err *err) {
    for (uint32_t i = 0; i < 2; i++)
        if (!open_plan(args, args->operands[i], &plans[i], err) ||
            !check(&plans[i].phases[PHASE_PREFILL], err) ||
            !check(&plans[i].phases[PHASE_DECODE], err))
            return false;
    return true;
}

static int compare(const CliArgs *args, Err *err) {
    ExplainPools plans[2] = {0}, *a = &plans[0], *b = &plans[1];
    ExplainFlips flips;
    Text out = {0};
    int status = OUTPUT_BAD;
    if (open_both(args, plans, err) &&
        explain_vary_flips(args, &a->phases[PHASE_DECODE], &b->phases[PHASE_DECODE], &flips, err)) {
        switch ((Format)cli_choice(args, "format")) {
        case FORMAT_TABLE: explain_pools_compare_show(a, b, &flips, &out); break;
        case FORMAT_JSON: explain_pools_compare_json(a, b, &flips, &out); break;
        case FORMAT_CSV: explain_pools_compare_csv(a, b, &flips, &out); break;
        }
        status = output_text(&out, OUTPUT_OK);
    } else {
        output_bad(err);
    }
    close_plan(a);
    close_plan(b);
    return status;
}

int explain_pools_command(const CliArgs *args, Err *err) {
    if (cli_is_given(args, "degrade")) {
        err_set(err, "--degrade: not done for plans of separate pools");
        return output_bad(err);
    }
    return args->operand_count == 2 ? compare(args, err) : explain(args, err);
}
