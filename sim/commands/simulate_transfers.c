// A list of transfers on a machine: when each is there, and what held them up.
//
// Invariant: the list says all: nothing is added to a transfer but the software time of a step over
// its links, which --nominal leaves out.
#include "sim/commands/simulate_transfers.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/file.h"
#include "model/base/jsonw.h"
#include "model/base/table.h"
#include "model/base/wide.h"
#include "sim/commands/degrade.h"
#include "sim/commands/flow_eps.h"
#include "sim/commands/inputs.h"
#include "sim/commands/output.h"
#include "sim/commands/simulate_network.h"
#include "sim/transfers_file.h"

#define TRANSFERS_SHOWN 32 // of more, only the sums

typedef struct Copies {
    Inputs inputs;
    const char *path;
    TransfersFile file;
    uint64_t total_B;
    bool has_starts; // after 0
    TransfersOptions flow;
    TransfersMover mover;
    NetworkModel network;
    PacketOptions packet;
    Time *finish; // of each; heap
    NetworkResult result;
    Time built_ps; // on the machine without its faults; 0 when it has none
} Copies;

static bool check_args(const CliArgs *args, Err *err) {
    static const char *const others[] = {"collective", "size",  "ranks", "algorithm", "inner",
                                         "matrix",     "count", "phase", "trace",     "schedule",
                                         "timeline",   "form",  "load"};
    if (args->operand_count > 0)
        return err_set(err, "simulate: expected a plan or --transfers, found both");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (cli_is_given(args, others[i]))
            return err_set(err, "simulate --transfers: expected no --%s with it", others[i]);
    return cli_is_given(args, "topo") || err_set(err, "simulate --transfers: expected --topo");
}

static bool read_transfers(Copies *copies, Err *err) {
    Arena arena = {0};
    char *text = NULL;
    size_t count = 0;
    TransfersFile *file = &copies->file;
    bool done = file_read(copies->path, FILE_CAP_B, &arena, &text, &count, err) &&
                transfers_file_parse(&copies->inputs.fabric, copies->path, text, count, file, err);
    arena_free(&arena);
    for (uint32_t i = 0; i < file->count; i++) {
        copies->total_B = wide_add_saturate(copies->total_B, file->list[i].bytes);
        if (file->list[i].start > 0) copies->has_starts = true;
    }
    return done;
}

static bool run_on(const Copies *copies, const Fabric *fabric, Time **out_finish,
                   NetworkResult *out, Err *err) {
    return simulate_network_list(fabric, copies->file.list, copies->file.count, copies->network,
                                 &copies->flow, &copies->packet, out_finish, out, err) ||
           err_prefix(err, "%s", copies->path);
}

// Transfers that all start at once are a step, in which they meet on a tier of the network; of
// others it is not known which do.
static void calibrate(Copies *copies) {
    copies->flow.calib = &copies->inputs.calib;
    copies->flow.mover = copies->mover;
    if (!copies->has_starts) copies->flow.tier = tier_constants(&copies->inputs.calib);
}

static bool read_mover(const CliArgs *args, Copies *copies, Err *err) {
    bool is_nominal = cli_is_given(args, "nominal") || copies->network == NETWORK_PACKET;
    copies->mover = (TransfersMover)cli_choice(args, "mover");
    return !cli_is_given(args, "mover") || !is_nominal ||
           err_set(err,
                   "--mover: at nominal rates all are the same, expected neither --nominal nor "
                   "--network packet with it");
}

static bool run(const CliArgs *args, Copies *copies, Err *err) {
    const Fabric *fabric = &copies->inputs.fabric;
    Fabric whole = fabric_as_built(fabric);
    NetworkResult built = {0};
    copies->path = cli_text(args, "transfers");
    copies->flow = (TransfersOptions){.eps_ppb = copies->inputs.flow_eps_ppb};
    if (!simulate_network_options(args, &copies->network, &copies->packet, err) ||
        !read_mover(args, copies, err) || !read_transfers(copies, err))
        return false;
    if (!cli_is_given(args, "nominal")) calibrate(copies);
    if (!run_on(copies, fabric, &copies->finish, &copies->result, err)) return false;
    if (!fabric_has_faults(fabric)) return true;
    bool done = run_on(copies, &whole, NULL, &built, err);
    copies->built_ps = built.time_ps;
    return done;
}

