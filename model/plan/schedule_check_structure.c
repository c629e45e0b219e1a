// Indices in range, ranks covered once, groups that are what their formulas say.
//
// Invariant: nothing is used as an index before it was compared with the length of its array; sums
// of ranks are formed in 64 bits. Ranks are looked at one by one: at most SCHEDULE_RANKS_MAX of
// them, and at most MEMBERS_MAX members of groups.
#include <stdlib.h>

#include "model/base/wide.h"
#include "model/plan/schedule_comm.h"
#include "model/plan/schedule_internal.h"

#define MEMBERS_MAX (UINT64_C(4) * SCHEDULE_RANKS_MAX) // of all groups of all families

static bool check_set(const Schedule *schedule, const RankSet *set, Err *err) {
    if (set->count == 0 || set->repeat == 0) return err_set(err, "the set of ranks is empty");
    if (set->repeat > 1 && set->period < set->count)
        return err_set(err, "a period of %u ranks holds no %u", set->period, set->count);
    uint64_t last =
        (uint64_t)set->first + (uint64_t)(set->repeat - 1) * set->period + set->count - 1;
    return last < schedule->rank_count ||
           err_set(err, "rank %llu is not below the number of ranks, %u", (unsigned long long)last,
                   schedule->rank_count);
}

static bool check_segments(const Schedule *schedule, RoleId id, Err *err) {
    const Role *role = &schedule->roles[id];
    if (role->passes == 0) return err_set(err, "expected at least one pass, found 0");
    for (uint32_t i = 0; i < role->segment_count; i++) {
        const Segment *segment = &schedule->segments[role->first_segment + i];
        if (segment->block >= schedule->block_count)
            return err_set(err, "segment %u: there is no block %u", i, segment->block);
        const Block *block = &schedule->blocks[segment->block];
        char quoted[TEXT_QUOTE_MAX];
        if (block->role != id)
            return err_set(err, "segment %u: block %s belongs to another role", i,
                           text_quote(block->name, quoted));
        if (segment->repeat == 0)
            return err_set(err, "segment %u: expected at least one repeat, found 0", i);
    }
    return true;
}

static bool check_roles(const Schedule *schedule, Err *err) {
    for (RoleId id = 0; id < schedule->role_count; id++) {
        const Role *role = &schedule->roles[id];
        char quoted[TEXT_QUOTE_MAX];
        if (!check_set(schedule, &role->ranks, err) || !check_segments(schedule, id, err))
            return err_prefix(err, "role %s", text_quote(role->name, quoted));
    }
    return true;
}

// Marks the ranks of a role, whose set is in range, as its own.
static bool mark_owner(const Schedule *schedule, RoleId id, RoleId *owners, Err *err) {
    const RankSet *set = &schedule->roles[id].ranks;
    for (uint32_t i = 0; i < schedule_set_size(set); i++) {
        RoleId *owner = &owners[schedule_rank_at(set, i)];
        char first[TEXT_QUOTE_MAX], second[TEXT_QUOTE_MAX];
        if (*owner != SCHEDULE_NONE)
            return err_set(err, "rank %u is in the roles %s and %s", schedule_rank_at(set, i),
                           text_quote(schedule->roles[*owner].name, first),
                           text_quote(schedule->roles[id].name, second));
        *owner = id;
    }
    return true;
}

static bool check_coverage(const Schedule *schedule, Err *err) {
    RoleId *owners = mem_alloc(schedule->rank_count, sizeof *owners);
    bool good = true;
    for (uint32_t rank = 0; rank < schedule->rank_count; rank++) owners[rank] = SCHEDULE_NONE;
    for (RoleId id = 0; good && id < schedule->role_count; id++)
        good = mark_owner(schedule, id, owners, err);
    for (uint32_t rank = 0; good && rank < schedule->rank_count; rank++) {
        if (owners[rank] == SCHEDULE_NONE) good = err_set(err, "rank %u is in no role", rank);
    }
    mem_free(owners);
    return good;
}

