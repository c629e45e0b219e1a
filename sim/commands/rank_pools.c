// rank --pools separate|both: searches, prints and saves plans of two pools.
//
// Invariant: with `both` the better of the best unified plan and the best pair of pools is named;
// that there can be no separate pools is then an answer, and without unified plans an error.
#include "sim/commands/rank_pools.h"

#include <string.h>

#include "model/base/interrupt.h"
#include "sim/commands/output.h"
#include "sim/commands/rank_option.h"
#include "sim/commands/saved.h"

typedef enum Format { FORMAT_TABLE, FORMAT_JSON, FORMAT_CSV } Format;

bool rank_pools_check(const CliArgs *args, Err *err) {
    static const char *const others[] = {"samples", "moe-tp", "flow-eps", "placement"};
    const char *format = cli_text(args, "kv-format");
    static const char *const own[] = {"prefill-pool", "decode-pool"};
    bool is_unified = cli_choice(args, "pools") == POOLS_UNIFIED;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (is_unified && cli_is_given(args, own[i]))
            return err_set(err, "--%s: expected --pools separate or both with it", own[i]);
    if (is_unified) return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (cli_is_given(args, others[i]))
            return err_set(err, "--%s: not done for separate pools, expected --pools unified",
                           others[i]);
    Objective objective = (Objective)cli_choice(args, "objective");
    if (objective != OBJECTIVE_THROUGHPUT && objective != OBJECTIVE_COST)
        return err_set(err,
                       "--objective %s: separate pools are ordered by throughput or cost; --pareto "
                       "shows those of fast users too",
                       objective_names[objective]);
    return format == NULL || strcmp(format, "any") != 0 ||
           err_set(err, "--kv-format any: not done for separate pools, expected bf16 or fp8");
}

// "tp1,dp8,ep8,x2": what an instance must be, and how many there are.
static bool read_wish(const CliArgs *args, const char *option, PoolsWish *out, Err *err) {
    const char *text = cli_text(args, option);
    PoolsWish wish = {0};
    const struct {
        const char *key;
        uint32_t *field;
    } keys[] = {{"tp", &wish.tp},
                {"pp", &wish.pp},
                {"dp", &wish.dp},
                {"ep", &wish.ep},
                {"x", &wish.instances}};
    for (const char *at = text; at != NULL && *at != '\0';) {
        uint32_t key = 0;
        uint64_t value = 0;
        while (key < 5 && strncmp(at, keys[key].key, strlen(keys[key].key)) != 0) key++;
        const char *digits = key < 5 ? at + strlen(keys[key].key) : at, *end = digits;
        for (; *end >= '0' && *end <= '9' && value <= POOL_RANKS_MAX; end++)
            value = value * 10 + (uint64_t)(*end - '0');
        if (key == 5 || end == digits || value == 0 || value > POOL_RANKS_MAX ||
            *keys[key].field != 0 || (*end != ',' && *end != '\0') ||
            (*end == ',' && end[1] == '\0'))
            return err_set(err,
                           "--%s: expected numbers of an instance such as \"tp1,dp8,ep8\", and x2 "
                           "for two of them, found \"%s\"",
                           option, text);
        *keys[key].field = (uint32_t)value;
        at = *end == ',' ? end + 1 : end;
    }
    *out = wish;
    return true;
}

bool rank_pools_spec(const CliArgs *args, const Inputs *inputs, const RankOption *option,
                     PoolsSpec *out, Err *err) {
    *out = (PoolsSpec){.experts = inputs->experts,
                       .most = option->rank.top,
                       .gpus = option->rank.width.most_gpus,
                       .engines = option->rank.width.engines,
                       .scope = cli_is_given(args, "pareto") ? POOLS_FRONT : POOLS_BEST};
    return read_wish(args, "prefill-pool", &out->wishes[PHASE_PREFILL], err) &&
           read_wish(args, "decode-pool", &out->wishes[PHASE_DECODE], err);
}

static void print(const CliArgs *args, const RankPoolsAnswer *answer, const Text *json, Text *out) {
    switch ((Format)cli_choice(args, "format")) {
    case FORMAT_TABLE: rank_pools_show_text(answer, out); break;
    case FORMAT_JSON: text_add(out, text_string(json)); break;
    case FORMAT_CSV:
        if (answer->front != NULL)
            rank_front_csv(answer->front, out);
        else
            rank_pools_show_csv(answer, out);
        break;
    }
}

// A saved plan stands for itself: its figures are of all GPUs of the machine.
static bool add_result(const RankPoolsAnswer *answer, uint32_t i, Text *out, Err *err) {
    PoolsRow row = answer->pools->rows[i];
    EvaluateInput input = inputs_for_ranking(answer->inputs);
    if (answer->paid != input.paid &&
        !pools_evaluate(&input, &row.plan, row.decode.sequences, &row, err))
        return false;
    rank_pools_show_result(answer->inputs->assume, &row, out);
    return true;
}

static bool save_plans(const CliArgs *args, const RankPoolsAnswer *answer, SavedPlan *plans,
                       const SavedReport *report, Err *err) {
    Interrupt interrupt;
    bool done = true;
    interrupt_begin(&interrupt);
    for (uint32_t i = 0; done && i < answer->shown; i++) {
        plans[i] = (SavedPlan){.plan = answer->pools->rows[i].plan};
        done = add_result(answer, i, &plans[i].result, err);
    }
    done = done && saved_write_plans(args, answer->inputs, plans, answer->shown, report, err);
    interrupt_end(&interrupt);
    return done;
}

