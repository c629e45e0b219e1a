// The command compare: a predicted timeline beside a measured one.
//
// Invariant: every operation of the schedule is counted in one place: with an error, as measured
// without one, as stood in, or as skipped.
#include "sim/commands/compare.h"

#include <inttypes.h>

#include "model/base/num.h"
#include "model/base/table.h"
#include "model/report/compare.h"
#include "sim/commands/output.h"

typedef enum ByChoice { BY_CLASS, BY_OPERATION } ByChoice;

typedef struct Pair {
    TimelineFile predicted, measured;
    Comparison result;
} Pair;

static const char *link_name(LinkClass link) {
    return link == LINK_CLASS_COUNT ? "-" : topology_class_names[link];
}

// Below the picosecond a mean over ranks has digits that no clock gave.
static const char *time_text(double seconds, char *buffer) {
    return units_format_time(num_round(seconds * (double)PS_PER_SECOND), buffer);
}

static void add_times(Table *table, ComparePair time) {
    char text[UNITS_TEXT_MAX];
    table_cell(table, time_text(time.predicted_s, text));
    table_cell(table, time_text(time.measured_s, text));
}

static double size_of(double percent) {
    return percent < 0 ? -percent : percent;
}

// "+1.23 %"; nothing to divide by: "-".
static void add_error(Table *table, bool has_error, double error) {
    char number[OUTPUT_NUMBER_MAX];
    if (has_error)
        table_cellf(table, "%s%s %%", error < 0 ? "-" : "+", output_number(size_of(error), number));
    else
        table_cell(table, "-");
}

// ---- For people

static const char *device_of(const TimelineFile *file) {
    return file->device[0] != '\0' ? file->device : "device not said";
}

static void show_inputs(const Pair *pair, Text *out) {
    char schedule[17], shape[17];
    const TimelineFile *files[] = {&pair->predicted, &pair->measured};
    static const char *const names[] = {"predicted", "measured"};
    text_addf(out, "schedule   %s, shape %s\n", hash_format(pair->predicted.schedule, schedule),
              hash_format(pair->predicted.shape, shape));
    for (uint32_t i = 0; i < 2; i++)
        text_addf(out, "%-10s by %s (%s), %s, %s\n", names[i], files[i]->maker,
                  timeline_form_names[files[i]->form], files[i]->machine, device_of(files[i]));
    text_add_char(out, '\n');
}

static void add_class(Table *table, const CompareClass *row, const Comparison *result,
                      const char *op_class, const char *link) {
    char number[OUTPUT_NUMBER_MAX];
    table_cell(table, op_class);
    table_cell(table, link);
    table_cellf(table, "%u", row->ops);
    add_times(table, row->time);
    add_error(table, row->has_error, row->error);
    if (row->worst == SCHEDULE_NONE) {
        for (int i = 0; i < 3; i++) table_cell(table, "-");
        return;
    }
    table_cellf(table, "%s %%", output_number(row->mean_error, number));
    add_error(table, true, result->ops[row->worst].error);
    table_cellf(table, "%s (%s)", result->ops[row->worst].name, result->ops[row->worst].role_name);
}

static void show_classes(const Comparison *result, Text *out) {
    static const char *const headers[] = {"class",    "link",  "operations",   "predicted",
                                          "measured", "error", "mean |error|", "worst"};
    Table table = {0};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        table_column(&table, headers[i], i < 2 ? TABLE_LEFT : TABLE_RIGHT);
    table_column(&table, "of", TABLE_LEFT);
    for (uint32_t i = 0; i < result->class_count; i++) {
        const CompareClass *row = &result->classes[i];
        add_class(&table, row, result, schedule_class_names[row->op_class], link_name(row->link));
    }
    add_class(&table, &result->total, result, "all that was run", "");
    table_print(&table, out);
    table_free(&table);
}

