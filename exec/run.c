// The command run: reads a schedule, fills every buffer with seeded bytes, runs it on the host back
// end and prints a digest of each buffer, the bytes moved by class of operation and what was
// skipped.
//
// Invariant: what is printed depends on the schedule, the shape, the load and the seed alone.
#include "exec/run.h"

#include <inttypes.h>
#include <string.h>

#include "exec/host/host.h"
#include "exec/measure.h"
#include "model/base/file.h"
#include "model/base/jsonw.h"
#include "model/base/rng.h"
#include "model/base/table.h"

#define RESULT_VERSION 1

// What a run was given and gave.
typedef struct Run {
    Schedule schedule;
    StepShape shape;
    Load load;
    uint64_t seed;
    HostResult result;
    Measure measure;
} Run;

static bool is_float(NumFmt format) {
    return format == NUMFMT_F32 || format == NUMFMT_BF16;
}

// Floats that are whole numbers from -8 to 7, so that sums of a few are exact; any bytes for other
// formats. A bf16 is the upper half of a float.
static void fill(void *context, BufferId buffer, uint32_t rank, uint8_t *bytes, uint64_t count) {
    const Run *run = context;
    NumFmt format = run->schedule.buffers[buffer].format;
    uint64_t element = is_float(format) ? numfmt_bits(format) / 8 : 1;
    Rng rng;
    rng_seed(&rng, hash_u64(hash_u64(hash_u64(HASH_START, run->seed), buffer), rank));
    for (uint64_t i = 0; i < count; i += element) {
        uint64_t random = rng_next(&rng);
        float value = (float)(random >> 60) - 8;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        uint64_t item = !is_float(format) ? random >> 56 : format == NUMFMT_F32 ? bits : bits >> 16;
        for (uint64_t j = 0; j < element && i + j < count; j++)
            bytes[i + j] = (uint8_t)(item >> (8 * j));
    }
}

// Instances of the operations of one class that move bytes.
static uint64_t class_instances(const Run *run, uint32_t op_class) {
    uint64_t count = 0;
    for (OpId id = 0; id < run->schedule.op_count; id++) {
        const Op *op = &run->schedule.ops[id];
        if (op->op_class == op_class && host_moves(op->kind)) count += run->result.instances[id];
    }
    return count;
}

// ---- For people

static void print_inputs(const Run *run, Text *out) {
    char schedule[17], load[17];
    text_addf(out, "schedule %s (digest %s) on %u ranks of the host back end\n", run->schedule.name,
              hash_format(run->schedule.digest, schedule), run->schedule.rank_count);
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
        table_cellf(&table, "%" PRIu64, run->result.size_B[id]);
        table_cell(&table, hash_format(host_digest(&run->result, &run->schedule, id), digest));
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
        table_cellf(&table, "%" PRIu64, run->result.linked_B[i]);
        table_cellf(&table, "%" PRIu64, run->result.local_B[i]);
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
        if (host_moves(op->kind)) continue;
        table_cell(&table, op->name);
        table_cell(&table, schedule_op_names[op->kind]);
        table_cell(&table, run->schedule.roles[schedule_op_role(&run->schedule, id)].name);
        table_cellf(&table, "%" PRIu64, run->result.instances[id]);
        any = true;
    }
    if (any) text_add_char(out, '\n');
    if (any) table_print(&table, out);
    table_free(&table);
}

static void print_table(const Run *run, Text *out) {
    print_inputs(run, out);
    print_buffers(run, out);
    text_add_char(out, '\n');
    print_classes(run, out);
    print_skipped(run, out);
}

// ---- For programs

static void write_inputs(const Run *run, JsonWriter *writer) {
    jsonw_string(writer, "backend", "host");
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
        jsonw_u64(writer, "rank_B", run->result.size_B[id]);
        jsonw_digest(writer, "digest", host_digest(&run->result, &run->schedule, id));
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
        jsonw_u64(writer, "between_ranks_B", run->result.linked_B[i]);
        jsonw_u64(writer, "inside_ranks_B", run->result.local_B[i]);
        jsonw_close_object(writer);
    }
    jsonw_close_array(writer);
}

static void write_skipped(const Run *run, JsonWriter *writer) {
    jsonw_open_array(writer, "skipped");
    for (OpId id = 0; id < run->schedule.op_count; id++) {
        const Op *op = &run->schedule.ops[id];
        if (host_moves(op->kind)) continue;
        jsonw_inline_next(writer);
        jsonw_open_object(writer, NULL);
        jsonw_string(writer, "name", op->name);
        jsonw_string(writer, "kind", schedule_op_names[op->kind]);
        jsonw_string(writer, "role",
                     run->schedule.roles[schedule_op_role(&run->schedule, id)].name);
        jsonw_u64(writer, "runs", run->result.instances[id]);
        jsonw_close_object(writer);
    }
    jsonw_close_array(writer);
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
    jsonw_close_object(&writer);
    jsonw_finish(&writer);
}

// ---- The command

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

static void reached(void *context, const ScheduleCursor *cursor, uint32_t rank) {
    Run *run = context;
    measure_reached(&run->measure, cursor, rank);
}

static void ended(void *context, const ScheduleCursor *cursor, uint32_t rank) {
    Run *run = context;
    measure_ended(&run->measure, cursor, rank);
}

static bool run_host(const CliArgs *args, Run *run, Err *err) {
    HostInit init = {.fill = fill, .context = run};
    if (cli_is_given(args, "timeline")) {
        init.reached = reached;
        init.ended = ended;
        run->measure.schedule = &run->schedule;
    }
    return host_run(&run->schedule, &run->shape, &run->load, &init, &run->result, err) ||
           err_prefix(err, "%s", args->operands[0]);
}

static bool write_timeline(const CliArgs *args, const Run *run, Err *err) {
    const char *path = cli_text(args, "timeline");
    TimelineFile file = {0};
    Text text = {0};
    if (path == NULL) return true;
    if (!measure_file(&run->measure, &run->shape, &run->load, &file, err)) return false;
    timeline_file_write(&file, &text);
    bool good = file_write(path, text_string(&text), text.length, err);
    text_free(&text);
    timeline_file_free(&file);
    return good;
}

bool run_command(const CliArgs *args, Text *out, Err *err) {
    Run run = {0};
    bool good = read_inputs(args, &run, err) && run_host(args, &run, err) &&
                write_timeline(args, &run, err);
    if (good) {
        if (cli_choice(args, "format") == 0)
            print_table(&run, out);
        else
            write_json(&run, out);
    }
    measure_free(&run.measure);
    host_free(&run.result);
    schedule_free(&run.schedule);
    load_free(&run.load);
    return good;
}
