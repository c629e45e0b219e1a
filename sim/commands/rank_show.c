// Prints a ranking: what was asked, the answer, the table, why the other plans are not in it.
#include "sim/commands/rank_show.h"

#include <inttypes.h>

#include "model/base/table.h"
#include "model/base/wide.h"
#include "sim/commands/degrade.h"
#include "sim/commands/flow_eps.h"
#include "sim/commands/load_option.h"
#include "sim/commands/output.h"

// ---- Inputs

static const char *mark(const Scenario *scenario, ScenarioField field) {
    switch (scenario->origin[field]) {
    case SCENARIO_DEFAULT: return " (default)";
    case SCENARIO_FILE:
    case SCENARIO_FLAG: break;
    }
    return "";
}

static void show_model(const Inputs *in, Text *out) {
    char parameters[OUTPUT_NUMBER_MAX], weights[UNITS_TEXT_MAX];
    double billions = (double)in->arch.totals.parameters / 1e9;
    bool large = billions >= 1000;
    text_addf(out, "model      %s%s: %s %s parameters, %s checkpoint\n", in->arch.name,
              mark(&in->scenario, SCENARIO_MODEL),
              output_number(large ? billions / 1000 : billions, parameters), large ? "T" : "G",
              units_format_bytes(in->arch.totals.checkpoint_B, weights));
    for (uint32_t i = 0; i < in->arch.note_count; i++)
        text_addf(out, "           %s\n", in->arch.notes[i]);
    if (*in->assume != '\0') text_addf(out, "           assumed: %s\n", in->assume);
}

static void show_workload(const Inputs *in, Text *out) {
    const Scenario *s = &in->scenario;
    text_addf(out, "workload   %s", in->scenario_name);
    if (in->default_scenario)
        text_add(out, s->origin[SCENARIO_MODEL] == SCENARIO_FLAG
                          ? " (no --scenario was given)"
                          : " (neither --model nor --scenario was given)");
    text_addf(out, ": ISL %" PRIu64 "%s, OSL %" PRIu64 "%s, concurrency %" PRIu64 "%s\n", s->isl,
              mark(s, SCENARIO_ISL), s->osl, mark(s, SCENARIO_OSL), s->concurrency,
              mark(s, SCENARIO_CONCURRENCY));
    text_addf(out,
              "engine     prefill chunk %" PRIu64
              "%s, KV cache in %s%s, memory fraction %u.%03u%s\n",
              s->prefill_chunk, mark(s, SCENARIO_PREFILL_CHUNK), numfmt_name(s->kv_format),
              mark(s, SCENARIO_KV_FORMAT), s->memory_permille / 1000, s->memory_permille % 1000,
              mark(s, SCENARIO_MEMORY_FRACTION));
}

static void show_limit(const Scenario *s, const char *name, Time limit_ps, ScenarioField field,
                       Text *out) {
    char time[UNITS_TEXT_MAX];
    if (limit_ps == 0)
        text_addf(out, "no %s limit%s", name, mark(s, field));
    else
        text_addf(out, "%s <= %s%s", name, units_format_time(limit_ps, time), mark(s, field));
}

static void show_limits(const Inputs *in, Text *out) {
    const Scenario *s = &in->scenario;
    text_add(out, "limits     ");
    show_limit(s, "TTFT", s->ttft_limit_ps, SCENARIO_TTFT_LIMIT, out);
    text_add(out, ", ");
    show_limit(s, "TPOT", s->tpot_limit_ps, SCENARIO_TPOT_LIMIT, out);
    if (s->ttft_limit_ps > 0 || s->tpot_limit_ps > 0)
        text_add(out, "; plans over a limit are left out");
    text_add_char(out, '\n');
}

// "$1.99"; a part of a cent shows in three digits.
static void add_dollars(Text *out, uint64_t uusd) {
    char number[OUTPUT_NUMBER_MAX];
    if (uusd % 10000 == 0)
        text_addf(out, "$%" PRIu64 ".%02" PRIu64, uusd / 1000000, uusd / 10000 % 100);
    else
        text_addf(out, "$%s", output_number((double)uusd / 1e6, number));
}

