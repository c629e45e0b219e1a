// Steps of flows: how they are put together, and what they put on links when nothing else runs.
//
// Invariant: loads are summed exactly and rounded once, and equal links are told apart by class, so
// that bounds and narrowest links do not depend on how transfers are counted together.
#include "sim/traffic.h"

#include <assert.h>

#include "model/base/wide.h"

void traffic_open_step(Traffic *traffic, uint32_t repeat) {
    traffic->steps = mem_grow(traffic->steps, &traffic->step_capacity, traffic->step_count + 1,
                              sizeof *traffic->steps);
    traffic->steps[traffic->step_count++] = (TrafficStep){.first_flow = traffic->flow_count,
                                                          .first_latency = traffic->latency_count,
                                                          .repeat = repeat};
}

// Position of a latency in the step that is open; new ones are added. There are as many as kinds of
// paths.
static uint32_t latency_of(Traffic *traffic, const TrafficLatency *latency) {
    TrafficStep *step = &traffic->steps[traffic->step_count - 1];
    for (uint32_t i = 0; i < step->latency_count; i++) {
        const TrafficLatency *known = &traffic->latencies[step->first_latency + i];
        if (known->hardware_ps == latency->hardware_ps && known->step_param == latency->step_param)
            return i;
    }
    traffic->latencies = mem_grow(traffic->latencies, &traffic->latency_capacity,
                                  traffic->latency_count + 1, sizeof *traffic->latencies);
    traffic->latencies[traffic->latency_count++] = *latency;
    if (++step->latency_count > traffic->most_latencies)
        traffic->most_latencies = step->latency_count;
    return step->latency_count - 1;
}

void traffic_add(Traffic *traffic, const TrafficRoute *route, uint64_t bytes, uint64_t transfers) {
    TrafficStep *step = &traffic->steps[traffic->step_count - 1];
    traffic->flows = mem_grow(traffic->flows, &traffic->flow_capacity, traffic->flow_count + 1,
                              sizeof *traffic->flows);
    traffic->flows[traffic->flow_count++] =
        (TrafficFlow){.edges = route->edges,
                      .edge_count = route->edge_count,
                      .scale = route->scale,
                      .path = route->path,
                      .tier = route->tier,
                      .bytes = bytes,
                      .latency = latency_of(traffic, &route->latency)};
    step->flow_count++;
    if (route->latency.step_param == CALIB_NET_STEP) step->tier.outside += transfers;
    if (route->tier->paths > 1) step->tier.beyond += transfers;
}

void traffic_add_senders(Traffic *traffic, uint64_t senders) {
    traffic->steps[traffic->step_count - 1].tier.senders += senders;
}

bool traffic_load_links(Net *net, Traffic *traffic, Algorithm algorithm, Err *err) {
    NetLoads loads = {.scale_up = net_scale_up_load(net, algorithm)};
    for (uint32_t s = 0; s < traffic->step_count; s++) {
        const TrafficStep *step = &traffic->steps[s];
        for (uint32_t f = step->first_flow; f < step->first_flow + step->flow_count; f++) {
            TrafficFlow *flow = &traffic->flows[f];
            loads.network = tier_load(flow->tier, &step->tier, flow->bytes, &net->tier);
            if (!net_loaded_path(net, flow->edges, flow->edge_count, flow->scale, flow->path, loads,
                                 &flow->path, err))
                return false;
        }
    }
    return true;
}

void traffic_free(Traffic *traffic) {
    mem_free(traffic->flows);
    mem_free(traffic->latencies);
    mem_free(traffic->steps);
    *traffic = (Traffic){0};
}

// ---- What a step puts on links

typedef struct LinkLoad {
    Wide load;                   // in 1 / Net.scale B
    Time earliest_ps, moving_ps; // when any of it can begin; how long all of it takes
    bool is_known;
} LinkLoad;

typedef struct Loads {
    const Net *net;
    LinkLoad *links; // [resource]
    ResourceId *touched;
    uint32_t touched_count;
} Loads;

static Time at_most(Wide ps) {
    return ps < (Wide)(TIME_MAX / 4) ? (Time)ps : TIME_MAX / 4;
}

