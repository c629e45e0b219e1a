// The command simulate: replays a saved plan, says whether the saved prediction came out again,
// shows rounds and links, writes traces.
//
// Invariant: the comparison is of the whole prediction as text, digests of the timelines included,
// and is made in the form in which rank simulates, whatever form is asked for.
#include "sim/commands/simulate.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/file.h"
#include "model/base/jsonw.h"
#include "model/base/table.h"
#include "model/plan/launch_shell.h"
#include "model/report/timeline_file.h"
#include "sim/commands/degrade_plan.h"
#include "sim/commands/flow_eps.h"
#include "sim/commands/inputs.h"
#include "sim/commands/load_option.h"
#include "sim/commands/output.h"
#include "sim/commands/rank_pools.h"
#include "sim/commands/samples.h"
#include "sim/commands/saved.h"
#include "sim/commands/simulate_collective.h"
#include "sim/commands/simulate_transfers.h"
#include "sim/search/why_link.h"

typedef enum PhaseChoice { SHOW_DECODE, SHOW_PREFILL } PhaseChoice;

typedef struct Replay {
    PlanFile file;
    Inputs inputs;
    Evaluation evaluation; // in the form asked for, with its phases
    bool reproduced;
    DegradePlan degraded; // with the faults of --degrade
    Samples samples;
    Tails prefill_tails, decode_tails; // of samples, if there are any
} Replay;

static const EvaluatePhase *chosen_phase(const CliArgs *args, const Evaluation *evaluation) {
    switch ((PhaseChoice)cli_choice(args, "phase")) {
    case SHOW_PREFILL: return &evaluation->prefill_phase;
    case SHOW_DECODE: break;
    }
    return &evaluation->decode_phase;
}

// ---- Simulation

static bool compare(Replay *replay, Err *err) {
    EvaluateInput input = inputs_for_ranking(&replay->inputs);
    Evaluation evaluation;
    Text result = {0};
    uint64_t sequences = replay->inputs.sequences;
    input.keep_phases = true;
    if (!evaluate_plan(&input, &replay->file.plan, sequences, &evaluation, err)) return false;
    saved_write_result(replay->inputs.assume, sequences, &evaluation, &result);
    replay->reproduced = saved_is_same_result(text_string(&result), replay->file.result);
    text_free(&result);
    evaluate_free(&evaluation);
    return true;
}

// As asked for, with spans where a file wants them.
static EvaluateInput asked_input(const CliArgs *args, const Replay *replay) {
    static const SimForm forms[] = {SIM_AUTO, SIM_FOLDED, SIM_REFINED,
                                    SIM_EXPANDED}; // in order of the choices
    EvaluateInput input = inputs_for_evaluation(&replay->inputs);
    input.form = forms[cli_choice(args, "form")];
    input.keep_phases = true;
    input.keep_spans = cli_is_given(args, "trace") || cli_is_given(args, "timeline");
    return input;
}

static bool run(const CliArgs *args, Replay *replay, Err *err) {
    if (!compare(replay, err)) return false;
    if (!inputs_replace_load(args, &replay->inputs, err) ||
        !flow_eps_read(args, &replay->inputs.flow_eps_ppb, err))
        return false;
    if (!samples_read(args, &replay->inputs.arch, &replay->samples, err)) return false;
    EvaluateInput input = asked_input(args, replay);
    return evaluate_plan(&input, &replay->file.plan, replay->inputs.sequences, &replay->evaluation,
                         err);
}

static bool run_samples(Replay *replay, Err *err) {
    const Pool *pool = &replay->file.plan.pools[0];
    if (replay->samples.count == 0) return true;
    return samples_run(&replay->samples, &replay->inputs, pool, &replay->evaluation.prefill_phase,
                       1, &replay->prefill_tails, err) &&
           samples_run(&replay->samples, &replay->inputs, pool, &replay->evaluation.decode_phase,
                       pool->micro_batches, &replay->decode_tails, err);
}

static bool write_trace(const CliArgs *args, const Replay *replay, Err *err) {
    const char *path = cli_text(args, "trace");
    if (path == NULL) return true;
    const EvaluatePhase *phase = chosen_phase(args, &replay->evaluation);
    Text trace = {0};
    timeline_write_chrome(&phase->timeline, &phase->schedule, &trace);
    bool done = file_write(path, text_string(&trace), trace.length, err);
    text_free(&trace);
    return done;
}

