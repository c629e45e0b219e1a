// The command run: reads a schedule, fills every buffer with seeded bytes, runs it on a back end
// and prints a digest of each buffer, the bytes moved by class of operation and what was skipped.
//
// Invariant: what is printed depends on the schedule, the shape, the load and the seed alone, and
// on the names of back end and compute unit; so it is the same on every back end. Every run starts
// from the same bytes.
#include "exec/run.h"

#include <inttypes.h>
#include <string.h>

#include "exec/backends.h"
#include "exec/bench_figures.h"
#include "exec/measure.h"
#include "exec/sum.h"
#include "model/base/file.h"
#include "model/base/jsonw.h"
#include "model/base/rng.h"
#include "model/base/table.h"

#define RESULT_VERSION      1
#define RUN_ITERATIONS_MAX  10000
#define RUN_TIME_OUT_MAX_PS (3600 * PS_PER_SECOND)

// What a run was given and gave.
typedef struct Run {
    Schedule schedule;
    StepShape shape;
    Load load;
    uint64_t seed;
    uint32_t warm_ups, iterations;
    Job job;
    const BackEndKind *back_end;
    const ComputeKind *unit_kind;
    ComputeUnit unit;
    BackEndAnswer answer;
    bool is_timed;     // spans are kept
    BenchFigures time; // of the iterations, when they are
} Run;

static bool is_skipped(const Run *run, OpId id) {
    return run->answer.result.works[id] == TIMELINE_FILE_SKIPPED;
}

static bool moves(OpKind kind) {
    return kind == OP_COPY || schedule_op_is_comm(kind);
}

// Of one run: all are alike.
static uint64_t once(const Run *run, uint64_t sum) {
    return sum / (run->warm_ups + run->iterations);
}

// Floats that are whole numbers from -8 to 7, so that sums of a few are exact; any bytes for other
// formats. A bf16 is the upper half of a float.
static void fill(void *context, BufferId buffer, uint32_t rank, uint8_t *bytes, uint64_t count) {
    const Run *run = context;
    NumFmt format = run->schedule.buffers[buffer].format;
    uint32_t element = 1;
    bool sums = sum_has(format, &element);
    Rng rng;
    rng_seed(&rng, hash_u64(hash_u64(hash_u64(HASH_START, run->seed), buffer), rank));
    for (uint64_t i = 0; i < count; i += element) {
        uint64_t random = rng_next(&rng);
        float value = (float)(random >> 60) - 8;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        uint64_t item = !sums ? random >> 56 : format == NUMFMT_F32 ? bits : bits >> 16;
        for (uint64_t j = 0; j < element && i + j < count; j++)
            bytes[i + j] = (uint8_t)(item >> (8 * j));
    }
}

// Instances of the operations of one class that move bytes.
static uint64_t class_instances(const Run *run, uint32_t op_class) {
    uint64_t count = 0;
    for (OpId id = 0; id < run->schedule.op_count; id++) {
        const Op *op = &run->schedule.ops[id];
        if (op->op_class == op_class && moves(op->kind)) count += run->answer.result.instances[id];
    }
    return once(run, count);
}

// ---- For people

static void print_inputs(const Run *run, Text *out) {
    char schedule[17], load[17];
    text_addf(out, "schedule %s (digest %s) on %u ranks of the %s back end\n", run->schedule.name,
              hash_format(run->schedule.digest, schedule), run->schedule.rank_count,
              run->back_end->name);
    text_addf(out,
              "shape %" PRIu64 " tokens, %" PRIu64 " sequences, %" PRIu64 " kv tokens, %" PRIu64
              " qk pairs; load digest %s; seed %" PRIu64 "\n\n",
              run->shape.tokens, run->shape.sequences, run->shape.kv_tokens, run->shape.qk_pairs,
              hash_format(run->load.digest, load), run->seed);
}

static void print_buffers(const Run *run, Text *out) {
    Table table = {0};
    table_column(&table, "buffer", TABLE_LEFT);
    table_column(&table, "role", TABLE_LEFT);
    table_column(&table, "ranks", TABLE_RIGHT);
    table_column(&table, "bytes per rank", TABLE_RIGHT);
    table_column(&table, "digest", TABLE_LEFT);
    for (BufferId id = 0; id < run->schedule.buffer_count; id++) {
        const Buffer *buffer = &run->schedule.buffers[id];
        char digest[17];
        table_cell(&table, buffer->name);
        table_cell(&table, run->schedule.roles[buffer->role].name);
        table_cellf(&table, "%u", schedule_role_size(&run->schedule, buffer->role));
        table_cellf(&table, "%" PRIu64, run->answer.result.size_B[id]);
        table_cell(&table,
                   hash_format(interp_digest(&run->answer.result, &run->schedule, id), digest));
    }
    table_print(&table, out);
    table_free(&table);
}

