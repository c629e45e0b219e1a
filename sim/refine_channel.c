// Which operations carry the same transfers.
//
// Operations of one channel may differ from instance to instance in what they send; all roles run
// through them in the same order (schedule_check), so those that are equal meet each other alone
// and are a channel of their own here.
#include "sim/refine.h"

#include <stdlib.h>

static bool collect_the_same(const Comm *x, const Comm *y) {
    return x->group == y->group && x->collective == y->collective && x->algorithm == y->algorithm &&
           x->inner == y->inner && x->rail_ppm == y->rail_ppm && x->split == y->split &&
           x->experts_total == y->experts_total && x->moe_layer == y->moe_layer;
}

// Whether an operation is on the channel of a collective or a SEND and carries as much.
static bool is_of_channel(const Schedule *schedule, const StepShape *shape, OpId first, OpId id,
                          OpKind kind) {
    const Op *a = &schedule->ops[first], *b = &schedule->ops[id];
    if (b->kind != kind ||
        extent_value(&a->comm.bytes, shape) != extent_value(&b->comm.bytes, shape))
        return false;
    if (kind == OP_COLLECTIVE) return collect_the_same(&a->comm, &b->comm);
    RoleId from = schedule_op_role(schedule, first), role = schedule_op_role(schedule, id);
    if (kind == OP_SEND) return role == from && b->comm.peer == a->comm.peer;
    return role == a->comm.peer && b->comm.peer == from;
}

static int compare_channels(const void *a, const void *b) {
    const RefineChannelOp *x = a, *y = b;
    if (x->channel != y->channel) return x->channel < y->channel ? -1 : 1;
    return (x->op > y->op) - (x->op < y->op);
}

void refine_channel_index(const Schedule *schedule, Arena *arena, RefineChannelIndex *out) {
    out->count = 0;
    out->items = arena_alloc(arena, schedule->op_count, sizeof *out->items);
    for (OpId id = 0; id < schedule->op_count; id++)
        if (schedule_op_is_comm(schedule->ops[id].kind))
            out->items[out->count++] = (RefineChannelOp){schedule->ops[id].comm.channel, id};
    qsort(out->items, out->count, sizeof *out->items, compare_channels);
}

static uint32_t first_of(const RefineChannelIndex *index, uint32_t channel) {
    uint32_t low = 0, high = index->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (index->items[middle].channel < channel)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t refine_channel_ops(const Schedule *schedule, const RefineChannelIndex *index,
                            const StepShape *shape, OpId op, OpId *out) {
    OpKind kind = schedule->ops[op].kind;
    uint32_t count = 0, channel = schedule->ops[op].comm.channel;
    uint32_t first = first_of(index, channel), end = first;
    for (; end < index->count && index->items[end].channel == channel; end++)
        if (is_of_channel(schedule, shape, op, index->items[end].op, kind))
            out[count++] = index->items[end].op;
    for (uint32_t i = first; kind == OP_SEND && i < end; i++)
        if (is_of_channel(schedule, shape, op, index->items[i].op, OP_RECV))
            out[count++] = index->items[i].op;
    return count;
}