// What moesim-run executes: the very schedule that was priced.
static bool write_schedule(const CliArgs *args, const Replay *replay, Err *err) {
    const char *path = cli_text(args, "schedule");
    if (path == NULL) return true;
    Text schedule = {0};
    schedule_write(&chosen_phase(args, &replay->evaluation)->schedule, &schedule);
    bool done = file_write(path, text_string(&schedule), schedule.length, err);
    text_free(&schedule);
    return done;
}

// The class of the link that each operation fills most.
static bool find_links(const Replay *replay, const EvaluateInput *input, const EvaluatePhase *phase,
                       LinkClass *out, Err *err) {
    WhyPlan plan = {input, &replay->file.plan, replay->inputs.sequences};
    WhyLinks links = {0};
    if (!why_link_read(&plan, phase, &links, err)) return false;
    for (OpId id = 0; id < phase->schedule.op_count; id++) {
        const Op *op = &phase->schedule.ops[id];
        const WhyComm *comm =
            schedule_op_is_comm(op->kind) ? why_link_find(&links, op->name) : NULL;
        bool moves = comm != NULL && comm->fullest_Bps > 0;
        out[id] = moves ? comm->fullest_class : LINK_CLASS_COUNT;
    }
    why_link_free(&links);
    return true;
}

// What moesim compare lays beside a measured one.
static bool write_timeline(const CliArgs *args, const Replay *replay, Err *err) {
    const char *path = cli_text(args, "timeline");
    if (path == NULL) return true;
    const EvaluatePhase *phase = chosen_phase(args, &replay->evaluation);
    EvaluateInput input = asked_input(args, replay);
    LinkClass *links = mem_alloc((size_t)phase->schedule.op_count + 1, sizeof *links);
    TimelineFileFacts facts = {
        .machine = replay->file.topology, .device = replay->inputs.device->name, .links = links};
    TimelineFile file = {0};
    Text text = {0};
    bool done = find_links(replay, &input, phase, links, err) &&
                timeline_file_build(&phase->timeline, &phase->schedule, &facts, &file, err);
    if (done) {
        timeline_file_write(&file, &text);
        done = file_write(path, text_string(&text), text.length, err);
    }
    text_free(&text);
    timeline_file_free(&file);
    mem_free(links);
    return done;
}

static bool goes_to_stdout(const CliArgs *args, const char *option) {
    const char *path = cli_text(args, option);
    return path != NULL && strcmp(path, "-") == 0;
}

// ---- For people

static void show_time(Text *out, const char *name, Time ps, Time bound_ps) {
    char time[UNITS_TEXT_MAX], bound[UNITS_TEXT_MAX];
    text_addf(out, "%-10s %s (bound %s)\n", name, units_format_time(ps, time),
              units_format_time(bound_ps, bound));
}

static void show_figures(const Replay *replay, Text *out) {
    const Evaluation *e = &replay->evaluation;
    char label[PLAN_TEXT_MAX], product[PLAN_TEXT_MAX], number[OUTPUT_NUMBER_MAX];
    text_addf(out,
              "plan       %s, GPUs %s, %" PRIu64
              " sequences on an attention-DP rank and micro-batch\n",
              plan_label(&replay->file.plan, label), plan_gpu_product(&replay->file.plan, product),
              replay->inputs.sequences);
    if (replay->inputs.load.kind != LOAD_UNIFORM || replay->inputs.has_expected)
        text_addf(out, "load       %s\n", load_option_name(&replay->inputs.load));
    if (replay->inputs.has_expected)
        text_addf(out, "expected   %s\n", load_option_name(&replay->inputs.expected));
    load_option_show_experts(&replay->inputs.arch, &replay->file.plan.pools[0], e, out);
    text_add(out, "flow eps   ");
    flow_eps_add(replay->inputs.flow_eps_ppb, e->flow_eps_error_ppb, out);
    text_add_char(out, '\n');
    show_time(out, "TTFT", e->ttft_ps, e->ttft_bound_ps);
    show_time(out, "TPOT", e->tpot_ps, e->tpot_bound_ps);
    text_addf(out, "throughput %s tok/s/GPU", output_number(e->tok_s_per_gpu, number));
    text_addf(out, ", %s tok/s/user", output_number(e->tok_s_per_user, number));
    if (e->usd_per_mtok > 0)
        text_addf(out, ", $%s per million output tokens", output_number(e->usd_per_mtok, number));
    text_add_char(out, '\n');
}

