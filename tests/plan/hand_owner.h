// Who owns a byte of a checkpoint: the definition, element by element, sharing nothing with the
// code under test but the layers of stages.
#ifndef TESTS_PLAN_HAND_OWNER_H
#define TESTS_PLAN_HAND_OWNER_H

#include "model/moe/inventory.h"
#include "model/plan/pool.h"

#define HAND_CLASSES_MAX 64

// Counts the tensors of each class while an inventory is walked: which of one layer this is.
typedef struct HandMembers {
    uint32_t seen[HAND_CLASSES_MAX];
} HandMembers;
uint32_t hand_owner_member(HandMembers *members, const Arch *arch, const InventoryTensor *tensor);

// Byte `byte` of a tensor, for a rank of a pool that places experts in order.
bool hand_owner_has(const Pool *pool, const Arch *arch, uint32_t rank,
                    const InventoryTensor *tensor, uint32_t member, uint64_t byte);

#endif
