// What one step of a plan is made of, as tables.
//
// Classes are summed over the member that works longest, for one pass: its streams overlap, so that
// its classes may add up to more than the pass.
#include "sim/commands/explain_step.h"

#include <inttypes.h>

#include "model/base/num.h"
#include "model/base/table.h"
#include "sim/commands/explain_link.h"
#include "sim/commands/output.h"

#define PS 1e-12 // seconds in a picosecond

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
        table_cellf(&table, "%.1f %%", 100 * timeline_link_share(link, timeline->end_ps));
    }
    if (table.cell_count > 0) {
        text_add_char(out, '\n');
        table_print(&table, out);
    }
    table_free(&table);
}

void explain_step_show(const ExplainPlan *plan, Text *out) {
    const ExplainStep *step = &plan->step;
    show_parts(step, &plan->inputs.calib, out);
    show_pass(step, &plan->inputs.calib, out);
    show_classes(step, out);
    explain_link_objective(step, out);
    explain_link_collectives(step, out);
    show_algorithms(&step->phase->choices, out);
    show_links(step, out);
    explain_link_bottleneck(step, "fullest:", out);
}

// ---- Memory

void explain_step_memory(const MemoryUse *use, Text *out) {
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
