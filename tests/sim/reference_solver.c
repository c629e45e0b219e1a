// Progressive filling (Bertsekas and Gallager, Data Networks, 2nd ed. 1992, section 6.5.2), written
// for obviousness: until every active flow is frozen, each link's level is summed up from nothing,
// the lowest level is found, and the flows on links of that level are frozen at it.
//
// Once in long double without any rounding rule, once in integers with the rules of DESIGN.
//
// Invariant: what has been moved is exactly the sum of rate times time since the start of a flow.
#include "tests/sim/reference_solver.h"

#include <assert.h>

#include "model/base/mem.h"
#include "model/base/wide.h"

#define TICKS_PER_BYTE (UINT64_C(1) << 20) // a rate is in 2^-20 B/s

static bool is_done_at_once(const ReferenceFlow *flow) {
    return flow->bytes == 0 || flow->edge_count == 0;
}

// ---- Without rounding.

// Of one link: what frozen flows leave, and the load of those that wait to be frozen.
typedef struct Level {
    long double left_Bps, load;
} Level;

// The level of a link, or -1 where no flow waits.
static long double level_of(Level level) {
    return level.load > 0 ? level.left_Bps / level.load : -1;
}

// The lowest level, or -1 when all flows are frozen.
static long double find_levels(const ReferenceNet *net, const bool *is_active,
                               const long double *rates, Level *levels) {
    for (uint32_t link = 0; link < net->link_count; link++)
        levels[link] = (Level){(long double)net->capacity_Bps[link], 0};
    for (uint32_t f = 0; f < net->flow_count; f++) {
        const ReferenceFlow *flow = &net->flows[f];
        for (uint32_t i = 0; is_active[f] && i < flow->edge_count; i++) {
            Level *level = &levels[flow->edges[i].link];
            long double share = (long double)flow->edges[i].coefficient / (long double)flow->scale;
            if (rates[f] > 0)
                level->left_Bps -= rates[f] * share;
            else
                level->load += share;
        }
    }
    long double lowest = -1;
    for (uint32_t link = 0; link < net->link_count; link++) {
        long double level = level_of(levels[link]);
        if (level > 0 && (lowest < 0 || level < lowest)) lowest = level;
    }
    return lowest;
}

static bool touches_level(const ReferenceFlow *flow, const Level *levels, long double lowest) {
    for (uint32_t i = 0; i < flow->edge_count; i++) {
        long double level = level_of(levels[flow->edges[i].link]);
        if (level > 0 && level <= lowest) return true;
    }
    return false;
}

void reference_solver_rates(const ReferenceNet *net, const bool *is_active, long double *out_Bps) {
    Level *levels = mem_alloc(net->link_count, sizeof *levels);
    for (uint32_t f = 0; f < net->flow_count; f++) out_Bps[f] = 0;
    for (long double level; (level = find_levels(net, is_active, out_Bps, levels)) > 0;)
        for (uint32_t f = 0; f < net->flow_count; f++)
            if (is_active[f] && out_Bps[f] <= 0 && touches_level(&net->flows[f], levels, level))
                out_Bps[f] = level;
    mem_free(levels);
}

// The earliest start of the flows that have not started; TIME_MAX when all have.
static Time next_start(const ReferenceNet *net, const bool *is_started) {
    Time next = TIME_MAX;
    for (uint32_t f = 0; f < net->flow_count; f++)
        if (!is_started[f] && net->flows[f].start < next) next = net->flows[f].start;
    return next;
}

// Starts what starts at `now`, which is the earliest start.
static void start_flows(const ReferenceNet *net, Time now, bool *is_started, bool *is_active) {
    for (uint32_t f = 0; f < net->flow_count; f++) {
        if (net->flows[f].start != now) continue;
        is_started[f] = true;
        is_active[f] = !is_done_at_once(&net->flows[f]);
    }
}

static long double end_of(long double left_B, long double rate_Bps, long double now) {
    return now + left_B / rate_Bps * (long double)PS_PER_SECOND;
}

// Lets time pass to `to`, and ends what has then moved its last byte.
static void pass_time(const ReferenceNet *net, const long double *rates, long double now,
                      long double to, bool *is_active, long double *left_B, long double *ends) {
    for (uint32_t f = 0; f < net->flow_count; f++) {
        if (!is_active[f]) continue;
        if (end_of(left_B[f], rates[f], now) <= to) {
            is_active[f] = false;
            ends[f] = to;
        }
        left_B[f] -= rates[f] * (to - now) / (long double)PS_PER_SECOND;
    }
}

void reference_solver_ends(const ReferenceNet *net, long double *out_ps) {
    bool *is_started = mem_alloc(net->flow_count, sizeof *is_started);
    bool *is_active = mem_alloc(net->flow_count, sizeof *is_active);
    long double *left_B = mem_alloc(net->flow_count, sizeof *left_B);
    long double *rates = mem_alloc(net->flow_count, sizeof *rates);
    for (uint32_t f = 0; f < net->flow_count; f++) {
        left_B[f] = (long double)net->flows[f].bytes;
        out_ps[f] = (long double)net->flows[f].start;
    }
    for (long double now = 0;;) {
        reference_solver_rates(net, is_active, rates);
        Time start = next_start(net, is_started);
        long double next = (long double)start;
        for (uint32_t f = 0; f < net->flow_count; f++) {
            long double end = is_active[f] ? end_of(left_B[f], rates[f], now) : next;
            if (end < next) next = end;
        }
        if (next >= (long double)TIME_MAX) break;
        pass_time(net, rates, now, next, is_active, left_B, out_ps);
        if (next >= (long double)start) start_flows(net, start, is_started, is_active);
        now = next;
    }
    mem_free(is_started);
    mem_free(is_active);
    mem_free(left_B);
    mem_free(rates);
}

