// Separate pools as people read them, as CSV and as JSON.
#include <inttypes.h>

#include "model/base/jsonw.h"
#include "model/base/table.h"
#include "sim/commands/output.h"
#include "sim/commands/rank_json.h"
#include "sim/commands/rank_pools.h"
#include "sim/commands/rank_show.h"

#define POOLS_JSON_VERSION 1

// ---- For people

static char *pool_label(const Plan *plan, uint32_t pool, char *buffer) {
    Plan one = {.pool_count = 1};
    one.pools[0] = plan->pools[pool];
    return plan_label(&one, buffer);
}

static void add_time(Table *table, Time ps) {
    char text[UNITS_TEXT_MAX];
    table_cell(table, units_format_time(ps, text));
}

static void add_number(Table *table, double value) {
    char text[OUTPUT_NUMBER_MAX];
    table_cell(table, output_number(value, text));
}

static void add_columns(Table *table) {
    static const struct {
        const char *header;
        TableAlign align;
    } columns[] = {
        {"#", TABLE_RIGHT},          {"ratio", TABLE_LEFT},    {"prefill", TABLE_LEFT},
        {"decode", TABLE_LEFT},      {"GPUs", TABLE_LEFT},     {"tok/s/GPU", TABLE_RIGHT},
        {"tok/s/user", TABLE_RIGHT}, {"TTFT", TABLE_RIGHT},    {"TPOT", TABLE_RIGHT},
        {"transfer", TABLE_RIGHT},   {"exposed", TABLE_RIGHT}, {"batch", TABLE_RIGHT},
        {"bound by", TABLE_LEFT}};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        table_column(table, columns[i].header, columns[i].align);
}

static void add_pools_row(Table *table, const PoolsRow *row, uint32_t number) {
    char text[PLAN_TEXT_MAX];
    const Plan *plan = &row->plan;
    table_cellf(table, "%u", number);
    table_cell(table, pools_ratio_label(plan, text));
    table_cell(table, pool_label(plan, 0, text));
    table_cell(table, pool_label(plan, 1, text));
    table_cellf(table, "%u + %u, %u idle", pool_ranks(&plan->pools[0]), pool_ranks(&plan->pools[1]),
                row->idle);
    add_number(table, row->tok_s_per_gpu);
    add_number(table, row->tok_s_per_user);
    add_time(table, row->ttft_ps);
    add_time(table, row->tpot_ps);
    add_time(table, row->move.transfer_ps);
    add_time(table, row->move.exposed_ps);
    table_cellf(table, "%" PRIu64, row->decode.sequences);
    table_cell(table, pools_limit_names[row->limit]);
}

static void add_unified_row(Table *table, const RankPoolsAnswer *answer) {
    const RankRow *row = answer->unified;
    const Evaluation *e = &row->evaluation;
    char text[PLAN_TEXT_MAX];
    uint32_t gpus = plan_gpus(&row->plan);
    table_cell(table, "");
    table_cell(table, "unified");
    table_cell(table, plan_label(&row->plan, text));
    table_cell(table, "");
    table_cellf(table, "%u, %u idle", gpus, fabric_live_gpu_count(&answer->inputs->fabric) - gpus);
    add_number(table, e->tok_s_per_gpu);
    add_number(table, e->tok_s_per_user);
    add_time(table, e->ttft_ps);
    add_time(table, e->tpot_ps);
    table_cell(table, "");
    table_cell(table, "");
    table_cellf(table, "%" PRIu64, row->sequences);
    table_cell(table, evaluate_part_name(e->bottleneck));
}

static double best_rate(const RankPoolsAnswer *answer) {
    return answer->shown > 0 ? answer->pools->rows[0].tok_s_per_gpu : 0;
}

static double unified_rate(const RankPoolsAnswer *answer) {
    return answer->unified == NULL ? 0 : answer->unified->evaluation.tok_s_per_gpu;
}

