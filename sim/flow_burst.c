// Token buckets: a resource with a burst passes it at once, then its rate.
//
// Between solves the use of a resource is constant, so its tokens move in a straight line: they are
// brought up to date at a solve, and when they will be gone is an event of its own. A resource with
// tokens is open and has the largest capacity there is; without tokens, its own. It opens again
// only at a solve, with a 256th of its burst: to open one that does not limit its flows changes no
// rate, and a shaper lets nothing pass on less than a packet.
//
// Invariant: tokens are whole numbers of 2^-20 * 10^-12 B / scale. No more than the burst and its
// rate ever pass: what has tokens for less than a picosecond more has none.
#include <assert.h>

#include "model/base/mem.h"
#include "sim/flow_fill.h"

#define REOPEN 256 // part of the burst

static Wide raw(const FlowNet *net, uint64_t capacity_Bps) {
    return wide_mul(capacity_Bps, net->scale) << FLOW_RATE_SHIFT;
}

void flow_set_burst(FlowNet *net, ResourceId r, uint64_t burst_B) {
    assert(net->stats.solves == 0 && burst_B > 0 && burst_B <= FLOW_BURST_MAX);
    Wide burst = (wide_mul(burst_B, net->scale) << FLOW_RATE_SHIFT) * (Wide)PS_PER_SECOND;
    net->bursts =
        mem_grow(net->bursts, &net->burst_capacity, net->burst_count + 1, sizeof *net->bursts);
    net->bursts[net->burst_count++] = (FlowBurst){.resource = r,
                                                  .capacity_Bps = net->resources[r].capacity_Bps,
                                                  .burst_B = burst_B,
                                                  .burst = burst,
                                                  .tokens = burst,
                                                  .gone = TIME_MAX};
}

bool flow_has_bursts(const FlowNet *net) {
    return net->burst_count > 0;
}

// What `rate` makes of a time, but no more than `most`.
static Wide at_most(Wide rate, uint64_t wait, Wide most) {
    if (rate == 0 || wait == 0) return 0;
    return wait > most / rate ? most : rate * wait;
}

static void pass_time(const FlowNet *net, FlowBurst *burst, Time now) {
    Wide rate = raw(net, burst->capacity_Bps);
    uint64_t wait = (uint64_t)(now - burst->updated);
    burst->updated = now;
    if (burst->use <= rate)
        burst->tokens += at_most(rate - burst->use, wait, burst->burst - burst->tokens);
    else
        burst->tokens -= at_most(burst->use - rate, wait, burst->tokens);
}

static void set_capacity(FlowNet *net, FlowBurst *burst, uint64_t capacity_Bps) {
    FlowResource *resource = &net->resources[burst->resource];
    net->shares[burst->resource].left += raw(net, capacity_Bps) - raw(net, resource->capacity_Bps);
    resource->capacity_Bps = capacity_Bps;
    net->is_stale = net->has_new = true;
    net->restart = net->open_set = 0;
}

void flow_burst_before(FlowNet *net, Time now) {
    for (uint32_t i = 0; i < net->burst_count; i++) {
        FlowBurst *burst = &net->bursts[i];
        pass_time(net, burst, now);
        if (burst->is_open && burst->gone <= now) {
            burst->is_open = false;
            set_capacity(net, burst, burst->capacity_Bps);
        } else if (!burst->is_open && burst->tokens >= burst->burst / REOPEN) {
            burst->is_open = true;
            set_capacity(net, burst, FLOW_CAPACITY_MAX);
        }
    }
}

void flow_burst_after(FlowNet *net, Time now) {
    net->burst_next = TIME_MAX;
    for (uint32_t i = 0; i < net->burst_count; i++) {
        FlowBurst *burst = &net->bursts[i];
        Wide left = net->shares[burst->resource].left, rate = raw(net, burst->capacity_Bps);
        burst->use = raw(net, net->resources[burst->resource].capacity_Bps) - left;
        burst->gone = TIME_MAX;
        if (!burst->is_open || burst->use <= rate) continue;
        Wide wait = burst->tokens / (burst->use - rate);
        if (wait < (Wide)(TIME_MAX - now)) burst->gone = now + (Time)wait;
        if (burst->gone < net->burst_next) net->burst_next = burst->gone;
    }
}

void flow_burst_rescale(FlowNet *net, uint64_t factor) {
    for (uint32_t i = 0; i < net->burst_count; i++) {
        net->bursts[i].burst *= factor;
        net->bursts[i].tokens *= factor;
        net->bursts[i].use *= factor;
    }
}

void flow_burst_shift(FlowNet *net, Time wait) {
    for (uint32_t i = 0; i < net->burst_count; i++) {
        net->bursts[i].updated += wait;
        if (net->bursts[i].gone < TIME_MAX - wait) net->bursts[i].gone += wait;
    }
    if (net->burst_next < TIME_MAX - wait) net->burst_next += wait;
}