static bool check_family_members(const Schedule *schedule, const GroupFamily *family, Err *err) {
    uint32_t per_period = family->period > 0 ? family->per_period : family->count;
    uint32_t turns = (family->count - 1) / per_period;
    uint32_t most = per_period < family->stride ? per_period : family->stride;
    Wide last = (Wide)family->first + wide_mul(turns, family->period) +
                wide_mul((per_period - 1) / family->stride, family->stride) * family->size + most -
                1 + wide_mul(family->size - 1, family->stride);
    if (last >= schedule->rank_count)
        return err_set(err, "its ranks go beyond the number of ranks, %u", schedule->rank_count);
    for (uint32_t group = 0; group < family->count; group++) {
        for (uint32_t j = 0; j < family->size; j++) {
            uint32_t rank = schedule_group_member(family, group, j), found, position;
            if (!schedule_group_of(family, rank, &found, &position) || found != group ||
                position != j)
                return err_set(err, "rank %u is in two of its groups", rank);
        }
    }
    return true;
}

static bool check_family(const Schedule *schedule, const GroupFamily *family, Err *err) {
    if (family->size == 0 || family->stride == 0 || family->count == 0)
        return err_set(err, "expected a size, stride and count above 0");
    if (family->period > 0 && family->per_period == 0)
        return err_set(err, "expected groups per period above 0");
    if ((uint64_t)family->size * family->count > schedule->rank_count)
        return err_set(err, "%u groups of %u are more than %u ranks", family->count, family->size,
                       schedule->rank_count);
    return check_family_members(schedule, family, err);
}

static bool check_groups(const Schedule *schedule, Err *err) {
    uint64_t members = 0;
    for (GroupId id = 0; id < schedule->group_count; id++) {
        const GroupFamily *family = &schedule->groups[id];
        char quoted[TEXT_QUOTE_MAX];
        if (!check_family(schedule, family, err))
            return err_prefix(err, "group %s", text_quote(family->name, quoted));
        members += (uint64_t)family->size * family->count;
        if (members > MEMBERS_MAX)
            return err_set(err, "the groups have more than %llu members together",
                           (unsigned long long)MEMBERS_MAX);
    }
    return true;
}

static bool check_buffers(const Schedule *schedule, Err *err) {
    for (BufferId id = 0; id < schedule->buffer_count; id++) {
        const Buffer *buffer = &schedule->buffers[id];
        char quoted[TEXT_QUOTE_MAX];
        if (buffer->role >= schedule->role_count)
            return err_set(err, "buffer %s: there is no role %u", text_quote(buffer->name, quoted),
                           buffer->role);
        if (buffer->format >= NUMFMT_COUNT || buffer->life >= BUFFER_LIFE_COUNT)
            return err_set(err, "buffer %s: no such format or life",
                           text_quote(buffer->name, quoted));
    }
    return true;
}

static bool check_blocks(const Schedule *schedule, Err *err) {
    uint32_t next_op = 0;
    for (BlockId id = 0; id < schedule->block_count; id++) {
        const Block *block = &schedule->blocks[id];
        char quoted[TEXT_QUOTE_MAX];
        text_quote(block->name, quoted);
        if (block->role >= schedule->role_count)
            return err_set(err, "block %s: there is no role %u", quoted, block->role);
        if (block->op_count == 0) return err_set(err, "block %s: it has no operation", quoted);
        if (block->first_op != next_op || block->op_count > schedule->op_count - next_op)
            return err_set(err, "block %s: its operations are not its own", quoted);
        next_op += block->op_count;
    }
    return true;
}

static bool check_experts(uint32_t first, uint32_t experts, uint32_t total, Err *err) {
    return (total > 0 && first <= total && experts <= total - first) ||
           err_set(err, "experts %u to %llu are not among %u", first,
                   (unsigned long long)first + experts, total);
}

