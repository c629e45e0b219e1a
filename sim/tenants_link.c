// Links that several tenants use, and how much each takes of them.
//
// A link's bytes are those of the transfers that the simulator was given, on the very resources
// that they share there. Their mean over a lone step says how full a tenant keeps the link when
// nobody else does: together above 1, the link cannot carry the tenants at their lone pace.
#include <stdlib.h>
#include <string.h>

#include "sim/engine.h"
#include "sim/engine_account.h"
#include "sim/tenants_run.h"

// Adds what one tenant moves over one link of each resource in a step.
static void add_bytes(const Submission *submission, uint32_t lag, uint32_t stride, double *bytes) {
    for (uint32_t m = 0; m < submission->meeting_count; m++) {
        const Meeting *meeting = &submission->meetings[m];
        double times = (double)schedule_index_per_pass(&submission->index, meeting->op) * lag;
        for (uint32_t s = 0; s < meeting->traffic.step_count; s++) {
            const TrafficStep *step = &meeting->traffic.steps[s];
            for (uint32_t f = step->first_flow; f < step->first_flow + step->flow_count; f++) {
                const TrafficFlow *flow = &meeting->traffic.flows[f];
                double moved = times * (double)step->repeat * (double)flow->bytes;
                for (uint32_t e = 0; e < flow->edge_count; e++)
                    bytes[(size_t)flow->edges[e].resource * stride] +=
                        moved * (double)flow->edges[e].coefficient / (double)flow->scale;
            }
        }
    }
}

static bool is_alike(const TenantsState *state, const Sim *sim, const TenantLink *known,
                     const NetLink *link, const double *share) {
    return fabric_link(sim->fabric, known->link).rule == link->link.rule &&
           known->capacity_Bps == link->link.capacity_Bps &&
           memcmp(known->share, share, state->input->count * sizeof *share) == 0;
}

static void add_link(TenantsState *state, const Sim *sim, const NetLink *link,
                     const double *share) {
    TenantsResult *result = state->result;
    uint32_t users = 0, count = state->input->count;
    for (uint32_t t = 0; t < count; t++) users += share[t] > 0;
    if (users < 2) return;
    for (uint32_t i = 0; i < result->link_count; i++) {
        TenantLink *known = &result->links[i];
        if (!is_alike(state, sim, known, link, share)) continue;
        known->links += link->links;
        if (link->id < known->link) known->link = link->id;
        return;
    }
    TenantLink *row = &result->links[result->link_count++];
    *row = (TenantLink){.link = link->id,
                        .links = link->links,
                        .link_class = link->link.link_class,
                        .capacity_Bps = link->link.capacity_Bps};
    row->share = arena_copy(&result->arena, share, count, sizeof *share);
    for (uint32_t i = 0; i < count; i++) row->total += share[state->order[i]];
}

static int fuller_first(const void *a, const void *b) {
    const TenantLink *x = a, *y = b;
    if (x->total != y->total) return x->total > y->total ? -1 : 1;
    return x->link < y->link ? -1 : x->link > y->link;
}

static void collect(TenantsState *state, const TenantsJoint *joint) {
    const Sim *sim = joint->sim;
    uint32_t count = state->input->count, resources = flow_resource_count(sim->net.flows);
    double *share = mem_alloc((size_t)resources * count, sizeof *share);
    for (uint32_t i = 0; i < count; i++)
        add_bytes(sim->submissions[joint->handles[i]], state->works[i].lag, count, share + i);
    state->result->links =
        arena_alloc(&state->result->arena, resources, sizeof *state->result->links);
    for (uint32_t r = 0; r < resources; r++) {
        const NetLink *link = &sim->net.links[r];
        double *row = &share[(size_t)r * count];
        for (uint32_t t = 0; t < count; t++)
            row[t] /= (double)link->link.capacity_Bps * units_seconds(state->works[t].step_ps);
        add_link(state, sim, link, row);
    }
    mem_free(share);
    qsort(state->result->links, state->result->link_count, sizeof *state->result->links,
          fuller_first);
}

bool tenants_link_find(TenantsState *state, Err *err) {
    uint32_t first = state->order[0];
    const TenantsRun run = {.measured = first,
                            .phase = PHASE_DECODE,
                            .shape = state->works[first].evaluation.decode_phase.shape,
                            .steps = 1,
                            .offsets = 1};
    TenantsJoint joint;
    if (state->input->count < 2) return true;
    if (!tenants_run_open(state, &run, 0, &joint, err)) return false;
    collect(state, &joint);
    sim_close(joint.sim);
    return true;
}
