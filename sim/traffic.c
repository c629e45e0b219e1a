// From collectives and sends to flows, folded: one rank of each role stands for all.
//
// Its peers are counted by role and by which digits of the GPU index differ (layout.c), and each
// such relation is one flow whose links come from fold.c. What is not as regular is refused here,
// and refined (refine.h).
#include "sim/traffic.h"

#include <assert.h>

#include "model/base/hash.h"
#include "model/base/wide.h"
#include "model/plan/schedule_comm.h"

// Which links of a route: all, those that leave the source, or those that reach the destination.
typedef enum PairSide { SIDE_BOTH, SIDE_UP, SIDE_DOWN } PairSide;

// Which pair of GPUs, standing for how many transfers between which roles.
typedef struct Pair {
    uint32_t from_gpu, to_gpu;
    RoleId from_role, to_role;
    FoldPairing pairing;
    PairSide side;
    uint64_t flows;
} Pair;

bool traffic_open(TrafficContext *context, Net *net, const Schedule *schedule,
                  const StepShape *shape, const Load *load, uint32_t first_gpu, Err *err) {
    *context = (TrafficContext){
        .net = net, .schedule = schedule, .shape = shape, .load = load, .first_gpu = first_gpu};
    if (schedule->rank_count > net->fabric->gpu_count - first_gpu)
        return err_set(err, "the schedule has %u ranks, the machine %u GPUs from GPU %u on",
                       schedule->rank_count, net->fabric->gpu_count - first_gpu, first_gpu);
    if (load->kind != LOAD_UNIFORM)
        return err_set(err, "the load is not alike for all ranks of a role");
    return layout_open(&context->layout, net->fabric, schedule, first_gpu, &context->arena, err);
}

void traffic_close(TrafficContext *context) {
    arena_free(&context->arena);
    mem_free(context->routes);
    keymap_free(&context->route_by_pair);
    *context = (TrafficContext){0};
}

static Digest pair_key(const Pair *pair) {
    Digest key = hash_u64(HASH_START, ((uint64_t)pair->from_gpu << 32) | pair->to_gpu);
    key = hash_u64(key, ((uint64_t)pair->from_role << 32) | pair->to_role);
    key = hash_u64(hash_u64(key, pair->flows), (uint64_t)pair->pairing);
    return hash_u64(key, (uint64_t)pair->side);
}

static const TrafficRoute *add_route(TrafficContext *context, Digest key,
                                     const TrafficRoute *route) {
    context->routes = mem_grow(context->routes, &context->route_capacity, context->route_count + 1,
                               sizeof *context->routes);
    keymap_add(&context->route_by_pair, key, context->route_count);
    context->routes[context->route_count] = *route;
    return &context->routes[context->route_count++];
}

static bool is_on_side(const TrafficContext *context, const Pair *pair, LinkId id) {
    const Fabric *fabric = context->net->fabric;
    FabricLink link = fabric_link(fabric, id);
    switch (pair->side) {
    case SIDE_BOTH: break;
    case SIDE_UP: return fabric_class(fabric, link.from)->kind == PART_GPU;
    case SIDE_DOWN: return fabric_class(fabric, link.to)->kind == PART_GPU;
    }
    return true;
}

static bool sums(const Fabric *fabric, const Route *route) {
    for (uint32_t i = 0; i < route->count; i++)
        if (!net_link_sums(fabric, route->edges[i].link)) return false;
    return route->hops == 2;
}

static bool check_switch(const TrafficContext *context, const Pair *pair, const Route *route,
                         Err *err) {
    return pair->side == SIDE_BOTH || sums(context->net->fabric, route) ||
           err_set(err, "GPUs %u and %u share no switch that sums", pair->from_gpu, pair->to_gpu);
}

// As the memory has it, or found and kept in *own.
static const FoldRoute *find_fold(const TrafficContext *context, const LayoutShape *shape,
                                  const FoldPair *pair, FoldRoute *own, Err *err) {
    if (context->memory != NULL)
        return fold_memory_route(context->memory, &shape->shape, pair, err);
    return fold_route(context->net->fabric, &shape->shape, pair, own, err) ? own : NULL;
}

