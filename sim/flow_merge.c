// Resources that say the same are one: where every path loads two of equal capacity alike, or
// neither, one of them is enough, because both are full at the same time. Parallel links of a
// switch over which all transfers are striped are such.
//
// Invariant: sums of mixed words only propose; each group is compared path by path before its
// members are dropped, so rates are those of the whole net, to the bit.
#include <assert.h>
#include <stdlib.h>

#include "model/base/hash.h"
#include "model/base/mem.h"
#include "sim/flow_fill.h"

typedef struct Proposal {
    uint64_t sum, capacity_Bps;
    ResourceId resource;
} Proposal;

typedef struct Merge {
    ResourceId *first; // by resource: the one that stands for it
    uint32_t *size;    // by that one: how many it stands for
    uint32_t *seen;    // of one path
    uint64_t *load;
    bool *differs;
} Merge;

static int compare_proposals(const void *left, const void *right) {
    const Proposal *a = left, *b = right;
    if (a->sum != b->sum) return a->sum < b->sum ? -1 : 1;
    if (a->capacity_Bps != b->capacity_Bps) return a->capacity_Bps < b->capacity_Bps ? -1 : 1;
    return a->resource < b->resource ? -1 : a->resource > b->resource;
}

static void propose(const FlowNet *net, Merge *merge) {
    Proposal *proposals = mem_alloc(net->resource_count + 1, sizeof *proposals);
    for (ResourceId r = 0; r < net->resource_count; r++)
        proposals[r] = (Proposal){0, net->resources[r].capacity_Bps, r};
    for (uint32_t i = 0; i < net->burst_count; i++)
        proposals[net->bursts[i].resource].sum = hash_spread(net->bursts[i].burst_B);
    for (uint32_t p = 0; p < net->path_count; p++) {
        const FlowPath *path = &net->paths[p];
        for (uint32_t e = 0; e < path->count; e++)
            proposals[flow_edge_resource(net, path, e)].sum +=
                hash_spread(hash_spread(p) ^ flow_edge_load(net, path, e));
    }
    qsort(proposals, net->resource_count, sizeof *proposals, compare_proposals);
    for (uint32_t i = 0; i < net->resource_count; i++) {
        const Proposal *last = &proposals[i > 0 ? i - 1 : 0];
        bool is_same = i > 0 && last->sum == proposals[i].sum &&
                       last->capacity_Bps == proposals[i].capacity_Bps;
        ResourceId first = is_same ? merge->first[last->resource] : proposals[i].resource;
        merge->first[proposals[i].resource] = first;
        merge->size[first]++;
    }
    mem_free(proposals);
}

// Each path loads all of a group, alike, or none of it.
static void compare(const FlowNet *net, Merge *merge) {
    for (uint32_t p = 0; p < net->path_count; p++) {
        const FlowPath *path = &net->paths[p];
        for (uint32_t e = 0; e < path->count; e++) {
            ResourceId first = merge->first[flow_edge_resource(net, path, e)];
            uint64_t load = flow_edge_load(net, path, e);
            if (merge->seen[first]++ == 0) merge->load[first] = load;
            if (merge->load[first] != load) merge->differs[first] = true;
        }
        for (uint32_t e = 0; e < path->count; e++) {
            ResourceId first = merge->first[flow_edge_resource(net, path, e)];
            if (merge->seen[first] > 0 && merge->seen[first] != merge->size[first])
                merge->differs[first] = true;
            merge->seen[first] = 0;
        }
    }
}

static bool is_kept(const Merge *merge, ResourceId r) {
    return merge->first[r] == r || merge->differs[merge->first[r]];
}

static void shorten(FlowNet *net, FlowPath *path, const Merge *merge) {
    uint32_t kept = 0, at = 0, *words = &net->pool[path->first];
    for (uint32_t e = 0; e < path->count; e++) kept += is_kept(merge, words[e]);
    if (kept == path->count) return;
    uint32_t *places = mem_alloc(kept + 1, sizeof *places);
    for (uint32_t e = 0; e < path->count; e++)
        if (is_kept(merge, words[e])) places[at++] = e;
    for (uint32_t i = 0; i < kept; i++) words[i] = words[places[i]];
    for (uint32_t i = 0; path->scale != 0 && i < kept; i++) {
        words[kept + 2 * i] = words[path->count + 2 * places[i]];
        words[kept + 2 * i + 1] = words[path->count + 2 * places[i] + 1];
    }
    path->count = (uint16_t)kept;
    mem_free(places);
}

void flow_merge(FlowNet *net) {
    assert(net->active == 0 && net->stats.solves == 0);
    uint32_t count = net->resource_count + 1;
    Merge merge = {mem_alloc(count, sizeof *merge.first), mem_alloc(count, sizeof *merge.size),
                   mem_alloc(count, sizeof *merge.seen), mem_alloc(count, sizeof *merge.load),
                   mem_alloc(count, sizeof *merge.differs)};
    propose(net, &merge);
    compare(net, &merge);
    for (uint32_t p = 0; p < net->path_count; p++) shorten(net, &net->paths[p], &merge);
    mem_free(merge.first);
    mem_free(merge.size);
    mem_free(merge.seen);
    mem_free(merge.load);
    mem_free(merge.differs);
}
