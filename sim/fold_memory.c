// Remembers what fold_route said, refusals included.
//
// Invariant: a route is a function of the machine, the shape and the pair, and the key has all of
// the latter two: sizes of the digits, GPUs, boxes, pairing and flows.
#include "sim/fold_memory.h"

#include "model/base/mem.h"
#include "sim/keymap.h"
#include "sim/refine_memory.h"

typedef struct Remembered {
    FoldRoute route;
    const char *refusal; // NULL: there is a route
} Remembered;

struct FoldMemory {
    const Fabric *fabric;
    Arena arena;
    Remembered **items; // they stay where they are
    uint32_t count, capacity;
    KeyMap by_key;
    RefineMemory *refine; // NULL until it is asked for
};

FoldMemory *fold_memory_open(const Fabric *fabric) {
    FoldMemory *memory = mem_alloc(1, sizeof *memory);
    *memory = (FoldMemory){.fabric = fabric};
    return memory;
}

void fold_memory_close(FoldMemory *memory) {
    if (memory == NULL) return;
    refine_memory_close(memory->refine);
    for (uint32_t i = 0; i < memory->count; i++) fabric_route_free(&memory->items[i]->route.actual);
    mem_free(memory->items);
    keymap_free(&memory->by_key);
    arena_free(&memory->arena);
    mem_free(memory);
}

static Digest box_key(Digest key, const Box *box) {
    key = hash_u64(key, box->digit_count);
    for (uint32_t d = 0; d < box->digit_count; d++) {
        const DigitSet *set = &box->sets[d];
        key = hash_u64(key, ((uint64_t)set->first << 32) | set->count);
        key = hash_u64(key, ((uint64_t)set->period << 32) | set->repeat);
    }
    return key;
}

static Digest key_of(const FabricShape *shape, const FoldPair *pair) {
    Digest key = hash_u64(HASH_START, shape->digit_count);
    for (uint32_t d = 0; d < shape->digit_count; d++) key = hash_u64(key, shape->size[d]);
    key = hash_u64(key, ((uint64_t)pair->from_gpu << 32) | pair->to_gpu);
    key = hash_u64(hash_u64(key, pair->flows), (uint64_t)pair->pairing);
    key = hash_u64(key, pair->tells_ends);
    return box_key(box_key(key, pair->from_box), pair->to_box);
}

// Room for all links of a route is much more than its classes take.
static void pack_edges(FoldMemory *memory, FoldRoute *route) {
    FoldEdge *edges = arena_copy(&memory->arena, route->edges, route->count, sizeof *edges);
    mem_free(route->edges);
    route->edges = edges;
    route->capacity = 0;
}

static Remembered *find(FoldMemory *memory, const FabricShape *shape, const FoldPair *pair) {
    Digest key = key_of(shape, pair);
    uint32_t found = keymap_find(&memory->by_key, key);
    if (found != KEYMAP_NONE) return memory->items[found];
    Remembered *item = arena_alloc(&memory->arena, 1, sizeof *item);
    Err refusal = {0};
    *item = (Remembered){0};
    if (fold_route(memory->fabric, shape, pair, &item->route, &refusal)) {
        pack_edges(memory, &item->route);
    } else {
        fold_route_free(&item->route);
        item->refusal = arena_string(&memory->arena, refusal.text);
    }
    memory->items =
        mem_grow(memory->items, &memory->capacity, memory->count + 1, sizeof *memory->items);
    keymap_add(&memory->by_key, key, memory->count);
    memory->items[memory->count++] = item;
    return item;
}

const FoldRoute *fold_memory_route(FoldMemory *memory, const FabricShape *shape,
                                   const FoldPair *pair, Err *err) {
    const Remembered *item = find(memory, shape, pair);
    if (item->refusal == NULL) return &item->route;
    err_set(err, "%s", item->refusal);
    return NULL;
}

RefineMemory *fold_memory_refine(FoldMemory *memory) {
    if (memory->refine == NULL) memory->refine = refine_memory_open();
    return memory->refine;
}
