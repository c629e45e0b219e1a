// Which flows a resource limits, in a heap by the work at which they end, and what these flows load
// elsewhere.
#include <assert.h>

#include "model/base/mem.h"
#include "sim/flow_fill.h"

Wide flow_work(const FlowResource *resource, Time now) {
    return resource->work + wide_mul(resource->rate, (uint64_t)(now - resource->updated));
}

void flow_set_rate(FlowResource *resource, uint64_t rate, Time now) {
    if (resource->own_count == 0) {
        resource->work = 0;
    } else if (rate == resource->rate)
        return;
    else
        resource->work = flow_work(resource, now);
    resource->updated = now;
    resource->rate = rate;
    resource->is_finish_known = false;
}

void flow_touch(FlowNet *net, ResourceId r) {
    net->touched = mem_grow(net->touched, &net->touched_capacity, net->touched_count + 1,
                            sizeof *net->touched);
    net->touched[net->touched_count++] = r;
}

static bool is_before(const FlowNet *net, uint32_t a, uint32_t b) {
    return flow_mark(&net->paths[a]) < flow_mark(&net->paths[b]);
}

static void place(FlowNet *net, FlowResource *resource, uint32_t at, uint32_t flow) {
    resource->own[at] = flow;
    net->paths[flow].position = at;
}

static void sift_up(FlowNet *net, FlowResource *resource, uint32_t at, uint32_t flow) {
    while (at > 0 && is_before(net, flow, resource->own[(at - 1) / 2])) {
        place(net, resource, at, resource->own[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    place(net, resource, at, flow);
}

static void sift_down(FlowNet *net, FlowResource *resource, uint32_t at, uint32_t flow) {
    for (uint32_t child; (child = 2 * at + 1) < resource->own_count; at = child) {
        if (child + 1 < resource->own_count &&
            is_before(net, resource->own[child + 1], resource->own[child]))
            child++;
        if (!is_before(net, resource->own[child], flow)) break;
        place(net, resource, at, resource->own[child]);
    }
    place(net, resource, at, flow);
}

static uint32_t find_adjacent(const FlowResource *resource, ResourceId to) {
    uint32_t i = 0;
    while (i < resource->adjacent_count && resource->adjacent[i].resource != to) i++;
    return i;
}

static void add_adjacent(FlowResource *resource, ResourceId to, uint64_t load) {
    uint32_t i = find_adjacent(resource, to);
    if (i == resource->adjacent_count) {
        resource->adjacent = mem_grow(resource->adjacent, &resource->adjacent_capacity, i + 1,
                                      sizeof *resource->adjacent);
        resource->adjacent[resource->adjacent_count++] = (FlowAdjacent){to, 0};
    }
    resource->adjacent[i].coefficient += load;
}

static void remove_adjacent(FlowResource *resource, ResourceId to, uint64_t load) {
    uint32_t i = find_adjacent(resource, to);
    assert(i < resource->adjacent_count && resource->adjacent[i].coefficient >= load);
    resource->adjacent[i].coefficient -= load;
    if (resource->adjacent[i].coefficient == 0)
        resource->adjacent[i] = resource->adjacent[--resource->adjacent_count];
}

static void add_owner(FlowNet *net, ResourceId r) {
    net->owners =
        mem_grow(net->owners, &net->owner_capacity, net->owner_count + 1, sizeof *net->owners);
    net->resources[r].owner = net->owner_count;
    net->owners[net->owner_count++] = r;
}

static void remove_owner(FlowNet *net, ResourceId r) {
    FlowResource *resource = &net->resources[r];
    ResourceId last = net->owners[--net->owner_count];
    net->owners[resource->owner] = last;
    net->resources[last].owner = resource->owner;
    resource->owner = FLOW_NONE;
    resource->has_adjacent = false;
    resource->adjacent_count = 0;
}

// The resource has its rate of now on; `left` is what the flow has still to move.
void flow_join(FlowNet *net, ResourceId r, uint32_t flow, Wide left, Time now) {
    FlowResource *resource = &net->resources[r];
    FlowPath *path = &net->paths[flow];
    if (resource->own_count == 0) add_owner(net, r);
    resource->own = mem_grow(resource->own, &resource->own_capacity, resource->own_count + 1,
                             sizeof *resource->own);
    net->owner_of[flow] = r;
    flow_set_mark(path, flow_work(resource, now) + left);
    sift_up(net, resource, resource->own_count++, flow);
    if (path->position == 0) resource->is_finish_known = false;
    for (uint32_t e = 0; e < path->count; e++) {
        ResourceId to = flow_edge_resource(net, path, e);
        if (to == r)
            resource->own_load += flow_edge_load(net, path, e);
        else if (resource->has_adjacent)
            add_adjacent(resource, to, flow_edge_load(net, path, e));
    }
    resource->steady = 0;
}

void flow_leave(FlowNet *net, uint32_t flow) {
    FlowPath *path = &net->paths[flow];
    ResourceId r = net->owner_of[flow];
    FlowResource *resource = &net->resources[r];
    uint32_t at = path->position, last = resource->own[--resource->own_count];
    if (at == 0) resource->is_finish_known = false;
    if (last != flow) {
        if (at > 0 && is_before(net, last, resource->own[(at - 1) / 2]))
            sift_up(net, resource, at, last);
        else
            sift_down(net, resource, at, last);
    }
    for (uint32_t e = 0; e < path->count; e++) {
        ResourceId to = flow_edge_resource(net, path, e);
        if (to == r)
            resource->own_load -= flow_edge_load(net, path, e);
        else if (resource->has_adjacent)
            remove_adjacent(resource, to, flow_edge_load(net, path, e));
    }
    if (resource->own_count == 0) remove_owner(net, r);
}
