// The host back end: ranks take turns in one thread until none can go on.
//
// Invariant: an operation is reached when all before it on its stream and all that it waits for
// have ended; a collective moves its bytes when the last of its group reaches it, a send when it is
// reached, a receive when it ends. What a run leaves in memory depends on the schedule, the shape,
// the load and the initial bytes alone: schedule_check has excluded races, so the order of turns
// does not matter.
#include "exec/host/host.h"

#include <assert.h>

#include "exec/host/host_internal.h"

bool host_moves(OpKind kind) {
    return kind == OP_COPY || schedule_op_is_comm(kind);
}

static uint64_t *arrivals_of(const HostRun *run, uint32_t port, uint32_t rank) {
    return &run->arrived[run->first_arrived[port] + run->members[rank]];
}

static uint64_t *ends_of(const HostRun *run, OpId op, uint32_t rank) {
    return &run->ended[run->first_ended[rank] + run->place[op]];
}

static bool waits_are_met(const HostRun *run, const ScheduleCursor *cursor, uint32_t rank) {
    const Op *op = &run->schedule->ops[cursor->op];
    for (uint32_t i = 0; i < op->wait_count; i++) {
        OpId on = run->schedule->waits[op->first_wait + i];
        if (*ends_of(run, on, rank) < schedule_index_earlier(&run->index, cursor, on)) return false;
    }
    return true;
}

static void push(HostRun *run, uint32_t rank) {
    if (run->queued[rank]) return;
    run->queued[rank] = true;
    uint32_t ranks = run->schedule->rank_count, place = run->queue_first + run->queue_count++;
    run->queue[place < ranks ? place : place - ranks] = rank;
}

static uint32_t pop(HostRun *run) {
    uint32_t rank = run->queue[run->queue_first++];
    if (run->queue_first == run->schedule->rank_count) run->queue_first = 0;
    run->queue_count--;
    run->queued[rank] = false;
    return rank;
}

// ---- Partners

static uint32_t group_of(const HostRun *run, const Op *op, uint32_t rank) {
    uint32_t group = 0, position = 0;
    bool found = schedule_group_of(&run->schedule->groups[op->comm.group], rank, &group, &position);
    assert(found);
    return found ? group : 0;
}

// Whether all of the group have come as far as this rank in the channel of `op`.
static bool group_is_complete(const HostRun *run, const Op *op, uint32_t group, uint64_t number) {
    const GroupFamily *family = &run->schedule->groups[op->comm.group];
    for (uint32_t i = 0; i < family->size; i++) {
        uint32_t rank = schedule_group_member(family, group, i);
        uint32_t port = schedule_wire_port(&run->wiring, OP_COLLECTIVE, op->comm.group,
                                           op->comm.channel, run->roles[rank]);
        if (*arrivals_of(run, port, rank) < number) return false;
    }
    return true;
}

// The operation of each member is that at the head of its stream of this channel.
static bool move_group(HostRun *run, const Op *op, uint32_t group, Err *err) {
    const GroupFamily *family = &run->schedule->groups[op->comm.group];
    OpId *ops = mem_alloc(family->size, sizeof *ops);
    for (uint32_t i = 0; i < family->size; i++) {
        uint32_t rank = schedule_group_member(family, group, i);
        uint32_t port = schedule_wire_port(&run->wiring, OP_COLLECTIVE, op->comm.group,
                                           op->comm.channel, run->roles[rank]);
        uint32_t stream = run->wiring.ports[port].stream;
        ops[i] = run->cursors[(size_t)rank * SCHEDULE_STREAMS_MAX + stream].op;
        push(run, rank);
    }
    bool good = host_collective(run, group, ops, err);
    mem_free(ops);
    return good;
}

// The rank at the other end of a message.
static uint32_t peer_of(const HostRun *run, const Op *op, uint32_t rank) {
    return schedule_rank_at(&run->schedule->roles[op->comm.peer].ranks, run->members[rank]);
}

static uint64_t partner_arrivals(const HostRun *run, const Op *op, uint32_t rank) {
    OpKind kind = op->kind == OP_SEND ? OP_RECV : OP_SEND;
    RoleId own = run->roles[rank];
    uint32_t port = schedule_wire_port(&run->wiring, kind, own, op->comm.channel, op->comm.peer);
    return *arrivals_of(run, port, peer_of(run, op, rank));
}

// Messages that a receive of this port is behind the sends.
static uint64_t lag_of(const HostRun *run, uint32_t port) {
    const SchedulePort *end = &run->wiring.ports[port];
    uint64_t per_pass = 0;
    for (uint32_t i = end->first; i < end->first + end->count; i++)
        per_pass += schedule_index_per_pass(&run->index, run->wiring.ops[i]);
    return per_pass * run->schedule->ops[run->wiring.ops[end->first]].comm.lag;
}

