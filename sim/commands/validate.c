// Reads record files, predicts row by row, and sums up.
//
// Invariant: every row that is asked for is printed, predicted or with the reason why not; files
// with an error in them print nothing.
#include "sim/commands/validate.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/file.h"
#include "model/moe/match.h"
#include "sim/commands/output.h"
#include "sim/commands/validate_ranking_show.h"
#include "sim/commands/validate_show.h"

// All of one run. Rows point into the arena and into the files, which live as long.
typedef struct Validation {
    Arena arena;
    ValidateContext context;
    RecordFile *files;
    uint32_t file_count;
    const char *folder; // of --models, or NULL: beside each file
    const char *pattern_text;
    Match pattern; // of --series
    double bound;  // of --max-error
    bool is_bounded;
    ValidateRow *rows;
    const char **families; // [row_count]
    ValidateReport report;
    ValidateRanking ranking; // of a file of rankings, which comes alone
    bool is_ranking;
} Validation;

static bool read_options(const CliArgs *args, Validation *at, Err *err) {
    at->folder = cli_text(args, "models");
    if (at->folder != NULL && !validate_models_is_folder(at->folder))
        return err_set(err, "--models: %s: no such folder", at->folder);
    at->pattern_text = cli_text(args, "series");
    if (at->pattern_text != NULL && !match_compile(at->pattern_text, &at->arena, &at->pattern, err))
        return err_prefix(err, "--series");
    at->is_bounded = cli_is_given(args, "max-error");
    at->report.bound = cli_text(args, "max-error");
    if (at->is_bounded && (!text_parse_double(at->report.bound, &at->bound) || at->bound < 0))
        return err_set(err, "--max-error: expected a percentage of 0 or more, found %s",
                       at->report.bound);
    return true;
}

static bool read_files(const CliArgs *args, Validation *at, Err *err) {
    at->files = arena_alloc(&at->arena, args->operand_count, sizeof *at->files);
    for (uint32_t i = 0; i < args->operand_count; i++) {
        if (!record_read(args->operands[i], &at->files[i], err)) return false;
        at->file_count++;
        at->is_ranking |= at->files[i].kind == RECORD_RANKING;
    }
    if (at->is_ranking && at->file_count > 1)
        return err_set(err, "expected a file of rankings alone, found %u files", at->file_count);
    return true;
}

// Configs lie beside the folder of the records, unless the user says where.
static void enter_file(Validation *at, const RecordFile *file) {
    const char *folder = at->folder;
    if (folder == NULL) {
        const char *beside = file_beside(file->name, "../models", &at->arena);
        if (validate_models_is_folder(beside)) folder = beside;
    }
    validate_models_folder(&at->context.models, folder);
}

static bool is_asked(const Validation *at, const Record *record) {
    return at->pattern_text == NULL || match_test(&at->pattern, record->series);
}

static double size_of(double error) {
    return error < 0 ? -error : error;
}

static ScoreRow score_row_of(const ValidateRow *row, const char *family) {
    return (ScoreRow){family,
                      row->series,
                      row->is_predicted,
                      row->prediction.predicted,
                      row->prediction.measured,
                      row->prediction.basis};
}

static bool has_column(const RecordFile *file, const char *name) {
    for (uint32_t i = 0; i < file->column_count; i++)
        if (strcmp(file->columns[i], name) == 0) return true;
    return false;
}

static void predict_row(Validation *at, const RecordFile *file, uint32_t index) {
    const Record *record = &file->rows[index];
    const char *family = record_kind_names[file->kind];
    Err reason = {0};
    ValidateRow row = {.id = record->id,
                       .series = record->series,
                       .model = has_column(file, "model") ? record_cell(file, index, "model") : "",
                       .unit = record_cell(file, index, "unit"),
                       .value = record->value,
                       .reason = ""};
    row.is_predicted =
        validate_predict_row(&at->context, file, index, &at->arena, &row.prediction, &reason);
    if (row.is_predicted) {
        ScoreRow score = score_row_of(&row, family);
        row.error = score_error(&score);
        row.exceeds = at->is_bounded && size_of(row.error) > at->bound;
    } else {
        row.reason = arena_string(&at->arena, reason.text);
    }
    at->report.exceeding += row.exceeds;
    at->families[at->report.row_count] = family;
    at->rows[at->report.row_count++] = row;
}