// ---- In integers. A level is a fraction; loads and what is left are in units of 1 / common scale.

typedef struct Fraction {
    Wide above, below; // below is 0 where there is no level
} Fraction;

// -1, 0 or 1, by continued fractions: equal whole parts leave the remainders to be compared upside
// down. Nothing overflows, whatever the sizes.
static int compare_fractions(Fraction a, Fraction b) {
    for (;;) {
        Wide whole_a = a.above / a.below, whole_b = b.above / b.below;
        if (whole_a != whole_b) return whole_a < whole_b ? -1 : 1;
        Wide rest_a = a.above % a.below, rest_b = b.above % b.below;
        if (rest_a == 0 || rest_b == 0) return (rest_a > 0) - (rest_b > 0);
        Fraction turned = {a.below, rest_a};
        a = (Fraction){b.below, rest_b};
        b = turned;
    }
}

static uint64_t common_scale(const ReferenceNet *net) {
    uint64_t common = 1;
    for (uint32_t f = 0; f < net->flow_count; f++) {
        uint64_t a = common, b = net->flows[f].scale;
        while (b > 0) {
            uint64_t rest = a % b;
            a = b;
            b = rest;
        }
        common = common / a * net->flows[f].scale;
    }
    return common;
}

static Fraction find_levels_exact(const ReferenceNet *net, const bool *is_active,
                                  const uint64_t *rates, uint64_t scale, Fraction *levels) {
    for (uint32_t link = 0; link < net->link_count; link++)
        levels[link] = (Fraction){wide_mul(net->capacity_Bps[link], TICKS_PER_BYTE) * scale, 0};
    for (uint32_t f = 0; f < net->flow_count; f++) {
        const ReferenceFlow *flow = &net->flows[f];
        for (uint32_t i = 0; is_active[f] && i < flow->edge_count; i++) {
            Fraction *level = &levels[flow->edges[i].link];
            uint64_t coefficient = flow->edges[i].coefficient * (scale / flow->scale);
            if (rates[f] > 0)
                level->above -= wide_mul(rates[f], coefficient);
            else
                level->below += coefficient;
        }
    }
    Fraction lowest = {0, 0};
    for (uint32_t link = 0; link < net->link_count; link++) {
        if (levels[link].below == 0) continue;
        if (lowest.below == 0 || compare_fractions(levels[link], lowest) < 0) lowest = levels[link];
    }
    return lowest;
}

static bool touches_level_exact(const ReferenceFlow *flow, const Fraction *levels,
                                Fraction lowest) {
    for (uint32_t i = 0; i < flow->edge_count; i++) {
        Fraction level = levels[flow->edges[i].link];
        if (level.below > 0 && compare_fractions(level, lowest) == 0) return true;
    }
    return false;
}

void reference_solver_rates_exact(const ReferenceNet *net, const bool *is_active, uint64_t *out) {
    Fraction *levels = mem_alloc(net->link_count, sizeof *levels);
    uint64_t scale = common_scale(net);
    for (uint32_t f = 0; f < net->flow_count; f++) out[f] = 0;
    for (;;) {
        Fraction level = find_levels_exact(net, is_active, out, scale, levels);
        if (level.below == 0) break;
        assert(level.above >= level.below); // at least 2^-20 B/s, so that all flows end
        for (uint32_t f = 0; f < net->flow_count; f++)
            if (is_active[f] && out[f] == 0 && touches_level_exact(&net->flows[f], levels, level))
                out[f] = (uint64_t)(level.above / level.below);
    }
    mem_free(levels);
}

static Time end_exact(Wide left, uint64_t rate, Time now) {
    return now + (Time)wide_div_up(left, rate);
}

// Lets time pass to `to`, and ends what has moved its last byte.
static void pass_time_exact(const ReferenceNet *net, const uint64_t *rates, Time from, Time to,
                            bool *is_active, Wide *left, Time *ends) {
    for (uint32_t f = 0; f < net->flow_count; f++) {
        if (!is_active[f]) continue;
        Wide moved = wide_mul(rates[f], (uint64_t)(to - from));
        left[f] -= moved < left[f] ? moved : left[f];
        if (left[f] > 0) continue;
        is_active[f] = false;
        ends[f] = to;
    }
}

void reference_solver_ends_exact(const ReferenceNet *net, Time *out_ps) {
    bool *is_started = mem_alloc(net->flow_count, sizeof *is_started);
    bool *is_active = mem_alloc(net->flow_count, sizeof *is_active);
    Wide *left = mem_alloc(net->flow_count, sizeof *left);
    uint64_t *rates = mem_alloc(net->flow_count, sizeof *rates);
    for (uint32_t f = 0; f < net->flow_count; f++) {
        left[f] = wide_mul(net->flows[f].bytes, TICKS_PER_BYTE) * (Wide)PS_PER_SECOND;
        out_ps[f] = net->flows[f].start;
    }
    for (Time now = 0;;) {
        reference_solver_rates_exact(net, is_active, rates);
        Time start = next_start(net, is_started), next = start;
        for (uint32_t f = 0; f < net->flow_count; f++) {
            Time end = is_active[f] ? end_exact(left[f], rates[f], now) : TIME_MAX;
            if (end < next) next = end;
        }
        if (next == TIME_MAX) break;
        pass_time_exact(net, rates, now, next, is_active, left, out_ps);
        if (next == start) start_flows(net, start, is_started, is_active);
        now = next;
    }
    mem_free(is_started);
    mem_free(is_active);
    mem_free(left);
    mem_free(rates);
}