// ---- One operation

// What happens when all that the operation waits for has ended.
static bool reach(HostRun *run, OpId id, uint32_t rank, Err *err) {
    const Op *op = &run->schedule->ops[id];
    if (op->kind == OP_COPY) host_copy(run, id, rank);
    if (!schedule_op_is_comm(op->kind)) return true;
    uint64_t number = ++*arrivals_of(run, run->wiring.port_of[id], rank);
    if (op->kind == OP_SEND) host_post(run, id, rank, number - 1);
    if (op->kind != OP_COLLECTIVE) {
        push(run, peer_of(run, op, rank));
        return true;
    }
    uint32_t group = group_of(run, op, rank);
    return !group_is_complete(run, op, group, number) || move_group(run, op, group, err);
}

// Whether the partners let a reached operation end; a receive takes its message then.
static bool may_end(HostRun *run, OpId id, uint32_t rank) {
    const Op *op = &run->schedule->ops[id];
    if (!schedule_op_is_comm(op->kind)) return true;
    uint32_t port = run->wiring.port_of[id];
    uint64_t number = *arrivals_of(run, port, rank);
    if (op->kind == OP_COLLECTIVE)
        return group_is_complete(run, op, group_of(run, op, rank), number);
    if (op->kind == OP_SEND) return partner_arrivals(run, op, rank) >= number;
    uint64_t lag = lag_of(run, port);
    if (number <= lag) return true; // the data is there from the step before
    if (partner_arrivals(run, op, rank) < number - lag) return false;
    host_accept(run, id, rank, number - lag - 1);
    return true;
}

// Ends operations at the head of a stream as long as they may.
static bool advance(HostRun *run, uint32_t rank, uint32_t stream, bool *changed, Err *err) {
    size_t slot = (size_t)rank * SCHEDULE_STREAMS_MAX + stream;
    ScheduleCursor *cursor = &run->cursors[slot];
    while (cursor->op != SCHEDULE_NONE) {
        if (!run->reached[slot]) {
            if (!waits_are_met(run, cursor, rank)) return true;
            run->reached[slot] = true;
            if (run->init->reached != NULL) run->init->reached(run->init->context, cursor, rank);
            if (!reach(run, cursor->op, rank, err)) return false;
        }
        if (!may_end(run, cursor->op, rank)) return true;
        if (run->init->ended != NULL) run->init->ended(run->init->context, cursor, rank);
        run->result->instances[cursor->op]++;
        ++*ends_of(run, cursor->op, rank);
        run->reached[slot] = false;
        schedule_index_next(&run->index, cursor);
        *changed = true;
    }
    return true;
}

// ---- A run

// One rank, until none of its streams can go on.
static bool run_rank(HostRun *run, uint32_t rank, Err *err) {
    bool changed = true;
    while (changed) {
        changed = false;
        for (uint32_t s = 0; s < run->schedule->stream_count; s++) {
            if (!advance(run, rank, s, &changed, err)) return false;
        }
    }
    return true;
}

static bool run_all(HostRun *run, Err *err) {
    const Schedule *schedule = run->schedule;
    for (uint32_t rank = 0; rank < schedule->rank_count; rank++) push(run, rank);
    while (run->queue_count > 0) {
        if (!run_rank(run, pop(run), err)) return false;
    }
    for (size_t slot = 0; slot < (size_t)schedule->rank_count * SCHEDULE_STREAMS_MAX; slot++) {
        OpId id = run->cursors[slot].op;
        char text[SCHEDULE_TEXT_MAX];
        if (id != SCHEDULE_NONE)
            return err_set(err, "no progress: rank %u is held at %s",
                           (uint32_t)(slot / SCHEDULE_STREAMS_MAX),
                           schedule_op_text(schedule, id, text));
    }
    return true;
}

static void take_counts(HostRun *run) {
    const Schedule *schedule = run->schedule;
    uint32_t *ops = arena_alloc(&run->arena, schedule->role_count, sizeof *ops);
    run->place = arena_alloc(&run->arena, schedule->op_count, sizeof *run->place);
    for (OpId id = 0; id < schedule->op_count; id++)
        run->place[id] = ops[schedule_op_role(schedule, id)]++;
    uint64_t sum = 0;
    run->first_ended = arena_alloc(&run->arena, schedule->rank_count, sizeof *run->first_ended);
    for (uint32_t rank = 0; rank < schedule->rank_count; rank++) {
        run->first_ended[rank] = sum;
        sum += ops[run->roles[rank]];
    }
    run->ended = arena_alloc(&run->arena, sum, sizeof *run->ended);
    sum = 0;
    run->first_arrived =
        arena_alloc(&run->arena, run->wiring.port_count, sizeof *run->first_arrived);
    for (uint32_t port = 0; port < run->wiring.port_count; port++) {
        run->first_arrived[port] = sum;
        sum += schedule_role_size(schedule, run->wiring.ports[port].role);
    }
    run->arrived = arena_alloc(&run->arena, sum, sizeof *run->arrived);
}

