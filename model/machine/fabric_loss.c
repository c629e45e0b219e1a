// Compares each live GPU with what it was built with.
//
// Out of a domain: every live GPU sends to the live GPU that follows it by one domain, which is on
// the same rail where there are rails. A NIC is shared by the GPUs whose routes leave through it,
// in proportion to their weights; a GPU gets what its tightest NIC gives.
//
// Invariant: machines without faults cost nothing; nothing here feeds a price.
#include "model/machine/fabric_loss.h"

#include <stdlib.h>

#include "model/base/num.h"
#include "model/base/wide.h"
#include "model/machine/fabric_fault.h"
#include "model/machine/fabric_summary.h"

#define GPUS_MAX 16384 // routes that are looked at

static void count_dead(const Fabric *fabric, FabricLoss *loss) {
    const FabricFaults *faults = fabric->faults;
    for (uint32_t i = 0; i < faults->dead_count; i++)
        loss->dead[fabric_class(fabric, faults->dead[i])->kind]++;
    for (uint32_t i = 0; i < faults->link_count; i++) {
        if (faults->links[i].capacity_Bps == 0)
            loss->links_down++;
        else
            loss->links_slow++;
    }
}

// ---- Links of a GPU

// Keeps the GPU with the smallest part left, the first of equal ones.
static void keep_least(FabricLossRate *rate, uint32_t gpu, uint64_t built_Bps, uint64_t left_Bps) {
    if (left_Bps >= built_Bps) return;
    int order = rate->is_known
                    ? wide_compare_ratio(left_Bps, built_Bps, rate->left_Bps, rate->built_Bps)
                    : -1;
    if (order == 0) rate->count++;
    if (order < 0) *rate = (FabricLossRate){true, gpu, 1, built_Bps, left_Bps};
}

static void compare_links(const Fabric *fabric, const Fabric *built, FabricLoss *loss) {
    for (uint32_t gpu = 0; gpu < fabric->gpu_count; gpu++) {
        uint64_t before[LINK_CLASS_COUNT], after[LINK_CLASS_COUNT];
        VertexId vertex = fabric_gpu(fabric, gpu);
        if (fabric_is_dead(fabric, vertex)) continue;
        fabric_summary_links(built, vertex, before);
        fabric_summary_links(fabric, vertex, after);
        for (uint32_t k = 0; k < LINK_CLASS_COUNT; k++)
            keep_least(&loss->links[k], gpu, before[k], after[k]);
    }
}

static void find_slowest(const Fabric *fabric, FabricLossCompute *slowest) {
    const FabricFaults *faults = fabric->faults;
    for (uint32_t i = 0; i < faults->slow_count; i++) {
        const FabricSlowGpu *slow = &faults->slow[i];
        if (fabric_is_dead(fabric, slow->gpu)) continue;
        int order = slowest->count == 0 ? -1
                                        : wide_compare_ratio(slow->part, slow->whole, slowest->part,
                                                             slowest->whole);
        if (order == 0) slowest->count++;
        if (order < 0) *slowest = (FabricLossCompute){slow->gpu, 1, slow->part, slow->whole};
    }
}

// ---- Out of the domain

// Of what GPU `user` sends, `part` leaves by a NIC's link.
typedef struct Use {
    LinkId link;
    uint32_t user;
    double part;
} Use;

typedef struct Uses {
    Use *items;
    uint32_t count, capacity;
} Uses;

static int compare_uses(const void *left, const void *right) {
    const Use *a = left, *b = right;
    if (a->link != b->link) return a->link < b->link ? -1 : 1;
    return a->user < b->user ? -1 : a->user > b->user;
}

static bool leaves_nic(const Fabric *fabric, const FabricLink *link) {
    PartKind to = fabric_class(fabric, link->to)->kind;
    return fabric_class(fabric, link->from)->kind == PART_NIC &&
           (to == PART_SWITCH || to == PART_NIC);
}

