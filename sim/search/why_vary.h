// What a result depends on: a plan simulated again with one constant, or one class of links,
// changed.
//
// The plan, its batch and its placement stay; algorithms left open are chosen again, as a
// calibration file with that value would make them.
#ifndef SIM_SEARCH_WHY_VARY_H
#define SIM_SEARCH_WHY_VARY_H

#include "sim/search/why.h"

typedef enum WhyKnobKind { WHY_CONSTANT, WHY_BANDWIDTH, WHY_LATENCY } WhyKnobKind;
// One thing that is changed: a constant, or the rate or latency of all links of a class.
typedef struct WhyKnob {
    WhyKnobKind kind;
    CalibParam param;
    LinkClass link_class;
} WhyKnob;

#define WHY_KNOBS_MAX (CALIB_COUNT + 2 * LINK_CLASS_COUNT)
// All constants, then the classes of links that the fabric (or either of two) has. Returns how
// many. `other` is NULL for one fabric.
uint32_t why_vary_knobs(const Fabric *fabric, const Fabric *other, WhyKnob knobs[WHY_KNOBS_MAX]);
// "memory bandwidth efficiency", "bandwidth of ib", "latency of nvlink"; buffer of WHY_KNOB_TEXT.
#define WHY_KNOB_TEXT 64
const char *why_vary_name(const WhyKnob *knob, char *buffer);

typedef struct WhyResult {
    Time tpot_ps, ttft_ps;
    double tok_s_per_gpu;
} WhyResult;

// A plan that is simulated again and again: routes are found once. Borrows.
typedef struct WhyLab WhyLab;
WhyLab *why_vary_open(const WhyPlan *plan);
void why_vary_close(WhyLab *lab);                          // NULL is allowed
bool why_vary_base(WhyLab *lab, WhyResult *out, Err *err); // nothing changed
// A constant takes `factor` times its value, an efficiency 1 at most.
bool why_vary_scale(WhyLab *lab, const WhyKnob *knob, double factor, WhyResult *out, Err *err);
// A constant takes a value.
bool why_vary_set(WhyLab *lab, CalibParam param, double value, WhyResult *out, Err *err);

// Elasticity: per cent by which a result changes for one per cent of the knob, from results at both
// sides: ((r2 - r1) / (r2 + r1)) / ((k2 - k1) / (k2 + k1)), exactly -1 for r = c / k.
typedef struct WhyInfluence {
    WhyKnob knob;
    double low, high; // factors that were taken: 0.9 and 1.1, less where an efficiency would pass 1
    bool has_influence; // a result differs at either
    double tpot, ttft, tok_s_per_gpu;
    bool has_interval; // of a constant: results at the ends of its interval
    WhyResult at_low, at_high;
} WhyInfluence;

// Largest influence on tok/s/GPU first, then in order of the knobs; those without influence last.
// A constant of value 0 is taken at the ends of its interval. Both results of a knob at 0 .. 0 are
// equal.
bool why_vary_influences(WhyLab *lab, const WhyKnob *knobs, uint32_t count, WhyInfluence *out,
                         Err *err);

// The factor of a knob at which the order by tok/s/GPU of two plans turns, both with it.
#define WHY_FLIP_MOST 4.0
typedef struct WhyFlip {
    WhyKnob knob;
    bool has_influence; // a result of either plan differs at an end of the range
    bool is_found;
    double factor;    // nearest to 1, within 1e-4 of itself; tok/s/GPU are equal there
    double low, high; // what was searched: 1 / 4 .. 4, less where an efficiency would pass 1
} WhyFlip;

// Found by halving between factors 2^(k/2) at which the order differs: two flips between
// neighbours are not seen. Nearest first; then those with influence and no flip, then the rest.
// Refused when the plans are equal at factor 1.
bool why_vary_flips(WhyLab *a, WhyLab *b, const WhyKnob *knobs, uint32_t count, WhyFlip *out,
                    Err *err);

#endif