static void show_shape(const char *name, const EvaluatePhase *phase, Text *out) {
    const StepShape *shape = &phase->shape;
    text_addf(out,
              "\n%s: %" PRIu64 " new tokens of %" PRIu64 " sequence%s, attention reads %" PRIu64
              " tokens, these included; %s, %" PRIu64 " events\n",
              name, shape->tokens, shape->sequences, shape->sequences == 1 ? "" : "s",
              shape->kv_tokens, timeline_form_names[phase->timeline.form], phase->timeline.events);
}

static void show_rounds(const Timeline *timeline, Text *out) {
    Table table = {0};
    char text[UNITS_TEXT_MAX];
    table_column(&table, "pass", TABLE_RIGHT);
    table_column(&table, "ends at", TABLE_RIGHT);
    table_column(&table, "after the one before", TABLE_RIGHT);
    for (uint32_t i = 0; i < timeline->round_count; i++) {
        Time before = i == 0 ? 0 : timeline->round_ps[i - 1];
        table_cellf(&table, "%u", i + 1);
        table_cell(&table, units_format_time(timeline->round_ps[i], text));
        table_cell(&table, units_format_time(timeline->round_ps[i] - before, text));
    }
    table_print(&table, out);
    table_free(&table);
}

static void show_phase(const char *name, const EvaluatePhase *phase, Text *out) {
    show_shape(name, phase, out);
    show_rounds(&phase->timeline, out);
    output_links(&phase->timeline, out);
}

static void add_tails(Table *table, const char *phase, const Tails *tails) {
    const Time times[] = {tails->even_ps, tails->expected_ps, tails_percentile(tails, 50),
                          tails_percentile(tails, 95), tails_percentile(tails, 99)};
    char text[UNITS_TEXT_MAX];
    table_cell(table, phase);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        table_cell(table, units_format_time(times[i], text));
}

static void show_tails(const Replay *replay, Text *out) {
    static const char *const headers[] = {"even load", "expected load", "p50", "p95", "p99"};
    Table table = {0};
    if (replay->samples.count == 0) return;
    table_column(&table, "step", TABLE_LEFT);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        table_column(&table, headers[i], TABLE_RIGHT);
    add_tails(&table, "prefill, last full chunk", &replay->prefill_tails);
    add_tails(&table, "decode", &replay->decode_tails);
    text_add(out, "\nsamples    ");
    samples_add(&replay->samples, out);
    text_add(out,
             "; percentiles are of simulated steps, the engine's time between them included\n");
    table_print(&table, out);
    table_free(&table);
}

// Adds a line that makes the file where the load is a law. Returns the name of the file.
static const char *show_load(const CliArgs *args, const Replay *replay, Arena *arena, Text *out) {
    const char *plan = args->operands[0], *schedule = cli_text(args, "schedule");
    if (!cli_is_given(args, "load")) return file_beside(plan, replay->file.load, arena);
    if (!load_option_is_law(args)) return cli_text(args, "load");
    size_t length = strlen(schedule), ending = strlen(".json");
    bool has_ending = length > ending && strcmp(schedule + length - ending, ".json") == 0;
    const char *path = arena_printf(arena, "%.*s-load.json",
                                    (int)(has_ending ? length - ending : length), schedule);
    text_add(out, "its load:  ");
    load_option_show_command(args, file_beside(plan, replay->file.model, arena),
                             replay->inputs.assume, path, out);
    text_add_char(out, '\n');
    return path;
}