static void show_price(const Inputs *in, Text *out) {
    Range catalogue = in->device->price_uusd_per_hour;
    if (in->scenario.price_uusd_per_gpu_hour == 0) {
        text_add(out, "price      unknown: the catalogue has none, add --price\n");
        return;
    }
    text_add(out, "price      ");
    add_dollars(out, in->scenario.price_uusd_per_gpu_hour);
    text_addf(out, "%s for a GPU and hour", mark(&in->scenario, SCENARIO_PRICE));
    if (in->catalogue_price) text_add(out, " (device catalogue");
    if (in->catalogue_price && catalogue.low != catalogue.high) {
        text_add(out, ", low end of ");
        add_dollars(out, catalogue.low);
        text_add(out, " to ");
        add_dollars(out, catalogue.high);
    }
    if (in->catalogue_price) text_addf(out, ": %s)", in->device->price_source);
    text_add(out, "\n");
}

// Of a machine with other GPUs than its own.
static void show_device_before(const Topology *topology, Text *out) {
    if (topology->device_before == NULL) return;
    if (*topology->device_before == '\0')
        text_add(out, " (--device; the machine names none)");
    else
        text_addf(out, " (--device, instead of %s)", topology->device_before);
}

#define INPUT_WIDTH 11 // of the names of inputs

void rank_show_inputs(const Inputs *in, Text *out) {
    char memory[UNITS_TEXT_MAX], bandwidth[UNITS_TEXT_MAX];
    text_addf(out, "machine    %s (%s): %u x %s", in->topology.name, in->topology_name,
              in->fabric.gpu_count, in->device->name);
    show_device_before(&in->topology, out);
    text_addf(out, "%s, %s and %s each\n", in->topology.default_device ? " (default)" : "",
              units_format_bytes(device_low(in->device->memory_B), memory),
              units_format_rate(device_low(in->device->memory_Bps), bandwidth));
    if (in->topology.is_import) output_topology_note(&in->topology, INPUT_WIDTH, out);
    if (fabric_has_faults(&in->fabric)) {
        text_add(out, "faults     ");
        degrade_show_faults(&in->topology, out);
        text_addf(out, "; %u GPUs are alive\n", fabric_live_gpu_count(&in->fabric));
    }
    show_model(in, out);
    show_workload(in, out);
    show_limits(in, out);
    show_price(in, out);
    if (in->load.kind != LOAD_UNIFORM)
        text_addf(out,
                  "load       %s; ranked by the hottest rank of each group and the rest alike, in "
                  "the mean layer\n",
                  load_option_name(&in->load));
    text_addf(out, "constants  %s\n", in->calib.name);
}

// Of all plans that are in the ranking.
static uint64_t largest_error_ppb(const Ranking *ranking) {
    uint64_t largest = 0;
    for (uint32_t i = 0; i < ranking->row_count; i++)
        if (ranking->rows[i].evaluation.flow_eps_error_ppb > largest)
            largest = ranking->rows[i].evaluation.flow_eps_error_ppb;
    return largest;
}

static void show_eps(const Inputs *in, const Ranking *ranking, Text *out) {
    text_add(out, "flow eps   ");
    flow_eps_add(in->flow_eps_ppb, largest_error_ppb(ranking), out);
    text_add_char(out, '\n');
}

// ---- Headline

#define TIES_SHOWN 8 // more are counted, not listed

static void show_ties(const Ranking *ranking, Text *out) {
    text_addf(out, "; %u other plan%s with it", ranking->ties,
              ranking->ties == 1 ? " ties" : "s tie");
    if (ranking->ties > TIES_SHOWN) return;
    const char *between = " (#";
    for (uint32_t i = 1; i < ranking->row_count; i++) {
        if (!ranking->rows[i].ties) continue;
        text_addf(out, "%s%u", between, i + 1);
        between = ", ";
    }
    text_add_char(out, ')');
}

