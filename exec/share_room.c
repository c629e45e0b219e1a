// Room for routed traffic of a forced run, before it.
//
// Invariant: a schedule has room for an even load; nothing shrinks from there. What the rank of a
// role that gets most holds is what share_held says of any instance, so that buffers are alike on
// all ranks of a role and every collective finds its room. Rows of expert products are the same
// share of all pairs; where an element of the traffic is no whole pair, a pair more from each rank.
// Slices around one that grows grow with it; over one behind it none grows.
#include "exec/share.h"

#include "model/base/wide.h"

// Looking at all sources of all ranks may take no longer than a second or two: a longer look would
// be one into a run that deals as often, on every rank and in every instance. A step takes about
// 35 ns (two roles of 8100 ranks from 8100 sources: 2.6e8 steps in 9 s), so all take 1.2 s; and
// the shares that are filled at a time stay below 400 MB.
#define SHARE_STEPS_MAX (UINT64_C(1) << 25)

typedef struct Rooms {
    Job *job;
    OpId *routed; // collectives that a load splits
    uint32_t routed_count;
    uint64_t *most;      // [op_count] of those: elements on the rank that gets most
    JobRange *scheduled; // [slice_count]
    uint32_t *first;     // [buffer_count + 1] into the next
    uint32_t *slices;    // [slice_count] by buffer
    uint64_t steps;
} Rooms;

static bool spend(Rooms *rooms, uint64_t steps, Err *err) {
    rooms->steps = wide_add_saturate(rooms->steps, steps);
    return rooms->steps <= SHARE_STEPS_MAX ||
           err_set(err, "dealing the load to all ranks takes more than %llu steps",
                   (unsigned long long)SHARE_STEPS_MAX);
}

static void open_rooms(Job *job, Rooms *out) {
    const Schedule *schedule = job->schedule;
    *out = (Rooms){.job = job};
    out->routed = mem_alloc(schedule->op_count, sizeof *out->routed);
    out->most = mem_alloc(schedule->op_count, sizeof *out->most);
    out->scheduled = mem_alloc(schedule->slice_count, sizeof *out->scheduled);
    out->first = mem_alloc((size_t)schedule->buffer_count + 2, sizeof *out->first);
    out->slices = mem_alloc(schedule->slice_count, sizeof *out->slices);
    for (OpId id = 0; id < schedule->op_count; id++) {
        const Op *op = &schedule->ops[id];
        if (op->kind == OP_COLLECTIVE && op->comm.split != SPLIT_EVEN)
            out->routed[out->routed_count++] = id;
    }
    for (uint32_t i = 0; i < schedule->slice_count; i++) {
        out->scheduled[i] = job->slices[i];
        out->first[schedule->slices[i].buffer + 2]++;
    }
    for (BufferId id = 0; id < schedule->buffer_count; id++)
        out->first[id + 2] += out->first[id + 1];
    for (uint32_t i = 0; i < schedule->slice_count; i++)
        out->slices[out->first[schedule->slices[i].buffer + 1]++] = i;
}

static void close_rooms(Rooms *rooms) {
    mem_free(rooms->routed);
    mem_free(rooms->most);
    mem_free(rooms->scheduled);
    mem_free(rooms->first);
    mem_free(rooms->slices);
}

// ---- Growing

static uint64_t end_of(const JobRange *range) {
    return range->first + range->count;
}

static bool refuse(const Rooms *rooms, uint32_t slice, uint64_t bytes, Err *err) {
    const Schedule *schedule = rooms->job->schedule;
    char name[TEXT_QUOTE_MAX];
    return err_set(err,
                   "the load gives a rank %llu bytes, its slice has %llu and cannot grow: another "
                   "slice lies behind it in buffer %s",
                   (unsigned long long)bytes, (unsigned long long)rooms->scheduled[slice].count,
                   text_quote(schedule->buffers[schedule->slices[slice].buffer].name, name));
}

// To at least so many bytes.
static bool grow(Rooms *rooms, uint32_t slice, uint64_t bytes, Err *err) {
    Job *job = rooms->job;
    const JobRange *own = &rooms->scheduled[slice];
    BufferId buffer = job->schedule->slices[slice].buffer;
    uint64_t end = wide_add_saturate(own->first, bytes);
    if (bytes <= job->slices[slice].count) return true;
    if (!spend(rooms, rooms->first[buffer + 1] - rooms->first[buffer], err)) return false;
    for (uint32_t i = rooms->first[buffer]; i < rooms->first[buffer + 1]; i++) {
        const JobRange *other = &rooms->scheduled[rooms->slices[i]];
        JobRange *grown = &job->slices[rooms->slices[i]];
        if (other->first > own->first && other->count > 0 && end_of(other) > end_of(own))
            return refuse(rooms, slice, bytes, err);
        if (other->first > own->first || end_of(other) < end_of(own)) continue; // a part of it
        if (grown->count < end - other->first) grown->count = end - other->first;
    }
    if (job->size_B[buffer] < end) job->size_B[buffer] = end;
    return true;
}

