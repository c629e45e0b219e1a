// Walks every GPU of every tenant once and marks the parts that are near it.
//
// Invariant: a part is marked with the first tenant that came to it; whoever comes second is what
// makes it shared, so that nothing that two tenants are near can be missed, in whatever order.
#include "model/plan/tenant_proof.h"

#include <inttypes.h>

const char *const tenant_proof_part_names[TENANT_PART_COUNT] = {
#define X(name, text) text,
    TENANT_PART_LIST(X)
#undef X
};

#define REACH_MAX 64 // parts that are looked at around a GPU: a node has fewer

typedef struct Prover {
    const Fabric *fabric;
    const TenantClaim *claims;
    uint32_t *owner_of; // [TENANT_PART_COUNT][vertex_count] the first tenant near it
    bool *is_shared;    // the same
    TenantProof *proof;
} Prover;

// ---- GPUs

static void name_gpu(const Fabric *fabric, uint32_t gpu, Text *out) {
    text_addf(out, "GPU %" PRIu32 " (", gpu);
    fabric_vertex_name(fabric, fabric_gpu(fabric, gpu), out);
    text_add_char(out, ')');
}

static bool refuse_gpu(const Prover *prover, uint32_t gpu, uint32_t a, uint32_t b, Err *err) {
    Text name = {0};
    name_gpu(prover->fabric, gpu, &name);
    const char *first = prover->claims[a].name, *second = prover->claims[b].name;
    if (a == b)
        err_set(err, "%s is taken by two ranks of %s", text_string(&name), first);
    else
        err_set(err, "%s is taken by both %s and %s", text_string(&name), first, second);
    text_free(&name);
    return false;
}

static bool claim_gpu(Prover *prover, uint32_t tenant, uint32_t gpu, Err *err) {
    const Fabric *fabric = prover->fabric;
    uint32_t *owner = prover->proof->owner;
    if (gpu >= fabric->gpu_count)
        return err_set(err, "%s: expected GPUs below %" PRIu32 ", found %" PRIu32,
                       prover->claims[tenant].name, fabric->gpu_count, gpu);
    if (fabric_is_dead(fabric, fabric_gpu(fabric, gpu)))
        return err_set(err, "%s: GPU %" PRIu32 " is down", prover->claims[tenant].name, gpu);
    if (owner[gpu] != FABRIC_NONE) return refuse_gpu(prover, gpu, owner[gpu], tenant, err);
    owner[gpu] = tenant;
    prover->proof->gpus++;
    return true;
}

static bool claim_gpus(Prover *prover, uint32_t tenant, Err *err) {
    const TenantClaim *claim = &prover->claims[tenant];
    for (uint32_t i = 0; i < claim->gpu_count; i++)
        if (!claim_gpu(prover, tenant, claim->gpus[i], err)) return false;
    return true;
}

// ---- Parts near them

static void mark(Prover *prover, uint32_t tenant, TenantPart kind, VertexId vertex) {
    TenantParts *parts = &prover->proof->parts[kind];
    size_t at = (size_t)kind * prover->fabric->vertex_count + vertex;
    uint32_t *owner = &prover->owner_of[at];
    if (*owner == FABRIC_NONE) {
        *owner = tenant;
        parts->used++;
    } else if (*owner != tenant && !prover->is_shared[at]) {
        prover->is_shared[at] = true;
        parts->shared++;
        if (parts->first != FABRIC_NONE && parts->first < vertex) return;
        parts->first = vertex;
        parts->a = *owner < tenant ? *owner : tenant;
        parts->b = *owner < tenant ? tenant : *owner;
    }
}

// Parts of one kind that are nearest to a vertex, over parts of the kinds in `through` (bits).
typedef struct Nearest {
    VertexId found[REACH_MAX];
    uint32_t count;
} Nearest;

static bool is_listed(const VertexId *list, uint32_t count, VertexId vertex) {
    for (uint32_t i = 0; i < count; i++)
        if (list[i] == vertex) return true;
    return false;
}

static void add_new(VertexId *list, uint32_t *count, VertexId vertex) {
    if (*count < REACH_MAX && !is_listed(list, *count, vertex)) list[(*count)++] = vertex;
}

static void find_nearest(const Fabric *fabric, VertexId from, PartKind kind, uint32_t through,
                         Nearest *out) {
    VertexId queue[REACH_MAX] = {from};
    uint32_t count = 1, level_end = 1;
    *out = (Nearest){.count = 0};
    for (uint32_t at = 0; at < count && out->count == 0;) {
        for (; at < level_end; at++) {
            uint64_t cursor = 0;
            LinkId link;
            while (fabric_next_link(fabric, queue[at], &cursor, &link)) {
                VertexId to = fabric_link(fabric, link).to;
                PartKind found = fabric_class(fabric, to)->kind;
                if (found == kind) add_new(out->found, &out->count, to);
                if (through >> found & 1) add_new(queue, &count, to);
            }
        }
        level_end = count;
    }
}

