// Many names: stored tightly, and found by hash.
#ifndef MODEL_MOE_NAME_MAP_H
#define MODEL_MOE_NAME_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "model/base/mem.h"

#define NAME_NONE UINT32_MAX

// Bytes for strings, cut from blocks of an arena. Zeroed but for `arena`, it is ready.
typedef struct NamePool {
    Arena *arena; // borrowed
    char *at;
    size_t left;
} NamePool;

// Room for `size` bytes, to be filled; name_map_keep says how many of them are used.
char *name_map_room(NamePool *pool, size_t size);
void name_map_keep(NamePool *pool, size_t used);

typedef struct NameEntry {
    const char *name; // borrowed
    uint32_t hash;
    uint32_t item; // position of the name
} NameEntry;

// Positions of names in an array. Names with equal hashes are ordered by their bytes, so that names
// chosen to collide cost no more than a sort.
typedef struct NameMap {
    NameEntry *entries; // [count], by bucket; in one by hash, name and position
    uint32_t *starts;   // [buckets + 1]
    uint32_t count, bucket_bits;
} NameMap;

// Equal names are allowed. Memory is the arena's; the names must outlive the map.
void name_map_build(const char *const *names, uint32_t count, Arena *arena, NameMap *out);
// The first position of this name, NAME_NONE when there is none.
uint32_t name_map_find(const NameMap *map, const char *name);
// The entries of this name in the order of their positions, *out_count of them.
const NameEntry *name_map_all(const NameMap *map, const char *name, uint32_t *out_count);
// The same for many names at once, whose misses of the processor's caches then overlap.
typedef struct NameRun {
    const NameEntry *entries;
    uint32_t count;
} NameRun;
void name_map_all_of(const NameMap *map, const char *const *names, uint32_t count, NameRun *out);
// The lowest position whose name stands at a lower one too; NAME_NONE when all differ.
uint32_t name_map_repeated(const NameMap *map);

#endif
