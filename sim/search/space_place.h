// Which plans a machine can place, and what an engine can run, given how its GPUs are arranged.
#ifndef SIM_SEARCH_SPACE_PLACE_H
#define SIM_SEARCH_SPACE_PLACE_H

#include <stdbool.h>
#include <stdint.h>

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

static inline bool space_place_is_power_of_two(uint32_t n) {
    return (n & (n - 1)) == 0;
}

// Which combinations of tp, pp, dp and replicas are tried at all; the rest of the pool is not
// looked at. A plan may use `gpus` of the machine. What is tried on a machine of whole scale-up
// domains is tried on one of more such domains, as long as it leaves no more than a quarter of that
// idle.
PlaceFault space_place_untried(const Fabric *fabric, const Arch *arch, uint32_t gpus,
                               const Pool *pool, Err *text);

// What is not searched or what no engine runs. On a fault `text` has one line with the numbers.
PlaceFault space_place_fault(const Fabric *fabric, const Pool *pool, Err *text);

// Mixtures of EP and MoE-TP: experts cut as attention is, by all ranks, or not at all.
PlaceFault space_place_mixture(const Pool *pool, Err *text);

// What cannot be priced yet: ranks whose neighbours are not those of equal ranks.
PlaceFault space_place_gap(const Fabric *fabric, const Arch *arch, const Pool *pool, Err *text);

// GPUs that tensor parallelism may span: a scale-up domain, or a node where there are no scale-up
// links.
uint32_t space_place_domain(const Fabric *fabric);

#endif
