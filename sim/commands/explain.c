// The command explain: time by constant and by class of operation, links, memory, constants, and
// what the result hangs on; of two plans, why they differ.
//
// The head adds a cycle up, prefill and decode; all below is of one of the two. Classes are summed
// over the member that works longest, for one pass: its streams overlap, so that its classes may
// add up to more than the pass.
#include "sim/commands/explain.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/table.h"
#include "sim/commands/degrade_plan.h"
#include "sim/commands/explain_compare.h"
#include "sim/commands/explain_plan.h"
#include "sim/commands/explain_pools.h"
#include "sim/commands/explain_source.h"
#include "sim/commands/explain_step.h"
#include "sim/commands/explain_vary.h"
#include "sim/commands/explain_write.h"
#include "sim/commands/flow_eps.h"
#include "sim/commands/load_option.h"
#include "sim/commands/output.h"
#include "sim/commands/rank_show.h"
#include "sim/search/space_fit.h"

#define PS 1e-12 // seconds in a picosecond

typedef enum Format { FORMAT_TABLE, FORMAT_JSON, FORMAT_CSV } Format;

// ---- The cycle

static void show_result(const Evaluation *e, Text *out) {
    char time[UNITS_TEXT_MAX], number[OUTPUT_NUMBER_MAX];
    text_addf(out, "result     %s tok/s/GPU", output_number(e->tok_s_per_gpu, number));
    if (e->usd_per_mtok > 0)
        text_addf(out, ", $%s per million output tokens", output_number(e->usd_per_mtok, number));
    text_addf(out, ", %s tok/s/user", output_number(e->tok_s_per_user, number));
    text_addf(out, ", TTFT %s", units_format_time(e->ttft_ps, time));
    text_addf(out, ", TPOT %s\n", units_format_time(e->tpot_ps, time));
}

static void show_cycle(const Inputs *inputs, const Pool *pool, const Evaluation *e, Text *out) {
    char time[UNITS_TEXT_MAX];
    uint64_t prompts = inputs->sequences * pool->micro_batches, steps = inputs->scenario.osl - 1;
    double prefill_s = (double)e->prefill_ps * PS;
    double decode_s = (double)steps * (double)e->tpot_ps * PS;
    double cycle_s = prefill_s + decode_s, largest_s = e->cycle.part_s[e->bottleneck];
    text_addf(out, "cycle      %s: ", explain_plan_time(cycle_s, time));
    text_addf(out, "prefill of %" PRIu64 " prompt%s on each attention-DP rank %s (%.1f %%), ",
              prompts, prompts == 1 ? "" : "s", explain_plan_time(prefill_s, time),
              explain_plan_percent(prefill_s, cycle_s));
    text_addf(out, "%" PRIu64 " decode step%s %s (%.1f %%)\n", steps, steps == 1 ? "" : "s",
              explain_plan_time(decode_s, time), explain_plan_percent(decode_s, cycle_s));
    text_addf(out, "bottleneck %s: %s, %.1f %% of the cycle\n\n", evaluate_part_name(e->bottleneck),
              explain_plan_time(largest_s, time), explain_plan_percent(largest_s, cycle_s));
}

// ---- Memory

// The same reckoning as rank's; a plan that was edited may not fit, which is said.
static bool find_memory(const Inputs *inputs, const Plan *plan, MemoryUse *use, Text *out) {
    FitInput input = {.arch = &inputs->arch,
                      .device = inputs->device,
                      .scenario = &inputs->scenario,
                      .sequences = inputs->sequences};
    Err reason = {0};
    if (space_fit_full(&input, plan, use, &reason) == NULL) return true;
    text_addf(out, "\ndoes not fit: %s\n", reason.text);
    return false;
}

// ---- The command

static void show(const ExplainPlan *plan, const ExplainInfluences *influences, Text *out) {
    char label[PLAN_TEXT_MAX], product[PLAN_TEXT_MAX];
    const Inputs *inputs = &plan->inputs;
    const Pool *pool = &plan->plan.pools[0];
    rank_show_inputs(inputs, out);
    text_addf(out, "plan       %s, GPUs %s\n", plan_label(&plan->file.plan, label),
              plan_gpu_product(&plan->file.plan, product));
    load_option_show_experts(&inputs->arch, pool, &plan->evaluation, out);
    text_add(out, "flow eps   ");
    flow_eps_add(inputs->flow_eps_ppb, plan->evaluation.flow_eps_error_ppb, out);
    text_add_char(out, '\n');
    show_result(&plan->evaluation, out);
    show_cycle(inputs, pool, &plan->evaluation, out);
    explain_step_show(plan, out);
    MemoryUse use;
    if (find_memory(inputs, &plan->plan, &use, out)) explain_step_memory(&use, out);
    explain_vary_show_influences(plan, influences, out);
    explain_source_constants(plan, out);
    explain_source_machine(plan, out);
    explain_source_model(plan, out);
}