static void show_ops(const Comparison *result, Text *out) {
    static const char *const headers[] = {"operation", "role",      "class",    "link", "work",
                                          "times",     "predicted", "measured", "error"};
    Table table = {0};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        table_column(&table, headers[i], i < 5 ? TABLE_LEFT : TABLE_RIGHT);
    for (OpId id = 0; id < result->op_count; id++) {
        const CompareOp *op = &result->ops[id];
        table_cell(&table, op->name);
        table_cell(&table, op->role_name);
        table_cell(&table, schedule_class_names[op->op_class]);
        table_cell(&table, link_name(op->link));
        table_cell(&table, timeline_file_work_names[op->work]);
        table_cellf(&table, "%" PRIu64, op->instances);
        add_times(&table, op->time);
        add_error(&table, op->has_error, op->error);
    }
    table_print(&table, out);
    table_free(&table);
}

static void add_pair(Table *table, const char *name, ComparePair time, bool has_error) {
    table_cell(table, name);
    add_times(table, time);
    add_error(table, has_error && time.measured_s > 0,
              time.measured_s > 0 ? 100 * (time.predicted_s / time.measured_s - 1) : 0);
}

static void show_run(const Comparison *result, Text *out) {
    bool is_whole = result->skipped + result->stand_ins == 0;
    Table table = {0};
    table_column(&table, "of a rank", TABLE_LEFT);
    table_column(&table, "predicted", TABLE_RIGHT);
    table_column(&table, "measured", TABLE_RIGHT);
    table_column(&table, "error", TABLE_RIGHT);
    add_pair(&table, "whole run", result->end, is_whole);
    add_pair(&table, "communication", result->comm, is_whole);
    add_pair(&table, "exposed communication", result->exposed, result->skipped_compute == 0);
    text_add_char(out, '\n');
    table_print(&table, out);
    table_free(&table);
    if (result->skipped > 0)
        text_addf(out, "%u operation%s skipped in the run: no error of the whole is given\n",
                  result->skipped, result->skipped == 1 ? " was" : "s were");
    if (result->stand_ins > 0)
        text_addf(out, "%u operation%s stood in for by a given time and ha%s no error\n",
                  result->stand_ins, result->stand_ins == 1 ? " was" : "s were",
                  result->stand_ins == 1 ? "s" : "ve");
}

static void show(const CliArgs *args, const Pair *pair, Text *out) {
    static void (*const tables[])(const Comparison *, Text *) = {
        show_classes, show_ops}; // in order of the choices of --by
    show_inputs(pair, out);
    tables[cli_choice(args, "by")](&pair->result, out);
    show_run(&pair->result, out);
}

// ---- For programs

static void write_pair(JsonWriter *writer, const char *key, ComparePair time) {
    jsonw_open_object(writer, key);
    jsonw_double(writer, "predicted_s", time.predicted_s);
    jsonw_double(writer, "measured_s", time.measured_s);
    jsonw_close_object(writer);
}

static void write_link(JsonWriter *writer, LinkClass link) {
    if (link == LINK_CLASS_COUNT)
        jsonw_null(writer, "link");
    else
        jsonw_string(writer, "link", topology_class_names[link]);
}

static void write_error(JsonWriter *writer, const char *key, bool has_error, double error) {
    if (has_error)
        jsonw_double(writer, key, error);
    else
        jsonw_null(writer, key);
}

static void write_classes(const Comparison *result, JsonWriter *writer) {
    jsonw_open_array(writer, "classes");
    for (uint32_t i = 0; i < result->class_count; i++) {
        const CompareClass *row = &result->classes[i];
        jsonw_inline_next(writer);
        jsonw_open_object(writer, NULL);
        jsonw_string(writer, "class", schedule_class_names[row->op_class]);
        write_link(writer, row->link);
        jsonw_u64(writer, "operations", row->ops);
        write_pair(writer, "time", row->time);
        write_error(writer, "error_percent", row->has_error, row->error);
        write_error(writer, "mean_error_percent", row->with_error > 0, row->mean_error);
        jsonw_close_object(writer);
    }
    jsonw_close_array(writer);
}

