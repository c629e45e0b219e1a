// Prints a validation.
//
// Invariant: the three formats print the same figures, JSON and CSV in full; a table never shows an
// error of 0 for figures that differ.
#include "sim/commands/validate_show.h"

#include <inttypes.h>
#include <stdio.h>

#include "model/base/jsonw.h"
#include "model/base/table.h"

#define VALIDATE_JSON_VERSION 1
#define NUMBER_MAX            48

// Whole numbers in full, others with four digits behind the point.
static const char *show_number(double value, char *buffer) {
    bool is_whole = value > -9007199254740992.0 && value < 9007199254740992.0 &&
                    value == (double)(int64_t)value;
    if (is_whole)
        snprintf(buffer, NUMBER_MAX, "%" PRId64, (int64_t)value);
    else
        snprintf(buffer, NUMBER_MAX, "%.4f", value);
    return buffer;
}

static const char *show_percent(double percent, char *buffer) {
    double size = percent < 0 ? -percent : percent;
    snprintf(buffer, NUMBER_MAX, size > 0 && size < 0.005 ? "%+.2e %%" : "%+.2f %%", percent);
    return percent == 0 ? "0 %" : buffer;
}

static const char *show_size(double percent, char *buffer) {
    snprintf(buffer, NUMBER_MAX, percent > 0 && percent < 0.005 ? "%.2e %%" : "%.2f %%", percent);
    return percent == 0 ? "0 %" : buffer;
}

// ---- Tables

static void add_prediction(Table *table, const ValidateRow *row) {
    char number[NUMBER_MAX];
    const ValidatePrediction *prediction = &row->prediction;
    if (!row->is_predicted) {
        table_cell(table, "-");
        table_cell(table, show_number(row->value, number));
        table_cell(table, row->unit);
        table_cell(table, "refused");
        table_note(table, row->reason);
        return;
    }
    table_cell(table, show_number(prediction->predicted, number));
    table_cell(table, show_number(prediction->measured, number));
    table_cell(table, row->unit);
    table_cell(table, show_percent(row->error, number));
    Text note = {0};
    if (row->exceeds) text_add(&note, "exceeds the bound");
    if (prediction->basis != prediction->measured && prediction->basis != -prediction->measured)
        text_addf(&note, "%sof %s", note.length > 0 ? "; " : "", prediction->basis_name);
    if (*prediction->remark != '\0')
        text_addf(&note, "%s%s", note.length > 0 ? "; " : "", prediction->remark);
    if (note.length > 0) table_note(table, text_string(&note));
    text_free(&note);
}

static void show_rows(const ValidateReport *report, Text *out) {
    Table table = {0};
    table_column(&table, "id", TABLE_LEFT);
    table_column(&table, "series", TABLE_LEFT);
    table_column(&table, "model", TABLE_LEFT);
    table_column(&table, "predicted", TABLE_RIGHT);
    table_column(&table, "measured", TABLE_RIGHT);
    table_column(&table, "unit", TABLE_LEFT);
    table_column(&table, "error", TABLE_RIGHT);
    for (uint32_t i = 0; i < report->row_count; i++) {
        const ValidateRow *row = &report->rows[i];
        table_cell(&table, row->id);
        table_cell(&table, row->series);
        table_cell(&table, row->model);
        add_prediction(&table, row);
    }
    table_print(&table, out);
    table_free(&table);
}

static void error_columns(Table *table) {
    table_column(table, "rows", TABLE_RIGHT);
    table_column(table, "predicted", TABLE_RIGHT);
    table_column(table, "median", TABLE_RIGHT);
    table_column(table, "90th percentile", TABLE_RIGHT);
    table_column(table, "bias", TABLE_RIGHT);
    table_column(table, "worst", TABLE_RIGHT);
}

static void add_errors(Table *table, const ScoreErrors *errors, uint32_t rows, uint32_t predicted) {
    char number[NUMBER_MAX];
    table_cellf(table, "%" PRIu32, rows);
    table_cellf(table, "%" PRIu32, predicted);
    if (predicted == 0) {
        for (uint32_t i = 0; i < 4; i++) table_cell(table, "-");
        return;
    }
    table_cell(table, show_size(errors->median, number));
    table_cell(table, show_size(errors->p90, number));
    table_cell(table, show_percent(errors->bias, number));
    table_cell(table, show_size(errors->worst, number));
}

static void show_series(const Score *score, Text *out) {
    Table table = {0};
    table_column(&table, "series", TABLE_LEFT);
    error_columns(&table);
    for (uint32_t i = 0; i < score->series_count; i++) {
        const ScoreSeries *series = &score->series[i];
        table_cell(&table, series->series);
        add_errors(&table, &series->errors, series->rows, series->predicted);
    }
    table_print(&table, out);
    table_free(&table);
}

static void show_families(const Score *score, Text *out) {
    Table table = {0};
    table_column(&table, "family (mean over series)", TABLE_LEFT);
    table_column(&table, "series", TABLE_RIGHT);
    error_columns(&table);
    for (uint32_t i = 0; i < score->family_count; i++) {
        const ScoreFamily *family = &score->families[i];
        table_cell(&table, family->family);
        table_cellf(&table, "%" PRIu32, family->series);
        add_errors(&table, &family->errors, family->rows, family->predicted);
    }
    table_print(&table, out);
    table_free(&table);
}

