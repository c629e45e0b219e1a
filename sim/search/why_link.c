// Bytes by link and operation: the transfers that the simulator builds for a schedule, times how
// often each operation ran.
//
// Invariant: over any link the bytes of all operations add up to what the simulation counted there
// (net_count), because both take the same transfers over the same edges.
#include "sim/search/why_link.h"

#include <stdio.h>
#include <string.h>

#include "model/base/mem.h"
#include "model/plan/pool_place.h"
#include "sim/engine.h"

typedef struct Count {
    const Submission *submission;
    const EvaluatePhase *phase;
    const Net *net;
    uint32_t resources;
    uint32_t *row_of; // [op_count], SCHEDULE_NONE for what does not communicate
    Wide *carried;    // [rows][resources], 1 / Net.scale B
    WhyLinks *links;
} Count;

static uint32_t find_row(const WhyLinks *links, const char *name) {
    for (uint32_t i = 0; i < links->count; i++)
        if (strcmp(links->comms[i].name, name) == 0) return i;
    return SCHEDULE_NONE;
}

const WhyComm *why_link_find(const WhyLinks *links, const char *name) {
    uint32_t row = find_row(links, name);
    return row == SCHEDULE_NONE ? NULL : &links->comms[row];
}

static void list_rows(Count *count) {
    const Schedule *schedule = &count->phase->schedule;
    WhyLinks *links = count->links;
    uint32_t capacity = 0;
    for (OpId op = 0; op < schedule->op_count; op++) {
        const Op *o = &schedule->ops[op];
        count->row_of[op] = SCHEDULE_NONE;
        if (!schedule_op_is_comm(o->kind)) continue;
        uint32_t row = find_row(links, o->name);
        if (row == SCHEDULE_NONE) {
            row = links->count++;
            links->comms = mem_grow(links->comms, &capacity, links->count, sizeof *links->comms);
            links->comms[row] = (WhyComm){.name = o->name, .op_class = o->op_class};
        }
        count->row_of[op] = row;
    }
}

// One instance of a meeting, times its instances.
static void add_meeting(Count *count, const Meeting *meeting) {
    const Participant *first = &meeting->participants[0];
    const Timeline *timeline = &count->phase->timeline;
    const OpTotal *total =
        &timeline->totals[(size_t)first->member * timeline->op_count + first->op];
    Wide *carried = &count->carried[(size_t)count->row_of[meeting->op] * count->resources];
    for (uint32_t s = 0; s < meeting->traffic.step_count; s++) {
        const TrafficStep *step = &meeting->traffic.steps[s];
        for (uint32_t f = 0; f < step->flow_count; f++) {
            const TrafficFlow *flow = &meeting->traffic.flows[step->first_flow + f];
            for (uint32_t e = 0; e < flow->edge_count; e++)
                carried[flow->edges[e].resource] +=
                    wide_mul(flow->bytes, flow->edges[e].coefficient) *
                    (count->net->scale / flow->scale) * step->repeat * total->instances;
        }
    }
}

static uint64_t pass_bytes(const Count *count, Wide carried) {
    Wide passes = count->phase->timeline.round_count;
    return wide_saturate(wide_div_up(carried, passes * count->net->scale));
}

// The resource that is filled most, FLOW_NONE when nothing moves; of equal ones the lowest link.
static ResourceId fullest(const Count *count, const Wide *carried) {
    ResourceId best = FLOW_NONE;
    uint64_t best_B = 0;
    for (ResourceId r = 0; r < count->resources; r++) {
        const NetLink *link = &count->net->links[r];
        uint64_t bytes = pass_bytes(count, carried[r]);
        if (bytes == 0) continue;
        int order = best == FLOW_NONE
                        ? 1
                        : wide_compare_ratio(bytes, link->link.capacity_Bps, best_B,
                                             count->net->links[best].link.capacity_Bps);
        if (order < 0 || (order == 0 && link->id > count->net->links[best].id)) continue;
        best = r;
        best_B = bytes;
    }
    return best;
}

