// What `moesim topo` says about a machine as a whole. Bandwidths are per direction.
#ifndef MODEL_MACHINE_FABRIC_SUMMARY_H
#define MODEL_MACHINE_FABRIC_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/machine/fabric.h"

typedef struct FabricSummary {
    uint64_t count[PART_KIND_COUNT];
    uint64_t memory_B[PART_KIND_COUNT]; // of all parts of a kind
    uint64_t cables[LINK_CLASS_COUNT];  // undirected
    Range gpu_Bps[LINK_CLASS_COUNT]; // out of a GPU, least and most over GPUs; ib and eth: those of
                                     // all NICs shared evenly
    bool has_bisection;              // false for one GPU, and for machines too large to cut
    uint64_t bisection_Bps;          // most that one half of the GPUs can send to the other
    uint64_t bisection_by_class[LINK_CLASS_COUNT]; // links of a narrowest cut, the one nearest to
                                                   // the sending half
    bool has_diameter;      // false for irregular machines with too many pairs
    uint32_t diameter_hops; // over routes between GPUs
    Time diameter_ps;
} FabricSummary;

// The halves are the lower and the upper half of the outermost level of GPUs whose count is even
// (of the GPUs by index when there is none).
bool fabric_summary_make(const Fabric *fabric, FabricSummary *out, Err *err);

// B/s of the live links out of a GPU, by class.
void fabric_summary_links(const Fabric *fabric, VertexId gpu, uint64_t sums[LINK_CLASS_COUNT]);

#endif
