// Flows come, move and go.
//
// Invariant: between solves the work of a resource is work + rate * (t - updated) in whole units of
// 2^-20 * 10^-12 B: nothing is rounded as time passes, and a change of rate costs the resource, not
// its flows. The time of an end is rounded up to a picosecond.
//
// Virtual time per shared resource: A. Parekh, R. Gallager, "A generalized processor sharing
// approach to flow control", IEEE/ACM Trans. Networking 1 (1993), section II.
#include "sim/flow.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>

#include "model/base/mem.h"
#include "sim/flow_fill.h"

#define SCALE_MAX  (UINT64_C(1) << 32) // with the capacity and 20 bits of a rate: 95 of 128 bits
#define RATIO_MAX  (UINT64_C(1) << 26) // coefficient / scale: a load fits 58 bits
#define LOAD_MAX   (UINT64_C(1) << 63) // of all flows on one resource
#define BYTES_MAX  (UINT64_C(1) << 62)
#define SCALES_MAX 65535
#define EDGES_MAX  65535
#define POOL_MAX   UINT32_MAX
#define PPB        UINT64_C(1000000000)

FlowNet *flow_open(void) {
    FlowNet *net = mem_alloc(1, sizeof *net);
    *net = (FlowNet){.scale = 1, .burst_next = TIME_MAX};
    net->scales = mem_grow(NULL, &net->scale_capacity, 1, sizeof *net->scales);
    net->scales[net->scale_count++] = (FlowScale){1, 1};
    return net;
}

void flow_close(FlowNet *net) {
    if (net == NULL) return;
    for (ResourceId r = 0; r < net->resource_count; r++) {
        mem_free(net->resources[r].own);
        mem_free(net->resources[r].members);
        mem_free(net->resources[r].adjacent);
    }
    mem_free(net->resources);
    mem_free(net->shares);
    mem_free(net->paths);
    mem_free(net->owner_of);
    mem_free(net->set_end);
    mem_free(net->pool);
    mem_free(net->scales);
    mem_free(net->instant);
    mem_free(net->owners);
    mem_free(net->order);
    mem_free(net->again);
    mem_free(net->loose);
    mem_free(net->touched);
    mem_free(net->queue);
    mem_free(net->lowest);
    mem_free(net->counts);
    mem_free(net->bursts);
    mem_free(net);
}

ResourceId flow_add_resource(FlowNet *net, uint64_t capacity_Bps) {
    assert(capacity_Bps > 0 && capacity_Bps <= FLOW_CAPACITY_MAX);
    ResourceId r = net->resource_count++;
    net->resources = mem_grow(net->resources, &net->resource_capacity, net->resource_count,
                              sizeof *net->resources);
    net->shares =
        mem_grow(net->shares, &net->share_capacity, net->resource_count, sizeof *net->shares);
    net->resources[r] = (FlowResource){.capacity_Bps = capacity_Bps, .owner = FLOW_NONE};
    net->shares[r] = (FlowShare){.left = wide_mul(capacity_Bps, net->scale) << FLOW_RATE_SHIFT};
    return r;
}

uint32_t flow_resource_count(const FlowNet *net) {
    return net->resource_count;
}

static void *reserve(void *items, uint32_t *capacity, uint32_t need, size_t size) {
    if (need <= *capacity) return items;
    *capacity = need;
    return mem_realloc(items, need, size);
}

void flow_reserve(FlowNet *net, uint32_t paths, uint64_t edges) {
    if (paths <= UINT32_MAX - net->path_count)
        net->paths =
            reserve(net->paths, &net->path_capacity, net->path_count + paths, sizeof *net->paths);
    if (edges <= POOL_MAX - net->pool_count)
        net->pool = reserve(net->pool, &net->pool_capacity, net->pool_count + (uint32_t)edges,
                            sizeof *net->pool);
}

// Multiplies all that is in units of the common scale.
static void rescale(FlowNet *net, uint64_t factor) {
    net->scale *= factor;
    for (uint32_t i = 0; i < net->scale_count; i++) net->scales[i].factor *= factor;
    flow_burst_rescale(net, factor);
    for (ResourceId r = 0; r < net->resource_count; r++) {
        FlowResource *resource = &net->resources[r];
        FlowShare *share = &net->shares[r];
        share->left *= factor;
        resource->settled *= factor;
        share->load *= factor;
        share->total *= factor;
        resource->own_load *= factor;
        for (uint32_t i = 0; i < resource->adjacent_count; i++)
            resource->adjacent[i].coefficient *= factor;
    }
}

static bool loads_fit(const FlowNet *net, uint64_t factor) {
    for (ResourceId r = 0; r < net->resource_count; r++)
        if (net->shares[r].total > LOAD_MAX / factor) return false;
    return true;
}

