// When flows have only left, levels move but little: the filling goes through the resources in the
// order of before and checks that it is still one.
//
// A resource whose turn has not come keeps the rate of before in what is left of others; at its
// turn all flows of others across it have their new rates, so its level is what is left to its own
// flows, divided by their load, and only the change of its rate has to be told to others. Resources
// that have changed their place are loose: their flows have no rate, the lowest level among them
// and the next in order is taken first, and it takes loose flows that cross it.
//
// Levels that come out ascending are those of a filling: had another resource had a lower level at
// some step, freezing others above it would have brought it further down, and it would have come
// out lower than they. Levels that come out too low are put in their place. Levels so close that
// their order may be one of rounding, and resources that own no flow and have nothing left, are
// left to a filling in order of levels. Of a set that froze together and shares flows, those of
// which nothing has changed freeze together again, at the same rate.
#include "model/base/mem.h"
#include "sim/flow_fill.h"

#define LOOSE_MAX 64 // beyond, a queue is faster

typedef struct Candidate {
    ResourceId resource;
    uint64_t level, slack; // slack: how far rounding can have moved it
    uint32_t loose;        // position among the loose ones, or FLOW_NONE
    uint32_t count;        // resources, of a set that freezes as before
} Candidate;

static uint64_t clamp(Wide level) {
    return level < FLOW_RATE_MAX ? (uint64_t)level : FLOW_RATE_MAX;
}

static uint64_t slack_of(const FlowShare *share, uint64_t load) {
    return share->total / load + 2;
}

static bool loosen(FlowNet *net, ResourceId r) {
    flow_unfreeze(net, r);
    if (net->loose_count == LOOSE_MAX) return false; // it is without a rate all the same
    net->loose =
        mem_grow(net->loose, &net->loose_capacity, net->loose_count + 1, sizeof *net->loose);
    net->loose[net->loose_count++] = r;
    return true;
}

// The lowest of the loose ones; those that lost all their flows are forgotten.
static bool find_loose(FlowNet *net, Candidate *out) {
    bool found = false;
    for (uint32_t i = 0; i < net->loose_count; i++) {
        const FlowShare *share = &net->shares[net->loose[i]];
        if (share->load == 0) {
            net->loose[i--] = net->loose[--net->loose_count];
            continue;
        }
        uint64_t level = share->left >> 127 ? 0 : clamp(share->left / share->load);
        if (found && level >= out->level) continue;
        *out = (Candidate){net->loose[i], level, slack_of(share, share->load), i, 1};
        found = true;
    }
    return found;
}

// The members of a set that share flows, from position `next` on; just behind the last.
static uint32_t set_at(const FlowNet *net, uint32_t next) {
    const FlowResource *first = &net->resources[net->again[next]];
    uint32_t end = next + 1;
    while (end < net->again_count && net->resources[net->again[end]].set_start == first->set_start)
        end++;
    if (end == next + 1) return end;
    for (uint32_t i = next; i < end; i++)
        if (net->resources[net->again[i]].is_mixed) return end;
    return next + 1;
}

// Members of which something has changed are loose from now on; the rest freezes as before. They
// are at [*next, *end) afterwards.
static bool split_set(FlowNet *net, uint32_t *next, uint32_t end) {
    for (uint32_t i = *next; i < end; i++) {
        ResourceId r = net->again[i];
        if (net->shares[r].left == net->resources[r].settled) continue;
        net->again[i] = net->again[*next];
        net->again[(*next)++] = r;
        if (!loosen(net, r)) return false;
    }
    return true;
}

// Whether a loose resource may have been in the set of one whose turn has not come: it must not go
// before it, because flows that they share have a rate.
static bool is_mate(const FlowNet *net, ResourceId loose, ResourceId next) {
    return net->resources[loose].set_start == net->resources[next].set_start;
}

// False when the loose ones are too many.
static bool find_next(FlowNet *net, uint32_t *next, Candidate *out) {
    out->resource = FLOW_NONE;
    while (*next < net->again_count) {
        uint32_t end = set_at(net, *next);
        ResourceId r = net->again[*next];
        const FlowResource *resource = &net->resources[r];
        const FlowShare *share = &net->shares[r];
        if (end > *next + 1) {
            if (!split_set(net, next, end)) return false;
            if (*next == end) continue;
            *out = (Candidate){net->again[*next], net->resources[net->again[*next]].rate, 2,
                               FLOW_NONE, end - *next};
            return true;
        }
        uint64_t load = resource->own_load + share->load;
        if (load == 0) { // its flows have ended
            flow_unfreeze(net, r);
            ++*next;
            continue;
        }
        Wide left = share->left + wide_mul(resource->rate, resource->own_load);
        *out = (Candidate){r, left >> 127 ? 0 : clamp(left / load), slack_of(share, load),
                           FLOW_NONE, 1};
        return true;
    }
    return true;
}

// Tells others how the rate of the own flows has changed.
static void change_rate(FlowNet *net, ResourceId r, uint64_t rate, Time now) {
    FlowResource *resource = &net->resources[r];
    uint64_t old = resource->rate;
    if (rate == old) return;
    flow_set_rate(resource, rate, now);
    if (!resource->has_adjacent) flow_build_adjacent(net, r);
    bool is_up = rate > old;
    uint64_t change = is_up ? rate - old : old - rate;
    for (uint32_t i = 0; i < resource->adjacent_count; i++) {
        const FlowAdjacent *adjacent = &resource->adjacent[i];
        Wide work = wide_mul(change, adjacent->coefficient);
        net->shares[adjacent->resource].left -= is_up ? work : -work;
    }
    Wide work = wide_mul(change, resource->own_load);
    net->shares[r].left -= is_up ? work : -work;
}

