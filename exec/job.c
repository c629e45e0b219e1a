// Before a run: sizes for the shape, who meets whom, what is not supported, and what it would cost.
//
// Invariant: when job_open succeeds, every byte that a forced run reads or writes is inside the
// slices of its operation, which have what the load gives its rank (share_room.c), and instances
// and moved bytes are within the limits of job.h.
#include "exec/job.h"

#include <stdio.h>
#include <stdlib.h>

#include "exec/share.h"
#include "exec/sum.h"
#include "model/base/wide.h"

// ---- What every rank looks up

static void prepare_ranks(Job *job) {
    const Schedule *schedule = job->schedule;
    RoleId *roles = schedule_wire_owners(schedule);
    job->roles = arena_copy(&job->arena, roles, schedule->rank_count, sizeof *roles);
    mem_free(roles);
    job->members = arena_alloc(&job->arena, schedule->rank_count, sizeof *job->members);
    for (uint32_t rank = 0; rank < schedule->rank_count; rank++)
        schedule_set_index(&schedule->roles[job->roles[rank]].ranks, rank, &job->members[rank]);
    job->places = arena_alloc(&job->arena, schedule->op_count, sizeof *job->places);
    job->role_ops = arena_alloc(&job->arena, schedule->role_count, sizeof *job->role_ops);
    for (OpId id = 0; id < schedule->op_count; id++)
        job->places[id] = job->role_ops[schedule_op_role(schedule, id)]++;
}

static void prepare_sizes(Job *job) {
    const Schedule *schedule = job->schedule;
    job->slices = arena_alloc(&job->arena, schedule->slice_count, sizeof *job->slices);
    for (uint32_t i = 0; i < schedule->slice_count; i++) {
        const Slice *slice = &schedule->slices[i];
        job->slices[i] = (JobRange){.first = extent_value(&slice->offset, &job->shape),
                                    .count = extent_value(&slice->bytes, &job->shape)};
    }
    job->size_B = arena_alloc(&job->arena, schedule->buffer_count, sizeof *job->size_B);
    for (BufferId id = 0; id < schedule->buffer_count; id++)
        job->size_B[id] = extent_value(&schedule->buffers[id].bytes, &job->shape);
}

// The port that gives a channel its number: the first of a collective, the sender of a message.
static uint32_t wire_of(const Job *job, OpId id) {
    const ScheduleWiring *wiring = &job->wiring;
    uint32_t port = wiring->port_of[id];
    const SchedulePort *end = &wiring->ports[port];
    if (end->kind == OP_RECV)
        return schedule_wire_port(wiring, OP_SEND, end->role, end->channel, end->with);
    while (end->kind == OP_COLLECTIVE && port > 0 && wiring->ports[port - 1].kind == end->kind &&
           wiring->ports[port - 1].with == end->with &&
           wiring->ports[port - 1].channel == end->channel)
        port--;
    return port;
}

static uint64_t port_per_pass(const Job *job, const SchedulePort *end) {
    uint64_t per_pass = 0;
    for (uint32_t i = end->first; i < end->first + end->count; i++)
        per_pass += schedule_index_per_pass(&job->index, job->wiring.ops[i]);
    return per_pass;
}

// Messages of all passes that the receive is behind its send.
static uint64_t behind_of(const Job *job, const SchedulePort *end) {
    const ScheduleWiring *wiring = &job->wiring;
    if (end->kind == OP_COLLECTIVE) return 0;
    if (end->kind == OP_SEND)
        end =
            &wiring->ports[schedule_wire_port(wiring, OP_RECV, end->role, end->channel, end->with)];
    return port_per_pass(job, end) * job->schedule->ops[wiring->ops[end->first]].comm.lag;
}

// Operations that are split by a load, in an order that brings together the dispatches and the
// combines of one group, layer and block.
typedef struct Routed {
    uint32_t key[3]; // block, group, layer
    Split split;
    OpId op;
} Routed;

static int compare_keys(const Routed *a, const Routed *b) {
    for (uint32_t i = 0; i < 3; i++)
        if (a->key[i] != b->key[i]) return a->key[i] < b->key[i] ? -1 : 1;
    return 0;
}

static int compare_routed(const void *left, const void *right) {
    const Routed *a = left, *b = right;
    int order = compare_keys(a, b);
    if (order != 0) return order;
    if (a->split != b->split) return a->split == SPLIT_BY_DESTINATION ? -1 : 1;
    return (a->op > b->op) - (a->op < b->op);
}

