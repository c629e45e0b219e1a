// Tables of what was simulated again with one thing changed.
//
// Invariant: every knob is in a row or counted in a line.
#include "sim/commands/explain_vary.h"

#include <inttypes.h>

#include "model/base/mem.h"
#include "sim/commands/output.h"

bool explain_vary_influences(const CliArgs *args, ExplainPlan *plan, ExplainInfluences *out,
                             Err *err) {
    WhyKnob knobs[WHY_KNOBS_MAX];
    out->count = 0;
    if (cli_is_given(args, "quick")) return true;
    uint32_t count = why_vary_knobs(&plan->inputs.fabric, NULL, knobs);
    if (!why_vary_influences(plan->lab, knobs, count, out->items, err))
        return err_prefix(err, "%s", plan->path);
    out->count = count;
    return true;
}

bool explain_vary_flips(const CliArgs *args, ExplainPlan *a, ExplainPlan *b, ExplainFlips *out,
                        Err *err) {
    WhyKnob knobs[WHY_KNOBS_MAX];
    out->count = 0;
    out->is_tie = a->evaluation.tok_s_per_gpu == b->evaluation.tok_s_per_gpu;
    if (cli_is_given(args, "quick") || out->is_tie) return true;
    uint32_t count = why_vary_knobs(&a->inputs.fabric, &b->inputs.fabric, knobs);
    if (!why_vary_flips(a->lab, b->lab, knobs, count, out->items, err)) return false;
    out->count = count;
    return true;
}

// ---- For people

static void add_value(Table *table, CalibParam param, double value) {
    char text[UNITS_TEXT_MAX], number[OUTPUT_NUMBER_MAX];
    bool is_time = calib_kind(param) == CALIB_IS_TIME;
    table_cell(table, is_time ? explain_plan_time(value, text) : output_number(value, number));
}

static void add_result(Table *table, double tok_s_per_gpu) {
    char number[OUTPUT_NUMBER_MAX];
    table_cell(table, output_number(tok_s_per_gpu, number));
}

static void add_influence(Table *table, const Calib *calib, const WhyInfluence *item) {
    char name[WHY_KNOB_TEXT];
    const CalibValue *value = &calib->values[item->knob.param];
    table_cell(table, why_vary_name(&item->knob, name));
    if (item->knob.kind == WHY_CONSTANT)
        add_value(table, item->knob.param, value->value);
    else
        table_cell(table, "topology");
    table_cellf(table, "%+.3f", item->tok_s_per_gpu);
    table_cellf(table, "%+.3f", item->tpot);
    table_cellf(table, "%+.3f", item->ttft);
    if (!item->has_interval) {
        for (int i = 0; i < 3; i++) table_cell(table, "");
        return;
    }
    add_result(table, item->at_low.tok_s_per_gpu);
    add_result(table, item->at_high.tok_s_per_gpu);
    table_cellf(table, "%s%s", calib_provenance_names[value->provenance],
                value->is_default_interval ? ", x/1.5 .. x1.5" : "");
}

void explain_vary_show_influences(const ExplainPlan *plan, const ExplainInfluences *influences,
                                  Text *out) {
    Table table = {0};
    uint32_t without = 0;
    if (influences->count == 0) return;
    table_column(&table, "sensitivity", TABLE_LEFT);
    static const char *const headers[] = {"value", "tok/s/GPU", "TPOT",
                                          "TTFT",  "at low",    "at high"};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        table_column(&table, headers[i], TABLE_RIGHT);
    table_column(&table, "confidence", TABLE_LEFT);
    for (uint32_t i = 0; i < influences->count; i++) {
        const WhyInfluence *item = &influences->items[i];
        if (item->has_influence)
            add_influence(&table, &plan->inputs.calib, item);
        else
            without++;
    }
    text_add(out, "\nper cent of change for 1 % more of a constant, or of all links of a class, "
                  "simulated again at -10 % and +10 %\n(an efficiency ends at 1); at low, at high: "
                  "tok/s/GPU at the ends of the constant's interval\n\n");
    table_print(&table, out);
    text_addf(out, "without influence: %" PRIu32 " of %" PRIu32 "\n", without, influences->count);
    table_free(&table);
}

