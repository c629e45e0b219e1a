// The first plans again, under sampled loads.
//
// Invariant: all plans have the same samples, of as many tokens as one of their steps has; the
// order of the ranking stays that of the expected load.
#include "sim/commands/rank_tails.h"

#include "model/base/table.h"

static bool add_plan(const EvaluateInput *input, const Inputs *inputs, const RankRow *row,
                     RankTails *tails, Err *err) {
    const Pool *pool = &row->plan.pools[0];
    Evaluation evaluation;
    if (!evaluate_plan(input, &row->plan, row->sequences, &evaluation, err)) return false;
    bool done = samples_run(&tails->samples, inputs, pool, &evaluation.decode_phase,
                            pool->micro_batches, &tails->decode[tails->count], err);
    evaluate_free(&evaluation);
    tails->count += done;
    return done;
}

bool rank_tails_run(const CliArgs *args, const Inputs *inputs, const Ranking *ranking,
                    uint32_t plans, RankTails *out, Err *err) {
    RankTails tails = {0};
    EvaluateInput input = inputs_for_ranking(inputs);
    bool done = samples_read(args, &inputs->arch, &tails.samples, err);
    uint32_t most = plans < RANK_TAILS_PLANS ? plans : RANK_TAILS_PLANS;
    input.keep_phases = true;
    while (done && tails.samples.count > 0 && tails.count < most)
        done = add_plan(&input, inputs, &ranking->rows[tails.count], &tails, err);
    if (!done) {
        rank_tails_free(&tails);
        return false;
    }
    *out = tails;
    return true;
}

void rank_tails_free(RankTails *tails) {
    for (uint32_t i = 0; i < tails->count; i++) tails_free(&tails->decode[i]);
    *tails = (RankTails){0};
}

static void add_row(Table *table, uint32_t number, const RankRow *row, const Tails *tails) {
    const Time times[] = {row->evaluation.tpot_ps, tails->expected_ps, tails_percentile(tails, 50),
                          tails_percentile(tails, 95), tails_percentile(tails, 99)};
    char text[PLAN_TEXT_MAX], time[UNITS_TEXT_MAX];
    table_cellf(table, "%u", number);
    table_cell(table, plan_label(&row->plan, text));
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        table_cell(table, units_format_time(times[i], time));
}

void rank_tails_show(const RankTails *tails, const Ranking *ranking, Text *out) {
    static const char *const headers[] = {"TPOT", "expected load", "p50", "p95", "p99"};
    Table table = {0};
    if (tails->count == 0) return;
    table_column(&table, "#", TABLE_RIGHT);
    table_column(&table, "plan", TABLE_LEFT);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        table_column(&table, headers[i], TABLE_RIGHT);
    for (uint32_t i = 0; i < tails->count; i++)
        add_row(&table, i + 1, &ranking->rows[i], &tails->decode[i]);
    text_add(out, "\np99 TPOT over ");
    samples_add(&tails->samples, out);
    text_add(out, "; TPOT: as ranked, the ranks in classes; expected load: every rank and layer "
                  "with its own\n\n");
    table_print(&table, out);
    table_free(&table);
}

void rank_tails_write(JsonWriter *writer, const RankTails *tails) {
    if (tails->count == 0) return;
    jsonw_open_object(writer, "sampled_tpot");
    samples_write(writer, &tails->samples);
    jsonw_open_array(writer, "plans");
    for (uint32_t i = 0; i < tails->count; i++) {
        jsonw_open_object(writer, NULL);
        jsonw_u64(writer, "rank", i + 1);
        samples_write_tails(writer, "tpot", &tails->decode[i]);
        jsonw_close_object(writer);
    }
    jsonw_close_array(writer);
    jsonw_close_object(writer);
}
