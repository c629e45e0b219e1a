// Proof that tenants of one machine share no device and no memory: from the GPUs themselves, not
// from the arithmetic that placed them.
//
// A rank owns its GPU with the memory on it. Its process, staging buffers and all that may be
// offloaded lie in the host memory of that GPU: what hangs on the CPU nearest to it (over PCIe
// switches), or that CPU as a NUMA domain where the machine names no memory of it. Links may be
// shared, and so may the NICs and CPUs that forward to them: these are listed.
#ifndef MODEL_PLAN_TENANT_PROOF_H
#define MODEL_PLAN_TENANT_PROOF_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/machine/fabric.h"

// One tenant: rank r runs on GPU gpus[r] of the machine, dead ones counted.
typedef struct TenantClaim {
    const char *name; // for messages
    const uint32_t *gpus;
    uint32_t gpu_count;
} TenantClaim;

// APART: a host memory of two tenants is refused. LISTED: it is listed as shared.
typedef enum TenantHosts { TENANT_HOSTS_APART, TENANT_HOSTS_LISTED } TenantHosts;

// POOLED: a memory on no CPU, in reach of tenants over a switch; no plan puts anything there.
#define TENANT_PART_LIST(X)                                                                        \
    X(MEMORY, "host memory")                                                                       \
    X(CPU, "cpu")                                                                                  \
    X(NIC, "nic")                                                                                  \
    X(POOLED, "pooled memory")
typedef enum TenantPart {
#define X(name, text) TENANT_PART_##name,
    TENANT_PART_LIST(X)
#undef X
        TENANT_PART_COUNT
} TenantPart;
extern const char *const tenant_proof_part_names[TENANT_PART_COUNT];

// Of one kind of part: how many are near the tenants, how many of those near two or more, and the
// first of these with two of its tenants.
typedef struct TenantParts {
    uint32_t used, shared;
    VertexId first; // FABRIC_NONE when none is shared
    uint32_t a, b;  // positions of two tenants near it, a < b
} TenantParts;

// A zeroed proof is empty.
typedef struct TenantProof {
    Arena arena;
    uint32_t gpus;   // claimed, each by one tenant
    uint32_t *owner; // [gpu_count of the machine] position of its tenant, FABRIC_NONE: idle
    TenantParts parts[TENANT_PART_COUNT];
} TenantProof;

// False with one line that names the part and both tenants: a GPU of two tenants, or of two ranks
// of one; with APART a host memory of two. Also refused: a GPU that the machine does not have, or
// that is down.
bool tenant_proof_find(const Fabric *fabric, const TenantClaim *claims, uint32_t count,
                       TenantHosts hosts, TenantProof *out, Err *err);
void tenant_proof_free(TenantProof *proof);

#endif