// What moesim-run needs to know beside the schedule that was written.
static void show_run(const CliArgs *args, const Replay *replay, Text *out) {
    const EvaluatePhase *phase = chosen_phase(args, &replay->evaluation);
    const StepShape *shape = &phase->shape;
    const Load *load = &replay->inputs.load;
    Arena arena = {0};
    if (!cli_is_given(args, "schedule")) return;
    text_add_char(out, '\n');
    if (phase->timeline.load != load->digest) {
        text_add(out, "moesim-run takes no load of experts that EPLB placed: they lie on slots, "
                      "which no load names\n");
        return;
    }
    const char *path = load->kind == LOAD_UNIFORM ? NULL : show_load(args, replay, &arena, out);
    text_add(out, "to run it: moesim-run run ");
    launch_shell_quote(cli_text(args, "schedule"), out);
    text_addf(out,
              " --tokens %" PRIu64 " --sequences %" PRIu64 " --kv-tokens %" PRIu64
              " --qk-pairs %" PRIu64,
              shape->tokens, shape->sequences, shape->kv_tokens, shape->qk_pairs);
    if (path != NULL) {
        text_add(out, " --load ");
        launch_shell_quote(path, out);
    }
    text_add_char(out, '\n');
    arena_free(&arena);
}

static void show(const CliArgs *args, const Replay *replay, Text *out) {
    show_figures(replay, out);
    show_phase("prefill, last full chunk", &replay->evaluation.prefill_phase, out);
    show_phase("decode", &replay->evaluation.decode_phase, out);
    show_tails(replay, out);
    show_run(args, replay, out);
    text_addf(out, "\nreproduced: %s\n", replay->reproduced ? "yes" : "no");
    degrade_plan_show(&replay->inputs, &replay->evaluation, &replay->degraded, out);
}

// ---- For programs

static void write_phase(JsonWriter *w, const char *key, const EvaluatePhase *phase) {
    const Timeline *timeline = &phase->timeline;
    jsonw_open_object(w, key);
    jsonw_string(w, "form", timeline_form_names[timeline->form]);
    jsonw_u64(w, "new_tok", phase->shape.tokens);
    jsonw_u64(w, "sequences", phase->shape.sequences);
    jsonw_u64(w, "cached_tok", phase->shape.kv_tokens);
    jsonw_u64(w, "qk_pairs", phase->shape.qk_pairs);
    jsonw_double(w, "end_s", units_seconds(timeline->end_ps));
    jsonw_open_array(w, "pass_ends_s");
    for (uint32_t i = 0; i < timeline->round_count; i++)
        jsonw_double(w, NULL, units_seconds(timeline->round_ps[i]));
    jsonw_close_array(w);
    output_write_links(timeline->links, w);
    jsonw_digest(w, "schedule_digest", timeline->schedule);
    jsonw_close_object(w);
}

static void write_tails(JsonWriter *w, const Replay *replay) {
    if (replay->samples.count == 0) return;
    jsonw_open_object(w, "sampled_steps");
    samples_write(w, &replay->samples);
    samples_write_tails(w, "prefill", &replay->prefill_tails);
    samples_write_tails(w, "decode", &replay->decode_tails);
    jsonw_close_object(w);
}

static void write_json(const Replay *replay, Text *out) {
    char label[PLAN_TEXT_MAX];
    JsonWriter w = {.text = out};
    jsonw_open_object(&w, NULL);
    jsonw_string(&w, "moesim", "simulation");
    jsonw_u64(&w, "version", 1);
    jsonw_string(&w, "plan", plan_label(&replay->file.plan, label));
    saved_write_figures(&w, &replay->evaluation);
    flow_eps_write(&w, replay->inputs.flow_eps_ppb, replay->evaluation.flow_eps_error_ppb);
    if (replay->inputs.load.kind != LOAD_UNIFORM)
        jsonw_digest(&w, "load_digest", replay->inputs.load.digest);
    write_phase(&w, "prefill", &replay->evaluation.prefill_phase);
    write_phase(&w, "decode", &replay->evaluation.decode_phase);
    write_tails(&w, replay);
    jsonw_bool(&w, "reproduced", replay->reproduced);
    degrade_plan_write(&w, &replay->degraded);
    jsonw_close_object(&w);
    jsonw_finish(&w);
}

static int print(const CliArgs *args, const Replay *replay) {
    Text out = {0};
    if (goes_to_stdout(args, "trace") || goes_to_stdout(args, "schedule") ||
        goes_to_stdout(args, "timeline")) {
        // stdout holds that file
    } else if (cli_choice(args, "format") == 0) {
        show(args, replay, &out);
    } else {
        write_json(replay, &out);
    }
    return output_text(&out, replay->reproduced ? OUTPUT_OK : OUTPUT_NO);
}