void rank_pools_show_headline(const RankPoolsAnswer *answer, Text *out) {
    char label[PLAN_TEXT_MAX], rate[OUTPUT_NUMBER_MAX], other[OUTPUT_NUMBER_MAX];
    double split = best_rate(answer), whole = unified_rate(answer);
    if (split == 0 && whole == 0) {
        text_add(out, "no plan is feasible\n");
        return;
    }
    if (split >= whole)
        text_addf(out, "best: separate pools %s: %s tok/s/GPU",
                  pools_ratio_label(&answer->pools->rows[0].plan, label),
                  output_number(split, rate));
    else
        text_addf(out, "best: unified %s: %s tok/s/GPU", plan_label(&answer->unified->plan, label),
                  output_number(whole, rate));
    if (split > 0 && whole > 0)
        text_addf(out, ", %.2fx the %s tok/s/GPU of the best %s",
                  split >= whole ? split / whole : whole / split,
                  output_number(split >= whole ? whole : split, other),
                  split >= whole ? "unified plan" : "separate pools");
    else if (answer->is_both && whole == 0)
        text_add(out, "; no unified plan is feasible");
    text_add_char(out, '\n');
}

void rank_pools_show_table(const RankPoolsAnswer *answer, Table *out) {
    bool is_first = unified_rate(answer) > best_rate(answer);
    add_columns(out);
    if (answer->unified != NULL && is_first) add_unified_row(out, answer);
    for (uint32_t i = 0; i < answer->shown; i++) add_pools_row(out, &answer->pools->rows[i], i + 1);
    if (answer->unified != NULL && !is_first) add_unified_row(out, answer);
}

static void show_table(const RankPoolsAnswer *answer, Text *out) {
    Table table = {0};
    if (answer->unified == NULL && answer->shown == 0) return;
    rank_pools_show_table(answer, &table);
    text_add_char(out, '\n');
    table_print(&table, out);
    table_free(&table);
    text_add_char(out, '\n');
}

static void show_move(const PoolsRow *row, Text *out) {
    const PoolsMove *move = &row->move;
    char cache[UNITS_TEXT_MAX], moved[UNITS_TEXT_MAX], rate[UNITS_TEXT_MAX];
    char carry[OUTPUT_NUMBER_MAX], served[OUTPUT_NUMBER_MAX];
    text_addf(out, "transfer: the cache of a request is %s, %s arrive with its copies; ",
              units_format_bytes(move->cache_B, cache), units_format_bytes(move->moved_B, moved));
    text_addf(out, "links carry %s requests/s, bound by %s (%s, %s); %s are served\n",
              output_number(move->requests_s, carry), move->link,
              topology_class_names[move->link_class], units_format_rate(move->link_Bps, rate),
              output_number(row->requests_s, served));
}

void rank_pools_show_beside(const PoolsRow *row, Text *out) {
    const PoolsMove *move = &row->move;
    char alone[UNITS_TEXT_MAX], beside[UNITS_TEXT_MAX];
    if (!move->has_beside) {
        text_addf(out, "decode: transfers beside decode were not simulated: %s\n",
                  move->beside_reason.text);
        return;
    }
    text_addf(out,
              "decode: a step takes %s alone and %s beside transfers, which come in %.1f %% "
              "of the time\n",
              units_format_time(move->tpot_alone_ps, alone),
              units_format_time(move->tpot_beside_ps, beside), 100 * move->busy);
}

static void show_staging(const PoolsRow *row, Text *out) {
    const Pool *decode = &row->plan.pools[1];
    text_addf(out,
              "memory: a decode rank has room for %" PRIu64 " sequences, %" PRIu64
              " decode and %" PRIu64 " are received; a prefill rank holds %" PRIu64
              " until %s sent\n",
              row->decode.memory.most_sequences, row->decode.sequences * decode->micro_batches,
              row->decode.staging, row->prefill.staging,
              row->prefill.staging == 1 ? "it is" : "they are");
}

