// The job of a benchmark, and what a rank does in one of its cases.
//
// Invariant: a case is done as a schedule would do it: a collective by its step list, a send or a
// matrix as one group of messages, the first of them to the next rank. Ranks that take part in the
// same cases are one role, so that every collective is one of whole roles.
#include "exec/bench_program.h"

#include <stdlib.h>

#include "exec/collective.h"
#include "model/base/num.h"
#include "model/plan/step_shape.h"

// ---- Roles

// A role begins at 0 and wherever the ranks of some case end.
static void add_roles(BenchProgram *program, uint32_t ranks) {
    const BenchList *list = program->list;
    uint32_t *ends = arena_alloc(&program->arena, list->count + 1, sizeof *ends), first = 0;
    for (uint32_t i = 0; i < list->count; i++) ends[i] = list->cases[i].ranks;
    ends[list->count] = ranks;
    qsort(ends, list->count + 1, sizeof *ends, num_compare_u32);
    for (uint32_t i = 0; i <= list->count; i++) {
        RankSet set = {first, ends[i] - first, 0, 1};
        if (ends[i] == first) continue;
        schedule_add_role(&program->schedule,
                          arena_printf(&program->arena, "ranks from %u on", first), set, 1);
        first = ends[i];
    }
}

// ---- Memory

// The largest chunk comes first: an output has room for as many of it as there are ranks.
static uint64_t room_B(const BenchCase *bench) {
    uint64_t element = sizeof(float), most = 0;
    uint32_t n = bench->ranks;
    if (bench->op == BENCH_SEND_RECV) return bench->bytes;
    if (bench->op != BENCH_ALL_TO_ALLV) return (bench->bytes / element + n - 1) / n * n * element;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t out = 0, in = 0;
        for (uint32_t j = 0; j < n; j++) {
            out += bench_cases_bytes(bench, i, j);
            in += bench_cases_bytes(bench, j, i);
        }
        if (out > most) most = out;
        if (in > most) most = in;
    }
    return most;
}

static void add_buffers(BenchProgram *program) {
    static const char *const names[] = {"in", "out"};
    uint64_t most = 0;
    for (uint32_t i = 0; i < program->list->count; i++) {
        uint64_t room = room_B(&program->list->cases[i]);
        if (room > most) most = room;
    }
    for (RoleId role = 0; role < program->schedule.role_count; role++)
        for (uint32_t i = 0; i < 2; i++) {
            Buffer buffer = {.name = names[i],
                             .role = role,
                             .format = NUMFMT_F32,
                             .life = BUFFER_STEP,
                             .bytes = extent_fixed(most)};
            schedule_add_buffer(&program->schedule, &buffer);
        }
}

// ---- Operations

static GroupId add_group(BenchProgram *program, uint32_t ranks) {
    Schedule *schedule = &program->schedule;
    GroupFamily family = {.name = "first ranks", .size = ranks, .stride = 1, .count = 1};
    for (GroupId id = 0; id < schedule->group_count; id++)
        if (schedule->groups[id].size == ranks) return id;
    return schedule_add_group(schedule, &family);
}

// A matrix is an operation that no step list is run for; its name and its wire are used.
static Op make_op(const BenchCase *bench, uint32_t channel, GroupId group, const char *name) {
    Collective kind = COLLECTIVE_ALL_TO_ALL;
    bool is_collective = bench_case_collective(bench->op, &kind);
    Op op = {.kind = OP_COLLECTIVE, .op_class = OP_CLASS_OTHER, .name = name};
    op.comm = (Comm){.collective = kind,
                     .algorithm = is_collective ? bench->algorithm : ALGORITHM_DIRECT,
                     .inner = bench->inner,
                     .group = group,
                     .channel = channel,
                     .bytes = extent_fixed(is_collective ? bench->bytes : 0),
                     .element = sizeof(float),
                     .format = bench->format};
    return op;
}

static void add_slice(Schedule *schedule, BufferId buffer, SliceAccess access, uint64_t bytes) {
    Slice slice = {.buffer = buffer,
                   .access = access,
                   .offset = extent_fixed(0),
                   .bytes = extent_fixed(bytes)};
    schedule_add_slice(schedule, &slice);
}

