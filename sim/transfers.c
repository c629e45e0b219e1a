// What both models of the network ask of a list of transfers, and the lower bound of its time.
//
// Invariant: the bound never exceeds what exact links could do: bytes on a link are summed in units
// of 2^-20 B, each part rounded down.
#include "sim/transfers.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/mem.h"
#include "model/base/wide.h"
#include "sim/keymap.h"
#include "sim/net.h"

#define BYTES_MAX      (UINT64_C(1) << 62) // what a flow can hold (sim/flow.h)
#define PART_SHIFT     20
#define SUM_SHIFT_MOST 87 // sums below 2^87 times 10^12 stay inside 128 bits

const char *const transfers_mover_names[TRANSFERS_MOVER_COUNT] = {
#define X(name, text) text,
    TRANSFERS_MOVER_LIST(X)
#undef X
};

typedef struct LinkSum {
    LinkId link;
    Wide sum;      // in 2^-20 B
    Time earliest; // that a transfer can reach the far end
} LinkSum;

struct TransfersBound {
    const Fabric *fabric;
    LinkSum *links;
    uint32_t link_count, link_capacity;
    KeyMap by_link;
    Time alone_ps; // the longest of the transfers, each alone
    bool is_beyond;
};

static bool is_end(PartKind kind) {
    switch (kind) {
    case PART_GPU:
    case PART_CPU:
    case PART_NIC:
    case PART_MEMORY:
    case PART_STORAGE: return true;
    case PART_SWITCH:
    case PART_PCIE_SWITCH:
    case PART_GROUP:
    case PART_KIND_COUNT: return false;
    }
    return false;
}

bool transfers_check_end(const Fabric *fabric, VertexId vertex, Err *err) {
    Text name = {0};
    if (vertex < fabric->gpu_count && !fabric_has_faults(fabric)) return true; // most are
    if (vertex >= fabric->vertex_count)
        return err_set(err, "part %u is not there: the machine has GPUs 0 to %u and parts to %u",
                       vertex, fabric->gpu_count - 1, fabric->vertex_count - 1);
    PartKind kind = fabric_class(fabric, vertex)->kind;
    bool good = is_end(kind), is_dead = fabric_is_dead(fabric, vertex);
    if (good && !is_dead) return true;
    fabric_vertex_name(fabric, vertex, &name);
    if (is_dead)
        err_set(err, "%s is down", text_string(&name));
    else
        err_set(err,
                "%s is a %s, which sends and receives nothing itself: expected a gpu, cpu, "
                "nic, memory or storage",
                text_string(&name), topology_kind_names[kind]);
    text_free(&name);
    return false;
}

static bool refuse_twice(const Fabric *fabric, uint32_t index, VertexId vertex, Err *err) {
    Text name = {0};
    fabric_vertex_name(fabric, vertex, &name);
    err_set(err, "transfer %u: expected two parts, found %s twice", index, text_string(&name));
    text_free(&name);
    return false;
}

bool transfers_check(const Fabric *fabric, const NetTransfer *list, uint32_t count, Err *err) {
    if (count > TRANSFERS_MAX)
        return err_set(err, "expected at most %u transfers, found %u", TRANSFERS_MAX, count);
    for (uint32_t i = 0; i < count; i++) {
        const NetTransfer *t = &list[i];
        if (!transfers_check_end(fabric, t->from, err) || !transfers_check_end(fabric, t->to, err))
            return err_prefix(err, "transfer %u", i);
        if (t->from == t->to) return refuse_twice(fabric, i, t->from, err);
        if (t->bytes >= BYTES_MAX)
            return err_set(err, "transfer %u: expected less than 2^62 B, found %" PRIu64 " B", i,
                           t->bytes);
        if (t->start < 0)
            return err_set(err, "transfer %u: expected a start of 0 or later, found %" PRId64 " ps",
                           i, t->start);
    }
    return true;
}

TransfersBound *transfers_bound_open(const Fabric *fabric) {
    TransfersBound *bound = mem_alloc(1, sizeof *bound);
    bound->fabric = fabric;
    return bound;
}

static LinkSum *sum_of(TransfersBound *bound, LinkId link) {
    uint32_t found = keymap_find(&bound->by_link, link);
    if (found != KEYMAP_NONE) return &bound->links[found];
    bound->links =
        mem_grow(bound->links, &bound->link_capacity, bound->link_count + 1, sizeof *bound->links);
    keymap_add(&bound->by_link, link, bound->link_count);
    bound->links[bound->link_count] = (LinkSum){.link = link, .earliest = TIME_MAX};
    return &bound->links[bound->link_count++];
}

