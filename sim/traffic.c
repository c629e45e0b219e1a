// From collectives and sends to flows.
//
// Folded, one rank of each role stands for all: its peers are counted by role and by which digits
// of the GPU index differ (layout.c), and each such relation is one flow whose links come from
// fold.c. Expanded, every pair of ranks is a flow of its own.
#include "sim/traffic.h"

#include <assert.h>
#include <string.h>

#include "model/base/hash.h"
#include "model/base/wide.h"

#define EXPANDED_FLOWS_MAX                                                                         \
    300000 // transfers of one step of one group; about 100 MB of edges on an NVL72

struct TrafficRoute {
    FlowEdge *edges;
    uint32_t edge_count;
    uint64_t scale;
    TrafficLatency latency;
};

// Which pair of GPUs, standing for how many transfers between which roles.
typedef struct Pair {
    uint32_t from_gpu, to_gpu;
    RoleId from_role, to_role; // folded only
    FoldPairing pairing;
    uint64_t flows;
} Pair;

bool traffic_open(TrafficContext *context, Net *net, const Schedule *schedule,
                  const StepShape *shape, const Load *load, uint32_t first_gpu, SimForm form,
                  Err *err) {
    *context = (TrafficContext){
        .net = net, .schedule = schedule, .shape = shape, .load = load, .first_gpu = first_gpu};
    if (schedule->rank_count > net->fabric->gpu_count - first_gpu)
        return err_set(err, "the schedule has %u ranks, the machine %u GPUs from GPU %u on",
                       schedule->rank_count, net->fabric->gpu_count - first_gpu, first_gpu);
    if (load->kind != LOAD_UNIFORM)
        return err_set(err, "a recorded load cannot be simulated yet; use a uniform one");
    if (form == SIM_EXPANDED) return true;
    context->is_folded = true;
    return layout_open(&context->layout, net->fabric, schedule, first_gpu, &context->arena, err);
}

void traffic_close(TrafficContext *context) {
    arena_free(&context->arena);
    mem_free(context->routes);
    keymap_free(&context->route_by_pair);
    mem_free(context->loads);
    *context = (TrafficContext){0};
}

void traffic_free(Traffic *traffic) {
    mem_free(traffic->flows);
    mem_free(traffic->latencies);
    mem_free(traffic->steps);
    *traffic = (Traffic){0};
}

static Digest pair_key(const Pair *pair) {
    Digest key = hash_u64(HASH_START, ((uint64_t)pair->from_gpu << 32) | pair->to_gpu);
    key = hash_u64(key, ((uint64_t)pair->from_role << 32) | pair->to_role);
    return hash_u64(hash_u64(key, pair->flows), (uint64_t)pair->pairing);
}

static const TrafficRoute *add_route(TrafficContext *context, Digest key,
                                     const TrafficRoute *route) {
    context->routes = mem_grow(context->routes, &context->route_capacity, context->route_count + 1,
                               sizeof *context->routes);
    keymap_add(&context->route_by_pair, key, context->route_count);
    context->routes[context->route_count] = *route;
    return &context->routes[context->route_count++];
}

static bool folded_edges(TrafficContext *context, const Pair *pair, TrafficRoute *out, Err *err) {
    FoldRoute fold = {0};
    const Fabric *fabric = context->net->fabric;
    const Layout *layout = &context->layout;
    const LayoutShape *shape = layout_shape(layout, pair->from_gpu, pair->to_gpu);
    FoldPair alike = {.from_gpu = pair->from_gpu,
                      .to_gpu = pair->to_gpu,
                      .from_box = layout_box(layout, shape, pair->from_role, err),
                      .pairing = pair->pairing,
                      .flows = pair->flows};
    if (!alike.from_box) return false;
    alike.to_box = layout_box(layout, shape, pair->to_role, err);
    if (!alike.to_box) return false;
    bool done = fold_route(fabric, &shape->shape, &alike, &fold, err);
    if (done) {
        out->edges = arena_alloc(&context->arena, fold.count, sizeof *out->edges);
        out->edge_count = fold.count;
        out->scale = fold.scale;
        out->latency =
            (TrafficLatency){fold.actual.latency_ps, net_step_param(fabric, &fold.actual)};
    }
    for (uint32_t i = 0; done && i < fold.count; i++) {
        out->edges[i].coefficient = fold.edges[i].coefficient;
        done = net_resource(context->net, &fold.edges[i].orbit, &out->edges[i].resource, err);
    }
    fold_route_free(&fold);
    return done;
}

