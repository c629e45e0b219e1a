// Enumerates places in a fixed order and simulates each.
//
// Invariant: the candidates and their order depend on the machine and on the tenants by where they
// lie, not on the order in which they were named; of equal ones the first wins, the given one
// before all.
#include "sim/tenants_place.h"

#include <string.h>

#include "model/plan/pool_place.h"

#define CANDIDATES_MAX 512 // that are looked at; most are equal to others
#define ORDERS_MAX     24  // 4!
#define EQUAL          1e-9

bool tenants_place_prove(const TenantsInput *input, TenantHosts hosts, TenantProof *out, Err *err) {
    TenantClaim claims[TENANTS_MAX];
    Arena scratch = {0};
    uint32_t live = fabric_live_gpu_count(input->fabric);
    bool done = true;
    for (uint32_t t = 0; done && t < input->count; t++) {
        const Tenant *tenant = &input->tenants[t];
        const Pool *pool = &tenant->plan.pools[0];
        uint32_t ranks = pool_ranks(pool);
        uint32_t *places = NULL;
        if (ranks > live || pool->first_gpu > live - ranks) {
            done = err_set(err, "%s: %u GPUs from GPU %u on, the machine has %u", tenant->name,
                           ranks, pool->first_gpu, live);
            continue;
        }
        if (!pool_place_ranks(input->fabric, pool, &places, err)) {
            done = err_prefix(err, "%s", tenant->name);
            continue;
        }
        uint32_t *gpus = arena_alloc(&scratch, ranks, sizeof *gpus);
        for (uint32_t r = 0; r < ranks; r++) gpus[r] = fabric_live_gpu(input->fabric, places[r]);
        mem_free(places);
        claims[t] = (TenantClaim){tenant->name, gpus, ranks};
    }
    done = done && tenant_proof_find(input->fabric, claims, input->count, hosts, out, err);
    arena_free(&scratch);
    return done;
}

typedef struct Places {
    const TenantsInput *input;
    uint32_t ranks[TENANTS_MAX];
    uint32_t live, all_ranks;
    uint32_t orders[ORDERS_MAX][TENANTS_MAX];
    uint32_t order_count;
    uint32_t (*candidates)[TENANTS_MAX]; // [CANDIDATES_MAX], the given one first
    uint32_t candidate_count;
    double work_left;
} Places;

// ---- Orders

