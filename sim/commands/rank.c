// The command rank: reads, ranks, prints, saves.
#include "sim/commands/rank.h"

#include "model/base/file.h"
#include "model/base/interrupt.h"
#include "sim/commands/degrade_plan.h"
#include "sim/commands/flow_eps.h"
#include "sim/commands/inputs.h"
#include "sim/commands/output.h"
#include "sim/commands/rank_json.h"
#include "sim/commands/rank_option.h"
#include "sim/commands/rank_pools.h"
#include "sim/commands/rank_range.h"
#include "sim/commands/rank_show.h"
#include "sim/commands/rank_tails.h"
#include "sim/commands/report.h"
#include "sim/commands/saved.h"
#include "sim/search/rank.h"

typedef enum Format { FORMAT_TABLE, FORMAT_JSON, FORMAT_CSV } Format;

// What a range leaves nothing for.
static bool check_range(const CliArgs *args, Err *err) {
    static const char *const apart[] = {"save", "samples", "degrade"};
    bool is_range = rank_option_is_range(args), has_sizes = rank_option_has_sizes(args);
    const char *option = is_range ? "concurrency" : "gpus";
    for (size_t i = 0; (is_range || has_sizes) && i < sizeof apart / sizeof *apart; i++)
        if (cli_is_given(args, apart[i]))
            return err_set(err, "--%s: expected one --%s, found the range %s", apart[i], option,
                           cli_text(args, option));
    return true;
}

static bool check_args(const CliArgs *args, Err *err) {
    if (!cli_is_given(args, "topo"))
        return err_set(err, "rank: --topo is missing: a file, a shipped name such as nvl72.json, "
                            "or a machine such as hgx-h100:4");
    uint32_t eps_ppb;
    if (!flow_eps_read(args, &eps_ppb, err)) return false;
    if (cli_is_given(args, "save") && eps_ppb > 0)
        return err_set(err, "--save: plans are saved with exact transfers, leave --flow-eps out");
    if (cli_is_given(args, "svg") && !cli_is_given(args, "pareto"))
        return err_set(err, "--svg: expected --pareto, whose picture it is");
    if (cli_count(args, "top") == 0) return err_set(err, "--top: expected at least 1, found 0");
    if (!check_range(args, err)) return false;
    return rank_pools_check(args, err);
}

static void tell_infeasible(const Space *space) {
    const LedgerRow *row = space_nearest_miss(space);
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

// With --pareto the rows of the front, else the first ones.
static void print_csv(const CliArgs *args, const Ranking *ranking, uint32_t plans, Text *out) {
    uint32_t *front = NULL;
    if (cli_is_given(args, "pareto")) {
        front = mem_alloc(ranking->row_count, sizeof *front);
        plans = report_front(ranking, front);
    }
    rank_show_csv(ranking, front, plans, out);
    mem_free(front);
}

static void print(const CliArgs *args, const Inputs *inputs, const Ranking *ranking, uint32_t plans,
                  const Text *json, Text *out) {
    switch ((Format)cli_choice(args, "format")) {
    case FORMAT_TABLE: rank_show_text(inputs, ranking, plans, out); break;
    case FORMAT_JSON: text_add(out, text_string(json)); break;
    case FORMAT_CSV: print_csv(args, ranking, plans, out); break;
    }
}

static bool write_svg(const CliArgs *args, const Ranking *ranking, Err *err) {
    const char *path = cli_text(args, "svg");
    if (path == NULL) return true;
    Text svg = {0};
    report_draw_front(ranking, &svg);
    bool done = file_write(path, text_string(&svg), svg.length, err);
    text_free(&svg);
    return done;
}

// Ctrl-C while files are written ends the program when what was half done is gone.
static int save(const CliArgs *args, const Inputs *inputs, const Ranking *ranking, uint32_t plans,
                const Text *json, int status) {
    Err err = {0};
    Interrupt interrupt;
    interrupt_begin(&interrupt);
    bool done =
        write_svg(args, ranking, &err) && saved_write(args, inputs, ranking, plans, json, &err);
    if (!done) status = output_bad(&err);
    interrupt_end(&interrupt);
    return status;
}

static int run(const CliArgs *args, const Inputs *inputs, const RankOption *option, Err *err) {
    EvaluateInput evaluation = inputs_for_ranking(inputs);
    evaluation.paid = option->paid;
    Ranking ranking = {0};
    Ranking built = {0}; // without the faults, if there are any
    if (!rank_search(&evaluation, &inputs->experts, &option->rank, &ranking, err))
        return output_bad(err);
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
        if (cli_is_given(args, "pareto")) report_show_front(&ranking, &out);
    }
    int status = output_text(&out, ranking.row_count > 0 ? OUTPUT_OK : OUTPUT_NO);
    if (status != OUTPUT_BAD) status = save(args, inputs, &ranking, plans, &json, status);
    if (status == OUTPUT_NO) tell_infeasible(&ranking.space);
    text_free(&json);
    rank_tails_free(&tails);
    rank_free(&ranking);
    rank_free(&built);
    return status;
}

static int dispatch(const CliArgs *args, const Inputs *inputs, Err *err) {
    RankOption option;
    bool is_range = rank_option_is_range(args) || rank_option_has_sizes(args);
    if (!is_range && cli_choice(args, "pools") != POOLS_UNIFIED)
        return rank_pools_command(args, inputs);
    if (!rank_option_read(args, inputs, &option, err)) return output_bad(err);
    int status =
        is_range ? rank_range_command(args, inputs, &option) : run(args, inputs, &option, err);
    rank_option_free(&option);
    return status;
}

int rank_command(const CliArgs *args) {
    Err err = {0};
    Inputs inputs;
    if (!check_args(args, &err)) return output_bad(&err);
    if (!inputs_load(args, &inputs, &err)) return output_bad(&err);
    int status = saved_check(args, &err) ? dispatch(args, &inputs, &err) : output_bad(&err);
    inputs_free(&inputs);
    return status;
}
