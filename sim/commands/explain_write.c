// Explanations for programs.
//
// Invariant: JSON and CSV are written from the same values as the tables.
#include "sim/commands/explain_write.h"

#include <inttypes.h>

#include "model/base/mem.h"
#include "sim/commands/explain_compare.h"
#include "sim/commands/explain_link.h"
#include "sim/commands/explain_source.h"
#include "sim/commands/saved.h"

// ---- One plan

static void write_parts(JsonWriter *writer, const ExplainStep *step) {
    jsonw_open_object(writer, "time_goes_to_s");
    for (uint32_t i = 0; i < EVALUATE_PARTS; i++)
        if (step->parts->part_s[i] > 0)
            jsonw_double(writer, evaluate_part_name(i), step->parts->part_s[i]);
    jsonw_close_object(writer);
}

static void write_step(JsonWriter *writer, const ExplainStep *step) {
    const WhyBalance *b = &step->why.balance;
    if (!step->has_why) {
        jsonw_null(writer, "step");
        return;
    }
    jsonw_open_object(writer, "step");
    jsonw_string(writer, "is", step->name);
    jsonw_i64(writer, "time_ps", step->why.time_ps);
    jsonw_open_object(writer, "critical_path_ps");
    for (uint32_t i = 0; i < WHY_TERMS; i++)
        jsonw_i64(writer, why_term_name(i), step->why.path.term_ps[i]);
    jsonw_close_object(writer);
    jsonw_i64(writer, "without_engine_ps", b->time_ps);
    jsonw_i64(writer, "compute_ps", b->compute_ps);
    jsonw_i64(writer, "communication_ps", b->comm_ps);
    jsonw_i64(writer, "overlapped_ps", b->overlapped_ps);
    jsonw_i64(writer, "waiting_ps", b->waiting_ps);
    jsonw_double(writer, "overlap_ratio",
                 b->comm_ps > 0 ? (double)b->overlapped_ps / (double)b->comm_ps : 0);
    jsonw_close_object(writer);
}

static void write_comm(JsonWriter *writer, const ExplainComm *row, const WhyComm *link) {
    jsonw_inline_next(writer);
    jsonw_open_object(writer, NULL);
    jsonw_string(writer, "name", row->name);
    jsonw_string(writer, "class", schedule_class_names[row->op_class]);
    jsonw_double(writer, "times_per_pass", row->instances);
    jsonw_double(writer, "bytes_per_pass", row->bytes);
    jsonw_double(writer, "transfer_s", row->transfer_s);
    jsonw_double(writer, "bound_s", row->bound_s);
    jsonw_double(writer, "exposed_s", row->exposed_s);
    if (link != NULL && link->fullest_Bps > 0 && row->transfer_s > 0) {
        jsonw_string(writer, "fullest_link_class", topology_class_names[link->fullest_class]);
        jsonw_u64(writer, "fullest_link_bytes_per_pass", link->fullest_B);
        jsonw_double(writer, "effective_B_per_s", (double)link->fullest_B / row->transfer_s);
        jsonw_u64(writer, "nominal_B_per_s", link->fullest_Bps);
    }
    jsonw_close_object(writer);
}

static void write_comms(JsonWriter *writer, const ExplainStep *step) {
    ExplainComm *rows = mem_alloc((size_t)step->phase->timeline.op_count + 1, sizeof *rows);
    uint32_t count = explain_plan_comms(step, rows);
    jsonw_open_array(writer, "collectives");
    for (uint32_t i = 0; i < count; i++)
        write_comm(writer, &rows[i], why_link_find(&step->links, rows[i].name));
    jsonw_close_array(writer);
    mem_free(rows);
}