static void sort(const Places *places, uint32_t *order) {
    const Tenant *tenants = places->input->tenants;
    for (uint32_t i = 0; i < places->input->count; i++) {
        uint32_t at = i;
        for (; at > 0 &&
               tenants[order[at - 1]].plan.pools[0].first_gpu > tenants[i].plan.pools[0].first_gpu;
             at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

// The next permutation in lexicographic order; false after the last (Knuth, TAOCP 7.2.1.2, L).
static bool permute(uint32_t *items, uint32_t count) {
    uint32_t i = count, j = count;
    while (i > 1 && items[i - 2] >= items[i - 1]) i--;
    if (i <= 1) return false;
    while (items[j - 1] <= items[i - 2]) j--;
    uint32_t item = items[i - 2];
    items[i - 2] = items[j - 1];
    items[j - 1] = item;
    for (uint32_t a = i - 1, b = count - 1; a < b; a++, b--) {
        item = items[a];
        items[a] = items[b];
        items[b] = item;
    }
    return true;
}

static void list_all_orders(Places *places, const uint32_t *sorted) {
    uint32_t count = places->input->count, index[TENANTS_MAX];
    for (uint32_t i = 0; i < count; i++) index[i] = i;
    do {
        uint32_t *order = places->orders[places->order_count++];
        for (uint32_t i = 0; i < count; i++) order[i] = sorted[index[i]];
    } while (permute(index, count));
}

static void list_some_orders(Places *places, const uint32_t *sorted) {
    uint32_t count = places->input->count;
    places->order_count = 3;
    for (uint32_t i = 0; i < count; i++) {
        places->orders[0][i] = sorted[i];
        places->orders[1][i] = sorted[count - 1 - i];
        uint32_t at = i, *largest = places->orders[2];
        for (; at > 0 && places->ranks[largest[at - 1]] < places->ranks[sorted[i]]; at--)
            largest[at] = largest[at - 1];
        largest[at] = sorted[i];
    }
}

// ---- Candidates

static void add_candidate(Places *places, const uint32_t *first_gpu) {
    size_t size = places->input->count * sizeof *first_gpu;
    for (uint32_t i = 0; i < places->candidate_count; i++)
        if (memcmp(places->candidates[i], first_gpu, size) == 0) return;
    if (places->candidate_count == CANDIDATES_MAX) return;
    memcpy(places->candidates[places->candidate_count++], first_gpu, size);
}

// Behind each other with `gap` idle GPUs between them, none across the end of a block that it could
// lie inside.
static void pack(Places *places, const uint32_t *order, uint32_t block, uint32_t gap) {
    uint32_t first_gpu[TENANTS_MAX];
    uint64_t at = 0;
    for (uint32_t i = 0; i < places->input->count; i++) {
        uint32_t ranks = places->ranks[order[i]], into = (uint32_t)(at % block);
        if (into > 0 && ranks > block - into) at += block - into;
        if (at + ranks > places->live) return;
        first_gpu[order[i]] = (uint32_t)at;
        at += ranks + gap;
    }
    add_candidate(places, first_gpu);
}

static void add_block(Places *places, uint32_t block) {
    if (block == 0) return;
    uint32_t idle = places->live - places->all_ranks;
    uint32_t gap = idle / places->input->count / block * block;
    for (uint32_t i = 0; i < places->order_count; i++) {
        pack(places, places->orders[i], block, 0);
        if (gap > 0) pack(places, places->orders[i], block, gap);
    }
}

static void list_candidates(Places *places) {
    const Fabric *fabric = places->input->fabric;
    uint32_t block = 1, sorted[TENANTS_MAX], given[TENANTS_MAX];
    for (uint32_t t = 0; t < places->input->count; t++)
        given[t] = places->input->tenants[t].plan.pools[0].first_gpu;
    add_candidate(places, given);
    sort(places, sorted);
    if (places->input->count <= 4)
        list_all_orders(places, sorted);
    else
        list_some_orders(places, sorted);
    add_block(places, fabric->domain_size);
    add_block(places, fabric->node_size);
    for (uint32_t d = fabric->shape.digit_count; d-- > 0;) {
        block *= fabric->shape.size[d];
        add_block(places, block);
    }
    add_block(places, 1);
}

// ---- Which is best

static double cost_of(const Places *places, const TenantsResult *given,
                      const TenantsResult *result) {
    uint32_t sorted[TENANTS_MAX], count = places->input->count;
    double sum = 0;
    sort(places, sorted);
    for (uint32_t i = 0; i < count; i++)
        sum += (double)result->times[sorted[i]].tpot.shared_ps /
               (double)given->times[sorted[i]].tpot.shared_ps;
    return sum / count;
}

static void try_candidate(Places *places, const TenantsResult *given, TenantHosts hosts,
                          const uint32_t *first_gpu, TenantsPlaces *out) {
    uint32_t count = places->input->count;
    Tenant tenants[TENANTS_MAX];
    TenantsInput input = *places->input;
    TenantsResult result;
    TenantProof proof;
    Err ignored = {0};
    input.tenants = tenants;
    input.work_max = places->work_left;
    for (uint32_t t = 0; t < count; t++) {
        tenants[t] = places->input->tenants[t];
        tenants[t].plan.pools[0].first_gpu = first_gpu[t];
    }
    if (!tenants_place_prove(&input, hosts, &proof, &ignored)) {
        out->refused++;
        return;
    }
    tenant_proof_free(&proof);
    if (!tenants_measure(&input, TENANTS_DECODE, &result, &ignored)) {
        out->failed++;
        return;
    }
    out->tried++;
    places->work_left -= result.work;
    double cost = cost_of(places, given, &result);
    if (cost < out->cost - EQUAL) {
        tenants_free(&out->best);
        out->best = result;
        out->cost = cost;
        memcpy(out->first_gpu, first_gpu, count * sizeof *first_gpu);
    } else {
        tenants_free(&result);
    }
}

void tenants_place_find(const TenantsInput *input, const TenantsResult *given, TenantHosts hosts,
                        uint32_t most, TenantsPlaces *out) {
    Arena scratch = {0};
    Places places = {.input = input, .live = fabric_live_gpu_count(input->fabric)};
    *out = (TenantsPlaces){.cost = 1};
    places.work_left = input->work_max > 0 ? input->work_max : TENANTS_WORK;
    places.candidates = arena_alloc(&scratch, CANDIDATES_MAX, sizeof *places.candidates);
    for (uint32_t t = 0; t < input->count; t++) {
        places.ranks[t] = pool_ranks(&input->tenants[t].plan.pools[0]);
        places.all_ranks += places.ranks[t];
    }
    list_candidates(&places);
    memcpy(out->first_gpu, places.candidates[0], input->count * sizeof *out->first_gpu);
    for (uint32_t i = 1; i < places.candidate_count; i++) {
        if (out->tried + out->failed == most) {
            out->left = places.candidate_count - i;
            break;
        }
        try_candidate(&places, given, hosts, places.candidates[i], out);
    }
    arena_free(&scratch);
}

void tenants_place_free(TenantsPlaces *places) {
    tenants_free(&places->best);
    *places = (TenantsPlaces){0};
}
