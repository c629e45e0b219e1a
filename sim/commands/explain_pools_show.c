// A plan of separate pools, explained.
//
// Invariant: text, JSON and CSV print the same figures; those of the whole add up as pools.h says.
#include <inttypes.h>
#include <stdio.h>

#include "model/base/jsonw.h"
#include "sim/commands/explain_pools.h"
#include "sim/commands/explain_source.h"
#include "sim/commands/explain_step.h"
#include "sim/commands/explain_write.h"
#include "sim/commands/flow_eps.h"
#include "sim/commands/output.h"
#include "sim/commands/rank_pools.h"
#include "sim/commands/rank_show.h"

// ---- The whole

static void show_result(const PoolsRow *row, Text *out) {
    char times[4][UNITS_TEXT_MAX], number[OUTPUT_NUMBER_MAX];
    text_addf(out, "result     %s tok/s/GPU", output_number(row->tok_s_per_gpu, number));
    if (row->usd_per_mtok > 0)
        text_addf(out, ", $%s per million output tokens", output_number(row->usd_per_mtok, number));
    text_addf(out, ", %s tok/s/user", output_number(row->tok_s_per_user, number));
    text_addf(out, ", TPOT %s\n", units_format_time(row->tpot_ps, times[0]));
    text_addf(out, "TTFT       %s = prefill %s + transfer left over %s + decode step %s\n",
              units_format_time(row->ttft_ps, times[0]),
              units_format_time(row->prefill_ps, times[1]),
              units_format_time(row->move.exposed_ps, times[2]),
              units_format_time(row->tpot_ps, times[3]));
}

// ---- Rates

static void add_rate(Table *table, const char *name, double rate, const ExplainRates *rates,
                     const char *note) {
    char number[OUTPUT_NUMBER_MAX];
    table_cell(table, name);
    table_cell(table, output_number(rate, number));
    table_cellf(table, "%.0f %%", explain_plan_percent(rates->served, rate));
    table_cell(table, note);
}

static void show_rates(const ExplainPools *plan, Text *out) {
    const PoolsRow *row = &plan->row;
    const Plan *pools = &row->plan;
    ExplainRates rates = explain_pools_rates(plan);
    bool is_decode = row->limit == POOLS_BY_MEMORY || row->limit == POOLS_BY_BATCH ||
                     row->limit == POOLS_BY_TPOT;
    char prefill[64], decode[96];
    snprintf(prefill, sizeof prefill, "prefill, %" PRIu32 " instance%s", pools->pools[0].replicas,
             pools->pools[0].replicas == 1 ? "" : "s");
    snprintf(decode, sizeof decode, "decode, %" PRIu32 " instance%s at a batch of %" PRIu64,
             pools->pools[1].replicas, pools->pools[1].replicas == 1 ? "" : "s",
             row->decode.sequences);
    Table table = {0};
    table_column(&table, "rate match", TABLE_LEFT);
    table_column(&table, "requests/s", TABLE_RIGHT);
    table_column(&table, "used", TABLE_RIGHT);
    table_column(&table, "", TABLE_LEFT);
    add_rate(&table, prefill, rates.prefill, &rates,
             row->limit == POOLS_BY_PREFILL ? "limits" : "");
    add_rate(&table, decode, rates.decode, &rates, is_decode ? pools_limit_names[row->limit] : "");
    add_rate(&table, "links, all instances sending at once", rates.links, &rates,
             row->limit == POOLS_BY_TRANSFER ? "limits" : "");
    add_rate(&table, "requests in flight, none of which queues", rates.in_flight, &rates,
             row->limit == POOLS_BY_CONCURRENCY ? "limits" : "");
    text_addf(out,
              "\nrequests/s that each could do alone, and what part of that is used; bound by "
              "%s\n\n",
              pools_limit_names[row->limit]);
    table_print(&table, out);
    table_free(&table);
}

// ---- Caches

