// The time of a step over sampled loads: what the expected load hides.
#ifndef SIM_SEARCH_TAILS_H
#define SIM_SEARCH_TAILS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/moe/arch.h"
#include "model/plan/pool.h"
#include "model/plan/routing.h"
#include "model/plan/schedule.h"
#include "sim/sim.h"

#define TAILS_SAMPLES_MAX 10000

typedef struct TailsInput {
    const Fabric *fabric;
    const PriceModel *model;
    const Schedule *schedule; // lowered for at least 2 steps; its layers are drawn one by one
    const StepShape *shape;
    SimOptions options;
    uint32_t lag;        // passes of one step: the micro-batches
    RoutingSpec routing; // of one step; its tokens are those of one group of ranks with all
                         // experts. Sample i is draw routing.draw + i: other tokens of the same
                         // popularity
    uint32_t samples;
    const Pool *pool; // whose slots the schedule has, where its placement puts the experts; NULL:
                      // experts in order
    const Arch *arch;
    const Load *expected; // for which they were placed; NULL: the shares that the law states
    uint32_t nodes;       // over which the EP positions lie
} TailsInput;

// From the end of the last but one step to the end of the last.
typedef struct Tails {
    Time *times; // [samples], ascending
    uint32_t samples;
    Time even_ps;     // every expert the same
    Time expected_ps; // the shares that the law states
} Tails;

bool tails_run(const TailsInput *input, Tails *out, Err *err);
void tails_free(Tails *tails);

// The smallest time that at least `percent` of the samples do not exceed (nearest rank); 1 to 100.
Time tails_percentile(const Tails *tails, uint32_t percent);

#endif
