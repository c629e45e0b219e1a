// Prints what tenants cost each other. Tenants are numbered from 1 in the order of the command
// line.
#include "sim/commands/tenants_show.h"

#include <inttypes.h>
#include <stdio.h>

#include "model/base/jsonw.h"
#include "model/base/table.h"
#include "model/base/units.h"
#include "sim/commands/output.h"
#include "sim/net.h"

#define LINKS_SHOWN 12

static uint32_t ranks_of(const TenantsAnswer *answer, uint32_t t) {
    return pool_ranks(&answer->inputs->tenants[t].plan.pools[0]);
}

static uint32_t first_of(const TenantsAnswer *answer, uint32_t t) {
    return answer->inputs->tenants[t].plan.pools[0].first_gpu;
}

static void add_range(Text *out, uint32_t first, uint32_t count) {
    if (count == 1)
        text_addf(out, "%" PRIu32, first);
    else
        text_addf(out, "%" PRIu32 "-%" PRIu32, first, first + count - 1);
}

// "+3.21 %"; 0 is written so when the times are equal to the picosecond, and only then.
static void add_percent(Table *table, const TenantTime *time) {
    char number[OUTPUT_NUMBER_MAX];
    double percent = tenants_slowdown(time);
    if (time->shared_ps == time->alone_ps)
        table_cell(table, "0");
    else
        table_cellf(table, "%s%s %%", percent > 0 ? "+" : "", output_number(percent, number));
}

// ---- For people

static void show_inputs(const TenantsAnswer *answer, Text *out) {
    const TenantsInputs *in = answer->inputs;
    char label[PLAN_TEXT_MAX];
    text_addf(out, "machine    %s, %" PRIu32 " GPUs, %s\n", in->topology.name, in->fabric.gpu_count,
              in->model.device->name);
    for (uint32_t t = 0; t < in->count; t++) {
        const Tenant *tenant = &in->tenants[t];
        text_addf(out, "tenant %-3" PRIu32 " %s: %s on GPU ", t + 1, tenant->name,
                  plan_label(&tenant->plan, label));
        add_range(out, first_of(answer, t), ranks_of(answer, t));
        text_addf(out, ", %s, ISL %" PRIu64 ", OSL %" PRIu64, tenant->arch->name,
                  tenant->scenario->isl, tenant->scenario->osl);
        if (in->files[t].default_scenario)
            text_addf(out, " (%s, as the plan names no scenario)", in->files[t].scenario_name);
        text_addf(out, ", %" PRIu64 " sequence%s on an attention-DP rank and micro-batch\n",
                  tenant->sequences, tenant->sequences == 1 ? "" : "s");
    }
}

static void show_parts(const TenantsAnswer *answer, TenantPart kind, Text *out) {
    const TenantParts *parts = &answer->proof.parts[kind];
    if (parts->used == 0) {
        text_addf(out, "           %s: the machine names none near them\n",
                  tenant_proof_part_names[kind]);
        return;
    }
    text_addf(out, "           %s: %" PRIu32 " near them, ", tenant_proof_part_names[kind],
              parts->used);
    if (parts->shared == 0) {
        text_add(out, "none near two tenants\n");
        return;
    }
    text_addf(out, "%" PRIu32 " shared, the first is ", parts->shared);
    fabric_vertex_name(&answer->inputs->fabric, parts->first, out);
    text_addf(out, " of tenants %" PRIu32 " and %" PRIu32 "%s\n", parts->a + 1, parts->b + 1,
              kind == TENANT_PART_POOLED ? "; no plan puts anything there" : "");
}

static void show_proof(const TenantsAnswer *answer, Text *out) {
    text_addf(out,
              "proof      %" PRIu32
              " GPUs, looked at one by one: each, with its memory, belongs to "
              "one tenant\n",
              answer->proof.gpus);
    for (uint32_t i = 0; i < TENANT_PART_COUNT; i++)
        if (i != TENANT_PART_POOLED || answer->proof.parts[i].used > 0)
            show_parts(answer, (TenantPart)i, out);
}