// ---- For people

static uint64_t rate_of(uint64_t bytes, Time ps) {
    return ps > 0 ? wide_mul_div(bytes, (uint64_t)PS_PER_SECOND, (uint64_t)ps) : 0;
}

static uint64_t transfer_Bps(const Copies *copies, uint32_t i) {
    const NetTransfer *transfer = &copies->file.list[i];
    return rate_of(transfer->bytes, copies->finish[i] - transfer->start);
}

static double bound_ratio(const Copies *copies) {
    Time bound_ps = copies->result.bound_ps;
    return bound_ps > 0 ? (double)copies->result.time_ps / (double)bound_ps : 0;
}

static void show_rates(const Copies *copies, Text *out) {
    char total[UNITS_TEXT_MAX], low[UNITS_TEXT_MAX], high[UNITS_TEXT_MAX];
    uint64_t least = UINT64_MAX, most = 0;
    for (uint32_t i = 0; i < copies->file.count; i++) {
        uint64_t rate = transfer_Bps(copies, i);
        if (rate < least) least = rate;
        if (rate > most) most = rate;
    }
    uint64_t all = rate_of(copies->total_B, copies->result.time_ps);
    text_addf(out, "bandwidth  %s together, %s to %s each\n", units_format_rate(all, total),
              units_format_rate(least, low), units_format_rate(most, high));
}

static void show_links(const Copies *copies, Text *out) {
    const Calib *calib = copies->flow.calib;
    if (calib == NULL)
        text_add(out, "links      at nominal rates, no software time\n");
    else
        text_addf(out, "links      by calibration %s, bytes of GPUs moved by %s\n", calib->name,
                  transfers_mover_names[copies->mover]);
}

static void show_time(const Copies *copies, Text *out) {
    char time[UNITS_TEXT_MAX], bound[UNITS_TEXT_MAX], number[OUTPUT_NUMBER_MAX];
    const NetworkResult *result = &copies->result;
    text_addf(out, "time       %s (bound %s, ratio %s)\n", units_format_time(result->time_ps, time),
              units_format_time(result->bound_ps, bound),
              output_number(bound_ratio(copies), number));
    if (copies->built_ps == 0) return;
    text_add(out, "degraded   ");
    degrade_show_faults(&copies->inputs.topology, out);
    text_addf(out, "; as built %s, the faults cost %+.1f %%\n",
              units_format_time(copies->built_ps, time),
              100 * ((double)result->time_ps / (double)copies->built_ps - 1));
}

static void vertex_cell(const Fabric *fabric, VertexId vertex, Table *table) {
    Text name = {0};
    fabric_vertex_name(fabric, vertex, &name);
    table_cell(table, text_string(&name));
    text_free(&name);
}

static void show_transfers(const Copies *copies, Text *out) {
    Table table = {0};
    char text[UNITS_TEXT_MAX];
    const Fabric *fabric = &copies->inputs.fabric;
    if (copies->file.count > TRANSFERS_SHOWN) return;
    table_column(&table, "from", TABLE_LEFT);
    table_column(&table, "to", TABLE_LEFT);
    table_column(&table, "size", TABLE_RIGHT);
    if (copies->has_starts) table_column(&table, "start", TABLE_RIGHT);
    table_column(&table, "end", TABLE_RIGHT);
    table_column(&table, "bandwidth", TABLE_RIGHT);
    for (uint32_t i = 0; i < copies->file.count; i++) {
        const NetTransfer *transfer = &copies->file.list[i];
        vertex_cell(fabric, transfer->from, &table);
        vertex_cell(fabric, transfer->to, &table);
        table_cell(&table, units_format_bytes(transfer->bytes, text));
        if (copies->has_starts) table_cell(&table, units_format_time(transfer->start, text));
        table_cell(&table, units_format_time(copies->finish[i], text));
        table_cell(&table, units_format_rate(transfer_Bps(copies, i), text));
    }
    table_print(&table, out);
    table_free(&table);
    text_add_char(out, '\n');
}