static uint32_t count_unpriced(const Space *space) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < space->ledger_count; i++)
        if (space->ledger[i].kind == LEDGER_NO_DATA) count += space->ledger[i].count;
    return count;
}

static void show_unpriced(const Space *space, Text *out) {
    uint32_t count = count_unpriced(space);
    if (count > 0) text_addf(out, " (%u plan%s could not be priced)", count, count == 1 ? "" : "s");
}

// Most plans may make nothing, as when none of their requests fits.
static void show_median(const Ranking *ranking, Text *out) {
    double median = ranking->median_tok_s_per_gpu;
    uint32_t plans = ranking->space.candidate_count;
    if (median > 0)
        text_addf(out, ", %s%.2fx the median of %u plans", ranking->pruned > 0 ? "at least " : "",
                  ranking->rows[0].evaluation.tok_s_per_gpu / median, plans);
    else
        text_addf(out, "; the median of %u plans makes nothing", plans);
}

void rank_show_headline(const Inputs *in, const Ranking *ranking, Text *out) {
    if (ranking->row_count == 0) {
        text_addf(out, "no plan is feasible: %u considered, %u simulated",
                  ranking->space.considered, ranking->simulated);
        show_unpriced(&ranking->space, out);
        text_add_char(out, '\n');
        return;
    }
    const RankRow *best = &ranking->rows[0];
    char label[PLAN_TEXT_MAX], rate[OUTPUT_NUMBER_MAX];
    text_addf(out, "best: %s on %u of %u GPUs: %s tok/s/GPU", plan_label(&best->plan, label),
              plan_gpus(&best->plan), in->fabric.gpu_count,
              output_number(best->evaluation.tok_s_per_gpu, rate));
    if (ranking->objective != OBJECTIVE_THROUGHPUT)
        text_addf(out, ", first by %s", objective_names[ranking->objective]);
    show_median(ranking, out);
    show_unpriced(&ranking->space, out);
    if (ranking->ties > 0)
        show_ties(ranking, out);
    else if (ranking->row_count > 1)
        text_add(out, "; no other plan ties with it");
    text_add_char(out, '\n');
}

// ---- Table

// The price of a GPU is that of all rows or of none.
static bool has_price(const Ranking *ranking) {
    return ranking->row_count > 0 && ranking->rows[0].evaluation.usd_per_mtok > 0;
}

static void add_columns(Table *table, const Ranking *ranking) {
    static const struct {
        const char *header;
        TableAlign align;
    } columns[] = {
        {"#", TABLE_RIGHT},         {"plan", TABLE_LEFT},      {"GPUs", TABLE_LEFT},
        {"tok/s/GPU", TABLE_RIGHT}, {"$/Mtok", TABLE_RIGHT},   {"tok/s/user", TABLE_RIGHT},
        {"TTFT", TABLE_RIGHT},      {"bound", TABLE_RIGHT},    {"TPOT", TABLE_RIGHT},
        {"bound", TABLE_RIGHT},     {"headroom", TABLE_RIGHT}, {"bottleneck", TABLE_LEFT},
        {"confidence", TABLE_LEFT}, {"tie", TABLE_LEFT}};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (columns[i].header[0] != '$' || has_price(ranking))
            table_column(table, columns[i].header, columns[i].align);
}

static void add_time(Table *table, Time ps) {
    char text[UNITS_TEXT_MAX];
    table_cell(table, units_format_time(ps, text));
}

static uint64_t headroom_B(const MemoryUse *use) {
    return use->usable_B > use->total_B ? use->usable_B - use->total_B : 0;
}