// Of the cache of the fullest GPU, what the sequences that are sent or received take.
static uint64_t staging_B(const PoolsSide *side) {
    const MemoryUse *use = &side->memory;
    double each =
        use->sequences > 0
            ? (double)(use->term_B[MEMORY_KV] + use->term_B[MEMORY_STATE]) / (double)use->sequences
            : 0;
    return (uint64_t)(each * (double)side->staging);
}

static void show_move(const PoolsRow *row, Text *out) {
    const PoolsMove *move = &row->move;
    char text[3][UNITS_TEXT_MAX];
    Time hidden_ps = move->transfer_ps - move->exposed_ps;
    text_addf(out, "\ncaches     of a request %s, %s with what ranks that hold the same receive\n",
              units_format_bytes(move->cache_B, text[0]),
              units_format_bytes(move->moved_B, text[1]));
    text_addf(out,
              "time       %s, of which %s (%.1f %%) lie beside prefill, layer by layer; %s are "
              "left when its last layer is computed\n",
              units_format_time(move->transfer_ps, text[0]), units_format_time(hidden_ps, text[1]),
              explain_plan_percent((double)hidden_ps, (double)move->transfer_ps),
              units_format_time(move->exposed_ps, text[2]));
    text_add(out, "links     ");
    for (uint32_t c = 0; c < LINK_CLASS_COUNT; c++)
        if (move->class_B[c] > 0)
            text_addf(out, " %s over %s,", units_format_bytes(move->class_B[c], text[0]),
                      topology_class_names[c]);
    text_addf(out, " each link counted, of a request; fullest %s (%s, %s), %s when all send\n",
              move->link, topology_class_names[move->link_class],
              units_format_rate(move->link_Bps, text[0]),
              units_format_bytes(move->link_B, text[1]));
    text_addf(out,
              "staging    prefill: %" PRIu64 " on each attention-DP rank until %s sent, %s of "
              "the fullest GPU; ",
              row->prefill.staging, row->prefill.staging == 1 ? "it is" : "they are",
              units_format_bytes(staging_B(&row->prefill), text[0]));
    text_addf(out, "decode: %" PRIu64 " received into, %s, beside %" PRIu64 " that decode\n",
              row->decode.staging, units_format_bytes(staging_B(&row->decode), text[1]),
              row->decode.sequences * row->plan.pools[1].micro_batches);
}

// ---- Phases

static bool shows(const CliArgs *args, Phase phase) {
    return !cli_is_given(args, "phase") ||
           (cli_choice(args, "phase") == 0) == (phase == PHASE_DECODE);
}

static void show_phase(const ExplainPools *plan, Phase phase, Text *out) {
    const Pool *pool = &plan->row.plan.pools[phase];
    const PoolsSide *side = phase == PHASE_PREFILL ? &plan->row.prefill : &plan->row.decode;
    char label[PLAN_TEXT_MAX];
    text_addf(out, "\n%s: an instance of %" PRIu32 ", %s\n\n", plan_pool_names[pool->kind],
              pool->replicas, plan_label(&plan->phases[phase].plan, label));
    explain_step_show(&plan->phases[phase], out);
    explain_step_memory(&side->memory, out);
}

void explain_pools_show(const CliArgs *args, const ExplainPools *plan,
                        const ExplainInfluences *influences, Text *out) {
    char label[PLAN_TEXT_MAX], product[PLAN_TEXT_MAX];
    const ExplainPlan *prefill = &plan->phases[PHASE_PREFILL];
    const ExplainPlan *decode = &plan->phases[PHASE_DECODE];
    const PoolsRow *row = &plan->row;
    rank_show_inputs(&decode->inputs, out);
    text_addf(out, "plan       %s, GPUs %s, %u idle\n", pools_ratio_label(&row->plan, label),
              plan_gpu_product(&row->plan, product), row->idle);
    rank_pools_show_pools(row, out);
    show_result(row, out);
    show_rates(plan, out);
    show_move(row, out);
    rank_pools_show_beside(row, out);
    if (shows(args, PHASE_PREFILL)) show_phase(plan, PHASE_PREFILL, out);
    if (shows(args, PHASE_DECODE)) show_phase(plan, PHASE_DECODE, out);
    explain_vary_show_influences(decode, influences, out);
    explain_source_constants(decode, out);
    explain_source_machine(shows(args, PHASE_DECODE) ? decode : prefill, out);
    explain_source_model(decode, out);
}