static void take_set(FlowNet *net, uint32_t count, uint32_t *next, Time now) {
    uint32_t start = net->order_count;
    for (uint32_t i = 0; i < count; i++) flow_append(net, net->again[(*next)++], start);
    for (uint32_t i = start; i < start + count; i++)
        if (net->shares[net->order[i]].load > 0) flow_freeze_others(net, net->order[i], now);
    flow_end_set(net, start, net->order_count);
}

// Takes the candidate at its level.
static void take(FlowNet *net, const Candidate *candidate, uint32_t *next, Time now) {
    ResourceId r = candidate->resource;
    uint64_t rate = candidate->level > 0 ? candidate->level : 1;
    uint32_t start = net->order_count;
    net->stats.levels += candidate->count;
    if (candidate->count > 1) {
        take_set(net, candidate->count, next, now);
        return;
    }
    if (candidate->loose == FLOW_NONE) {
        ++*next;
        change_rate(net, r, rate, now);
    } else {
        net->loose[candidate->loose] = net->loose[--net->loose_count];
        flow_set_rate(&net->resources[r], rate, now);
        if (net->resources[r].own_count > 0) flow_freeze_own(net, r);
    }
    net->resources[r].is_mixed = false;
    flow_append(net, r, start);
    if (net->shares[r].load > 0) flow_freeze_others(net, r, now);
    flow_end_set(net, start, net->order_count);
}

// Whether flows of a resource that was taken cross another one that is not.
static bool crosses(const FlowNet *net, ResourceId taken, ResourceId other) {
    const FlowResource *resource = &net->resources[taken];
    if (!resource->has_adjacent) return true; // perhaps
    for (uint32_t i = 0; i < resource->adjacent_count; i++)
        if (resource->adjacent[i].resource == other) return true;
    return false;
}

// Loosens what was taken at a level above the candidate's. False when one is too close to tell
// which is lower, and it matters because flows cross both.
static bool make_room(FlowNet *net, const Candidate *candidate, uint32_t first) {
    uint32_t at = net->order_count;
    for (; at > first; at--) {
        ResourceId r = net->order[at - 1];
        if (net->resources[r].rate <= candidate->level + candidate->slack) break;
        net->order_count--;
        if (!loosen(net, r)) return false;
    }
    for (; at > first; at--) {
        ResourceId r = net->order[at - 1];
        if (net->resources[r].rate + candidate->slack < candidate->level) break;
        if (candidate->count > 1 || crosses(net, r, candidate->resource)) return false;
    }
    return true;
}

// A resource that limits nobody has something left, more than rounding can have left.
static bool has_left(const FlowNet *net) {
    for (ResourceId r = 0; r < net->resource_count; r++) {
        const FlowShare *share = &net->shares[r];
        if (share->total == 0 || net->resources[r].is_frozen) continue;
        if (share->left >> 127 || share->left <= share->total) return false;
    }
    return true;
}

// What comes behind the restart loses its rate.
static bool give_up(FlowNet *net, uint32_t next) {
    for (; next < net->again_count; next++) flow_unfreeze(net, net->again[next]);
    for (uint32_t i = net->restart; i < net->order_count; i++) flow_unfreeze(net, net->order[i]);
    net->order_count = net->restart;
    return false;
}

// Copies the order behind the restart. False when few resources among many would have to be looked
// at.
static bool remember(FlowNet *net, uint32_t first) {
    uint32_t count = net->order_count - first;
    if (net->resource_count / 16 > count + 64) return false;
    net->again = mem_grow(net->again, &net->again_capacity, count + 1, sizeof *net->again);
    net->again_count = 0;
    for (uint32_t i = first; i < net->order_count; i++)
        net->again[net->again_count++] = net->order[i];
    return true;
}

bool flow_refill(FlowNet *net, Time now) {
    uint32_t first = net->restart, next = 0;
    uint32_t left_set = net->open_set < net->order_count ? net->set_end[net->open_set] : first;
    net->loose_count = 0;
    bool done = left_set - first <= LOOSE_MAX && remember(net, left_set);
    if (!done) net->again_count = 0;
    uint32_t end = done ? left_set : net->order_count;
    for (uint32_t i = first; i < end; i++) {
        if (!done)
            flow_unfreeze(net, net->order[i]);
        else
            done = loosen(net, net->order[i]);
    }
    net->order_count = first;
    flow_close_set(net, now);
    if (!done) return false;
    for (uint32_t tries = 4 * net->again_count + LOOSE_MAX; tries > 0; tries--) {
        Candidate loose, best;
        if (!find_next(net, &next, &best)) return give_up(net, next);
        bool has_loose = find_loose(net, &loose);
        if (best.resource == FLOW_NONE && !has_loose) {
            if (!has_left(net)) return give_up(net, next);
            net->touched_count = 0;
            return true;
        }
        if (best.resource == FLOW_NONE || (has_loose && loose.level < best.level)) {
            if (best.resource != FLOW_NONE && is_mate(net, loose.resource, best.resource))
                return give_up(net, next);
            best = loose;
        }
        uint32_t taken = net->order_count;
        if (!make_room(net, &best, first)) return give_up(net, next);
        if (net->order_count == taken) take(net, &best, &next, now);
    }
    return give_up(net, next);
}