// An option that would change nothing is a mistake.
static bool check_options(const CliArgs *args, Err *err) {
    static const char *const of_plans[] = {"phase", "trace", "schedule", "timeline",
                                           "form",  "load",  "samples"};
    static const char *const of_others[] = {
        "topo",    "size", "ranks",       "algorithm", "inner",  "matrix", "count", "mover",
        "network", "mtu",  "calibration", "nominal",   "buffer", "route",  "device"};
    bool is_plan = !cli_is_given(args, "transfers") && !cli_is_given(args, "collective");
    const char *const *refused = is_plan ? of_others : of_plans;
    size_t count =
        is_plan ? sizeof of_others / sizeof *of_others : sizeof of_plans / sizeof *of_plans;
    for (size_t i = 0; i < count; i++)
        if (cli_is_given(args, refused[i]))
            return err_set(err, "--%s: expected %s with it, found %s", refused[i],
                           is_plan ? "--collective or --transfers" : "a saved plan",
                           is_plan ? "a saved plan" : "--collective or --transfers");
    return true;
}

// What is written takes the place of nothing that is read.
static bool check_files(const CliArgs *args, const PlanFile *file, Err *err) {
    const char *path = args->operands[0];
    Arena arena = {0};
    const FileUse uses[] = {
        {"--trace", cli_text(args, "trace"), FILE_WRITTEN},
        {"--schedule", cli_text(args, "schedule"), FILE_WRITTEN},
        {"--timeline", cli_text(args, "timeline"), FILE_WRITTEN},
        {"PLAN", path, FILE_READ},
        {"--load", cli_text(args, "load"), FILE_READ},
        {"the plan's model", file_beside(path, file->model, &arena), FILE_READ},
        {"the plan's topology", file_beside(path, file->topology, &arena), FILE_READ},
        {"the plan's scenario", file_beside(path, file->scenario, &arena), FILE_READ},
        {"the plan's calibration", file_beside(path, file->calibration, &arena), FILE_READ},
        {"the plan's load", file_beside(path, file->load, &arena), FILE_READ}};
    bool good = file_check_apart(uses, sizeof uses / sizeof *uses, err);
    arena_free(&arena);
    return good;
}

int simulate_command(const CliArgs *args) {
    Replay replay = {0};
    Err err = {0};
    bool has_work = args->operand_count > 0 || cli_is_given(args, "transfers") ||
                    cli_is_given(args, "collective");
    if (has_work && !check_options(args, &err)) return output_bad(&err);
    if (cli_is_given(args, "transfers")) return simulate_transfers_command(args);
    if (cli_is_given(args, "collective")) return simulate_collective_command(args);
    if (args->operand_count == 0) {
        err_set(&err,
                "simulate: expected a saved plan, or --topo with --collective or --transfers");
        return output_bad(&err);
    }
    const char *path = args->operands[0];
    if (!plan_read(path, &replay.file, &err)) return output_bad(&err);
    if (replay.file.plan.pool_count > 1) {
        int result = rank_pools_simulate(args, &replay.file);
        plan_file_free(&replay.file);
        return result;
    }
    bool done =
        check_files(args, &replay.file, &err) &&
        inputs_load_beside(path, &replay.file, &replay.inputs, &err) && run(args, &replay, &err) &&
        run_samples(&replay, &err) &&
        degrade_plan_price(args, &replay.file.plan, &replay.inputs, &replay.degraded, &err) &&
        write_trace(args, &replay, &err) && write_schedule(args, &replay, &err) &&
        write_timeline(args, &replay, &err);
    int status = done ? print(args, &replay) : output_bad(&err);
    if (status == OUTPUT_NO) output_message("the saved prediction was not reproduced");
    tails_free(&replay.prefill_tails);
    tails_free(&replay.decode_tails);
    degrade_plan_free(&replay.degraded);
    evaluate_free(&replay.evaluation);
    inputs_free(&replay.inputs);
    plan_file_free(&replay.file);
    return status;
}