// What hangs on a CPU; where nothing is named, the CPU is a NUMA domain with memory of its own.
static void mark_memories(Prover *prover, uint32_t tenant, VertexId cpu) {
    Nearest memories;
    find_nearest(prover->fabric, cpu, PART_MEMORY, 0, &memories);
    for (uint32_t i = 0; i < memories.count; i++)
        mark(prover, tenant, TENANT_PART_MEMORY, memories.found[i]);
    if (memories.count == 0) mark(prover, tenant, TENANT_PART_MEMORY, cpu);
}

static void mark_near(Prover *prover, uint32_t tenant, uint32_t gpu) {
    const Fabric *fabric = prover->fabric;
    VertexId vertex = fabric_gpu(fabric, gpu);
    Nearest near;
    find_nearest(fabric, vertex, PART_CPU, 1U << PART_PCIE_SWITCH, &near);
    for (uint32_t i = 0; i < near.count; i++) {
        mark(prover, tenant, TENANT_PART_CPU, near.found[i]);
        mark_memories(prover, tenant, near.found[i]);
    }
    find_nearest(fabric, vertex, PART_NIC, 1U << PART_PCIE_SWITCH | 1U << PART_CPU, &near);
    for (uint32_t i = 0; i < near.count; i++) mark(prover, tenant, TENANT_PART_NIC, near.found[i]);
}

static bool is_pooled(const Fabric *fabric, VertexId memory) {
    uint64_t cursor = 0;
    LinkId link;
    bool has_link = false;
    while (fabric_next_link(fabric, memory, &cursor, &link)) {
        if (fabric_class(fabric, fabric_link(fabric, link).to)->kind == PART_CPU) return false;
        has_link = true;
    }
    return has_link;
}

// Every tenant reaches a pool, as every GPU reaches every other.
static void mark_pools(Prover *prover, uint32_t tenants) {
    const Fabric *fabric = prover->fabric;
    for (uint32_t c = 0; c < fabric->class_count; c++) {
        const VertexClass *class = &fabric->classes[c];
        if (class->kind != PART_MEMORY) continue;
        for (VertexId v = class->first; v < class->first + class->count; v++)
            for (uint32_t t = 0; is_pooled(fabric, v) && t < tenants && t < 2; t++)
                mark(prover, t, TENANT_PART_POOLED, v);
    }
}

static bool check_hosts(const Prover *prover, Err *err) {
    const TenantParts *parts = &prover->proof->parts[TENANT_PART_MEMORY];
    Text name = {0};
    if (parts->shared == 0) return true;
    fabric_vertex_name(prover->fabric, parts->first, &name);
    err_set(err, "%s is the host memory of both %s and %s", text_string(&name),
            prover->claims[parts->a].name, prover->claims[parts->b].name);
    text_free(&name);
    return false;
}

static bool prove(Prover *prover, uint32_t count, TenantHosts hosts, Err *err) {
    for (uint32_t t = 0; t < count; t++)
        if (!claim_gpus(prover, t, err)) return false;
    for (uint32_t t = 0; t < count; t++)
        for (uint32_t i = 0; i < prover->claims[t].gpu_count; i++)
            mark_near(prover, t, prover->claims[t].gpus[i]);
    mark_pools(prover, count);
    switch (hosts) {
    case TENANT_HOSTS_APART: return check_hosts(prover, err);
    case TENANT_HOSTS_LISTED: break;
    }
    return true;
}

bool tenant_proof_find(const Fabric *fabric, const TenantClaim *claims, uint32_t count,
                       TenantHosts hosts, TenantProof *out, Err *err) {
    TenantProof proof = {0};
    Arena scratch = {0};
    Prover prover = {.fabric = fabric, .claims = claims, .proof = &proof};
    proof.owner = arena_alloc(&proof.arena, fabric->gpu_count, sizeof *proof.owner);
    size_t cells = (size_t)TENANT_PART_COUNT * fabric->vertex_count;
    prover.owner_of = arena_alloc(&scratch, cells, sizeof *prover.owner_of);
    prover.is_shared = arena_alloc(&scratch, cells, sizeof *prover.is_shared);
    for (uint32_t i = 0; i < fabric->gpu_count; i++) proof.owner[i] = FABRIC_NONE;
    for (size_t i = 0; i < cells; i++) prover.owner_of[i] = FABRIC_NONE;
    for (uint32_t i = 0; i < TENANT_PART_COUNT; i++) proof.parts[i].first = FABRIC_NONE;
    bool done = prove(&prover, count, hosts, err);
    arena_free(&scratch);
    if (done)
        *out = proof;
    else
        tenant_proof_free(&proof);
    return done;
}

void tenant_proof_free(TenantProof *proof) {
    arena_free(&proof->arena);
    *proof = (TenantProof){0};
}
