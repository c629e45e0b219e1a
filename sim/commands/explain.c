// The command explain: time by constant and by class of operation, links, memory, constants.
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
#include "sim/commands/flow_eps.h"
#include "sim/commands/inputs.h"
#include "sim/commands/load_option.h"
#include "sim/commands/output.h"
#include "sim/commands/rank_show.h"
#include "sim/search/space_fit.h"

#define PS 1e-12 // seconds in a picosecond

// What is explained.
typedef struct Step {
    const char *name;
    const EvaluatePhase *phase;
    const EvaluateParts *parts;
    double seconds; // that the parts add up to
    uint32_t lag;   // passes from one to the next of the same micro-batch
    bool is_decode;
} Step;

static char *seconds_text(double seconds, char *buffer) {
    return units_format_time(num_round(seconds * (double)PS_PER_SECOND), buffer);
}

static double percent(double part, double whole) {
    return whole > 0 ? 100 * part / whole : 0;
}

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
    text_addf(out, "cycle      %s: ", seconds_text(cycle_s, time));
    text_addf(out, "prefill of %" PRIu64 " prompt%s on each attention-DP rank %s (%.1f %%), ",
              prompts, prompts == 1 ? "" : "s", seconds_text(prefill_s, time),
              percent(prefill_s, cycle_s));
    text_addf(out, "%" PRIu64 " decode step%s %s (%.1f %%)\n", steps, steps == 1 ? "" : "s",
              seconds_text(decode_s, time), percent(decode_s, cycle_s));
    text_addf(out, "bottleneck %s: %s, %.1f %% of the cycle\n\n", evaluate_part_name(e->bottleneck),
              seconds_text(largest_s, time), percent(largest_s, cycle_s));
}

// ---- Time by what governs it

static void show_parts(const Step *step, const Calib *calib, Text *out) {
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
        table_cell(&table, seconds_text(part_s, text));
        table_cellf(&table, "%.1f %%", percent(part_s, step->seconds));
        table_cell(&table,
                   i < CALIB_COUNT ? calib_provenance_names[calib->values[i].provenance] : "");
    }
    table_cell(&table, step->name);
    table_cell(&table, seconds_text(step->seconds, text));
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

// Computing, and communication beside which nothing computes; that it waits for others is no work.
static Time work_time(const EvaluatePhase *phase, uint32_t member) {
    const Timeline *timeline = &phase->timeline;
    Time sum = 0;
    for (OpId op = 0; op < timeline->op_count; op++) {
        const OpTotal *total = &timeline->totals[(size_t)member * timeline->op_count + op];
        bool is_comm = schedule_op_is_comm(phase->schedule.ops[op].kind);
        sum += is_comm ? total->exposed_ps : total->busy_ps;
    }
    return sum;
}

static uint32_t busiest_member(const EvaluatePhase *phase) {
    uint32_t best = 0;
    for (uint32_t member = 1; member < phase->timeline.member_count; member++)
        if (work_time(phase, member) > work_time(phase, best)) best = member;
    return best;
}

static const Role *role_of(const EvaluatePhase *phase, uint32_t member) {
    return &phase->schedule.roles[timeline_role(&phase->timeline, member)];
}

static void add_classes(const EvaluatePhase *phase, uint32_t member, ClassTotal *classes) {
    const Timeline *timeline = &phase->timeline;
    double passes = role_of(phase, member)->passes;
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
    table_cell(table, seconds_text(c->busy_s, text));
    table_cellf(table, "%.1f %%", percent(c->busy_s, seconds));
    table_cell(table, seconds_text(c->bound_s, text));
    table_cellf(table, "%.1f %%", percent(c->bound_s, c->busy_s));
    table_cell(table, c->flop > 0 ? output_number(c->flop / 1e9, flop) : "");
    table_cell(table, units_format_bytes((uint64_t)num_round(c->bytes), text));
    table_cell(table, c->exposed_s > 0 ? seconds_text(c->exposed_s, text) : "");
}

// From one pass to the next in the last round of micro-batches; with one round, all of it.
static double pass_seconds(const Step *step) {
    const Time *ends = step->phase->timeline.round_ps;
    uint32_t last = step->phase->timeline.round_count - 1;
    if (last < step->lag) return (double)ends[last] * PS;
    return (double)(ends[last] - ends[last - step->lag]) * PS / step->lag;
}

