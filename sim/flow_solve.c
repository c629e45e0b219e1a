// Max-min fair sharing by progressive filling, exact, from the lowest level that can have changed.
//
// Method: Bertsekas and Gallager, Data Networks, 2nd ed. 1992, section 6.5.2: raise all rates
// together; the resource with the lowest level (capacity left per unit of load without a rate)
// saturates first; freeze its flows and go on with the rest. Levels are rationals and are compared
// as such; all resources at the lowest level freeze together, at the level rounded down once to
// 2^-20 B/s. So a rate depends on values only, never on the order of flows or resources, and flows
// that are alike in the folded and in the expanded form get the same rate to the bit.
//
// Resources stay in the order in which they froze. A flow that ends changes none that froze before
// its own, nor those of the same set that it does not cross; a new one none whose level is below
// the least that its resources can come down to. The rest of the order is undone and filled again:
// levels are the same as from scratch, because the filling is a function of what is left and
// loaded, and up to there these are the same.
//
// Work is by resource where it can be: a resource that keeps its flows knows what they load
// elsewhere (the bottleneck structure of J. Ros-Giralt et al., "On the bottleneck structure of
// congestion-controlled networks", Proc. ACM Meas. Anal. Comput. Syst. 3 (2019) 59), and only
// flows whose bottleneck changes are touched.
#include "model/base/mem.h"
#include "sim/flow_fill.h"

#define CHILDREN   4 // of an entry of the queue: fewer levels, and they share a cache line
#define STEADY_MIN 2 // solves that kept its flows before what they load elsewhere is worth a list

// Loads the shares of all that the flows of a resource cross.
void flow_unfreeze(FlowNet *net, ResourceId r) {
    FlowResource *resource = &net->resources[r];
    uint64_t rate = resource->rate;
    resource->is_frozen = false;
    if (resource->own_count == 0) return;
    if (resource->has_adjacent) {
        for (uint32_t i = 0; i < resource->adjacent_count; i++) {
            const FlowAdjacent *adjacent = &resource->adjacent[i];
            flow_add_load(net, adjacent->resource, adjacent->coefficient);
            net->shares[adjacent->resource].left += wide_mul(rate, adjacent->coefficient);
        }
        flow_add_load(net, r, resource->own_load);
        net->shares[r].left += wide_mul(rate, resource->own_load);
        return;
    }
    for (uint32_t i = 0; i < resource->own_count; i++) {
        const FlowPath *path = &net->paths[resource->own[i]];
        for (uint32_t e = 0; e < path->count; e++) {
            ResourceId to = flow_edge_resource(net, path, e);
            uint64_t load = flow_edge_load(net, path, e);
            flow_add_load(net, to, load);
            net->shares[to].left += wide_mul(rate, load);
        }
    }
}

static void freeze_flow(FlowNet *net, const FlowPath *path, uint64_t rate) {
    for (uint32_t e = 0; e < path->count; e++) {
        FlowShare *share = &net->shares[flow_edge_resource(net, path, e)];
        uint64_t load = flow_edge_load(net, path, e);
        share->left -= wide_mul(rate, load);
        share->load -= load;
    }
}

static void grow_counts(FlowNet *net) {
    uint32_t old = net->count_capacity;
    net->counts =
        mem_grow(net->counts, &net->count_capacity, net->resource_count, sizeof *net->counts);
    for (uint32_t i = old; i < net->count_capacity; i++) net->counts[i] = 0;
}

