// Max-min fair sharing as the textbook has it, slow and plain: the oracle of the tests of sim/flow,
// with which it shares no code. Every rate is worked out from nothing at every event.
#ifndef TESTS_SIM_REFERENCE_SOLVER_H
#define TESTS_SIM_REFERENCE_SOLVER_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/units.h"

typedef struct ReferenceEdge {
    uint32_t link;
    uint64_t coefficient;
} ReferenceEdge;

// One transfer; each link has coefficient / scale of its rate as load. `edges` is borrowed.
typedef struct ReferenceFlow {
    const ReferenceEdge *edges;
    uint32_t edge_count;
    uint64_t scale;
    uint64_t bytes;
    Time start;
} ReferenceFlow;

// Borrows both arrays.
typedef struct ReferenceNet {
    const uint64_t *capacity_Bps;
    uint32_t link_count;
    const ReferenceFlow *flows;
    uint32_t flow_count;
} ReferenceNet;

// Rates in B/s of the flows that are active, without rounding (but for long double); 0 for others.
void reference_solver_rates(const ReferenceNet *net, const bool *is_active, long double *out_Bps);

// When each flow ends, in picoseconds, without rounding.
void reference_solver_ends(const ReferenceNet *net, long double *out_ps);

// Both again in the arithmetic that DESIGN section 3 prescribes: levels compared as rationals, all
// links of the lowest level frozen together, the rate rounded down once to 2^-20 B/s, ends rounded
// up to a picosecond. Here the results of sim/flow must be equal to the bit.
void reference_solver_rates_exact(const ReferenceNet *net, const bool *is_active, uint64_t *out);
void reference_solver_ends_exact(const ReferenceNet *net, Time *out_ps);

#endif
