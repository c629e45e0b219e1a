// From 64-bit keys to indices. Keys are digests: two things with one key are taken for the same.
// Entries cannot be listed, so that their order reaches nothing.
#ifndef SIM_KEYMAP_H
#define SIM_KEYMAP_H

#include <stdint.h>

#define KEYMAP_NONE UINT32_MAX

// A zeroed KeyMap is empty.
typedef struct KeyMap {
    uint64_t *keys;
    uint32_t *values; // [capacity], KEYMAP_NONE where a slot is free
    uint32_t count, capacity;
} KeyMap;

// The value of a key, or KEYMAP_NONE.
uint32_t keymap_find(const KeyMap *map, uint64_t key);
// The key must be new, the value below KEYMAP_NONE.
void keymap_add(KeyMap *map, uint64_t key, uint32_t value);
void keymap_free(KeyMap *map);

#endif