// Whether a constant has its value at the flip within what its source states.
static bool is_inside(const Calib *calib, const WhyFlip *flip) {
    const CalibValue *value = &calib->values[flip->knob.param];
    double at = value->value * flip->factor;
    return flip->is_found && flip->knob.kind == WHY_CONSTANT && at >= value->low &&
           at <= value->high;
}

static uint32_t count_inside(const Calib *calib, const ExplainFlips *flips) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < flips->count; i++)
        if (is_inside(calib, &flips->items[i])) count++;
    return count;
}

static void add_flip(Table *table, const Calib *calib, const WhyFlip *flip) {
    char name[WHY_KNOB_TEXT], factor[OUTPUT_NUMBER_MAX];
    table_cell(table, why_vary_name(&flip->knob, name));
    table_cellf(table, "x%s", output_number(flip->factor, factor));
    if (flip->knob.kind == WHY_CONSTANT) {
        const CalibValue *value = &calib->values[flip->knob.param];
        add_value(table, flip->knob.param, value->value * flip->factor);
        table_cell(table, is_inside(calib, flip) ? "inside" : "outside");
    } else {
        table_cell(table, "topology");
        table_cell(table, "");
    }
}

static void list_flips(const ExplainFlips *flips, bool has_influence, Text *out) {
    const char *mark = " ";
    char name[WHY_KNOB_TEXT], high[OUTPUT_NUMBER_MAX];
    for (uint32_t i = 0; i < flips->count; i++) {
        const WhyFlip *flip = &flips->items[i];
        if (flip->is_found || flip->has_influence != has_influence) continue;
        text_addf(out, "%s%s", mark, why_vary_name(&flip->knob, name));
        if (flip->high < WHY_FLIP_MOST)
            text_addf(out, " (to x%s)", output_number(flip->high, high));
        mark = ", ";
    }
}

static uint32_t count_flips(const ExplainFlips *flips, bool is_found, bool has_influence) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < flips->count; i++)
        if (flips->items[i].is_found == is_found && flips->items[i].has_influence == has_influence)
            count++;
    return count;
}

static void show_nearest(const ExplainPlan *a, const ExplainPlan *b, const ExplainFlips *flips,
                         Text *out) {
    bool a_leads = a->evaluation.tok_s_per_gpu > b->evaluation.tok_s_per_gpu;
    char name[WHY_KNOB_TEXT], factor[OUTPUT_NUMBER_MAX];
    if (count_flips(flips, true, true) == 0) {
        text_addf(out, "\nno constant and no class of links alone brings %s past %s\n",
                  a_leads ? "B" : "A", a_leads ? "A" : "B");
        return;
    }
    text_addf(out, "\nnearest flip: %s passes %s by tok/s/GPU with x%s of %s\n",
              a_leads ? "B" : "A", a_leads ? "A" : "B",
              output_number(flips->items[0].factor, factor),
              why_vary_name(&flips->items[0].knob, name));
    uint32_t inside = count_inside(&a->inputs.calib, flips);
    if (inside > 0)
        text_addf(out,
                  "the order is not certain: %" PRIu32
                  " constant%s turn%s it inside the interval of %s source\n",
                  inside, inside == 1 ? "" : "s", inside == 1 ? "s" : "",
                  inside == 1 ? "its" : "their");
}

void explain_vary_show_flips(const ExplainPlan *a, const ExplainPlan *b, const ExplainFlips *flips,
                             Text *out) {
    Table table = {0};
    if (flips->is_tie) text_add(out, "\nthe plans tie by tok/s/GPU\n");
    if (flips->count == 0) return;
    show_nearest(a, b, flips, out);
    table_column(&table, "the order turns at", TABLE_LEFT);
    table_column(&table, "factor", TABLE_RIGHT);
    table_column(&table, "value", TABLE_RIGHT);
    table_column(&table, "its interval", TABLE_LEFT);
    for (uint32_t i = 0; i < flips->count; i++)
        if (flips->items[i].is_found) add_flip(&table, &a->inputs.calib, &flips->items[i]);
    if (table.cell_count > 0) {
        text_add_char(out, '\n');
        table_print(&table, out);
    }
    Text none = {0};
    text_addf(&none, "none within x1/%.0f .. x%.0f:", WHY_FLIP_MOST, WHY_FLIP_MOST);
    list_flips(flips, true, &none);
    if (count_flips(flips, false, true) > 0) text_add_wrapped(out, text_string(&none), 0, 100);
    text_addf(out, "without influence: %" PRIu32 " of %" PRIu32 "\n",
              count_flips(flips, false, false), flips->count);
    text_free(&none);
    table_free(&table);
}

