// The simulator: (Schedule, StepShape, Load) in, Timeline out, in simulated time, on the links of a
// Fabric.
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/cost/price.h"
#include "model/machine/fabric.h"
#include "model/plan/load.h"
#include "model/plan/schedule.h"
#include "model/report/timeline.h"

// FOLDED: one member for each role, found without looking at ranks; refused where the placement is
// not regular. REFINED: one for each class of ranks that are alike (refine.h). EXPANDED: one for
// each rank: the oracle, for small machines. All are exact. AUTO: folded, else refined, else an
// error that says why not.
typedef enum SimForm { SIM_AUTO, SIM_FOLDED, SIM_REFINED, SIM_EXPANDED } SimForm;

typedef struct SimOptions {
    SimForm form;
    struct FoldMemory *routes; // of this machine, remembered from run to run (fold_memory.h); NULL:
                               // each run finds its own
    uint32_t first_gpu;        // rank r is on live GPU first_gpu + r, unless it has a place:
    const uint32_t *places;    // rank r is on live GPU places[r] (pool_place.h); NULL: none has.
                               // Borrowed as the schedule is
    bool keep_spans;
    uint32_t flow_eps_ppb; // of flow_set_eps; 0 is exact. One for all of a simulation
    uint32_t
        most_transfers;    // and classes of them, above which a refined run is refused (refine.h);
    uint32_t most_classes; // 0: no limit
} SimOptions;

// Runs one schedule, which must pass schedule_check, alone. *out is freed by timeline_free.
bool sim_run(const Fabric *fabric, const PriceModel *model, const Schedule *schedule,
             const StepShape *shape, const Load *load, const SimOptions *options, Timeline *out,
             Err *err);

// The open engine underneath: submitted schedules compete for the same links.
typedef struct Sim Sim;
Sim *sim_open(const Fabric *fabric, const PriceModel *model);
// The handle of the submission, or false. The schedule, shape and load are borrowed until
// sim_close.
bool sim_submit(Sim *sim, const Schedule *schedule, const StepShape *shape, const Load *load,
                const SimOptions *options, Time when, uint32_t *out_handle, Err *err);
// Runs until every submission has ended. A simulation that cannot progress is an error that names
// what waits for what.
bool sim_advance(Sim *sim, Err *err);
void sim_timeline(Sim *sim, uint32_t handle, Timeline *out);
void sim_close(Sim *sim);

#endif
