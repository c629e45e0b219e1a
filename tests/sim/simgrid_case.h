// A random platform and what SimGrid made of it: the ends of flows that all start at 0 on links
// that they share max-min fairly. Made and compared by tests/bench, kept in tests/golden/simgrid.
#ifndef TESTS_SIM_SIMGRID_CASE_H
#define TESTS_SIM_SIMGRID_CASE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { SIMGRID_CASE_LINKS = 40, SIMGRID_CASE_FLOWS = 200, SIMGRID_CASE_ROUTE = 8 };

typedef struct SimgridFlow {
    uint64_t bytes;
    uint32_t route[SIMGRID_CASE_ROUTE], route_count;
    double finish_s; // by SimGrid, less the latency that all routes have
} SimgridFlow;

typedef struct SimgridCase {
    uint64_t seed;
    uint64_t capacity_Bps[SIMGRID_CASE_LINKS];
    uint32_t link_count;
    SimgridFlow flows[SIMGRID_CASE_FLOWS];
    uint32_t flow_count;
} SimgridCase;

// 4 to 40 links and 5 to 200 flows over 1 to 8 of them; finish_s is 0.
void simgrid_case_draw(uint64_t seed, SimgridCase *out);

// Text, one after the other: "platform SEED LINKS FLOWS", then "link B/s" and "flow BYTES SECONDS
// LINK..." lines. Lines that begin with # are passed over. Read is false at the end and for text
// that is not so.
void simgrid_case_write(const SimgridCase *simgrid, FILE *file);
bool simgrid_case_read(FILE *file, SimgridCase *out);

// Runs the flows through sim/flow and gives the largest difference of an end, relative to
// SimGrid's.
double simgrid_case_compare(const SimgridCase *simgrid);

#endif
