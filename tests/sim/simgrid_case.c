// Random platforms for the comparison with SimGrid.
//
// Invariant: what is written is read again as it was but for finish_s, of which nine digits stay.
#include "tests/sim/simgrid_case.h"

#include <inttypes.h>
#include <stdlib.h>

#include "model/base/rng.h"
#include "sim/flow.h"

void simgrid_case_draw(uint64_t seed, SimgridCase *out) {
    Rng rng;
    rng_seed(&rng, seed);
    *out = (SimgridCase){.seed = seed};
    out->link_count = 4 + (uint32_t)rng_below(&rng, SIMGRID_CASE_LINKS - 3);
    out->flow_count = 5 + (uint32_t)rng_below(&rng, SIMGRID_CASE_FLOWS - 4);
    for (uint32_t i = 0; i < out->link_count; i++)
        out->capacity_Bps[i] = 1000000 + rng_below(&rng, 1000000000);
    for (uint32_t f = 0; f < out->flow_count; f++) {
        SimgridFlow *flow = &out->flows[f];
        uint32_t longest =
            out->link_count < SIMGRID_CASE_ROUTE ? out->link_count : SIMGRID_CASE_ROUTE;
        flow->bytes = 100000 + rng_below(&rng, 1000000000);
        flow->route_count = 1 + (uint32_t)rng_below(&rng, longest);
        for (uint32_t i = 0; i < flow->route_count;) {
            uint32_t link = (uint32_t)rng_below(&rng, out->link_count), before = 0;
            while (before < i && flow->route[before] != link) before++;
            if (before == i) flow->route[i++] = link; // a link occurs once
        }
    }
}

void simgrid_case_write(const SimgridCase *simgrid, FILE *file) {
    fprintf(file, "platform %" PRIu64 " %" PRIu32 " %" PRIu32 "\n", simgrid->seed,
            simgrid->link_count, simgrid->flow_count);
    for (uint32_t i = 0; i < simgrid->link_count; i++)
        fprintf(file, "link %" PRIu64 "\n", simgrid->capacity_Bps[i]);
    for (uint32_t f = 0; f < simgrid->flow_count; f++) {
        const SimgridFlow *flow = &simgrid->flows[f];
        fprintf(file, "flow %" PRIu64 " %.9g", flow->bytes, flow->finish_s);
        for (uint32_t i = 0; i < flow->route_count; i++) fprintf(file, " %" PRIu32, flow->route[i]);
        fprintf(file, "\n");
    }
}

// The next line that is not a comment.
static bool read_line(FILE *file, char *line, int size) {
    while (fgets(line, size, file) != NULL)
        if (line[0] != '#') return true;
    return false;
}

static bool read_flow(const char *line, uint32_t link_count, SimgridFlow *out) {
    int used = 0;
    if (sscanf(line, "flow %" SCNu64 " %lf%n", &out->bytes, &out->finish_s, &used) != 2)
        return false;
    out->route_count = 0;
    for (line += used; out->route_count < SIMGRID_CASE_ROUTE; line += used) {
        uint32_t link;
        if (sscanf(line, " %" SCNu32 "%n", &link, &used) != 1) break;
        if (link >= link_count) return false;
        out->route[out->route_count++] = link;
    }
    return out->route_count > 0 && out->bytes > 0 && out->finish_s > 0;
}

bool simgrid_case_read(FILE *file, SimgridCase *out) {
    char line[256];
    *out = (SimgridCase){0};
    bool is_head = read_line(file, line, sizeof line) &&
                   sscanf(line, "platform %" SCNu64 " %" SCNu32 " %" SCNu32, &out->seed,
                          &out->link_count, &out->flow_count) == 3;
    if (!is_head || out->link_count > SIMGRID_CASE_LINKS || out->flow_count > SIMGRID_CASE_FLOWS)
        return false;
    for (uint32_t i = 0; i < out->link_count; i++)
        if (!read_line(file, line, sizeof line) ||
            sscanf(line, "link %" SCNu64, &out->capacity_Bps[i]) != 1 || out->capacity_Bps[i] == 0)
            return false;
    for (uint32_t f = 0; f < out->flow_count; f++)
        if (!read_line(file, line, sizeof line) ||
            !read_flow(line, out->link_count, &out->flows[f]))
            return false;
    return true;
}

static void start_flows(const SimgridCase *simgrid, FlowNet *net) {
    for (uint32_t i = 0; i < simgrid->link_count; i++)
        flow_add_resource(net, simgrid->capacity_Bps[i]);
    for (uint32_t f = 0; f < simgrid->flow_count; f++) {
        const SimgridFlow *flow = &simgrid->flows[f];
        FlowEdge edges[SIMGRID_CASE_ROUTE];
        PathId path;
        for (uint32_t i = 0; i < flow->route_count; i++) edges[i] = (FlowEdge){flow->route[i], 1};
        if (!flow_add_path(net, edges, flow->route_count, 1, &path) ||
            !flow_start(net, path, flow->bytes, f, 0))
            abort();
    }
}

double simgrid_case_compare(const SimgridCase *simgrid) {
    FlowNet *net = flow_open();
    start_flows(simgrid, net);
    double worst = 0;
    Time now = 0;
    for (uint32_t left = simgrid->flow_count; left > 0;) {
        flow_solve(net, now);
        now = flow_next(net);
        if (now == TIME_MAX) abort();
        for (uint32_t f; flow_take(net, now, &f); left--) {
            double want = simgrid->flows[f].finish_s, apart = units_seconds(now) - want;
            if (apart < 0) apart = -apart;
            if (!(apart <= worst * want)) worst = apart / want;
        }
    }
    flow_close(net);
    return worst;
}