// ---- For programs

void explain_vary_write_influences(JsonWriter *writer, const ExplainPlan *plan,
                                   const ExplainInfluences *influences) {
    char name[WHY_KNOB_TEXT];
    if (influences->count == 0) return;
    jsonw_open_array(writer, "sensitivity");
    for (uint32_t i = 0; i < influences->count; i++) {
        const WhyInfluence *item = &influences->items[i];
        const CalibValue *value = &plan->inputs.calib.values[item->knob.param];
        jsonw_inline_next(writer);
        jsonw_open_object(writer, NULL);
        jsonw_string(writer, "of", why_vary_name(&item->knob, name));
        jsonw_double(writer, "elasticity_of_tok_per_s_per_gpu", item->tok_s_per_gpu);
        jsonw_double(writer, "elasticity_of_tpot", item->tpot);
        jsonw_double(writer, "elasticity_of_ttft", item->ttft);
        if (item->has_interval) {
            jsonw_double(writer, "value", value->value);
            jsonw_double(writer, "low", value->low);
            jsonw_double(writer, "high", value->high);
            jsonw_double(writer, "tok_per_s_per_gpu_at_low", item->at_low.tok_s_per_gpu);
            jsonw_double(writer, "tok_per_s_per_gpu_at_high", item->at_high.tok_s_per_gpu);
            jsonw_string(writer, "provenance", calib_provenance_names[value->provenance]);
            jsonw_string(writer, "source", value->source);
        }
        jsonw_close_object(writer);
    }
    jsonw_close_array(writer);
}

void explain_vary_write_flips(JsonWriter *writer, const ExplainFlips *flips) {
    char name[WHY_KNOB_TEXT];
    if (flips->count == 0) return;
    jsonw_open_array(writer, "flips");
    for (uint32_t i = 0; i < flips->count; i++) {
        const WhyFlip *flip = &flips->items[i];
        jsonw_inline_next(writer);
        jsonw_open_object(writer, NULL);
        jsonw_string(writer, "of", why_vary_name(&flip->knob, name));
        jsonw_bool(writer, "has_influence", flip->has_influence);
        jsonw_double(writer, "searched_from", flip->low);
        jsonw_double(writer, "searched_to", flip->high);
        if (flip->is_found)
            jsonw_double(writer, "factor", flip->factor);
        else
            jsonw_null(writer, "factor");
        jsonw_close_object(writer);
    }
    jsonw_close_array(writer);
}

static void add_row(Table *csv, const char *section, const char *name, const char *figure,
                    double value) {
    Text number = {0};
    text_add_double(&number, value);
    table_cell(csv, section);
    table_cell(csv, name);
    table_cell(csv, figure);
    table_cell(csv, text_string(&number));
    text_free(&number);
}

void explain_vary_rows_influences(Table *csv, const ExplainInfluences *influences) {
    char buffer[WHY_KNOB_TEXT];
    for (uint32_t i = 0; i < influences->count; i++) {
        const WhyInfluence *item = &influences->items[i];
        const char *name = why_vary_name(&item->knob, buffer);
        add_row(csv, "sensitivity", name, "elasticity_of_tok_per_s_per_gpu", item->tok_s_per_gpu);
        add_row(csv, "sensitivity", name, "elasticity_of_tpot", item->tpot);
        add_row(csv, "sensitivity", name, "elasticity_of_ttft", item->ttft);
    }
}

void explain_vary_rows_flips(Table *csv, const ExplainFlips *flips) {
    char buffer[WHY_KNOB_TEXT];
    for (uint32_t i = 0; i < flips->count; i++)
        if (flips->items[i].is_found)
            add_row(csv, "flip", why_vary_name(&flips->items[i].knob, buffer), "factor",
                    flips->items[i].factor);
}