static bool single_edges(TrafficContext *context, const Pair *pair, TrafficRoute *out, Err *err) {
    Route route = {0};
    const Fabric *fabric = context->net->fabric;
    bool done = fabric_route(fabric, fabric_gpu(fabric, pair->from_gpu),
                             fabric_gpu(fabric, pair->to_gpu), &route, err);
    if (done) {
        out->edges = arena_alloc(&context->arena, route.count, sizeof *out->edges);
        out->edge_count = route.count;
        out->scale = route.weight_total;
        out->latency = (TrafficLatency){route.latency_ps, net_step_param(fabric, &route)};
    }
    for (uint32_t i = 0; done && i < route.count; i++) {
        LinkOrbit orbit = net_single(route.edges[i].link);
        out->edges[i].coefficient = route.edges[i].weight;
        done = net_resource(context->net, &orbit, &out->edges[i].resource, err);
    }
    fabric_route_free(&route);
    return done;
}

// Position of a latency in the step that is open; new ones are added. There are as many as kinds of
// paths.
static uint32_t latency_of(Traffic *traffic, const TrafficLatency *latency) {
    TrafficStep *step = &traffic->steps[traffic->step_count - 1];
    for (uint32_t i = 0; i < step->latency_count; i++) {
        const TrafficLatency *known = &traffic->latencies[step->first_latency + i];
        if (known->hardware_ps == latency->hardware_ps && known->step_param == latency->step_param)
            return i;
    }
    traffic->latencies = mem_grow(traffic->latencies, &traffic->latency_capacity,
                                  traffic->latency_count + 1, sizeof *traffic->latencies);
    traffic->latencies[traffic->latency_count++] = *latency;
    if (++step->latency_count > traffic->most_latencies)
        traffic->most_latencies = step->latency_count;
    return step->latency_count - 1;
}

// Adds the flow of a pair; its edges are found once and shared by all operations that use the pair
// alike.
static bool add_flow(TrafficContext *context, Traffic *traffic, const Pair *pair, uint64_t bytes,
                     Err *err) {
    Digest key = pair_key(pair);
    uint32_t found = keymap_find(&context->route_by_pair, key);
    const TrafficRoute *route = found == KEYMAP_NONE ? NULL : &context->routes[found];
    if (route == NULL) {
        TrafficRoute made = {0};
        if (context->is_folded ? !folded_edges(context, pair, &made, err)
                               : !single_edges(context, pair, &made, err))
            return false;
        route = add_route(context, key, &made);
    }
    traffic->flows = mem_grow(traffic->flows, &traffic->flow_capacity, traffic->flow_count + 1,
                              sizeof *traffic->flows);
    traffic->flows[traffic->flow_count++] =
        (TrafficFlow){.edges = route->edges,
                      .edge_count = route->edge_count,
                      .scale = route->scale,
                      .bytes = bytes,
                      .latency = latency_of(traffic, &route->latency)};
    return true;
}

static TrafficStep *open_step(Traffic *traffic, uint32_t repeat) {
    traffic->steps = mem_grow(traffic->steps, &traffic->step_capacity, traffic->step_count + 1,
                              sizeof *traffic->steps);
    TrafficStep *step = &traffic->steps[traffic->step_count++];
    *step = (TrafficStep){.first_flow = traffic->flow_count,
                          .first_latency = traffic->latency_count,
                          .repeat = repeat};
    return step;
}

// Load of a link in one step, the earliest that any of it can begin, and how long it takes.
struct LinkLoad {
    uint64_t bytes;
    Time earliest_ps, moving_ps;
};

static void load_links(TrafficContext *context, const TrafficFlow *flow, Time begin_ps) {
    for (uint32_t i = 0; i < flow->edge_count; i++) {
        LinkLoad *load = &context->loads[flow->edges[i].resource];
        if (load->bytes == 0 || begin_ps < load->earliest_ps) load->earliest_ps = begin_ps;
        load->bytes += wide_mul_div(flow->bytes, flow->edges[i].coefficient, flow->scale);
    }
}

static Time at_most(uint64_t ps) {
    return ps < (uint64_t)TIME_MAX / 4 ? (Time)ps : TIME_MAX / 4;
}

static void grow_loads(TrafficContext *context) {
    uint32_t old = context->load_capacity;
    context->loads = mem_grow(context->loads, &context->load_capacity,
                              context->net->flows.resource_count, sizeof *context->loads);
    for (uint32_t i = old; i < context->load_capacity; i++) context->loads[i] = (LinkLoad){0};
}

static void find_narrowest(const TrafficContext *context, TrafficFlow *flow) {
    Time fullest = -1;
    for (uint32_t i = 0; i < flow->edge_count; i++) {
        ResourceId r = flow->edges[i].resource;
        if (context->loads[r].moving_ps <= fullest) continue;
        fullest = context->loads[r].moving_ps;
        flow->narrowest = context->net->links[r].link.link_class;
    }
}