static bool folded_edges(TrafficContext *context, const Pair *pair, TrafficRoute *out, Err *err) {
    FoldRoute own = {0};
    const Fabric *fabric = context->net->fabric;
    const Layout *layout = &context->layout;
    const LayoutShape *shape = layout_shape(layout, pair->from_gpu, pair->to_gpu);
    FoldPair alike = {.from_gpu = pair->from_gpu,
                      .to_gpu = pair->to_gpu,
                      .from_box = layout_box(layout, shape, pair->from_role, err),
                      .pairing = pair->pairing,
                      .flows = pair->flows,
                      .tells_ends = layout->is_split};
    if (!alike.from_box) return false;
    alike.to_box = layout_box(layout, shape, pair->to_role, err);
    if (!alike.to_box) return false;
    const FoldRoute *fold = find_fold(context, shape, &alike, &own, err);
    bool done = fold != NULL && check_switch(context, pair, &fold->actual, err);
    if (done) {
        out->edges = arena_alloc(&context->arena, fold->count, sizeof *out->edges);
        out->scale = fold->scale;
        out->latency =
            (TrafficLatency){fold->actual.latency_ps, net_step_param(fabric, &fold->actual)};
        TierShape tier = tier_shape(fabric, &fold->actual);
        out->tier = arena_copy(&context->arena, &tier, 1, sizeof tier);
    }
    for (uint32_t i = 0; done && i < fold->count; i++) {
        if (!is_on_side(context, pair, fold->edges[i].orbit.base)) continue;
        FlowEdge *edge = &out->edges[out->edge_count++];
        edge->coefficient = fold->edges[i].coefficient;
        done = net_resource(context->net, &fold->edges[i].orbit, &edge->resource, err);
    }
    if (done)
        done = net_path(context->net, out->edges, out->edge_count, out->scale, &out->path, err);
    fold_route_free(&own);
    return done;
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
        if (!folded_edges(context, pair, &made, err)) return false;
        route = add_route(context, key, &made);
    }
    traffic_add(traffic, route, bytes, pair->flows);
    return true;
}

// One step of a collective of a family of groups.
typedef struct Step {
    const OpId *ops; // of the roles that meet
    uint32_t op_count;
    const Op *op; // the first of them
    const GroupFamily *family;
    CollectiveShape shape;
    StepTraffic traffic;
} Step;

// The operation of a role, NULL when it is not in the groups at hand; every member of those has one
// (schedule_check).
static const Op *op_of_role(const TrafficContext *context, const Step *step, RoleId role) {
    for (uint32_t i = 0; i < step->op_count; i++)
        if (schedule_op_role(context->schedule, step->ops[i]) == role)
            return &context->schedule->ops[step->ops[i]];
    return NULL;
}

static const Op *op_of_rank(const TrafficContext *context, const Step *step, uint32_t rank) {
    const Op *op = op_of_role(context, step, schedule_role_of(context->schedule, rank));
    assert(op);
    return op;
}

// What a rank sends to the experts of `owner`, or gets back from them.
static uint64_t routed_bytes(const TrafficContext *context, const Op *owner) {
    const Comm *comm = &owner->comm;
    uint64_t part, whole;
    load_share(context->load, comm->moe_layer, comm->experts_total, comm->first_expert,
               comm->experts, &part, &whole);
    return wide_mul_div_up(extent_value(&comm->bytes, context->shape), part, whole);
}

// Inside a node moves what one of its ranks exchanges with one rank of every node, on a rail what
// one rank exchanges with all ranks of a node, each token once.
static uint64_t routed_step_bytes(const TrafficContext *context, const Step *step,
                                  uint32_t owner_rank) {
    uint32_t group, position, inner = step->shape.inner;
    const Comm *comm = &step->op->comm;
    uint64_t sum = routed_bytes(context, op_of_rank(context, step, owner_rank));
    if (step->traffic.scope == SCOPE_GROUP) return sum;
    if (step->traffic.scope == SCOPE_NODE)
        return wide_mul_saturate(sum, step->shape.n / step->shape.inner);
    sum = 0;
    if (!schedule_group_of(step->family, owner_rank, &group, &position)) return 0;
    for (uint32_t i = position / inner * inner; i < position / inner * inner + inner; i++) {
        uint32_t rank = schedule_group_member(step->family, group, i);
        sum = wide_add_saturate(sum, routed_bytes(context, op_of_rank(context, step, rank)));
    }
    return wide_mul_div_up(sum, comm->rail_ppm > 0 ? comm->rail_ppm : SCHEDULE_RAIL_WHOLE,
                           SCHEDULE_RAIL_WHOLE);
}

// Bytes that a rank sends to another one in a step, `chunks` of the n that data is cut into.
static uint64_t pair_bytes(const TrafficContext *context, const Step *step, uint32_t from,
                           uint32_t to, uint32_t chunks) {
    const Comm *comm = &step->op->comm;
    if (comm->split != SPLIT_EVEN)
        return routed_step_bytes(context, step, comm->split == SPLIT_BY_SOURCE ? from : to);
    uint64_t bytes = extent_value(&comm->bytes, context->shape);
    // chunks that follow each other are cut once, those of nodes and rails lie apart
    if (step->traffic.scope == SCOPE_GROUP) return wide_mul_div_up(bytes, chunks, step->shape.n);
    return wide_mul_saturate(wide_mul_div_up(bytes, 1, step->shape.n), chunks);
}