// The list of what the own flows load elsewhere, in the order in which they meet it.
void flow_build_adjacent(FlowNet *net, ResourceId r) {
    FlowResource *resource = &net->resources[r];
    grow_counts(net);
    resource->adjacent_count = 0;
    for (uint32_t i = 0; i < resource->own_count; i++) {
        const FlowPath *path = &net->paths[resource->own[i]];
        for (uint32_t e = 0; e < path->count; e++) {
            ResourceId to = flow_edge_resource(net, path, e);
            if (to == r) continue;
            if (net->counts[to] == 0) {
                resource->adjacent =
                    mem_grow(resource->adjacent, &resource->adjacent_capacity,
                             resource->adjacent_count + 1, sizeof *resource->adjacent);
                resource->adjacent[resource->adjacent_count++] = (FlowAdjacent){to, 0};
                net->counts[to] = resource->adjacent_count;
            }
            resource->adjacent[net->counts[to] - 1].coefficient += flow_edge_load(net, path, e);
        }
    }
    for (uint32_t i = 0; i < resource->adjacent_count; i++)
        net->counts[resource->adjacent[i].resource] = 0;
    resource->has_adjacent = true;
}

void flow_freeze_own(FlowNet *net, ResourceId r) {
    FlowResource *resource = &net->resources[r];
    uint64_t rate = resource->rate;
    if (!resource->has_adjacent && ++resource->steady > STEADY_MIN) flow_build_adjacent(net, r);
    if (!resource->has_adjacent) {
        for (uint32_t i = 0; i < resource->own_count; i++)
            freeze_flow(net, &net->paths[resource->own[i]], rate);
        return;
    }
    for (uint32_t i = 0; i < resource->adjacent_count; i++) {
        const FlowAdjacent *adjacent = &resource->adjacent[i];
        FlowShare *share = &net->shares[adjacent->resource];
        share->left -= wide_mul(rate, adjacent->coefficient);
        share->load -= adjacent->coefficient;
    }
    net->shares[r].left -= wide_mul(rate, resource->own_load);
    net->shares[r].load -= resource->own_load;
}

void flow_append(FlowNet *net, ResourceId r, uint32_t set_start) {
    net->order =
        mem_grow(net->order, &net->order_capacity, net->order_count + 1, sizeof *net->order);
    net->resources[r].is_frozen = true;
    net->resources[r].at = net->order_count;
    net->resources[r].set_start = set_start;
    net->order[net->order_count++] = r;
}

void flow_end_set(FlowNet *net, uint32_t start, uint32_t end) {
    net->set_end = mem_grow(net->set_end, &net->set_end_capacity, start + 1, sizeof *net->set_end);
    net->set_end[start] = end;
}

static bool is_unfrozen(const FlowNet *net, uint32_t owner) {
    if (owner == FLOW_IDLE || owner == FLOW_ENDING) return false;
    return owner == FLOW_WAITING || !net->resources[owner].is_frozen;
}

// Drops members without a flow when they are most of the list; they are listed again when used.
static void compact(FlowNet *net, ResourceId r, uint32_t idle) {
    FlowResource *resource = &net->resources[r];
    if (idle <= resource->member_count / 2 + 8) return;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < resource->member_count; i++) {
        uint32_t id = resource->members[i];
        if (net->owner_of[id] != FLOW_IDLE) {
            resource->members[kept++] = id;
            continue;
        }
        uint32_t *word = &net->pool[net->paths[id].first];
        while ((*word & ~FLOW_LISTED) != r) word++;
        *word &= ~FLOW_LISTED;
    }
    resource->member_count = kept;
}

// A flow that a resource takes over may cross others of its set.
static void mark_mixed(FlowNet *net, ResourceId r, const FlowPath *path) {
    FlowResource *resource = &net->resources[r];
    for (uint32_t e = 0; e < path->count; e++) {
        FlowResource *other = &net->resources[flow_edge_resource(net, path, e)];
        if (other != resource && other->is_frozen && other->set_start == resource->set_start)
            resource->is_mixed = other->is_mixed = true;
    }
}

