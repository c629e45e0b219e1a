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
#include "sim/commands/degrade_plan.h"
#include "sim/commands/inputs.h"
#include "sim/commands/load_option.h"
#include "sim/commands/output.h"
#include "sim/commands/saved.h"
#include "sim/commands/simulate_collective.h"

typedef enum PhaseChoice { SHOW_DECODE, SHOW_PREFILL } PhaseChoice;

typedef struct Replay {
    PlanFile file;
    Inputs inputs;
    Evaluation evaluation; // in the form asked for, with its phases
    bool reproduced;
    DegradePlan degraded; // with the faults of --degrade
} Replay;

static const EvaluatePhase *chosen_phase(const CliArgs *args, const Evaluation *evaluation) {
    switch ((PhaseChoice)cli_choice(args, "phase")) {
    case SHOW_PREFILL: return &evaluation->prefill_phase;
    case SHOW_DECODE: break;
    }
    return &evaluation->decode_phase;
}

// ---- Simulation

// Whether a document ends with a newline is the writer's habit, not part of the prediction.
static bool is_same(const char *a, const char *b) {
    size_t length = strlen(a), other = strlen(b);
    while (length > 0 && a[length - 1] == '\n') length--;
    while (other > 0 && b[other - 1] == '\n') other--;
    return length == other && memcmp(a, b, length) == 0;
}

static bool compare(Replay *replay, Err *err) {
    EvaluateInput input = inputs_for_evaluation(&replay->inputs);
    Evaluation evaluation;
    Text result = {0};
    uint64_t sequences = replay->inputs.sequences;
    if (!evaluate_plan(&input, &replay->file.plan, sequences, &evaluation, err)) return false;
    saved_write_result(replay->inputs.assume, sequences, &evaluation, &result);
    replay->reproduced = is_same(text_string(&result), replay->file.result);
    text_free(&result);
    evaluate_free(&evaluation);
    return true;
}

static bool run(const CliArgs *args, Replay *replay, Err *err) {
    static const SimForm forms[] = {SIM_AUTO, SIM_FOLDED, SIM_REFINED,
                                    SIM_EXPANDED}; // in order of the choices
    if (!compare(replay, err)) return false;
    if (!load_option_read(args, &replay->inputs.arch, &replay->inputs.load, err)) return false;
    EvaluateInput input = inputs_for_evaluation(&replay->inputs);
    input.form = forms[cli_choice(args, "form")];
    input.keep_phases = true;
    input.keep_spans = cli_is_given(args, "trace");
    return evaluate_plan(&input, &replay->file.plan, replay->inputs.sequences, &replay->evaluation,
                         err);
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
    if (replay->inputs.load.kind != LOAD_UNIFORM)
        text_addf(out, "load       %s\n",
                  replay->inputs.load.origin[0] != '\0' ? replay->inputs.load.origin : "recorded");
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

static void show(const Replay *replay, Text *out) {
    show_figures(replay, out);
    show_phase("prefill, last full chunk", &replay->evaluation.prefill_phase, out);
    show_phase("decode", &replay->evaluation.decode_phase, out);
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
    jsonw_double(w, "end_s", units_seconds(timeline->end_ps));
    jsonw_open_array(w, "pass_ends_s");
    for (uint32_t i = 0; i < timeline->round_count; i++)
        jsonw_double(w, NULL, units_seconds(timeline->round_ps[i]));
    jsonw_close_array(w);
    jsonw_open_array(w, "links");
    for (uint32_t i = 0; i < LINK_CLASS_COUNT; i++) {
        const LinkTotal *link = &timeline->links[i];
        if (link->bytes == 0) continue;
        jsonw_open_object(w, NULL);
        jsonw_string(w, "class", topology_class_names[i]);
        jsonw_u64(w, "bytes", link->bytes);
        jsonw_string(w, "busiest", link->busiest_name);
        jsonw_u64(w, "busiest_B", link->busiest_B);
        jsonw_u64(w, "busiest_B_per_s", link->busiest_Bps);
        jsonw_close_object(w);
    }
    jsonw_close_array(w);
    jsonw_digest(w, "schedule_digest", timeline->schedule);
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
    if (replay->inputs.load.kind != LOAD_UNIFORM)
        jsonw_digest(&w, "load_digest", replay->inputs.load.digest);
    write_phase(&w, "prefill", &replay->evaluation.prefill_phase);
    write_phase(&w, "decode", &replay->evaluation.decode_phase);
    jsonw_bool(&w, "reproduced", replay->reproduced);
    degrade_plan_write(&w, &replay->degraded);
    jsonw_close_object(&w);
    jsonw_finish(&w);
}

static int print(const CliArgs *args, const Replay *replay) {
    Text out = {0};
    if (goes_to_stdout(args, "trace") || goes_to_stdout(args, "schedule")) {
        // stdout holds that file
    } else if (cli_choice(args, "format") == 0) {
        show(replay, &out);
    } else {
        write_json(replay, &out);
    }
    return output_text(&out, replay->reproduced ? OUTPUT_OK : OUTPUT_NO);
}

int simulate_command(const CliArgs *args) {
    Replay replay = {0};
    Err err = {0};
    if (cli_is_given(args, "collective")) return simulate_collective_command(args);
    if (args->operand_count == 0) {
        err_set(&err, "simulate: expected a saved plan, or --topo, --collective and --size");
        return output_bad(&err);
    }
    const char *path = args->operands[0];
    bool done =
        plan_read(path, &replay.file, &err) &&
        inputs_load_beside(path, &replay.file, &replay.inputs, &err) && run(args, &replay, &err) &&
        degrade_plan_price(args, &replay.file.plan, &replay.inputs, &replay.degraded, &err) &&
        write_trace(args, &replay, &err) && write_schedule(args, &replay, &err);
    int status = done ? print(args, &replay) : output_bad(&err);
    if (status == OUTPUT_NO) output_message("the saved prediction was not reproduced");
    degrade_plan_free(&replay.degraded);
    evaluate_free(&replay.evaluation);
    inputs_free(&replay.inputs);
    plan_file_free(&replay.file);
    return status;
}