static double used_by(const PoolsRanking *pools, const PoolsRatio *ratio) {
    const Plan *plan = &pools->rows[0].plan;
    return (double)ratio->prefill * pool_replica_ranks(&plan->pools[0]) +
           (double)ratio->decode * pool_replica_ranks(&plan->pools[1]);
}

// That serves most for each GPU of its pools; of equal ones the first.
static uint32_t best_ratio(const PoolsRanking *pools) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < pools->ratio_count; i++)
        if (pools->ratios[i].requests_s / used_by(pools, &pools->ratios[i]) >
            pools->ratios[best].requests_s / used_by(pools, &pools->ratios[best]))
            best = i;
    return best;
}

void rank_pools_show_ratios(const RankPoolsAnswer *answer, Table *out) {
    const PoolsRanking *pools = answer->pools;
    double tokens = (double)answer->inputs->scenario.osl;
    double gpus = answer->inputs->fabric.gpu_count;
    uint32_t best = best_ratio(pools);
    table_column(out, "ratios of 1", TABLE_LEFT);
    table_column(out, "tok/s/GPU", TABLE_RIGHT);
    table_column(out, "tok/s/GPU used", TABLE_RIGHT);
    table_column(out, "bound by", TABLE_LEFT);
    for (uint32_t i = 0; i < pools->ratio_count; i++) {
        const PoolsRatio *ratio = &pools->ratios[i];
        table_cellf(out, "%uP%uD", ratio->prefill, ratio->decode);
        bool is_own = answer->paid == EVALUATE_PAID_PLAN;
        add_number(out, ratio->requests_s * tokens / (is_own ? used_by(pools, ratio) : gpus));
        add_number(out, ratio->requests_s * tokens / used_by(pools, ratio));
        table_cellf(out, "%s%s", pools_limit_names[ratio->limit],
                    i == best ? ", most of the GPUs used" : "");
    }
}

static void show_ratios(const RankPoolsAnswer *answer, Text *out) {
    Table table = {0};
    if (answer->pools->ratio_count < 2) return;
    rank_pools_show_ratios(answer, &table);
    text_add_char(out, '\n');
    table_print(&table, out);
    table_free(&table);
}

static void show_meaning(const RankPoolsAnswer *answer, Text *out) {
    const Scenario *s = &answer->inputs->scenario;
    text_addf(out,
              "closed loop of %" PRIu64
              " equal requests; TTFT does not queue: prefill, what is left of the transfer when "
              "the last layer is computed, and a decode step; TPOT is the mean of steps with and "
              "without transfers beside them\n",
              s->concurrency);
    text_add(out, "tok/s/GPU counts output tokens over ");
    if (answer->paid == EVALUATE_PAID_PLAN)
        text_add(out, "the GPUs of both pools");
    else
        text_addf(out, "all %u GPUs, idle ones too", answer->inputs->fabric.gpu_count);
    text_add(out, "; prefill instances work at their unloaded rate beside their own sending\n");
}

void rank_pools_show_counts(const RankPoolsAnswer *answer, Text *out) {
    const PoolsRanking *pools = answer->pools;
    text_addf(out,
              "%u instances considered; %u prefill and %u decode instances simulated, %u and %u "
              "pruned by their lower bounds; %u pairs solved, %u simulated, %u shown\n",
              pools->space.considered, pools->simulated[PHASE_PREFILL],
              pools->simulated[PHASE_DECODE], pools->pruned[PHASE_PREFILL],
              pools->pruned[PHASE_DECODE], pools->pairs, pools->refined, answer->shown);
}

static void show_ledger(const RankPoolsAnswer *answer, Text *out) {
    const PoolsRanking *pools = answer->pools;
    Table table = {0};
    rank_show_ledger(&pools->space, &table);
    if (pools->space.ledger_count > 0) text_add_char(out, '\n');
    if (pools->space.ledger_count > 0) table_print(&table, out);
    table_free(&table);
    text_add_char(out, '\n');
    rank_pools_show_counts(answer, out);
}

