// Prints a machine: parts with memory, links by class, the shape of its GPUs, bisection, diameter,
// and the source of every figure.
//
// Invariant: every figure is one of Fabric or FabricSummary; the three formats print the same
// figures, JSON and CSV in full; of a dump JSON is the topology itself, a file to edit.
#include "sim/commands/topo.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/jsonw.h"
#include "model/base/table.h"
#include "model/base/units.h"
#include "model/machine/device.h"
#include "model/machine/fabric.h"
#include "model/machine/fabric_summary.h"
#include "model/machine/topology.h"
#include "sim/commands/degrade.h"
#include "sim/commands/figures.h"
#include "sim/commands/machine_option.h"
#include "sim/commands/output.h"

#define TOPO_JSON_VERSION 1

// All that is printed. Pointers inside point into it: not copied, not moved.
typedef struct Machine {
    DeviceCatalogue catalogue;
    Topology topology;
    Fabric fabric;
    DegradeMachine degraded; // both sides the same without faults
} Machine;

static const char *device_name(const VertexClass *class) {
    return class->device == NULL ? "" : class->device->name;
}

static const char *rule_source(const Topology *topology, const LinkRule *link) {
    return link->source[0] != '\0' ? link->source : topology->source;
}

// ---- For people

static void describe_shape(const Fabric *fabric, Text *out) {
    const FabricShape *shape = &fabric->shape;
    if (!shape->uniform) {
        text_add(out, "irregular: each pair of GPUs is a case of its own");
        return;
    }
    for (uint32_t i = 0; i < shape->digit_count; i++)
        text_addf(out, "%s%" PRIu32, i == 0 ? "" : " x ", shape->size[i]);
    text_add(out, shape->digit_count == 1 ? ", all pairs of GPUs alike"
                                          : ", pairs alike that differ in the same digits");
}

static void show_head(const Machine *machine, Text *out) {
    const Fabric *fabric = &machine->fabric;
    char digest[17], time[UNITS_TEXT_MAX];
    text_addf(out, "machine   %s, digest %s\n", machine->topology.name,
              hash_format(machine->topology.digest, digest));
    if (machine->topology.source[0] != '\0')
        text_addf(out, "source    %s\n", machine->topology.source);
    output_topology_note(&machine->topology, 10, out);
    text_addf(out,
              "gpus      %" PRIu32 ", scale-up domain of %" PRIu32 ", node of %" PRIu32
              "\nshape     ",
              fabric->gpu_count, fabric->domain_size, fabric->node_size);
    describe_shape(fabric, out);
    if (fabric_has_faults(fabric)) text_add(out, ", as built");
    if (machine->degraded.left.has_diameter) {
        text_addf(out, "\ndiameter  %" PRIu32 " links, %s", machine->degraded.left.diameter_hops,
                  units_format_time(machine->degraded.left.diameter_ps, time));
    }
    text_add_char(out, '\n');
}

static void add_memory_cells(Table *table, const VertexClass *class) {
    char each[UNITS_TEXT_MAX], all[UNITS_TEXT_MAX];
    bool has_memory = class->memory_B != 0;
    table_cell(table, has_memory ? units_format_bytes(class->memory_B, each) : "");
    table_cell(table, has_memory ? units_format_bytes(class->memory_B * class->count, all) : "");
}

static void show_parts(const Machine *machine, Text *out) {
    Table table = {0};
    table_column(&table, "part", TABLE_LEFT);
    table_column(&table, "kind", TABLE_LEFT);
    table_column(&table, "device", TABLE_LEFT);
    table_column(&table, "count", TABLE_RIGHT);
    table_column(&table, "memory each", TABLE_RIGHT);
    table_column(&table, "memory", TABLE_RIGHT);
    for (uint32_t i = 0; i < machine->fabric.class_count; i++) {
        const VertexClass *class = &machine->fabric.classes[i];
        table_cell(&table, class->name);
        table_cell(&table, topology_kind_names[class->kind]);
        table_cell(&table, device_name(class));
        table_cellf(&table, "%" PRIu32, class->count);
        add_memory_cells(&table, class);
    }
    table_print(&table, out);
    table_free(&table);
}

static void add_range_cell(Table *table, Range range) {
    char low[UNITS_TEXT_MAX], high[UNITS_TEXT_MAX];
    if (range.high == 0) {
        table_cell(table, "");
    } else if (range.low == range.high) {
        table_cell(table, units_format_rate(range.low, low));
    } else {
        table_cellf(table, "%s to %s", units_format_rate(range.low, low),
                    units_format_rate(range.high, high));
    }
}