// They follow each other in equal order: the first combine undoes the first dispatch.
static void prepare_undoes(Job *job) {
    const Schedule *schedule = job->schedule;
    Routed *routed = mem_alloc(schedule->op_count, sizeof *routed);
    uint32_t count = 0;
    job->undoes = arena_alloc(&job->arena, schedule->op_count, sizeof *job->undoes);
    for (OpId id = 0; id < schedule->op_count; id++) {
        const Op *op = &schedule->ops[id];
        job->undoes[id] = SCHEDULE_NONE;
        if (op->kind == OP_COLLECTIVE && op->comm.split != SPLIT_EVEN)
            routed[count++] =
                (Routed){{op->block, op->comm.group, op->comm.moe_layer}, op->comm.split, id};
    }
    qsort(routed, count, sizeof *routed, compare_routed);
    uint32_t first = 0, combines = 0; // of this key; combines of it so far
    for (uint32_t i = 0; i < count; i++) {
        if (compare_keys(&routed[first], &routed[i]) != 0) {
            first = i;
            combines = 0;
        }
        if (routed[i].split != SPLIT_BY_SOURCE) continue;
        const Routed *dispatch = &routed[first + combines++];
        if (dispatch->split == SPLIT_BY_DESTINATION) job->undoes[routed[i].op] = dispatch->op;
    }
    mem_free(routed);
}

static void prepare_wires(Job *job) {
    const Schedule *schedule = job->schedule;
    const ScheduleWiring *wiring = &job->wiring;
    job->wires = arena_alloc(&job->arena, schedule->op_count, sizeof *job->wires);
    job->behind = arena_alloc(&job->arena, schedule->op_count, sizeof *job->behind);
    job->channel_runs = arena_alloc(&job->arena, schedule->op_count, sizeof *job->channel_runs);
    for (uint32_t port = 0; port < wiring->port_count; port++) {
        const SchedulePort *end = &wiring->ports[port];
        uint64_t runs = port_per_pass(job, end) * schedule_index_passes(&job->index, end->role);
        uint64_t behind = behind_of(job, end);
        for (uint32_t i = end->first; i < end->first + end->count; i++) {
            job->wires[wiring->ops[i]] = wire_of(job, wiring->ops[i]);
            job->behind[wiring->ops[i]] = behind;
            job->channel_runs[wiring->ops[i]] = runs;
        }
    }
}

OpId job_peer_op(const OpInstance *instance, RoleId role) {
    const Job *job = instance->job;
    const ScheduleWiring *wiring = &job->wiring;
    const Op *own = job_op(instance);
    if (role == instance->cursor.role) return instance->cursor.op;
    uint32_t port = schedule_wire_port(wiring, own->kind, own->comm.group, own->comm.channel, role);
    const SchedulePort *end = &wiring->ports[port];
    if (end->count == 1) return wiring->ops[end->first];
    uint64_t number = instance->meeting % port_per_pass(job, end);
    const Role *program = &job->schedule->roles[role];
    for (uint32_t s = program->first_segment; s < program->first_segment + program->segment_count;
         s++) {
        const Segment *segment = &job->schedule->segments[s];
        for (uint32_t i = end->first; i < end->first + end->count; i++) {
            if (job->schedule->ops[wiring->ops[i]].block != segment->block) continue;
            if (number < segment->repeat) return wiring->ops[i];
            number -= segment->repeat;
        }
    }
    return wiring->ops[end->first];
}

// ---- What is refused

static bool check_sums(const Job *job, OpId id, Err *err) {
    const Schedule *schedule = job->schedule;
    const Op *op = &schedule->ops[id];
    NumFmt format = op->comm.format;
    uint64_t bytes = extent_value(&op->comm.bytes, &job->shape), unit = op->comm.element;
    if (op->kind == OP_COPY) {
        const Slice *output = &schedule->slices[job->sides[id].output];
        if (output->access != SLICE_ADD) return true;
        format = schedule->buffers[output->buffer].format;
        bytes = unit = extent_value(&op->compute.bytes, &job->shape);
    } else if (op->kind != OP_COLLECTIVE || op->comm.collective == COLLECTIVE_ALL_GATHER ||
               op->comm.collective == COLLECTIVE_ALL_TO_ALL ||
               op->comm.collective == COLLECTIVE_BROADCAST) {
        return true;
    }
    uint32_t element;
    if (!sum_has(format, &element))
        return err_set(err, "sums in %s do not run, expected f32 or bf16", numfmt_name(format));
    return (bytes % element == 0 && unit % element == 0) ||
           err_set(err, "%llu bytes in units of %llu are not whole elements of %s",
                   (unsigned long long)bytes, (unsigned long long)unit, numfmt_name(format));
}

