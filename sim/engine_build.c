// Members, prices and meetings of a submission.
//
// A collective has one meeting when folded (all groups of the family at once, the roles meet) and
// one per group when expanded (its ranks meet). A send has one meeting per member of the sending
// role; the receive finds it through its channel.
#include <string.h>

#include "model/base/mem.h"
#include "sim/engine.h"

static Price price_of(const Submission *submission, const PriceModel *model, const Op *op) {
    const Compute *compute = &op->compute;
    const StepShape *shape = &submission->shape;
    uint64_t m = extent_value(&compute->m, shape);
    switch (op->kind) {
    case OP_GEMM:
        return price_gemm(model, m, compute->n, compute->k, compute->batch, compute->weight_format,
                          compute->math_format);
    case OP_GROUPED_GEMM: {
        uint64_t part, whole;
        load_share(&submission->load, compute->moe_layer, compute->experts_total,
                   compute->first_expert, compute->experts, &part, &whole);
        PriceRouted routed = {.m = wide_mul_div_up(m, part, whole),
                              .experts = compute->experts,
                              .all_pairs = m,
                              .all_experts = compute->experts_total};
        return price_grouped_gemm(model, &routed, compute->n, compute->k, compute->weight_format,
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

static void build_members(Submission *submission) {
    const Schedule *schedule = submission->schedule;
    bool is_folded = submission->traffic.is_folded;
    submission->member_count = is_folded ? schedule->role_count : schedule->rank_count;
    submission->members =
        arena_alloc(&submission->arena, submission->member_count, sizeof *submission->members);
    for (uint32_t m = 0; m < submission->member_count; m++) {
        Member *member = &submission->members[m];
        member->role = is_folded ? m : schedule_role_of(schedule, m);
        const RankSet *ranks = &schedule->roles[member->role].ranks;
        if (!is_folded) schedule_set_index(ranks, m, &member->index);
        member->done = arena_alloc(&submission->arena, schedule->op_count, sizeof *member->done);
        member->accounted = submission->when;
        for (uint32_t s = 0; s < schedule->stream_count; s++) {
            Stream *stream = &member->streams[s];
            stream->cursor = schedule_index_start(&submission->index, member->role, s);
            stream->state = stream->cursor.op == SCHEDULE_NONE ? STREAM_ENDED : STREAM_BLOCKED;
        }
    }
}

// Operations of all roles that share a channel and are of the same side (collective, or send).
static uint32_t ops_of_channel(const Schedule *schedule, OpId first, OpId *out) {
    uint32_t count = 0;
    for (OpId o = first; o < schedule->op_count; o++)
        if (schedule->ops[o].kind == schedule->ops[first].kind &&
            schedule->ops[o].comm.channel == schedule->ops[first].comm.channel)
            out[count++] = o;
    return count;
}

static Meeting *add_meeting(Submission *submission, uint32_t *capacity) {
    submission->meetings = mem_grow(submission->meetings, capacity, submission->meeting_count + 1,
                                    sizeof *submission->meetings);
    Meeting *meeting = &submission->meetings[submission->meeting_count++];
    *meeting = (Meeting){0};
    return meeting;
}

static void add_accounts(Submission *submission, Meeting *meeting) {
    for (uint32_t i = 0; i < meeting->participant_count; i++)
        meeting->participants[i].exposed_before =
            arena_alloc(&submission->arena, meeting->traffic.most_latencies, sizeof(Time));
}

static void own_tags(Sim *sim, Submission *submission, Meeting *meeting) {
    uint32_t count = meeting->traffic.flow_count;
    meeting->first_tag = sim->tag_count;
    sim->tags =
        mem_grow(sim->tags, &sim->tag_capacity, sim->tag_count + count + 1, sizeof *sim->tags);
    TagOwner owner = {sim->submission_count, (uint32_t)(meeting - submission->meetings)};
    for (uint32_t i = 0; i < count; i++) sim->tags[sim->tag_count++] = owner;
}

static bool build_collective(Sim *sim, Submission *submission, const OpId *ops, uint32_t op_count,
                             uint32_t group, uint32_t *capacity, Err *err) {
    const Schedule *schedule = submission->schedule;
    const Op *op = &schedule->ops[ops[0]];
    const GroupFamily *family = &schedule->groups[op->comm.group];
    bool is_folded = submission->traffic.is_folded;
    Meeting *meeting = add_meeting(submission, capacity);
    meeting->op = ops[0];
    meeting->participant_count = is_folded ? op_count : family->size;
    meeting->participants =
        arena_alloc(&submission->arena, meeting->participant_count, sizeof *meeting->participants);
    for (uint32_t i = 0; i < meeting->participant_count; i++) {
        uint32_t rank = is_folded ? 0 : schedule_group_member(family, group, i);
        RoleId role =
            is_folded ? schedule_op_role(schedule, ops[i]) : schedule_role_of(schedule, rank);
        Participant *participant = &meeting->participants[i];
        participant->member = is_folded ? role : rank;
        for (uint32_t k = 0; k < op_count; k++)
            if (schedule_op_role(schedule, ops[k]) == role) participant->op = ops[k];
    }
    if (!traffic_collective(&submission->traffic, ops[0], group, &meeting->traffic, err))
        return false;
    add_accounts(submission, meeting);
    own_tags(sim, submission, meeting);
    return true;
}

static bool build_send(Sim *sim, Submission *submission, OpId op, uint32_t index,
                       uint32_t *capacity, Err *err) {
    const Schedule *schedule = submission->schedule;
    bool is_folded = submission->traffic.is_folded;
    RoleId from = schedule_op_role(schedule, op), to = schedule->ops[op].comm.peer;
    Meeting *meeting = add_meeting(submission, capacity);
    meeting->op = op;
    meeting->participant_count = 2;
    meeting->participants = arena_alloc(&submission->arena, 2, sizeof *meeting->participants);
    meeting->participants[0] = (Participant){
        .member = is_folded ? from : schedule_rank_at(&schedule->roles[from].ranks, index),
        .op = op};
    meeting->participants[1] = (Participant){
        .member = is_folded ? to : schedule_rank_at(&schedule->roles[to].ranks, index)};
    for (OpId o = 0; o < schedule->op_count; o++) {
        const Comm *comm = &schedule->ops[o].comm;
        if (schedule->ops[o].kind != OP_RECV || comm->channel != schedule->ops[op].comm.channel)
            continue;
        meeting->participants[1].op = o;
        meeting->ahead = comm->lag * schedule_index_per_pass(&submission->index, o);
    }
    if (!traffic_send(&submission->traffic, op, index, &meeting->traffic, err)) return false;
    add_accounts(submission, meeting);
    own_tags(sim, submission, meeting);
    return true;
}

static bool build_channel(Sim *sim, Submission *submission, OpId op, OpId *scratch,
                          uint32_t *capacity, Err *err) {
    const Schedule *schedule = submission->schedule;
    uint32_t first = submission->meeting_count;
    uint32_t op_count = ops_of_channel(schedule, op, scratch);
    bool is_folded = submission->traffic.is_folded;
    bool is_send = schedule->ops[op].kind == OP_SEND;
    uint32_t count = 1;
    if (!is_folded)
        count = is_send ? schedule_role_size(schedule, schedule_op_role(schedule, op))
                        : schedule->groups[schedule->ops[op].comm.group].count;
    for (uint32_t i = 0; i < count; i++) {
        bool done = is_send
                        ? build_send(sim, submission, op, i, capacity, err)
                        : build_collective(sim, submission, scratch, op_count, i, capacity, err);
        if (!done) return err_prefix(err, "operation \"%s\"", schedule->ops[op].name);
    }
    for (uint32_t i = 0; i < op_count; i++) submission->first_meeting[scratch[i]] = first;
    for (OpId o = 0; is_send && o < schedule->op_count; o++)
        if (schedule->ops[o].kind == OP_RECV &&
            schedule->ops[o].comm.channel == schedule->ops[op].comm.channel)
            submission->first_meeting[o] = first;
    return true;
}

static bool build_meetings(Sim *sim, Submission *submission, Err *err) {
    const Schedule *schedule = submission->schedule;
    OpId *scratch = mem_alloc(schedule->op_count + 1, sizeof *scratch);
    uint32_t capacity = 0;
    bool done = true;
    for (OpId o = 0; done && o < schedule->op_count; o++) {
        OpKind kind = schedule->ops[o].kind;
        if ((kind == OP_COLLECTIVE || kind == OP_SEND) &&
            submission->first_meeting[o] == SCHEDULE_NONE)
            done = build_channel(sim, submission, o, scratch, &capacity, err);
    }
    mem_free(scratch);
    return done;
}

bool engine_build(Sim *sim, Submission *submission, Err *err) {
    const Schedule *schedule = submission->schedule;
    schedule_index_build(&submission->index, schedule, UINT32_MAX, UINT32_MAX);
    submission->first_meeting =
        arena_alloc(&submission->arena, schedule->op_count, sizeof *submission->first_meeting);
    submission->prices =
        arena_alloc(&submission->arena, schedule->op_count, sizeof *submission->prices);
    for (OpId o = 0; o < schedule->op_count; o++) {
        submission->first_meeting[o] = SCHEDULE_NONE;
        if (!schedule_op_is_comm(schedule->ops[o].kind))
            submission->prices[o] = price_of(submission, sim->model, &schedule->ops[o]);
    }
    build_members(submission);
    for (RoleId r = 0; r < schedule->role_count; r++)
        if (schedule->roles[r].passes > submission->round_count)
            submission->round_count = schedule->roles[r].passes;
    submission->rounds =
        arena_alloc(&submission->arena, submission->round_count, sizeof *submission->rounds);
    submission->totals = arena_alloc(&submission->arena, submission->member_count,
                                     schedule->op_count * sizeof *submission->totals);
    return build_meetings(sim, submission, err);
}

Meeting *engine_meeting(Submission *submission, const Member *member, OpId op) {
    uint32_t first = submission->first_meeting[op];
    if (submission->traffic.is_folded) return &submission->meetings[first];
    const Schedule *schedule = submission->schedule;
    if (schedule->ops[op].kind != OP_COLLECTIVE)
        return &submission->meetings[first + member->index];
    uint32_t group = 0, position;
    uint32_t rank = schedule_rank_at(&schedule->roles[member->role].ranks, member->index);
    schedule_group_of(&schedule->groups[schedule->ops[op].comm.group], rank, &group, &position);
    return &submission->meetings[first + group];
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