static void add_row(Table *table, const RankRow *row, uint32_t number) {
    const Evaluation *e = &row->evaluation;
    char text[PLAN_TEXT_MAX], rate[OUTPUT_NUMBER_MAX], bytes[UNITS_TEXT_MAX];
    table_cellf(table, "%u", number);
    table_cell(table, plan_label(&row->plan, text));
    table_cell(table, plan_gpu_product(&row->plan, text));
    table_cell(table, output_number(e->tok_s_per_gpu, rate));
    if (e->usd_per_mtok > 0) table_cell(table, output_number(e->usd_per_mtok, rate));
    table_cell(table, output_number(e->tok_s_per_user, rate));
    add_time(table, e->ttft_ps);
    add_time(table, e->ttft_bound_ps);
    add_time(table, e->tpot_ps);
    add_time(table, e->tpot_bound_ps);
    table_cell(table, units_format_bytes(headroom_B(&row->memory), bytes));
    table_cell(table, evaluate_part_name(e->bottleneck));
    table_cell(table, calib_provenance_names[e->confidence]);
    table_cell(table, row->ties ? "=" : "");
}

void rank_show_table(const Ranking *ranking, const uint32_t *rows, uint32_t count, Table *out) {
    add_columns(out, ranking);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = rows == NULL ? i : rows[i];
        add_row(out, &ranking->rows[row], row + 1);
    }
}

static void show_table(const Ranking *ranking, uint32_t plans, Text *out) {
    if (plans == 0) return;
    Table table = {0};
    rank_show_table(ranking, NULL, plans, &table);
    text_add_char(out, '\n');
    table_print(&table, out);
    table_free(&table);
    text_add_char(out, '\n');
}

static void show_notes(const Ranking *ranking, uint32_t plans, Text *out) {
    for (uint32_t i = 0; i < plans; i++)
        if (*ranking->rows[i].note != '\0')
            text_addf(out, "plan %u: %s\n", i + 1, ranking->rows[i].note);
}

// How far the machine is from full, where it is half empty: more requests would change the order.
static void show_load(const Inputs *in, const Ranking *ranking, Text *out) {
    const RankRow *best = &ranking->rows[0];
    uint32_t gpus =
        ranking->paid == EVALUATE_PAID_PLAN ? plan_gpus(&best->plan) : in->fabric.gpu_count;
    const Pool *pool = &best->plan.pools[0];
    char each[OUTPUT_NUMBER_MAX];
    uint64_t requests = best->evaluation.requests, room;
    room = wide_mul_saturate(best->memory.most_sequences, (uint64_t)pool->dp * pool->replicas);
    if (room / 2 < requests) return;
    text_addf(out,
              "%" PRIu64 " requests are %s per GPU; the memory of plan 1 would hold %" PRIu64
              ": a higher --concurrency loads the machine\n",
              requests, output_number((double)requests / gpus, each), room);
}

void rank_show_meaning(const Inputs *in, const Ranking *ranking, Text *out) {
    const Scenario *s = &in->scenario;
    show_load(in, ranking, out);
    text_addf(out,
              "closed loop of %" PRIu64 " equal requests: all are prefilled, then decode together "
              "at their mean context of %" PRIu64 " tokens\n",
              s->concurrency, s->isl + s->osl / 2);
    text_add(out, "tok/s/GPU counts output tokens over ");
    if (ranking->paid == EVALUATE_PAID_PLAN)
        text_add(out, "the GPUs that a plan uses");
    else
        text_addf(out, "all %u GPUs", in->fabric.gpu_count);
    text_add(out, "; TTFT is unloaded; nothing queues, so there are no percentiles\n");
    text_add(out, "bound: roofline and narrowest links alone; bottleneck: what takes the largest "
                  "part of a cycle, prefill and decode together\n");
    text_addf(
        out,
        "= ties with the best (95 %% of %d draws of the constants, seed %d): a plan close below "
        "that loses in nearly every draw does not tie\n",
        RANK_DRAWS, RANK_SEED);
}

// ---- Ledger

void rank_show_ledger(const Space *space, Table *out) {
    table_column(out, "plans", TABLE_RIGHT);
    table_column(out, "not in the table because; the nearest miss", TABLE_LEFT);
    for (uint32_t i = 0; i < space->ledger_count; i++) {
        const LedgerRow *row = &space->ledger[i];
        char label[PLAN_TEXT_MAX];
        Text nearest = {0};
        text_addf(&nearest, "%s: %s", plan_label(&row->nearest, label), row->nearest_text);
        table_cellf(out, "%u", row->count);
        table_cellf(out, "%s: %s", space_ledger_names[row->kind], row->reason);
        table_note(out, text_string(&nearest));
        text_free(&nearest);
    }
}

