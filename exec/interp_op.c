// One operation of the interpreter: copies here, messages and collectives over the back end, all
// else by the compute unit.
//
// Invariant: message k of a receive that is some messages behind is message k less those of the
// sends; the first ones of a run bring nothing. Sends of such a channel do not wait for their
// receives, all others end after theirs was reached.
#include "exec/interp_internal.h"

#include <string.h>

#include "exec/sum.h"

// Bytes that this rank has of a message or a copy.
static uint64_t own_B(const InterpWorker *worker, const OpInstance *instance, const Extent *bytes) {
    const ComputeUnit *compute = worker->run->compute;
    uint64_t share_B = COMPUTE_AS_SCHEDULED;
    if (compute->share_B != NULL)
        share_B = compute->share_B(compute->self, instance, instance->rank);
    return share_B == COMPUTE_AS_SCHEDULED ? extent_value(bytes, &instance->job->shape) : share_B;
}

static uint64_t copy(const InterpWorker *worker, const OpInstance *instance) {
    const Job *job = instance->job;
    const Op *op = job_op(instance);
    const ScheduleSides *sides = &job->sides[instance->cursor.op];
    const Slice *output = &job->schedule->slices[sides->output];
    uint64_t bytes = own_B(worker, instance, &op->compute.bytes);
    const uint8_t *from = job_slice(instance, sides->input);
    uint8_t *into = job_slice(instance, sides->output);
    if (output->access == SLICE_ADD)
        sum_add(job->schedule->buffers[output->buffer].format, into, from, bytes);
    else
        memmove(into, from, bytes);
    return bytes;
}

static bool exchange(InterpWorker *worker, const OpInstance *instance, Err *err) {
    const Job *job = instance->job;
    const Op *op = job_op(instance);
    const BackEnd *back_end = worker->run->back_end;
    OpId id = instance->cursor.op;
    uint64_t number = instance->meeting;
    Message message = {.kind = job->behind[id] > 0 ? MESSAGE_POST : MESSAGE_SEND,
                       .peer = schedule_rank_at(&job->schedule->roles[op->comm.peer].ranks,
                                                job->members[instance->rank]),
                       .count = own_B(worker, instance, &op->comm.bytes)};
    if (op->kind == OP_SEND) {
        message.bytes = job_slice(instance, job->sides[id].input);
        worker->linked_B[op->op_class] += message.count;
    } else {
        if (number - worker->repeat * job->channel_runs[id] < job->behind[id]) return true;
        number -= job->behind[id];
        message.kind = MESSAGE_RECV;
        message.bytes = job_slice(instance, job->sides[id].output);
    }
    message.tag = job_tag(job->wires[id], number, 0);
    return back_end->exchange(back_end->self, instance->rank, &message, 1, err);
}

static bool is_as_scheduled(const ComputeUnit *compute, const OpInstance *instance) {
    if (compute->routing != NULL && job_op(instance)->comm.split != SPLIT_EVEN) return false;
    return compute->share_B == NULL ||
           compute->share_B(compute->self, instance, instance->rank) == COMPUTE_AS_SCHEDULED;
}

static bool collect(InterpWorker *worker, const OpInstance *instance, Err *err) {
    const InterpRun *run = worker->run;
    const Op *op = job_op(instance);
    CollectiveMoved moved;
    if (run->back_end->collective != NULL && is_as_scheduled(run->compute, instance))
        return run->back_end->collective(run->back_end->self, instance, err);
    if (!collective_run(run->back_end, instance, run->compute, &moved, err)) return false;
    worker->linked_B[op->op_class] += moved.linked_B;
    worker->local_B[op->op_class] += moved.local_B;
    return true;
}

bool interp_op(InterpWorker *worker, const OpInstance *instance, Err *err) {
    const ComputeUnit *compute = worker->run->compute;
    const Op *op = job_op(instance);
    switch (op->kind) {
    case OP_COPY: worker->local_B[op->op_class] += copy(worker, instance); return true;
    case OP_SEND:
    case OP_RECV: return exchange(worker, instance, err);
    case OP_COLLECTIVE: return collect(worker, instance, err);
    case OP_GEMM:
    case OP_GROUPED_GEMM:
    case OP_ATTENTION:
    case OP_MEMORY:
        return worker->run->works[instance->cursor.op] == TIMELINE_FILE_SKIPPED ||
               compute->run(compute->self, instance, err);
    case OP_KIND_COUNT: break;
    }
    return true;
}
