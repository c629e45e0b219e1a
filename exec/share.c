// Routed traffic of a forced run.
//
// Invariant: the experts of a group's ranks follow each other in order of position; the ranks of
// one source deal the elements of all of them like cards (collective_share_count), so that one
// source of all ranks and several sources with equal rows are both whole numbers that sum up.
#include "exec/share.h"

#include "model/base/wide.h"

// Looking at all sources of all ranks may take no longer than a short run does; what is passed over
// is seen when it runs.
#define SHARE_CHECKS_MAX (UINT64_C(1) << 28)

// Positions [*first, *end) of a source.
static void positions_of(const Shares *shares, uint32_t source, uint32_t *first, uint32_t *end) {
    uint64_t n = shares->n;
    *first = (uint32_t)wide_div_up_u64(source * n, shares->sources);
    *end = (uint32_t)wide_div_up_u64((source + 1) * n, shares->sources);
}

static void fill_source(const OpInstance *instance, uint32_t group, uint32_t source,
                        Shares *shares) {
    const Job *job = instance->job;
    const Schedule *schedule = job->schedule;
    const Comm *comm = &job_op(instance)->comm;
    uint64_t before = 0, row = (uint64_t)source * job->load->sources / shares->sources;
    uint32_t first = 0;
    for (uint32_t i = 0; i < shares->n; i++) {
        uint32_t rank = schedule_group_member(&schedule->groups[comm->group], group, i);
        uint32_t experts = schedule->ops[job_peer_op(instance, job->roles[rank])].comm.experts;
        if (experts > comm->experts_total - first) experts = comm->experts_total - first;
        uint64_t part, whole;
        load_source_share(job->load, comm->moe_layer, comm->experts_total, (uint32_t)row, first,
                          experts, &part, &whole);
        shares->items[(size_t)source * shares->n + i] =
            (CollectiveShare){.before = before, .part = part, .whole = whole};
        before += part;
        first += experts;
    }
}

void share_open(const OpInstance *instance, uint32_t group, Shares *out) {
    const Job *job = instance->job;
    const Comm *comm = &job_op(instance)->comm;
    uint32_t n = job->schedule->groups[comm->group].size;
    uint32_t sources = job->load->kind == LOAD_UNIFORM ? 1 : job->load->sources;
    *out = (Shares){.n = n,
                    .sources = sources < n ? sources : n,
                    .elements =
                        wide_div_up_u64(extent_value(&comm->bytes, &job->shape), comm->element)};
    out->items = mem_alloc((size_t)out->sources * n, sizeof *out->items);
    for (uint32_t source = 0; source < out->sources; source++)
        fill_source(instance, group, source, out);
}

void share_close(Shares *shares) {
    mem_free(shares->items);
    *shares = (Shares){0};
}

uint64_t share_elements(const Shares *shares, uint32_t owner, uint32_t holder) {
    uint32_t source = (uint32_t)((uint64_t)owner * shares->sources / shares->n), first, end;
    positions_of(shares, source, &first, &end);
    return collective_share_count(shares->elements, end - first, owner - first,
                                  &shares->items[(size_t)source * shares->n + holder]);
}

uint64_t share_held(const Shares *shares, uint32_t holder) {
    uint64_t sum = 0;
    for (uint32_t source = 0; source < shares->sources; source++) {
        uint32_t first, end;
        positions_of(shares, source, &first, &end);
        // one rank with the elements of all of them gets every card
        uint64_t together = wide_mul_saturate(shares->elements, end - first);
        uint64_t cards = collective_share_count(
            together, 1, 0, &shares->items[(size_t)source * shares->n + holder]);
        sum = wide_add_saturate(sum, cards);
    }
    return sum;
}

// ---- Before a run

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

static bool check_group(const OpInstance *instance, uint32_t group, Err *err) {
    const Job *job = instance->job;
    const Schedule *schedule = job->schedule;
    const Comm *comm = &job_op(instance)->comm;
    Shares shares;
    bool good = true;
    share_open(instance, group, &shares);
    for (uint32_t i = 0; good && i < shares.n; i++) {
        uint32_t rank = schedule_group_member(&schedule->groups[comm->group], group, i);
        OpId op = job_peer_op(instance, job->roles[rank]);
        const ScheduleSides *sides = &job->sides[op];
        bool dispatch = comm->split == SPLIT_BY_DESTINATION;
        uint64_t room = job->slices[dispatch ? sides->output : sides->input].count;
        uint64_t elements = share_held(&shares, i);
        char text[SCHEDULE_TEXT_MAX];
        if (elements > room / comm->element)
            good = err_set(
                err,
                "%s: the load gives rank %u %llu elements of %u bytes, its slice has %llu bytes",
                schedule_op_text(schedule, op, text), rank, (unsigned long long)elements,
                comm->element, (unsigned long long)room);
    }
    share_close(&shares);
    return good;
}

bool share_check(const Job *job, Err *err) {
    const Schedule *schedule = job->schedule;
    uint64_t checks = 0;
    for (OpId id = 0; job->load->kind != LOAD_UNIFORM && id < schedule->op_count; id++) {
        const Op *op = &schedule->ops[id];
        if (op->kind != OP_COLLECTIVE || op->comm.split == SPLIT_EVEN) continue;
        const GroupFamily *family = &schedule->groups[op->comm.group];
        OpInstance instance = first_instance(job, id);
        for (uint32_t group = 0; group < family->count; group++) {
            uint32_t first = schedule_group_member(family, group, 0);
            if (job->roles[first] != instance.cursor.role) continue; // another role's turn
            checks += wide_mul_saturate(family->size, job->load->sources);
            if (checks > SHARE_CHECKS_MAX) return true;
            if (!check_group(&instance, group, err)) return false;
        }
    }
    return true;
}
