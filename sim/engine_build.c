// Members, prices and meetings of a submission.
//
// Folded, a member is a role, and a collective has one meeting for all groups of the family. Else
// members and meetings are classes (refine.h), in the expanded form one for each rank and group.
//
// Invariant: meetings of one channel are neighbours; every communication of a member finds its
// meeting in meeting_of.
#include "model/base/mem.h"
#include "model/base/num.h"
#include "model/base/wide.h"
#include "sim/engine.h"
#include "sim/engine_compute.h"

// Members times operations of which sums are kept, about 250 B each.
#define CELLS_MAX (UINT32_C(1) << 23)

Price engine_price_of(const Submission *submission, const PriceModel *model, OpId id,
                      uint32_t rank) {
    const Op *op = &submission->schedule->ops[id];
    const Compute *compute = &op->compute;
    const StepShape *shape = &submission->shape;
    uint64_t m = extent_value(&compute->m, shape);
    PriceWeights weights = {compute->weight_format, compute->scale_B};
    switch (op->kind) {
    case OP_GEMM:
        return price_gemm(model, m, compute->n, compute->k, compute->batch, weights,
                          compute->math_format);
    case OP_GROUPED_GEMM: {
        uint64_t part, whole;
        load_rank_share(&submission->load, submission->schedule, id, rank, &part, &whole);
        PriceRouted routed = {.m = wide_mul_div_up(m, part, whole),
                              .experts = compute->experts,
                              .all_pairs = m,
                              .all_experts = compute->experts_total};
        return price_grouped_gemm(model, &routed, compute->n, compute->k, weights,
                                  compute->math_format);
    }
    case OP_ATTENTION:
        return price_attention(model, extent_value(&compute->flop, shape),
                               extent_value(&compute->bytes, shape));
    case OP_MEMORY:
    case OP_COPY:
        return price_memory(model, extent_value(&compute->flop, shape),
                            extent_value(&compute->bytes, shape));
    case OP_SEND:
    case OP_RECV:
    case OP_COLLECTIVE:
    case OP_KIND_COUNT: break;
    }
    return (Price){0};
}

// ---- Members

static Time slower(Time time_ps, uint32_t part, uint32_t whole) {
    uint64_t slowed = wide_mul_div_up((uint64_t)time_ps, whole, part);
    return slowed < (uint64_t)TIME_MAX ? (Time)slowed : TIME_MAX;
}

// A slow GPU does everything at a share of its rates.
static void slow_down(const Sim *sim, uint32_t gpu, Price *price) {
    uint32_t part, whole;
    fabric_gpu_rate(sim->fabric, fabric_live_gpu(sim->fabric, gpu), &part, &whole);
    if (part == whole) return;
    price->compute_ps = slower(price->compute_ps, part, whole);
    price->memory_ps = slower(price->memory_ps, part, whole);
    price->fixed_ps = slower(price->fixed_ps, part, whole);
    price->roofline_ps = slower(price->roofline_ps, part, whole);
    price->time_ps = slower(price->time_ps, part, whole);
}

static uint32_t live_of(const SimOptions *options, uint32_t rank) {
    return options->places != NULL ? options->places[rank] : options->first_gpu + rank;
}

// Members of one role differ in their prices under a recorded load, by their experts, and where
// some GPUs are slow.
static void build_prices(const Sim *sim, Submission *submission) {
    const Schedule *schedule = submission->schedule;
    bool is_each = submission->load.kind == LOAD_RECORDED || fabric_has_slow_gpus(sim->fabric);
    uint32_t rows = is_each ? submission->member_count : 1;
    submission->price_stride = is_each ? schedule->op_count : 0;
    submission->prices = arena_alloc(&submission->arena, (size_t)rows * schedule->op_count,
                                     sizeof *submission->prices);
    for (uint32_t row = 0; row < rows; row++)
        for (OpId o = 0; o < schedule->op_count; o++) {
            RoleId role = schedule_op_role(schedule, o);
            if (schedule_op_is_comm(schedule->ops[o].kind)) continue;
            if (is_each && submission->members[row].role != role) continue;
            uint32_t rank =
                is_each ? submission->members[row].first_rank : schedule->roles[role].ranks.first;
            Price *price = &submission->prices[(size_t)row * schedule->op_count + o];
            *price = engine_price_of(submission, sim->model, o, rank);
            slow_down(sim, live_of(&submission->options, rank), price);
        }
}

