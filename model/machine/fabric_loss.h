// What faults cost a machine: parts that are dead, and the GPU that is hit hardest, at whose pace
// collectives run. Bandwidths are per direction.
#ifndef MODEL_MACHINE_FABRIC_LOSS_H
#define MODEL_MACHINE_FABRIC_LOSS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/machine/fabric.h"

// A bandwidth before and after, of the live GPU that has the smallest part of it left.
typedef struct FabricLossRate {
    bool is_known;
    uint32_t gpu, count; // the first such GPU, and how many there are
    uint64_t built_Bps, left_Bps;
} FabricLossRate;

// Live GPUs that compute at part / whole of their rates: the slowest.
typedef struct FabricLossCompute {
    uint32_t gpu, count; // the first such GPU, and how many there are; 0: none is slow
    uint32_t part, whole;
} FabricLossCompute;

typedef struct FabricLoss {
    uint32_t dead[PART_KIND_COUNT];
    uint32_t links_down, links_slow; // bundles that faults name; those of dead parts not counted
    FabricLossRate links[LINK_CLASS_COUNT]; // all links of a GPU of one class; known where one lost
    // To GPUs of other domains, all GPUs sending at once and sharing NICs: known when domains are
    // joined by NICs and the machine is not too large.
    FabricLossRate out;
    FabricLossCompute compute;
} FabricLoss;

// Zeroed counts and nothing known when there are no faults.
bool fabric_loss_find(const Fabric *fabric, FabricLoss *out, Err *err);

// The rate of which the smallest part is left, with its name ("nvlink", "out of its domain"), or
// NULL when no GPU lost any.
const FabricLossRate *fabric_loss_worst(const FabricLoss *loss, const char **out_name);

#endif