// Sums of a step that no sequences have.
static bool check_shape(const StepShape *shape, Err *err) {
    Wide pairs = wide_mul(shape->tokens, shape->kv_tokens);
    char text[40];
    if (shape->sequences > shape->tokens)
        return err_set(err, "a step of %llu tokens in %llu sequences, expected a token for each",
                       (unsigned long long)shape->tokens, (unsigned long long)shape->sequences);
    return shape->qk_pairs <= pairs ||
           err_set(err, "%llu qk pairs, expected at most the %s of %llu tokens and %llu kv tokens",
                   (unsigned long long)shape->qk_pairs, wide_format(pairs, text),
                   (unsigned long long)shape->tokens, (unsigned long long)shape->kv_tokens);
}

static bool check_group(const Job *job, const Op *op, Err *err) {
    if (op->kind != OP_COLLECTIVE) return true;
    uint32_t size = job->schedule->groups[op->comm.group].size;
    return size <= JOB_GROUP_MAX ||
           err_set(err, "a group of %u ranks, expected at most %u", size, JOB_GROUP_MAX);
}

static bool prepare_ops(Job *job, Err *err) {
    const Schedule *schedule = job->schedule;
    job->sides = arena_alloc(&job->arena, schedule->op_count, sizeof *job->sides);
    for (OpId id = 0; id < schedule->op_count; id++) {
        char text[SCHEDULE_TEXT_MAX];
        if (!schedule_comm_sides(schedule, id, &job->sides[id], err) || !check_sums(job, id, err) ||
            !check_group(job, &schedule->ops[id], err))
            return err_prefix(err, "%s", schedule_op_text(schedule, id, text));
    }
    return job->wiring.port_count < JOB_WIRES_MAX ||
           err_set(err, "the run has %u ends of channels, expected less than %u",
                   job->wiring.port_count, JOB_WIRES_MAX);
}

static Wide op_bytes(const Job *job, const Op *op) {
    if (op->kind == OP_COPY) return extent_value(&op->compute.bytes, &job->shape);
    return schedule_op_is_comm(op->kind) ? extent_value(&op->comm.bytes, &job->shape) : 0;
}

// Bytes that an instance of the operation moves on one rank, from above.
static Wide moved_B(const Job *job, const Op *op) {
    Wide bytes = op_bytes(job, op);
    return op->kind == OP_COLLECTIVE ? 2 * bytes * job->schedule->groups[op->comm.group].size
                                     : bytes;
}

static bool check_limits(Job *job, Err *err) {
    const Schedule *schedule = job->schedule;
    Wide runs = 0, moved = 0;
    char text[40];
    for (OpId id = 0; id < schedule->op_count; id++) {
        RoleId role = schedule_op_role(schedule, id);
        Wide instances =
            wide_mul(schedule_index_per_pass(&job->index, id), schedule->roles[role].passes) *
            schedule_role_size(schedule, role);
        runs += instances;
        if (instances <= JOB_RUNS_MAX && moved <= JOB_MOVED_MAX_B)
            moved += instances * moved_B(job, &schedule->ops[id]);
    }
    if (runs > JOB_RUNS_MAX)
        return err_set(err, "the run has %s operation instances, at most %llu",
                       wide_format(runs, text), (unsigned long long)JOB_RUNS_MAX);
    job->runs = (uint64_t)runs;
    return moved <= JOB_MOVED_MAX_B ||
           err_set(err, "the run moves up to %s bytes, at most %llu", wide_format(moved, text),
                   (unsigned long long)JOB_MOVED_MAX_B);
}

// ---- Memory

// Of an instance that a load splits: the shares of its group; copies of the most that the rank
// sends or holds; and what passes a rank between two nodes, at most all that one rank of every node
// has, in scratch and once more.
static Wide routed_aside_B(const Job *job, OpId id) {
    const Op *op = &job->schedule->ops[id];
    uint32_t n = job->schedule->groups[op->comm.group].size, inner = op->comm.inner;
    Wide bytes = op_bytes(job, op), most = bytes;
    const uint64_t rooms_B[] = {job->slices[job->sides[id].input].count,
                                job->slices[job->sides[id].output].count};
    for (uint32_t i = 0; i < 2; i++)
        if (rooms_B[i] > most) most = rooms_B[i];
    Wide aside = share_size_B(job->load, n) + 2 * (most + (Wide)op->comm.element * n);
    bool passes = op->comm.algorithm == ALGORITHM_HIERARCHICAL && inner > 0;
    return passes ? aside + 2 * (bytes + op->comm.element) * (n / inner) : aside;
}

