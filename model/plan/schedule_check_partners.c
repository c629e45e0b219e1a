// Partners are matched: each end of communication has its others, with as many instances of the
// same kind and size in the same order.
//
// Invariant: programs are compared as runs of equal instances, in the order of issue of one pass,
// so that the cost grows with segments and never with repeats.
#include "model/plan/schedule_internal.h"

typedef struct Matcher {
    const Schedule *schedule;
    const ScheduleWiring *wiring;
    OpId *op_in_block; // [block_count] of one port at a time each, SCHEDULE_NONE for none
    OpId *op_in_other;
    uint64_t spent;
} Matcher;

// The rest of a role's pass: the present run is `left` instances of `op`.
typedef struct Runs {
    const OpId *op_in_block;
    uint32_t segment, end;
    OpId op;
    uint32_t left;
} Runs;

static void runs_skip(const Schedule *schedule, Runs *runs) {
    runs->op = SCHEDULE_NONE;
    for (; runs->left == 0 && runs->segment < runs->end; runs->segment++) {
        const Segment *segment = &schedule->segments[runs->segment];
        runs->op = runs->op_in_block[segment->block];
        if (runs->op != SCHEDULE_NONE) runs->left = segment->repeat;
    }
    if (runs->left == 0) runs->op = SCHEDULE_NONE;
}

static Runs runs_start(const Schedule *schedule, RoleId role, const OpId *op_in_block) {
    const Role *owner = &schedule->roles[role];
    Runs runs = {.op_in_block = op_in_block,
                 .segment = owner->first_segment,
                 .end = owner->first_segment + owner->segment_count};
    runs_skip(schedule, &runs);
    return runs;
}

static const char *differing_collective(const Comm *a, const Comm *b) {
    if (a->collective != b->collective) return "collectives";
    if (a->algorithm != b->algorithm) return "algorithms";
    if (a->inner != b->inner) return "nodes";
    if (a->rail_ppm != b->rail_ppm) return "rail shares";
    if (!extent_equals(&a->bytes, &b->bytes)) return "bytes";
    if (a->element != b->element) return "elements";
    if (a->format != b->format) return "formats";
    if (a->split != b->split) return "splits";
    if (a->split != SPLIT_EVEN && a->experts_total != b->experts_total) return "numbers of experts";
    if (a->split != SPLIT_EVEN && a->moe_layer != b->moe_layer) return "layers";
    return NULL;
}

// What differs between two operations that meet, NULL when nothing does.
static const char *differing(const Op *a, const Op *b) {
    if (a->kind == OP_COLLECTIVE) return differing_collective(&a->comm, &b->comm);
    return extent_equals(&a->comm.bytes, &b->comm.bytes) ? NULL : "bytes";
}

static void fill_block_ops(const Matcher *matcher, uint32_t port, OpId *op_in_block) {
    const SchedulePort *end = &matcher->wiring->ports[port];
    for (uint32_t i = end->first; i < end->first + end->count; i++) {
        OpId id = matcher->wiring->ops[i];
        op_in_block[matcher->schedule->ops[id].block] = id;
    }
}

static void clear_block_ops(const Matcher *matcher, uint32_t port, OpId *op_in_block) {
    const SchedulePort *end = &matcher->wiring->ports[port];
    for (uint32_t i = end->first; i < end->first + end->count; i++)
        op_in_block[matcher->schedule->ops[matcher->wiring->ops[i]].block] = SCHEDULE_NONE;
}

static uint64_t instances(const Matcher *matcher, RoleId role, const OpId *op_in_block) {
    const Role *owner = &matcher->schedule->roles[role];
    uint64_t count = 0;
    for (uint32_t i = 0; i < owner->segment_count; i++) {
        const Segment *segment = &matcher->schedule->segments[owner->first_segment + i];
        if (op_in_block[segment->block] != SCHEDULE_NONE) count += segment->repeat;
    }
    return count;
}

static OpId port_op(const Matcher *matcher, uint32_t port) {
    return matcher->wiring->ops[matcher->wiring->ports[port].first];
}

