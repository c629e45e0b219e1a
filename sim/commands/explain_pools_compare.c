// Two plans, at least one of separate pools: what a first token and a request a second are made of
// in each, and each phase term by term.
//
// Invariant: differences of the parts of TTFT add up to the difference of TTFT, those of the terms
// of a step to the difference of the step, to the picosecond.
#include <inttypes.h>

#include "model/base/jsonw.h"
#include "sim/commands/explain_compare.h"
#include "sim/commands/explain_pools.h"
#include "sim/commands/explain_source.h"
#include "sim/commands/explain_write.h"
#include "sim/commands/output.h"

// ---- The first token

static void add_times(Table *table, const char *name, Time of_a, Time of_b) {
    char text[UNITS_TEXT_MAX];
    Time more = of_b - of_a;
    table_cell(table, name);
    table_cell(table, units_format_time(of_a, text));
    table_cell(table, units_format_time(of_b, text));
    table_cellf(table, "%s%s",
                more > 0   ? "+"
                : more < 0 ? "-"
                           : "",
                units_format_time(more < 0 ? -more : more, text));
}

static Time sum_of(const ExplainFirst *first) {
    return first->prefill_ps + first->exposed_ps + first->step_ps;
}

static void open_table(Table *table, const char *what) {
    table_column(table, what, TABLE_LEFT);
    table_column(table, "A", TABLE_RIGHT);
    table_column(table, "B", TABLE_RIGHT);
    table_column(table, "B - A", TABLE_RIGHT);
}

static void show_first(const ExplainPools *a, const ExplainPools *b, Text *out) {
    ExplainFirst x = explain_pools_first(a), y = explain_pools_first(b);
    Table table = {0};
    open_table(&table, "first token");
    add_times(&table, "prefill", x.prefill_ps, y.prefill_ps);
    add_times(&table, "transfer left over", x.exposed_ps, y.exposed_ps);
    add_times(&table, "decode step", x.step_ps, y.step_ps);
    add_times(&table, "TTFT", sum_of(&x), sum_of(&y));
    text_add_char(out, '\n');
    table_print(&table, out);
    table_free(&table);
}

// ---- Rates

static void add_rates(Table *table, const char *name, double of_a, double of_b) {
    char text[OUTPUT_NUMBER_MAX];
    table_cell(table, name);
    table_cell(table, of_a > 0 ? output_number(of_a, text) : "");
    table_cell(table, of_b > 0 ? output_number(of_b, text) : "");
    if (of_a > 0 && of_b > 0)
        table_cellf(table, "%+.1f %%", explain_plan_percent(of_b - of_a, of_a));
    else
        table_cell(table, "");
}

// What keeps a plan from serving more.
static void add_limit(const char *name, const ExplainPools *plan, const ExplainRates *rates,
                      Text *out) {
    const Pool *pools = plan->row.plan.pools;
    if (plan->is_pooled) {
        text_addf(out,
                  "%s: bound by %s: %" PRIu32 " GPUs prefill and %" PRIu32 " decode, each for "
                  "itself\n",
                  name, pools_limit_names[plan->row.limit], pool_ranks(&pools[0]),
                  pool_ranks(&pools[1]));
        return;
    }
    text_addf(out,
              "%s: all %" PRIu32 " GPUs prefill %.1f %% of the time and decode in the rest: "
              "1 / served = 1 / prefill + 1 / decode\n",
              name, plan_gpus(&plan->phases[PHASE_DECODE].plan),
              explain_plan_percent(rates->served, rates->prefill));
}

static void show_rates(const ExplainPools *a, const ExplainPools *b, Text *out) {
    ExplainRates x = explain_pools_rates(a), y = explain_pools_rates(b);
    Table table = {0};
    open_table(&table, "requests/s");
    add_rates(&table, "prefill, alone", x.prefill, y.prefill);
    add_rates(&table, "decode, alone", x.decode, y.decode);
    add_rates(&table, "links, alone", x.links, y.links);
    add_rates(&table, "requests in flight", x.in_flight, y.in_flight);
    add_rates(&table, "served", x.served, y.served);
    text_add_char(out, '\n');
    table_print(&table, out);
    table_free(&table);
    add_limit("A", a, &x, out);
    add_limit("B", b, &y, out);
}

