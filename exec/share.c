// Routed traffic of a forced run.
//
// Invariant: the experts of a group's ranks follow each other in order of position; the ranks of
// one source deal the elements of all of them like cards (collective_share_count), so that one
// source of all ranks and several sources with equal rows are both whole numbers that sum up.
#include "exec/share.h"

#include "model/base/wide.h"

// Positions [*first, *end) of a source.
static void positions_of(const Shares *shares, uint32_t source, uint32_t *first, uint32_t *end) {
    uint64_t n = shares->n;
    *first = (uint32_t)wide_div_up_u64(source * n, shares->sources);
    *end = (uint32_t)wide_div_up_u64((source + 1) * n, shares->sources);
}

// Experts of the rank at each position [n]. A rank's are those of its role, which is looked up
// once.
static uint32_t *experts_of(const OpInstance *instance, uint32_t group, uint32_t n) {
    const Job *job = instance->job;
    const Schedule *schedule = job->schedule;
    const GroupFamily *family = &schedule->groups[job_op(instance)->comm.group];
    uint32_t *experts = mem_alloc(n, sizeof *experts);
    OpId *peers = mem_alloc(schedule->role_count, sizeof *peers);
    for (RoleId role = 0; role < schedule->role_count; role++) peers[role] = SCHEDULE_NONE;
    for (uint32_t i = 0; i < n; i++) {
        RoleId role = job->roles[schedule_group_member(family, group, i)];
        if (peers[role] == SCHEDULE_NONE) peers[role] = job_peer_op(instance, role);
        experts[i] = schedule->ops[peers[role]].comm.experts;
    }
    mem_free(peers);
    return experts;
}

static void fill_source(const OpInstance *instance, const uint32_t *experts_at, uint32_t source,
                        Shares *shares) {
    const Job *job = instance->job;
    const Comm *comm = &job_op(instance)->comm;
    uint64_t before = 0, row = (uint64_t)source * job->load->sources / shares->sources;
    uint32_t first = 0;
    for (uint32_t i = 0; i < shares->n; i++) {
        uint32_t experts = experts_at[i];
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

static uint32_t sources_of(const Load *load, uint32_t n) {
    uint32_t sources = load->kind == LOAD_UNIFORM ? 1 : load->sources;
    return sources < n ? sources : n;
}

uint64_t share_size_B(const Load *load, uint32_t ranks) {
    return wide_mul_saturate((uint64_t)sources_of(load, ranks) * ranks, sizeof(CollectiveShare));
}

void share_open(const OpInstance *instance, uint32_t group, Shares *out) {
    const Job *job = instance->job;
    const Comm *comm = &job_op(instance)->comm;
    uint32_t n = job->schedule->groups[comm->group].size;
    *out = (Shares){.n = n,
                    .sources = sources_of(job->load, n),
                    .elements =
                        wide_div_up_u64(extent_value(&comm->bytes, &job->shape), comm->element)};
    out->items = mem_alloc((size_t)out->sources * n, sizeof *out->items);
    uint32_t *experts_at = experts_of(instance, group, n);
    for (uint32_t source = 0; source < out->sources; source++)
        fill_source(instance, experts_at, source, out);
    mem_free(experts_at);
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