static bool save(const CliArgs *args, const RankPoolsAnswer *answer, const Text *json, Err *err) {
    Text csv = {0}, html = {0};
    if (!cli_is_given(args, "save")) return true;
    SavedPlan *plans = mem_alloc(answer->shown, sizeof *plans);
    for (uint32_t i = 0; i < answer->shown; i++) plans[i] = (SavedPlan){0};
    rank_pools_show_csv(answer, &csv);
    rank_pools_report_html(answer, &html);
    bool done = save_plans(args, answer, plans, &(SavedReport){json, &csv, &html}, err);
    for (uint32_t i = 0; i < answer->shown; i++) text_free(&plans[i].result);
    mem_free(plans);
    text_free(&csv);
    text_free(&html);
    return done;
}

static int show(const CliArgs *args, const RankPoolsAnswer *answer) {
    Text json = {0}, out = {0};
    Err err = {0};
    bool is_any = answer->shown > 0 || answer->unified != NULL;
    rank_pools_show_json(answer, &json);
    print(args, answer, &json, &out);
    int status = output_text(&out, is_any ? OUTPUT_OK : OUTPUT_NO);
    if (status == OUTPUT_NO) output_message("no plan is feasible, with or without separate pools");
    if (status == OUTPUT_OK &&
        !((answer->front == NULL || rank_front_save(args, answer->front, &err)) &&
          save(args, answer, &json, &err)))
        status = output_bad(&err);
    text_free(&json);
    return status;
}

static int run(const CliArgs *args, const Inputs *inputs, const RankOption *option,
               const PoolsSpec *spec) {
    Err err = {0}, other = {0};
    EvaluateInput evaluation = inputs_for_ranking(inputs);
    bool is_both = cli_choice(args, "pools") == POOLS_EITHER;
    RankOptions first = option->rank;
    Ranking unified = {0};
    PoolsRanking pools = {0};
    first.scope = spec->scope == POOLS_FRONT ? RANK_FRONT : RANK_FIRST;
    first.top = 1;
    first.width.any_kv_format = false; // pools have the scenario's format
    evaluation.paid = option->paid;
    evaluation.memory = evaluate_memory_open(&evaluation);
    bool is_split = pools_rank(&evaluation, spec, &pools, &err), done = is_split || is_both;
    if (done && is_both)
        done = rank_search(&evaluation, &inputs->experts, &first, &unified, &other);
    evaluate_memory_close(evaluation.memory);
    RankPoolsAnswer answer = {.inputs = inputs,
                              .pools = is_split ? &pools : NULL,
                              .reason = err.text,
                              .paid = option->paid,
                              .is_both = is_both,
                              .unified = unified.row_count > 0 ? &unified.rows[0] : NULL,
                              .shown = pools.row_count < spec->most ? pools.row_count : spec->most};
    RankFront front = {0};
    if (done && spec->scope == POOLS_FRONT) {
        rank_front_add(&front, &unified, inputs->scenario.concurrency);
        rank_front_add_pools(&front, &pools, inputs->scenario.concurrency);
        rank_front_find(&front);
        answer.front = &front;
    }
    int status = done ? show(args, &answer) : output_bad(is_both ? &other : &err);
    rank_front_free(&front);
    rank_free(&unified);
    pools_free(&pools);
    return status;
}

int rank_pools_command(const CliArgs *args, const Inputs *inputs) {
    Err err = {0};
    RankOption option;
    PoolsSpec spec;
    if (!rank_option_read(args, inputs, &option, &err)) return output_bad(&err);
    int status = rank_pools_spec(args, inputs, &option, &spec, &err)
                     ? run(args, inputs, &option, &spec)
                     : output_bad(&err);
    rank_option_free(&option);
    return status;
}

// ---- A saved plan

static bool check_simulate(const CliArgs *args, Err *err) {
    static const char *const others[] = {"phase", "trace",   "schedule", "timeline", "form",
                                         "load",  "samples", "degrade",  "flow-eps"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (cli_is_given(args, others[i]))
            return err_set(err, "--%s: not done for separate pools, expected a plan of one pool",
                           others[i]);
    return true;
}

int rank_pools_simulate(const CliArgs *args, const PlanFile *file) {
    const char *path = args->operands[0];
    Err err = {0};
    Inputs inputs;
    PoolsRow row;
    Text result = {0}, out = {0};
    if (!check_simulate(args, &err) || !inputs_load_pools(path, file, &inputs, &err))
        return output_bad(&err);
    EvaluateInput evaluation = inputs_for_ranking(&inputs);
    if (!pools_evaluate(&evaluation, &file->plan, inputs.sequences, &row, &err)) {
        err_prefix(&err, "%s", path);
        inputs_free(&inputs);
        return output_bad(&err);
    }
    rank_pools_show_result(inputs.assume, &row, &result);
    bool is_reproduced = saved_is_same_result(text_string(&result), file->result);
    if (cli_choice(args, "format") == FORMAT_TABLE)
        rank_pools_show_row(&inputs, &row, is_reproduced, &out);
    else
        rank_pools_show_simulation(&inputs, &row, is_reproduced, &out);
    int status = output_text(&out, is_reproduced ? OUTPUT_OK : OUTPUT_NO);
    if (status == OUTPUT_NO) output_message("the saved prediction was not reproduced");
    text_free(&result);
    inputs_free(&inputs);
    return status;
}