void rank_pools_show_best(const RankPoolsAnswer *answer, Text *out) {
    const PoolsRow *best = &answer->pools->rows[0];
    text_add(out, "of 1:\n");
    show_move(best, out);
    rank_pools_show_beside(best, out);
    show_staging(best, out);
    show_meaning(answer, out);
}

void rank_pools_show_text(const RankPoolsAnswer *answer, Text *out) {
    rank_show_inputs(answer->inputs, out);
    text_add_char(out, '\n');
    rank_pools_show_headline(answer, out);
    if (answer->pools == NULL) text_addf(out, "%s\n", answer->reason);
    show_table(answer, out);
    if (answer->shown > 0) {
        rank_pools_show_best(answer, out);
        show_ratios(answer, out);
    }
    if (answer->pools != NULL) show_ledger(answer, out);
    if (answer->front != NULL && answer->front->count > 0) {
        text_add_char(out, '\n');
        rank_front_plot(answer->front, out);
        text_add_char(out, '\n');
        rank_front_table(answer->front, out);
    }
}

static void show_pool(const PoolsRow *row, uint32_t pool, Text *out) {
    char label[PLAN_TEXT_MAX], rate[OUTPUT_NUMBER_MAX];
    const Pool *of = &row->plan.pools[pool];
    const PoolsSide *side = pool == 0 ? &row->prefill : &row->decode;
    text_addf(out, "%-10s %s on GPUs %u-%u: %s requests/s, %" PRIu64 " %s on each rank%s\n",
              plan_pool_names[of->kind], pool_label(&row->plan, pool, label), of->first_gpu,
              of->first_gpu + pool_ranks(of) - 1, output_number(side->requests_s, rate),
              side->sequences,
              pool == 0 ? (side->sequences == 1 ? "prompt in a step" : "prompts in a step")
                        : (side->sequences == 1 ? "sequence" : "sequences"),
              of->micro_batches > 1 ? " and micro-batch" : "");
}

void rank_pools_show_pools(const PoolsRow *row, Text *out) {
    show_pool(row, 0, out);
    show_pool(row, 1, out);
}

void rank_pools_show_row(const Inputs *inputs, const PoolsRow *row, bool is_reproduced, Text *out) {
    char label[PLAN_TEXT_MAX], times[4][UNITS_TEXT_MAX], rate[OUTPUT_NUMBER_MAX];
    rank_show_inputs(inputs, out);
    text_addf(out, "plan       %s, %u GPUs idle\n", pools_ratio_label(&row->plan, label),
              row->idle);
    rank_pools_show_pools(row, out);
    text_add_char(out, '\n');
    text_addf(out, "TTFT %s = prefill %s + transfer left over %s + decode step %s\n",
              units_format_time(row->ttft_ps, times[0]),
              units_format_time(row->prefill_ps, times[1]),
              units_format_time(row->move.exposed_ps, times[2]),
              units_format_time(row->tpot_ps, times[3]));
    text_addf(out, "throughput %s tok/s/GPU, bound by %s\n",
              output_number(row->tok_s_per_gpu, rate), pools_limit_names[row->limit]);
    show_move(row, out);
    rank_pools_show_beside(row, out);
    show_staging(row, out);
    text_addf(out, "reproduced: %s\n", is_reproduced ? "yes" : "no");
}

// ---- CSV

