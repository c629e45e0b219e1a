// Which plans a machine can place, and what an engine can run, given how its GPUs are arranged.
#ifndef SIM_SEARCH_SPACE_PLACE_H
#define SIM_SEARCH_SPACE_PLACE_H

#include <stdbool.h>

#include "model/base/err.h"
#include "model/machine/fabric.h"
#include "model/moe/arch.h"
#include "sim/search/space.h"

// Why a plan has no place.
typedef struct PlaceFault {
    LedgerKind kind;
    const char *reason; // template; NULL when the plan has its place
    double miss;
} PlaceFault;

// What is not searched or what no engine runs. On a fault `text` has one line with the numbers.
PlaceFault space_place_fault(const Fabric *fabric, const Pool *pool, Err *text);

// What the simulator cannot fold: ranks whose neighbours are not those of equal ranks.
PlaceFault space_place_gap(const Fabric *fabric, const Arch *arch, const Pool *pool, Err *text);

// GPUs that tensor parallelism may span: a scale-up domain, or a node where there are no scale-up
// links.
uint32_t space_place_domain(const Fabric *fabric);

#endif
