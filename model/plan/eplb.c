// Placement of experts with redundancy.
//
// Invariant: every expert has at least one replica, every GPU the same number of slots, and no slot
// is empty.
//
// Method: DeepSeek's expert-parallelism load balancer (deepseek-ai/EPLB; DeepSeek-V3,
// arXiv:2412.19437, section 3.4.1), in three steps. Whole groups of experts are packed onto nodes.
// On each node one replica after the other goes to the expert that has most load per replica. The
// replicas of a node are packed onto its GPUs. Packing: the heaviest item first, each into the
// lightest pack that has room; packs hold equal numbers. Where groups do not divide over the nodes,
// all GPUs are one node with one group. Ties go to the lower number.
#include "model/plan/eplb.h"

#include <assert.h>
#include <stdlib.h>

#include "model/base/wide.h"
#include "model/plan/pool.h"

// Item i of a packing and its load; the order of weighing is total, so that sorting has one result.
typedef struct Item {
    double load;
    uint32_t number;
} Item;

static int heavier_first(const void *a, const void *b) {
    const Item *x = a, *y = b;
    if (x->load != y->load) return x->load > y->load ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

// Room for one layer's work; [slots] where nothing else is said.
typedef struct Bench {
    EplbSpec spec; // as it is carried out: nodes and groups 1 when placement is global
    uint32_t experts, slots;
    Arena arena;
    Item *items;
    double *pack_load;
    uint32_t *pack_count;
    double *loads;      // [experts]
    double *weights;    // of what is packed
    uint32_t *position; // of a packed item: pack * capacity + place in the pack
    uint32_t *members;  // experts of all nodes, node by node [experts]
    uint32_t *held;     // expert of each replica of a node
} Bench;

// Packs `count` items of bench->weights; count is a multiple of packs.
static void pack(Bench *bench, uint32_t count, uint32_t packs) {
    uint32_t capacity = count / packs;
    for (uint32_t i = 0; i < count; i++) bench->items[i] = (Item){bench->weights[i], i};
    for (uint32_t p = 0; p < packs; p++) bench->pack_load[p] = bench->pack_count[p] = 0;
    // with room for one item each, the order changes no load: items stay where they are
    if (capacity > 1) qsort(bench->items, count, sizeof *bench->items, heavier_first);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t best = capacity > 1 ? packs : i;
        for (uint32_t p = 0; p < packs && capacity > 1; p++) {
            if (bench->pack_count[p] == capacity) continue;
            if (best == packs || bench->pack_load[p] < bench->pack_load[best]) best = p;
        }
        bench->position[bench->items[i].number] = best * capacity + bench->pack_count[best]++;
        bench->pack_load[best] += bench->items[i].load;
    }
}

static void pack_groups(Bench *bench) {
    uint32_t groups = bench->spec.groups, size = bench->experts / groups;
    for (uint32_t g = 0; g < groups; g++) {
        bench->weights[g] = 0;
        for (uint32_t i = 0; i < size; i++) bench->weights[g] += bench->loads[g * size + i];
    }
    pack(bench, groups, bench->spec.nodes);
    for (uint32_t g = 0; g < groups; g++)
        for (uint32_t i = 0; i < size; i++)
            bench->members[bench->position[g] * size + i] = g * size + i;
}

// bench->held: the node's experts once each, then its redundant replicas.
static void replicate(Bench *bench, const uint32_t *members, uint32_t count, uint32_t slots,
                      uint32_t *replicas) {
    for (uint32_t i = 0; i < count; i++) {
        bench->held[i] = members[i];
        replicas[members[i]] = 1;
    }
    for (uint32_t slot = count; slot < slots; slot++) {
        uint32_t best = members[0];
        for (uint32_t i = 1; i < count; i++) {
            uint32_t e = members[i];
            if (bench->loads[e] / replicas[e] > bench->loads[best] / replicas[best]) best = e;
        }
        bench->held[slot] = best;
        replicas[best]++;
    }
}

static void place_layer(Bench *bench, uint32_t *expert_of_slot, uint32_t *replicas) {
    uint32_t nodes = bench->spec.nodes;
    uint32_t experts = bench->experts / nodes, slots = bench->slots / nodes;
    pack_groups(bench);
    for (uint32_t node = 0; node < nodes; node++) {
        replicate(bench, bench->members + node * experts, experts, slots, replicas);
        for (uint32_t i = 0; i < slots; i++)
            bench->weights[i] = bench->loads[bench->held[i]] / replicas[bench->held[i]];
        pack(bench, slots, bench->spec.gpus / nodes);
        for (uint32_t i = 0; i < slots; i++)
            expert_of_slot[node * slots + bench->position[i]] = bench->held[i];
    }
}

static bool check_spec(const Load *load, const EplbSpec *spec, Err *err) {
    if (load->kind == LOAD_UNIFORM)
        return err_set(err, "a uniform load has nothing to balance, expected a recorded one");
    uint64_t slots = (uint64_t)load->experts + spec->redundant;
    if (slots > EPLB_SLOTS_MAX)
        return err_set(err, "%llu replicas of experts, expected at most %d",
                       (unsigned long long)slots, EPLB_SLOTS_MAX);
    if (spec->gpus == 0) return err_set(err, "expected at least one GPU, found none");
    uint64_t over = slots % spec->gpus;
    if (over != 0)
        return err_set(err,
                       "%u experts and %u redundant ones are not the same number on %u GPUs; with "
                       "%llu redundant ones they are",
                       load->experts, spec->redundant, spec->gpus,
                       (unsigned long long)(spec->redundant + spec->gpus - over));
    if (spec->nodes == 0 || spec->gpus % spec->nodes != 0)
        return err_set(err, "%u GPUs are not the same number on %u nodes", spec->gpus, spec->nodes);
    if (spec->groups > 0 && load->experts % spec->groups != 0)
        return err_set(err, "%u experts are not the same number in %u groups", load->experts,
                       spec->groups);
    if (wide_mul(load->layers, (uint32_t)slots) > LOAD_COUNTS_MAX)
        return err_set(err, "%u layers of %llu replicas are more than %u", load->layers,
                       (unsigned long long)slots, (unsigned)LOAD_COUNTS_MAX);
    return true;
}