static void print_classes(const Run *run, Text *out) {
    Table table = {0};
    table_column(&table, "class", TABLE_LEFT);
    table_column(&table, "runs", TABLE_RIGHT);
    table_column(&table, "bytes between ranks", TABLE_RIGHT);
    table_column(&table, "bytes inside ranks", TABLE_RIGHT);
    for (uint32_t i = 0; i < OP_CLASS_COUNT; i++) {
        if (class_instances(run, i) == 0) continue;
        table_cell(&table, schedule_class_names[i]);
        table_cellf(&table, "%" PRIu64, class_instances(run, i));
        table_cellf(&table, "%" PRIu64, once(run, run->answer.result.linked_B[i]));
        table_cellf(&table, "%" PRIu64, once(run, run->answer.result.local_B[i]));
    }
    table_print(&table, out);
    table_free(&table);
}

static void print_skipped(const Run *run, Text *out) {
    Table table = {0};
    table_column(&table, "skipped", TABLE_LEFT);
    table_column(&table, "kind", TABLE_LEFT);
    table_column(&table, "role", TABLE_LEFT);
    table_column(&table, "runs", TABLE_RIGHT);
    bool any = false;
    for (OpId id = 0; id < run->schedule.op_count; id++) {
        const Op *op = &run->schedule.ops[id];
        if (!is_skipped(run, id)) continue;
        table_cell(&table, op->name);
        table_cell(&table, schedule_op_names[op->kind]);
        table_cell(&table, run->schedule.roles[schedule_op_role(&run->schedule, id)].name);
        table_cellf(&table, "%" PRIu64, once(run, run->answer.result.instances[id]));
        any = true;
    }
    if (any) text_add_char(out, '\n');
    if (any) table_print(&table, out);
    table_free(&table);
}

static void print_time(const Run *run, Text *out) {
    char least[UNITS_TEXT_MAX], median[UNITS_TEXT_MAX];
    if (!run->is_timed) return;
    text_addf(out, "\ntime of %u run%s, from its start to its last end: least %s, median %s\n",
              run->iterations, run->iterations == 1 ? "" : "s",
              units_format_time(run->time.min_ps, least),
              units_format_time(run->time.median_ps, median));
}

static void print_table(const Run *run, Text *out) {
    print_inputs(run, out);
    print_buffers(run, out);
    text_add_char(out, '\n');
    print_classes(run, out);
    print_skipped(run, out);
    print_time(run, out);
}

// ---- For programs

static void write_inputs(const Run *run, JsonWriter *writer) {
    jsonw_string(writer, "backend", run->back_end->name);
    jsonw_string(writer, "schedule", run->schedule.name);
    jsonw_digest(writer, "schedule_digest", run->schedule.digest);
    jsonw_digest(writer, "load_digest", run->load.digest);
    jsonw_u64(writer, "ranks", run->schedule.rank_count);
    jsonw_u64(writer, "tokens", run->shape.tokens);
    jsonw_u64(writer, "sequences", run->shape.sequences);
    jsonw_u64(writer, "kv_tokens", run->shape.kv_tokens);
    jsonw_u64(writer, "qk_pairs", run->shape.qk_pairs);
    jsonw_u64(writer, "seed", run->seed);
}

static void write_buffers(const Run *run, JsonWriter *writer) {
    jsonw_open_array(writer, "buffers");
    for (BufferId id = 0; id < run->schedule.buffer_count; id++) {
        const Buffer *buffer = &run->schedule.buffers[id];
        jsonw_inline_next(writer);
        jsonw_open_object(writer, NULL);
        jsonw_string(writer, "name", buffer->name);
        jsonw_string(writer, "role", run->schedule.roles[buffer->role].name);
        jsonw_u64(writer, "ranks", schedule_role_size(&run->schedule, buffer->role));
        jsonw_u64(writer, "rank_B", run->answer.result.size_B[id]);
        jsonw_digest(writer, "digest", interp_digest(&run->answer.result, &run->schedule, id));
        jsonw_close_object(writer);
    }
    jsonw_close_array(writer);
}

