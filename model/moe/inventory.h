// All tensors of a checkpoint, one by one, with their names: an iterator over the tensor classes of
// an Arch.
#ifndef MODEL_MOE_INVENTORY_H
#define MODEL_MOE_INVENTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "model/moe/arch.h"

#define INVENTORY_NAME_MAX 256 // bytes of a name; patterns of families are far shorter
#define INVENTORY_NONE     UINT32_MAX

typedef struct InventoryTensor {
    const TensorClass *class;
    uint32_t layer;  // of the main layers; NONE: outside of them
    uint32_t member; // expert, or block of a vision tower; NONE when the name has neither
    char name[INVENTORY_NAME_MAX];
} InventoryTensor;

// Before the layers, then layer by layer, then draft layers and what is beside the text model, each
// in the order of its rows; of one row all experts together. Zeroed but for `arch`, it is at the
// start.
typedef struct Inventory {
    const Arch *arch; // borrowed
    uint32_t stage, layer, class, member;
    // The name up to the number of the member, and what the pattern has after it.
    char stem[INVENTORY_NAME_MAX];
    uint32_t stem_length;
    const char *rest;
} Inventory;

// False after the last.
bool inventory_next(Inventory *inventory, InventoryTensor *out);

// The name of one tensor of a class: `layer` and `member` are used where the pattern has a mark.
void inventory_name(const TensorClass *class, uint32_t layer, uint32_t member,
                    char name[INVENTORY_NAME_MAX]);

#endif
