// What moesim tenants works on: one machine, and several plans, each with its own model and
// workload.
#ifndef SIM_COMMANDS_TENANTS_INPUT_H
#define SIM_COMMANDS_TENANTS_INPUT_H

#include <stdbool.h>

#include "model/base/cli.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/cost/calib.h"
#include "model/cost/price.h"
#include "model/machine/device.h"
#include "model/machine/fabric.h"
#include "model/machine/topology.h"
#include "model/moe/arch.h"
#include "model/plan/load.h"
#include "model/plan/plan.h"
#include "model/plan/scenario.h"
#include "sim/tenants.h"

// One plan with what it was made for.
typedef struct TenantFiles {
    PlanFile file;
    Arch arch;
    Scenario scenario;
    Load load;
    const char *scenario_name; // as named, or the default
    bool default_scenario;     // the plan names none
} TenantFiles;

// A zeroed one is empty. Pointers inside point into it: not moved.
typedef struct TenantsInputs {
    Arena arena;
    DeviceCatalogue catalogue;
    Topology topology;
    Fabric fabric;
    Calib calib;
    PriceModel model;
    TenantFiles files[TENANTS_MAX];
    Tenant tenants[TENANTS_MAX];
    uint32_t count;
} TenantsInputs;

// Refused, each with one line: a machine whose GPUs differ or have no rates; a plan of several
// pools, or that is not legal for its model, or that does not fit the GPUs of this machine; plans
// made with different constants, without --calibration; fewer or more places in --at than plans.
bool tenants_input_read(const CliArgs *args, TenantsInputs *out, Err *err);
void tenants_input_free(TenantsInputs *inputs);

#endif