static bool check_collective(const Schedule *schedule, const Comm *comm, Err *err) {
    if (comm->collective >= COLLECTIVE_COUNT || comm->algorithm >= ALGORITHM_COUNT ||
        comm->split >= SPLIT_COUNT || comm->format >= NUMFMT_COUNT)
        return err_set(err, "no such collective, algorithm, split or format");
    if (comm->group >= schedule->group_count)
        return err_set(err, "there is no group %u", comm->group);
    if (!collective_check(schedule_comm_shape(schedule, comm), err)) return false;
    if (comm->rail_ppm > SCHEDULE_RAIL_WHOLE)
        return err_set(err, "expected at most %u millionths over rails, found %u",
                       SCHEDULE_RAIL_WHOLE, comm->rail_ppm);
    if (comm->element == 0) return err_set(err, "expected elements of at least a byte, found 0");
    if (comm->split == SPLIT_EVEN) return true;
    if (comm->collective != COLLECTIVE_ALL_TO_ALL)
        return err_set(err, "%s cannot be split %s", collective_names[comm->collective],
                       schedule_split_names[comm->split]);
    return check_experts(comm->first_expert, comm->experts, comm->experts_total, err);
}

static bool check_message(const Schedule *schedule, RoleId role, const Comm *comm, Err *err) {
    if (comm->peer >= schedule->role_count || comm->peer == role)
        return err_set(err, "there is no other role %u", comm->peer);
    uint32_t own = schedule_role_size(schedule, role);
    uint32_t other = schedule_role_size(schedule, comm->peer);
    char quoted[TEXT_QUOTE_MAX];
    return own == other || err_set(err, "its role has %u ranks, role %s has %u", own,
                                   text_quote(schedule->roles[comm->peer].name, quoted), other);
}

static bool check_kind(const Schedule *schedule, RoleId role, const Op *op, Err *err) {
    const Compute *compute = &op->compute;
    switch (op->kind) {
    case OP_GROUPED_GEMM:
        if (!check_experts(compute->first_expert, compute->experts, compute->experts_total, err))
            return false;
        break;
    case OP_SEND:
    case OP_RECV: return check_message(schedule, role, &op->comm, err);
    case OP_COLLECTIVE: return check_collective(schedule, &op->comm, err);
    case OP_GEMM:
    case OP_ATTENTION:
    case OP_MEMORY:
    case OP_COPY: break;
    case OP_KIND_COUNT: return err_set(err, "no such kind");
    }
    return (compute->weight_format < NUMFMT_COUNT && compute->math_format < NUMFMT_COUNT) ||
           err_set(err, "no such number format");
}

static bool check_waits(const Schedule *schedule, RoleId role, OpId id, Err *err) {
    const Op *op = &schedule->ops[id];
    for (uint32_t i = 0; i < op->wait_count; i++) {
        OpId on = schedule->waits[op->first_wait + i];
        if (on >= schedule->op_count) return err_set(err, "waits for operation %u of none", on);
        char text[SCHEDULE_TEXT_MAX];
        if (on == id) return err_set(err, "waits for itself");
        if (schedule_op_role(schedule, on) != role)
            return err_set(err, "waits for %s: only communication joins roles",
                           schedule_op_text(schedule, on, text));
    }
    return true;
}

static bool check_slices(const Schedule *schedule, RoleId role, const Op *op, Err *err) {
    for (uint32_t i = 0; i < op->slice_count; i++) {
        const Slice *slice = &schedule->slices[op->first_slice + i];
        if (slice->access >= SLICE_ACCESS_COUNT) return err_set(err, "slice %u: no such access", i);
        if (slice->buffer >= schedule->buffer_count)
            return err_set(err, "slice %u: there is no buffer %u", i, slice->buffer);
        const Buffer *buffer = &schedule->buffers[slice->buffer];
        char quoted[TEXT_QUOTE_MAX];
        if (buffer->role != role)
            return err_set(err, "slice %u: buffer %s belongs to another role", i,
                           text_quote(buffer->name, quoted));
    }
    return true;
}

