// Pages of a cache that layers of different kinds share, and what is lost to them.
//
// An engine with one pool of blocks deals the layers out into groups: all groups have equally many
// layers of one kind (the last group of a kind is filled up with layers that hold nothing), and a
// block is one page for each layer of a group. All pages have the same bytes: a page of a kind with
// smaller tokens holds more of them, and its rest is lost. A recurrent state is one page. Kinds
// that keep every token need no groups of their own when all are so: a block is then a page of
// every layer, whatever their bytes.
#ifndef MODEL_PLAN_MEMORY_PAGE_H
#define MODEL_PLAN_MEMORY_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/plan/memory_cache.h"

#define MEMORY_KINDS_MAX  16
#define MEMORY_GROUPS_MAX 8

// How many layers a group has. SEPARATE: no groups, a pool for each kind (SGLang). SMALLEST: as
// many as the kind with the fewest. NEAR: that, or as many as the kind with the most where those
// are less than 1.25 times as many (vLLM since vllm-project/vllm#29303). COMMON: the greatest
// common divisor. BEST: what loses the smallest share of a kind with at most MEMORY_GROUPS_MAX
// groups, each of which has a block table of its own; of equals the largest.
#define MEMORY_GROUPING_LIST(X)                                                                    \
    X(SEPARATE, "separate")                                                                        \
    X(SMALLEST, "min-count") X(NEAR, "near") X(COMMON, "gcd") X(BEST, "best")
typedef enum MemoryGrouping {
#define X(name, text) MEMORY_GROUPING_##name,
    MEMORY_GROUPING_LIST(X)
#undef X
        MEMORY_GROUPING_COUNT
} MemoryGrouping;
extern const char *const memory_page_grouping_names[MEMORY_GROUPING_COUNT];

// Layers with the same cache.
typedef struct MemoryKind {
    MemoryLayer layer;
    uint32_t layers;
    uint32_t groups, padding_layers; // filled by memory_page_make, as page_tokens
    uint64_t page_tokens;            // 0: a state
} MemoryKind;

typedef struct MemoryPages {
    MemoryKind kinds[MEMORY_KINDS_MAX];
    uint32_t kind_count;
    uint32_t group_layers; // of each group; 0: kinds have pools of their own
    uint64_t page_B;       // of one layer of a group; 0 likewise
} MemoryPages;

// From kinds[].layer and kinds[].layers. Kinds that have neither cache nor state are left out by
// the caller. Compressed entries always have pools of their own.
void memory_page_make(MemoryPages *pages, MemoryGrouping grouping, uint64_t page_tokens);
// The kinds of a stage, made. False when they are more than MEMORY_KINDS_MAX.
bool memory_page_of_stage(const Pool *pool, const Arch *arch, uint32_t stage,
                          MemoryGrouping grouping, uint64_t page_tokens, MemoryPages *out,
                          Err *err);

// Layers that hold nothing, of all kinds; and the largest share of them, over the layers of their
// kind, as a fraction: 17 over 19 is 89.47 %.
uint32_t memory_page_padding(const MemoryPages *pages);
void memory_page_share(const MemoryPages *pages, uint64_t *out_part, uint64_t *out_whole);

// Bytes that one sequence takes from the pool: cache and state; and what it would take without
// pages and groups.
uint64_t memory_page_cache_B(const MemoryPages *pages, uint64_t tokens);
uint64_t memory_page_state_B(const MemoryPages *pages);
uint64_t memory_page_used_B(const MemoryPages *pages, uint64_t tokens);

#endif
