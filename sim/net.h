// The links of a Fabric as the simulator sees them: capacities after efficiency, classes of alike
// links as resources of one FlowNet, the start-up latency of a transfer, and the bytes that went
// over each.
#ifndef SIM_NET_H
#define SIM_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/wide.h"
#include "model/cost/calib.h"
#include "model/machine/fabric.h"
#include "model/report/timeline.h"
#include "sim/flow.h"
#include "sim/fold.h"
#include "sim/keymap.h"
#include "sim/tier.h"

typedef struct NetLink {
    LinkOrbit orbit; // zeroed for a class
    FabricLink link; // the base, or the first
    LinkId id;       // of it
    uint64_t links;  // alike ones
    Wide carried;    // over one link so far, in 1 / Net.scale B
} NetLink;

typedef struct Net {
    const Fabric *fabric; // borrowed
    const Calib *calib;   // borrowed
    FlowNet *flows;
    NetLink *links; // by ResourceId
    uint32_t link_capacity;
    uint64_t scale;  // a common multiple of the scales of all paths
    KeyMap by_orbit; // ResourceId by fold_orbit_key
    KeyMap by_link;  // ResourceId of a link that is in a class
    Digest cells;    // of the first run with classes, see net_cells
    TierConstants tier;
    KeyMap by_load; // PathId of a path whose links are loaded more, see net_loaded_path
} Net;

void net_init(Net *net, const Fabric *fabric, const Calib *calib);
void net_free(Net *net);

// The resource of an orbit, made when it is new. Refused when it overlaps another one without being
// equal to it.
bool net_resource(Net *net, const LinkOrbit *orbit, ResourceId *out, Err *err);

// The resource of a class of `links` alike links, of which those in `ids` were looked at, the
// lowest first. Refused when another class has some of them.
bool net_class(Net *net, const LinkId *ids, uint32_t id_count, uint64_t links, ResourceId *out,
               Err *err);
// Whether a run whose classes are told apart in cells of this digest may share links with those
// before it: classes are compared by the links that were looked at.
bool net_cells(Net *net, Digest cells, Err *err);

// Whether a link can be one of the two of a way through a switch that sums and copies: NVLink, from
// a GPU to a switch whose device can, or back. A switch of no device is taken to.
bool net_link_sums(const Fabric *fabric, LinkId link);

// A path over resources. Refused when the exact arithmetic cannot hold its numbers.
bool net_path(Net *net, const FlowEdge *edges, uint32_t count, uint64_t scale, PathId *out,
              Err *err);

// How many times as much a transfer loads links than its bytes do, in parts of TIER_UNIT: those of
// the network (tier_load), and those of scale-up classes (net_scale_up_load).
typedef struct NetLoads {
    uint32_t network, scale_up;
} NetLoads;

// In the switch, NVLink reaches another part of its rate than between GPUs.
uint32_t net_scale_up_load(const Net *net, Algorithm algorithm);

// The same path under these loads, made once.
bool net_loaded_path(Net *net, const FlowEdge *edges, uint32_t count, uint64_t scale, PathId path,
                     NetLoads loads, PathId *out, Err *err);

// Which constant scales the bandwidth of a link class, and which the software time of a step over a
// route.
CalibParam net_bandwidth_param(LinkClass link_class);
CalibParam net_step_param(const Fabric *fabric, const Route *route);
// What a constant leaves of the bytes, or bytes per second, of a link: whole ones, at least one.
uint64_t net_efficient(const Calib *calib, CalibParam param, uint64_t bytes);

// Counts what a finished transfer has carried: `bytes` of one transfer over its edges.
void net_count(Net *net, const FlowEdge *edges, uint32_t count, uint64_t scale, uint64_t bytes);

// "tray[0].gpu[1] -> nvswitch[2]"; added to what is there.
void net_name_link(const Fabric *fabric, VertexId from, VertexId to, Text *out);
void net_name_busiest(const Fabric *fabric, LinkId link, LinkTotal *total);

void net_totals(const Net *net, LinkTotal out[LINK_CLASS_COUNT]);

#endif