// Flows without a rate that another resource limited until now, or none.
void flow_freeze_others(FlowNet *net, ResourceId r, Time now) {
    FlowResource *resource = &net->resources[r];
    uint32_t idle = 0;
    for (uint32_t i = 0; i < resource->member_count && net->shares[r].load > 0; i++) {
        uint32_t id = resource->members[i], owner = net->owner_of[id];
        if (owner == FLOW_IDLE) idle++;
        if (!is_unfrozen(net, owner)) continue;
        const FlowPath *path = &net->paths[id];
        Wide left = flow_mark(path);
        if (owner != FLOW_WAITING) {
            Wide work = flow_work(&net->resources[owner], now);
            left = left > work ? left - work : 0;
            flow_leave(net, id);
        }
        flow_join(net, r, id, left, now);
        mark_mixed(net, r, path);
        freeze_flow(net, path, resource->rate);
        net->stats.moves++;
    }
    compact(net, r, idle);
}

// All resources of the set at the lowest level, those included whose flows others of the set own.
// One whose own flows are not all that it had without a rate shares some with others of the set.
static void freeze_lowest(FlowNet *net, uint64_t rate, Time now) {
    uint32_t start = net->order_count, end = start + net->lowest_count;
    for (uint32_t i = 0; i < net->lowest_count; i++) {
        ResourceId r = net->lowest[i].resource;
        net->lowest[i].level = net->shares[r].load;
        flow_set_rate(&net->resources[r], rate, now);
        flow_append(net, r, start);
    }
    flow_end_set(net, start, end);
    for (uint32_t i = start; i < end; i++)
        if (net->resources[net->order[i]].own_count > 0) flow_freeze_own(net, net->order[i]);
    for (uint32_t i = start; i < end; i++)
        if (net->shares[net->order[i]].load > 0) flow_freeze_others(net, net->order[i], now);
    for (uint32_t i = 0; i < net->lowest_count; i++) {
        FlowResource *resource = &net->resources[net->lowest[i].resource];
        resource->is_mixed = resource->own_load != net->lowest[i].level;
    }
    net->stats.levels += net->lowest_count;
}

// Level of a resource, rounded down. What is left wraps below 0 only when rates were rounded up to
// the least there is.
static uint64_t level_of(const FlowShare *share) {
    if (share->left >> 127) return 0;
    Wide level = share->left / share->load;
    return level < FLOW_RATE_MAX ? (uint64_t)level : FLOW_RATE_MAX;
}

static void queue_sift(FlowNet *net, uint32_t at, FlowLevel entry) {
    FlowLevel *queue = net->queue;
    for (uint32_t child; (child = CHILDREN * at + 1) < net->queue_count; at = child) {
        uint32_t end = child + CHILDREN < net->queue_count ? child + CHILDREN : net->queue_count;
        for (uint32_t other = child + 1; other < end; other++)
            if (queue[other].level < queue[child].level) child = other;
        if (queue[child].level >= entry.level) break;
        queue[at] = queue[child];
    }
    queue[at] = entry;
}

static void queue_push(FlowNet *net, FlowLevel entry) {
    uint32_t at = net->queue_count++;
    while (at > 0 && entry.level < net->queue[(at - 1) / CHILDREN].level) {
        net->queue[at] = net->queue[(at - 1) / CHILDREN];
        at = (at - 1) / CHILDREN;
    }
    net->queue[at] = entry;
}

static void queue_build(FlowNet *net) {
    net->queue =
        mem_grow(net->queue, &net->queue_capacity, net->touched_count + 1, sizeof *net->queue);
    net->lowest =
        mem_grow(net->lowest, &net->lowest_capacity, net->touched_count + 1, sizeof *net->lowest);
    net->queue_count = 0;
    grow_counts(net);
    for (uint32_t i = 0; i < net->touched_count; i++) {
        ResourceId r = net->touched[i];
        if (net->shares[r].load == 0 || net->counts[r] > 0) continue;
        net->counts[r] = 1; // it may have been touched twice
        net->queue[net->queue_count++] = (FlowLevel){level_of(&net->shares[r]), r};
    }
    for (uint32_t i = 0; i < net->queue_count; i++) net->counts[net->queue[i].resource] = 0;
    net->touched_count = 0;
    for (uint32_t i = net->queue_count / CHILDREN + 1; i-- > 0;)
        if (i < net->queue_count) queue_sift(net, i, net->queue[i]);
}