static void write_classes(const Run *run, JsonWriter *writer) {
    jsonw_open_array(writer, "classes");
    for (uint32_t i = 0; i < OP_CLASS_COUNT; i++) {
        if (class_instances(run, i) == 0) continue;
        jsonw_inline_next(writer);
        jsonw_open_object(writer, NULL);
        jsonw_string(writer, "class", schedule_class_names[i]);
        jsonw_u64(writer, "runs", class_instances(run, i));
        jsonw_u64(writer, "between_ranks_B", once(run, run->answer.result.linked_B[i]));
        jsonw_u64(writer, "inside_ranks_B", once(run, run->answer.result.local_B[i]));
        jsonw_close_object(writer);
    }
    jsonw_close_array(writer);
}

static void write_skipped(const Run *run, JsonWriter *writer) {
    jsonw_open_array(writer, "skipped");
    for (OpId id = 0; id < run->schedule.op_count; id++) {
        const Op *op = &run->schedule.ops[id];
        if (!is_skipped(run, id)) continue;
        jsonw_inline_next(writer);
        jsonw_open_object(writer, NULL);
        jsonw_string(writer, "name", op->name);
        jsonw_string(writer, "kind", schedule_op_names[op->kind]);
        jsonw_string(writer, "role",
                     run->schedule.roles[schedule_op_role(&run->schedule, id)].name);
        jsonw_u64(writer, "runs", once(run, run->answer.result.instances[id]));
        jsonw_close_object(writer);
    }
    jsonw_close_array(writer);
}

static void write_time(const Run *run, JsonWriter *writer) {
    if (!run->is_timed) return;
    jsonw_inline_next(writer);
    jsonw_open_object(writer, "time");
    jsonw_u64(writer, "iterations", run->iterations);
    jsonw_double(writer, "least_s", units_seconds(run->time.min_ps));
    jsonw_double(writer, "median_s", units_seconds(run->time.median_ps));
    jsonw_close_object(writer);
}

static void write_json(const Run *run, Text *out) {
    JsonWriter writer = {.text = out};
    jsonw_open_object(&writer, NULL);
    jsonw_string(&writer, "moesim", "run");
    jsonw_u64(&writer, "version", RESULT_VERSION);
    write_inputs(run, &writer);
    write_buffers(run, &writer);
    write_classes(run, &writer);
    write_skipped(run, &writer);
    write_time(run, &writer);
    jsonw_close_object(&writer);
    jsonw_finish(&writer);
}

// ---- The command

