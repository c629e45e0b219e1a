// The tensors that a model should have against those that a checkpoint has.
#ifndef MODEL_MOE_INVENTORY_CHECK_H
#define MODEL_MOE_INVENTORY_CHECK_H

#include "model/moe/arch.h"
#include "model/moe/checkpoint.h"

typedef struct InventoryCheck {
    uint64_t found;    // tensors of the model that the checkpoint has
    uint64_t compared; // of them, those whose type and shape are known there
    uint64_t missing[COMPONENT_COUNT];
} InventoryCheck;

// Adds missing and extra tensors, wrong types and shapes and, for an index without files, a wrong
// total_size to `findings`.
void inventory_check_run(const Arch *arch, const Checkpoint *checkpoint, Findings *findings,
                         InventoryCheck *out);

#endif