static void predict_rows(Validation *at) {
    uint32_t total = 0;
    for (uint32_t i = 0; i < at->file_count; i++) total += at->files[i].row_count;
    at->rows = arena_alloc(&at->arena, total, sizeof *at->rows);
    at->families = arena_alloc(&at->arena, total, sizeof *at->families);
    for (uint32_t i = 0; i < at->file_count; i++) {
        enter_file(at, &at->files[i]);
        for (uint32_t row = 0; row < at->files[i].row_count; row++)
            if (is_asked(at, &at->files[i].rows[row])) predict_row(at, &at->files[i], row);
    }
    at->report.rows = at->rows;
}

static void sum_up(Validation *at) {
    ValidateReport *report = &at->report;
    ScoreRow *rows = arena_alloc(&at->arena, report->row_count, sizeof *rows);
    for (uint32_t i = 0; i < report->row_count; i++)
        rows[i] = score_row_of(&at->rows[i], at->families[i]);
    score_rows(rows, report->row_count, &at->arena, &report->score);
}

// A group is scored, not a row: there is no error to bound. --series picks metrics.
static bool run_ranking(Validation *at, Err *err) {
    const Match *asked = at->pattern_text != NULL ? &at->pattern : NULL;
    if (at->is_bounded) return err_set(err, "--max-error: rankings have scores, not errors");
    enter_file(at, &at->files[0]);
    if (!validate_ranking_run(&at->files[0], asked, &at->context, &at->arena, &at->ranking, err))
        return false;
    return at->ranking.group_count > 0 || asked == NULL ||
           err_set(err, "--series: no row is of a metric \"%s\"", at->pattern_text);
}

static bool run(const CliArgs *args, Validation *at, Err *err) {
    if (!read_options(args, at, err) || !read_files(args, at, err) ||
        !validate_models_open(&at->context.models, err) ||
        !device_load(&at->context.catalogue, err) || !memory_engine_load(&at->context.engines, err))
        return false;
    if (at->is_ranking) return run_ranking(at, err);
    predict_rows(at);
    if (at->report.row_count == 0 && at->pattern_text != NULL)
        return err_set(err, "--series: no row is of a series \"%s\"", at->pattern_text);
    sum_up(at);
    return true;
}

// A bound that no prediction was held to is not kept.
static int status_of(const Validation *at) {
    bool kept = at->report.exceeding == 0 && at->report.score.predicted > 0;
    return at->is_bounded && !kept ? OUTPUT_NO : OUTPUT_OK;
}

static void close_all(Validation *at) {
    validate_models_close(&at->context.models);
    device_free(&at->context.catalogue);
    memory_engine_free(&at->context.engines);
    for (uint32_t i = 0; i < at->file_count; i++) record_free(&at->files[i]);
    arena_free(&at->arena);
}

static void show_report(const ValidateReport *report, uint32_t format, Text *out) {
    static void (*const show[])(const ValidateReport *, Text *) = {
        validate_show_table, validate_show_json, validate_show_csv};
    show[format](report, out);
}

static void show_ranking(const ValidateRanking *ranking, uint32_t format, Text *out) {
    static void (*const show[])(const ValidateRanking *, Text *) = {
        validate_ranking_show_table, validate_ranking_show_json, validate_ranking_show_csv};
    show[format](ranking, out);
}

int validate_command(const CliArgs *args) {
    Validation at = {0};
    Err err = {0};
    Text out = {0};
    bool good = run(args, &at, &err);
    int status = status_of(&at);
    if (good && at.is_ranking)
        show_ranking(&at.ranking, cli_choice(args, "format"), &out);
    else if (good)
        show_report(&at.report, cli_choice(args, "format"), &out);
    close_all(&at);
    return good ? output_text(&out, status) : output_bad(&err);
}
