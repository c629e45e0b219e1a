// Bytes of copies, sends and receives.
//
// Invariant: a message lies in its slot from the time when its send is reached until its receive
// has taken it. Send k is reached only after send k - 1 has ended, thus after receive k - 1 was
// reached; receive k - 1 takes message k - 1 - lag, so messages k - 1 - lag to k may lie there: lag
// + 2 slots.
#include "exec/host/host_internal.h"

#include <assert.h>
#include <string.h>

#include "exec/host/sum.h"

uint8_t *host_slice(const HostRun *run, uint32_t slice, uint32_t rank) {
    BufferId buffer = run->schedule->slices[slice].buffer;
    uint64_t member = run->members[rank];
    return run->result->memory[buffer] + member * run->result->size_B[buffer] +
           run->slices[slice].first;
}

void host_copy(HostRun *run, OpId id, uint32_t rank) {
    const Op *op = &run->schedule->ops[id];
    const Slice *output = &run->schedule->slices[run->sides[id].output];
    uint64_t bytes = extent_value(&op->compute.bytes, run->shape);
    const uint8_t *from = host_slice(run, run->sides[id].input, rank);
    uint8_t *into = host_slice(run, run->sides[id].output, rank);
    if (output->access == SLICE_ADD)
        sum_add(run->schedule->buffers[output->buffer].format, into, from, bytes);
    else
        memmove(into, from, bytes);
    run->result->local_B[op->op_class] += bytes;
}

static uint8_t *slot_of(const HostMail *mail, uint32_t member, uint64_t number) {
    return mail->bytes + ((uint64_t)member * mail->slots + number % mail->slots) * mail->slot_B;
}

void host_post(HostRun *run, OpId id, uint32_t rank, uint64_t number) {
    const Op *op = &run->schedule->ops[id];
    const HostMail *mail = &run->mails[run->wiring.port_of[id]];
    uint64_t bytes = extent_value(&op->comm.bytes, run->shape);
    memcpy(slot_of(mail, run->members[rank], number), host_slice(run, run->sides[id].input, rank),
           bytes);
    run->result->linked_B[op->op_class] += bytes;
}

void host_accept(HostRun *run, OpId id, uint32_t rank, uint64_t number) {
    const Op *op = &run->schedule->ops[id];
    uint32_t sender = schedule_wire_port(&run->wiring, OP_SEND, run->roles[rank], op->comm.channel,
                                         op->comm.peer);
    assert(sender != SCHEDULE_NONE);
    memcpy(host_slice(run, run->sides[id].output, rank),
           slot_of(&run->mails[sender], run->members[rank], number),
           extent_value(&op->comm.bytes, run->shape));
}