static void add_csv_pools(Table *table, const PoolsRow *row, uint32_t number) {
    char text[PLAN_TEXT_MAX];
    const Plan *plan = &row->plan;
    table_cellf(table, "%u", number);
    table_cell(table, "separate");
    table_cell(table, pools_ratio_label(plan, text));
    table_cell(table, pool_label(plan, 0, text));
    table_cell(table, pool_label(plan, 1, text));
    table_cellf(table, "%u", pool_ranks(&plan->pools[0]));
    table_cellf(table, "%u", pool_ranks(&plan->pools[1]));
    table_cellf(table, "%u", row->idle);
    table_cell_exact(table, row->tok_s_per_gpu);
    table_cell_exact(table, row->tok_s_per_user);
    table_cell_exact(table, row->requests_s);
    table_cell_exact(table, units_seconds(row->ttft_ps));
    table_cell_exact(table, units_seconds(row->tpot_ps));
    table_cell_exact(table, units_seconds(row->move.transfer_ps));
    table_cell_exact(table, units_seconds(row->move.exposed_ps));
    table_cellf(table, "%" PRIu64, row->move.cache_B);
    table_cellf(table, "%" PRIu64, row->decode.sequences);
    table_cell(table, pools_limit_names[row->limit]);
    table_cell(table, row->move.link);
}

static void add_csv_unified(Table *table, const RankPoolsAnswer *answer) {
    const RankRow *row = answer->unified;
    const Evaluation *e = &row->evaluation;
    char text[PLAN_TEXT_MAX];
    uint32_t gpus = plan_gpus(&row->plan);
    table_cell(table, "");
    table_cell(table, "unified");
    table_cell(table, "");
    table_cell(table, plan_label(&row->plan, text));
    table_cell(table, "");
    table_cellf(table, "%u", gpus);
    table_cell(table, "");
    table_cellf(table, "%u", fabric_live_gpu_count(&answer->inputs->fabric) - gpus);
    table_cell_exact(table, e->tok_s_per_gpu);
    table_cell_exact(table, e->tok_s_per_user);
    table_cell_exact(table, e->output_tok_s / (double)answer->inputs->scenario.osl);
    table_cell_exact(table, units_seconds(e->ttft_ps));
    table_cell_exact(table, units_seconds(e->tpot_ps));
    for (uint32_t i = 0; i < 3; i++) table_cell(table, "");
    table_cellf(table, "%" PRIu64, row->sequences);
    table_cell(table, evaluate_part_name(e->bottleneck));
    table_cell(table, "");
}

void rank_pools_show_csv(const RankPoolsAnswer *answer, Text *out) {
    static const char *const headers[] = {"rank",
                                          "pools",
                                          "ratio",
                                          "prefill_instance",
                                          "decode_instance",
                                          "prefill_gpus",
                                          "decode_gpus",
                                          "idle_gpus",
                                          "output_tok_per_s_per_gpu",
                                          "output_tok_per_s_per_user",
                                          "requests_per_s",
                                          "ttft_s",
                                          "tpot_s",
                                          "transfer_s",
                                          "transfer_exposed_s",
                                          "cache_per_request_B",
                                          "decode_batch",
                                          "bound_by",
                                          "transfer_link"};
    Table table = {0};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        table_column(&table, headers[i], TABLE_LEFT);
    for (uint32_t i = 0; i < answer->shown; i++)
        add_csv_pools(&table, &answer->pools->rows[i], i + 1);
    if (answer->unified != NULL) add_csv_unified(&table, answer);
    table_print_csv(&table, out);
    table_free(&table);
}

// ---- JSON

static void write_seconds(JsonWriter *w, const char *key, Time ps) {
    jsonw_double(w, key, units_seconds(ps));
}

static void write_side(JsonWriter *w, const char *key, const Plan *plan, uint32_t pool,
                       const PoolsSide *side) {
    char text[PLAN_TEXT_MAX];
    const Pool *of = &plan->pools[pool];
    jsonw_open_object(w, key);
    jsonw_string(w, "instance", pool_label(plan, pool, text));
    jsonw_u64(w, "instances", of->replicas);
    jsonw_u64(w, "gpus", pool_ranks(of));
    jsonw_u64(w, "first_gpu", of->first_gpu);
    jsonw_u64(w, "sequences_per_rank_and_micro_batch", side->sequences);
    jsonw_u64(w, "staging_sequences_per_rank", side->staging);
    jsonw_u64(w, "most_sequences_per_rank", side->memory.most_sequences);
    jsonw_double(w, "requests_per_s", side->requests_s);
    jsonw_open_object(w, "memory_B");
    for (uint32_t i = 0; i < MEMORY_TERM_COUNT; i++)
        jsonw_u64(w, memory_term_names[i], side->memory.term_B[i]);
    jsonw_u64(w, "total", side->memory.total_B);
    jsonw_u64(w, "usable", side->memory.usable_B);
    jsonw_close_object(w);
    jsonw_close_object(w);
}