static void show_classes(const Machine *machine, Text *out) {
    const FabricSummary *summary = &machine->degraded.left;
    Table table = {0};
    char rate[UNITS_TEXT_MAX];
    table_column(&table, "link class", TABLE_LEFT);
    table_column(&table, "cables", TABLE_RIGHT);
    table_column(&table, "out of a GPU", TABLE_RIGHT);
    table_column(&table, "bisection", TABLE_RIGHT);
    for (uint32_t k = 0; k < LINK_CLASS_COUNT; k++) {
        if (summary->cables[k] == 0) continue;
        uint64_t bisection = summary->bisection_by_class[k];
        table_cell(&table, topology_class_names[k]);
        table_cellf(&table, "%" PRIu64, summary->cables[k]);
        add_range_cell(&table, summary->gpu_Bps[k]);
        table_cell(&table, bisection == 0 ? "" : units_format_rate(bisection, rate));
    }
    if (summary->has_bisection) {
        table_cell(&table, "all");
        table_cell(&table, "");
        table_cell(&table, "");
        table_cell(&table, units_format_rate(summary->bisection_Bps, rate));
    }
    table_print(&table, out);
    table_free(&table);
    text_add(out, "bandwidth is per direction; ib and eth of a GPU are its share of all NICs\n");
}

static void show_links(const Machine *machine, Text *out) {
    Table table = {0};
    static const char *const headers[] = {"from",      "to",      "class",      "cables",
                                          "bandwidth", "latency", "confidence", "source"};
    for (uint32_t i = 0; i < 8; i++)
        table_column(&table, headers[i], i >= 3 && i <= 5 ? TABLE_RIGHT : TABLE_LEFT);
    for (uint32_t i = 0; i < machine->topology.template_count; i++) {
        const Template *in = &machine->topology.templates[i];
        for (uint32_t k = 0; k < in->link_count; k++) {
            const LinkRule *link = &in->links[k];
            char rate[UNITS_TEXT_MAX], time[UNITS_TEXT_MAX];
            table_cellf(&table, "%s: %s", in->name, link->from);
            table_cell(&table, link->to);
            table_cell(&table, topology_class_names[link->link_class]);
            table_cellf(&table, "%" PRIu32, link->cables);
            table_cell(&table, units_format_rate(link->bandwidth_Bps, rate));
            table_cell(&table, units_format_time(link->latency_ps, time));
            table_cellf(&table, "%c", link->confidence);
            table_cell(&table, rule_source(&machine->topology, link));
        }
    }
    table_print(&table, out);
    table_free(&table);
    text_add(out, "confidence: A vendor or source code, B third party, C derived, M no source\n");
}

static void show_devices(const Machine *machine, Text *out) {
    Table table = {0};
    static const char *const headers[] = {"device", "confidence", "source", "note"};
    for (uint32_t i = 0; i < 4; i++) table_column(&table, headers[i], TABLE_LEFT);
    for (uint32_t i = 0; i < machine->catalogue.count; i++) {
        const Device *device = &machine->catalogue.devices[i];
        bool is_used = false;
        for (uint32_t k = 0; k < machine->fabric.class_count; k++) {
            if (machine->fabric.classes[k].device == device) is_used = true;
        }
        if (!is_used) continue;
        table_cell(&table, device->name);
        table_cellf(&table, "%c", device->confidence);
        table_cell(&table, device->source);
        table_cell(&table, device->note);
    }
    table_print(&table, out);
    table_free(&table);
}

static void show_text(const Machine *machine, Text *out) {
    show_head(machine, out);
    degrade_show_machine(&machine->fabric, &machine->degraded, out);
    text_add_char(out, '\n');
    show_parts(machine, out);
    text_add_char(out, '\n');
    show_classes(machine, out);
    text_add_char(out, '\n');
    show_links(machine, out);
    text_add_char(out, '\n');
    show_devices(machine, out);
}

// ---- For programs

static void put_classes(const Figures *to, const FabricSummary *summary) {
    for (uint32_t k = 0; k < LINK_CLASS_COUNT; k++) {
        if (summary->cables[k] == 0) continue;
        const char *name = topology_class_names[k];
        figures_put_named(to, name, "_cables", summary->cables[k]);
        figures_put_named(to, name, "_per_gpu_least_Bps", summary->gpu_Bps[k].low);
        figures_put_named(to, name, "_per_gpu_most_Bps", summary->gpu_Bps[k].high);
        if (summary->has_bisection)
            figures_put_named(to, name, "_bisection_Bps", summary->bisection_by_class[k]);
    }
}

static void put_figures(const Figures *to, const Machine *machine) {
    const Fabric *fabric = &machine->fabric;
    const FabricSummary *summary = &machine->degraded.left;
    for (uint32_t k = 0; k < PART_KIND_COUNT; k++) {
        if (summary->count[k] == 0) continue;
        figures_put_named(to, topology_kind_names[k], "_count", summary->count[k]);
        if (summary->memory_B[k] == 0) continue;
        const char *suffix = k == PART_MEMORY || k == PART_STORAGE ? "_B" : "_memory_B";
        figures_put_named(to, topology_kind_names[k], suffix, summary->memory_B[k]);
    }
    figures_put(to, "domain_gpus", fabric->domain_size);
    figures_put(to, "node_gpus", fabric->node_size);
    degrade_put_machine(to, fabric, &machine->degraded);
    put_classes(to, summary);
    if (summary->has_bisection) figures_put(to, "bisection_Bps", summary->bisection_Bps);
    if (!summary->has_diameter) return;
    figures_put(to, "diameter_links", summary->diameter_hops);
    figures_put(to, "diameter_ps", (uint64_t)summary->diameter_ps);
}