// What the pass below is of what the table above adds up.
static void show_pass(const Step *step, const Calib *calib, Text *out) {
    const StepShape *shape = &step->phase->shape;
    char pass[UNITS_TEXT_MAX], engine[UNITS_TEXT_MAX];
    seconds_text(pass_seconds(step), pass);
    seconds_text(calib->values[CALIB_STEP_OVERHEAD].value, engine);
    text_addf(out, "\n%s: ", step->name);
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

static void show_classes(const Step *step, Text *out) {
    double seconds = pass_seconds(step);
    ClassTotal classes[OP_CLASS_COUNT] = {0}, sum = {0};
    uint32_t member = busiest_member(step->phase);
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
        role_of(step->phase, member)->name, step->phase->timeline.member_count);
    table_print(&table, out);
    table_free(&table);
}

// ---- Overlap

// Of all operations of one name that communicate, per pass.
typedef struct CommTotal {
    const char *name;
    double instances, bytes, transfer_s, exposed_s;
} CommTotal;

static CommTotal *provide_comm(CommTotal *rows, uint32_t *count, const char *name) {
    for (uint32_t i = 0; i < *count; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    rows[*count] = (CommTotal){.name = name};
    return &rows[(*count)++];
}

static uint32_t add_comms(const EvaluatePhase *phase, uint32_t member, CommTotal *rows) {
    const Timeline *timeline = &phase->timeline;
    double passes = role_of(phase, member)->passes;
    uint32_t count = 0;
    for (OpId op = 0; op < timeline->op_count; op++) {
        const OpTotal *total = &timeline->totals[(size_t)member * timeline->op_count + op];
        if (!schedule_op_is_comm(phase->schedule.ops[op].kind) || total->instances == 0) continue;
        CommTotal *row = provide_comm(rows, &count, phase->schedule.ops[op].name);
        row->instances += (double)total->instances / passes;
        row->bytes += (double)total->instances * (double)total->bytes / passes;
        row->transfer_s += (double)total->transfer_ps * PS / passes;
        row->exposed_s += (double)total->exposed_ps * PS / passes;
    }
    return count;
}

static void add_comm(Table *table, const CommTotal *row) {
    char text[UNITS_TEXT_MAX];
    table_cell(table, row->name);
    table_cellf(table, "%.0f", row->instances);
    table_cell(table, units_format_bytes((uint64_t)num_round(row->bytes), text));
    table_cell(table, seconds_text(row->transfer_s, text));
    table_cell(table, seconds_text(row->exposed_s, text));
    table_cellf(table, "%.1f %%", percent(row->transfer_s - row->exposed_s, row->transfer_s));
}

// What lies beside computing, and what nothing hides; the same member as above.
static void show_overlap(const Step *step, Text *out) {
    Table table = {0};
    uint32_t member = busiest_member(step->phase);
    CommTotal *rows = mem_alloc(step->phase->timeline.op_count, sizeof *rows);
    uint32_t count = add_comms(step->phase, member, rows);
    static const char *const headers[] = {"communication", "times",   "bytes",
                                          "transfer",      "exposed", "overlap"};
    table_column(&table, headers[0], TABLE_LEFT);
    for (size_t i = 1; i < sizeof headers / sizeof *headers; i++)
        table_column(&table, headers[i], TABLE_RIGHT);
    for (uint32_t i = 0; i < count; i++) add_comm(&table, &rows[i]);
    if (count > 0) {
        text_add(out, "\ntransfer: with all partners there; overlap: the part of it that lies "
                      "beside computing\n\n");
        table_print(&table, out);
    }
    table_free(&table);
    mem_free(rows);
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

static void show_links(const Step *step, Text *out) {
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
        table_cellf(&table, "%.1f %%", percent(Bps, (double)link->busiest_Bps));
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
        table_cellf(&table, "%.1f %%", percent((double)bytes, (double)use->usable_B));
    }
    text_addf(out,
              "\n%" PRIu64 " sequences on an attention-DP rank, %" PRIu64 " would fit; %s usable\n",
              use->sequences, use->most_sequences, units_format_bytes(use->usable_B, text));
    table_print(&table, out);
    table_free(&table);
}

// ---- Constants

// Those of a tier have a part in the time of its links.
static bool governs(const EvaluateParts *cycle, CalibParam param) {
    if (calib_kind(param) == CALIB_IS_PLAIN)
        return cycle->part_s[CALIB_IB] > 0 || cycle->part_s[CALIB_ETH] > 0;
    return cycle->part_s[param] > 0;
}

static void add_constant(Table *table, CalibParam param, double value) {
    char text[UNITS_TEXT_MAX], number[OUTPUT_NUMBER_MAX];
    bool is_time = calib_kind(param) == CALIB_IS_TIME;
    table_cell(table, is_time ? seconds_text(value, text) : output_number(value, number));
}

static void show_constants(const EvaluateParts *cycle, const Calib *calib, Text *out) {
    Table table = {0};
    table_column(&table, "constant", TABLE_LEFT);
    table_column(&table, "value", TABLE_RIGHT);
    table_column(&table, "low", TABLE_RIGHT);
    table_column(&table, "high", TABLE_RIGHT);
    table_column(&table, "confidence", TABLE_LEFT);
    for (uint32_t i = 0; i < CALIB_COUNT; i++) {
        if (!governs(cycle, (CalibParam)i)) continue;
        const CalibValue *value = &calib->values[i];
        table_cell(&table, calib_param_names[i]);
        add_constant(&table, (CalibParam)i, value->value);
        add_constant(&table, (CalibParam)i, value->low);
        add_constant(&table, (CalibParam)i, value->high);
        table_cellf(&table, "%s%s", calib_provenance_names[value->provenance],
                    value->is_default_interval ? ", x/1.5 .. x1.5" : "");
        table_note(&table, value->source);
    }
    text_add_char(out, '\n');
    table_print(&table, out);
    table_free(&table);
}

// ---- The command

static Step chosen_step(const CliArgs *args, const Pool *pool, const Evaluation *e) {
    if (cli_choice(args, "phase") == 0)
        return (Step){.name = "TPOT",
                      .phase = &e->decode_phase,
                      .parts = &e->decode,
                      .seconds = (double)e->tpot_ps * PS,
                      .lag = pool->micro_batches,
                      .is_decode = true};
    return (Step){.name = "prefill of a cycle",
                  .phase = &e->prefill_phase,
                  .parts = &e->prefill,
                  .seconds = (double)e->prefill_ps * PS,
                  .lag = 1};
}

static void show(const CliArgs *args, const Inputs *inputs, const PlanFile *file,
                 const Evaluation *evaluation, Text *out) {
    char label[PLAN_TEXT_MAX], product[PLAN_TEXT_MAX];
    const Pool *pool = &file->plan.pools[0];
    Step step = chosen_step(args, pool, evaluation);
    rank_show_inputs(inputs, out);
    text_addf(out, "plan       %s, GPUs %s\n", plan_label(&file->plan, label),
              plan_gpu_product(&file->plan, product));
    load_option_show_experts(&inputs->arch, pool, evaluation, out);
    text_add(out, "flow eps   ");
    flow_eps_add(inputs->flow_eps_ppb, evaluation->flow_eps_error_ppb, out);
    text_add_char(out, '\n');
    show_result(evaluation, out);
    show_cycle(inputs, pool, evaluation, out);
    show_parts(&step, &inputs->calib, out);
    show_pass(&step, &inputs->calib, out);
    show_classes(&step, out);
    show_overlap(&step, out);
    show_algorithms(&step.phase->choices, out);
    show_links(&step, out);
    MemoryUse use;
    if (find_memory(inputs, file, &use, out)) show_memory(&use, out);
    show_constants(&evaluation->cycle, &inputs->calib, out);
}

static int explain(const CliArgs *args, Inputs *inputs, const PlanFile *file, Err *err) {
    EvaluateInput input = inputs_for_evaluation(inputs);
    input.keep_phases = true;
    Evaluation evaluation;
    if (!evaluate_plan(&input, &file->plan, inputs->sequences, &evaluation, err))
        return output_bad(err);
    Text out = {0};
    DegradePlan degraded = {0};
    show(args, inputs, file, &evaluation, &out);
    bool done = degrade_plan_price(args, &file->plan, inputs, &degraded, err);
    if (done) degrade_plan_show(inputs, &evaluation, &degraded, &out);
    degrade_plan_free(&degraded);
    evaluate_free(&evaluation);
    if (done) return output_text(&out, OUTPUT_OK);
    text_free(&out);
    return output_bad(err);
}

int explain_command(const CliArgs *args) {
    PlanFile file = {0};
    Inputs inputs = {0};
    Err err = {0};
    const char *path = args->operands[0];
    bool done = plan_read(path, &file, &err) && inputs_load_beside(path, &file, &inputs, &err) &&
                flow_eps_read(args, &inputs.flow_eps_ppb, &err);
    int status = done ? explain(args, &inputs, &file, &err) : output_bad(&err);
    inputs_free(&inputs);
    plan_file_free(&file);
    return status;
}