static void find_fullest(Count *count) {
    for (uint32_t row = 0; row < count->links->count; row++) {
        WhyComm *comm = &count->links->comms[row];
        const Wide *carried = &count->carried[(size_t)row * count->resources];
        ResourceId r = fullest(count, carried);
        if (r == FLOW_NONE) continue;
        comm->fullest_B = pass_bytes(count, carried[r]);
        comm->fullest_Bps = count->net->links[r].link.capacity_Bps;
        comm->fullest_class = count->net->links[r].link.link_class;
    }
}

static void find_bottleneck(Count *count) {
    WhyLinks *links = count->links;
    Wide *sum = mem_alloc((size_t)count->resources + 1, sizeof *sum);
    memset(sum, 0, ((size_t)count->resources + 1) * sizeof *sum);
    for (uint32_t row = 0; row < links->count; row++)
        for (ResourceId r = 0; r < count->resources; r++)
            sum[r] += count->carried[(size_t)row * count->resources + r];
    ResourceId r = fullest(count, sum);
    if (r != FLOW_NONE) {
        const NetLink *link = &count->net->links[r];
        LinkTotal total = {0};
        net_name_busiest(count->net->fabric, link->id, &total);
        snprintf(links->name, sizeof links->name, "%s", total.busiest_name);
        links->has_bottleneck = true;
        links->bytes = pass_bytes(count, sum[r]);
        links->capacity_Bps = link->link.capacity_Bps;
        links->link_class = link->link.link_class;
        links->source = link->link.source;
        for (uint32_t row = 0; row < links->count; row++)
            links->comms[row].bottleneck_B =
                pass_bytes(count, count->carried[(size_t)row * count->resources + r]);
    }
    mem_free(sum);
}

static void count_all(Sim *sim, uint32_t handle, const EvaluatePhase *phase, WhyLinks *links) {
    Count count = {.submission = sim->submissions[handle],
                   .phase = phase,
                   .net = &sim->net,
                   .resources = flow_resource_count(sim->net.flows),
                   .row_of = mem_alloc((size_t)phase->schedule.op_count + 1, sizeof(uint32_t)),
                   .links = links};
    list_rows(&count);
    size_t cells = (size_t)links->count * count.resources + 1;
    count.carried = mem_alloc(cells, sizeof *count.carried);
    memset(count.carried, 0, cells * sizeof *count.carried);
    for (uint32_t m = 0; m < count.submission->meeting_count; m++)
        add_meeting(&count, &count.submission->meetings[m]);
    find_fullest(&count);
    find_bottleneck(&count);
    links->pass_ps = phase->timeline.end_ps / (Time)phase->timeline.round_count;
    mem_free(count.carried);
    mem_free(count.row_of);
}

bool why_link_read(const WhyPlan *plan, const EvaluatePhase *phase, WhyLinks *out, Err *err) {
    const EvaluateInput *input = plan->input;
    Load load;
    uint32_t handle;
    if (!why_load(plan, &load, err)) return false;
    uint32_t *places;
    if (!pool_place_order(input->fabric, &plan->plan->pools[0], &places, err)) {
        load_free(&load);
        return false;
    }
    SimOptions options = {.form = input->form,
                          .first_gpu = plan->plan->pools[0].first_gpu,
                          .places = places,
                          .flow_eps_ppb = input->flow_eps_ppb};
    Sim *sim = sim_open(input->fabric, input->model);
    bool done = sim_submit(sim, &phase->schedule, &phase->shape, &load, &options, 0, &handle, err);
    WhyLinks links = {0};
    if (done) {
        count_all(sim, handle, phase, &links);
        *out = links;
    }
    sim_close(sim);
    mem_free(places);
    load_free(&load);
    return done;
}

void why_link_free(WhyLinks *links) {
    mem_free(links->comms);
    *links = (WhyLinks){0};
}
