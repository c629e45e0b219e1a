// The links of searched routes, loaded by hand.
//
// All bytes of an all-to-all of a group go over the routes of its pairs, so that no link of these
// is done before its share of them has passed at its best rate; the first of them has to wait for
// the software of a step and for the hardware of the shortest way. What other groups do can only
// add to that. An all-reduce over n ranks that send S each moves 2 (n - 1) S in all when no switch
// sums: P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
// workstations", J. Parallel Distrib. Comput. 69 (2009), section 3.
//
// Invariant: nothing simulated is shorter (tests/sim/test_bound.c); what is remembered of a family
// of groups is a function of the machine and of the family.
#include "sim/search/choose_load.h"

#include "model/base/num.h"
#include "model/machine/fabric_fault.h"
#include "sim/net.h"
#include "sim/search/limits.h"

// Time of the most loaded link for one byte from each rank to each other one, and before it.
typedef struct GroupLoad {
    double seconds;
    Time latency_ps, software_ps;
    CalibParam bandwidth_param, step_param;
} GroupLoad;

typedef struct FamilyLoad {
    GroupLoad worst, best;
} FamilyLoad;

struct ChooseLoads {
    const Fabric *fabric;
    const Calib *calib;
    double *seconds; // [link_count], of the group at hand: for a byte of each pair
    LinkId *used;    // links that are not 0 there
    uint32_t used_capacity;
    KeyMap by_family;
    FamilyLoad *families; // heap
    uint32_t count, capacity;
    GroupLoad end; // of the fastest GPU, one byte; seconds 0: not known
};

static double rate_of(const ChooseLoads *loads, LinkId id, CalibParam *param) {
    FabricLink link = fabric_link(loads->fabric, id);
    *param = net_bandwidth_param(link.link_class);
    return (double)link.capacity_Bps * loads->calib->values[*param].value;
}

// False where links pass bursts at once or a switch sums: then these bounds do not hold.
static bool are_plain(const Fabric *fabric) {
    for (LinkId id = 0; id < fabric->link_count; id++) {
        FabricLink link = fabric_link(fabric, id);
        bool sums = fabric_class(fabric, link.to)->kind == PART_SWITCH && net_link_sums(fabric, id);
        if (link.burst_B > 0 || sums) return false;
    }
    return true;
}

static void find_end(ChooseLoads *loads) {
    double most = 0;
    for (uint32_t gpu = 0; gpu < loads->fabric->gpu_count; gpu++) {
        uint64_t cursor = 0;
        LinkId link;
        double rate = 0;
        CalibParam param = loads->end.bandwidth_param;
        while (fabric_next_link(loads->fabric, fabric_gpu(loads->fabric, gpu), &cursor, &link))
            rate += rate_of(loads, link, &param);
        if (rate <= most) continue;
        most = rate;
        loads->end.bandwidth_param = param;
    }
    if (most > 0) loads->end.seconds = 1 / most;
}

ChooseLoads *choose_load_open(const Fabric *fabric, const Calib *calib) {
    if (fabric->shape.uniform || fabric_has_faults(fabric) || !are_plain(fabric)) return NULL;
    ChooseLoads *loads = mem_alloc(1, sizeof *loads);
    *loads = (ChooseLoads){.fabric = fabric, .calib = calib};
    loads->seconds = mem_alloc(fabric->link_count, sizeof *loads->seconds);
    find_end(loads);
    return loads;
}

void choose_load_close(ChooseLoads *loads) {
    if (loads == NULL) return;
    mem_free(loads->seconds);
    mem_free(loads->used);
    mem_free(loads->families);
    keymap_free(&loads->by_family);
    mem_free(loads);
}

// ---- One group

typedef struct Loading {
    ChooseLoads *loads;
    RefineRoutes routes;
    GroupLoad group;
    uint32_t used_count;
    bool is_first;
} Loading;

static void load_pair(Loading *loading, const RefineForm *form) {
    ChooseLoads *loads = loading->loads;
    GroupLoad *group = &loading->group;
    CalibParam param;
    loads->used = mem_grow(loads->used, &loads->used_capacity,
                           loading->used_count + form->edge_count, sizeof *loads->used);
    for (uint32_t i = 0; i < form->edge_count; i++) {
        double *seconds = &loads->seconds[form->links[i].link];
        if (*seconds == 0) loads->used[loading->used_count++] = form->links[i].link;
        *seconds += (double)form->links[i].weight /
                    ((double)form->scale * rate_of(loads, form->links[i].link, &param));
        if (*seconds <= group->seconds) continue;
        group->seconds = *seconds;
        group->bandwidth_param = param;
    }
    Time software_ps =
        num_round(loads->calib->values[form->step_param].value * (double)PS_PER_SECOND);
    if (loading->is_first || form->latency_ps < group->latency_ps)
        group->latency_ps = form->latency_ps;
    if (loading->is_first || software_ps < group->software_ps) {
        group->software_ps = software_ps;
        group->step_param = form->step_param;
    }
    loading->is_first = false;
}

static uint32_t gpu_of(const ChooseLoads *loads, const ChooseCase *given, uint32_t group,
                       uint32_t position) {
    uint32_t rank = schedule_group_member(&given->family, group, position);
    return fabric_live_gpu(loads->fabric, given->first_gpu + rank);
}

