// A fit as people read it, and as JSON.
#include "sim/commands/calibrate_show.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/jsonw.h"
#include "model/base/num.h"
#include "model/base/table.h"
#include "sim/commands/output.h"

#define JSON_VERSION 1

// "24.1 us" of a time, "0.973" of a part.
static void add_value(Table *table, CalibParam param, double value) {
    char text[UNITS_TEXT_MAX], number[OUTPUT_NUMBER_MAX];
    if (calib_kind(param) == CALIB_IS_TIME)
        table_cell(table, units_format_time(num_round(value * (double)PS_PER_SECOND), text));
    else
        table_cell(table, output_number(value, number));
}

static void add_seconds(Table *table, double value_s) {
    char text[UNITS_TEXT_MAX];
    if (value_s > 0)
        table_cell(table, units_format_time(num_round(value_s * (double)PS_PER_SECOND), text));
    else
        table_cell(table, "-");
}

// "+1.23 %" of a prediction over what was measured; "-" when there is none.
static void add_error(Table *table, double predicted_s, double measured_s) {
    if (predicted_s > 0)
        table_cellf(table, "%+.2f %%", (predicted_s / measured_s - 1) * 100);
    else
        table_cell(table, "-");
}

static void add_columns(Table *table, const char *first, const char *const *rest) {
    table_column(table, first, TABLE_LEFT);
    for (; *rest != NULL; rest++) table_column(table, *rest, TABLE_RIGHT);
}

static void show_params(const CalibrateResult *result, Text *out) {
    static const char *const columns[] = {"prior", "fitted", "95 % from", "to", NULL};
    Table table = {0};
    add_columns(&table, "constant", columns);
    for (uint32_t i = 0; i < result->param_count; i++) {
        const CalibrateParam *param = &result->params[i];
        table_cell(&table, calib_param_names[param->param]);
        add_value(&table, param->param, param->prior);
        if (!param->is_identified) {
            table_cell(&table, "not told by the data: stays");
            table_cell(&table, "-");
            table_cell(&table, "-");
            continue;
        }
        add_value(&table, param->param, param->value);
        add_value(&table, param->param, param->low);
        add_value(&table, param->param, param->high);
    }
    table_print(&table, out);
    table_free(&table);
}

// A constant of scale-up links has the name of those that most machines have.
static void show_scale_up(const CalibrateInput *input, const CalibrateResult *result, Text *out) {
    if (input->scale_up == NULL || input->scale_up[0] == '\0') return;
    for (uint32_t i = 0; i < result->param_count; i++) {
        CalibParam param = result->params[i].param;
        if (param != CALIB_NVLINK && param != CALIB_NVLINK_STEP) continue;
        text_addf(out,
                  "%s has no nvlink: constants of nvlink are those of its other links inside "
                  "a node (%s)\n",
                  input->machine, input->scale_up);
        return;
    }
}

static void show_correlation(const CalibrateResult *result, Text *out) {
    uint32_t n = result->identified_count;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = i + 1; j < n; j++)
            text_addf(out, "correlation of %s and %s: %+.2f\n",
                      calib_param_names[result->params[result->identified[i]].param],
                      calib_param_names[result->params[result->identified[j]].param],
                      result->correlation[i * n + j]);
}

static void add_errors(Table *table, const char *name, const CalibrateErrors *errors) {
    table_cell(table, name);
    table_cellf(table, "%u", errors->count);
    if (errors->count == 0) {
        for (uint32_t i = 0; i < 4; i++) table_cell(table, "-");
        return;
    }
    table_cellf(table, "%.2f %%", errors->mean * 100);
    table_cellf(table, "%.2f %%", errors->p90 * 100);
    table_cellf(table, "%.2f %%", errors->worst * 100);
    table_cellf(table, "%+.2f %%", errors->bias * 100);
}

static void show_errors(const CalibrateInput *input, const CalibrateResult *result, Text *out) {
    static const char *const columns[] = {"cases", "MAPE", "p90", "worst", "bias", NULL};
    Table table = {0};
    add_columns(&table, "error, predicted over measured", columns);
    add_errors(&table, "fitted cases, by the prior", &result->prior);
    add_errors(&table, "fitted cases", &result->fitted);
    add_errors(&table, "each size left out", &result->without_size);
    add_errors(&table, "each shape left out", &result->without_shape);
    if (input->count > input->fitted) {
        add_errors(&table, "held out, by the prior", &result->held_out_prior);
        add_errors(&table, "held out", &result->held_out);
    }
    table_print(&table, out);
    table_free(&table);
}

