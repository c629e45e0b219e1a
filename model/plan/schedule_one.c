// One operation, in one block, of one role.
//
// Invariant: the role has the ranks of whole periods of the family, so all of its ranks are in a
// group.
#include "model/plan/schedule_one.h"

static RankSet ranks_of(const GroupFamily *family) {
    uint32_t per_period = family->period > 0 ? family->per_period : family->count;
    uint32_t count = per_period * family->size;
    return (RankSet){.first = family->first,
                     .count = count,
                     .period = family->period > 0 ? family->period : count,
                     .repeat = per_period > 0 ? family->count / per_period : 0};
}

void schedule_one_collective(const GroupFamily *family, const Comm *comm, Schedule *out) {
    RankSet ranks = ranks_of(family);
    uint32_t last = schedule_rank_at(&ranks, schedule_set_size(&ranks) - 1);
    Op op = {.kind = OP_COLLECTIVE,
             .op_class = OP_CLASS_OTHER,
             .name = collective_names[comm->collective],
             .comm = *comm};
    schedule_init(out, "one collective", last + 1);
    RoleId role = schedule_add_role(out, "ranks", ranks, 1);
    op.comm.group = schedule_add_group(out, family);
    BlockId block = schedule_add_block(out, role, "once");
    schedule_add_op(out, &op);
    schedule_add_segment(out, role, block, 1);
    schedule_finish(out);
}