static bool load_group(Loading *loading, const ChooseCase *given, uint32_t group) {
    ChooseLoads *loads = loading->loads;
    uint32_t n = given->family.size, form;
    bool done = true;
    Err ignored = {0}; // it comes again when the plan is simulated
    loading->group = (GroupLoad){0};
    loading->is_first = true;
    loading->used_count = 0;
    for (uint32_t i = 0; done && i < n; i++)
        for (uint32_t j = 0; done && j < n; j++) {
            if (i == j) continue;
            done = refine_route_form(&loading->routes, gpu_of(loads, given, group, i),
                                     gpu_of(loads, given, group, j), REFINE_WHOLE, &form, &ignored);
            if (done) load_pair(loading, &loading->routes.forms[form]);
        }
    for (uint32_t i = 0; i < loading->used_count; i++) loads->seconds[loads->used[i]] = 0;
    return done;
}

// ---- A family

static Time least_of(const GroupLoad *load, double bytes) {
    return load->latency_ps + load->software_ps +
           num_round(load->seconds * bytes * (double)PS_PER_SECOND);
}

static bool is_longer(const GroupLoad *a, const GroupLoad *b) {
    return a->seconds > b->seconds;
}

// What holds for both groups.
static void take_least(const GroupLoad *group, GroupLoad *least) {
    GroupLoad before = *least;
    if (is_longer(least, group)) *least = *group;
    least->latency_ps =
        before.latency_ps < group->latency_ps ? before.latency_ps : group->latency_ps;
    if (before.software_ps < group->software_ps) {
        least->software_ps = before.software_ps;
        least->step_param = before.step_param;
    } else {
        least->software_ps = group->software_ps;
        least->step_param = group->step_param;
    }
}

static void load_family(ChooseLoads *loads, RefineMemory *memory, const ChooseCase *given,
                        FamilyLoad *out) {
    Loading loading = {.loads = loads};
    refine_route_open(&loading.routes, loads->fabric, memory);
    *out = (FamilyLoad){0};
    for (uint32_t g = 0; g < given->family.count; g++) {
        if (!load_group(&loading, given, g)) {
            *out = (FamilyLoad){0};
            break;
        }
        if (g == 0) out->worst = out->best = loading.group;
        if (is_longer(&loading.group, &out->worst)) out->worst = loading.group;
        take_least(&loading.group, &out->best);
    }
    refine_route_close(&loading.routes);
}

static Digest family_key(const ChooseCase *given) {
    const GroupFamily *family = &given->family;
    Digest key = hash_u64(HASH_START, (uint64_t)family->first + given->first_gpu);
    key = hash_u64(key, (uint64_t)family->size << 32 | family->stride);
    key = hash_u64(key, (uint64_t)family->count << 32 | family->period);
    return hash_u64(key, family->per_period);
}

static const FamilyLoad *find_family(ChooseLoads *loads, RefineMemory *routes,
                                     const ChooseCase *given) {
    Digest key = family_key(given);
    uint32_t found = keymap_find(&loads->by_family, key);
    if (found != KEYMAP_NONE) return &loads->families[found];
    loads->families =
        mem_grow(loads->families, &loads->capacity, loads->count + 1, sizeof *loads->families);
    load_family(loads, routes, given, &loads->families[loads->count]);
    keymap_add(&loads->by_family, key, loads->count);
    return &loads->families[loads->count++];
}

static void set_time(const GroupLoad *load, double bytes, ChooseTime *out) {
    *out = (ChooseTime){.algorithm = ALGORITHM_DIRECT};
    out->time_ps = out->least_ps = least_of(load, bytes);
    out->share.latency_ps = load->latency_ps;
    out->share.param_ps[load->step_param] = load->software_ps;
    out->share.param_ps[load->bandwidth_param] +=
        out->time_ps - load->latency_ps - load->software_ps;
}

bool choose_load_least(ChooseLoads *loads, RefineMemory *routes, const ChooseCase *given,
                       ChooseGroups which, ChooseTime *out) {
    uint64_t n = given->family.size;
    if (loads == NULL || given->places != NULL || given->kind != COLLECTIVE_ALL_TO_ALL ||
        n * n * given->family.count > LIMITS_SEARCHED_PAIRS)
        return false;
    const FamilyLoad *family = find_family(loads, routes, given);
    const GroupLoad *load = which == CHOOSE_WORST_GROUP ? &family->worst : &family->best;
    if (load->seconds <= 0) return false;
    set_time(load, choose_cut_chunk(given), out);
    return true;
}

bool choose_load_ends(ChooseLoads *loads, const ChooseCase *given, ChooseTime *out) {
    double times = 0, n = given->family.size;
    if (loads == NULL || loads->end.seconds <= 0) return false;
    switch (given->kind) {
    case COLLECTIVE_ALL_REDUCE: times = 2 * (n - 1) / n; break;
    case COLLECTIVE_ALL_GATHER:
    case COLLECTIVE_REDUCE_SCATTER: times = (n - 1) / n; break;
    case COLLECTIVE_ALL_TO_ALL:
    case COLLECTIVE_BROADCAST:
    case COLLECTIVE_COUNT: return false;
    }
    set_time(&loads->end, times * (double)given->bytes, out);
    return true;
}