static void add_case(Table *table, const CalibrateInput *input, const CalibrateResult *result,
                     uint32_t i) {
    const CalibrateCase *one = &result->cases[i];
    const CalibrateItem *item = &input->items[i];
    table_cell(table, item->name);
    table_cell(table, calibrate_part_names[one->part]);
    table_cellf(table, "%u", item->samples);
    if (item->samples > 1)
        table_cellf(table, "%.2f %%", item->noise * 100);
    else
        table_cell(table, "-");
    add_seconds(table, one->bound_s);
    add_seconds(table, one->measured_s);
    add_seconds(table, one->predicted_s);
    add_error(table, one->predicted_s, one->measured_s);
    add_error(table, one->without_size_s, one->measured_s);
    add_error(table, one->prior_s, one->measured_s);
}

static void show_cases(const CalibrateInput *input, const CalibrateResult *result, Text *out) {
    static const char *const columns[] = {"samples", "noise",      "bound", "measured", "predicted",
                                          "error",   "without it", "prior", NULL};
    Table table = {0};
    table_column(&table, "case", TABLE_LEFT);
    add_columns(&table, "part", columns);
    for (uint32_t i = 0; i < input->count; i++) add_case(&table, input, result, i);
    table_print(&table, out);
    table_free(&table);
}

// How many cases are left out, by the reason.
static void show_left_out(const CalibrateInput *input, Text *out) {
    for (uint32_t i = 0; i < input->count; i++) {
        const char *why = input->items[i].unknown;
        uint32_t first = 0, count = 0;
        if (why == NULL) continue;
        while (input->items[first].unknown == NULL || strcmp(input->items[first].unknown, why) != 0)
            first++;
        if (first < i) continue;
        for (uint32_t k = i; k < input->count; k++)
            if (input->items[k].unknown != NULL && strcmp(input->items[k].unknown, why) == 0)
                count++;
        text_addf(out, "left out, %u case%s: %s\n", count, count == 1 ? "" : "s", why);
    }
}

static void show_too_fast(const CalibrateInput *input, const CalibrateResult *result, Text *out) {
    uint32_t judged = result->fitted.count + result->held_out.count;
    if (result->too_fast == 0) return;
    calibrate_tell_too_fast(input, result->too_fast, judged, out);
    text_add_char(out, '\n');
}

// What the columns mean.
static void show_legend(const CalibrateInput *input, const CalibrateResult *result,
                        const char *statistic, Text *out) {
    char least[UNITS_TEXT_MAX];
    text_addf(out, "\nmeasured: the %s of the samples; noise: 95 %% interval of their median, ",
              statistic);
    if (result->repeated > 0)
        text_addf(out, "mean %.2f %%", result->noise * 100);
    else
        text_add(out, "which one sample does not tell");
    if (input->least_s > 0)
        text_addf(out, "; cases with a bound below %s are small: printed, not judged",
                  units_format_time(num_round(input->least_s * (double)PS_PER_SECOND), least));
    text_add_char(out, '\n');
}

void calibrate_show_text(const CalibrateInput *input, const CalibrateResult *result,
                         const char *statistic, Text *out) {
    show_cases(input, result, out);
    show_left_out(input, out);
    show_too_fast(input, result, out);
    text_add_char(out, '\n');
    show_params(result, out);
    show_scale_up(input, result, out);
    show_correlation(result, out);
    text_add_char(out, '\n');
    show_errors(input, result, out);
    show_legend(input, result, statistic, out);
    text_addf(out, "chi2 %.2f per degree of freedom, %u outliers; %u of %u starts agree\n",
              result->chi2_per_degree, result->outliers, result->agreed, result->starts);
}

// ---- For programs

static void write_time(JsonWriter *writer, const char *key, double value_s) {
    if (value_s > 0)
        jsonw_double(writer, key, value_s);
    else
        jsonw_null(writer, key);
}

static void write_errors(JsonWriter *writer, const char *key, const CalibrateErrors *errors) {
    jsonw_inline_next(writer);
    jsonw_open_object(writer, key);
    jsonw_u64(writer, "cases", errors->count);
    if (errors->count > 0) {
        jsonw_double(writer, "mean", errors->mean);
        jsonw_double(writer, "p90", errors->p90);
        jsonw_double(writer, "worst", errors->worst);
        jsonw_double(writer, "bias", errors->bias);
    }
    jsonw_close_object(writer);
}

