// Results of moesim tenants, for people and for programs.
#ifndef SIM_COMMANDS_TENANTS_SHOW_H
#define SIM_COMMANDS_TENANTS_SHOW_H

#include "model/base/text.h"
#include "model/plan/tenant_proof.h"
#include "sim/commands/tenants_input.h"
#include "sim/tenants.h"
#include "sim/tenants_place.h"

typedef struct TenantsAnswer {
    const TenantsInputs *inputs;
    TenantHosts hosts;
    TenantProof proof;
    TenantsResult result;
    TenantsPlaces places; // zeroed when none was tried
} TenantsAnswer;

void tenants_show_text(const TenantsAnswer *answer, Text *out);
void tenants_show_csv(const TenantsAnswer *answer, Text *out);
void tenants_show_json(const TenantsAnswer *answer, Text *out);

#endif