static void find_ops(const Schedule *schedule, Member *member) {
    member->first_op = member->end_op = 0;
    for (BlockId b = 0; b < schedule->block_count; b++) {
        const Block *block = &schedule->blocks[b];
        if (block->role != member->role || block->op_count == 0) continue;
        if (member->end_op == 0 || block->first_op < member->first_op)
            member->first_op = block->first_op;
        if (block->first_op + block->op_count > member->end_op)
            member->end_op = block->first_op + block->op_count;
    }
}

static void open_member(Submission *submission, Member *member) {
    const Schedule *schedule = submission->schedule;
    find_ops(schedule, member);
    member->done = arena_alloc(&submission->arena, schedule->op_count, sizeof *member->done);
    member->accounted = submission->when;
    for (uint32_t s = 0; s < schedule->stream_count; s++) {
        Stream *stream = &member->streams[s];
        stream->cursor = schedule_index_start(&submission->index, member->role, s);
        stream->state = stream->cursor.op == SCHEDULE_NONE ? STREAM_ENDED : STREAM_BLOCKED;
    }
}

static bool build_members(Submission *submission, const Refined *refined, Err *err) {
    const Schedule *schedule = submission->schedule;
    uint32_t count = refined == NULL ? schedule->role_count : refined->member_count;
    if ((uint64_t)count * schedule->op_count > CELLS_MAX)
        return err_set(err, "%u ranks of %u operations are too many to tell apart", count,
                       schedule->op_count);
    submission->member_count = count;
    submission->members = arena_alloc(&submission->arena, count, sizeof *submission->members);
    for (uint32_t m = 0; m < count; m++) {
        Member *member = &submission->members[m];
        *member = refined == NULL ? (Member){.role = m,
                                             .first_rank = schedule->roles[m].ranks.first,
                                             .ranks = schedule_role_size(schedule, m)}
                                  : (Member){.role = refined->members[m].role,
                                             .first_rank = refined->members[m].rank,
                                             .ranks = refined->members[m].ranks};
        open_member(submission, member);
    }
    size_t totals = 0;
    for (uint32_t m = 0; m < count; m++) {
        Member *member = &submission->members[m];
        member->first_total = (uint32_t)totals;
        totals += member->end_op - member->first_op;
    }
    submission->totals = arena_alloc(&submission->arena, totals, sizeof *submission->totals);
    return true;
}

// ---- Meetings

static Meeting *add_meeting(Submission *submission, uint32_t *capacity, OpId op,
                            uint32_t participants) {
    submission->meetings = mem_grow(submission->meetings, capacity, submission->meeting_count + 1,
                                    sizeof *submission->meetings);
    Meeting *meeting = &submission->meetings[submission->meeting_count++];
    *meeting = (Meeting){.op = op, .participant_count = participants};
    meeting->participants =
        arena_alloc(&submission->arena, participants, sizeof *meeting->participants);
    return meeting;
}

// Receives of a send that do not wait: `lag` passes of them.
static uint64_t received_ahead(const Submission *submission, const OpId *ops, uint32_t op_count) {
    uint64_t ahead = 0;
    for (uint32_t i = 0; i < op_count; i++) {
        const Op *op = &submission->schedule->ops[ops[i]];
        if (op->kind == OP_RECV)
            ahead += op->comm.lag * schedule_index_per_pass(&submission->index, ops[i]);
    }
    return ahead;
}

static void own_tags(Sim *sim, Submission *submission, Meeting *meeting) {
    uint32_t count = meeting->traffic.flow_count;
    meeting->first_tag = sim->tag_count;
    sim->tags =
        mem_grow(sim->tags, &sim->tag_capacity, sim->tag_count + count + 1, sizeof *sim->tags);
    TagOwner owner = {sim->submission_count, (uint32_t)(meeting - submission->meetings)};
    for (uint32_t i = 0; i < count; i++) sim->tags[sim->tag_count++] = owner;
}

// What a meeting needs once its flows are known.
static void finish_meeting(Sim *sim, Submission *submission, Meeting *meeting, const OpId *ops,
                           uint32_t op_count) {
    meeting->ahead = received_ahead(submission, ops, op_count);
    for (uint32_t i = 0; i < meeting->participant_count; i++)
        meeting->participants[i].exposed_before =
            arena_alloc(&submission->arena, meeting->traffic.most_latencies, sizeof(Time));
    own_tags(sim, submission, meeting);
}

static void set_meeting(Submission *submission, uint32_t member, OpId op, uint32_t meeting) {
    submission->meeting_of[(size_t)member * submission->schedule->op_count + op] = meeting;
}

// ---- Folded