static void write_move(JsonWriter *w, const PoolsMove *move) {
    jsonw_open_object(w, "transfer");
    jsonw_u64(w, "cache_per_request_B", move->cache_B);
    jsonw_u64(w, "moved_per_request_B", move->moved_B);
    write_seconds(w, "transfer_s", move->transfer_ps);
    write_seconds(w, "exposed_s", move->exposed_ps);
    jsonw_double(w, "links_carry_requests_per_s", move->requests_s);
    jsonw_string(w, "link", move->link);
    jsonw_string(w, "link_class", topology_class_names[move->link_class]);
    jsonw_u64(w, "link_capacity_Bps", move->link_Bps);
    jsonw_bool(w, "beside_decode_simulated", move->has_beside);
    jsonw_string(w, "beside_decode_reason", move->beside_reason.text);
    write_seconds(w, "tpot_alone_s", move->tpot_alone_ps);
    write_seconds(w, "tpot_beside_s", move->tpot_beside_ps);
    jsonw_double(w, "receiving_part_of_time", move->busy);
    jsonw_close_object(w);
}

void rank_pools_show_figures(JsonWriter *w, const PoolsRow *row) {
    jsonw_double(w, "output_tok_per_s_per_gpu", row->tok_s_per_gpu);
    jsonw_double(w, "output_tok_per_s_per_user", row->tok_s_per_user);
    jsonw_double(w, "output_tok_per_s", row->output_tok_s);
    jsonw_double(w, "requests_per_s", row->requests_s);
    write_seconds(w, "ttft_s", row->ttft_ps);
    write_seconds(w, "prefill_s", row->prefill_ps);
    write_seconds(w, "tpot_s", row->tpot_ps);
    if (row->usd_per_mtok > 0)
        jsonw_double(w, "usd_per_million_output_tok", row->usd_per_mtok);
    else
        jsonw_null(w, "usd_per_million_output_tok");
    jsonw_string(w, "bound_by", pools_limit_names[row->limit]);
    write_side(w, "prefill", &row->plan, 0, &row->prefill);
    write_side(w, "decode", &row->plan, 1, &row->decode);
    write_move(w, &row->move);
}

void rank_pools_show_result(const char *assume, const PoolsRow *row, Text *out) {
    JsonWriter w = {.text = out};
    jsonw_open_object(&w, NULL);
    jsonw_string(&w, "assume", assume);
    jsonw_u64(&w, "sequences_per_rank_and_micro_batch", row->decode.sequences);
    rank_pools_show_figures(&w, row);
    jsonw_close_object(&w);
}

void rank_pools_show_simulation(const Inputs *inputs, const PoolsRow *row, bool is_reproduced,
                                Text *out) {
    char text[PLAN_TEXT_MAX];
    JsonWriter w = {.text = out};
    jsonw_open_object(&w, NULL);
    jsonw_string(&w, "moesim", "pools simulation");
    jsonw_u64(&w, "version", POOLS_JSON_VERSION);
    rank_json_write_inputs(&w, inputs);
    jsonw_string(&w, "plan", plan_label(&row->plan, text));
    jsonw_string(&w, "ratio", pools_ratio_label(&row->plan, text));
    jsonw_u64(&w, "gpus", plan_gpus(&row->plan));
    jsonw_u64(&w, "idle_gpus", row->idle);
    rank_pools_show_figures(&w, row);
    jsonw_bool(&w, "reproduced", is_reproduced);
    jsonw_close_object(&w);
    jsonw_finish(&w);
}

