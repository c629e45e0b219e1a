// The command explain: time by constant and by class of operation, links, memory, constants, and
// what the result hangs on; of two plans, why they differ.
//
// The head adds a cycle up, prefill and decode; all below is of one of the two. Classes are summed
// over the member that works longest, for one pass: its streams overlap, so that its classes may
// add up to more than the pass.
#include "sim/commands/explain.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/mem.h"
#include "model/base/num.h"
#include "model/base/table.h"
#include "sim/commands/degrade_plan.h"
#include "sim/commands/explain_compare.h"
#include "sim/commands/explain_link.h"
#include "sim/commands/explain_plan.h"
#include "sim/commands/explain_source.h"
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

// ---- Time by what governs it

static void show_parts(const ExplainStep *step, const Calib *calib, Text *out) {
    Table table = {0};
    char text[UNITS_TEXT_MAX];
    table_column(&table, "time goes to", TABLE_LEFT);
    table_column(&table, "time", TABLE_RIGHT);
    table_column(&table, "share", TABLE_RIGHT);
    table_column(&table, "confidence", TABLE_LEFT);
    for (uint32_t i = 0; i < EVALUATE_PARTS; i++) {
        double part_s = step->parts->part_s[i];
        if (part_s <= 0) continue;
        table_cell(&table, evaluate_part_name(i));
        table_cell(&table, explain_plan_time(part_s, text));
        table_cellf(&table, "%.1f %%", explain_plan_percent(part_s, step->seconds));
        table_cell(&table,
                   i < CALIB_COUNT ? calib_provenance_names[calib->values[i].provenance] : "");
    }
    table_cell(&table, step->cycle);
    table_cell(&table, explain_plan_time(step->seconds, text));
    table_cell(&table, "100.0 %");
    table_cell(&table, "");
    table_print(&table, out);
    table_free(&table);
}

// ---- Time by class of operation

typedef struct ClassTotal {
    double busy_s, bound_s, exposed_s; // per pass
    double flop, bytes;
} ClassTotal;

static void add_classes(const EvaluatePhase *phase, uint32_t member, ClassTotal *classes) {
    const Timeline *timeline = &phase->timeline;
    double passes = phase->schedule.roles[timeline_role(timeline, member)].passes;
    for (OpId op = 0; op < timeline->op_count; op++) {
        const OpTotal *total = &timeline->totals[(size_t)member * timeline->op_count + op];
        ClassTotal *c = &classes[phase->schedule.ops[op].op_class];
        double instances = (double)total->instances / passes;
        c->busy_s += (double)total->busy_ps * PS / passes;
        c->bound_s += (double)total->bound_ps * PS / passes;
        c->exposed_s += (double)total->exposed_ps * PS / passes;
        c->flop += instances * (double)total->price.flop;
        c->bytes += instances * (double)total->bytes;
    }
}

static void add_class(Table *table, const char *name, const ClassTotal *c, double seconds) {
    char text[UNITS_TEXT_MAX], flop[OUTPUT_NUMBER_MAX];
    table_cell(table, name);
    table_cell(table, explain_plan_time(c->busy_s, text));
    table_cellf(table, "%.1f %%", explain_plan_percent(c->busy_s, seconds));
    table_cell(table, explain_plan_time(c->bound_s, text));
    table_cellf(table, "%.1f %%", explain_plan_percent(c->bound_s, c->busy_s));
    table_cell(table, c->flop > 0 ? output_number(c->flop / 1e9, flop) : "");
    table_cell(table, units_format_bytes((uint64_t)num_round(c->bytes), text));
    table_cell(table, c->exposed_s > 0 ? explain_plan_time(c->exposed_s, text) : "");
}

// What the pass below is of what the table above adds up.
static void show_pass(const ExplainStep *step, const Calib *calib, Text *out) {
    const StepShape *shape = &step->phase->shape;
    char pass[UNITS_TEXT_MAX], engine[UNITS_TEXT_MAX];
    explain_plan_time(explain_plan_pass_s(step), pass);
    explain_plan_time(calib->values[CALIB_STEP_OVERHEAD].value, engine);
    text_addf(out, "\n%s: ", step->cycle);
    if (!step->is_decode)
        text_addf(out,
                  "all passes over the prompts, each with %s of the engine; below is one pass of "
                  "%s, the last full chunk of one prompt: %" PRIu64 " new tokens after %" PRIu64
                  "\n",
                  engine, pass, shape->tokens, shape->kv_tokens - shape->tokens);
    else if (step->lag > 1)
        text_addf(out, "%u micro-batches, each a pass of %s and %s of the engine\n", step->lag,
                  pass, engine);
    else
        text_addf(out, "a pass of %s and %s of the engine\n", pass, engine);
}

