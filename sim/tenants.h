// Several tenants on one machine: plans that run at once and share its links in one simulation, and
// what that costs each of them.
//
// A time is measured beside the decode steps of all other tenants, which they repeat back to back.
// Decode: TENANTS_STEPS steps in a row, after some that settle them. Prefill: each (sampled) chunk
// of one prompt on every attention-DP rank. How the steps of tenants lie to each other is not
// known, so each measurement is repeated with the others shifted by equal parts of their own step,
// and the mean is taken. Figures do not depend on the order of the tenants.
//
// The engine's own time between steps is in all times, but not simulated: links rest a little
// longer than here. Algorithms of collectives are those that are fastest alone.
#ifndef SIM_TENANTS_H
#define SIM_TENANTS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/cost/price.h"
#include "model/machine/fabric.h"
#include "model/moe/arch.h"
#include "model/plan/load.h"
#include "model/plan/plan.h"
#include "model/plan/scenario.h"
#include "sim/search/evaluate.h"
#include "sim/sim.h"

#define TENANTS_MAX     64
#define TENANTS_STEPS   4 // decode steps that are averaged in a row
#define TENANTS_OFFSETS 8 // phases of the others
#define TENANTS_PROMPT_STEPS                                                                       \
    16 // beside a prefill: phases until it has seen as many steps of theirs, at most 4 phases
#define TENANTS_WORK 400000000 // operations and transfers of all runs together: a minute

// All is borrowed.
typedef struct Tenant {
    const char *name; // for messages
    Plan plan;        // one unified pool, legal for the arch; its first_gpu is where it lies
    const Arch *arch;
    const Scenario *scenario;
    const Load *load; // of experts; NULL: uniform
    uint64_t sequences;
} Tenant;

typedef struct TenantsInput {
    const Fabric *fabric;
    const PriceModel *model;
    const Tenant *tenants;
    uint32_t count;         // 1 to TENANTS_MAX, on GPUs of their own (tenant_proof.h)
    SimForm form;           // AUTO: folded, else refined, else expanded; all are exact
    EvaluateMemory *memory; // of this machine, from call to call; NULL: none
    double work_max;        // operations and transfers of all runs; 0: TENANTS_WORK
} TenantsInput;

// Mean over the offsets, and the offsets in which it is shortest and longest.
typedef struct TenantTime {
    Time alone_ps, shared_ps, least_ps, most_ps;
} TenantTime;

typedef struct TenantTimes {
    TenantTime tpot, ttft; // ttft is zeroed when only decode was asked for
} TenantTimes;

// Alike links over which two tenants or more move bytes in their decode steps.
typedef struct TenantLink {
    LinkId link; // the first of them
    uint64_t links;
    LinkClass link_class;
    uint64_t capacity_Bps;
    double *share; // [tenants] part of the capacity that each takes on average when it is alone
    double total;  // of all
} TenantLink;

typedef enum TenantsWhat { TENANTS_DECODE, TENANTS_ALL } TenantsWhat;

// A zeroed result is empty. Arrays are the arena's.
typedef struct TenantsResult {
    Arena arena;
    TenantTimes *times; // [count], in the order of the input
    TenantLink *links;  // fullest first
    uint32_t link_count;
    SimForm form;  // the least folded that a run needed
    uint64_t runs; // of the simulator, events in all of them
    uint64_t events;
    double work; // operations and transfers in all of them
} TenantsResult;

// Refused: a tenant that cannot be simulated at its place, or steps too unlike or ranks too many to
// simulate together.
bool tenants_measure(const TenantsInput *input, TenantsWhat what, TenantsResult *out, Err *err);
void tenants_free(TenantsResult *result);

// How much longer a time is beside the others, in percent.
double tenants_slowdown(const TenantTime *time);

#endif