static bool check_op(const Schedule *schedule, OpId id, Err *err) {
    const Op *op = &schedule->ops[id];
    RoleId role = schedule_op_role(schedule, id);
    if (op->op_class >= OP_CLASS_COUNT) return err_set(err, "no such class");
    if (op->stream >= SCHEDULE_STREAMS_MAX)
        return err_set(err, "stream %u, at most %u", op->stream, SCHEDULE_STREAMS_MAX - 1);
    return check_kind(schedule, role, op, err) && check_waits(schedule, role, id, err) &&
           check_slices(schedule, role, op, err);
}

static bool check_ops(const Schedule *schedule, Err *err) {
    for (OpId id = 0; id < schedule->op_count; id++) {
        char place[SCHEDULE_TEXT_MAX];
        if (schedule->ops[id].kind >= OP_KIND_COUNT)
            return err_set(err, "operation %u: no such kind", id);
        if (!check_op(schedule, id, err))
            return err_prefix(err, "%s", schedule_check_place(schedule, id, place));
    }
    return true;
}

// A collective is one of all ranks of its role, each in one group of the family.
static bool check_role_in_family(const Schedule *schedule, RoleId role, GroupId family, Err *err) {
    const RankSet *set = &schedule->roles[role].ranks;
    for (uint32_t i = 0; i < schedule_set_size(set); i++) {
        uint32_t rank = schedule_rank_at(set, i), group, position;
        char quoted[TEXT_QUOTE_MAX];
        if (!schedule_group_of(&schedule->groups[family], rank, &group, &position))
            return err_set(err, "rank %u of its role is in no group of %s", rank,
                           text_quote(schedule->groups[family].name, quoted));
    }
    return true;
}

typedef struct Membership {
    RoleId role;
    GroupId family;
    OpId op;
} Membership;

static int compare_memberships(const void *a, const void *b) {
    const Membership *left = a, *right = b;
    if (left->role != right->role) return left->role < right->role ? -1 : 1;
    if (left->family != right->family) return left->family < right->family ? -1 : 1;
    return left->op < right->op ? -1 : left->op > right->op;
}

// Each pair of role and family once. What passes costs no more than the family has members.
static bool check_memberships(const Schedule *schedule, Err *err) {
    Membership *pairs = mem_alloc(schedule->op_count, sizeof *pairs);
    uint32_t count = 0;
    bool good = true;
    for (OpId id = 0; id < schedule->op_count; id++) {
        const Op *op = &schedule->ops[id];
        if (op->kind == OP_COLLECTIVE)
            pairs[count++] = (Membership){schedule_op_role(schedule, id), op->comm.group, id};
    }
    qsort(pairs, count, sizeof *pairs, compare_memberships);
    for (uint32_t i = 0; good && i < count; i++) {
        bool known =
            i > 0 && pairs[i].role == pairs[i - 1].role && pairs[i].family == pairs[i - 1].family;
        char place[SCHEDULE_TEXT_MAX];
        good = known || check_role_in_family(schedule, pairs[i].role, pairs[i].family, err) ||
               err_prefix(err, "%s", schedule_check_place(schedule, pairs[i].op, place));
    }
    mem_free(pairs);
    return good;
}

bool schedule_check_structure(const Schedule *schedule, Err *err) {
    if (schedule->rank_count == 0 || schedule->rank_count > SCHEDULE_RANKS_MAX)
        return err_set(err, "%u ranks, expected 1 to %u", schedule->rank_count, SCHEDULE_RANKS_MAX);
    return check_blocks(schedule, err) && check_roles(schedule, err) &&
           check_coverage(schedule, err) && check_groups(schedule, err) &&
           check_buffers(schedule, err) && check_ops(schedule, err) &&
           check_memberships(schedule, err);
}