// `begin` and the time of `sum` over a link, rounded down; TIME_MAX when it cannot be held.
static Time end_of(Time begin, Wide sum, uint64_t capacity_Bps) {
    Wide ps = sum >> SUM_SHIFT_MOST == 0
                  ? sum * (Wide)PS_PER_SECOND / ((Wide)capacity_Bps << PART_SHIFT)
                  : (sum >> PART_SHIFT) * (Wide)PS_PER_SECOND / capacity_Bps;
    return ps < (Wide)(TIME_MAX - begin) ? begin + (Time)ps : TIME_MAX;
}

void transfers_bound_add(TransfersBound *bound, const NetTransfer *transfer, const Route *route) {
    Time begin = transfer->start;
    if (begin > TIME_MAX - route->latency_ps) {
        bound->is_beyond = true;
        return;
    }
    begin += route->latency_ps;
    Wide bytes = (Wide)transfer->bytes << PART_SHIFT;
    uint64_t burst_B = 0;
    for (uint32_t i = 0; i < route->count; i++)
        burst_B += fabric_link(bound->fabric, route->edges[i].link).burst_B;
    Wide after = bytes > (Wide)burst_B << PART_SHIFT ? bytes - ((Wide)burst_B << PART_SHIFT) : 0;
    Time end = end_of(begin, after, route->bandwidth_Bps);
    if (end > bound->alone_ps) bound->alone_ps = end;
    for (uint32_t i = 0; i < route->count; i++) {
        LinkSum *link = sum_of(bound, route->edges[i].link);
        link->sum += bytes * route->edges[i].weight / route->weight_total;
        if (begin < link->earliest) link->earliest = begin;
    }
}

void transfers_total_link(const Fabric *fabric, LinkId link, uint64_t bytes,
                          LinkTotal totals[LINK_CLASS_COUNT], LinkId busiest[LINK_CLASS_COUNT]) {
    FabricLink given = fabric_link(fabric, link);
    LinkTotal *total = &totals[given.link_class];
    LinkId *best = &busiest[given.link_class];
    total->bytes = wide_add_saturate(total->bytes, bytes);
    int fuller = *best == FABRIC_NONE ? 1
                                      : wide_compare_ratio(bytes, given.capacity_Bps,
                                                           total->busiest_B, total->busiest_Bps);
    if (fuller < 0 || (fuller == 0 && link > *best)) return;
    total->busiest_B = bytes;
    total->busiest_Bps = given.capacity_Bps;
    total->busiest_burst_B = given.burst_B;
    *best = link;
}

void transfers_total_names(const Fabric *fabric, const LinkId busiest[LINK_CLASS_COUNT],
                           LinkTotal totals[LINK_CLASS_COUNT]) {
    for (uint32_t c = 0; c < LINK_CLASS_COUNT; c++) {
        if (busiest[c] != FABRIC_NONE) net_name_busiest(fabric, busiest[c], &totals[c]);
    }
}

static void total_links(const TransfersBound *bound, LinkTotal out[LINK_CLASS_COUNT]) {
    LinkId busiest[LINK_CLASS_COUNT];
    memset(out, 0, LINK_CLASS_COUNT * sizeof *out);
    for (uint32_t c = 0; c < LINK_CLASS_COUNT; c++) busiest[c] = FABRIC_NONE;
    for (uint32_t i = 0; i < bound->link_count; i++) {
        const LinkSum *sum = &bound->links[i];
        uint64_t bytes = wide_saturate(wide_div_up(sum->sum, (Wide)1 << PART_SHIFT));
        transfers_total_link(bound->fabric, sum->link, bytes, out, busiest);
    }
    transfers_total_names(bound->fabric, busiest, out);
}

bool transfers_bound_close(TransfersBound *bound, TransfersResult *out, Err *err) {
    Time latest = bound->is_beyond ? TIME_MAX : bound->alone_ps;
    for (uint32_t i = 0; i < bound->link_count; i++) {
        const LinkSum *sum = &bound->links[i];
        FabricLink link = fabric_link(bound->fabric, sum->link);
        Wide burst = (Wide)link.burst_B << PART_SHIFT;
        Wide after = sum->sum > burst ? sum->sum - burst : 0;
        Time end = end_of(sum->earliest, after, link.capacity_Bps);
        if (end > latest) latest = end;
    }
    if (latest < TIME_MAX) {
        out->bound_ps = latest;
        total_links(bound, out->links);
    }
    mem_free(bound->links);
    keymap_free(&bound->by_link);
    mem_free(bound);
    return latest < TIME_MAX ||
           err_set(err, "the transfers take longer than %" PRId64 " s, the most that can be timed",
                   TIME_MAX / PS_PER_SECOND);
}

void transfers_result_free(TransfersResult *result) {
    mem_free(result->finish);
    *result = (TransfersResult){0};
}