// What does not depend on the faults of --degrade, in an open document.
typedef struct Open {
    Text *out;
    JsonWriter json;
    Table csv;
} Open;

static void say_plan(Format format, const ExplainPlan *plan, const ExplainInfluences *influences,
                     Open *open) {
    switch (format) {
    case FORMAT_TABLE: show(plan, influences, open->out); break;
    case FORMAT_JSON: explain_write_plan(&open->json, plan, influences); break;
    case FORMAT_CSV: explain_write_rows(&open->csv, plan, influences); break;
    }
}

static void say_degraded(Format format, const ExplainPlan *plan, const DegradePlan *degraded,
                         Open *open) {
    switch (format) {
    case FORMAT_TABLE:
        degrade_plan_show(&plan->inputs, &plan->evaluation, degraded, open->out);
        break;
    case FORMAT_JSON:
        degrade_plan_write(&open->json, degraded);
        explain_write_end(&open->json);
        break;
    case FORMAT_CSV:
        explain_write_degraded(&open->csv, degraded);
        table_print_csv(&open->csv, open->out);
        break;
    }
}

// The faults replace the machine, so that all else is said before.
static int explain(const CliArgs *args, ExplainPlan *plan, Err *err) {
    ExplainInfluences influences;
    DegradePlan degraded = {0};
    Text out = {0};
    Open open = {.out = &out, .json = {.text = &out}};
    Format format = (Format)cli_choice(args, "format");
    if (!explain_plan_evaluate(args, plan, err) ||
        !explain_vary_influences(args, plan, &influences, err))
        return output_bad(err);
    say_plan(format, plan, &influences, &open);
    bool done = degrade_plan_price(args, &plan->file.plan, &plan->inputs, &degraded, err);
    if (done) say_degraded(format, plan, &degraded, &open);
    degrade_plan_free(&degraded);
    table_free(&open.csv);
    if (done) return output_text(&out, OUTPUT_OK);
    text_free(&out);
    return output_bad(err);
}

// ---- Two plans

// Both on the machine with the faults of --degrade.
static bool open_second(const CliArgs *args, ExplainPlan *plan, Err *err) {
    if ((cli_is_given(args, "degrade") && !inputs_degrade(args, &plan->inputs, err)) ||
        !explain_plan_evaluate(args, plan, err))
        return false;
    if (plan->step.has_why) return true;
    *err = plan->step.unknown;
    return err_prefix(err, "%s", plan->path);
}

static void show_both(const ExplainPlan *a, const ExplainPlan *b, const ExplainFlips *flips,
                      Text *out) {
    explain_compare_show(a, b, out);
    explain_vary_show_flips(a, b, flips, out);
    explain_source_constants(a, out);
    if (b->inputs.calib.digest != a->inputs.calib.digest) explain_source_constants(b, out);
    explain_source_machine(a, out);
    if (b->inputs.topology.digest != a->inputs.topology.digest) explain_source_machine(b, out);
    explain_source_model(a, out);
    if (b->inputs.arch.digest != a->inputs.arch.digest) explain_source_model(b, out);
}

static int compare(const CliArgs *args, ExplainPlan *a, ExplainPlan *b, Err *err) {
    ExplainFlips flips;
    Text out = {0};
    if (!open_second(args, a, err) || !open_second(args, b, err) ||
        !explain_vary_flips(args, a, b, &flips, err))
        return output_bad(err);
    switch ((Format)cli_choice(args, "format")) {
    case FORMAT_TABLE: show_both(a, b, &flips, &out); break;
    case FORMAT_JSON: explain_write_both_json(a, b, &flips, &out); break;
    case FORMAT_CSV: explain_write_both_csv(a, b, &flips, &out); break;
    }
    return output_text(&out, OUTPUT_OK);
}

static int explain_unified(const CliArgs *args, Err *err) {
    ExplainPlan plans[2] = {0};
    bool is_pair = args->operand_count == 2, done = true;
    for (uint32_t i = 0; done && i < args->operand_count; i++)
        done = explain_plan_read(args, args->operands[i], &plans[i], err);
    int status = !done     ? output_bad(err)
                 : is_pair ? compare(args, &plans[0], &plans[1], err)
                           : explain(args, &plans[0], err);
    explain_plan_close(&plans[0]);
    explain_plan_close(&plans[1]);
    return status;
}

int explain_command(const CliArgs *args) {
    Err err = {0};
    bool has_pools = false;
    for (uint32_t i = 0; i < args->operand_count; i++) {
        bool is_pooled;
        if (!explain_pools_are(args->operands[i], &is_pooled, &err)) return output_bad(&err);
        has_pools = has_pools || is_pooled;
    }
    return has_pools ? explain_pools_command(args, &err) : explain_unified(args, &err);
}