// The number of a scale among those known; false when there is no room for it.
static bool find_scale(FlowNet *net, uint64_t scale, uint16_t *out) {
    uint32_t i = 1;
    while (i < net->scale_count && net->scales[i].scale != scale) i++;
    *out = (uint16_t)i;
    if (i < net->scale_count) return true;
    uint64_t factor = scale / wide_gcd(net->scale, scale);
    if (i > SCALES_MAX || factor > SCALE_MAX / net->scale || !loads_fit(net, factor)) return false;
    if (factor > 1) rescale(net, factor);
    net->scales = mem_grow(net->scales, &net->scale_capacity, i + 1, sizeof *net->scales);
    net->scales[net->scale_count++] = (FlowScale){scale, net->scale / scale};
    return true;
}

static uint32_t take_words(FlowNet *net, uint32_t count) {
    uint32_t first = net->pool_count;
    net->pool =
        mem_grow(net->pool, &net->pool_capacity, net->pool_count + count, sizeof *net->pool);
    net->pool_count += count;
    return first;
}

static uint32_t add_path(FlowNet *net, const FlowPath *path) {
    net->paths = mem_grow(net->paths, &net->path_capacity, net->path_count + 1, sizeof *net->paths);
    net->owner_of = mem_grow(net->owner_of, &net->owner_of_capacity, net->path_count + 1,
                             sizeof *net->owner_of);
    net->paths[net->path_count] = *path;
    net->owner_of[net->path_count] = FLOW_IDLE;
    return net->path_count++;
}

static bool is_simple(const FlowEdge *edges, uint32_t count) {
    for (uint32_t a = 0; a < count; a++)
        for (uint32_t b = 0; b < a; b++)
            if (edges[a].resource == edges[b].resource) return false;
    return true;
}

bool flow_add_path(FlowNet *net, const FlowEdge *edges, uint32_t count, uint64_t scale,
                   PathId *out) {
    if (scale == 0 || scale > SCALE_MAX || count > EDGES_MAX) return false;
    assert(is_simple(edges, count));
    bool is_plain = true;
    for (uint32_t e = 0; e < count; e++) {
        if (edges[e].coefficient == 0 || edges[e].coefficient / scale > RATIO_MAX) return false;
        if (edges[e].coefficient != scale) is_plain = false;
    }
    FlowPath path = {.count = (uint16_t)count, .copy = FLOW_NONE};
    if (!is_plain && !find_scale(net, scale, &path.scale)) return false;
    uint32_t words = is_plain ? count : 3 * count;
    if (words > POOL_MAX - net->pool_count || net->path_count >= FLOW_LISTED) return false;
    path.first = take_words(net, words);
    for (uint32_t e = 0; e < count; e++) {
        uint32_t *pool = &net->pool[path.first];
        pool[e] = edges[e].resource;
        if (is_plain) continue;
        pool[count + 2 * e] = (uint32_t)edges[e].coefficient;
        pool[count + 2 * e + 1] = (uint32_t)(edges[e].coefficient >> 32);
    }
    *out = add_path(net, &path);
    return true;
}

// The path itself, or the first of its copies that has no flow.
static uint32_t idle_copy(FlowNet *net, PathId id) {
    while (net->owner_of[id] != FLOW_IDLE && net->paths[id].copy != FLOW_NONE)
        id = net->paths[id].copy;
    if (net->owner_of[id] == FLOW_IDLE) return id;
    FlowPath copy = net->paths[id];
    uint32_t words = copy.scale == 0 ? copy.count : 3 * (uint32_t)copy.count;
    copy.first = take_words(net, words);
    for (uint32_t i = 0; i < words; i++)
        net->pool[copy.first + i] = net->pool[net->paths[id].first + i];
    for (uint32_t e = 0; e < copy.count; e++) net->pool[copy.first + e] &= ~FLOW_LISTED;
    uint32_t made = add_path(net, &copy);
    net->paths[id].copy = made;
    return made;
}

static void list_path(FlowNet *net, uint32_t id, uint32_t e) {
    uint32_t *word = &net->pool[net->paths[id].first + e];
    if (*word & FLOW_LISTED) return;
    FlowResource *resource = &net->resources[*word];
    resource->members = mem_grow(resource->members, &resource->member_capacity,
                                 resource->member_count + 1, sizeof *resource->members);
    resource->members[resource->member_count++] = id;
    *word |= FLOW_LISTED;
}

// Resources whose level is below what the new flow can bring its own resources down to keep it.
static void restart_below(FlowNet *net, uint64_t level) {
    uint32_t low = 0, high = net->restart < net->order_count ? net->restart : net->order_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (net->resources[net->order[middle]].rate < level)
            low = middle + 1;
        else
            high = middle;
    }
    if (low >= net->restart) return;
    net->restart = low;
    if (low < net->open_set) net->open_set = low;
}

