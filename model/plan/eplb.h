// Placement of experts with redundancy: which experts, how often, on which GPU, for an expected
// Load.
#ifndef MODEL_PLAN_EPLB_H
#define MODEL_PLAN_EPLB_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/plan/load.h"

#define EPLB_SLOTS_MAX 8192 // of a layer

// Each of `gpus` has (experts + redundant) / gpus slots, an expert's replica in each. With groups
// (0 reads as 1) that divide over the nodes, the experts of a group stay on one node; else replicas
// go to any GPU.
typedef struct EplbSpec {
    uint32_t gpus, nodes, groups, redundant;
} EplbSpec;

typedef struct Eplb {
    Arena arena;
    uint32_t layers, experts, slots, gpus;
    const uint32_t *expert_of_slot; // [layers][slots]; the slots of a GPU follow each other
    const uint32_t *replicas;       // [layers][experts], at least 1
} Eplb;

// By layer of the load, which must be a recorded one. Refuses slots that are not the same number on
// each GPU, GPUs that are not the same number on each node, and experts that are not the same
// number in each group.
bool eplb_place(const Load *load, const EplbSpec *spec, Eplb *out, Err *err);
void eplb_free(Eplb *eplb);

// A load of the slots: experts + redundant "experts" in order of their GPU. Each replica takes an
// equal part of its expert's tokens, whole ones, the first replicas the left-over ones. `load` has
// the layers and experts that were placed.
bool eplb_slots(const Load *load, const Eplb *eplb, Load *out, Err *err);

// Mean over largest number of tokens of `ranks` runs of experts (or slots) as pool_experts cuts
// them, in one layer, all sources together: 1 when all have the same. The slowest rank works
// 1 / balance times as long as an even load would take. ranks <= load->experts.
double eplb_balance(const Load *load, uint32_t layer, uint32_t ranks);

#endif
