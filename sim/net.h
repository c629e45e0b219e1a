// The links of a Fabric as the simulator sees them: capacities after efficiency, classes of alike
// links as resources of one FlowNet, the start-up latency of a transfer, and the bytes that went
// over each.
#ifndef SIM_NET_H
#define SIM_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/cost/calib.h"
#include "model/machine/fabric.h"
#include "model/report/timeline.h"
#include "sim/flow.h"
#include "sim/fold.h"
#include "sim/keymap.h"

typedef struct NetLink {
    LinkOrbit orbit; // size 1 and no digits for a single link
    FabricLink link; // the base
    uint64_t bytes;  // over one link so far, rounded up once per transfer
} NetLink;

typedef struct Net {
    const Fabric *fabric; // borrowed
    const Calib *calib;   // borrowed
    FlowNet flows;
    NetLink *links; // by ResourceId
    uint32_t link_capacity;
    KeyMap by_orbit; // ResourceId by fold_orbit_key
} Net;

void net_init(Net *net, const Fabric *fabric, const Calib *calib);
void net_free(Net *net);

// The resource of an orbit, made when it is new. Refused when it overlaps another one without being
// equal to it.
bool net_resource(Net *net, const LinkOrbit *orbit, ResourceId *out, Err *err);
LinkOrbit net_single(LinkId link);

// Which constant scales the bandwidth of a link class, and which the software time of a step over a
// route.
CalibParam net_bandwidth_param(LinkClass link_class);
CalibParam net_step_param(const Fabric *fabric, const Route *route);

// Counts what a finished transfer has carried: `bytes` of one transfer over its edges.
void net_count(Net *net, const FlowEdge *edges, uint32_t count, uint64_t scale, uint64_t bytes);

void net_totals(const Net *net, LinkTotal out[LINK_CLASS_COUNT]);

#endif