// A step without tokens has no bytes to move.
static bool check_tokens(const CliArgs *args, Err *err) {
    static const char *const names[] = {"tokens", "sequences"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (cli_count(args, names[i]) == 0)
            return err_set(err, "--%s: expected at least 1, found 0", names[i]);
    return true;
}

static bool read_inputs(const CliArgs *args, Run *run, Err *err) {
    run->shape = (StepShape){.tokens = cli_count(args, "tokens"),
                             .sequences = cli_count(args, "sequences"),
                             .kv_tokens = cli_count(args, "kv-tokens"),
                             .qk_pairs = cli_count(args, "qk-pairs")};
    run->seed = cli_count(args, "seed");
    run->load = load_uniform();
    const char *load = cli_text(args, "load");
    return schedule_read(args->operands[0], &run->schedule, err) &&
           (load == NULL || load_read(load, &run->load, err));
}

static bool read_count(const CliArgs *args, const char *name, uint64_t least, uint32_t *out,
                       Err *err) {
    uint64_t count = cli_count(args, name);
    if (count < least || count > RUN_ITERATIONS_MAX)
        return err_set(err, "--%s: expected %" PRIu64 " to %u, found %" PRIu64, name, least,
                       RUN_ITERATIONS_MAX, count);
    *out = (uint32_t)count;
    return true;
}

static bool read_time_out(const CliArgs *args, Time *out, Err *err) {
    const char *text = cli_text(args, "timeout");
    if (!units_parse_time(text, out, err)) return err_prefix(err, "--timeout");
    return (*out > 0 && *out <= RUN_TIME_OUT_MAX_PS) ||
           err_set(err, "--timeout: expected a time up to an hour, found %s", text);
}

// "real.json" of one iteration; of several "real-001.json", "real-002.json", ...
static const char *timeline_path(const char *path, uint32_t iteration, uint32_t iterations,
                                 Arena *arena) {
    if (iterations == 1) return path;
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    size_t stem = dot != NULL && (slash == NULL || dot > slash + 1) && dot != path
                      ? (size_t)(dot - path)
                      : strlen(path);
    return arena_printf(arena, "%.*s-%03u%s", (int)stem, path, iteration + 1, path + stem);
}

// Before anything is run: what is written takes the place of nothing else. A run that fails leaves
// its timeline under the name without a number.
static bool check_files(const CliArgs *args, const Run *run, Err *err) {
    const char *compute = cli_text(args, "compute"), *timeline = cli_text(args, "timeline");
    const char *colon = strchr(compute, ':');
    FileUse uses[] = {{"--timeline", timeline, FILE_WRITTEN},
                      {"--logits", cli_text(args, "logits"), FILE_WRITTEN},
                      {"--write-load", cli_text(args, "write-load"), FILE_WRITTEN},
                      {"SCHEDULE", args->operands[0], FILE_READ},
                      {"--load", cli_text(args, "load"), FILE_READ},
                      {"--compute", colon != NULL ? colon + 1 : NULL, FILE_READ},
                      {"--model", cli_text(args, "model"), FILE_READ},
                      {"--plan", cli_text(args, "plan"), FILE_READ}};
    Arena arena = {0};
    bool good = file_check_apart(uses, sizeof uses / sizeof *uses, err);
    for (uint32_t i = 0; good && timeline != NULL && run->iterations > 1 && i < run->iterations;
         i++) {
        uses[0].path = timeline_path(timeline, i, run->iterations, &arena);
        good = file_check_apart(uses, sizeof uses / sizeof *uses, err);
    }
    arena_free(&arena);
    if (cli_is_given(args, "join-at")) return good;
    return good && backends_can_write(args, "timeline", err) &&
           backends_can_write(args, "logits", err) && backends_can_write(args, "write-load", err);
}

// The times of a run must fit the file that they are for.
static bool check_timeline(const CliArgs *args, const Run *run, Err *err) {
    return !cli_is_given(args, "timeline") || run->job.runs <= TIMELINE_FILE_SPANS_MAX ||
           err_set(err, "a run of %" PRIu64 " operations, expected at most %u to write a timeline",
                   run->job.runs, TIMELINE_FILE_SPANS_MAX);
}

// An option that only another back end or compute unit reads is a misunderstanding.
static bool check_options(const CliArgs *args, const Run *run, Err *err) {
    static const char *const of_net[] = {"hosts", "interface", "agent", "by-hand",
                                         "join",  "join-at",   NULL};
    static const char *const of_model[] = {"model", "plan",   "assume",    "routing",
                                           "texts", "logits", "write-load"};
    bool is_model = strcmp(run->unit_kind->name, "model") == 0;
    if (!backends_check_options(args, run->back_end, of_net, err)) return false;
    for (size_t i = 0; !is_model && i < sizeof of_model / sizeof *of_model; i++)
        if (cli_is_given(args, of_model[i]))
            return err_set(err, "--%s: expected --compute model with it", of_model[i]);
    if (!cli_is_given(args, "by-hand")) return true;
    if (cli_is_given(args, "agent"))
        return err_set(err, "--by-hand: expected no --agent with it: either people start hosts, or "
                            "an agent does");
    return cli_is_given(args, "hosts") || err_set(err, "--by-hand: expected --hosts with it");
}

static bool open_job(const CliArgs *args, Run *run, Err *err) {
    const char *file;
    if (!backends_compute(cli_text(args, "compute"), &run->unit_kind, &file, err) ||
        !check_options(args, run, err))
        return false;
    if (!job_open(&run->schedule, &run->shape, &run->load, &run->job, err) ||
        !check_timeline(args, run, err))
        return err_prefix(err, "%s", args->operands[0]);
    return run->unit_kind->open(file, &run->job, args, &run->unit, err);
}

static bool run_job(const CliArgs *args, Run *run, Err *err) {
    InterpOptions options = {.fill = fill,
                             .context = run,
                             .spans = cli_is_given(args, "timeline"),
                             .repeats = run->warm_ups + run->iterations};
    BackEndRequest request = {
        .job = &run->job, .compute = &run->unit, .options = &options, .args = args};
    return read_time_out(args, &request.time_out_ps, err) &&
           (run->back_end->run(&request, &run->answer, err) ||
            err_prefix(err, "%s", args->operands[0]));
}

// Of the load that the run had: where the router chose while it ran, of what it chose (as
// --write-load writes it); 0 when that is not known.
static Digest load_digest(const Run *run) {
    const Routing *routing = run->unit.routing;
    Load load = {0};
    Err ignored = {0};
    if (routing == NULL || routing->load == NULL) return run->load.digest;
    if (!routing->load(routing->self, &load, &ignored)) return 0;
    Digest digest = load.digest;
    load_free(&load);
    return digest;
}

// Of one repeat. `load` is that of all.
static bool write_timeline(const char *path, const Run *run, uint32_t repeat, Digest load,
                           bool is_partial, Err *err) {
    TimelineFile file = {0};
    Text text = {0};
    MeasureFacts facts = {.back_end = run->back_end->name,
                          .machine = run->answer.machine,
                          .libraries = run->answer.libraries,
                          .is_partial = is_partial,
                          .load = &load};
    if (!measure_file(&run->job, &run->answer.result, repeat, &facts, &file, err)) return false;
    timeline_file_write(&file, &text);
    bool good = file_write(path, text_string(&text), text.length, err);
    text_free(&text);
    timeline_file_free(&file);
    return good;
}

static bool write_timelines(const CliArgs *args, const Run *run, Err *err) {
    const char *path = cli_text(args, "timeline");
    Arena arena = {0};
    bool good = true;
    Digest load = path != NULL ? load_digest(run) : 0;
    for (uint32_t i = 0; path != NULL && good && i < run->iterations; i++)
        good = write_timeline(timeline_path(path, i, run->iterations, &arena), run,
                              run->warm_ups + i, load, false, err);
    arena_free(&arena);
    return good;
}

static void find_times(const CliArgs *args, Run *run) {
    const InterpResult *result = &run->answer.result;
    run->is_timed = cli_is_given(args, "timeline");
    if (!run->is_timed) return;
    Time *times_ps = mem_alloc(result->repeats, sizeof *times_ps);
    measure_times(result, times_ps);
    run->time = bench_figures_of(times_ps + run->warm_ups, run->iterations);
    mem_free(times_ps);
}

// What was measured of a run that failed: its last repeat, marked as a part. What went wrong with
// the run is the message, not what goes wrong with this file.
static void write_part(const CliArgs *args, const Run *run) {
    const InterpResult *result = &run->answer.result;
    const char *path = cli_text(args, "timeline");
    uint32_t last = 0;
    Err ignored = {0};
    if (path == NULL || result->span_count == 0) return;
    for (uint64_t i = 0; i < result->span_count; i++)
        if (result->spans[i].repeat > last) last = result->spans[i].repeat;
    write_timeline(path, run, last, load_digest(run), true, &ignored);
}

// What ranks of other processes computed.
static bool take_left(Run *run, Err *err) {
    const InterpResult *result = &run->answer.result;
    const ComputeUnit *unit = &run->unit;
    for (uint32_t i = 0; unit->take != NULL && result->left != NULL && i < result->rank_count; i++)
        if (!unit->take(unit->self, &run->job, result->ranks[i], result->left[i], result->left_B[i],
                        err))
            return err_prefix(err, "what rank %u computed", result->ranks[i]);
    return true;
}

static bool run_all(const CliArgs *args, Run *run, Err *err) {
    if (!run_job(args, run, err)) {
        write_part(args, run);
        return false;
    }
    return run->answer.is_silent || (take_left(run, err) && write_timelines(args, run, err));
}

bool run_command(const CliArgs *args, Text *out, Err *err) {
    Run run = {0};
    bool good = backends_choose(args, &run.back_end, err) &&
                read_count(args, "iterations", 1, &run.iterations, err) &&
                read_count(args, "warm-up", 0, &run.warm_ups, err) && check_tokens(args, err) &&
                check_files(args, &run, err) && read_inputs(args, &run, err) &&
                open_job(args, &run, err) && run_all(args, &run, err);
    if (good && !run.answer.is_silent) {
        find_times(args, &run);
        if (cli_choice(args, "format") == 0)
            print_table(&run, out);
        else
            write_json(&run, out);
        good = run.unit_kind->finish == NULL || run.unit_kind->finish(&run.unit, args, out, err);
    }
    if (run.unit_kind != NULL && run.unit_kind->close != NULL) run.unit_kind->close(&run.unit);
    interp_free(&run.answer.result);
    job_close(&run.job);
    schedule_free(&run.schedule);
    load_free(&run.load);
    return good;
}