static void show_total(const ValidateReport *report, Text *out) {
    const Score *score = &report->score;
    char number[NUMBER_MAX];
    text_addf(out, "%" PRIu32 " predicted, %" PRIu32 " refused, %" PRIu32 " in total",
              score->predicted, score->rows - score->predicted, score->rows);
    if (score->predicted > 0)
        text_addf(out, "; mean error over families %s", show_size(score->mean, number));
    if (report->bound != NULL)
        text_addf(out, "; %" PRIu32 " over the bound of %s %%", report->exceeding, report->bound);
    text_add_char(out, '\n');
}

void validate_show_table(const ValidateReport *report, Text *out) {
    show_rows(report, out);
    text_add_char(out, '\n');
    show_series(&report->score, out);
    text_add_char(out, '\n');
    show_families(&report->score, out);
    text_add_char(out, '\n');
    show_total(report, out);
}

// ---- CSV

static void add_csv_row(Table *table, const ValidateRow *row) {
    const ValidatePrediction *prediction = &row->prediction;
    table_cell(table, row->id);
    table_cell(table, row->series);
    table_cell(table, row->model);
    if (row->is_predicted) {
        table_cell_exact(table, prediction->predicted);
        table_cell_exact(table, prediction->measured);
        table_cell(table, row->unit);
        table_cell_exact(table, row->error);
        table_cell(table, prediction->basis_name);
        table_cell(table, row->exceeds ? "exceeds" : "predicted");
        table_cell(table, prediction->remark);
    } else {
        table_cell(table, "");
        table_cell_exact(table, row->value);
        table_cell(table, row->unit);
        table_cell(table, "");
        table_cell(table, "");
        table_cell(table, "refused");
        table_cell(table, row->reason);
    }
}

void validate_show_csv(const ValidateReport *report, Text *out) {
    static const char *const columns[] = {"id",       "series", "model",         "predicted",
                                          "measured", "unit",   "error_percent", "percent_of",
                                          "status",   "remark"};
    Table table = {0};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        table_column(&table, columns[i], TABLE_LEFT);
    for (uint32_t i = 0; i < report->row_count; i++) add_csv_row(&table, &report->rows[i]);
    table_print_csv(&table, out);
    table_free(&table);
}

// ---- JSON

static void write_row(JsonWriter *w, const ValidateRow *row) {
    const ValidatePrediction *prediction = &row->prediction;
    jsonw_inline_next(w);
    jsonw_open_object(w, NULL);
    jsonw_string(w, "id", row->id);
    jsonw_string(w, "series", row->series);
    jsonw_string(w, "model", row->model);
    jsonw_string(w, "unit", row->unit);
    if (row->is_predicted) {
        jsonw_double(w, "predicted", prediction->predicted);
        jsonw_double(w, "measured", prediction->measured);
        jsonw_double(w, "error_percent", row->error);
        jsonw_string(w, "percent_of", prediction->basis_name);
        if (*prediction->remark != '\0') jsonw_string(w, "remark", prediction->remark);
        jsonw_bool(w, "exceeds", row->exceeds);
    } else {
        jsonw_double(w, "measured", row->value);
        jsonw_string(w, "refused", row->reason);
    }
    jsonw_close_object(w);
}

static void write_errors(JsonWriter *w, const ScoreErrors *errors, uint32_t rows,
                         uint32_t predicted) {
    jsonw_u64(w, "rows", rows);
    jsonw_u64(w, "predicted", predicted);
    if (predicted == 0) return;
    jsonw_double(w, "median_percent", errors->median);
    jsonw_double(w, "p90_percent", errors->p90);
    jsonw_double(w, "bias_percent", errors->bias);
    jsonw_double(w, "worst_percent", errors->worst);
}

static void write_score(JsonWriter *w, const Score *score) {
    jsonw_open_array(w, "series");
    for (uint32_t i = 0; i < score->series_count; i++) {
        const ScoreSeries *series = &score->series[i];
        jsonw_inline_next(w);
        jsonw_open_object(w, NULL);
        jsonw_string(w, "series", series->series);
        jsonw_string(w, "family", series->family);
        write_errors(w, &series->errors, series->rows, series->predicted);
        jsonw_close_object(w);
    }
    jsonw_close_array(w);
    jsonw_open_array(w, "families");
    for (uint32_t i = 0; i < score->family_count; i++) {
        const ScoreFamily *family = &score->families[i];
        jsonw_inline_next(w);
        jsonw_open_object(w, NULL);
        jsonw_string(w, "family", family->family);
        jsonw_u64(w, "series", family->series);
        write_errors(w, &family->errors, family->rows, family->predicted);
        jsonw_close_object(w);
    }
    jsonw_close_array(w);
}

void validate_show_json(const ValidateReport *report, Text *out) {
    const Score *score = &report->score;
    JsonWriter w = {.text = out};
    jsonw_open_object(&w, NULL);
    jsonw_string(&w, "moesim", "validation");
    jsonw_u64(&w, "version", VALIDATE_JSON_VERSION);
    jsonw_open_array(&w, "records");
    for (uint32_t i = 0; i < report->row_count; i++) write_row(&w, &report->rows[i]);
    jsonw_close_array(&w);
    write_score(&w, score);
    jsonw_u64(&w, "predicted", score->predicted);
    jsonw_u64(&w, "refused", score->rows - score->predicted);
    jsonw_u64(&w, "rows", score->rows);
    if (score->predicted > 0) jsonw_double(&w, "mean_percent", score->mean);
    if (report->bound != NULL) {
        jsonw_string(&w, "max_error_percent", report->bound);
        jsonw_u64(&w, "exceeding", report->exceeding);
    }
    jsonw_close_object(&w);
    jsonw_finish(&w);
}
