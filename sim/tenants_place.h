// Places for tenants on a machine: which ranges of GPUs cost them least.
#ifndef SIM_TENANTS_PLACE_H
#define SIM_TENANTS_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/plan/tenant_proof.h"
#include "sim/tenants.h"

// A tenant lies on consecutive live GPUs, as placements of pools do. Tried are, for each block that
// repeats in the machine (scale-up domain, node, blocks of its shape) and each order of up to 4
// tenants (of more: as given, reversed, largest first): all packed behind each other, none across
// the end of a block that it could lie inside; and the same with the idle GPUs dealt out between
// them. Places that tenant_proof.h refuses are left out.
typedef struct TenantsPlaces {
    uint32_t tried;   // that were simulated, the given one not counted
    uint32_t refused; // that would share a host memory
    uint32_t failed;  // that cannot be simulated, or not within the work that is left for all
    uint32_t left;    // beyond `most`
    // Mean over the tenants of a shared decode step, as part of that at the given place: 1 when
    // nothing is better.
    double cost;
    uint32_t first_gpu[TENANTS_MAX]; // of the best; the given ones when none is better
    TenantsResult best;              // decode alone; zeroed when none is better
} TenantsPlaces;

// `given` is what tenants_measure said of the places in the input; `most` bounds how many are
// simulated, and the input's work_max what they take together.
void tenants_place_find(const TenantsInput *input, const TenantsResult *given, TenantHosts hosts,
                        uint32_t most, TenantsPlaces *out);
void tenants_place_free(TenantsPlaces *places);

// The GPUs of every tenant at its place, proven to be its own. *out is freed by tenant_proof_free.
// Refused besides: a tenant that lies beyond the end of the machine.
bool tenants_place_prove(const TenantsInput *input, TenantHosts hosts, TenantProof *out, Err *err);

#endif
