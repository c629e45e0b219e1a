// A table of buckets in CSR form over 64-bit hashes of names.
//
// Invariant: items[starts[b] .. starts[b + 1]) are the names whose hash begins with the bits of b,
// ordered by hash, name and position. A bucket has one name on average; when names were chosen to
// collide, all the order within a bucket costs is a sort, and a look-up stays a binary search.
#include "model/moe/name_map.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "model/base/hash.h"
#include "model/base/wide.h"

#define POOL_BLOCK_B    ((size_t)64 << 10)
#define BATCH           32 // names looked up at once
#define INSERTION_COUNT 8  // longer buckets are sorted by qsort

char *name_map_room(NamePool *pool, size_t size) {
    if (pool->left < size) {
        pool->left = size > POOL_BLOCK_B ? size : POOL_BLOCK_B;
        pool->at = arena_alloc(pool->arena, pool->left, 1);
    }
    return pool->at;
}

void name_map_keep(NamePool *pool, size_t used) {
    pool->at += used;
    pool->left -= used;
}

// Eight bytes at a time, each word multiplied to 128 bits and folded. The value depends on the byte
// order of the machine and must not leave this file.
static uint64_t hash_of(const char *name) {
    size_t left = strlen(name);
    uint64_t hash = HASH_START ^ left, word;
    for (; left >= sizeof word; left -= sizeof word, name += sizeof word) {
        memcpy(&word, name, sizeof word);
        Wide product = wide_mul(hash ^ word, HASH_PRIME_8);
        hash = (uint64_t)product ^ (uint64_t)(product >> 64);
    }
    word = 0;
    memcpy(&word, name, left);
    return hash_spread(hash ^ word);
}

static int compare_names(uint32_t hash, const char *name, const NameEntry *other) {
    if (hash != other->hash) return hash < other->hash ? -1 : 1;
    return strcmp(name, other->name);
}

static int compare_entries(const void *a, const void *b) {
    const NameEntry *left = a, *right = b;
    int order = compare_names(left->hash, left->name, right);
    if (order != 0) return order;
    return left->item < right->item ? -1 : left->item > right->item;
}

// For the few that most buckets have; entries come in the order of their positions.
static void sort_few(NameEntry *entries, uint32_t count) {
    for (uint32_t i = 1; i < count; i++) {
        NameEntry entry = entries[i];
        uint32_t at = i;
        for (; at > 0 && compare_entries(&entries[at - 1], &entry) > 0; at--)
            entries[at] = entries[at - 1];
        entries[at] = entry;
    }
}

// The first bits of a hash say the bucket, the last 32 are kept.
static uint32_t bucket_of(const NameMap *map, uint64_t hash) {
    return (uint32_t)(hash >> (64 - map->bucket_bits));
}

// Counts names per bucket and puts each into its own, in the order of positions.
static void fill_buckets(NameMap *map, const char *const *names, uint32_t buckets) {
    uint64_t *hashes = mem_alloc(map->count, sizeof *hashes);
    for (uint32_t i = 0; i < map->count; i++) {
        hashes[i] = hash_of(names[i]);
        map->starts[bucket_of(map, hashes[i]) + 1]++;
    }
    for (uint32_t b = 0; b < buckets; b++) map->starts[b + 1] += map->starts[b];
    // filled from the last, each start moves from the end of its bucket to its beginning
    for (uint32_t i = map->count; i-- > 0;) {
        uint32_t at = --map->starts[bucket_of(map, hashes[i]) + 1];
        map->entries[at] = (NameEntry){names[i], (uint32_t)hashes[i], i};
    }
    for (uint32_t b = 0; b < buckets; b++) map->starts[b] = map->starts[b + 1];
    map->starts[buckets] = map->count;
    mem_free(hashes);
}

void name_map_build(const char *const *names, uint32_t count, Arena *arena, NameMap *out) {
    NameMap map = {.count = count, .bucket_bits = 1};
    while (map.bucket_bits < 31 && UINT32_C(1) << map.bucket_bits < count) map.bucket_bits++;
    uint32_t buckets = UINT32_C(1) << map.bucket_bits;
    map.entries = arena_alloc(arena, count, sizeof *map.entries);
    map.starts = arena_alloc(arena, (size_t)buckets + 1, sizeof *map.starts);
    fill_buckets(&map, names, buckets);
    for (uint32_t b = 0; b < buckets; b++) {
        NameEntry *entries = map.entries + map.starts[b];
        uint32_t size = map.starts[b + 1] - map.starts[b];
        if (size > INSERTION_COUNT)
            qsort(entries, size, sizeof *entries, compare_entries);
        else
            sort_few(entries, size);
    }
    *out = map;
}

static NameRun find_run(const NameMap *map, uint64_t full, const char *name) {
    uint32_t bucket = bucket_of(map, full), hash = (uint32_t)full, count = 0;
    uint32_t low = map->starts[bucket], end = map->starts[bucket + 1];
    for (uint32_t high = end; low < high;) {
        uint32_t middle = low + (high - low) / 2;
        if (compare_names(hash, name, &map->entries[middle]) > 0)
            low = middle + 1;
        else
            high = middle;
    }
    const NameEntry *first = map->entries + low;
    while (low + count < end && compare_names(hash, name, &first[count]) == 0) count++;
    return (NameRun){first, count};
}

const NameEntry *name_map_all(const NameMap *map, const char *name, uint32_t *out_count) {
    *out_count = 0;
    if (map->count == 0) return NULL;
    NameRun run = find_run(map, hash_of(name), name);
    *out_count = run.count;
    return run.entries;
}

// Bucket, entry and name of each are fetched in three rounds, before the fourth compares.
static void find_batch(const NameMap *map, const char *const *names, uint32_t count, NameRun *out) {
    uint64_t hashes[BATCH];
    for (uint32_t i = 0; i < count; i++) {
        hashes[i] = hash_of(names[i]);
        __builtin_prefetch(&map->starts[bucket_of(map, hashes[i])]);
    }
    for (uint32_t i = 0; i < count; i++)
        __builtin_prefetch(&map->entries[map->starts[bucket_of(map, hashes[i])]]);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bucket = bucket_of(map, hashes[i]), at = map->starts[bucket];
        if (at < map->starts[bucket + 1]) __builtin_prefetch(map->entries[at].name);
    }
    for (uint32_t i = 0; i < count; i++) out[i] = find_run(map, hashes[i], names[i]);
}

void name_map_all_of(const NameMap *map, const char *const *names, uint32_t count, NameRun *out) {
    for (uint32_t i = 0; i < count; i += BATCH) {
        uint32_t size = count - i < BATCH ? count - i : BATCH;
        if (map->count > 0)
            find_batch(map, names + i, size, out + i);
        else
            memset(out + i, 0, size * sizeof *out);
    }
}

uint32_t name_map_find(const NameMap *map, const char *name) {
    uint32_t count;
    const NameEntry *all = name_map_all(map, name, &count);
    return count == 0 ? NAME_NONE : all[0].item;
}

uint32_t name_map_repeated(const NameMap *map) {
    uint32_t lowest = NAME_NONE;
    for (uint32_t i = 1; i < map->count; i++) {
        const NameEntry *before = &map->entries[i - 1], *entry = &map->entries[i];
        if (entry->item < lowest && compare_names(before->hash, before->name, entry) == 0)
            lowest = entry->item;
    }
    return lowest;
}