static void add_uses(const Fabric *fabric, const Route *route, uint32_t user, Uses *uses) {
    for (uint32_t i = 0; i < route->count; i++) {
        FabricLink link = fabric_link(fabric, route->edges[i].link);
        if (!leaves_nic(fabric, &link)) continue;
        uses->items = mem_grow(uses->items, &uses->capacity, uses->count + 1, sizeof *uses->items);
        uses->items[uses->count++] =
            (Use){route->edges[i].link, user, (double)route->edges[i].weight / route->weight_total};
    }
}

static bool find_uses(const Fabric *fabric, Uses *uses, Err *err) {
    Route route = {0};
    bool done = true;
    uint32_t live = fabric_live_gpu_count(fabric);
    for (uint32_t i = 0; done && i < live; i++) {
        uint32_t from = fabric_live_gpu(fabric, i);
        uint32_t to = (from + fabric->domain_size) % fabric->gpu_count;
        while (fabric_is_dead(fabric, fabric_gpu(fabric, to))) to = (to + 1) % fabric->gpu_count;
        if (to == from) continue;
        done = fabric_route(fabric, fabric_gpu(fabric, from), fabric_gpu(fabric, to), &route, err);
        if (done) add_uses(fabric, &route, from, uses);
    }
    fabric_route_free(&route);
    return done;
}

// Rates of all GPUs, 0 for those that do not leave by a NIC.
static bool find_rates(const Fabric *fabric, uint64_t *rates, Err *err) {
    Uses uses = {0};
    bool done = find_uses(fabric, &uses, err);
    if (done && uses.count > 0) qsort(uses.items, uses.count, sizeof *uses.items, compare_uses);
    for (uint32_t first = 0, next; done && first < uses.count; first = next) {
        double load = 0;
        LinkId link = uses.items[first].link;
        for (next = first; next < uses.count && uses.items[next].link == link; next++)
            load += uses.items[next].part;
        uint64_t rate = (uint64_t)num_round((double)fabric_link(fabric, link).capacity_Bps / load);
        for (uint32_t i = first; i < next; i++) {
            uint64_t *least = &rates[uses.items[i].user];
            if (*least == 0 || rate < *least) *least = rate;
        }
    }
    mem_free(uses.items);
    return done;
}

static bool compare_out(const Fabric *fabric, const Fabric *built, FabricLoss *loss, Err *err) {
    if (fabric->gpu_count > GPUS_MAX || fabric->domain_size >= fabric->gpu_count) return true;
    uint64_t *before = mem_alloc(fabric->gpu_count, sizeof *before);
    uint64_t *after = mem_alloc(fabric->gpu_count, sizeof *after);
    bool done = find_rates(built, before, err) && find_rates(fabric, after, err);
    for (uint32_t gpu = 0; done && gpu < fabric->gpu_count; gpu++)
        if (!fabric_is_dead(fabric, fabric_gpu(fabric, gpu)))
            keep_least(&loss->out, gpu, before[gpu], after[gpu]);
    mem_free(before);
    mem_free(after);
    return done;
}

bool fabric_loss_find(const Fabric *fabric, FabricLoss *out, Err *err) {
    FabricLoss loss = {0};
    Fabric built = fabric_as_built(fabric);
    if (fabric_has_faults(fabric)) {
        count_dead(fabric, &loss);
        find_slowest(fabric, &loss.compute);
        compare_links(fabric, &built, &loss);
        if (!compare_out(fabric, &built, &loss, err)) return false;
    }
    *out = loss;
    return true;
}

const FabricLossRate *fabric_loss_worst(const FabricLoss *loss, const char **out_name) {
    const FabricLossRate *worst = loss->out.is_known ? &loss->out : NULL;
    *out_name = "out of its domain";
    for (uint32_t k = 0; k < LINK_CLASS_COUNT; k++) {
        const FabricLossRate *rate = &loss->links[k];
        if (!rate->is_known) continue;
        if (worst != NULL && wide_compare_ratio(rate->left_Bps, rate->built_Bps, worst->left_Bps,
                                                worst->built_Bps) >= 0)
            continue;
        worst = rate;
        *out_name = topology_class_names[k];
    }
    return worst;
}