static bool compare_runs(const Matcher *matcher, uint32_t a, uint32_t b, Err *err) {
    const Schedule *schedule = matcher->schedule;
    RoleId role_a = matcher->wiring->ports[a].role, role_b = matcher->wiring->ports[b].role;
    Runs left = runs_start(schedule, role_a, matcher->op_in_block);
    Runs right = runs_start(schedule, role_b, matcher->op_in_other);
    char text_a[SCHEDULE_TEXT_MAX], text_b[SCHEDULE_TEXT_MAX];
    while (left.op != SCHEDULE_NONE && right.op != SCHEDULE_NONE) {
        const char *what = differing(&schedule->ops[left.op], &schedule->ops[right.op]);
        if (what != NULL)
            return err_set(err, "%s meets %s, but their %s differ",
                           schedule_op_text(schedule, left.op, text_a),
                           schedule_op_text(schedule, right.op, text_b), what);
        uint32_t common = left.left < right.left ? left.left : right.left;
        left.left -= common;
        right.left -= common;
        if (left.left == 0) runs_skip(schedule, &left);
        if (right.left == 0) runs_skip(schedule, &right);
    }
    if (left.op == SCHEDULE_NONE && right.op == SCHEDULE_NONE) return true;
    return err_set(err, "%s runs %llu times in a pass, its partner %s %llu times",
                   schedule_op_text(schedule, port_op(matcher, a), text_a),
                   (unsigned long long)instances(matcher, role_a, matcher->op_in_block),
                   schedule_op_text(schedule, port_op(matcher, b), text_b),
                   (unsigned long long)instances(matcher, role_b, matcher->op_in_other));
}

static bool compare_ports(Matcher *matcher, uint32_t a, uint32_t b, Err *err) {
    const Schedule *schedule = matcher->schedule;
    const Role *role_a = &schedule->roles[matcher->wiring->ports[a].role];
    const Role *role_b = &schedule->roles[matcher->wiring->ports[b].role];
    char text_a[SCHEDULE_TEXT_MAX], text_b[SCHEDULE_TEXT_MAX];
    uint64_t cost = (uint64_t)role_a->segment_count + role_b->segment_count + 1;
    if (!schedule_check_spend(&matcher->spent, cost, err)) return false;
    if (role_a->passes != role_b->passes)
        return err_set(err, "%s has %u passes, its partner %s %u",
                       schedule_op_text(schedule, port_op(matcher, a), text_a), role_a->passes,
                       schedule_op_text(schedule, port_op(matcher, b), text_b), role_b->passes);
    fill_block_ops(matcher, a, matcher->op_in_block);
    fill_block_ops(matcher, b, matcher->op_in_other);
    bool good = compare_runs(matcher, a, b, err);
    clear_block_ops(matcher, a, matcher->op_in_block);
    clear_block_ops(matcher, b, matcher->op_in_other);
    return good;
}

// ---- Collectives: the roles of a meeting one after the other, and the sum of their experts.

static bool check_expert_sum(const Matcher *matcher, const ScheduleMeeting *meeting, uint32_t port,
                             Err *err) {
    const Schedule *schedule = matcher->schedule;
    const SchedulePort *end = &matcher->wiring->ports[port];
    const Comm *comm = &schedule->ops[port_op(matcher, port)].comm;
    if (comm->split == SPLIT_EVEN) return true;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < meeting->role_count; i++) {
        uint32_t other = schedule_wire_port(matcher->wiring, OP_COLLECTIVE, end->with, end->channel,
                                            meeting->roles[i]);
        sum += (uint64_t)meeting->counts[i] * schedule->ops[port_op(matcher, other)].comm.experts;
    }
    char text[SCHEDULE_TEXT_MAX];
    return sum == comm->experts_total ||
           err_set(err, "%s: the ranks of a group have %llu experts together, expected %u",
                   schedule_op_text(schedule, port_op(matcher, port), text),
                   (unsigned long long)sum, comm->experts_total);
}

