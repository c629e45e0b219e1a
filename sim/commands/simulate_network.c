// Collectives packet by packet, all-to-alls from a matrix, and any list of transfers.
//
// Invariant: the transfers of a step are those of the collective's step list, those of one pair
// joined, and a step begins when all transfers of the one before are there.
#include "sim/commands/simulate_network.h"

#include <assert.h>
#include <inttypes.h>

#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/base/num.h"
#include "model/base/wide.h"
#include "sim/commands/flow_eps.h"
#include "sim/keymap.h"
#include "sim/matrix.h"
#include "sim/transfers.h"

static bool parse_size(const CliArgs *args, const char *name, uint64_t most, uint64_t *out,
                       Err *err) {
    if (!cli_is_given(args, name)) return true;
    if (!units_parse_bytes(cli_text(args, name), out, err)) return err_prefix(err, "--%s", name);
    if (*out == 0 || *out > most)
        return err_set(err, "--%s: expected 1 to %" PRIu64 " B, found \"%s\"", name, most,
                       cli_text(args, name));
    return true;
}

bool simulate_network_options(const CliArgs *args, NetworkModel *out_model, PacketOptions *out,
                              Err *err) {
    static const char *const of_packets[] = {"mtu", "buffer", "route", "seed"};
    *out_model = (NetworkModel)cli_choice(args, "network");
    *out = packet_defaults();
    if (*out_model == NETWORK_FLOW) {
        for (size_t i = 0; i < sizeof of_packets / sizeof *of_packets; i++)
            if (cli_is_given(args, of_packets[i]))
                return err_set(err, "--%s: flows have none, expected --network packet with it",
                               of_packets[i]);
        return true;
    }
    if (cli_is_given(args, "calibration"))
        return err_set(err, "--calibration: packets move at nominal rates, expected --network flow "
                            "with it");
    uint64_t mtu = out->mtu_B;
    if (!parse_size(args, "mtu", PACKET_MTU_MAX_B, &mtu, err) ||
        !parse_size(args, "buffer", UINT64_MAX, &out->buffer_B, err))
        return false;
    uint32_t eps_ppb;
    if (!flow_eps_read(args, &eps_ppb, err)) return false;
    if (eps_ppb > 0)
        return err_set(err, "--flow-eps: packets are exact, expected --network flow with it");
    out->mtu_B = (uint32_t)mtu;
    out->policy = (RoutePolicy)cli_choice(args, "route");
    out->seed = cli_count(args, "seed");
    return true;
}

// ---- Sums over steps.

typedef struct Sum {
    const Fabric *fabric;
    KeyMap by_link;
    PacketLink *links; // wire_B and blocked_ps summed, peak_B the most
    uint32_t link_count, link_capacity;
    NetworkResult result;
} Sum;

static PacketLink *link_of(Sum *sum, LinkId id) {
    uint32_t found = keymap_find(&sum->by_link, id);
    if (found != KEYMAP_NONE) return &sum->links[found];
    sum->links = mem_grow(sum->links, &sum->link_capacity, sum->link_count + 1, sizeof *sum->links);
    keymap_add(&sum->by_link, id, sum->link_count);
    sum->links[sum->link_count] = (PacketLink){.link = id};
    return &sum->links[sum->link_count++];
}

static bool add_time(Time *total, Time one, uint64_t times, Err *err) {
    Wide sum = (Wide)*total + wide_mul((uint64_t)one, times);
    if (sum >= TIME_MAX)
        return err_set(err, "the run takes longer than %" PRId64 " s, the most that can be timed",
                       TIME_MAX / PS_PER_SECOND);
    *total = (Time)sum;
    return true;
}

static bool add_step(Sum *sum, const TransfersResult *step, const PacketReport *report,
                     uint32_t times, Err *err) {
    NetworkResult *result = &sum->result;
    for (uint32_t i = 0; i < report->link_count; i++) {
        const PacketLink *from = &report->links[i];
        PacketLink *to = link_of(sum, from->link);
        to->wire_B = wide_add_saturate(to->wire_B, wide_mul_saturate(from->wire_B, times));
        if (!add_time(&to->blocked_ps, from->blocked_ps, times, err)) return false;
        if (from->peak_B > to->peak_B) to->peak_B = from->peak_B;
        to->buffer_B = from->buffer_B;
    }
    result->packets = wide_add_saturate(result->packets, wide_mul_saturate(report->packets, times));
    return add_time(&result->time_ps, step->end_ps, times, err) &&
           add_time(&result->bound_ps, step->bound_ps, times, err);
}