// What lies aside for an instance of a collective on one rank: copies of the input and of what
// changes in a step, and all addends that come in one step.
static Wide aside_B(const Job *job, OpId id) {
    const Op *op = &job->schedule->ops[id];
    if (op->kind != OP_COLLECTIVE) return 0;
    if (op->comm.split != SPLIT_EVEN && job->load->kind != LOAD_UNIFORM)
        return routed_aside_B(job, id);
    uint32_t n = job->schedule->groups[op->comm.group].size, copies = 2;
    if (op->comm.algorithm == ALGORITHM_HIERARCHICAL) copies = 4; // with scratch
    if (op->comm.algorithm == ALGORITHM_ONE_SHOT || op->comm.algorithm == ALGORITHM_IN_SWITCH)
        copies = n + 1; // all of everyone at once
    return copies * (op_bytes(job, op) + (Wide)op->comm.element * n);
}

// On one rank of each role [role_count]: counts, messages on their way, and a collective on each
// stream.
static Wide *role_asides(const Job *job) {
    const Schedule *schedule = job->schedule;
    Wide *sums = mem_alloc(schedule->role_count, sizeof *sums);
    Wide *most = mem_alloc(schedule->role_count, SCHEDULE_STREAMS_MAX * sizeof *most);
    for (OpId id = 0; id < schedule->op_count; id++) {
        const Op *op = &schedule->ops[id];
        RoleId role = schedule_op_role(schedule, id);
        Wide *largest = &most[(size_t)role * SCHEDULE_STREAMS_MAX + op->stream];
        sums[role] += 2 * sizeof(uint64_t);
        if (op->kind == OP_SEND && job->behind[id] > 0)
            sums[role] +=
                wide_mul(schedule_index_per_pass(&job->index, id), schedule->roles[role].passes) *
                op_bytes(job, op);
        if (aside_B(job, id) > *largest) *largest = aside_B(job, id);
    }
    for (size_t i = 0; i < (size_t)schedule->role_count * SCHEDULE_STREAMS_MAX; i++)
        sums[i / SCHEDULE_STREAMS_MAX] += most[i];
    mem_free(most);
    return sums;
}

bool job_check_memory(const Job *job, const uint64_t *size_B, const uint32_t *ranks,
                      uint32_t rank_count, uint64_t unit_B, const char *parts, Err *err) {
    const Schedule *schedule = job->schedule;
    uint32_t *counts = mem_alloc(schedule->role_count, sizeof *counts); // ranks of each role
    Wide *asides = role_asides(job);
    Wide memory = 0;
    char text[40], own[40];
    for (uint32_t i = 0; i < rank_count; i++) counts[job->roles[ranks[i]]]++;
    for (BufferId id = 0; id < schedule->buffer_count; id++)
        memory += wide_mul(size_B[id], counts[schedule->buffers[id].role]);
    for (RoleId role = 0; role < schedule->role_count; role++)
        memory += counts[role] * asides[role];
    mem_free(asides);
    mem_free(counts);
    if (memory + unit_B <= JOB_MEMORY_MAX_B) return true;
    err_set(err, "the run needs %s bytes of memory on %u ranks together, at most %llu",
            wide_format(memory + unit_B, text), rank_count, (unsigned long long)JOB_MEMORY_MAX_B);
    if (*parts == '\0') return false;
    Err total = *err;
    return err_set(err, "%s: %s, buffers and messages %s", total.text, parts,
                   wide_format(memory, own));
}

bool job_open(const Schedule *schedule, const StepShape *shape, const Load *load, Job *out,
              Err *err) {
    Job job = {.schedule = schedule, .shape = *shape, .load = load};
    bool good = schedule_check(schedule, shape, err) && check_shape(shape, err) &&
                schedule_wire_open(schedule, &job.wiring, err);
    if (good) {
        schedule_index_build(&job.index, schedule, UINT32_MAX, UINT32_MAX);
        prepare_sizes(&job);
        good = prepare_ops(&job, err) && load_check_schedule(load, schedule, err) &&
               load_check_layers(load, schedule, err) && check_limits(&job, err);
    }
    if (good) {
        prepare_ranks(&job);
        prepare_wires(&job);
        prepare_undoes(&job);
        good = share_room(&job, err);
    }
    if (good)
        *out = job;
    else
        job_close(&job);
    return good;
}

void job_close(Job *job) {
    schedule_index_free(&job->index);
    schedule_wire_close(&job->wiring);
    arena_free(&job->arena);
    *job = (Job){0};
}

char *job_text(const OpInstance *instance, char *buffer) {
    char text[SCHEDULE_TEXT_MAX];
    snprintf(buffer, JOB_TEXT_MAX, "%s on rank %u",
             schedule_op_text(instance->job->schedule, instance->cursor.op, text), instance->rank);
    return buffer;
}