static void show_ledger(const Space *space, Text *out) {
    Table table = {0};
    rank_show_ledger(space, &table);
    text_add_char(out, '\n');
    if (space->ledger_count > 0) table_print(&table, out);
    table_free(&table);
}

void rank_show_counts(const Ranking *ranking, uint32_t shown, Text *out) {
    text_addf(out, "%u plans considered, %u bounded, %u simulated, %u feasible, %u shown\n",
              ranking->space.considered, ranking->space.candidate_count, ranking->simulated,
              ranking->row_count, shown);
    text_add(out,
             "tried around the first plans alone: no overlap, dispatch in chunks, twice the "
             "micro-batches, caches dealt out, ranks in another order than GPUs (all plans with "
             "--placement any)\n"
             "tried where it can pay alone: prefill context parallelism (the TTFT of long "
             "prompts), eplb and redundant experts (a --load that is not even), caches in fp8 "
             "(scales in the checkpoint, or --kv-format any)\n");
}

void rank_show_text(const Inputs *inputs, const Ranking *ranking, uint32_t plans, Text *out) {
    rank_show_inputs(inputs, out);
    show_eps(inputs, ranking, out);
    text_add_char(out, '\n');
    rank_show_headline(inputs, ranking, out);
    show_table(ranking, plans, out);
    show_notes(ranking, plans, out);
    if (plans > 0) rank_show_meaning(inputs, ranking, out);
    show_ledger(&ranking->space, out);
    text_add_char(out, '\n');
    rank_show_counts(ranking, plans, out);
}

// ---- CSV

static void add_csv_row(Table *table, const RankRow *row, uint32_t number) {
    const Evaluation *e = &row->evaluation;
    char text[PLAN_TEXT_MAX];
    table_cellf(table, "%u", number);
    table_cell(table, plan_label(&row->plan, text));
    table_cellf(table, "%u", plan_gpus(&row->plan));
    table_cell(table, plan_gpu_product(&row->plan, text));
    table_cell_exact(table, e->tok_s_per_gpu);
    if (e->usd_per_mtok > 0)
        table_cell_exact(table, e->usd_per_mtok);
    else
        table_cell(table, "");
    table_cell_exact(table, e->tok_s_per_user);
    table_cell_exact(table, units_seconds(e->ttft_ps));
    table_cell_exact(table, units_seconds(e->ttft_bound_ps));
    table_cell_exact(table, units_seconds(e->tpot_ps));
    table_cell_exact(table, units_seconds(e->tpot_bound_ps));
    table_cellf(table, "%" PRIu64, headroom_B(&row->memory));
    table_cell(table, evaluate_part_name(e->bottleneck));
    table_cell(table, calib_provenance_names[e->confidence]);
    table_cell(table, row->ties ? "true" : "false");
}

void rank_show_csv(const Ranking *ranking, const uint32_t *rows, uint32_t count, Text *out) {
    static const char *const headers[] = {"rank",
                                          "plan",
                                          "gpus",
                                          "gpu_product",
                                          "output_tok_per_s_per_gpu",
                                          "usd_per_million_output_tok",
                                          "output_tok_per_s_per_user",
                                          "ttft_s",
                                          "ttft_lower_bound_s",
                                          "tpot_s",
                                          "tpot_lower_bound_s",
                                          "memory_headroom_B",
                                          "bottleneck",
                                          "confidence",
                                          "ties_with_best"};
    Table table = {0};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        table_column(&table, headers[i], TABLE_LEFT);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row = rows == NULL ? i : rows[i];
        add_csv_row(&table, &ranking->rows[row], row + 1);
    }
    table_print_csv(&table, out);
    table_free(&table);
}
