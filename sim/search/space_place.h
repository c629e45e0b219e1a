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

// What lies unevenly on the machine and is not worth its price: ranks that straddle its blocks
// where stages as wide would not and would use as many of the `gpus` that a plan may use, and
// ranks that straddle blocks, or blocks with more experts than others, with more pairs of ranks
// than a search can afford to simulate. Others are searched like all plans.
PlaceFault space_place_dear(const Fabric *fabric, const Arch *arch, uint32_t gpus, const Pool *pool,
                            Err *text);

// A placement other than LINEAR that is not tried: none differs from it by symmetry, it does not
// fit on the machine, or there are more pairs of ranks than a search can afford to simulate.
PlaceFault space_place_other(const Fabric *fabric, const Pool *pool, Err *text);

#endif
