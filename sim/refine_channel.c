// Which operations carry the same transfers.
//
// Operations of one channel may differ from instance to instance in what they send; all roles run
// through them in the same order (schedule_check), so those that are equal meet each other alone
// and are a channel of their own here.
#include "sim/refine.h"

static bool collect_the_same(const Comm *x, const Comm *y) {
    return x->group == y->group && x->collective == y->collective && x->algorithm == y->algorithm &&
           x->inner == y->inner && x->rail_ppm == y->rail_ppm && x->split == y->split &&
           x->experts_total == y->experts_total && x->moe_layer == y->moe_layer;
}

// Whether an operation is on the channel of a collective or a SEND and carries as much.
static bool is_of_channel(const Schedule *schedule, const StepShape *shape, OpId first, OpId id,
                          OpKind kind) {
    const Op *a = &schedule->ops[first], *b = &schedule->ops[id];
    if (b->kind != kind || a->comm.channel != b->comm.channel ||
        extent_value(&a->comm.bytes, shape) != extent_value(&b->comm.bytes, shape))
        return false;
    if (kind == OP_COLLECTIVE) return collect_the_same(&a->comm, &b->comm);
    RoleId from = schedule_op_role(schedule, first), role = schedule_op_role(schedule, id);
    if (kind == OP_SEND) return role == from && b->comm.peer == a->comm.peer;
    return role == a->comm.peer && b->comm.peer == from;
}

uint32_t refine_channel_ops(const Schedule *schedule, const StepShape *shape, OpId op, OpId *out) {
    OpKind kind = schedule->ops[op].kind;
    uint32_t count = 0;
    for (OpId id = 0; id < schedule->op_count; id++)
        if (is_of_channel(schedule, shape, op, id, kind)) out[count++] = id;
    for (OpId id = 0; kind == OP_SEND && id < schedule->op_count; id++)
        if (is_of_channel(schedule, shape, op, id, OP_RECV)) out[count++] = id;
    return count;
}