static void add_time(Table *table, uint32_t t, const char *what, const TenantTime *time) {
    char text[UNITS_TEXT_MAX];
    const Time times[] = {time->alone_ps, time->shared_ps, time->least_ps, time->most_ps};
    table_cellf(table, "%" PRIu32, t + 1);
    table_cell(table, what);
    for (size_t i = 0; i < 2; i++) table_cell(table, units_format_time(times[i], text));
    add_percent(table, time);
    for (size_t i = 2; i < 4; i++) table_cell(table, units_format_time(times[i], text));
}

static void show_times(const TenantsAnswer *answer, Text *out) {
    static const char *const headers[] = {"alone", "shared", "slowdown", "least", "most"};
    Table table = {0};
    table_column(&table, "tenant", TABLE_RIGHT);
    table_column(&table, "time", TABLE_LEFT);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        table_column(&table, headers[i], TABLE_RIGHT);
    for (uint32_t t = 0; t < answer->inputs->count; t++) {
        add_time(&table, t, "TPOT", &answer->result.times[t].tpot);
        add_time(&table, t, "TTFT", &answer->result.times[t].ttft);
    }
    text_add_char(out, '\n');
    table_print(&table, out);
    table_free(&table);
    text_addf(out,
              "each beside the decode steps of the others, back to back; mean, least and most over "
              "%d offsets of theirs with %d steps each (TTFT: until %d of their steps were seen); "
              "%s, %" PRIu64 " simulations\n",
              TENANTS_OFFSETS, TENANTS_STEPS, TENANTS_PROMPT_STEPS,
              answer->result.form == SIM_FOLDED    ? "folded"
              : answer->result.form == SIM_REFINED ? "refined"
                                                   : "expanded",
              answer->result.runs);
}

static void add_link(const TenantsAnswer *answer, const TenantLink *link, Table *table) {
    const Fabric *fabric = &answer->inputs->fabric;
    FabricLink ends = fabric_link(fabric, link->link);
    char number[OUTPUT_NUMBER_MAX], rate[UNITS_TEXT_MAX];
    Text name = {0};
    net_name_link(fabric, ends.from, ends.to, &name);
    table_cell(table, topology_class_names[link->link_class]);
    table_cell(table, text_string(&name));
    table_cellf(table, "%" PRIu64, link->links);
    table_cell(table, units_format_rate(link->capacity_Bps, rate));
    for (uint32_t t = 0; t < answer->inputs->count; t++)
        table_cellf(table, "%s %%", output_number(100 * link->share[t], number));
    table_cellf(table, "%s %%", output_number(100 * link->total, number));
    text_free(&name);
}

static void show_links(const TenantsAnswer *answer, Text *out) {
    const TenantsResult *result = &answer->result;
    Table table = {0};
    if (result->link_count == 0) {
        text_add(out, "\nno link carries bytes of two tenants\n");
        return;
    }
    table_column(&table, "contested", TABLE_LEFT);
    table_column(&table, "first link", TABLE_LEFT);
    table_column(&table, "links", TABLE_RIGHT);
    table_column(&table, "capacity", TABLE_RIGHT);
    for (uint32_t t = 0; t < answer->inputs->count; t++) {
        char header[32];
        snprintf(header, sizeof header, "tenant %" PRIu32, t + 1);
        table_column(&table, header, TABLE_RIGHT);
    }
    table_column(&table, "together", TABLE_RIGHT);
    for (uint32_t i = 0; i < result->link_count && i < LINKS_SHOWN; i++)
        add_link(answer, &result->links[i], &table);
    text_add_char(out, '\n');
    table_print(&table, out);
    table_free(&table);
    if (result->link_count > LINKS_SHOWN)
        text_addf(out, "and %" PRIu32 " more kinds of links (--format json has all)\n",
                  result->link_count - LINKS_SHOWN);
    text_add(out, "part of a link's capacity that the decode of a tenant takes on average when it "
                  "is alone\n");
}