// The lower bound of a step: no link is faster than its load at nominal capacity when only this
// step runs, after the shortest latency among its transfers; no transfer is faster than its path.
static void close_step(TrafficContext *context, Traffic *traffic) {
    TrafficStep *step = &traffic->steps[traffic->step_count - 1];
    TrafficFlow *flows = &traffic->flows[step->first_flow];
    step->flow_count = traffic->flow_count - step->first_flow;
    grow_loads(context);
    Time bound = 0;
    for (uint32_t f = 0; f < step->flow_count; f++) {
        Time begin = traffic->latencies[step->first_latency + flows[f].latency].hardware_ps;
        if (begin > bound) bound = begin;
        load_links(context, &flows[f], begin);
    }
    for (ResourceId r = 0; r < context->net->flows.resource_count; r++) {
        LinkLoad *load = &context->loads[r];
        if (load->bytes == 0) continue;
        load->moving_ps = at_most(wide_mul_div(load->bytes, (uint64_t)PS_PER_SECOND,
                                               context->net->links[r].link.capacity_Bps));
        if (load->earliest_ps + load->moving_ps > bound)
            bound = load->earliest_ps + load->moving_ps;
    }
    for (uint32_t f = 0; f < step->flow_count; f++) find_narrowest(context, &flows[f]);
    for (ResourceId r = 0; r < context->net->flows.resource_count; r++)
        context->loads[r] = (LinkLoad){0};
    traffic->bound_ps += at_most(wide_mul_div((uint64_t)bound, step->repeat, 1));
}

// Bytes that a rank of `from` sends to a rank of `to` in one step of a collective.
static uint64_t pair_bytes(const TrafficContext *context, const Op *from, const Op *to, uint32_t n,
                           const StepTraffic *step) {
    const Comm *comm = &from->comm;
    uint64_t bytes = extent_value(&comm->bytes, context->shape);
    uint64_t part = 1, whole = n;
    const Comm *owner = comm->split == SPLIT_BY_SOURCE ? comm : &to->comm;
    if (comm->split != SPLIT_EVEN) {
        load_share(context->load, owner->moe_layer, owner->experts_total, owner->first_expert,
                   owner->experts, &part, &whole);
    } else if (step->chunks == CHUNK_ALL)
        whole = 1;
    else
        part = step->chunks;
    return wide_mul_div_up(bytes, part, whole);
}

// The operation of a role that carries the channel; every member of the group has one
// (schedule_check).
static const Op *op_of_role(const Schedule *schedule, RoleId role, uint32_t channel) {
    for (BlockId b = 0; b < schedule->block_count; b++) {
        const Block *block = &schedule->blocks[b];
        if (block->role != role) continue;
        for (uint32_t i = 0; i < block->op_count; i++) {
            const Op *op = &schedule->ops[block->first_op + i];
            if (op->kind == OP_COLLECTIVE && op->comm.channel == channel) return op;
        }
    }
    return NULL;
}

static bool fold_all_pairs(TrafficContext *context, const GroupFamily *family, const Op *op,
                           const StepTraffic *step, Traffic *traffic, Err *err) {
    const Schedule *schedule = context->schedule;
    for (RoleId a = 0; a < schedule->role_count; a++) {
        const Op *from = op_of_role(schedule, a, op->comm.channel);
        if (!from) continue;
        LayoutRelation relations[LAYOUT_RELATIONS_MAX];
        uint32_t count = 0, rank = schedule->roles[a].ranks.first;
        if (!layout_relations(&context->layout, family, rank, relations, &count, err)) return false;
        for (uint32_t r = 0; r < count; r++) {
            RoleId b = relations[r].role;
            uint32_t gpu = context->first_gpu + rank;
            if (a != b && !layout_is_inside(&context->layout, gpu, relations[r].gpu) &&
                !layout_roles_are_apart(&context->layout, a, b, err))
                return false;
            const Op *to = op_of_role(schedule, b, op->comm.channel);
            assert(to);
            uint64_t flows = relations[r].count * schedule_role_size(schedule, a);
            Pair pair = {gpu, relations[r].gpu, a, b, FOLD_ALL_PAIRS, flows};
            uint64_t bytes = pair_bytes(context, from, to, family->size, step);
            if (!add_flow(context, traffic, &pair, bytes, err)) return false;
        }
    }
    return true;
}

