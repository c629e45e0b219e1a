// What faults cost a machine, as text and as figures.
//
// Invariant: without faults nothing is printed, so that outputs of whole machines are what they
// were.
#include "sim/commands/degrade.h"

#include <inttypes.h>

#include "model/base/table.h"
#include "model/base/units.h"
#include "model/base/wide.h"
#include "model/machine/topology_degrade.h"

#define FAULTS_SHOWN 8 // more are counted, not listed

bool degrade_topology(const CliArgs *args, Topology *topology, Err *err) {
    const char *faults = cli_text(args, "degrade");
    return faults == NULL || topology_degrade_add(topology, "--degrade", faults, err);
}

bool degrade_measure(const Fabric *fabric, DegradeMachine *out, Err *err) {
    Fabric built = fabric_as_built(fabric);
    DegradeMachine machine;
    if (!fabric_summary_make(fabric, &machine.left, err) ||
        !fabric_loss_find(fabric, &machine.loss, err))
        return false;
    machine.built = machine.left;
    if (fabric_has_faults(fabric) && !fabric_summary_make(&built, &machine.built, err))
        return false;
    *out = machine;
    return true;
}

// ---- For people

void degrade_show_faults(const Topology *topology, Text *out) {
    for (uint32_t i = 0; i < topology->fault_count && i < FAULTS_SHOWN; i++) {
        if (i > 0) text_add(out, ", ");
        fault_write(&topology->faults[i], out);
    }
    if (topology->fault_count > FAULTS_SHOWN)
        text_addf(out, " and %" PRIu32 " more", topology->fault_count - FAULTS_SHOWN);
}

// Whether a NIC is dead, or GPUs reach less of what lies behind theirs.
static bool has_lost_nic(const Fabric *fabric) {
    FabricLoss loss;
    Err ignored = {0};
    if (!fabric_has_faults(fabric) || !fabric_loss_find(fabric, &loss, &ignored)) return false;
    return loss.dead[PART_NIC] > 0 || (loss.out.is_known && loss.out.left_Bps < loss.out.built_Bps);
}

void degrade_add_libraries(const Libraries *libraries, size_t indent, Text *out) {
    for (uint32_t i = 0; i < libraries->count; i++) {
        const Library *library = &libraries->libraries[i];
        Text line = {0};
        text_addf(
            &line,
            "a job of %s that loses a NIC %s: %s; started again, it has what is left%s%s (%s)",
            library->name, library_loss_names[library->lost_nic], library->because,
            *library->unless != '\0' ? "; unless " : "", library->unless, library->source);
        text_add_wrapped(out, text_string(&line), indent, TABLE_NOTE_COLUMNS);
        text_free(&line);
    }
}

void degrade_show_libraries(const Fabric *fabric, const Libraries *libraries, size_t indent,
                            Text *out) {
    if (has_lost_nic(fabric)) degrade_add_libraries(libraries, indent, out);
}

static void add_gpu_cell(Table *table, const Fabric *fabric, uint32_t gpu) {
    Text name = {0};
    fabric_vertex_name(fabric, fabric_gpu(fabric, gpu), &name);
    table_cell(table, text_string(&name));
    text_free(&name);
}

static void add_rate_row(Table *table, const Fabric *fabric, const char *name,
                         const FabricLossRate *rate) {
    char text[UNITS_TEXT_MAX];
    if (!rate->is_known) return;
    table_cell(table, name);
    table_cell(table, units_format_rate(rate->built_Bps, text));
    table_cell(table, units_format_rate(rate->left_Bps, text));
    add_gpu_cell(table, fabric, rate->gpu);
}

static void add_compute_row(Table *table, const Fabric *fabric, const FabricLossCompute *compute) {
    if (compute->count == 0) return;
    table_cell(table, "compute of a GPU");
    table_cell(table, "100 %");
    table_cellf(table, "%.1f %%", 100 * (double)compute->part / compute->whole);
    add_gpu_cell(table, fabric, compute->gpu);
}

static void add_count_row(Table *table, const char *name, uint64_t built, uint64_t left) {
    table_cell(table, name);
    table_cellf(table, "%" PRIu64, built);
    table_cellf(table, "%" PRIu64, left);
    table_cell(table, "");
}

static void add_counts(Table *table, const DegradeMachine *machine) {
    for (uint32_t k = 0; k < PART_KIND_COUNT; k++) {
        uint64_t built = machine->built.count[k];
        if (machine->loss.dead[k] == 0) continue;
        Text name = {0};
        text_addf(&name, "%s parts", topology_kind_names[k]);
        add_count_row(table, text_string(&name), built, built - machine->loss.dead[k]);
        text_free(&name);
    }
    if (machine->loss.links_down > 0)
        add_count_row(table, "links down", 0, machine->loss.links_down);
    if (machine->loss.links_slow > 0)
        add_count_row(table, "links slowed", 0, machine->loss.links_slow);
}