static void show_best(const TenantsAnswer *answer, Text *out) {
    const TenantsPlaces *places = &answer->places;
    char number[OUTPUT_NUMBER_MAX];
    text_addf(out, "best       decode steps %s %% shorter on average: --at ",
              output_number(100 * (1 - places->cost), number));
    for (uint32_t t = 0; t < answer->inputs->count; t++)
        text_addf(out, "%s%" PRIu32, t == 0 ? "" : ",", places->first_gpu[t]);
    text_add_char(out, '\n');
    for (uint32_t t = 0; t < answer->inputs->count; t++) {
        char alone[UNITS_TEXT_MAX], shared[UNITS_TEXT_MAX];
        const TenantTime *tpot = &places->best.times[t].tpot;
        text_addf(out, "           tenant %" PRIu32 " on GPU ", t + 1);
        add_range(out, places->first_gpu[t], ranks_of(answer, t));
        text_addf(out, ": TPOT %s, alone %s\n", units_format_time(tpot->shared_ps, shared),
                  units_format_time(tpot->alone_ps, alone));
    }
}

static void show_places(const TenantsAnswer *answer, Text *out) {
    const TenantsPlaces *places = &answer->places;
    if (answer->inputs->count < 2 || places->cost <= 0) return;
    text_addf(out, "\nplaces     %" PRIu32 " other%s simulated", places->tried,
              places->tried == 1 ? "" : "s");
    if (places->refused > 0)
        text_addf(out, ", %" PRIu32 " would share a host memory", places->refused);
    if (places->failed > 0) text_addf(out, ", %" PRIu32 " cannot be simulated", places->failed);
    if (places->left > 0)
        text_addf(out, ", %" PRIu32 " not looked at (--placements)", places->left);
    text_add_char(out, '\n');
    if (places->cost < 1)
        show_best(answer, out);
    else
        text_add(out, "best       the given one\n");
}

void tenants_show_text(const TenantsAnswer *answer, Text *out) {
    show_inputs(answer, out);
    show_proof(answer, out);
    show_times(answer, out);
    show_links(answer, out);
    show_places(answer, out);
}

// ---- For programs

void tenants_show_csv(const TenantsAnswer *answer, Text *out) {
    static const char *const headers[] = {"tenant", "plan", "first_gpu", "gpus"};
    static const char *const figures[] = {"alone_s", "shared_s", "slowdown_percent", "least_s",
                                          "most_s"};
    Table table = {0};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        table_column(&table, headers[i], TABLE_LEFT);
    for (size_t i = 0; i < 2 * sizeof figures / sizeof *figures; i++) {
        char name[64];
        size_t count = sizeof figures / sizeof *figures;
        snprintf(name, sizeof name, "%s_%s", i < count ? "tpot" : "ttft", figures[i % count]);
        table_column(&table, name, TABLE_LEFT);
    }
    for (uint32_t t = 0; t < answer->inputs->count; t++) {
        const TenantTimes *times = &answer->result.times[t];
        table_cellf(&table, "%" PRIu32, t + 1);
        table_cell(&table, answer->inputs->tenants[t].name);
        table_cellf(&table, "%" PRIu32, first_of(answer, t));
        table_cellf(&table, "%" PRIu32, ranks_of(answer, t));
        for (uint32_t k = 0; k < 2; k++) {
            const TenantTime *time = k == 0 ? &times->tpot : &times->ttft;
            const double values[] = {units_seconds(time->alone_ps), units_seconds(time->shared_ps),
                                     tenants_slowdown(time), units_seconds(time->least_ps),
                                     units_seconds(time->most_ps)};
            for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
                Text number = {0};
                text_add_double(&number, values[i]);
                table_cell(&table, text_string(&number));
                text_free(&number);
            }
        }
    }
    table_print_csv(&table, out);
    table_free(&table);
}

static void write_time(JsonWriter *w, const char *key, const TenantTime *time) {
    jsonw_open_object(w, key);
    jsonw_double(w, "alone_s", units_seconds(time->alone_ps));
    jsonw_double(w, "shared_s", units_seconds(time->shared_ps));
    jsonw_double(w, "slowdown_percent", tenants_slowdown(time));
    jsonw_double(w, "least_s", units_seconds(time->least_ps));
    jsonw_double(w, "most_s", units_seconds(time->most_ps));
    jsonw_close_object(w);
}

