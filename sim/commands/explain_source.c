// Sources, as the files state them.
//
// Invariant: a number of the explanation is one of these, or is computed from them alone.
#include "sim/commands/explain_source.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/table.h"
#include "model/machine/fabric_rule.h"
#include "sim/commands/output.h"

// ---- Constants

// Those of a tier have a part in the time of its links.
static bool governs(const EvaluateParts *cycle, CalibParam param) {
    if (calib_kind(param) == CALIB_IS_PLAIN)
        return cycle->part_s[CALIB_IB] > 0 || cycle->part_s[CALIB_ETH] > 0;
    return cycle->part_s[param] > 0;
}

static void add_constant(Table *table, CalibParam param, double value) {
    char text[UNITS_TEXT_MAX], number[OUTPUT_NUMBER_MAX];
    bool is_time = calib_kind(param) == CALIB_IS_TIME;
    table_cell(table, is_time ? explain_plan_time(value, text) : output_number(value, number));
}

void explain_source_constants(const ExplainPlan *plan, Text *out) {
    Table table = {0};
    table_column(&table, "constant", TABLE_LEFT);
    table_column(&table, "value", TABLE_RIGHT);
    table_column(&table, "low", TABLE_RIGHT);
    table_column(&table, "high", TABLE_RIGHT);
    table_column(&table, "confidence", TABLE_LEFT);
    for (uint32_t i = 0; i < CALIB_COUNT; i++) {
        if (!governs(&plan->evaluation.cycle, (CalibParam)i)) continue;
        const CalibValue *value = &plan->inputs.calib.values[i];
        table_cell(&table, calib_param_names[i]);
        add_constant(&table, (CalibParam)i, value->value);
        add_constant(&table, (CalibParam)i, value->low);
        add_constant(&table, (CalibParam)i, value->high);
        table_cellf(&table, "%s%s", calib_provenance_names[value->provenance],
                    value->is_default_interval ? ", x/1.5 .. x1.5" : "");
        table_note(&table, value->source);
    }
    text_add_char(out, '\n');
    table_print(&table, out);
    table_free(&table);
}

// ---- Links

static const char *source_of(const Fabric *fabric, const LinkRule *link) {
    return *link->source == '\0' ? fabric->topology->source : link->source;
}

// A rule that says the same of links as one before it adds nothing.
static bool is_new(const Fabric *fabric, uint32_t at) {
    const LinkRule *link = fabric->rules[at].link;
    for (uint32_t i = 0; i < at; i++) {
        const LinkRule *other = fabric->rules[i].link;
        if (other->link_class == link->link_class && other->cables == link->cables &&
            other->bandwidth_Bps == link->bandwidth_Bps && other->latency_ps == link->latency_ps &&
            strcmp(source_of(fabric, other), source_of(fabric, link)) == 0)
            return false;
    }
    return true;
}

static bool carries(const ExplainPlan *plan, const LinkRule *link) {
    return plan->step.phase->timeline.links[link->link_class].bytes > 0;
}

static void show_links(const ExplainPlan *plan, Text *out) {
    const Fabric *fabric = &plan->inputs.fabric;
    Table table = {0};
    char text[UNITS_TEXT_MAX];
    table_column(&table, "link", TABLE_LEFT);
    table_column(&table, "cables", TABLE_RIGHT);
    table_column(&table, "rate of each", TABLE_RIGHT);
    table_column(&table, "latency", TABLE_RIGHT);
    table_column(&table, "from", TABLE_LEFT);
    table_column(&table, "to", TABLE_LEFT);
    table_column(&table, "confidence", TABLE_LEFT);
    for (uint32_t i = 0; i < fabric->rule_count; i++) {
        const LinkRule *link = fabric->rules[i].link;
        if (!carries(plan, link) || !is_new(fabric, i)) continue;
        table_cell(&table, topology_class_names[link->link_class]);
        table_cellf(&table, "%" PRIu32, link->cables);
        table_cell(&table, units_format_rate(link->bandwidth_Bps, text));
        table_cell(&table, units_format_time(link->latency_ps, text));
        table_cell(&table, link->from);
        table_cell(&table, link->to);
        table_cellf(&table, "%c", link->confidence);
        table_note(&table, source_of(fabric, link));
    }
    if (table.cell_count > 0) {
        text_add_char(out, '\n');
        table_print(&table, out);
    }
    table_free(&table);
}

// ---- Device

static void show_device(const ExplainPlan *plan, Text *out) {
    const Device *device = plan->inputs.device;
    char text[UNITS_TEXT_MAX], number[OUTPUT_NUMBER_MAX];
    Text line = {0};
    text_addf(&line, "device %s: %s", device->name,
              units_format_bytes(device_low(device->memory_B), text));
    text_addf(&line, ", %s", units_format_rate(device_low(device->memory_Bps), text));
    for (uint32_t i = 0; i < NUMFMT_COUNT; i++) {
        double rate = (double)device_low(device->rate_flops[i]);
        if (rate > 0)
            text_addf(&line, ", %s Tflop/s in %s", output_number(rate / 1e12, number),
                      numfmt_name((NumFmt)i));
    }
    text_addf(&line, " (confidence %c): %s", device->confidence, device->source);
    text_add_char(out, '\n');
    text_add_wrapped(out, text_string(&line), 0, TABLE_NOTE_COLUMNS);
    text_free(&line);
}

