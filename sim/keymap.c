// Open addressing with linear probing.
//
// Invariant: at least half of the slots are free, so that every search meets a free one; the
// capacity is 0 or a power of two.
#include "sim/keymap.h"

#include <assert.h>

#include "model/base/mem.h"

#define CAPACITY_MIN 64

// The slot that has the key, or the free one where it would go.
static uint32_t slot_of(const KeyMap *map, uint64_t key) {
    uint32_t at = (uint32_t)key & (map->capacity - 1);
    while (map->values[at] != KEYMAP_NONE && map->keys[at] != key)
        at = (at + 1) & (map->capacity - 1);
    return at;
}

static void put(KeyMap *map, uint64_t key, uint32_t value) {
    uint32_t at = slot_of(map, key);
    assert(map->values[at] == KEYMAP_NONE);
    map->keys[at] = key;
    map->values[at] = value;
    map->count++;
}

static void grow(KeyMap *map) {
    KeyMap old = *map;
    *map = (KeyMap){.capacity = old.capacity > 0 ? 2 * old.capacity : CAPACITY_MIN};
    map->keys = mem_alloc(map->capacity, sizeof *map->keys);
    map->values = mem_alloc(map->capacity, sizeof *map->values);
    for (uint32_t i = 0; i < map->capacity; i++) map->values[i] = KEYMAP_NONE;
    for (uint32_t i = 0; i < old.capacity; i++)
        if (old.values[i] != KEYMAP_NONE) put(map, old.keys[i], old.values[i]);
    keymap_free(&old);
}

uint32_t keymap_find(const KeyMap *map, uint64_t key) {
    return map->capacity == 0 ? KEYMAP_NONE : map->values[slot_of(map, key)];
}

void keymap_add(KeyMap *map, uint64_t key, uint32_t value) {
    assert(value != KEYMAP_NONE);
    if (2 * (map->count + 1) > map->capacity) grow(map);
    put(map, key, value);
}

void keymap_free(KeyMap *map) {
    mem_free(map->keys);
    mem_free(map->values);
    *map = (KeyMap){0};
}