// ---- Traffic

// The first instance of an operation, as far as job_peer_op looks at it.
static OpInstance first_instance(const Job *job, OpId id) {
    const Schedule *schedule = job->schedule;
    RoleId role = schedule_op_role(schedule, id);
    const Role *program = &schedule->roles[role];
    const SchedulePort *end = &job->wiring.ports[job->wiring.port_of[id]];
    OpInstance instance = {.job = job, .cursor = {.op = id, .role = role}};
    for (uint32_t s = 0; s < program->segment_count; s++) {
        const Segment *segment = &schedule->segments[program->first_segment + s];
        if (segment->block == schedule->ops[id].block) break;
        for (uint32_t i = end->first; i < end->first + end->count; i++)
            if (schedule->ops[job->wiring.ops[i]].block == segment->block)
                instance.meeting += segment->repeat;
    }
    return instance;
}

static bool has_role(const Job *job, const GroupFamily *family, uint32_t group, RoleId role) {
    for (uint32_t i = 0; i < family->size; i++)
        if (job->roles[schedule_group_member(family, group, i)] == role) return true;
    return false;
}

static void look_at_group(Rooms *rooms, const OpInstance *instance, uint32_t group) {
    const Job *job = rooms->job;
    const GroupFamily *family = &job->schedule->groups[job_op(instance)->comm.group];
    uint64_t *most = &rooms->most[instance->cursor.op];
    Shares shares;
    if (!has_role(job, family, group, instance->cursor.role)) return;
    share_open(instance, group, &shares);
    for (uint32_t i = 0; i < shares.n; i++) {
        if (job->roles[schedule_group_member(family, group, i)] != instance->cursor.role) continue;
        uint64_t held = share_held(&shares, i);
        if (held > *most) *most = held;
    }
    share_close(&shares);
}

// What it takes to find the operations that the ranks of a group run (job_peer_op).
static uint64_t peer_steps(const Job *job, OpId id, uint32_t size) {
    const Schedule *schedule = job->schedule;
    const SchedulePort *end = &job->wiring.ports[job->wiring.port_of[id]];
    uint64_t roles = size < schedule->role_count ? size : schedule->role_count;
    uint64_t segments = schedule->roles[schedule_op_role(schedule, id)].segment_count;
    return end->count > 1 ? wide_mul_saturate(roles, segments * end->count) : roles;
}

// Shares that looking at one operation fills and sums up, ranks included. Before any is filled:
// what they take is bounded too, to less than SHARE_STEPS_MAX / 2 of them at a time.
static bool check_steps(Rooms *rooms, OpId id, Err *err) {
    const Job *job = rooms->job;
    const GroupFamily *family = &job->schedule->groups[job->schedule->ops[id].comm.group];
    uint64_t shares = share_size_B(job->load, family->size) / sizeof(CollectiveShare);
    uint64_t steps =
        wide_add_saturate(family->size + 2 * shares, peer_steps(job, id, family->size));
    return spend(rooms, wide_mul_saturate(family->count, steps), err);
}

static bool grow_traffic(Rooms *rooms, OpId id, Err *err) {
    const Job *job = rooms->job;
    const Comm *comm = &job->schedule->ops[id].comm;
    const ScheduleSides *sides = &job->sides[id];
    OpInstance instance = first_instance(job, id);
    for (uint32_t group = 0; group < job->schedule->groups[comm->group].count; group++)
        look_at_group(rooms, &instance, group);
    return grow(rooms, comm->split == SPLIT_BY_DESTINATION ? sides->output : sides->input,
                wide_mul_saturate(rooms->most[id], comm->element), err);
}

// ---- Experts

// Whether the traffic of `routed` is that of the experts of the operation: of the same role, layer
// and part of the tokens.
static bool feeds(const Schedule *schedule, OpId routed, OpId id) {
    const Comm *comm = &schedule->ops[routed].comm;
    const Compute *compute = &schedule->ops[id].compute;
    return schedule_op_role(schedule, routed) == schedule_op_role(schedule, id) &&
           comm->moe_layer == compute->moe_layer && comm->experts_total == compute->experts_total &&
           comm->bytes.part == compute->m.part && comm->bytes.parts == compute->m.parts;
}

