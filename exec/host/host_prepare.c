// Before a run: sizes for the shape, what is not supported, and what the run would cost.
//
// Invariant: when host_prepare succeeds, every byte that the run reads or writes is inside the
// memory that it then takes (the parts of a recorded load excepted, which host_collective
// compares), and memory, instances and moved bytes are within the limits of host.h.
#include "exec/host/host_internal.h"

#include "exec/host/sum.h"
#include "model/base/wide.h"

static bool check_sums(const Schedule *schedule, OpId id, const HostRun *run, Err *err) {
    const Op *op = &schedule->ops[id];
    NumFmt format = op->comm.format;
    uint64_t bytes = extent_value(&op->comm.bytes, run->shape), unit = op->comm.element;
    if (op->kind == OP_COPY) {
        const Slice *output = &schedule->slices[run->sides[id].output];
        if (output->access != SLICE_ADD) return true;
        format = schedule->buffers[output->buffer].format;
        bytes = unit = extent_value(&op->compute.bytes, run->shape);
    } else if (op->kind != OP_COLLECTIVE || op->comm.collective == COLLECTIVE_ALL_GATHER ||
               op->comm.collective == COLLECTIVE_ALL_TO_ALL ||
               op->comm.collective == COLLECTIVE_BROADCAST) {
        return true;
    }
    uint32_t element;
    if (!sum_has(format, &element))
        return err_set(err, "the host back end has no sums in %s", numfmt_name(format));
    return (bytes % element == 0 && unit % element == 0) ||
           err_set(err, "%llu bytes in units of %llu are not whole elements of %s",
                   (unsigned long long)bytes, (unsigned long long)unit, numfmt_name(format));
}

static bool check_load(const HostRun *run, const Op *op, Err *err) {
    const Comm *comm = &op->comm;
    if (op->kind != OP_COLLECTIVE || comm->split == SPLIT_EVEN) return true;
    if (run->load->sources > 1)
        return err_set(err, "the load is of %u sources, the host back end deals tokens of one",
                       run->load->sources);
    return load_check(run->load, comm->moe_layer + 1, comm->experts_total, err);
}

static bool prepare_ops(HostRun *run, Err *err) {
    const Schedule *schedule = run->schedule;
    run->sides = arena_alloc(&run->arena, schedule->op_count, sizeof *run->sides);
    for (OpId id = 0; id < schedule->op_count; id++) {
        char text[SCHEDULE_TEXT_MAX];
        if (!schedule_comm_sides(schedule, id, &run->sides[id], err) ||
            !check_sums(schedule, id, run, err) || !check_load(run, &schedule->ops[id], err))
            return err_prefix(err, "%s", schedule_op_text(schedule, id, text));
    }
    return true;
}

static void prepare_slices(HostRun *run) {
    const Schedule *schedule = run->schedule;
    run->slices = arena_alloc(&run->arena, schedule->slice_count, sizeof *run->slices);
    for (uint32_t i = 0; i < schedule->slice_count; i++) {
        const Slice *slice = &schedule->slices[i];
        run->slices[i] = (HostRange){.first = extent_value(&slice->offset, run->shape),
                                     .count = extent_value(&slice->bytes, run->shape)};
    }
}

static Wide op_bytes(const HostRun *run, const Op *op) {
    if (op->kind == OP_COPY) return extent_value(&op->compute.bytes, run->shape);
    return schedule_op_is_comm(op->kind) ? extent_value(&op->comm.bytes, run->shape) : 0;
}

// Bytes that an instance of the operation moves on one rank, and bytes that lie aside meanwhile for
// its whole group, both from above.
static Wide moved_B(const HostRun *run, const Op *op) {
    Wide bytes = op_bytes(run, op);
    return op->kind == OP_COLLECTIVE ? 2 * bytes * run->schedule->groups[op->comm.group].size
                                     : bytes;
}

static Wide aside_B(const HostRun *run, const Op *op) {
    if (op->kind != OP_COLLECTIVE) return 0;
    uint32_t n = run->schedule->groups[op->comm.group].size;
    uint32_t copies = op->comm.algorithm == ALGORITHM_HIERARCHICAL ? 4 : 2; // with scratch or not
    return copies * (op_bytes(run, op) + (Wide)op->comm.element * n) * n;
}

