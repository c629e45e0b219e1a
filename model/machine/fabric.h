// The compiled machine: vertices, directed links, routes on demand. Symbolic: classes of vertices
// and rules of links with counts; neighbours are computed when asked for.
//
// Vertices are numbered class by class, GPUs first, inside a class in depth-first order of the
// templates: GPU i is vertex i. A directed link is a bundle of cables.
#ifndef MODEL_MACHINE_FABRIC_H
#define MODEL_MACHINE_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/text.h"
#include "model/base/units.h"
#include "model/machine/device.h"
#include "model/machine/topology_place.h"

typedef uint32_t VertexId;
typedef uint32_t LinkId; // directed; the two directions of a bundle are 2k and 2k+1
#define FABRIC_NONE       UINT32_MAX
#define FABRIC_DIGITS_MAX TOPOLOGY_DEPTH_MAX

// All vertices that one part of one template gives: "tray.gpu" with shape {18, 4}.
typedef struct VertexClass {
    const char *name;
    TopologyPlace place;
    PartKind kind;
    const Device *device; // NULL when none is named; borrowed from the catalogue
    uint64_t memory_B;
    VertexId first;
    uint32_t count;
    uint32_t digit_count;
    uint32_t shape[FABRIC_DIGITS_MAX];
} VertexClass;

typedef struct FabricLink {
    VertexId from, to;
    LinkClass link_class;
    uint64_t capacity_Bps; // cables x bandwidth
    uint32_t cables;
    Time latency_ps;
    uint64_t burst_B;
    const char *source;
    uint32_t rule; // which rule of the topology, for grouping
} FabricLink;

typedef struct RouteEdge {
    LinkId link;
    uint32_t weight; // this link carries weight / Route.weight_total of every transfer
} RouteEdge;

// The paths of a transfer, merged: edges by distance, then by link; at every distance the weights
// add up to weight_total. Parallel shortest paths share in proportion to the capacity of their
// narrowest link (stripe and adaptive are one in a fluid model); of links of policy hash out of a
// part, a hash of the pair takes one, for all of the transfer.
typedef struct Route {
    RouteEdge *edges; // heap, freed by fabric_route_free
    uint32_t count, capacity;
    uint32_t weight_total;
    uint32_t hops;          // links on each path
    bool is_hashed;         // a hash chose among several paths
    Time latency_ps;        // sum over one path (the longest when they differ)
    LinkClass narrowest;    // class of the link that limits a lone transfer
    uint64_t bandwidth_Bps; // of a lone transfer
} Route;

// How GPUs are arranged as far as routes can tell: a GPU index is a mixed-radix number (most
// significant digit first), and the route of a pair depends, up to renaming of parts, only on which
// digits differ; each link of it is the same for all values of a digit of an endpoint or another
// for each value. `uniform` is false when that does not hold (a ring, mixed GPUs, a shared NIC,
// hashed links) or was not shown; then the digits are those of the templates ({gpu_count} with
// several classes of GPUs). Digits that no route can tell apart are merged: one NVL72 is {72}, 4
// units of 32 nodes of 8 GPUs on rails are {4, 32, 8}.
typedef struct FabricShape {
    bool uniform;
    uint32_t digit_count;
    uint32_t size[FABRIC_DIGITS_MAX];
} FabricShape;

typedef struct FabricRule FabricRule;     // fabric_rule.h
typedef struct FabricFaults FabricFaults; // fabric_fault.h

// A rule seen from a class that it touches. Those of a class are neighbours in Fabric.adjacent.
typedef struct FabricAdjacent {
    uint32_t rule, side; // FabricSide
    uint32_t other;      // class of the partners
} FabricAdjacent;

typedef struct Fabric {
    Arena arena;
    const Topology *topology; // borrowed
    VertexClass *classes;
    uint32_t class_count;
    VertexId vertex_count;
    FabricRule *rules;
    uint32_t rule_count;
    FabricAdjacent *adjacent;
    uint32_t *adjacent_start; // class_count + 1
    LinkId link_count;        // directed
    uint32_t gpu_count;
    FabricShape shape;
    uint32_t domain_size;       // GPUs joined by scale-up links alone; 1 when there are none
    uint32_t node_size;         // GPUs of one innermost template that holds GPUs
    const FabricFaults *faults; // NULL when the topology has none
} Fabric;

// Compiles a finished topology. Refuses an unknown device or one of another kind, a part without
// link and a live GPU that cannot reach another, each with its place. All fields describe the
// machine as built; links and routes are as faults leave them. Borrows topology and catalogue.
bool fabric_build(const Topology *topology, const DeviceCatalogue *catalogue, Fabric *out,
                  Err *err);
void fabric_free(Fabric *fabric);
bool fabric_check(const Fabric *fabric, Err *err);

VertexId fabric_gpu(const Fabric *fabric, uint32_t gpu);
const VertexClass *fabric_class(const Fabric *fabric, VertexId vertex);
const Device *fabric_device(const Fabric *fabric, uint32_t gpu);
// "tray[3].gpu[1]"; added to what is there. A part of count 1 has no index.
void fabric_vertex_name(const Fabric *fabric, VertexId vertex, Text *out);

// A slow link has less capacity, perhaps fewer cables; a dead one, or one of a dead part, none.
FabricLink fabric_link(const Fabric *fabric, LinkId link);

// Live links that leave a vertex, one by one from *cursor = 0 on; false after the last.
bool fabric_next_link(const Fabric *fabric, VertexId from, uint64_t *cursor, LinkId *out);

// The paths of a transfer. GPUs joined by links of policy dimension-order: these, one level after
// the other (fabric_axis.c). Else the first of these that joins the two: (1) links of scale-up
// classes, forwarded by switches and CPUs; (2) any links, forwarded by switches, PCIe switches,
// NICs and CPUs; (3) scale-up links, forwarded by GPUs too; (4) any links, forwarded by all of
// these. Of those paths: the fewest links, then the fewest CPUs, then the least latency; all that
// are left share the transfer. *out is reused: its memory grows as needed. from == to: no edges.
bool fabric_route(const Fabric *fabric, VertexId from, VertexId to, Route *out, Err *err);
// As built, to learn which pairs a fault touches.
bool fabric_route_healthy(const Fabric *fabric, VertexId from, VertexId to, Route *out, Err *err);
void fabric_route_free(Route *route);

// Rank r of a plan sits on live GPU first + r: dead ones are left out, whole domains come first.
bool fabric_has_faults(const Fabric *fabric);
Fabric fabric_as_built(const Fabric *fabric); // without its faults: a view, never freed
bool fabric_link_is_faulty(const Fabric *fabric, LinkId link); // slow, dead, or at a dead part
bool fabric_is_dead(const Fabric *fabric, VertexId vertex);
uint32_t fabric_live_gpu_count(const Fabric *fabric);
uint32_t fabric_live_gpu(const Fabric *fabric, uint32_t i); // its index among all GPUs
// A slow GPU does all that it does at part / whole of its rates; 1 / 1 is as built.
void fabric_gpu_rate(const Fabric *fabric, uint32_t gpu, uint32_t *part, uint32_t *whole);
bool fabric_has_slow_gpus(const Fabric *fabric);

#endif