static void write_bottleneck(JsonWriter *writer, const WhyLinks *links) {
    if (!links->has_bottleneck) {
        jsonw_null(writer, "bottleneck_link");
        return;
    }
    jsonw_open_object(writer, "bottleneck_link");
    jsonw_string(writer, "name", links->name);
    jsonw_string(writer, "class", topology_class_names[links->link_class]);
    jsonw_double(writer, "full", explain_link_fullness(links));
    jsonw_u64(writer, "bytes_per_pass", links->bytes);
    jsonw_u64(writer, "nominal_B_per_s", links->capacity_Bps);
    jsonw_string(writer, "source", links->source);
    jsonw_open_object(writer, "bytes_per_pass_of");
    for (uint32_t i = 0; i < links->count; i++)
        if (links->comms[i].bottleneck_B > 0)
            jsonw_u64(writer, links->comms[i].name, links->comms[i].bottleneck_B);
    jsonw_close_object(writer);
    jsonw_close_object(writer);
}

void explain_write_step(JsonWriter *writer, const ExplainStep *step) {
    write_parts(writer, step);
    write_step(writer, step);
    write_comms(writer, step);
    write_bottleneck(writer, &step->links);
}

void explain_write_plan(JsonWriter *writer, const ExplainPlan *plan,
                        const ExplainInfluences *influences) {
    char label[PLAN_TEXT_MAX];
    jsonw_open_object(writer, NULL);
    jsonw_string(writer, "plan", plan_label(&plan->file.plan, label));
    saved_write_figures(writer, &plan->evaluation);
    explain_write_step(writer, &plan->step);
    explain_vary_write_influences(writer, plan, influences);
    explain_source_write(writer, plan);
}

void explain_write_end(JsonWriter *writer) {
    jsonw_close_object(writer);
    jsonw_finish(writer);
}

// ---- CSV

void explain_write_open_csv(Table *csv) {
    static const char *const headers[] = {"section", "name", "figure", "value"};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        table_column(csv, headers[i], TABLE_LEFT);
}

void explain_write_ps(Table *csv, const char *section, const char *name, Time ps) {
    table_cell(csv, section);
    table_cell(csv, name);
    table_cell(csv, "time_ps");
    table_cellf(csv, "%" PRId64, ps);
}

void explain_write_step_rows(Table *csv, const char *path, const char *objective,
                             const ExplainStep *step) {
    const WhyBalance *b = &step->why.balance;
    if (!step->has_why) return;
    for (uint32_t i = 0; i < WHY_TERMS; i++)
        explain_write_ps(csv, path, why_term_name(i), step->why.path.term_ps[i]);
    explain_write_ps(csv, objective, "time", b->time_ps);
    explain_write_ps(csv, objective, "compute", b->compute_ps);
    explain_write_ps(csv, objective, "communication", b->comm_ps);
    explain_write_ps(csv, objective, "overlapped", b->overlapped_ps);
    explain_write_ps(csv, objective, "waiting", b->waiting_ps);
}

void explain_write_rows(Table *csv, const ExplainPlan *plan, const ExplainInfluences *influences) {
    explain_write_open_csv(csv);
    explain_write_ps(csv, "result", "ttft", plan->evaluation.ttft_ps);
    explain_write_ps(csv, "result", "tpot", plan->evaluation.tpot_ps);
    explain_write_step_rows(csv, "critical path", "objective", &plan->step);
    explain_vary_rows_influences(csv, influences);
}

void explain_write_degraded(Table *csv, const DegradePlan *degraded) {
    if (!degraded->is_priced) return;
    explain_write_ps(csv, "degraded", "ttft", degraded->evaluation.ttft_ps);
    explain_write_ps(csv, "degraded", "tpot", degraded->evaluation.tpot_ps);
}

// ---- Two plans

void explain_write_both_json(const ExplainPlan *a, const ExplainPlan *b, const ExplainFlips *flips,
                             Text *out) {
    JsonWriter writer = {.text = out};
    jsonw_open_object(&writer, NULL);
    jsonw_string(&writer, "step", a->step.name);
    explain_compare_write(&writer, a, b);
    explain_vary_write_flips(&writer, flips);
    explain_write_end(&writer);
}

void explain_write_both_csv(const ExplainPlan *a, const ExplainPlan *b, const ExplainFlips *flips,
                            Text *out) {
    Table csv = {0};
    explain_write_open_csv(&csv);
    explain_compare_rows(&csv, "term", a, b);
    explain_vary_rows_flips(&csv, flips);
    table_print_csv(&csv, out);
    table_free(&csv);
}