static void add_ops(BenchProgram *program, RoleId role) {
    Schedule *schedule = &program->schedule;
    BlockId block = schedule_add_block(schedule, role, "bench");
    uint32_t first = schedule->roles[role].ranks.first;
    for (uint32_t i = 0; i < program->list->count; i++) {
        const BenchCase *bench = &program->list->cases[i];
        OpId *id = &program->ops[i * schedule->role_count + role];
        Text name = {0};
        *id = SCHEDULE_NONE;
        if (first >= bench->ranks) continue;
        bench_case_name(bench, &name);
        Op op = make_op(bench, i, add_group(program, bench->ranks), text_string(&name));
        *id = schedule_add_op(schedule, &op);
        add_slice(schedule, 2 * role, SLICE_READ, room_B(bench));
        add_slice(schedule, 2 * role + 1, SLICE_WRITE, room_B(bench));
        text_free(&name);
    }
    schedule_add_segment(schedule, role, block, 1);
}

bool bench_program_open(const BenchList *list, uint32_t ranks, BenchProgram *out, Err *err) {
    StepShape shape = step_shape_decode(1, 1);
    *out = (BenchProgram){.list = list, .load = load_uniform()};
    schedule_init(&out->schedule, "bench", ranks);
    add_roles(out, ranks);
    add_buffers(out);
    out->ops =
        arena_alloc(&out->arena, (size_t)list->count * out->schedule.role_count, sizeof *out->ops);
    for (RoleId role = 0; role < out->schedule.role_count; role++) add_ops(out, role);
    schedule_finish(&out->schedule);
    if (job_open(&out->schedule, &shape, &out->load, &out->job, err)) return true;
    bench_program_close(out);
    return false;
}

void bench_program_close(BenchProgram *program) {
    job_close(&program->job);
    schedule_free(&program->schedule);
    load_free(&program->load);
    arena_free(&program->arena);
    *program = (BenchProgram){0};
}

// ---- One case on one rank

static Message message_of(const OpInstance *instance, MessageKind kind, uint32_t peer,
                          uint8_t *bytes, uint64_t count) {
    return (Message){.kind = kind,
                     .peer = peer,
                     .tag =
                         job_tag(instance->job->wires[instance->cursor.op], instance->meeting, 0),
                     .bytes = bytes,
                     .count = count};
}

// Bytes to (and from) the ranks before `rank` lie before its own.
static uint64_t before(const BenchCase *bench, uint32_t me, uint32_t rank, MessageKind kind) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < rank; i++)
        sum += kind == MESSAGE_SEND ? bench_cases_bytes(bench, me, i)
                                    : bench_cases_bytes(bench, i, me);
    return sum;
}

static bool exchange(const BackEnd *back_end, const BenchCase *bench, const OpInstance *instance,
                     Err *err) {
    Message messages[2 * BENCH_RANKS_MAX];
    uint32_t count = 0, me = instance->rank, n = bench->ranks;
    BufferId in = 2 * instance->cursor.role;
    for (uint32_t i = 1; i < n; i++) {
        uint32_t to = (me + i) % n, from = (me + n - i) % n;
        uint64_t out_B = bench_cases_bytes(bench, me, to);
        uint64_t in_B = bench_cases_bytes(bench, from, me);
        if (out_B > 0)
            messages[count++] =
                message_of(instance, MESSAGE_SEND, to,
                           instance->buffers[in] + before(bench, me, to, MESSAGE_SEND), out_B);
        if (in_B > 0)
            messages[count++] =
                message_of(instance, MESSAGE_RECV, from,
                           instance->buffers[in + 1] + before(bench, me, from, MESSAGE_RECV), in_B);
    }
    return count == 0 || back_end->exchange(back_end->self, me, messages, count, err);
}

bool bench_program_drill(void *context, const BackEnd *back_end, OpInstance *instance,
                         uint32_t repeat, Err *err) {
    const BenchProgram *program = context;
    uint32_t which = program->order[repeat];
    const BenchCase *bench = &program->list->cases[which];
    OpId id = program->ops[which * program->schedule.role_count + instance->cursor.role];
    Collective kind;
    CollectiveMoved moved;
    if (id == SCHEDULE_NONE) return true;
    instance->cursor.op = id;
    if (!bench_case_collective(bench->op, &kind)) return exchange(back_end, bench, instance, err);
    if (back_end->collective != NULL) return back_end->collective(back_end->self, instance, err);
    return collective_run(back_end, instance, NULL, &moved, err);
}
