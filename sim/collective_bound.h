// The time that no algorithm for a collective can go below on a machine, whatever its steps: what
// must leave or enter a rank, or the ranks of a scale-up domain or node, over the links there.
#ifndef SIM_COLLECTIVE_BOUND_H
#define SIM_COLLECTIVE_BOUND_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/units.h"
#include "model/machine/fabric.h"
#include "model/plan/collective.h"

// Rank r is on live GPU first_gpu + r. `bytes` as in collective.h. Links count at their nominal
// rates as faults leave them. Of large groups not every rank and domain is looked at, which can
// only lower the bound.
bool collective_bound_find(const Fabric *fabric, uint32_t first_gpu, uint32_t n, Collective kind,
                           uint64_t bytes, Time *out, Err *err);

#endif