static void write_params(JsonWriter *writer, const CalibrateResult *result) {
    jsonw_open_array(writer, "constants");
    for (uint32_t i = 0; i < result->param_count; i++) {
        const CalibrateParam *param = &result->params[i];
        jsonw_inline_next(writer);
        jsonw_open_object(writer, NULL);
        jsonw_string(writer, "constant", calib_param_names[param->param]);
        jsonw_double(writer, "prior", param->prior);
        jsonw_bool(writer, "identified", param->is_identified);
        if (param->is_identified) {
            jsonw_double(writer, "value", param->value);
            jsonw_double(writer, "low", param->low);
            jsonw_double(writer, "high", param->high);
        }
        jsonw_close_object(writer);
    }
    jsonw_close_array(writer);
}

static void write_correlation(JsonWriter *writer, const CalibrateResult *result) {
    uint32_t n = result->identified_count;
    jsonw_open_array(writer, "correlation");
    for (uint32_t i = 0; i < n; i++) {
        jsonw_inline_next(writer);
        jsonw_open_array(writer, NULL);
        for (uint32_t j = 0; j < n; j++) jsonw_double(writer, NULL, result->correlation[i * n + j]);
        jsonw_close_array(writer);
    }
    jsonw_close_array(writer);
}

static void write_unknown(JsonWriter *writer, const char *why) {
    if (why != NULL)
        jsonw_string(writer, "left_out", why);
    else
        jsonw_null(writer, "left_out");
}

// One sample tells none.
static void write_noise(JsonWriter *writer, bool is_known, double noise) {
    if (is_known)
        jsonw_double(writer, "noise", noise);
    else
        jsonw_null(writer, "noise");
}

static void write_cases(JsonWriter *writer, const CalibrateInput *input,
                        const CalibrateResult *result) {
    jsonw_open_array(writer, "cases");
    for (uint32_t i = 0; i < input->count; i++) {
        const CalibrateCase *one = &result->cases[i];
        jsonw_inline_next(writer);
        jsonw_open_object(writer, NULL);
        jsonw_string(writer, "case", input->items[i].name);
        jsonw_bool(writer, "fitted", i < input->fitted);
        jsonw_bool(writer, "small", one->part == CALIBRATE_SMALL);
        write_unknown(writer, input->items[i].unknown);
        jsonw_u64(writer, "samples", input->items[i].samples);
        write_noise(writer, input->items[i].samples > 1, input->items[i].noise);
        write_time(writer, "bound_s", one->bound_s);
        write_time(writer, "measured_s", one->measured_s);
        write_time(writer, "predicted_s", one->predicted_s);
        write_time(writer, "without_size_s", one->without_size_s);
        write_time(writer, "without_shape_s", one->without_shape_s);
        write_time(writer, "prior_s", one->prior_s);
        jsonw_close_object(writer);
    }
    jsonw_close_array(writer);
}

void calibrate_show_json(const CalibrateInput *input, const CalibrateResult *result,
                         const char *statistic, Text *out) {
    JsonWriter writer = {.text = out};
    jsonw_open_object(&writer, NULL);
    jsonw_string(&writer, "moesim", "calibrate");
    jsonw_u64(&writer, "version", JSON_VERSION);
    jsonw_string(&writer, "statistic", statistic);
    jsonw_double(&writer, "least_bound_s", input->least_s);
    write_params(&writer, result);
    write_correlation(&writer, result);
    write_noise(&writer, result->repeated > 0, result->noise);
    jsonw_double(&writer, "chi2_per_degree", result->chi2_per_degree);
    jsonw_u64(&writer, "outliers", result->outliers);
    jsonw_u64(&writer, "too_fast", result->too_fast);
    jsonw_u64(&writer, "starts", result->starts);
    jsonw_u64(&writer, "agreed", result->agreed);
    write_errors(&writer, "prior", &result->prior);
    write_errors(&writer, "fitted", &result->fitted);
    write_errors(&writer, "without_size", &result->without_size);
    write_errors(&writer, "without_shape", &result->without_shape);
    write_errors(&writer, "held_out_prior", &result->held_out_prior);
    write_errors(&writer, "held_out", &result->held_out);
    write_cases(&writer, input, result);
    jsonw_close_object(&writer);
    jsonw_finish(&writer);
}