static void write_rows(JsonWriter *w, const RankPoolsAnswer *answer) {
    char text[PLAN_TEXT_MAX];
    jsonw_open_array(w, "plans");
    for (uint32_t i = 0; i < answer->shown; i++) {
        const PoolsRow *row = &answer->pools->rows[i];
        jsonw_open_object(w, NULL);
        jsonw_u64(w, "rank", i + 1);
        jsonw_string(w, "plan", plan_label(&row->plan, text));
        jsonw_string(w, "ratio", pools_ratio_label(&row->plan, text));
        jsonw_u64(w, "gpus", plan_gpus(&row->plan));
        jsonw_u64(w, "idle_gpus", row->idle);
        rank_pools_show_figures(w, row);
        jsonw_digest(w, "plan_digest", plan_digest(&row->plan));
        jsonw_close_object(w);
    }
    jsonw_close_array(w);
}

static void write_ratios(JsonWriter *w, const RankPoolsAnswer *answer) {
    double tokens = (double)answer->inputs->scenario.osl;
    jsonw_open_array(w, "ratios_of_best");
    for (uint32_t i = 0; answer->pools != NULL && i < answer->pools->ratio_count; i++) {
        const PoolsRatio *ratio = &answer->pools->ratios[i];
        jsonw_open_object(w, NULL);
        jsonw_u64(w, "prefill_instances", ratio->prefill);
        jsonw_u64(w, "decode_instances", ratio->decode);
        jsonw_double(w, "output_tok_per_s", ratio->requests_s * tokens);
        jsonw_double(w, "output_tok_per_s_per_gpu_used",
                     ratio->requests_s * tokens / used_by(answer->pools, ratio));
        jsonw_string(w, "bound_by", pools_limit_names[ratio->limit]);
        jsonw_close_object(w);
    }
    jsonw_close_array(w);
}

static void write_unified(JsonWriter *w, const RankPoolsAnswer *answer) {
    char text[PLAN_TEXT_MAX];
    if (answer->unified == NULL) {
        jsonw_null(w, "best_unified");
        return;
    }
    const Evaluation *e = &answer->unified->evaluation;
    jsonw_open_object(w, "best_unified");
    jsonw_string(w, "plan", plan_label(&answer->unified->plan, text));
    jsonw_u64(w, "gpus", plan_gpus(&answer->unified->plan));
    jsonw_u64(w, "sequences_per_rank_and_micro_batch", answer->unified->sequences);
    jsonw_double(w, "output_tok_per_s_per_gpu", e->tok_s_per_gpu);
    jsonw_double(w, "output_tok_per_s_per_user", e->tok_s_per_user);
    write_seconds(w, "ttft_s", e->ttft_ps);
    write_seconds(w, "tpot_s", e->tpot_ps);
    jsonw_digest(w, "plan_digest", plan_digest(&answer->unified->plan));
    jsonw_close_object(w);
}

void rank_pools_show_json(const RankPoolsAnswer *answer, Text *out) {
    JsonWriter w = {.text = out};
    jsonw_open_object(&w, NULL);
    jsonw_string(&w, "moesim", "pools");
    jsonw_u64(&w, "version", POOLS_JSON_VERSION);
    rank_json_write_inputs(&w, answer->inputs);
    write_unified(&w, answer);
    if (answer->pools == NULL)
        jsonw_string(&w, "no_pools_because", answer->reason);
    else
        jsonw_null(&w, "no_pools_because");
    write_rows(&w, answer);
    write_ratios(&w, answer);
    if (answer->front != NULL) rank_front_write(&w, answer->front);
    if (answer->pools != NULL) rank_json_write_ledger(&w, &answer->pools->space);
    jsonw_close_object(&w);
    jsonw_finish(&w);
}