// How many messages of a port may be on their way: see host_post.
static void size_mail(HostRun *run, uint32_t port, Wide *memory) {
    const SchedulePort *end = &run->wiring.ports[port];
    HostMail *mail = &run->mails[port];
    if (end->kind != OP_SEND) return;
    uint32_t receive =
        schedule_wire_port(&run->wiring, OP_RECV, end->role, end->channel, end->with);
    uint32_t lag = run->schedule->ops[run->wiring.ops[run->wiring.ports[receive].first]].comm.lag;
    uint32_t passes = run->schedule->roles[end->role].passes;
    uint64_t per_pass = 0;
    for (uint32_t i = end->first; i < end->first + end->count; i++) {
        OpId id = run->wiring.ops[i];
        uint64_t bytes = extent_value(&run->schedule->ops[id].comm.bytes, run->shape);
        per_pass += schedule_index_per_pass(&run->index, id);
        if (bytes > mail->slot_B) mail->slot_B = bytes;
    }
    mail->slots = (lag < passes ? lag : passes) * per_pass + 2; // per_pass is below HOST_RUNS_MAX
    *memory += wide_mul(mail->slots, mail->slot_B) * schedule_role_size(run->schedule, end->role);
}

static Wide memory_needed(HostRun *run) {
    const Schedule *schedule = run->schedule;
    Wide memory = 0, aside = 0;
    for (BufferId id = 0; id < schedule->buffer_count; id++)
        memory += wide_mul(extent_value(&schedule->buffers[id].bytes, run->shape),
                           schedule_role_size(schedule, schedule->buffers[id].role));
    for (uint32_t port = 0; port < run->wiring.port_count; port++) size_mail(run, port, &memory);
    for (OpId id = 0; id < schedule->op_count; id++) {
        const Op *op = &schedule->ops[id];
        uint32_t ranks = schedule_role_size(schedule, schedule_op_role(schedule, id));
        memory += (Wide)ranks * 2 * sizeof(uint64_t); // counts by rank and operation
        if (aside_B(run, op) > aside) aside = aside_B(run, op);
    }
    return memory + aside;
}

static bool check_limits(HostRun *run, Err *err) {
    const Schedule *schedule = run->schedule;
    Wide runs = 0, moved = 0;
    char text[40];
    for (OpId id = 0; id < schedule->op_count; id++) {
        const Op *op = &schedule->ops[id];
        RoleId role = schedule_op_role(schedule, id);
        Wide instances =
            wide_mul(schedule_index_per_pass(&run->index, id), schedule->roles[role].passes) *
            schedule_role_size(schedule, role);
        runs += instances;
        if (instances <= HOST_RUNS_MAX && moved <= HOST_MOVED_MAX_B)
            moved += instances * moved_B(run, op);
    }
    if (runs > HOST_RUNS_MAX)
        return err_set(err, "the run has %s operation instances, at most %llu",
                       wide_format(runs, text), (unsigned long long)HOST_RUNS_MAX);
    if (moved > HOST_MOVED_MAX_B)
        return err_set(err, "the run moves up to %s bytes, at most %llu", wide_format(moved, text),
                       (unsigned long long)HOST_MOVED_MAX_B);
    Wide memory = memory_needed(run);
    return memory <= HOST_MEMORY_MAX_B ||
           err_set(err, "the run needs %s bytes of memory on %u ranks together, at most %llu",
                   wide_format(memory, text), schedule->rank_count,
                   (unsigned long long)HOST_MEMORY_MAX_B);
}

bool host_prepare(HostRun *run, Err *err) {
    if (!schedule_check(run->schedule, run->shape, err) ||
        !schedule_wire_open(run->schedule, &run->wiring, err))
        return false;
    schedule_index_build(&run->index, run->schedule, UINT32_MAX, UINT32_MAX);
    run->mails = arena_alloc(&run->arena, run->wiring.port_count, sizeof *run->mails);
    prepare_slices(run);
    return prepare_ops(run, err) && check_limits(run, err);
}
