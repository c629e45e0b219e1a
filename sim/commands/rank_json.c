// Writes a ranking for programs. What a person reads rounded is written in full here.
#include "sim/commands/rank_json.h"

#include "model/base/jsonw.h"
#include "sim/commands/degrade_plan.h"
#include "sim/commands/flow_eps.h"
#include "sim/commands/report.h"
#include "sim/commands/saved.h"

#define RANK_JSON_VERSION 1

static const char *origin_name(ScenarioOrigin origin) {
    switch (origin) {
    case SCENARIO_DEFAULT: return "default";
    case SCENARIO_FILE: return "file";
    case SCENARIO_FLAG: return "option";
    }
    return "";
}

static void write_origins(JsonWriter *w, const Scenario *scenario) {
    static const char *const keys[SCENARIO_FIELD_COUNT] = {
        [SCENARIO_MODEL] = "model",
        [SCENARIO_ISL] = "isl_tok",
        [SCENARIO_OSL] = "osl_tok",
        [SCENARIO_CONCURRENCY] = "concurrency_requests",
        [SCENARIO_TTFT_LIMIT] = "ttft_limit_s",
        [SCENARIO_TPOT_LIMIT] = "tpot_limit_s",
        [SCENARIO_PRICE] = "price_usd_per_gpu_hour",
        [SCENARIO_MEMORY_FRACTION] = "memory_fraction",
        [SCENARIO_PREFILL_CHUNK] = "prefill_chunk_tok",
        [SCENARIO_KV_FORMAT] = "kv_format"};
    jsonw_open_object(w, "origins");
    for (uint32_t i = 0; i < SCENARIO_FIELD_COUNT; i++)
        jsonw_string(w, keys[i], origin_name(scenario->origin[i]));
    jsonw_close_object(w);
}

static void write_limit(JsonWriter *w, const char *key, Time limit_ps) {
    if (limit_ps == 0)
        jsonw_null(w, key);
    else
        jsonw_double(w, key, units_seconds(limit_ps));
}

static void write_workload(JsonWriter *w, const Inputs *in) {
    const Scenario *s = &in->scenario;
    jsonw_open_object(w, "workload");
    jsonw_string(w, "name", s->name);
    jsonw_u64(w, "isl_tok", s->isl);
    jsonw_u64(w, "osl_tok", s->osl);
    jsonw_u64(w, "concurrency_requests", s->concurrency);
    write_limit(w, "ttft_limit_s", s->ttft_limit_ps);
    write_limit(w, "tpot_limit_s", s->tpot_limit_ps);
    if (s->price_uusd_per_gpu_hour == 0)
        jsonw_null(w, "price_usd_per_gpu_hour");
    else
        jsonw_double(w, "price_usd_per_gpu_hour", (double)s->price_uusd_per_gpu_hour / 1e6);
    jsonw_string(w, "price_source", in->catalogue_price ? in->device->price_source : "");
    jsonw_double(w, "memory_fraction", (double)s->memory_permille / 1000);
    jsonw_u64(w, "prefill_chunk_tok", s->prefill_chunk);
    jsonw_string(w, "kv_format", numfmt_name(s->kv_format));
    write_origins(w, s);
    jsonw_digest(w, "digest", s->digest);
    jsonw_close_object(w);
}

static void write_named(JsonWriter *w, const char *key, const char *name, Digest digest) {
    jsonw_open_object(w, key);
    jsonw_string(w, "name", name);
    jsonw_digest(w, "digest", digest);
    jsonw_close_object(w);
}

void rank_json_write_inputs(JsonWriter *w, const Inputs *in) {
    jsonw_open_object(w, "inputs");
    write_named(w, "machine", in->topology.name, in->topology.digest);
    jsonw_u64(w, "gpus", in->fabric.gpu_count);
    jsonw_string(w, "device", in->device->name);
    if (in->topology.device_before != NULL)
        jsonw_string(w, "device_instead_of", in->topology.device_before);
    jsonw_digest(w, "device_catalogue_digest", in->catalogue.digest);
    write_named(w, "model", in->arch.name, in->arch.digest);
    jsonw_string(w, "assume", in->assume);
    write_workload(w, in);
    write_named(w, "calibration", in->calib.name, in->calib.digest);
    if (in->load.kind != LOAD_UNIFORM) write_named(w, "load", in->load.origin, in->load.digest);
    jsonw_close_object(w);
}

// ---- Plans

static void write_pool(JsonWriter *w, const Pool *pool) {
    jsonw_u64(w, "tp", pool->tp);
    jsonw_u64(w, "pp", pool->pp);
    jsonw_u64(w, "dp", pool->dp);
    jsonw_u64(w, "ep", pool->ep);
    jsonw_u64(w, "moe_tp", pool->moe_tp);
    if (pool->cp > 1) jsonw_u64(w, "cp", pool->cp);
    if (pool->dcp > 1) jsonw_u64(w, "dcp", pool->dcp);
    jsonw_u64(w, "replicas", pool->replicas);
    jsonw_u64(w, "micro_batches", pool->micro_batches);
    jsonw_u64(w, "redundant_experts", pool->redundant_experts);
    jsonw_string(w, "expert_placement", plan_expert_placement_names[pool->expert_placement]);
    jsonw_string(w, "moe_comm", plan_moe_comm_names[pool->moe_comm]);
    jsonw_string(w, "prefill_overlap", plan_overlap_names[pool->prefill_overlap]);
    jsonw_string(w, "decode_overlap", plan_overlap_names[pool->decode_overlap]);
}