// The fullest buffer is that of the largest part in use; of equals, behind the link of the lowest
// number.
static void finish_sum(const Sum *sum, NetworkResult *out) {
    LinkId busiest[LINK_CLASS_COUNT];
    *out = sum->result;
    out->fullest = FABRIC_NONE;
    for (uint32_t c = 0; c < LINK_CLASS_COUNT; c++) busiest[c] = FABRIC_NONE;
    for (uint32_t i = 0; i < sum->link_count; i++) {
        const PacketLink *link = &sum->links[i];
        transfers_total_link(sum->fabric, link->link, link->wire_B, out->links, busiest);
        if (link->blocked_ps > out->blocked_ps) out->blocked_ps = link->blocked_ps;
        int fuller =
            out->fullest == FABRIC_NONE
                ? 1
                : wide_compare_ratio(link->peak_B, link->buffer_B, out->fullest_B, out->buffer_B);
        if (fuller < 0 || (fuller == 0 && link->link > out->fullest)) continue;
        out->fullest = link->link;
        out->fullest_B = link->peak_B;
        out->buffer_B = link->buffer_B;
    }
    transfers_total_names(sum->fabric, busiest, out->links);
}

static void free_sum(Sum *sum) {
    mem_free(sum->links);
    keymap_free(&sum->by_link);
}

// `out_finish` may be NULL.
static bool run_packets(Sum *sum, const NetTransfer *list, uint32_t count, uint32_t times,
                        const PacketOptions *options, Time **out_finish, Err *err) {
    TransfersResult step = {0};
    PacketReport report = {0};
    if (count == 0) return true;
    bool done = packet_run(sum->fabric, list, count, options, &step, &report, err) &&
                add_step(sum, &step, &report, times, err);
    if (done && out_finish != NULL) {
        *out_finish = step.finish;
        step.finish = NULL;
    }
    transfers_result_free(&step);
    packet_report_free(&report);
    return done;
}

// ---- Steps of a collective.

static uint64_t chunk_bytes(uint64_t bytes, uint32_t n, uint32_t chunk) {
    uint64_t first, count;
    collective_chunk(bytes, 1, n, chunk, &first, &count);
    return count;
}

// A chunk has its own number at the side that holds all of them (collective.h).
static uint64_t transfer_bytes(CollectiveShape shape, uint64_t bytes, const Transfer *transfer) {
    if (shape.kind == COLLECTIVE_ALL_TO_ALL)
        return chunk_bytes(bytes, shape.n, collective_part(transfer).target);
    bool is_last = shape.kind == COLLECTIVE_REDUCE_SCATTER && transfer->to_space == TRANSFER_OUTPUT;
    uint32_t chunk = is_last ? transfer->from_chunk : transfer->to_chunk;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < transfer->chunks; i++) sum += chunk_bytes(bytes, shape.n, chunk + i);
    return sum;
}

typedef struct StepList {
    NetTransfer *list;
    uint32_t count, capacity;
    uint32_t *position; // [n]: of the transfer to that rank, from the rank at hand
} StepList;

static uint32_t gpu_of(const NetworkRanks *ranks, uint32_t rank) {
    return fabric_live_gpu(ranks->fabric, ranks->first_gpu + rank);
}

static void add_rank(StepList *step, const NetworkRanks *ranks, CollectiveShape shape,
                     uint64_t bytes, uint32_t number, uint32_t from) {
    uint32_t first = step->count;
    uint32_t count = collective_transfer_count(shape, number, from);
    for (uint32_t i = 0; i < count; i++) {
        Transfer transfer = collective_transfer(shape, number, from, i);
        if (transfer.to == from) continue;
        uint32_t gpu = gpu_of(ranks, transfer.to), at = step->position[transfer.to];
        bool is_known = at >= first && at < step->count && step->list[at].to == gpu;
        if (!is_known) {
            at = step->position[transfer.to] = step->count++;
            step->list = mem_grow(step->list, &step->capacity, step->count, sizeof *step->list);
            step->list[at] = (NetTransfer){.from = gpu_of(ranks, from), .to = gpu};
        }
        step->list[at].bytes =
            wide_add_saturate(step->list[at].bytes, transfer_bytes(shape, bytes, &transfer));
    }
}