static void write_ops(const Comparison *result, JsonWriter *writer) {
    jsonw_open_array(writer, "operations");
    for (OpId id = 0; id < result->op_count; id++) {
        const CompareOp *op = &result->ops[id];
        jsonw_inline_next(writer);
        jsonw_open_object(writer, NULL);
        jsonw_string(writer, "name", op->name);
        jsonw_string(writer, "role", op->role_name);
        jsonw_string(writer, "class", schedule_class_names[op->op_class]);
        write_link(writer, op->link);
        jsonw_string(writer, "work", timeline_file_work_names[op->work]);
        jsonw_u64(writer, "times", op->instances);
        write_pair(writer, "time", op->time);
        write_error(writer, "error_percent", op->has_error, op->error);
        jsonw_close_object(writer);
    }
    jsonw_close_array(writer);
}

// Null when the file does not say it.
static void write_device(JsonWriter *writer, const char *key, const TimelineFile *file) {
    if (file->device[0] != '\0')
        jsonw_string(writer, key, file->device);
    else
        jsonw_null(writer, key);
}

static void write_json(const Pair *pair, Text *out) {
    const Comparison *result = &pair->result;
    JsonWriter writer = {.text = out};
    jsonw_open_object(&writer, NULL);
    jsonw_string(&writer, "moesim", "comparison");
    jsonw_u64(&writer, "version", 1);
    jsonw_digest(&writer, "schedule_digest", pair->predicted.schedule);
    jsonw_digest(&writer, "shape_digest", pair->predicted.shape);
    jsonw_string(&writer, "predicted_by", pair->predicted.maker);
    jsonw_string(&writer, "measured_by", pair->measured.maker);
    write_device(&writer, "predicted_on", &pair->predicted);
    write_device(&writer, "measured_on", &pair->measured);
    write_pair(&writer, "run", result->end);
    write_pair(&writer, "communication", result->comm);
    write_pair(&writer, "exposed_communication", result->exposed);
    jsonw_u64(&writer, "stand_ins", result->stand_ins);
    jsonw_u64(&writer, "skipped", result->skipped);
    write_classes(result, &writer);
    write_ops(result, &writer);
    jsonw_close_object(&writer);
    jsonw_finish(&writer);
}

// ---- The command

static bool read_bound(const CliArgs *args, double *out, Err *err) {
    const char *text = cli_text(args, "max-error");
    if (text == NULL || (text_parse_double(text, out) && *out >= 0)) return true;
    return err_set(err, "--max-error: expected a percentage of 0 or more, found %s", text);
}

static bool read_pair(const CliArgs *args, Pair *pair, Err *err) {
    const char *predicted = args->operands[0], *measured = args->operands[1];
    return timeline_file_read(predicted, &pair->predicted, err) &&
           timeline_file_read(measured, &pair->measured, err) &&
           compare_timelines(&pair->predicted, predicted, &pair->measured, measured, &pair->result,
                             err);
}

// A bound that no prediction was held to is not kept.
static int status_of(const CliArgs *args, const CompareClass *total, double bound) {
    bool is_kept = total->with_error > 0 && total->mean_error <= bound;
    return !cli_is_given(args, "max-error") || is_kept ? OUTPUT_OK : OUTPUT_NO;
}

int compare_command(const CliArgs *args) {
    Pair pair = {0};
    Text out = {0};
    Err err = {0};
    double bound = 0;
    bool good = read_bound(args, &bound, &err) && read_pair(args, &pair, &err);
    if (good && cli_choice(args, "format") == 0)
        show(args, &pair, &out);
    else if (good)
        write_json(&pair, &out);
    int status =
        good ? output_text(&out, status_of(args, &pair.result.total, bound)) : output_bad(&err);
    if (status == OUTPUT_NO) output_message("the errors exceed --max-error, or there are none");
    compare_free(&pair.result);
    timeline_file_free(&pair.measured);
    timeline_file_free(&pair.predicted);
    return status;
}