static void show(const Copies *copies, Text *out) {
    char total[UNITS_TEXT_MAX];
    Timeline links = {.end_ps = copies->result.time_ps};
    memcpy(links.links, copies->result.links, sizeof links.links);
    text_addf(out, "machine    %s\ntransfers  %" PRIu32 " by %s, %s\n",
              copies->inputs.topology_name, copies->file.count, copies->path,
              units_format_bytes(copies->total_B, total));
    show_time(copies, out);
    show_rates(copies, out);
    if (copies->network == NETWORK_PACKET) {
        simulate_network_show(&copies->inputs.fabric, &copies->packet, &copies->result, out);
    } else {
        show_links(copies, out);
        text_add(out, "flow eps   ");
        flow_eps_add(copies->inputs.flow_eps_ppb, copies->result.flow_eps_error_ppb, out);
        text_add_char(out, '\n');
    }
    text_add_char(out, '\n');
    show_transfers(copies, out);
    output_links(&links, out);
}

// ---- For programs

static void write_vertex(const Fabric *fabric, const char *key, VertexId vertex, JsonWriter *w) {
    Text name = {0};
    fabric_vertex_name(fabric, vertex, &name);
    jsonw_string(w, key, text_string(&name));
    text_free(&name);
}

static void write_transfers(const Copies *copies, JsonWriter *w) {
    jsonw_open_array(w, "transfers");
    for (uint32_t i = 0; i < copies->file.count; i++) {
        const NetTransfer *transfer = &copies->file.list[i];
        jsonw_inline_next(w);
        jsonw_open_object(w, NULL);
        write_vertex(&copies->inputs.fabric, "from", transfer->from, w);
        write_vertex(&copies->inputs.fabric, "to", transfer->to, w);
        jsonw_u64(w, "bytes", transfer->bytes);
        jsonw_i64(w, "start_ps", transfer->start);
        jsonw_i64(w, "end_ps", copies->finish[i]);
        jsonw_u64(w, "B_per_s", transfer_Bps(copies, i));
        jsonw_close_object(w);
    }
    jsonw_close_array(w);
}

static void write_json(const Copies *copies, Text *out) {
    JsonWriter w = {.text = out};
    jsonw_open_object(&w, NULL);
    jsonw_string(&w, "moesim", "transfers");
    jsonw_u64(&w, "version", 1);
    jsonw_string(&w, "machine", copies->inputs.topology_name);
    jsonw_string(&w, "network", copies->network == NETWORK_FLOW ? "flow" : "packet");
    jsonw_bool(&w, "nominal", copies->flow.calib == NULL || copies->network == NETWORK_PACKET);
    if (copies->flow.calib != NULL && copies->network == NETWORK_FLOW)
        jsonw_string(&w, "mover", transfers_mover_names[copies->mover]);
    jsonw_u64(&w, "total_B", copies->total_B);
    jsonw_i64(&w, "time_ps", copies->result.time_ps);
    if (copies->built_ps > 0) jsonw_i64(&w, "time_as_built_ps", copies->built_ps);
    jsonw_i64(&w, "time_lower_bound_ps", copies->result.bound_ps);
    jsonw_u64(&w, "B_per_s", rate_of(copies->total_B, copies->result.time_ps));
    if (copies->network == NETWORK_PACKET)
        simulate_network_json(&copies->inputs.fabric, &copies->packet, &copies->result, &w);
    else
        flow_eps_write(&w, copies->inputs.flow_eps_ppb, copies->result.flow_eps_error_ppb);
    write_transfers(copies, &w);
    output_write_links(copies->result.links, &w);
    jsonw_close_object(&w);
    jsonw_finish(&w);
}

int simulate_transfers_command(const CliArgs *args) {
    Copies copies = {0};
    Err err = {0};
    Text out = {0};
    uint32_t eps_ppb;
    if (!check_args(args, &err) || !flow_eps_read(args, &eps_ppb, &err) ||
        !inputs_load_machine(args, &copies.inputs, &err))
        return output_bad(&err);
    copies.inputs.flow_eps_ppb = eps_ppb;
    bool done = run(args, &copies, &err);
    if (done && cli_choice(args, "format") == 0) show(&copies, &out);
    if (done && cli_choice(args, "format") == 1) write_json(&copies, &out);
    mem_free(copies.finish);
    transfers_file_free(&copies.file);
    inputs_free(&copies.inputs);
    return done ? output_text(&out, OUTPUT_OK) : output_bad(&err);
}