static void queue_pop(FlowNet *net) {
    FlowLevel last = net->queue[--net->queue_count];
    if (net->queue_count > 0) queue_sift(net, 0, last);
}

// Levels in the queue were true when they were looked at and have only grown. Brings a true one to
// the front; false when no load is left.
static bool queue_refresh(FlowNet *net) {
    while (net->queue_count > 0) {
        FlowLevel front = net->queue[0];
        const FlowShare *share = &net->shares[front.resource];
        if (share->load == 0) {
            queue_pop(net);
            continue;
        }
        uint64_t level = level_of(share);
        if (level == front.level) return true;
        front.level = level;
        queue_sift(net, 0, front);
    }
    return false;
}

// What is left above the rounded level, per unit of load: the order among equal rounded levels.
static int compare_rest(const FlowNet *net, FlowLevel a, FlowLevel b) {
    const FlowShare *x = &net->shares[a.resource], *y = &net->shares[b.resource];
    if (a.level == 0 || a.level == FLOW_RATE_MAX)
        return wide_compare_ratio_wide(x->left >> 127 ? 0 : x->left, x->load,
                                       y->left >> 127 ? 0 : y->left, y->load);
    uint64_t rest_x = (uint64_t)(x->left - wide_mul(a.level, x->load));
    uint64_t rest_y = (uint64_t)(y->left - wide_mul(b.level, y->load));
    return wide_compare_ratio(rest_x, x->load, rest_y, y->load);
}

// Takes all resources at the lowest level from the queue.
static bool find_lowest(FlowNet *net, uint64_t *out_rate) {
    net->lowest_count = 0;
    if (!queue_refresh(net)) return false;
    uint64_t level = net->queue[0].level;
    uint32_t tied = 0, best = 0;
    do {
        net->lowest[tied] = net->queue[0];
        if (tied > 0 && compare_rest(net, net->lowest[tied], net->lowest[best]) < 0) best = tied;
        tied++;
        queue_pop(net);
    } while (queue_refresh(net) && net->queue[0].level == level);
    FlowLevel first = net->lowest[best];
    for (uint32_t i = 0; i < tied; i++) {
        FlowLevel entry = net->lowest[i];
        if (compare_rest(net, entry, first) == 0) {
            net->lowest[net->lowest_count++] = entry;
            continue;
        }
        queue_push(net, entry);
    }
    *out_rate = level > 0 ? level : 1; // progress, whatever the rounding
    return true;
}

// Takes the rates from all resources behind the restart.
static void undo(FlowNet *net) {
    for (uint32_t i = net->restart; i < net->order_count; i++) flow_unfreeze(net, net->order[i]);
    net->order_count = net->restart;
}

// Members of the open set take over the flows that they share with those that have left it.
void flow_close_set(FlowNet *net, Time now) {
    if (net->open_set >= net->restart) return;
    flow_end_set(net, net->open_set, net->restart);
    for (uint32_t i = net->open_set; i < net->restart; i++)
        if (net->shares[net->order[i]].load > 0) flow_freeze_others(net, net->order[i], now);
}

static void fill(FlowNet *net, Time now) {
    queue_build(net);
    for (uint64_t rate; find_lowest(net, &rate);) freeze_lowest(net, rate, now);
}

void flow_solve(FlowNet *net, Time now) {
    net->next_owner = 0;
    if (net->burst_count > 0) flow_burst_before(net, now);
    if (!net->is_stale) return;
    net->is_stale = false;
    net->stats.solves++;
    if (net->has_new) {
        undo(net);
        flow_close_set(net, now);
        fill(net, now);
    } else if (!flow_refill(net, now))
        fill(net, now);
    for (uint32_t i = net->open_set; i < net->order_count; i++)
        net->resources[net->order[i]].settled = net->shares[net->order[i]].left;
    net->has_new = false;
    net->restart = net->open_set = net->order_count;
    if (net->burst_count > 0) flow_burst_after(net, now);
}
