// One simulation of all tenants. Internal to tenants.
#ifndef SIM_TENANTS_RUN_H
#define SIM_TENANTS_RUN_H

#include "model/plan/lower.h"
#include "sim/tenants.h"

// A tenant, lowered for its place.
typedef struct TenantWork {
    Evaluation evaluation; // alone, with the schedules of its phases
    Load load;
    uint32_t *places; // of its ranks; NULL: in order
    uint32_t lag;     // passes of one decode step
    Time step_ps;     // of it, alone, without the engine's time
} TenantWork;

// Whose time is measured, beside the decode of the others.
typedef struct TenantsRun {
    uint32_t measured;
    Phase phase;
    StepShape shape;
    uint32_t steps;           // 0: the program of the phase as it is
    uint32_t offset, offsets; // offsets == 0: without the others
    Time alone_ps;            // how long it takes then
} TenantsRun;

typedef struct TenantsSpan {
    Time first_ps; // until the first pass ends
    Time steps_ps; // the last `steps` steps; of a prefill, the last pass
    Time end_ps;
} TenantsSpan;

typedef struct TenantsState {
    const TenantsInput *input;
    TenantWork *works; // [count]
    uint32_t *order;   // tenants by their first GPU
    TenantsResult *result;
} TenantsState;

bool tenants_run_one(TenantsState *state, const TenantsRun *run, TenantsSpan *out, Err *err);

// Links that tenants share, while all decode: fills the links of the result.
bool tenants_link_find(TenantsState *state, Err *err);

// ---- For these two

// All tenants in one simulation, which sim_close closes.
typedef struct TenantsJoint {
    Sim *sim;
    uint32_t handles[TENANTS_MAX]; // by tenant
} TenantsJoint;

// Submits the tenants in order of their place, neighbours for as long as the run takes when it
// lasts `stretch` quarters of its lone time.
bool tenants_run_open(TenantsState *state, const TenantsRun *run, uint32_t stretch,
                      TenantsJoint *out, Err *err);

#endif
