// Folded routes that were found, remembered from run to run: plans of one machine send over the
// same routes again and again. What is found is the same with and without it.
#ifndef SIM_FOLD_MEMORY_H
#define SIM_FOLD_MEMORY_H

#include "sim/fold.h"

typedef struct FoldMemory FoldMemory;
FoldMemory *fold_memory_open(const Fabric *fabric); // borrows it
void fold_memory_close(FoldMemory *memory);         // NULL is allowed

// As fold_route on the fabric of the memory; NULL with the reason when it is refused. Belongs to
// the memory.
const FoldRoute *fold_memory_route(FoldMemory *memory, const FabricShape *shape,
                                   const FoldPair *pair, Err *err);
// For runs that are refined. Belongs to the memory.
struct RefineMemory *fold_memory_refine(FoldMemory *memory);

#endif