// Whether groups of a family have ranks of both roles; all groups of a role are alike in this.
static bool roles_meet(const Schedule *schedule, const GroupFamily *family, RoleId a, RoleId b) {
    uint32_t group, position;
    if (!schedule_group_of(family, schedule->roles[a].ranks.first, &group, &position)) return false;
    for (uint32_t j = 0; j < family->size; j++)
        if (schedule_role_of(schedule, schedule_group_member(family, group, j)) == b) return true;
    return false;
}

// Moves the operations of the roles that meet that of ops[0] to the front; returns how many.
static uint32_t take_meeting(const Schedule *schedule, OpId *ops, uint32_t op_count) {
    const Op *first = &schedule->ops[ops[0]];
    RoleId role = schedule_op_role(schedule, ops[0]);
    uint32_t taken = 1;
    if (first->kind != OP_COLLECTIVE) return op_count;
    for (uint32_t i = 1; i < op_count; i++) {
        RoleId other = schedule_op_role(schedule, ops[i]);
        if (other != role &&
            !roles_meet(schedule, &schedule->groups[first->comm.group], role, other))
            continue;
        OpId op = ops[i];
        for (uint32_t k = i; k > taken; k--) ops[k] = ops[k - 1];
        ops[taken++] = op;
    }
    return taken;
}

// The meeting of some operations of a channel, one participant for each role.
static bool fold_meeting(Submission *submission, const OpId *ops, uint32_t op_count,
                         uint32_t *capacity, Err *err) {
    const Schedule *schedule = submission->schedule;
    TrafficContext *traffic = &submission->traffic;
    uint32_t id = submission->meeting_count;
    Meeting *meeting = add_meeting(submission, capacity, ops[0], op_count);
    meeting->participant_count = 0;
    for (uint32_t i = 0; i < op_count; i++) {
        RoleId role = schedule_op_role(schedule, ops[i]);
        uint32_t known = 0;
        while (known < meeting->participant_count && meeting->participants[known].member != role)
            known++;
        set_meeting(submission, role, ops[i], id);
        if (known == meeting->participant_count)
            meeting->participants[meeting->participant_count++] =
                (Participant){.member = role, .op = ops[i]};
    }
    bool done = schedule->ops[ops[0]].kind == OP_SEND
                    ? traffic_send(traffic, ops[0], &meeting->traffic, err)
                    : traffic_collective(traffic, ops, op_count, &meeting->traffic, err);
    return done || err_prefix(err, "operation \"%s\"", schedule->ops[ops[0]].name);
}

static bool fold_channel(Sim *sim, Submission *submission, OpId *ops, uint32_t op_count,
                         uint32_t *capacity, Err *err) {
    uint32_t first = submission->meeting_count, *counts = mem_alloc(op_count, sizeof *counts);
    bool done = true;
    for (uint32_t i = 0; done && i < op_count;) {
        uint32_t taken = take_meeting(submission->schedule, ops + i, op_count - i);
        done = fold_meeting(submission, ops + i, taken, capacity, err);
        counts[submission->meeting_count - 1 - first] = taken;
        i += taken;
    }
    uint32_t count = submission->meeting_count - first;
    Traffic **traffics = mem_alloc(count, sizeof(Traffic *));
    for (uint32_t i = 0; i < count; i++) traffics[i] = &submission->meetings[first + i].traffic;
    if (done) traffic_measure(&sim->net, traffics, count);
    for (uint32_t i = 0; done && i < count; ops += counts[i++])
        finish_meeting(sim, submission, &submission->meetings[first + i], ops, counts[i]);
    mem_free(traffics);
    mem_free(counts);
    return done;
}

static bool fold_meetings(Sim *sim, Submission *submission, Err *err) {
    const Schedule *schedule = submission->schedule;
    OpId *ops = mem_alloc(schedule->op_count, sizeof *ops);
    uint32_t capacity = 0;
    RefineChannelIndex index;
    refine_channel_index(schedule, &submission->arena, &index);
    bool done = true;
    for (OpId o = 0; done && o < schedule->op_count; o++) {
        OpKind kind = schedule->ops[o].kind;
        RoleId role = schedule_op_role(schedule, o);
        if ((kind != OP_COLLECTIVE && kind != OP_SEND) ||
            submission->meeting_of[(size_t)role * schedule->op_count + o] != SCHEDULE_NONE)
            continue;
        uint32_t count = refine_channel_ops(schedule, &index, &submission->shape, o, ops);
        done = fold_channel(sim, submission, ops, count, &capacity, err);
    }
    mem_free(ops);
    return done;
}