static void add_bisection(Table *table, const DegradeMachine *machine) {
    char text[UNITS_TEXT_MAX];
    if (!machine->built.has_bisection || !machine->left.has_bisection) return;
    table_cell(table, "bisection");
    table_cell(table, units_format_rate(machine->built.bisection_Bps, text));
    table_cell(table, units_format_rate(machine->left.bisection_Bps, text));
    table_cell(table, "");
}

static void add_gpus(const Fabric *fabric, uint32_t first, uint32_t count, Text *out) {
    fabric_vertex_name(fabric, fabric_gpu(fabric, first), out);
    if (count > 1) text_addf(out, " and %" PRIu32 " more", count - 1);
}

static void show_slowest(const Fabric *fabric, const FabricLossCompute *slow, Text *out) {
    if (slow->count == 0) return;
    add_gpus(fabric, slow->gpu, slow->count, out);
    text_addf(out, " compute%s at %.1f %% of %s rates: the groups of a slow GPU wait for it\n",
              slow->count > 1 ? "" : "s", 100 * (double)slow->part / slow->whole,
              slow->count > 1 ? "their" : "its");
}

void degrade_show_worst(const Fabric *fabric, const FabricLoss *loss, Text *out) {
    const char *name;
    const FabricLossRate *worst = fabric_loss_worst(loss, &name);
    char left[UNITS_TEXT_MAX], built[UNITS_TEXT_MAX];
    show_slowest(fabric, &loss->compute, out);
    if (worst == NULL) return;
    add_gpus(fabric, worst->gpu, worst->count, out);
    text_addf(out,
              " keep%s %s of %s %s (%.1f %%): collectives run at the pace of their slowest GPU\n",
              worst->count > 1 ? "" : "s", units_format_rate(worst->left_Bps, left),
              units_format_rate(worst->built_Bps, built), name,
              100 * (double)worst->left_Bps / (double)worst->built_Bps);
}

void degrade_show_machine(const Fabric *fabric, const DegradeMachine *machine, Text *out) {
    Table table = {0};
    if (!fabric_has_faults(fabric)) return;
    text_add(out, "\nfaults    ");
    degrade_show_faults(fabric->topology, out);
    text_add_char(out, '\n');
    table_column(&table, "degraded", TABLE_LEFT);
    table_column(&table, "as built", TABLE_RIGHT);
    table_column(&table, "with faults", TABLE_RIGHT);
    table_column(&table, "least at", TABLE_LEFT);
    add_counts(&table, machine);
    for (uint32_t k = 0; k < LINK_CLASS_COUNT; k++) {
        Text name = {0};
        text_addf(&name, "%s of a GPU", topology_class_names[k]);
        add_rate_row(&table, fabric, text_string(&name), &machine->loss.links[k]);
        text_free(&name);
    }
    add_rate_row(&table, fabric, "a GPU out of its domain", &machine->loss.out);
    add_compute_row(&table, fabric, &machine->loss.compute);
    add_bisection(&table, machine);
    table_print(&table, out);
    table_free(&table);
    degrade_show_worst(fabric, &machine->loss, out);
}

// ---- For programs

static void put_rate(const Figures *to, const char *name, const FabricLossRate *rate) {
    if (!rate->is_known) return;
    figures_put_named(to, name, "_hit_hardest_gpu", rate->gpu);
    figures_put_named(to, name, "_hit_hardest_built_Bps", rate->built_Bps);
    figures_put_named(to, name, "_hit_hardest_left_Bps", rate->left_Bps);
}

void degrade_put_machine(const Figures *to, const Fabric *fabric, const DegradeMachine *machine) {
    const FabricLoss *loss = &machine->loss;
    if (!fabric_has_faults(fabric)) return;
    figures_put(to, "fault_count", fabric->topology->fault_count);
    figures_put(to, "live_gpu_count", fabric_live_gpu_count(fabric));
    for (uint32_t k = 0; k < PART_KIND_COUNT; k++)
        if (loss->dead[k] > 0)
            figures_put_named(to, topology_kind_names[k], "_down", loss->dead[k]);
    figures_put(to, "links_down", loss->links_down);
    figures_put(to, "links_slowed", loss->links_slow);
    for (uint32_t k = 0; k < LINK_CLASS_COUNT; k++)
        put_rate(to, topology_class_names[k], &loss->links[k]);
    put_rate(to, "out_of_domain", &loss->out);
    if (loss->compute.count > 0) {
        figures_put(to, "slowest_gpu", loss->compute.gpu);
        figures_put(to, "slowest_gpu_ppm",
                    wide_mul_div(1000000, loss->compute.part, loss->compute.whole));
    }
    if (machine->built.has_bisection)
        figures_put(to, "bisection_built_Bps", machine->built.bisection_Bps);
}