// ---- One step

static bool is_of_one_role(const TrafficContext *context, const Step *step) {
    RoleId role = schedule_role_of(context->schedule, schedule_group_member(step->family, 0, 0));
    return (uint64_t)step->family->size * step->family->count ==
           schedule_role_size(context->schedule, role);
}

// The ranks that a step joins as groups of their own: of a node they follow each other in the
// group, of a rail they are `inner` apart.
static bool scope_family(const TrafficContext *context, const Step *step, GroupFamily *out,
                         Err *err) {
    const GroupFamily *family = step->family;
    uint32_t inner = step->shape.inner, nodes = inner > 0 ? step->shape.n / inner : 0;
    *out = *family;
    if (step->traffic.scope == SCOPE_GROUP) return true;
    bool on_rail = step->traffic.scope == SCOPE_RAIL;
    uint32_t stride = family->stride > 0 ? family->stride : 1, times = on_rail ? inner : nodes;
    if (family->count % stride != 0 || family->per_period % stride != 0)
        return err_set(err, "groups of \"%s\" are interleaved in part", family->name);
    if (on_rail && step->op->comm.split != SPLIT_EVEN && !is_of_one_role(context, step))
        return err_set(err, "nodes of \"%s\" have different experts", family->name);
    out->size = on_rail ? nodes : inner;
    out->stride = on_rail ? stride * inner : stride;
    out->count *= times;
    out->per_period *= times;
    return layout_groups_are_regular(&context->layout, out, err);
}

static bool fold_all_pairs(TrafficContext *context, const Step *step, Traffic *traffic, Err *err) {
    const Schedule *schedule = context->schedule;
    GroupFamily family;
    if (!scope_family(context, step, &family, err)) return false;
    for (RoleId a = 0; a < schedule->role_count; a++) {
        if (!op_of_role(context, step, a)) continue;
        traffic_add_senders(traffic, schedule_role_size(schedule, a));
        LayoutRelation relations[LAYOUT_RELATIONS_MAX];
        uint32_t count = 0, rank = schedule->roles[a].ranks.first;
        if (!layout_relations(&context->layout, &family, rank, relations, &count, err))
            return false;
        for (uint32_t r = 0; r < count; r++) {
            RoleId b = relations[r].role;
            uint32_t gpu = context->first_gpu + rank;
            if (a != b && !layout_is_inside(&context->layout, gpu, relations[r].gpu) &&
                !layout_roles_are_apart(&context->layout, a, b, err))
                return false;
            uint64_t flows = relations[r].count * schedule_role_size(schedule, a);
            Pair pair = {gpu, relations[r].gpu, a, b, FOLD_ALL_PAIRS, SIDE_BOTH, flows};
            uint64_t bytes = pair_bytes(context, step, rank, relations[r].gpu - context->first_gpu,
                                        step->traffic.chunks);
            if (!add_flow(context, traffic, &pair, bytes, err)) return false;
        }
    }
    return true;
}

// A pair of neighbours inside a domain that stands for all of them; all ranks have one role.
static bool fold_neighbours(TrafficContext *context, const Step *step, uint32_t shift, Pair *out,
                            Err *err) {
    const Schedule *schedule = context->schedule;
    const GroupFamily *family = step->family;
    RoleId role = schedule->blocks[step->op->block].role;
    uint32_t rank = schedule->roles[role].ranks.first, group, position;
    if (!schedule_group_of(family, rank, &group, &position))
        return err_set(err, "rank %u is in no group of \"%s\"", rank, family->name);
    if (!is_of_one_role(context, step))
        return err_set(err, "groups of \"%s\" mix roles", family->name);
    uint32_t first = schedule_group_member(family, group, 0),
             last = schedule_group_member(family, group, family->size - 1);
    if (!layout_is_inside(&context->layout, context->first_gpu + first, context->first_gpu + last))
        return err_set(err, "neighbours in groups of \"%s\" differ in place", family->name);
    uint32_t peer = schedule_group_member(family, group, (position + shift) % family->size);
    *out = (Pair){.from_gpu = context->first_gpu + rank,
                  .to_gpu = context->first_gpu + peer,
                  .from_role = role,
                  .to_role = role,
                  .pairing = FOLD_ONE_TO_ONE,
                  .flows = (uint64_t)family->size * family->count};
    return true;
}

