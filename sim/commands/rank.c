// The command rank: reads, ranks, prints, saves.
#include "sim/commands/rank.h"

#include <assert.h>

#include "model/base/file.h"
#include "sim/commands/degrade_plan.h"
#include "sim/commands/flow_eps.h"
#include "sim/commands/inputs.h"
#include "sim/commands/output.h"
#include "sim/commands/rank_json.h"
#include "sim/commands/rank_show.h"
#include "sim/commands/rank_tails.h"
#include "sim/commands/saved.h"
#include "sim/search/rank.h"

typedef enum Format { FORMAT_TABLE, FORMAT_JSON, FORMAT_CSV } Format;

static bool check_args(const CliArgs *args, Err *err) {
    if (!cli_is_given(args, "topo"))
        return err_set(err, "rank: --topo is missing: a file, a shipped name such as nvl72.json, "
                            "or a machine such as hgx-h100:4");
    uint32_t eps_ppb;
    if (!flow_eps_read(args, &eps_ppb, err)) return false;
    if (cli_is_given(args, "save") && eps_ppb > 0)
        return err_set(err, "--save: plans are saved with exact transfers, leave --flow-eps out");
    if (cli_count(args, "top") == 0) return err_set(err, "--top: expected at least 1, found 0");
    return true;
}

// By how little would have to change: a limit, data, the machine, the engine, the model.
static const LedgerRow *nearest_miss(const Space *space) {
    static const LedgerKind order[] = {LEDGER_MISSES_LIMIT, LEDGER_NO_DATA, LEDGER_NOT_FIT,
                                       LEDGER_SKIPPED,      LEDGER_ENGINE,  LEDGER_ILLEGAL};
    static_assert(sizeof order / sizeof *order == LEDGER_KIND_COUNT, "every kind has its turn");
    const LedgerRow *row = NULL;
    for (size_t i = 0; row == NULL && i < LEDGER_KIND_COUNT; i++)
        row = space_nearest(space, order[i]);
    return row;
}

static void tell_infeasible(const Space *space) {
    const LedgerRow *row = nearest_miss(space);
    Text text = {0};
    text_add(&text, "no plan is feasible");
    if (row != NULL) {
        char label[PLAN_TEXT_MAX];
        text_addf(&text, "; nearest miss: %s: %s", plan_label(&row->nearest, label),
                  row->nearest_text);
    }
    output_message(text_string(&text));
    text_free(&text);
}

static void print(const CliArgs *args, const Inputs *inputs, const Ranking *ranking, uint32_t plans,
                  const Text *json, Text *out) {
    switch ((Format)cli_choice(args, "format")) {
    case FORMAT_TABLE: rank_show_text(inputs, ranking, plans, out); break;
    case FORMAT_JSON: text_add(out, text_string(json)); break;
    case FORMAT_CSV: rank_show_csv(ranking, plans, out); break;
    }
}

static int run(const CliArgs *args, const Inputs *inputs, const char *work, Err *err) {
    EvaluateInput evaluation = inputs_for_ranking(inputs);
    Ranking ranking = {0};
    Ranking built = {0}; // without the faults, if there are any
    if (!rank_plans(&evaluation, &inputs->experts, &ranking, err)) return output_bad(err);
    uint64_t top = cli_count(args, "top");
    uint32_t plans = ranking.row_count < top ? ranking.row_count : (uint32_t)top;
    RankTails tails = {0};
    if (!degrade_plan_rank_built(inputs, &built, err) ||
        !rank_tails_run(args, inputs, &ranking, plans, &tails, err)) {
        rank_free(&ranking);
        rank_free(&built);
        return output_bad(err);
    }
    Text json = {0}, out = {0};
    rank_json_write(inputs, &ranking, &built, plans, &tails, &json);
    print(args, inputs, &ranking, plans, &json, &out);
    if (cli_choice(args, "format") == FORMAT_TABLE) {
        rank_tails_show(&tails, &ranking, &out);
        degrade_plan_show_ranking(inputs, &built, &ranking, &out);
    }
    int status = output_text(&out, ranking.row_count > 0 ? OUTPUT_OK : OUTPUT_NO);
    if (status == OUTPUT_NO) tell_infeasible(&ranking.space);
    if (work != NULL && status != OUTPUT_BAD &&
        !(saved_write(work, inputs, &ranking, plans, &json, err) &&
          file_folder_end(work, cli_text(args, "save"), err)))
        status = output_bad(err);
    text_free(&json);
    rank_tails_free(&tails);
    rank_free(&ranking);
    rank_free(&built);
    return status;
}

int rank_command(const CliArgs *args) {
    Err err = {0};
    if (!check_args(args, &err)) return output_bad(&err);
    Inputs inputs;
    if (!inputs_load(args, &inputs, &err)) return output_bad(&err);
    // whether the folder can be made is asked before minutes of simulation, not after
    Arena scratch = {0};
    const char *folder = cli_text(args, "save"), *work = NULL;
    int status = folder == NULL || file_folder_begin(folder, &scratch, &work, &err)
                     ? run(args, &inputs, work, &err)
                     : output_bad(&err);
    if (work != NULL && status == OUTPUT_BAD) file_folder_abandon(work);
    arena_free(&scratch);
    inputs_free(&inputs);
    return status;
}