static void show_classes(const ExplainStep *step, Text *out) {
    double seconds = explain_plan_pass_s(step);
    ClassTotal classes[OP_CLASS_COUNT] = {0}, sum = {0};
    uint32_t member = step->member;
    add_classes(step->phase, member, classes);
    static const char *const headers[] = {"class",    "time",  "of the pass", "bound",
                                          "roofline", "Gflop", "bytes",       "exposed"};
    Table table = {0};
    table_column(&table, headers[0], TABLE_LEFT);
    for (size_t i = 1; i < sizeof headers / sizeof *headers; i++)
        table_column(&table, headers[i], TABLE_RIGHT);
    for (uint32_t i = 0; i < OP_CLASS_COUNT; i++) {
        if (classes[i].busy_s <= 0) continue;
        add_class(&table, schedule_class_names[i], &classes[i], seconds);
        sum.busy_s += classes[i].busy_s;
        sum.bound_s += classes[i].bound_s;
        sum.exposed_s += classes[i].exposed_s;
        sum.flop += classes[i].flop;
        sum.bytes += classes[i].bytes;
    }
    add_class(&table, "all streams", &sum, seconds);
    text_addf(
        out,
        "the pass of %s, the busiest of %u; time of communication includes waiting for partners, "
        "exposed is what moves while nothing computes\n\n",
        explain_plan_role(step, member)->name, step->phase->timeline.member_count);
    table_print(&table, out);
    table_free(&table);
}

// ---- Algorithms of collectives

static void add_algorithm(Table *table, const ChooseTime *way) {
    char text[UNITS_TEXT_MAX];
    if (way->time_ps < 0) {
        table_cell(table, "no other fits");
        table_cell(table, "");
        return;
    }
    if (way->inner > 0)
        table_cellf(table, "%s, nodes of %u", algorithm_names[way->algorithm], way->inner);
    else
        table_cell(table, algorithm_names[way->algorithm]);
    table_cell(table, units_format_time(way->time_ps, text));
}

static void show_algorithms(const ChooseLog *choices, Text *out) {
    Table table = {0};
    char text[UNITS_TEXT_MAX];
    table_column(&table, "collective", TABLE_LEFT);
    table_column(&table, "ranks", TABLE_RIGHT);
    table_column(&table, "bytes", TABLE_RIGHT);
    table_column(&table, "chosen", TABLE_LEFT);
    table_column(&table, "time alone", TABLE_RIGHT);
    table_column(&table, "runner-up", TABLE_LEFT);
    table_column(&table, "time alone", TABLE_RIGHT);
    for (uint32_t i = 0; i < choices->count; i++) {
        const ChooseRow *row = &choices->rows[i];
        table_cellf(&table, "%s (%s)", row->name, collective_names[row->kind]);
        table_cellf(&table, "%u", row->n);
        table_cell(&table, units_format_bytes(row->bytes, text));
        add_algorithm(&table, &row->best);
        add_algorithm(&table, &row->second);
    }
    if (table.cell_count > 0) {
        text_add(out,
                 "\nalgorithms by simulated time, each collective alone in all its groups\n\n");
        table_print(&table, out);
    }
    table_free(&table);
}

// ---- Links

static void show_links(const ExplainStep *step, Text *out) {
    const Timeline *timeline = &step->phase->timeline;
    double seconds = (double)timeline->end_ps * PS;
    Table table = {0};
    char text[UNITS_TEXT_MAX];
    table_column(&table, "links", TABLE_LEFT);
    table_column(&table, "volume of a pass", TABLE_RIGHT);
    table_column(&table, "busiest link", TABLE_LEFT);
    table_column(&table, "effective bandwidth", TABLE_RIGHT);
    table_column(&table, "of capacity", TABLE_RIGHT);
    for (uint32_t i = 0; i < LINK_CLASS_COUNT; i++) {
        const LinkTotal *link = &timeline->links[i];
        if (link->bytes == 0) continue;
        double Bps = (double)link->busiest_B / seconds;
        table_cell(&table, topology_class_names[i]);
        table_cell(&table, units_format_bytes(link->bytes / timeline->round_count, text));
        table_cell(&table, link->busiest_name);
        table_cell(&table, units_format_rate((uint64_t)num_round(Bps), text));
        table_cellf(&table, "%.1f %%", explain_plan_percent(Bps, (double)link->busiest_Bps));
    }
    if (table.cell_count > 0) {
        text_add_char(out, '\n');
        table_print(&table, out);
    }
    table_free(&table);
}