static void write_tenants(JsonWriter *w, const TenantsAnswer *answer) {
    char label[PLAN_TEXT_MAX];
    jsonw_open_array(w, "tenants");
    for (uint32_t t = 0; t < answer->inputs->count; t++) {
        const Tenant *tenant = &answer->inputs->tenants[t];
        jsonw_open_object(w, NULL);
        jsonw_string(w, "file", tenant->name);
        jsonw_string(w, "plan", plan_label(&tenant->plan, label));
        jsonw_string(w, "model", tenant->arch->name);
        jsonw_u64(w, "first_gpu", first_of(answer, t));
        jsonw_u64(w, "gpus", ranks_of(answer, t));
        jsonw_u64(w, "sequences_per_rank_and_micro_batch", tenant->sequences);
        write_time(w, "tpot", &answer->result.times[t].tpot);
        write_time(w, "ttft", &answer->result.times[t].ttft);
        jsonw_close_object(w);
    }
    jsonw_close_array(w);
}

static void write_proof(JsonWriter *w, const TenantsAnswer *answer) {
    jsonw_open_object(w, "proof");
    jsonw_u64(w, "gpus_of_one_tenant", answer->proof.gpus);
    jsonw_open_array(w, "parts_near_tenants");
    for (uint32_t i = 0; i < TENANT_PART_COUNT; i++) {
        const TenantParts *parts = &answer->proof.parts[i];
        jsonw_open_object(w, NULL);
        jsonw_string(w, "kind", tenant_proof_part_names[i]);
        jsonw_u64(w, "count", parts->used);
        jsonw_u64(w, "shared", parts->shared);
        jsonw_close_object(w);
    }
    jsonw_close_array(w);
    jsonw_close_object(w);
}

static void write_links(JsonWriter *w, const TenantsAnswer *answer) {
    const Fabric *fabric = &answer->inputs->fabric;
    jsonw_open_array(w, "contested_links");
    for (uint32_t i = 0; i < answer->result.link_count; i++) {
        const TenantLink *link = &answer->result.links[i];
        FabricLink ends = fabric_link(fabric, link->link);
        Text name = {0};
        net_name_link(fabric, ends.from, ends.to, &name);
        jsonw_open_object(w, NULL);
        jsonw_string(w, "class", topology_class_names[link->link_class]);
        jsonw_string(w, "first", text_string(&name));
        jsonw_u64(w, "links", link->links);
        jsonw_rate(w, "capacity", link->capacity_Bps);
        jsonw_open_array(w, "lone_share_by_tenant");
        for (uint32_t t = 0; t < answer->inputs->count; t++) jsonw_double(w, NULL, link->share[t]);
        jsonw_close_array(w);
        jsonw_double(w, "lone_share_together", link->total);
        jsonw_close_object(w);
        text_free(&name);
    }
    jsonw_close_array(w);
}

static void write_places(JsonWriter *w, const TenantsAnswer *answer) {
    const TenantsPlaces *places = &answer->places;
    if (places->cost <= 0) return;
    jsonw_open_object(w, "places");
    jsonw_u64(w, "simulated", places->tried);
    jsonw_u64(w, "sharing_host_memory", places->refused);
    jsonw_u64(w, "failed", places->failed);
    jsonw_u64(w, "left_out", places->left);
    jsonw_double(w, "best_decode_over_given", places->cost);
    jsonw_open_array(w, "best_first_gpus");
    for (uint32_t t = 0; t < answer->inputs->count; t++) jsonw_u64(w, NULL, places->first_gpu[t]);
    jsonw_close_array(w);
    jsonw_close_object(w);
}

void tenants_show_json(const TenantsAnswer *answer, Text *out) {
    JsonWriter w = {.text = out};
    jsonw_open_object(&w, NULL);
    jsonw_string(&w, "moesim", "tenants");
    jsonw_u64(&w, "version", 1);
    jsonw_string(&w, "machine", answer->inputs->topology.name);
    jsonw_digest(&w, "topology_digest", answer->inputs->topology.digest);
    jsonw_digest(&w, "calibration_digest", answer->inputs->calib.digest);
    write_tenants(&w, answer);
    write_proof(&w, answer);
    write_links(&w, answer);
    write_places(&w, answer);
    jsonw_close_object(&w);
    jsonw_finish(&w);
}