static void show_csv(const Machine *machine, Text *out) {
    Table table = {0};
    figures_columns(&table);
    figures_put(&(Figures){.csv = &table}, "uniform", machine->fabric.shape.uniform);
    put_figures(&(Figures){.csv = &table}, machine);
    table_print_csv(&table, out);
    table_free(&table);
}

static void write_parts(JsonWriter *w, const Fabric *fabric) {
    jsonw_open_array(w, "parts");
    for (uint32_t i = 0; i < fabric->class_count; i++) {
        const VertexClass *class = &fabric->classes[i];
        jsonw_inline_next(w);
        jsonw_open_object(w, NULL);
        jsonw_string(w, "part", class->name);
        jsonw_string(w, "kind", topology_kind_names[class->kind]);
        jsonw_string(w, "device", device_name(class));
        jsonw_u64(w, "count", class->count);
        jsonw_u64(w, "memory_B", class->memory_B);
        jsonw_close_object(w);
    }
    jsonw_close_array(w);
}

static void write_link(JsonWriter *w, const Topology *topology, const Template *in,
                       const LinkRule *link) {
    char confidence[2] = {link->confidence, '\0'};
    jsonw_inline_next(w);
    jsonw_open_object(w, NULL);
    jsonw_string(w, "template", in->name);
    jsonw_string(w, "from", link->from);
    jsonw_string(w, "to", link->to);
    jsonw_string(w, "class", topology_class_names[link->link_class]);
    jsonw_u64(w, "cables", link->cables);
    jsonw_u64(w, "cable_Bps", link->bandwidth_Bps);
    jsonw_i64(w, "latency_ps", link->latency_ps);
    jsonw_string(w, "confidence", confidence);
    jsonw_string(w, "source", rule_source(topology, link));
    jsonw_close_object(w);
}

static void write_faults(JsonWriter *w, const Topology *topology) {
    if (topology->fault_count == 0) return;
    jsonw_open_array(w, "faults");
    for (uint32_t i = 0; i < topology->fault_count; i++) {
        Text text = {0};
        fault_write(&topology->faults[i], &text);
        jsonw_inline_next(w);
        jsonw_open_object(w, NULL);
        jsonw_string(w, "fault", text_string(&text));
        jsonw_string(w, "source", topology->faults[i].source);
        jsonw_close_object(w);
        text_free(&text);
    }
    jsonw_close_array(w);
}

static void write_links(JsonWriter *w, const Topology *topology) {
    jsonw_open_array(w, "links");
    for (uint32_t i = 0; i < topology->template_count; i++) {
        const Template *in = &topology->templates[i];
        for (uint32_t k = 0; k < in->link_count; k++) write_link(w, topology, in, &in->links[k]);
    }
    jsonw_close_array(w);
}

static void show_json(const Machine *machine, Text *out) {
    if (machine->topology.is_import) { // to be edited, and read again
        topology_write(&machine->topology, out);
        return;
    }
    JsonWriter w = {.text = out};
    const FabricShape *shape = &machine->fabric.shape;
    jsonw_open_object(&w, NULL);
    jsonw_string(&w, "moesim", "machine");
    jsonw_u64(&w, "version", TOPO_JSON_VERSION);
    jsonw_string(&w, "name", machine->topology.name);
    jsonw_string(&w, "source", machine->topology.source);
    jsonw_digest(&w, "digest", machine->topology.digest);
    jsonw_digest(&w, "devices_digest", machine->catalogue.digest);
    jsonw_bool(&w, "uniform", shape->uniform);
    jsonw_inline_next(&w);
    jsonw_open_array(&w, "shape");
    for (uint32_t i = 0; i < shape->digit_count; i++) jsonw_u64(&w, NULL, shape->size[i]);
    jsonw_close_array(&w);
    put_figures(&(Figures){.json = &w}, machine);
    write_parts(&w, &machine->fabric);
    write_links(&w, &machine->topology);
    write_faults(&w, &machine->topology);
    jsonw_close_object(&w);
    jsonw_finish(&w);
}

static bool load(const CliArgs *args, Machine *machine, Err *err) {
    return device_load(&machine->catalogue, err) &&
           machine_option_load(args, args->operands[0], &machine->catalogue, &machine->topology,
                               err) &&
           fabric_build(&machine->topology, &machine->catalogue, &machine->fabric, err) &&
           degrade_measure(&machine->fabric, &machine->degraded, err);
}

int topo_command(const CliArgs *args) {
    Machine machine = {0};
    Err err = {0};
    Text out = {0};
    bool good = load(args, &machine, &err);
    if (good) {
        static void (*const show[])(const Machine *, Text *) = {show_text, show_json, show_csv};
        show[cli_choice(args, "format")](&machine, &out);
    }
    fabric_free(&machine.fabric);
    topology_free(&machine.topology);
    device_free(&machine.catalogue);
    return good ? output_text(&out, OUTPUT_OK) : output_bad(&err);
}