// ---- Memory

// The same reckoning as rank's; a plan that was edited may not fit, which is said.
static bool find_memory(const Inputs *inputs, const PlanFile *file, MemoryUse *use, Text *out) {
    FitInput input = {.arch = &inputs->arch,
                      .device = inputs->device,
                      .scenario = &inputs->scenario,
                      .sequences = inputs->sequences};
    Err reason = {0};
    if (space_fit_full(&input, &file->plan, use, &reason) == NULL) return true;
    text_addf(out, "\ndoes not fit: %s\n", reason.text);
    return false;
}

static void show_memory(const MemoryUse *use, Text *out) {
    Table table = {0};
    char text[UNITS_TEXT_MAX];
    table_column(&table, "memory of the fullest GPU", TABLE_LEFT);
    table_column(&table, "bytes", TABLE_RIGHT);
    table_column(&table, "of usable", TABLE_RIGHT);
    for (uint32_t i = 0; i <= MEMORY_TERM_COUNT; i++) {
        uint64_t bytes = i < MEMORY_TERM_COUNT ? use->term_B[i] : use->total_B;
        table_cell(&table, i < MEMORY_TERM_COUNT ? memory_term_names[i] : "all");
        table_cell(&table, units_format_bytes(bytes, text));
        table_cellf(&table, "%.1f %%", explain_plan_percent((double)bytes, (double)use->usable_B));
    }
    text_addf(out,
              "\n%" PRIu64 " sequences on an attention-DP rank, %" PRIu64 " would fit; %s usable\n",
              use->sequences, use->most_sequences, units_format_bytes(use->usable_B, text));
    table_print(&table, out);
    table_free(&table);
}

// ---- The command

static void show(const ExplainPlan *plan, const ExplainInfluences *influences, Text *out) {
    char label[PLAN_TEXT_MAX], product[PLAN_TEXT_MAX];
    const Inputs *inputs = &plan->inputs;
    const Pool *pool = &plan->file.plan.pools[0];
    const ExplainStep *step = &plan->step;
    rank_show_inputs(inputs, out);
    text_addf(out, "plan       %s, GPUs %s\n", plan_label(&plan->file.plan, label),
              plan_gpu_product(&plan->file.plan, product));
    load_option_show_experts(&inputs->arch, pool, &plan->evaluation, out);
    text_add(out, "flow eps   ");
    flow_eps_add(inputs->flow_eps_ppb, plan->evaluation.flow_eps_error_ppb, out);
    text_add_char(out, '\n');
    show_result(&plan->evaluation, out);
    show_cycle(inputs, pool, &plan->evaluation, out);
    show_parts(step, &inputs->calib, out);
    show_pass(step, &inputs->calib, out);
    show_classes(step, out);
    explain_link_objective(step, out);
    explain_link_collectives(step, out);
    show_algorithms(&step->phase->choices, out);
    show_links(step, out);
    explain_link_bottleneck(step, "fullest:", out);
    MemoryUse use;
    if (find_memory(inputs, &plan->file, &use, out)) show_memory(&use, out);
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

int explain_command(const CliArgs *args) {
    ExplainPlan plans[2] = {0};
    Err err = {0};
    bool is_pair = args->operand_count == 2, done = true;
    for (uint32_t i = 0; done && i < args->operand_count; i++)
        done = explain_plan_read(args, args->operands[i], &plans[i], &err);
    int status = !done     ? output_bad(&err)
                 : is_pair ? compare(args, &plans[0], &plans[1], &err)
                           : explain(args, &plans[0], &err);
    explain_plan_close(&plans[0]);
    explain_plan_close(&plans[1]);
    return status;
}