static bool has_room(const FlowNet *net, const FlowPath *path) {
    for (uint32_t e = 0; e < path->count; e++)
        if (flow_edge_load(net, path, e) >
            LOAD_MAX - net->shares[flow_edge_resource(net, path, e)].total)
            return false;
    return true;
}

static void start_instant(FlowNet *net, uint32_t id, Time now) {
    net->owner_of[id] = FLOW_ENDING;
    net->instant_time = now;
    net->instant = mem_grow(net->instant, &net->instant_capacity, net->instant_count + 1,
                            sizeof *net->instant);
    net->instant[net->instant_count++] = id;
}

bool flow_start(FlowNet *net, PathId id, uint64_t bytes, uint32_t tag, Time now) {
    assert(id < net->path_count);
    if (bytes > BYTES_MAX || !has_room(net, &net->paths[id])) return false;
    if (net->active++ == 0) net->busy_since = now;
    uint32_t flow = idle_copy(net, id);
    FlowPath *path = &net->paths[flow];
    net->owner_of[flow] = FLOW_WAITING;
    path->tag = tag;
    flow_set_mark(path, ((Wide)bytes << FLOW_RATE_SHIFT) * (Wide)PS_PER_SECOND);
    if (path->count == 0 || bytes == 0) {
        start_instant(net, flow, now);
        return true;
    }
    Wide lowest = FLOW_RATE_MAX;
    for (uint32_t e = 0; e < path->count; e++) {
        ResourceId r = flow_edge_resource(net, path, e);
        uint64_t load = flow_edge_load(net, path, e);
        list_path(net, flow, e);
        flow_add_load(net, r, load);
        net->shares[r].total += load;
        Wide capacity = wide_mul(net->resources[r].capacity_Bps, net->scale) << FLOW_RATE_SHIFT;
        if (net->restart == 0) continue;
        Wide level = capacity / net->shares[r].total;
        if (level < lowest) lowest = level;
    }
    restart_below(net, (uint64_t)lowest);
    net->is_stale = net->has_new = true;
    return true;
}

// When the resource's own flows reach a mark.
static Time time_of(const FlowResource *resource, Wide mark) {
    Wide left = mark > resource->work ? mark - resource->work : 0;
    Wide wait = wide_div_up(left, resource->rate);
    return wait < (Wide)(TIME_MAX - resource->updated) ? resource->updated + (Time)wait
                                                       : TIME_MAX - 1;
}

static Time finish_at(FlowNet *net, ResourceId r) {
    FlowResource *resource = &net->resources[r];
    if (!resource->is_finish_known)
        resource->finish = time_of(resource, flow_mark(&net->paths[resource->own[0]]));
    resource->is_finish_known = true;
    return resource->finish;
}

// The last mark that the own flows reach until then: those that do are the top of the heap, walked
// from left to right.
static Wide last_mark(const FlowNet *net, const FlowResource *resource, Time until) {
    Wide work = flow_work(resource, until), last = 0;
    for (uint32_t i = 0;;) {
        Wide mark = i < resource->own_count ? flow_mark(&net->paths[resource->own[i]]) : work + 1;
        if (mark <= work) {
            if (mark > last) last = mark;
            i = 2 * i + 1;
            continue;
        }
        while (i > 0 && i % 2 == 0) i = (i - 1) / 2; // right children have no further sibling
        if (i == 0) return last;
        i++;
    }
}

// The last end that is so close behind `next` that eps makes them one.
static Time last_before(FlowNet *net, Time next) {
    Time until = next, last = next;
    if (next > net->busy_since)
        until += (Time)wide_mul_div((uint64_t)(next - net->busy_since), net->eps_ppb, PPB);
    for (uint32_t i = 0; i < net->owner_count; i++) {
        const FlowResource *resource = &net->resources[net->owners[i]];
        if (finish_at(net, net->owners[i]) > until) continue;
        Time finish = time_of(resource, last_mark(net, resource, until));
        if (finish > last) last = finish;
    }
    return last;
}

Time flow_next(FlowNet *net) {
    if (net->instant_taken < net->instant_count) return net->instant_time;
    Time next = TIME_MAX;
    for (uint32_t i = 0; i < net->owner_count; i++) {
        Time finish = finish_at(net, net->owners[i]);
        if (finish < next) next = finish;
    }
    if (net->eps_ppb > 0 && next < TIME_MAX) next = last_before(net, next);
    return net->burst_next < next ? net->burst_next : next;
}

// Puts the resource behind the members of the open set that keep their level.
static void leave_set(FlowNet *net, ResourceId r) {
    FlowResource *resource = &net->resources[r];
    if (!resource->is_frozen || resource->at < net->open_set || resource->at >= net->restart)
        return;
    uint32_t last = --net->restart, at = resource->at;
    ResourceId other = net->order[last];
    net->order[at] = other;
    net->order[last] = r;
    net->resources[other].at = at;
    resource->at = last;
}