// Rows of all ranks together are `m`; on the rank that gets most, as the traffic has it.
static bool rows_of_traffic(Rooms *rooms, OpId id, uint64_t m, uint64_t *rows, bool *found,
                            Err *err) {
    const Job *job = rooms->job;
    const Schedule *schedule = job->schedule;
    if (!spend(rooms, rooms->routed_count, err)) return false;
    for (uint32_t i = 0; i < rooms->routed_count; i++) {
        const Comm *comm = &schedule->ops[rooms->routed[i]].comm;
        if (!feeds(schedule, rooms->routed[i], id)) continue;
        uint32_t n = schedule->groups[comm->group].size;
        uint64_t own = wide_div_up_u64(extent_value(&comm->bytes, &job->shape), comm->element);
        uint64_t all = wide_mul_saturate(own, n), most = rooms->most[rooms->routed[i]];
        *found = true;
        if (all == 0) continue;
        uint64_t share = wide_add_saturate(wide_mul_div_up(m, most, all), all == m ? 0 : n);
        if (share > *rows) *rows = share;
    }
    return true;
}

// Where nothing travels to experts, all tokens are there.
static bool rows_of_share(Rooms *rooms, OpId id, uint64_t m, uint64_t *rows, Err *err) {
    const Job *job = rooms->job;
    const RankSet *ranks = &job->schedule->roles[schedule_op_role(job->schedule, id)].ranks;
    uint32_t count = schedule_set_size(ranks);
    if (!spend(rooms, count, err)) return false;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t part, whole;
        load_rank_share(job->load, job->schedule, id, schedule_rank_at(ranks, i), &part, &whole);
        uint64_t share = wide_mul_div_up(m, part, whole);
        if (share > *rows) *rows = share;
    }
    return true;
}

// Columns of the products that write into the buffer together: they follow each other.
static uint64_t width_of(const Schedule *schedule, OpId id, BufferId buffer) {
    const Block *block = &schedule->blocks[schedule->ops[id].block];
    uint64_t width = 0;
    for (OpId other = block->first_op; other < block->first_op + block->op_count; other++) {
        const Op *op = &schedule->ops[other];
        for (uint32_t i = op->first_slice; i < op->first_slice + op->slice_count; i++)
            if (op->kind == OP_GROUPED_GEMM && schedule->slices[i].buffer == buffer &&
                schedule->slices[i].access != SLICE_READ)
                width = wide_add_saturate(width, op->compute.n);
    }
    return width;
}

// A slice that has no room for an even load holds something else: tokens, or nothing of this run.
static bool grow_rows(Rooms *rooms, OpId id, uint32_t slice, uint64_t even, uint64_t rows,
                      Err *err) {
    const Schedule *schedule = rooms->job->schedule;
    const Compute *compute = &schedule->ops[id].compute;
    const Slice *own = &schedule->slices[slice];
    const Block *block = &schedule->blocks[schedule->ops[id].block];
    bool reads = own->access == SLICE_READ;
    if (reads && compute->work == WORK_EXPERTS_GATE_UP) return true; // tokens, or grown already
    if (!reads && !spend(rooms, block->op_count, err)) return false;
    uint64_t width = reads ? compute->k : width_of(schedule, id, own->buffer);
    uint64_t row_B = numfmt_bytes(schedule->buffers[own->buffer].format, width);
    return rooms->scheduled[slice].count < wide_mul_saturate(even, row_B) ||
           grow(rooms, slice, wide_mul_saturate(rows, row_B), err);
}

static bool grow_experts(Rooms *rooms, OpId id, Err *err) {
    const Job *job = rooms->job;
    const Op *op = &job->schedule->ops[id];
    uint64_t m = extent_value(&op->compute.m, &job->shape), rows = 0;
    uint64_t even = wide_mul_div(m, op->compute.experts, op->compute.experts_total);
    bool found = false;
    if (!rows_of_traffic(rooms, id, m, &rows, &found, err) ||
        (!found && !rows_of_share(rooms, id, m, &rows, err)))
        return false;
    for (uint32_t i = op->first_slice; i < op->first_slice + op->slice_count; i++)
        if (!grow_rows(rooms, id, i, even, rows, err)) return false;
    return true;
}

// ---- The whole

typedef bool RoomOp(Rooms *rooms, OpId id, Err *err);

static bool for_all(Rooms *rooms, OpKind kind, RoomOp *room_op, Err *err) {
    const Schedule *schedule = rooms->job->schedule;
    for (OpId id = 0; id < schedule->op_count; id++) {
        const Op *op = &schedule->ops[id];
        char text[SCHEDULE_TEXT_MAX];
        if (op->kind == kind && load_sizes_op(op) && !room_op(rooms, id, err))
            return err_prefix(err, "%s", schedule_op_text(schedule, id, text));
    }
    return true;
}

bool share_room(Job *job, Err *err) {
    Rooms rooms;
    if (job->load->kind == LOAD_UNIFORM) return true;
    open_rooms(job, &rooms);
    bool good = for_all(&rooms, OP_COLLECTIVE, check_steps, err) &&
                for_all(&rooms, OP_COLLECTIVE, grow_traffic, err) &&
                for_all(&rooms, OP_GROUPED_GEMM, grow_experts, err);
    close_rooms(&rooms);
    return good;
}