// ---- The whole

void explain_pools_compare_show(const ExplainPools *a, const ExplainPools *b,
                                const ExplainFlips *flips, Text *out) {
    static const char *const names[] = {"prefill", "decode"};
    const ExplainPlan *x = &a->phases[PHASE_DECODE], *y = &b->phases[PHASE_DECODE];
    explain_compare_plans(x, y, out);
    show_first(a, b, out);
    show_rates(a, b, out);
    for (uint32_t i = 0; i < 2; i++) {
        text_addf(out, "\n%s\n", names[i]);
        explain_compare_step(&a->phases[i], &b->phases[i], out);
    }
    explain_vary_show_flips(x, y, flips, out);
    explain_source_constants(x, out);
    if (x->inputs.calib.digest != y->inputs.calib.digest) explain_source_constants(y, out);
    explain_source_machine(x, out);
    if (x->inputs.topology.digest != y->inputs.topology.digest) explain_source_machine(y, out);
    explain_source_model(x, out);
    if (x->inputs.arch.digest != y->inputs.arch.digest) explain_source_model(y, out);
}

// ---- For programs

static void write_whole(JsonWriter *w, const char *key, const ExplainPools *plan) {
    ExplainFirst first = explain_pools_first(plan);
    ExplainRates rates = explain_pools_rates(plan);
    jsonw_open_object(w, key);
    jsonw_string(w, "pools", plan->is_pooled ? "separate" : "unified");
    jsonw_i64(w, "prefill_ps", first.prefill_ps);
    jsonw_i64(w, "transfer_exposed_ps", first.exposed_ps);
    jsonw_i64(w, "decode_step_ps", first.step_ps);
    jsonw_double(w, "prefill_requests_per_s", rates.prefill);
    jsonw_double(w, "decode_requests_per_s", rates.decode);
    if (plan->is_pooled) {
        jsonw_double(w, "links_requests_per_s", rates.links);
        jsonw_double(w, "requests_in_flight_per_s", rates.in_flight);
        jsonw_string(w, "bound_by", pools_limit_names[plan->row.limit]);
    }
    jsonw_double(w, "served_requests_per_s", rates.served);
    jsonw_close_object(w);
}

void explain_pools_compare_json(const ExplainPools *a, const ExplainPools *b,
                                const ExplainFlips *flips, Text *out) {
    static const char *const names[] = {"prefill", "decode"};
    JsonWriter w = {.text = out};
    jsonw_open_object(&w, NULL);
    write_whole(&w, "a", a);
    write_whole(&w, "b", b);
    for (uint32_t i = 0; i < 2; i++) {
        jsonw_open_object(&w, names[i]);
        explain_compare_write(&w, &a->phases[i], &b->phases[i]);
        jsonw_close_object(&w);
    }
    explain_vary_write_flips(&w, flips);
    explain_write_end(&w);
}

static void add_csv(Table *csv, const char *name, Time of_a, Time of_b) {
    const struct {
        const char *figure;
        Time ps;
    } cells[] = {{"a_ps", of_a}, {"b_ps", of_b}, {"difference_ps", of_b - of_a}};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        table_cell(csv, "first token");
        table_cell(csv, name);
        table_cell(csv, cells[i].figure);
        table_cellf(csv, "%" PRId64, cells[i].ps);
    }
}

void explain_pools_compare_csv(const ExplainPools *a, const ExplainPools *b,
                               const ExplainFlips *flips, Text *out) {
    ExplainFirst x = explain_pools_first(a), y = explain_pools_first(b);
    Table csv = {0};
    explain_write_open_csv(&csv);
    add_csv(&csv, "prefill", x.prefill_ps, y.prefill_ps);
    add_csv(&csv, "transfer left over", x.exposed_ps, y.exposed_ps);
    add_csv(&csv, "decode step", x.step_ps, y.step_ps);
    add_csv(&csv, "ttft", sum_of(&x), sum_of(&y));
    for (uint32_t i = 0; i < 2; i++)
        explain_compare_rows(&csv, i == 0 ? "prefill term" : "decode term", &a->phases[i],
                             &b->phases[i]);
    explain_vary_rows_flips(&csv, flips);
    table_print_csv(&csv, out);
    table_free(&csv);
}