static void take_cursors(HostRun *run) {
    uint32_t ranks = run->schedule->rank_count;
    run->roles = schedule_wire_owners(run->schedule);
    run->members = arena_alloc(&run->arena, ranks, sizeof *run->members);
    run->cursors = arena_alloc(&run->arena, ranks, SCHEDULE_STREAMS_MAX * sizeof *run->cursors);
    run->reached = arena_alloc(&run->arena, ranks, SCHEDULE_STREAMS_MAX * sizeof *run->reached);
    run->queue = arena_alloc(&run->arena, ranks, sizeof *run->queue);
    run->queued = arena_alloc(&run->arena, ranks, sizeof *run->queued);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        RoleId role = run->roles[rank];
        schedule_set_index(&run->schedule->roles[role].ranks, rank, &run->members[rank]);
        for (uint32_t s = 0; s < SCHEDULE_STREAMS_MAX; s++)
            run->cursors[(size_t)rank * SCHEDULE_STREAMS_MAX + s] =
                schedule_index_start(&run->index, role, s);
    }
}

static void take_memory(HostRun *run) {
    const HostInit *init = run->init;
    const Schedule *schedule = run->schedule;
    HostResult *result = run->result;
    result->memory = arena_alloc(&result->arena, schedule->buffer_count, sizeof *result->memory);
    result->size_B = arena_alloc(&result->arena, schedule->buffer_count, sizeof *result->size_B);
    result->instances = arena_alloc(&result->arena, schedule->op_count, sizeof *result->instances);
    for (BufferId id = 0; id < schedule->buffer_count; id++) {
        const RankSet *ranks = &schedule->roles[schedule->buffers[id].role].ranks;
        uint64_t size = extent_value(&schedule->buffers[id].bytes, run->shape);
        uint8_t *memory = arena_alloc(&result->arena, schedule_set_size(ranks), size);
        for (uint32_t i = 0; init->fill != NULL && i < schedule_set_size(ranks); i++)
            init->fill(init->context, id, schedule_rank_at(ranks, i), memory + i * size, size);
        result->memory[id] = memory;
        result->size_B[id] = size;
    }
    for (uint32_t port = 0; port < run->wiring.port_count; port++) {
        HostMail *mail = &run->mails[port];
        uint32_t members = schedule_role_size(schedule, run->wiring.ports[port].role);
        if (mail->slots > 0)
            mail->bytes = arena_alloc(&run->arena, members, mail->slots * mail->slot_B);
    }
}

bool host_run(const Schedule *schedule, const StepShape *shape, const Load *load,
              const HostInit *init, HostResult *out, Err *err) {
    HostResult result = {0};
    HostRun run = {
        .schedule = schedule, .shape = shape, .load = load, .init = init, .result = &result};
    bool good = host_prepare(&run, err);
    if (good) {
        take_cursors(&run);
        take_counts(&run);
        take_memory(&run);
        good = run_all(&run, err);
    }
    arena_free(&run.arena);
    mem_free(run.roles);
    schedule_index_free(&run.index);
    schedule_wire_close(&run.wiring);
    if (good)
        *out = result;
    else
        host_free(&result);
    return good;
}

void host_free(HostResult *result) {
    arena_free(&result->arena);
    *result = (HostResult){0};
}

const uint8_t *host_buffer(const HostResult *result, const Schedule *schedule, BufferId buffer,
                           uint32_t rank) {
    uint32_t member;
    const RankSet *ranks = &schedule->roles[schedule->buffers[buffer].role].ranks;
    if (!schedule_set_index(ranks, rank, &member)) return NULL;
    return result->memory[buffer] + member * result->size_B[buffer];
}

Digest host_digest(const HostResult *result, const Schedule *schedule, BufferId buffer) {
    uint64_t members = schedule_role_size(schedule, schedule->buffers[buffer].role);
    uint64_t bytes = members * result->size_B[buffer];
    Digest digest = hash_u64(HASH_START, bytes);
    return hash_bytes(digest, result->memory[buffer], bytes);
}
