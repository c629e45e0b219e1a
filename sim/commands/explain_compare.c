// Two plans, term by term.
//
// A term is the time of a class of operations on the critical path of a step (why.h), so that the
// differences of the terms add up to the difference of the steps to the picosecond. A sentence says
// of a term what the plans do there: how often, how much, over which groups.
#include "sim/commands/explain_compare.h"

#include <inttypes.h>
#include <string.h>

#include "sim/commands/degrade.h"
#include "sim/commands/explain_link.h"
#include "sim/commands/explain_reason.h"
#include "sim/commands/explain_source.h"
#include "sim/commands/output.h"

#define SENTENCES_MAX 6  // terms that a sentence is written for
#define WORTH         20 // and whose difference is at least the largest one's 20th part

static Time term_difference(const ExplainPlan *a, const ExplainPlan *b, uint32_t term) {
    return b->step.why.path.term_ps[term] - a->step.why.path.term_ps[term];
}

static Time size_of(Time time) {
    return time < 0 ? -time : time;
}

void explain_compare_order(const ExplainPlan *a, const ExplainPlan *b, uint32_t order[WHY_TERMS]) {
    for (uint32_t i = 0; i < WHY_TERMS; i++) {
        Time size = size_of(term_difference(a, b, i));
        uint32_t k = i;
        for (; k > 0 && size_of(term_difference(a, b, order[k - 1])) < size; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
}

// ---- What differs

static void add_difference(const char *what, const char *of_a, const char *of_b, bool differs,
                           uint32_t *count, Text *out) {
    if (!differs) return;
    text_addf(out, "%s %s: ", (*count)++ == 0 ? "differs   " : "          ", what);
    if (strcmp(of_a, of_b) == 0)
        text_addf(out, "both are called %s, with other contents\n", of_a);
    else
        text_addf(out, "A has %s, B has %s\n", of_a, of_b);
}

static void add_workload(const Inputs *inputs, Text *out) {
    const Scenario *s = &inputs->scenario;
    text_addf(out, "ISL %" PRIu64 ", OSL %" PRIu64 ", concurrency %" PRIu64, s->isl, s->osl,
              s->concurrency);
}

static void show_differences(const ExplainPlan *a, const ExplainPlan *b, Text *out) {
    const Inputs *x = &a->inputs, *y = &b->inputs;
    uint32_t count = 0;
    Text of_a = {0}, of_b = {0};
    add_workload(x, &of_a);
    add_workload(y, &of_b);
    add_difference("machine", x->topology.name, y->topology.name,
                   x->topology.digest != y->topology.digest, &count, out);
    add_difference("model", x->arch.name, y->arch.name, x->arch.digest != y->arch.digest, &count,
                   out);
    add_difference("workload", text_string(&of_a), text_string(&of_b),
                   x->scenario.digest != y->scenario.digest, &count, out);
    add_difference("constants", x->calib.name, y->calib.name, x->calib.digest != y->calib.digest,
                   &count, out);
    add_difference("load of experts", x->load.kind == LOAD_UNIFORM ? "uniform" : "one that is not",
                   y->load.kind == LOAD_UNIFORM ? "uniform" : "one that is not",
                   x->load.digest != y->load.digest, &count, out);
    if (count == 0)
        text_add(out, "differs    the plans alone: machine, model, workload and constants are the "
                      "same\n");
    text_free(&of_a);
    text_free(&of_b);
}

static void show_faults(const char *name, const ExplainPlan *plan, Text *out) {
    if (!fabric_has_faults(&plan->inputs.fabric)) return;
    text_addf(out, "faults     of %s: ", name);
    degrade_show_faults(&plan->inputs.topology, out);
    text_add_char(out, '\n');
}

static void show_plan(const char *name, const ExplainPlan *plan, Text *out) {
    char label[PLAN_TEXT_MAX], product[PLAN_TEXT_MAX], time[UNITS_TEXT_MAX];
    char rate[OUTPUT_NUMBER_MAX], user[OUTPUT_NUMBER_MAX];
    const Evaluation *e = &plan->evaluation;
    text_addf(out, "%s          %s (%s), GPUs %s\n", name, plan_label(&plan->file.plan, label),
              plan->path, plan_gpu_product(&plan->file.plan, product));
    text_addf(out, "           %s tok/s/GPU, %s tok/s/user", output_number(e->tok_s_per_gpu, rate),
              output_number(e->tok_s_per_user, user));
    text_addf(out, ", TTFT %s", units_format_time(e->ttft_ps, time));
    text_addf(out, ", TPOT %s\n", units_format_time(e->tpot_ps, time));
}

// ---- The headline and the sentences

// Where the difference is when the step that was followed has none.
static void show_other_phase(const ExplainPlan *a, const ExplainPlan *b, Text *out) {
    if (a->evaluation.tpot_ps != b->evaluation.tpot_ps)
        text_add(out, "; the decode steps differ, see --phase decode");
    else if (a->evaluation.prefill_ps != b->evaluation.prefill_ps)
        text_add(out, "; the prefills differ, see --phase prefill");
}

static void show_headline(const ExplainPlan *a, const ExplainPlan *b, Text *out) {
    char of_a[UNITS_TEXT_MAX], of_b[UNITS_TEXT_MAX], more[UNITS_TEXT_MAX];
    Time x = a->step.why.time_ps, y = b->step.why.time_ps;
    double rate = explain_plan_percent(b->evaluation.tok_s_per_gpu - a->evaluation.tok_s_per_gpu,
                                       a->evaluation.tok_s_per_gpu);
    text_addf(out, "\n%s: A %s, B %s; ", a->step.name, units_format_time(x, of_a),
              units_format_time(y, of_b));
    if (x == y)
        text_add(out, "they are equal");
    else
        text_addf(out, "B is %s by %s (%+.1f %%)", y > x ? "slower" : "faster",
                  units_format_time(size_of(y - x), more),
                  explain_plan_percent((double)(y - x), (double)x));
    text_addf(out, "; tok/s/GPU of B %+.1f %%", rate);
    if (x == y) show_other_phase(a, b, out);
    text_add_char(out, '\n');
}

static void show_sentences(const ExplainPlan *a, const ExplainPlan *b,
                           const uint32_t order[WHY_TERMS], Text *out) {
    Time largest = size_of(term_difference(a, b, order[0]));
    Text line = {0};
    text_add_char(out, '\n');
    for (uint32_t i = 0; i < WHY_TERMS && i < SENTENCES_MAX; i++) {
        Time more = term_difference(a, b, order[i]);
        if (more == 0 || size_of(more) < largest / WORTH) break;
        char time[UNITS_TEXT_MAX];
        text_addf(&line, "B %s %s in %s: ", more > 0 ? "loses" : "gains",
                  units_format_time(size_of(more), time), why_term_name(order[i]));
        explain_reason_add(b, order[i], &line);
        text_add(&line, "; A: ");
        explain_reason_add(a, order[i], &line);
        text_add_wrapped(out, text_string(&line), 0, TABLE_NOTE_COLUMNS);
        text_free(&line);
        line = (Text){0};
    }
}

// ---- The table

static void add_signed(Table *table, Time time) {
    char text[UNITS_TEXT_MAX];
    table_cellf(table, "%s%s",
                time > 0   ? "+"
                : time < 0 ? "-"
                           : "",
                units_format_time(size_of(time), text));
}

static void add_term(Table *table, const char *name, Time of_a, Time of_b) {
    char text[UNITS_TEXT_MAX];
    table_cell(table, name);
    table_cell(table, units_format_time(of_a, text));
    table_cell(table, units_format_time(of_b, text));
    add_signed(table, of_b - of_a);
}

static void show_terms(const ExplainPlan *a, const ExplainPlan *b, const uint32_t order[WHY_TERMS],
                       Text *out) {
    const WhyStep *x = &a->step.why, *y = &b->step.why;
    Table table = {0};
    table_column(&table, "class", TABLE_LEFT);
    table_column(&table, "A", TABLE_RIGHT);
    table_column(&table, "B", TABLE_RIGHT);
    table_column(&table, "B - A", TABLE_RIGHT);
    for (uint32_t i = 0; i < WHY_TERMS; i++) {
        Time of_a = x->path.term_ps[order[i]], of_b = y->path.term_ps[order[i]];
        if (of_a != 0 || of_b != 0) add_term(&table, why_term_name(order[i]), of_a, of_b);
    }
    add_term(&table, a->step.name, x->time_ps, y->time_ps);
    text_add(out, "\ntime on the critical path: from the end of the step back, each operation that "
                  "the next one waited for;\nwhat runs beside it adds nothing, a wait for a "
                  "partner is what the last one did meanwhile, so that the\nclasses add up to the "
                  "step exactly\n\n");
    table_print(&table, out);
    table_free(&table);
}

static void show_balance(const char *name, const ExplainPlan *plan, Text *out) {
    char compute[UNITS_TEXT_MAX], comm[UNITS_TEXT_MAX], overlapped[UNITS_TEXT_MAX];
    char time[UNITS_TEXT_MAX], waiting[UNITS_TEXT_MAX];
    const WhyBalance *b = &plan->step.why.balance;
    text_addf(out, "%s: %s = compute %s + communication %s - overlapped %s + waiting %s", name,
              units_format_time(b->time_ps, time), units_format_time(b->compute_ps, compute),
              units_format_time(b->comm_ps, comm), units_format_time(b->overlapped_ps, overlapped),
              units_format_time(b->waiting_ps, waiting));
    text_addf(out, ", overlap ratio %.3f\n",
              b->comm_ps > 0 ? (double)b->overlapped_ps / (double)b->comm_ps : 0);
}

void explain_compare_plans(const ExplainPlan *a, const ExplainPlan *b, Text *out) {
    show_plan("A", a, out);
    show_plan("B", b, out);
    show_differences(a, b, out);
    show_faults("A", a, out);
    show_faults("B", b, out);
}

void explain_compare_step(const ExplainPlan *a, const ExplainPlan *b, Text *out) {
    uint32_t order[WHY_TERMS];
    explain_compare_order(a, b, order);
    show_headline(a, b, out);
    show_sentences(a, b, order, out);
    show_terms(a, b, order, out);
    text_add(out, "\nthe busiest rank of each, without the engine\n");
    show_balance("A", a, out);
    show_balance("B", b, out);
    text_add_char(out, '\n');
    explain_link_bottleneck(&a->step, "A:", out);
    explain_link_bottleneck(&b->step, "B:", out);
}

void explain_compare_show(const ExplainPlan *a, const ExplainPlan *b, Text *out) {
    explain_compare_plans(a, b, out);
    explain_compare_step(a, b, out);
}

// ---- For programs

static void write_plan(JsonWriter *writer, const char *key, const ExplainPlan *plan) {
    char label[PLAN_TEXT_MAX];
    const WhyBalance *b = &plan->step.why.balance;
    jsonw_open_object(writer, key);
    jsonw_string(writer, "plan", plan_label(&plan->file.plan, label));
    jsonw_string(writer, "path", plan->path);
    jsonw_string(writer, "machine", plan->inputs.topology.name);
    jsonw_string(writer, "model", plan->inputs.arch.name);
    jsonw_double(writer, "output_tok_per_s_per_gpu", plan->evaluation.tok_s_per_gpu);
    jsonw_u64(writer, "ttft_ps", (uint64_t)plan->evaluation.ttft_ps);
    jsonw_u64(writer, "tpot_ps", (uint64_t)plan->evaluation.tpot_ps);
    jsonw_u64(writer, "step_ps", (uint64_t)plan->step.why.time_ps);
    jsonw_u64(writer, "compute_ps", (uint64_t)b->compute_ps);
    jsonw_u64(writer, "communication_ps", (uint64_t)b->comm_ps);
    jsonw_u64(writer, "overlapped_ps", (uint64_t)b->overlapped_ps);
    jsonw_u64(writer, "waiting_ps", (uint64_t)b->waiting_ps);
    if (plan->step.links.has_bottleneck) {
        jsonw_string(writer, "bottleneck_link", plan->step.links.name);
        jsonw_double(writer, "bottleneck_link_full", explain_link_fullness(&plan->step.links));
    }
    explain_source_write(writer, plan);
    jsonw_close_object(writer);
}

void explain_compare_write(JsonWriter *writer, const ExplainPlan *a, const ExplainPlan *b) {
    uint32_t order[WHY_TERMS];
    Text reason = {0};
    explain_compare_order(a, b, order);
    write_plan(writer, "a", a);
    write_plan(writer, "b", b);
    jsonw_open_array(writer, "terms");
    for (uint32_t i = 0; i < WHY_TERMS; i++) {
        jsonw_inline_next(writer);
        jsonw_open_object(writer, NULL);
        jsonw_string(writer, "class", why_term_name(order[i]));
        jsonw_i64(writer, "a_ps", a->step.why.path.term_ps[order[i]]);
        jsonw_i64(writer, "b_ps", b->step.why.path.term_ps[order[i]]);
        jsonw_i64(writer, "difference_ps", term_difference(a, b, order[i]));
        explain_reason_add(b, order[i], &reason);
        text_add(&reason, "; A: ");
        explain_reason_add(a, order[i], &reason);
        jsonw_string(writer, "b_because", text_string(&reason));
        jsonw_close_object(writer);
        text_free(&reason);
        reason = (Text){0};
    }
    jsonw_close_array(writer);
    jsonw_i64(writer, "difference_ps", b->step.why.time_ps - a->step.why.time_ps);
}

static void add_row(Table *csv, const char *section, const char *name, const char *figure,
                    Time ps) {
    table_cell(csv, section);
    table_cell(csv, name);
    table_cell(csv, figure);
    table_cellf(csv, "%" PRId64, ps);
}

void explain_compare_rows(Table *csv, const char *section, const ExplainPlan *a,
                          const ExplainPlan *b) {
    uint32_t order[WHY_TERMS];
    explain_compare_order(a, b, order);
    for (uint32_t i = 0; i < WHY_TERMS; i++) {
        const char *name = why_term_name(order[i]);
        add_row(csv, section, name, "a_ps", a->step.why.path.term_ps[order[i]]);
        add_row(csv, section, name, "b_ps", b->step.why.path.term_ps[order[i]]);
        add_row(csv, section, name, "difference_ps", term_difference(a, b, order[i]));
    }
    add_row(csv, section, "step", "a_ps", a->step.why.time_ps);
    add_row(csv, section, "step", "b_ps", b->step.why.time_ps);
    add_row(csv, section, "step", "difference_ps", b->step.why.time_ps - a->step.why.time_ps);
}