static bool run_steps(Sum *sum, StepList *step, const NetworkRanks *ranks, CollectiveShape shape,
                      uint64_t bytes, const PacketOptions *options, Err *err) {
    uint32_t steps = collective_steps(shape);
    for (uint32_t number = 0, repeat; number < steps; number += repeat) {
        StepTraffic traffic = collective_traffic(shape, number);
        if (traffic.pattern == PATTERN_IN_SWITCH)
            return err_set(err,
                           "--algorithm: packets are not summed in switches, expected another "
                           "one than %s",
                           algorithm_names[shape.algorithm]);
        repeat = traffic.repeat;
        step->count = 0;
        for (uint32_t from = 0; from < shape.n && step->count <= TRANSFERS_MAX; from++)
            add_rank(step, ranks, shape, bytes, number, from); // packet_run refuses more
        if (!run_packets(sum, step->list, step->count, repeat, options, NULL, err)) return false;
    }
    return true;
}

bool simulate_network_collective(const NetworkRanks *ranks, CollectiveShape shape, uint64_t bytes,
                                 const PacketOptions *options, NetworkResult *out, Err *err) {
    Sum sum = {.fabric = ranks->fabric};
    StepList step = {.position = mem_alloc(shape.n, sizeof *step.position)};
    bool done = run_steps(&sum, &step, ranks, shape, bytes, options, err);
    if (done) finish_sum(&sum, out);
    free_sum(&sum);
    mem_free(step.list);
    mem_free(step.position);
    return done;
}

// ---- Matrices.

static void sum_matrix(NetworkMatrix *matrix) {
    uint32_t n = matrix->ranks;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t sent = 0, received = 0;
        for (uint32_t j = 0; j < n; j++) {
            if (i == j) continue;
            sent = wide_add_saturate(sent, matrix->bytes[(size_t)i * n + j]);
            received = wide_add_saturate(received, matrix->bytes[(size_t)j * n + i]);
        }
        matrix->total_B = wide_add_saturate(matrix->total_B, sent);
        if (sent > matrix->most_sent_B) matrix->most_sent_B = sent;
        if (received > matrix->most_received_B) matrix->most_received_B = received;
    }
}

bool simulate_network_read_matrix(const char *path, uint32_t ranks, NetworkMatrix *out, Err *err) {
    Arena arena = {0};
    char *text = NULL;
    size_t count = 0;
    if (ranks > MATRIX_MAX)
        return err_set(err, "--matrix: expected at most %u ranks, found %u", MATRIX_MAX, ranks);
    *out = (NetworkMatrix){.ranks = ranks};
    bool done = file_read(path, FILE_CAP_B, &arena, &text, &count, err) &&
                matrix_parse(path, text, count, ranks, &out->bytes, err);
    arena_free(&arena);
    if (done) sum_matrix(out);
    return done;
}

static NetTransfer *list_matrix(const NetworkRanks *ranks, const NetworkMatrix *matrix,
                                uint32_t *out_count) {
    uint32_t n = matrix->ranks, count = 0;
    NetTransfer *list = mem_alloc((size_t)n * n, sizeof *list);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++) {
            uint64_t bytes = matrix->bytes[(size_t)i * n + j];
            if (i == j || bytes == 0) continue;
            list[count++] = (NetTransfer){gpu_of(ranks, i), gpu_of(ranks, j), bytes, 0};
        }
    *out_count = count;
    return list;
}

static bool run_flows(const Fabric *fabric, const NetTransfer *list, uint32_t count,
                      const TransfersOptions *options, Time **out_finish, NetworkResult *out,
                      Err *err) {
    TransfersResult result = {0};
    if (!transfers_run(fabric, list, count, options, &result, err)) return false;
    *out = (NetworkResult){.time_ps = result.end_ps,
                           .bound_ps = result.bound_ps,
                           .fullest = FABRIC_NONE,
                           .flow_eps_error_ppb = result.eps_error_ppb};
    for (uint32_t c = 0; c < LINK_CLASS_COUNT; c++) out->links[c] = result.links[c];
    if (out_finish != NULL) {
        *out_finish = result.finish;
        result.finish = NULL;
    }
    transfers_result_free(&result);
    return true;
}