// Filling does not see whether a flow is there before it reaches the level of the flow's owner. At
// that level the members of the owner's set that the flow does not cross freeze as before.
static void restart_after_set(FlowNet *net, uint32_t flow) {
    const FlowPath *path = &net->paths[flow];
    uint32_t start = net->resources[net->owner_of[flow]].set_start;
    if (start > net->open_set) return;
    if (start < net->open_set) {
        net->open_set = start;
        net->restart = net->set_end[start];
    }
    for (uint32_t e = 0; e < path->count; e++) leave_set(net, flow_edge_resource(net, path, e));
}

// What the flow held is free from now on.
static void end_flow(FlowNet *net, uint32_t flow) {
    FlowPath *path = &net->paths[flow];
    FlowResource *owner = &net->resources[net->owner_of[flow]];
    restart_after_set(net, flow);
    for (uint32_t e = 0; e < path->count; e++) {
        FlowShare *share = &net->shares[flow_edge_resource(net, path, e)];
        uint64_t load = flow_edge_load(net, path, e);
        share->left += wide_mul(owner->rate, load);
        share->total -= load;
    }
    flow_leave(net, flow);
    net->owner_of[flow] = FLOW_IDLE;
    net->is_stale = true;
}

static void note_late(FlowNet *net, Time finish, Time now) {
    if (finish >= now) return;
    uint64_t late =
        wide_mul_div_up((uint64_t)(now - finish), PPB, (uint64_t)(now - net->busy_since));
    if (late > net->stats.late_ppb) net->stats.late_ppb = late;
}

static bool take_instant(FlowNet *net, uint32_t *out_tag) {
    if (net->instant_taken == net->instant_count) return false;
    uint32_t flow = net->instant[net->instant_taken++];
    *out_tag = net->paths[flow].tag;
    net->owner_of[flow] = FLOW_IDLE;
    if (net->instant_taken == net->instant_count) net->instant_taken = net->instant_count = 0;
    return true;
}

bool flow_take(FlowNet *net, Time now, uint32_t *out_tag) {
    if (take_instant(net, out_tag)) {
        net->active--;
        return true;
    }
    for (; net->next_owner < net->owner_count; net->next_owner++) {
        ResourceId r = net->owners[net->next_owner];
        if (finish_at(net, r) > now) continue;
        FlowResource *resource = &net->resources[r];
        uint32_t flow = resource->own[0];
        Time finish = resource->finish;
        Wide mark = flow_mark(&net->paths[flow]);
        *out_tag = net->paths[flow].tag;
        note_late(net, finish, now);
        end_flow(net, flow); // the last one takes its owner from the list, and another its place
        if (resource->own_count > 0 && flow_mark(&net->paths[resource->own[0]]) == mark) {
            resource->finish = finish;
            resource->is_finish_known = true;
        }
        net->active--;
        return true;
    }
    return false;
}

uint64_t flow_rate(const FlowNet *net, uint32_t tag) {
    for (uint32_t i = 0; i < net->path_count; i++) {
        uint32_t owner = net->owner_of[i];
        if (owner < FLOW_ENDING && net->paths[i].tag == tag) return net->resources[owner].rate;
    }
    return 0;
}

uint32_t flow_active(const FlowNet *net) {
    return net->active;
}

static int compare_tags(const void *a, const void *b) {
    const FlowLeft *x = a, *y = b;
    if (x->tag != y->tag) return x->tag < y->tag ? -1 : 1;
    return x->left < y->left ? -1 : x->left > y->left;
}

void flow_list(const FlowNet *net, Time now, FlowLeft *out) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < net->owner_count; i++) {
        const FlowResource *resource = &net->resources[net->owners[i]];
        Wide work = flow_work(resource, now);
        for (uint32_t k = 0; k < resource->own_count; k++) {
            const FlowPath *path = &net->paths[resource->own[k]];
            Wide mark = flow_mark(path);
            out[count++] = (FlowLeft){mark > work ? mark - work : 0, path->tag};
        }
    }
    assert(count == net->active);
    if (count > 0) qsort(out, count, sizeof *out, compare_tags);
}

void flow_shift(FlowNet *net, Time wait) {
    net->busy_since += wait;
    flow_burst_shift(net, wait);
    for (uint32_t i = 0; i < net->owner_count; i++) {
        FlowResource *resource = &net->resources[net->owners[i]];
        resource->updated += wait;
        if (resource->is_finish_known && resource->finish < TIME_MAX - 1 - wait)
            resource->finish += wait;
    }
}

void flow_set_eps(FlowNet *net, uint32_t ppb) {
    net->eps_ppb = ppb;
}

FlowStats flow_stats(const FlowNet *net) {
    return net->stats;
}