// ---- For programs

static void write_rates(JsonWriter *w, const ExplainPools *plan) {
    ExplainRates rates = explain_pools_rates(plan);
    jsonw_open_object(w, "rate_match_requests_per_s");
    jsonw_double(w, "prefill", rates.prefill);
    jsonw_double(w, "decode", rates.decode);
    jsonw_double(w, "links", rates.links);
    jsonw_double(w, "requests_in_flight", rates.in_flight);
    jsonw_double(w, "served", rates.served);
    jsonw_close_object(w);
    jsonw_open_object(w, "cache_bytes_per_request_over");
    for (uint32_t c = 0; c < LINK_CLASS_COUNT; c++)
        if (plan->row.move.class_B[c] > 0)
            jsonw_u64(w, topology_class_names[c], plan->row.move.class_B[c]);
    jsonw_close_object(w);
    jsonw_u64(w, "prefill_staging_B", staging_B(&plan->row.prefill));
    jsonw_u64(w, "decode_staging_B", staging_B(&plan->row.decode));
}

void explain_pools_json(const ExplainPools *plan, const ExplainInfluences *influences, Text *out) {
    char label[PLAN_TEXT_MAX];
    JsonWriter w = {.text = out};
    jsonw_open_object(&w, NULL);
    jsonw_string(&w, "plan", plan_label(&plan->row.plan, label));
    jsonw_string(&w, "ratio", pools_ratio_label(&plan->row.plan, label));
    rank_pools_show_figures(&w, &plan->row);
    write_rates(&w, plan);
    jsonw_open_array(&w, "phases");
    for (uint32_t i = 0; i < 2; i++) {
        jsonw_open_object(&w, NULL);
        jsonw_string(&w, "phase", plan_pool_names[plan->row.plan.pools[i].kind]);
        jsonw_string(&w, "instance", plan_label(&plan->phases[i].plan, label));
        explain_write_step(&w, &plan->phases[i].step);
        jsonw_close_object(&w);
    }
    jsonw_close_array(&w);
    explain_vary_write_influences(&w, &plan->phases[PHASE_DECODE], influences);
    explain_source_write(&w, &plan->phases[PHASE_DECODE]);
    explain_write_end(&w);
}

static void add_rate_row(Table *csv, const char *name, double rate) {
    Text number = {0};
    text_add_double(&number, rate);
    table_cell(csv, "rate match");
    table_cell(csv, name);
    table_cell(csv, "requests_per_s");
    table_cell(csv, text_string(&number));
    text_free(&number);
}

void explain_pools_csv(const ExplainPools *plan, const ExplainInfluences *influences, Text *out) {
    const PoolsRow *row = &plan->row;
    ExplainRates rates = explain_pools_rates(plan);
    Table csv = {0};
    explain_write_open_csv(&csv);
    explain_write_ps(&csv, "result", "ttft", row->ttft_ps);
    explain_write_ps(&csv, "result", "tpot", row->tpot_ps);
    explain_write_ps(&csv, "ttft", "prefill", row->prefill_ps);
    explain_write_ps(&csv, "ttft", "transfer left over", row->move.exposed_ps);
    explain_write_ps(&csv, "ttft", "decode step", row->tpot_ps);
    add_rate_row(&csv, "prefill", rates.prefill);
    add_rate_row(&csv, "decode", rates.decode);
    add_rate_row(&csv, "links", rates.links);
    add_rate_row(&csv, "requests in flight", rates.in_flight);
    add_rate_row(&csv, "served", rates.served);
    explain_write_step_rows(&csv, "prefill critical path", "prefill objective",
                            &plan->phases[PHASE_PREFILL].step);
    explain_write_step_rows(&csv, "decode critical path", "decode objective",
                            &plan->phases[PHASE_DECODE].step);
    explain_vary_rows_influences(&csv, influences);
    table_print_csv(&csv, out);
    table_free(&csv);
}