static bool fold_shift(TrafficContext *context, const GroupFamily *family, const Op *op,
                       const StepTraffic *step, Traffic *traffic, Err *err) {
    const Schedule *schedule = context->schedule;
    RoleId role = schedule->blocks[op->block].role;
    uint32_t rank = schedule->roles[role].ranks.first, group, position;
    if (!schedule_group_of(family, rank, &group, &position))
        return err_set(err, "rank %u is in no group of \"%s\"", rank, family->name);
    uint64_t members = (uint64_t)family->size * family->count;
    if (members != schedule_role_size(schedule, role))
        return err_set(err, "groups of \"%s\" mix roles", family->name);
    uint32_t first = schedule_group_member(family, group, 0),
             last = schedule_group_member(family, group, family->size - 1);
    if (!layout_is_inside(&context->layout, context->first_gpu + first, context->first_gpu + last))
        return err_set(err, "neighbours in groups of \"%s\" differ in place", family->name);
    uint32_t peer = schedule_group_member(family, group, (position + step->shift) % family->size);
    Pair pair = {
        context->first_gpu + rank, context->first_gpu + peer, role, role, FOLD_ONE_TO_ONE, members};
    uint64_t bytes = pair_bytes(context, op, op, family->size, step);
    return add_flow(context, traffic, &pair, bytes, err);
}

static bool expand_step(TrafficContext *context, const GroupFamily *family, uint32_t group,
                        const Op *op, const StepTraffic *step, Traffic *traffic, Err *err) {
    const Schedule *schedule = context->schedule;
    uint32_t n = family->size;
    uint64_t flows = step->pattern == PATTERN_SHIFT ? n : (uint64_t)n * (n - 1);
    if (flows > EXPANDED_FLOWS_MAX)
        return err_set(err, "a group of %u ranks is too large to expand", n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t a = schedule_group_member(family, group, i);
        const Op *from = op_of_role(schedule, schedule_role_of(schedule, a), op->comm.channel);
        uint32_t last = step->pattern == PATTERN_SHIFT ? 1 : n - 1;
        for (uint32_t k = 1; k <= last; k++) {
            uint32_t shift = step->pattern == PATTERN_SHIFT ? step->shift : k;
            uint32_t b = schedule_group_member(family, group, (i + shift) % n);
            const Op *to = op_of_role(schedule, schedule_role_of(schedule, b), op->comm.channel);
            assert(from && to);
            Pair pair = {
                .from_gpu = context->first_gpu + a, .to_gpu = context->first_gpu + b, .flows = 1};
            uint64_t bytes = pair_bytes(context, from, to, n, step);
            if (!add_flow(context, traffic, &pair, bytes, err)) return false;
        }
    }
    return true;
}

bool traffic_collective(TrafficContext *context, OpId id, uint32_t group, Traffic *out, Err *err) {
    const Op *op = &context->schedule->ops[id];
    const GroupFamily *family = &context->schedule->groups[op->comm.group];
    if (context->is_folded && !layout_groups_are_regular(&context->layout, family, err))
        return false;
    Collective kind = op->comm.collective;
    Algorithm algorithm = op->comm.algorithm;
    uint32_t steps = collective_steps(kind, algorithm, family->size);
    for (uint32_t s = 0; s < steps;) {
        StepTraffic step = collective_traffic(kind, algorithm, family->size, s);
        open_step(out, step.repeat);
        bool done;
        if (!context->is_folded)
            done = expand_step(context, family, group, op, &step, out, err);
        else if (step.pattern == PATTERN_ALL_PAIRS)
            done = fold_all_pairs(context, family, op, &step, out, err);
        else
            done = fold_shift(context, family, op, &step, out, err);
        if (!done) return false;
        close_step(context, out);
        s += step.repeat;
    }
    return true;
}

bool traffic_send(TrafficContext *context, OpId id, uint32_t index, Traffic *out, Err *err) {
    const Schedule *schedule = context->schedule;
    const Op *op = &schedule->ops[id];
    RoleId a = schedule_op_role(schedule, id), b = op->comm.peer;
    const RankSet *from = &schedule->roles[a].ranks, *to = &schedule->roles[b].ranks;
    uint32_t at = context->is_folded ? 0 : index;
    uint32_t from_rank = schedule_rank_at(from, at), to_rank = schedule_rank_at(to, at);
    Pair pair = {.from_gpu = context->first_gpu + from_rank,
                 .to_gpu = context->first_gpu + to_rank,
                 .flows = 1};
    if (context->is_folded) {
        uint32_t last = schedule_set_size(from) - 1;
        uint32_t last_from = context->first_gpu + schedule_rank_at(from, last);
        uint32_t last_to = context->first_gpu + schedule_rank_at(to, last);
        if (layout_difference(&context->layout, pair.from_gpu, pair.to_gpu) !=
            layout_difference(&context->layout, last_from, last_to))
            return err_set(err, "transfers from role \"%s\" differ in place",
                           schedule->roles[a].name);
        pair.from_role = a;
        pair.to_role = b;
        pair.pairing = FOLD_ONE_TO_ONE;
        pair.flows = schedule_set_size(from);
    }
    open_step(out, 1);
    uint64_t bytes = extent_value(&op->comm.bytes, context->shape);
    if (!add_flow(context, out, &pair, bytes, err)) return false;
    close_step(context, out);
    return true;
}