static bool build_folded(Sim *sim, Submission *submission, Err *err) {
    const Schedule *schedule = submission->schedule;
    size_t cells = (size_t)schedule->role_count * schedule->op_count;
    if (submission->options.places != NULL)
        return err_set(err, "ranks are not in the order of GPUs");
    if (!traffic_open(&submission->traffic, &sim->net, schedule, &submission->shape,
                      &submission->load, submission->options.first_gpu, err))
        return false;
    submission->traffic.memory = submission->options.routes;
    if (!build_members(submission, NULL, err)) return false;
    submission->meeting_of = arena_alloc(&submission->arena, cells, sizeof *submission->meeting_of);
    for (size_t i = 0; i < cells; i++) submission->meeting_of[i] = SCHEDULE_NONE;
    return fold_meetings(sim, submission, err);
}

// ---- Refined

// Links and paths of all classes, as resources and routes of flows.
static bool build_routes(Sim *sim, Submission *submission, const Refined *refined,
                         TrafficRoute *routes, Err *err) {
    Net *net = &sim->net;
    ResourceId *resources = mem_alloc(refined->link_count, sizeof *resources);
    bool done = net_cells(net, refined->cells, err);
    for (uint32_t i = 0; done && i < refined->link_count; i++) {
        const RefineLink *link = &refined->links[i];
        done = net_class(net, &refined->link_ids[link->first_id], link->id_count, link->links,
                         &resources[i], err);
    }
    for (uint32_t p = 0; done && p < refined->path_count; p++) {
        const RefinePath *path = &refined->paths[p];
        TrafficRoute *route = &routes[p];
        *route = (TrafficRoute){.edge_count = path->edge_count,
                                .scale = path->scale,
                                .latency = {path->latency_ps, path->step_param}};
        route->tier = arena_copy(&submission->arena, &path->tier, 1, sizeof path->tier);
        route->edges = arena_alloc(&submission->arena, path->edge_count, sizeof *route->edges);
        for (uint32_t i = 0; i < path->edge_count; i++) {
            const RefineEdge *edge = &refined->edges[path->first_edge + i];
            route->edges[i] = (FlowEdge){resources[edge->link], edge->coefficient};
        }
        done = net_path(net, route->edges, route->edge_count, route->scale, &route->path, err);
    }
    mem_free(resources);
    return done;
}

static bool refined_traffic(Net *net, const Refined *refined, const RefineMeeting *meeting,
                            const TrafficRoute *routes, Algorithm algorithm, Traffic *out,
                            Err *err) {
    for (uint32_t s = 0; s < meeting->step_count; s++) {
        const RefineStep *step = &refined->steps[meeting->first_step + s];
        if (step->flow_count == 0) continue; // in all meetings of the channel
        traffic_open_step(out, step->repeat);
        traffic_add_senders(out, meeting->senders);
        for (uint32_t f = step->first_flow; f < step->first_flow + step->flow_count; f++) {
            const RefineFlow *flow = &refined->flows[f];
            traffic_add(out, &routes[flow->path], flow->bytes, flow->transfers);
        }
    }
    return traffic_load_links(net, out, algorithm, err);
}

// The meetings of one channel, from `first` on; returns how many.
static uint32_t measure_channel(const Sim *sim, Submission *submission, const Refined *refined,
                                uint32_t first, Traffic **scratch) {
    uint32_t count = 0;
    while (first + count < refined->meeting_count &&
           refined->meetings[first + count].channel == refined->meetings[first].channel) {
        scratch[count] = &submission->meetings[first + count].traffic;
        count++;
    }
    traffic_measure(&sim->net, scratch, count);
    return count;
}

static bool build_meetings(Sim *sim, Submission *submission, const Refined *refined,
                           const TrafficRoute *routes, Err *err) {
    const Schedule *schedule = submission->schedule;
    uint32_t capacity = 0;
    RefineChannelIndex index;
    refine_channel_index(schedule, &submission->arena, &index);
    OpId *ops = mem_alloc(schedule->op_count, sizeof *ops);
    Traffic **scratch = mem_alloc(refined->meeting_count, sizeof(Traffic *));
    bool done = true;
    for (uint32_t i = 0; done && i < refined->meeting_count; i++) {
        const RefineMeeting *from = &refined->meetings[i];
        const RefineParticipant *participants = &refined->participants[from->first_participant];
        Meeting *meeting =
            add_meeting(submission, &capacity, participants[0].op, from->participant_count);
        for (uint32_t k = 0; k < from->participant_count; k++)
            meeting->participants[k] =
                (Participant){.member = participants[k].member, .op = participants[k].op};
        Algorithm algorithm = schedule->ops[meeting->op].comm.algorithm; // direct, of a send
        done = refined_traffic(&sim->net, refined, from, routes, algorithm, &meeting->traffic, err);
    }
    for (uint32_t i = 0; done && i < refined->meeting_count;)
        i += measure_channel(sim, submission, refined, i, scratch);
    for (uint32_t i = 0; done && i < refined->meeting_count; i++) {
        Meeting *meeting = &submission->meetings[i];
        uint32_t count = refine_channel_ops(schedule, &index, &submission->shape, meeting->op, ops);
        finish_meeting(sim, submission, meeting, ops, count);
    }
    mem_free(scratch);
    mem_free(ops);
    return done;
}