static void open_bench(Bench *bench, const Load *load, const EplbSpec *spec) {
    bench->spec = *spec;
    bench->experts = load->experts;
    bench->slots = load->experts + spec->redundant;
    if (spec->groups == 0 || spec->groups % spec->nodes != 0)
        bench->spec.groups = bench->spec.nodes = 1;
    uint32_t slots = bench->slots;
    bench->items = arena_alloc(&bench->arena, slots, sizeof *bench->items);
    bench->pack_load = arena_alloc(&bench->arena, slots, sizeof *bench->pack_load);
    bench->pack_count = arena_alloc(&bench->arena, slots, sizeof *bench->pack_count);
    bench->loads = arena_alloc(&bench->arena, slots, sizeof *bench->loads);
    bench->weights = arena_alloc(&bench->arena, slots, sizeof *bench->weights);
    bench->position = arena_alloc(&bench->arena, slots, sizeof *bench->position);
    bench->members = arena_alloc(&bench->arena, slots, sizeof *bench->members);
    bench->held = arena_alloc(&bench->arena, slots, sizeof *bench->held);
}

static uint64_t tokens_of(const Load *load, uint32_t layer, uint32_t expert) {
    uint64_t part, whole;
    load_share(load, layer, load->experts, expert, 1, &part, &whole);
    return part;
}

bool eplb_place(const Load *load, const EplbSpec *spec, Eplb *out, Err *err) {
    if (!check_spec(load, spec, err)) return false;
    Bench bench = {0};
    open_bench(&bench, load, spec);
    Eplb eplb = {
        .layers = load->layers, .experts = load->experts, .slots = bench.slots, .gpus = spec->gpus};
    uint32_t *expert_of_slot =
        arena_alloc(&eplb.arena, (size_t)eplb.layers * eplb.slots, sizeof *expert_of_slot);
    uint32_t *replicas =
        arena_alloc(&eplb.arena, (size_t)eplb.layers * eplb.experts, sizeof *replicas);
    for (uint32_t layer = 0; layer < load->layers; layer++) {
        for (uint32_t e = 0; e < load->experts; e++)
            bench.loads[e] = (double)tokens_of(load, layer, e);
        place_layer(&bench, expert_of_slot + (size_t)layer * eplb.slots,
                    replicas + (size_t)layer * eplb.experts);
    }
    eplb.expert_of_slot = expert_of_slot;
    eplb.replicas = replicas;
    arena_free(&bench.arena);
    *out = eplb;
    return true;
}

void eplb_free(Eplb *eplb) {
    arena_free(&eplb->arena);
    *eplb = (Eplb){0};
}

// One row: replica r of an expert, counted in order of the slots, takes its part.
static void split_row(const Eplb *eplb, uint32_t layer, const uint64_t *row, uint32_t *given,
                      uint64_t *slots) {
    const uint32_t *replicas = eplb->replicas + (size_t)layer * eplb->experts;
    for (uint32_t e = 0; e < eplb->experts; e++) given[e] = 0;
    for (uint32_t s = 0; s < eplb->slots; s++) {
        uint32_t e = eplb->expert_of_slot[(size_t)layer * eplb->slots + s];
        slots[s] = row[e] / replicas[e] + (given[e]++ < row[e] % replicas[e]);
    }
}

bool eplb_slots(const Load *load, const Eplb *eplb, Load *out, Err *err) {
    assert(load->layers == eplb->layers && load->experts == eplb->experts);
    Arena scratch = {0};
    Wide count = wide_mul(load->layers, load->sources) * eplb->slots;
    if (count > LOAD_COUNTS_MAX)
        return err_set(err, "%u layers of %u replicas from %u sources are more than %u",
                       load->layers, eplb->slots, load->sources, (unsigned)LOAD_COUNTS_MAX);
    uint64_t *tokens = arena_alloc(&scratch, (size_t)count, sizeof *tokens);
    uint32_t *given = arena_alloc(&scratch, eplb->experts, sizeof *given);
    for (uint32_t layer = 0; layer < load->layers; layer++) {
        for (uint32_t source = 0; source < load->sources; source++) {
            size_t row = (size_t)layer * load->sources + source;
            split_row(eplb, layer, load->tokens + row * load->experts, given,
                      tokens + row * eplb->slots);
        }
    }
    char *origin = arena_printf(&scratch, "%s, placed on %u GPUs with %u redundant", load->origin,
                                eplb->gpus, eplb->slots - eplb->experts);
    bool done = load_of_counts(load->layers, load->sources, eplb->slots, tokens, origin, out, err);
    arena_free(&scratch);
    return done;
}

double eplb_balance(const Load *load, uint32_t layer, uint32_t ranks) {
    assert(ranks > 0);
    uint64_t most = 0, whole = 1;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint32_t first, count;
        uint64_t part;
        pool_cut(load->experts, ranks, rank, &first, &count);
        load_share(load, layer, load->experts, first, count, &part, &whole);
        if (part > most) most = part;
    }
    return (double)whole / (double)ranks / (double)most;
}
