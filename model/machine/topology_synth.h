// Machines from one line: the parsed line, and what its generators build with.
//
//   ring:N,RATE  switch:N,RATE  mesh:N,RATE     N GPUs in a ring, around a switch, each two linked
//   torus:AxBxC,RATE                            chips that forward for each other; 1 to 6 sides
//   dragonfly:p=P,a=A,h=H,RATE                  A H + 1 groups of A routers with P GPUs and H
//                                               channels to other groups
//   fattree:k=K,RATE                            K^3/4 GPUs under three tiers of K-port switches
//   leafspine:nodes=N,gpus=G,nic=RATE,nvlink=RATE,leaf=L[,oversubscription=R][,ports=P]
//                                               N nodes of G GPUs, a NIC each; leaves of L NICs
//                                               with L / R cables up, one to each spine
//   superpod-h100:Nsu -b200 -b300 -b300-xdr -rubin   N units of a DGX SuperPOD [,nodes=N of a unit]
//   nvl72:N  gb300-nvl72:N  vr-nvl72:N          N racks under a tree with as many cables up as down
//   hgx-h100:N                                  N nodes of the shipped cluster
//   hgx-a100:N -h200 -h20 -h800 -b200 -b300 -rubin  mi300x:N mi325x:N mi355x:N   N nodes, the same
//
// Racks, nodes and units (but of superpod-b300, which has two planes) take ,ib=RATE or ,eth=RATE
// (InfiniBand or Ethernet, of a NIC and direction, with the slowest switch that reaches it; also as
// port_rate.h has them: ib=NDR, eth=400G) and ,oversubscription=R (a leaf has a cable up for R
// down).
//
// RATE is that of a cable and direction. All take ,device=NAME for their GPUs; those with rates
// take ,latency=TIME of every link. A field is KEY=VALUE or a rate alone. Counts that would need
// more ports than a switch has are refused.
#ifndef MODEL_MACHINE_TOPOLOGY_SYNTH_H
#define MODEL_MACHINE_TOPOLOGY_SYNTH_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/machine/topology.h"

#define SYNTH_TEXT_MAX 256

// IB and ETH: the rate of a port.
typedef enum SynthType {
    SYNTH_TEXT,
    SYNTH_NUMBER,
    SYNTH_RATE,
    SYNTH_TIME,
    SYNTH_IB,
    SYNTH_ETH
} SynthType;

// Name, key as written, type of the value.
#define SYNTH_KEY_LIST(X)                                                                          \
    X(SIZE, "", SYNTH_TEXT)                                                                        \
    X(BANDWIDTH, "", SYNTH_RATE)                                                                   \
    X(P, "p", SYNTH_NUMBER)                                                                        \
    X(A, "a", SYNTH_NUMBER)                                                                        \
    X(H, "h", SYNTH_NUMBER)                                                                        \
    X(K, "k", SYNTH_NUMBER)                                                                        \
    X(NODES, "nodes", SYNTH_NUMBER)                                                                \
    X(GPUS, "gpus", SYNTH_NUMBER)                                                                  \
    X(NIC, "nic", SYNTH_RATE)                                                                      \
    X(NVLINK, "nvlink", SYNTH_RATE)                                                                \
    X(LEAF, "leaf", SYNTH_NUMBER)                                                                  \
    X(OVERSUBSCRIPTION, "oversubscription", SYNTH_NUMBER)                                          \
    X(PORTS, "ports", SYNTH_NUMBER)                                                                \
    X(LATENCY, "latency", SYNTH_TIME)                                                              \
    X(IB, "ib", SYNTH_IB)                                                                          \
    X(ETH, "eth", SYNTH_ETH)                                                                       \
    X(DEVICE, "device", SYNTH_TEXT)
typedef enum SynthKey {
#define X(name, key, type) SYNTH_KEY_##name,
    SYNTH_KEY_LIST(X)
#undef X
        SYNTH_KEY_COUNT
} SynthKey;

typedef struct SynthValue {
    const char *text; // NULL when not given
    uint32_t column;
    uint64_t number; // a number, bytes per second or picoseconds
} SynthValue;

typedef struct SynthSpec {
    const char *text;
    char name[SYNTH_TEXT_MAX];
    char copy[SYNTH_TEXT_MAX]; // of the line, cut at its commas
    SynthValue values[SYNTH_KEY_COUNT];
} SynthSpec;

// Makes the machine that a line describes.
bool topology_synth_make(const char *line, Topology *out, Err *err);

// True when the line begins with the name of a generator and a colon.
bool topology_synth_begins(const char *line);

// The generator that a line with another name before its first colon is likely meant for, or NULL.
const char *topology_synth_nearest(const char *line);

// "LINE", column N: ... where N is that of the value, or the end of the line when it is not given.
bool topology_synth_fail(const SynthSpec *spec, SynthKey key, Err *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

// The value, or `otherwise` when it is not given.
uint64_t topology_synth_number(const SynthSpec *spec, SynthKey key, uint64_t otherwise);

// The size as a count, with a unit behind it ("su") or none ("").
bool topology_synth_count(const SynthSpec *spec, const char *unit, uint32_t *out, Err *err);

// The device of GPUs: the one that the line names, or `otherwise`.
const char *topology_synth_device(const SynthSpec *spec, Arena *arena, const char *otherwise);

// Building. A topology that is open has room for `template_most` more templates than it holds, a
// template for its parts and links. Strings are borrowed: constants or the topology's arena.
void topology_synth_open(Topology *topology, const SynthSpec *spec, uint32_t template_most);
Template *topology_synth_template(Topology *topology, const char *name, uint32_t part_most,
                                  uint32_t link_most);
void topology_synth_part(Template *in, Part part); // what is zero is: one, no device, no template
void topology_synth_group(Topology *topology, Template *in, const char *name, const Template *of,
                          uint32_t count);
void topology_synth_link(Template *in, LinkRule link); // what is zero is: one cable, no source, M

// Ends it: `machine` is the whole. *topology is freed or moved to *out.
bool topology_synth_close(Topology *topology, const Template *machine, Topology *out, Err *err);

// The generators.
bool topology_synth_ring(const SynthSpec *spec, Topology *out, Err *err);
bool topology_synth_switch(const SynthSpec *spec, Topology *out, Err *err);
bool topology_synth_mesh(const SynthSpec *spec, Topology *out, Err *err);
bool topology_synth_torus(const SynthSpec *spec, Topology *out, Err *err);
bool topology_synth_dragonfly(const SynthSpec *spec, Topology *out, Err *err);
bool topology_synth_fattree(const SynthSpec *spec, Topology *out, Err *err);
bool topology_synth_leafspine(const SynthSpec *spec, Topology *out, Err *err);
bool topology_synth_rails(const SynthSpec *spec, Topology *out,
                          Err *err); // superpod-*, racks and nodes
bool topology_synth_nodes(const SynthSpec *spec, Topology *out, Err *err); // hgx-h100

#endif