static bool fold_shift(TrafficContext *context, const Step *step, Traffic *traffic, Err *err) {
    Pair pair;
    if (!fold_neighbours(context, step, step->traffic.shift, &pair, err)) return false;
    uint64_t bytes = pair_bytes(context, step, pair.from_gpu - context->first_gpu,
                                pair.to_gpu - context->first_gpu, step->traffic.chunks);
    traffic_add_senders(traffic, pair.flows);
    return add_flow(context, traffic, &pair, bytes, err);
}

// ---- Through the switch: what a rank sends to the switches of its domain and what it gets from
// them are flows over the first and the last link of its way to a neighbour.

static bool add_switch_flows(TrafficContext *context, const Step *step, const Pair *neighbours,
                             Traffic *traffic, Err *err) {
    Pair up = *neighbours, down = *neighbours;
    uint32_t from = up.from_gpu - context->first_gpu, to = up.to_gpu - context->first_gpu;
    up.side = SIDE_UP;
    down.side = SIDE_DOWN;
    return add_flow(context, traffic, &up,
                    pair_bytes(context, step, from, to, step->traffic.chunks), err) &&
           add_flow(context, traffic, &down,
                    pair_bytes(context, step, from, to, step->traffic.down), err);
}

static bool fold_in_switch(TrafficContext *context, const Step *step, Traffic *traffic, Err *err) {
    Pair pair;
    return fold_neighbours(context, step, 1, &pair, err) &&
           add_switch_flows(context, step, &pair, traffic, err);
}

static bool fold_step(TrafficContext *context, const Step *step, Traffic *traffic, Err *err) {
    switch (step->traffic.pattern) {
    case PATTERN_ALL_PAIRS: return fold_all_pairs(context, step, traffic, err);
    case PATTERN_SHIFT: return fold_shift(context, step, traffic, err);
    case PATTERN_IN_SWITCH: return fold_in_switch(context, step, traffic, err);
    case PATTERN_IRREGULAR: break;
    }
    return err_set(err, "%s %s: its ranks differ", algorithm_names[step->shape.algorithm],
                   collective_names[step->shape.kind]);
}

bool traffic_collective(TrafficContext *context, const OpId *ops, uint32_t op_count, Traffic *out,
                        Err *err) {
    const Op *op = &context->schedule->ops[ops[0]];
    const GroupFamily *family = &context->schedule->groups[op->comm.group];
    if (!layout_groups_are_regular(&context->layout, family, err)) return false;
    CollectiveShape shape = schedule_comm_shape(context->schedule, &op->comm);
    uint32_t steps = collective_steps(shape);
    for (uint32_t s = 0; s < steps;) {
        Step step = {.ops = ops,
                     .op_count = op_count,
                     .op = op,
                     .family = family,
                     .shape = shape,
                     .traffic = collective_traffic(shape, s)};
        traffic_open_step(out, step.traffic.repeat);
        if (!fold_step(context, &step, out, err)) return false;
        s += step.traffic.repeat;
    }
    return traffic_load_links(context->net, out, op->comm.algorithm, err);
}

bool traffic_send(TrafficContext *context, OpId id, Traffic *out, Err *err) {
    const Schedule *schedule = context->schedule;
    const Op *op = &schedule->ops[id];
    RoleId a = schedule_op_role(schedule, id), b = op->comm.peer;
    const RankSet *from = &schedule->roles[a].ranks, *to = &schedule->roles[b].ranks;
    uint32_t last = schedule_set_size(from) - 1;
    uint32_t last_from = context->first_gpu + schedule_rank_at(from, last);
    uint32_t last_to = context->first_gpu + schedule_rank_at(to, last);
    Pair pair = {.from_gpu = context->first_gpu + schedule_rank_at(from, 0),
                 .to_gpu = context->first_gpu + schedule_rank_at(to, 0),
                 .from_role = a,
                 .to_role = b,
                 .pairing = FOLD_ONE_TO_ONE,
                 .flows = schedule_set_size(from)};
    if (layout_difference(&context->layout, pair.from_gpu, pair.to_gpu) !=
        layout_difference(&context->layout, last_from, last_to))
        return err_set(err, "transfers from role \"%s\" differ in place", schedule->roles[a].name);
    traffic_open_step(out, 1);
    traffic_add_senders(out, pair.flows);
    return add_flow(context, out, &pair, extent_value(&op->comm.bytes, context->shape), err) &&
           traffic_load_links(context->net, out, ALGORITHM_DIRECT, err);
}