bool simulate_network_list(const Fabric *fabric, const NetTransfer *list, uint32_t count,
                           NetworkModel model, const TransfersOptions *flow,
                           const PacketOptions *packet, Time **out_finish, NetworkResult *out,
                           Err *err) {
    Sum sum = {.fabric = fabric};
    if (model == NETWORK_FLOW) return run_flows(fabric, list, count, flow, out_finish, out, err);
    bool done = run_packets(&sum, list, count, 1, packet, out_finish, err);
    if (done) finish_sum(&sum, out);
    free_sum(&sum);
    return done;
}

// A call of a collective costs a fixed time in the flow model.
static bool add_call(const TransfersOptions *flow, Time *time_ps, Err *err) {
    double fixed_s = flow->calib->values[CALIB_COLLECTIVE].value;
    return add_time(time_ps, num_round(fixed_s * (double)PS_PER_SECOND), 1, err);
}

bool simulate_network_matrix(const NetworkRanks *ranks, const NetworkMatrix *matrix,
                             NetworkModel model, const TransfersOptions *flow,
                             const PacketOptions *packet, NetworkResult *out, Err *err) {
    uint32_t count;
    assert(matrix->ranks == ranks->count);
    NetTransfer *list = list_matrix(ranks, matrix, &count);
    bool done =
        simulate_network_list(ranks->fabric, list, count, model, flow, packet, NULL, out, err) &&
        (model == NETWORK_PACKET || add_call(flow, &out->time_ps, err));
    mem_free(list);
    return done;
}

bool simulate_network_repeat(NetworkResult *result, uint64_t count, Err *err) {
    NetworkResult one = *result;
    bool fits = wide_mul_u64(one.packets, count, &result->packets);
    result->time_ps = result->bound_ps = result->blocked_ps = 0;
    for (uint32_t c = 0; c < LINK_CLASS_COUNT; c++)
        fits = fits && wide_mul_u64(one.links[c].bytes, count, &result->links[c].bytes) &&
               wide_mul_u64(one.links[c].busiest_B, count, &result->links[c].busiest_B);
    if (!fits)
        return err_set(err, "%" PRIu64 " calls move more than the 2^64 B that can be counted",
                       count);
    return add_time(&result->time_ps, one.time_ps, count, err) &&
           add_time(&result->bound_ps, one.bound_ps, count, err) &&
           add_time(&result->blocked_ps, one.blocked_ps, count, err);
}

// ---- What only packets have.

void simulate_network_show(const Fabric *fabric, const PacketOptions *options,
                           const NetworkResult *result, Text *out) {
    char peak[UNITS_TEXT_MAX], buffer[UNITS_TEXT_MAX], blocked[UNITS_TEXT_MAX];
    text_addf(out,
              "network    packets of %u B and %u B of headers, nominal rates, no software time\n"
              "packets    %" PRIu64 ", routed by %s, seed %" PRIu64 "\n",
              options->mtu_B, options->header_B, result->packets,
              topology_policy_names[options->policy], options->seed);
    if (result->fullest == FABRIC_NONE) return;
    text_addf(out, "buffers    fullest %s of %s, at ", units_format_bytes(result->fullest_B, peak),
              units_format_bytes(result->buffer_B, buffer));
    fabric_vertex_name(fabric, fabric_link(fabric, result->fullest).to, out);
    text_addf(out, "; a link stood for want of room for at most %s\n",
              units_format_time(result->blocked_ps, blocked));
}

void simulate_network_json(const Fabric *fabric, const PacketOptions *options,
                           const NetworkResult *result, JsonWriter *out) {
    jsonw_u64(out, "mtu_B", options->mtu_B);
    jsonw_u64(out, "header_B", options->header_B);
    jsonw_string(out, "route", topology_policy_names[options->policy]);
    jsonw_u64(out, "seed", options->seed);
    jsonw_u64(out, "packets", result->packets);
    if (result->fullest == FABRIC_NONE) return;
    Text name = {0};
    fabric_vertex_name(fabric, fabric_link(fabric, result->fullest).to, &name);
    jsonw_string(out, "fullest_buffer", text_string(&name));
    jsonw_u64(out, "fullest_buffer_B", result->fullest_B);
    jsonw_u64(out, "fullest_buffer_size_B", result->buffer_B);
    jsonw_i64(out, "longest_blocked_ps", result->blocked_ps);
    text_free(&name);
}