static bool build_refined(Sim *sim, Submission *submission, RefineMerge merge, Err *err) {
    Refined refined = {0};
    const RefineInput input = {.fabric = sim->fabric,
                               .schedule = submission->schedule,
                               .shape = &submission->shape,
                               .load = &submission->load,
                               .first_gpu = submission->options.first_gpu,
                               .places = submission->options.places,
                               .merge = merge,
                               .most_classes = submission->options.most_classes,
                               .memory = submission->options.routes == NULL
                                             ? NULL
                                             : fold_memory_refine(submission->options.routes)};
    if (!refine_run(&input, &refined, err)) return false;
    TrafficRoute *routes = mem_alloc(refined.path_count, sizeof *routes);
    bool done = build_members(submission, &refined, err) &&
                build_routes(sim, submission, &refined, routes, err);
    if (done) {
        size_t cells = (size_t)refined.member_count * submission->schedule->op_count;
        submission->meeting_of = arena_copy(&submission->arena, refined.meeting_of, cells,
                                            sizeof *submission->meeting_of);
        done = build_meetings(sim, submission, &refined, routes, err);
    }
    mem_free(routes);
    refine_free(&refined);
    return done;
}

static bool build_form(Sim *sim, Submission *submission, SimForm form, Err *err) {
    switch (form) {
    case SIM_AUTO:
    case SIM_FOLDED: return build_folded(sim, submission, err);
    case SIM_REFINED: return build_refined(sim, submission, REFINE_STABLE, err);
    case SIM_EXPANDED: return build_refined(sim, submission, REFINE_NOTHING, err);
    }
    return false;
}

// Every communication has its meeting, as schedule_check promises.
static bool check_partners(const Submission *submission, Err *err) {
    const Schedule *schedule = submission->schedule;
    for (uint32_t m = 0; m < submission->member_count; m++)
        for (OpId o = 0; o < schedule->op_count; o++)
            if (engine_is_comm(submission, o) &&
                schedule_op_role(schedule, o) == submission->members[m].role &&
                submission->meeting_of[(size_t)m * schedule->op_count + o] == SCHEDULE_NONE)
                return err_set(err, "operation \"%s\" has no partner", schedule->ops[o].name);
    return true;
}

static void build_ops(Submission *submission) {
    const Schedule *schedule = submission->schedule;
    submission->ops = arena_alloc(&submission->arena, schedule->op_count, sizeof *submission->ops);
    for (OpId o = 0; o < schedule->op_count; o++) {
        const Op *op = &schedule->ops[o];
        submission->ops[o] = (EngineOp){op->kind, op->first_wait, op->wait_count};
    }
}

bool engine_build(Sim *sim, Submission *submission, SimForm form, Err *err) {
    const Schedule *schedule = submission->schedule;
    build_ops(submission);
    schedule_index_build(&submission->index, schedule, UINT32_MAX, UINT32_MAX);
    if (!load_check_schedule(&submission->load, schedule, err) ||
        !engine_compute_check(sim, submission, err) || !build_form(sim, submission, form, err) ||
        !check_partners(submission, err))
        return false;
    build_prices(sim, submission);
    for (RoleId r = 0; r < schedule->role_count; r++)
        if (schedule->roles[r].passes > submission->round_count)
            submission->round_count = schedule->roles[r].passes;
    submission->rounds =
        arena_alloc(&submission->arena, submission->round_count, sizeof *submission->rounds);
    return true;
}

Time engine_param_ps(const Sim *sim, CalibParam param) {
    return num_round(sim->model->calib->values[param].value * (double)PS_PER_SECOND);
}

Meeting *engine_meeting(Submission *submission, const Member *member, OpId op) {
    size_t row = (size_t)(member - submission->members) * submission->schedule->op_count;
    return &submission->meetings[submission->meeting_of[row + op]];
}

void engine_free(Submission *submission) {
    for (uint32_t i = 0; i < submission->meeting_count; i++)
        traffic_free(&submission->meetings[i].traffic);
    mem_free(submission->meetings);
    mem_free(submission->spans);
    traffic_close(&submission->traffic);
    schedule_index_free(&submission->index);
    arena_free(&submission->arena);
    *submission = (Submission){0};
}