static void write_memory(JsonWriter *w, const MemoryUse *use) {
    jsonw_open_object(w, "memory_B");
    for (uint32_t i = 0; i < MEMORY_TERM_COUNT; i++)
        jsonw_u64(w, memory_term_names[i], use->term_B[i]);
    jsonw_u64(w, "total", use->total_B);
    jsonw_u64(w, "usable", use->usable_B);
    jsonw_close_object(w);
}

static void write_parts(JsonWriter *w, const char *key, const EvaluateParts *parts) {
    jsonw_open_object(w, key);
    for (uint32_t i = 0; i < EVALUATE_PARTS; i++)
        if (parts->part_s[i] > 0) jsonw_double(w, evaluate_part_name(i), parts->part_s[i]);
    jsonw_close_object(w);
}

static void write_row(JsonWriter *w, const RankRow *row, uint32_t number, uint32_t eps_ppb) {
    char text[PLAN_TEXT_MAX];
    jsonw_open_object(w, NULL);
    jsonw_u64(w, "rank", number);
    jsonw_string(w, "plan", plan_label(&row->plan, text));
    jsonw_u64(w, "gpus", plan_gpus(&row->plan));
    jsonw_string(w, "gpu_product", plan_gpu_product(&row->plan, text));
    write_pool(w, &row->plan.pools[0]);
    jsonw_u64(w, "sequences_per_rank_and_micro_batch", row->sequences);
    saved_write_figures(w, &row->evaluation);
    flow_eps_write(w, eps_ppb, row->evaluation.flow_eps_error_ppb);
    jsonw_string(w, "note", row->note);
    jsonw_bool(w, "ties_with_best", row->ties);
    jsonw_double(w, "ratio_to_best_low", row->ratio_low);
    jsonw_double(w, "ratio_to_best_high", row->ratio_high);
    write_memory(w, &row->memory);
    jsonw_double(w, "balancedness_in_order", row->evaluation.balance_in_order);
    jsonw_double(w, "balancedness", row->evaluation.balance);
    jsonw_double(w, "prefill_overlap_ratio", row->evaluation.prefill_overlap);
    jsonw_double(w, "decode_overlap_ratio", row->evaluation.decode_overlap);
    write_parts(w, "tpot_parts_s", &row->evaluation.decode);
    write_parts(w, "prefill_of_cycle_parts_s", &row->evaluation.prefill);
    jsonw_digest(w, "plan_digest", plan_digest(&row->plan));
    jsonw_digest(w, "timelines_digest", row->evaluation.timelines);
    jsonw_close_object(w);
}

void rank_json_write_ledger(JsonWriter *w, const Space *space) {
    jsonw_open_array(w, "ledger");
    for (uint32_t i = 0; i < space->ledger_count; i++) {
        const LedgerRow *row = &space->ledger[i];
        char label[PLAN_TEXT_MAX];
        jsonw_open_object(w, NULL);
        jsonw_string(w, "kind", space_ledger_names[row->kind]);
        jsonw_string(w, "reason", row->reason);
        jsonw_u64(w, "plans", row->count);
        jsonw_string(w, "nearest_plan", plan_label(&row->nearest, label));
        jsonw_string(w, "nearest_miss", row->nearest_text);
        jsonw_close_object(w);
    }
    jsonw_close_array(w);
}

void rank_json_write(const Inputs *inputs, const Ranking *ranking, const Ranking *built,
                     uint32_t plans, const RankTails *tails, Text *out) {
    JsonWriter w = {.text = out};
    jsonw_open_object(&w, NULL);
    jsonw_string(&w, "moesim", "ranking");
    jsonw_u64(&w, "version", RANK_JSON_VERSION);
    rank_json_write_inputs(&w, inputs);
    jsonw_u64(&w, "plans_considered", ranking->space.considered);
    jsonw_string(&w, "objective", objective_names[ranking->objective]);
    jsonw_u64(&w, "plans_bounded", ranking->space.candidate_count);
    jsonw_u64(&w, "plans_pruned", ranking->pruned);
    jsonw_u64(&w, "plans_simulated", ranking->simulated);
    jsonw_u64(&w, "plans_feasible", ranking->row_count);
    jsonw_u64(&w, "plans_tied_with_best", ranking->ties);
    jsonw_double(&w, "median_output_tok_per_s_per_gpu", ranking->median_tok_s_per_gpu);
    jsonw_open_array(&w, "plans");
    for (uint32_t i = 0; i < plans; i++)
        write_row(&w, &ranking->rows[i], i + 1, inputs->flow_eps_ppb);
    jsonw_close_array(&w);
    report_write_front(&w, ranking);
    rank_tails_write(&w, tails);
    rank_json_write_ledger(&w, &ranking->space);
    degrade_plan_write_ranking(&w, inputs, built, ranking);
    jsonw_close_object(&w);
    jsonw_finish(&w);
}