static void add_step(Loads *loads, const Traffic *traffic, uint32_t s) {
    const TrafficStep *step = &traffic->steps[s];
    for (uint32_t f = step->first_flow; f < step->first_flow + step->flow_count; f++) {
        const TrafficFlow *flow = &traffic->flows[f];
        Time begin = traffic->latencies[step->first_latency + flow->latency].hardware_ps;
        uint64_t times = loads->net->scale / flow->scale;
        for (uint32_t i = 0; i < flow->edge_count; i++) {
            LinkLoad *link = &loads->links[flow->edges[i].resource];
            if (!link->is_known) {
                *link = (LinkLoad){.earliest_ps = begin, .is_known = true};
                loads->touched[loads->touched_count++] = flow->edges[i].resource;
            }
            if (begin < link->earliest_ps) link->earliest_ps = begin;
            link->load += wide_mul(flow->bytes, flow->edges[i].coefficient) * times;
        }
    }
}

// The time of each link at nominal capacity, behind its burst; returns when the last one can be
// done.
static Time time_links(Loads *loads) {
    Time last = 0;
    for (uint32_t i = 0; i < loads->touched_count; i++) {
        LinkLoad *link = &loads->links[loads->touched[i]];
        const FabricLink *of = &loads->net->links[loads->touched[i]].link;
        Wide per_second = wide_mul(of->capacity_Bps, loads->net->scale);
        Wide burst = wide_mul(of->burst_B, loads->net->scale);
        Wide load = link->load > burst ? link->load - burst : 0, seconds = load / per_second;
        if (seconds >= (Wide)(TIME_MAX / PS_PER_SECOND)) seconds = TIME_MAX / PS_PER_SECOND;
        link->moving_ps = at_most(seconds * (Wide)PS_PER_SECOND +
                                  load % per_second * (Wide)PS_PER_SECOND / per_second);
        if (link->earliest_ps + link->moving_ps > last) last = link->earliest_ps + link->moving_ps;
    }
    return last;
}

static void clear(Loads *loads) {
    for (uint32_t i = 0; i < loads->touched_count; i++)
        loads->links[loads->touched[i]].is_known = false;
    loads->touched_count = 0;
}

static void find_narrowest(const Loads *loads, TrafficFlow *flow) {
    Time fullest = -1;
    for (uint32_t i = 0; i < flow->edge_count; i++) {
        Time moving = loads->links[flow->edges[i].resource].moving_ps;
        LinkClass link_class = loads->net->links[flow->edges[i].resource].link.link_class;
        if (moving < fullest || (moving == fullest && link_class >= flow->narrowest)) continue;
        fullest = moving;
        flow->narrowest = link_class;
    }
}

// No link is faster than its load at nominal capacity when only this step runs, after the shortest
// latency among its transfers; no transfer is faster than its path.
static void bound_step(Loads *loads, Traffic *traffic, uint32_t s) {
    const TrafficStep *step = &traffic->steps[s];
    add_step(loads, traffic, s);
    Time bound = time_links(loads);
    for (uint32_t i = 0; i < step->latency_count; i++) {
        Time latency = traffic->latencies[step->first_latency + i].hardware_ps;
        if (latency > bound) bound = latency;
    }
    traffic->bound_ps += at_most(wide_mul((uint64_t)bound, step->repeat));
    clear(loads);
}

void traffic_measure(const Net *net, Traffic *const *traffics, uint32_t count) {
    Loads loads = {.net = net};
    loads.links = mem_alloc(flow_resource_count(net->flows), sizeof *loads.links);
    loads.touched = mem_alloc(flow_resource_count(net->flows), sizeof *loads.touched);
    for (uint32_t s = 0; count > 0 && s < traffics[0]->step_count; s++) {
        for (uint32_t i = 0; i < count; i++) {
            assert(traffics[i]->step_count == traffics[0]->step_count);
            bound_step(&loads, traffics[i], s);
        }
        for (uint32_t i = 0; i < count; i++) add_step(&loads, traffics[i], s);
        time_links(&loads);
        for (uint32_t i = 0; i < count; i++) {
            const TrafficStep *step = &traffics[i]->steps[s];
            for (uint32_t f = 0; f < step->flow_count; f++)
                find_narrowest(&loads, &traffics[i]->flows[step->first_flow + f]);
        }
        clear(&loads);
    }
    mem_free(loads.links);
    mem_free(loads.touched);
}