static bool check_meeting(Matcher *matcher, const ScheduleMeeting *meeting, uint32_t port,
                          Err *err) {
    const SchedulePort *end = &matcher->wiring->ports[port];
    if (!schedule_check_spend(&matcher->spent, meeting->role_count, err)) return false;
    uint32_t before = SCHEDULE_NONE;
    for (uint32_t i = 0; i < meeting->role_count; i++) {
        RoleId role = meeting->roles[i];
        uint32_t other =
            schedule_wire_port(matcher->wiring, OP_COLLECTIVE, end->with, end->channel, role);
        char text[SCHEDULE_TEXT_MAX], quoted[TEXT_QUOTE_MAX];
        if (other == SCHEDULE_NONE)
            return err_set(err, "%s has no partner in role %s: nothing there is on channel %u",
                           schedule_op_text(matcher->schedule, port_op(matcher, port), text),
                           text_quote(matcher->schedule->roles[role].name, quoted), end->channel);
        if (before != SCHEDULE_NONE && !compare_ports(matcher, before, other, err)) return false;
        before = other;
    }
    return check_expert_sum(matcher, meeting, port, err);
}

// Each meeting once, from the port of its first role; a role that lacks the channel is found from
// the others.
static bool check_collective(Matcher *matcher, uint32_t port, Err *err) {
    const SchedulePort *end = &matcher->wiring->ports[port];
    const ScheduleWiring *wiring = matcher->wiring;
    for (uint32_t i = wiring->first_meeting[end->role]; i < wiring->first_meeting[end->role + 1];
         i++) {
        const ScheduleMeeting *meeting = &wiring->meetings[wiring->role_meetings[i]];
        if (!schedule_check_spend(&matcher->spent, 1, err)) return false;
        if (meeting->family != end->with) continue;
        bool first = meeting->roles[0] == end->role ||
                     schedule_wire_port(matcher->wiring, OP_COLLECTIVE, end->with, end->channel,
                                        meeting->roles[0]) == SCHEDULE_NONE;
        if (first && !check_meeting(matcher, meeting, port, err)) return false;
    }
    return true;
}

// ---- Sends and receives

static bool check_message(Matcher *matcher, uint32_t port, Err *err) {
    const SchedulePort *end = &matcher->wiring->ports[port];
    OpKind other_kind = end->kind == OP_SEND ? OP_RECV : OP_SEND;
    uint32_t other =
        schedule_wire_port(matcher->wiring, other_kind, end->role, end->channel, end->with);
    char text[SCHEDULE_TEXT_MAX], quoted[TEXT_QUOTE_MAX];
    if (other == SCHEDULE_NONE)
        return err_set(err, "%s has no %s in role %s on channel %u",
                       schedule_op_text(matcher->schedule, port_op(matcher, port), text),
                       schedule_op_names[other_kind],
                       text_quote(matcher->schedule->roles[end->with].name, quoted), end->channel);
    if (end->kind == OP_SEND) return compare_ports(matcher, port, other, err);
    uint32_t lag = matcher->schedule->ops[port_op(matcher, port)].comm.lag;
    for (uint32_t i = end->first; i < end->first + end->count; i++) {
        OpId id = matcher->wiring->ops[i];
        if (matcher->schedule->ops[id].comm.lag != lag)
            return err_set(err, "%s has a lag of %u, others on its channel %u",
                           schedule_op_text(matcher->schedule, id, text),
                           matcher->schedule->ops[id].comm.lag, lag);
    }
    return true;
}

static OpId *no_ops(Arena *arena, uint32_t count) {
    OpId *ops = arena_alloc(arena, count, sizeof *ops);
    for (uint32_t i = 0; i < count; i++) ops[i] = SCHEDULE_NONE;
    return ops;
}

bool schedule_check_partners(const Schedule *schedule, const ScheduleWiring *wiring, Err *err) {
    Arena arena = {0};
    Matcher matcher = {.schedule = schedule,
                       .wiring = wiring,
                       .op_in_block = no_ops(&arena, schedule->block_count),
                       .op_in_other = no_ops(&arena, schedule->block_count)};
    bool good = true;
    for (uint32_t port = 0; good && port < wiring->port_count; port++) {
        good = wiring->ports[port].kind == OP_COLLECTIVE ? check_collective(&matcher, port, err)
                                                         : check_message(&matcher, port, err);
    }
    arena_free(&arena);
    return good;
}