void explain_source_machine(const ExplainPlan *plan, Text *out) {
    show_links(plan, out);
    show_device(plan, out);
}

// ---- Model

// Sizes of a kind, without those that it does not have.
typedef struct Size {
    const char *name;
    uint64_t value;
} Size;

static void add_sizes(const Size *sizes, size_t count, Text *line) {
    for (size_t i = 0; i < count; i++)
        if (sizes[i].value > 0) text_addf(line, ", %s %" PRIu64, sizes[i].name, sizes[i].value);
}

static void add_attention(const Arch *arch, uint32_t index, Text *line) {
    const AttentionSpec *spec = &arch->attentions[index];
    const Size sizes[] = {{"heads", spec->heads},
                          {"KV heads", spec->kv_heads},
                          {"head", spec->head_dim},
                          {"value", spec->value_dim},
                          {"q latent", spec->q_lora},
                          {"kv latent", spec->kv_lora},
                          {"rope", spec->rope},
                          {"state", spec->state_dim},
                          {"window", spec->window},
                          {"index top-k", spec->index_top_k},
                          {"KV elements of a token", spec->kv_elements_per_token}};
    text_addf(line, "; attention %s", arch_attention_names[spec->kind]);
    add_sizes(sizes, sizeof sizes / sizeof *sizes, line);
}

static void add_mlp(const Arch *arch, uint32_t index, Text *line) {
    const MlpSpec *spec = &arch->mlps[index];
    const Size sizes[] = {{"experts", spec->experts},
                          {"of a token", spec->top_k},
                          {"width", spec->width},
                          {"shared width", spec->shared_width},
                          {"latent", spec->latent}};
    text_addf(line, "; %s", spec->experts > 0 ? "moe" : "dense");
    add_sizes(sizes, sizeof sizes / sizeof *sizes, line);
}

static void add_model(const ExplainPlan *plan, Text *line) {
    const Arch *arch = &plan->inputs.arch;
    text_addf(line,
              "sizes from the model config %s (family %s): hidden %" PRIu32 ", layers %" PRIu32
              ", vocabulary %" PRIu32,
              plan->inputs.arch_files.name, arch->family, arch->hidden, arch->layers, arch->vocab);
    for (uint32_t i = 0; i < arch->attention_count; i++) add_attention(arch, i, line);
    for (uint32_t i = 0; i < arch->mlp_count; i++) add_mlp(arch, i, line);
    if (*plan->inputs.assume != '\0') text_addf(line, "; assumed %s", plan->inputs.assume);
}

void explain_source_model(const ExplainPlan *plan, Text *out) {
    Text line = {0};
    add_model(plan, &line);
    text_add_char(out, '\n');
    text_add_wrapped(out, text_string(&line), 0, TABLE_NOTE_COLUMNS);
    text_free(&line);
}

// ---- For programs

static void write_constants(JsonWriter *writer, const ExplainPlan *plan) {
    jsonw_open_array(writer, "constants");
    for (uint32_t i = 0; i < CALIB_COUNT; i++) {
        const CalibValue *value = &plan->inputs.calib.values[i];
        if (!governs(&plan->evaluation.cycle, (CalibParam)i)) continue;
        jsonw_inline_next(writer);
        jsonw_open_object(writer, NULL);
        jsonw_string(writer, "constant", calib_param_names[i]);
        jsonw_double(writer, "value", value->value);
        jsonw_double(writer, "low", value->low);
        jsonw_double(writer, "high", value->high);
        jsonw_string(writer, "provenance", calib_provenance_names[value->provenance]);
        jsonw_string(writer, "source", value->source);
        jsonw_close_object(writer);
    }
    jsonw_close_array(writer);
}

void explain_source_write(JsonWriter *writer, const ExplainPlan *plan) {
    const Fabric *fabric = &plan->inputs.fabric;
    Text line = {0};
    write_constants(writer, plan);
    jsonw_open_array(writer, "link_rates");
    for (uint32_t i = 0; i < fabric->rule_count; i++) {
        const LinkRule *link = fabric->rules[i].link;
        if (!carries(plan, link) || !is_new(fabric, i)) continue;
        jsonw_inline_next(writer);
        jsonw_open_object(writer, NULL);
        jsonw_string(writer, "class", topology_class_names[link->link_class]);
        jsonw_u64(writer, "cables", link->cables);
        jsonw_u64(writer, "bandwidth_B_per_s", link->bandwidth_Bps);
        jsonw_double(writer, "latency_s", units_seconds(link->latency_ps));
        jsonw_string(writer, "source", source_of(fabric, link));
        jsonw_close_object(writer);
    }
    jsonw_close_array(writer);
    jsonw_string(writer, "device", plan->inputs.device->name);
    jsonw_string(writer, "device_source", plan->inputs.device->source);
    add_model(plan, &line);
    jsonw_string(writer, "sizes", text_string(&line));
    text_free(&line);
}
