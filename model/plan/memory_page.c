// Deals layers out into groups that share pages.
//
// Invariant: each layer is in one group; a kind has ceil(layers / group) groups, so that its
// padding is groups x group - layers. Sources: vLLM, kv_cache_utils (groups of equal size, page
// sizes made equal, a state padded to a page); vllm-project/vllm#29303 and #56445 for what the
// rules lose.
#include "model/plan/memory_page.h"

#include <assert.h>

#include "model/base/wide.h"

const char *const memory_page_grouping_names[MEMORY_GROUPING_COUNT] = {
#define X(name, text) text,
    MEMORY_GROUPING_LIST(X)
#undef X
};

static bool is_state(const MemoryKind *kind) {
    return kind->layer.state_B > 0;
}

static bool keeps_all(const MemoryKind *kind) {
    return !is_state(kind) && kind->layer.window == 0 && kind->layer.ratio == 0;
}

// ---- Sizes of groups.

static uint32_t groups_of(uint32_t layers, uint32_t size) {
    return (layers + size - 1) / size;
}

// The largest share of padding of a kind, and the groups of all kinds, with groups of `size`.
static uint32_t worst_share(const MemoryPages *pages, uint32_t size, uint64_t *out_part,
                            uint64_t *out_whole) {
    uint32_t groups = 0;
    *out_part = 0;
    *out_whole = 1;
    for (uint32_t i = 0; i < pages->kind_count; i++) {
        uint32_t layers = pages->kinds[i].layers, count = groups_of(layers, size);
        uint64_t padding = (uint64_t)count * size - layers;
        groups += count;
        if (wide_compare_ratio(padding, layers, *out_part, *out_whole) <= 0) continue;
        *out_part = padding;
        *out_whole = layers;
    }
    return groups;
}

static uint32_t best_size(const MemoryPages *pages, uint32_t most) {
    uint32_t best = most;
    uint64_t best_part = 0, best_whole = 0, part, whole;
    for (uint32_t size = most; size > 0; size--) {
        if (worst_share(pages, size, &part, &whole) > MEMORY_GROUPS_MAX && size < most) break;
        if (best_whole > 0 && wide_compare_ratio(part, whole, best_part, best_whole) >= 0) continue;
        best = size;
        best_part = part;
        best_whole = whole;
    }
    return best;
}

static uint32_t group_size(const MemoryPages *pages, MemoryGrouping grouping) {
    uint32_t least = UINT32_MAX, most = 0;
    uint64_t common = 0;
    for (uint32_t i = 0; i < pages->kind_count; i++) {
        uint32_t layers = pages->kinds[i].layers;
        least = layers < least ? layers : least;
        most = layers > most ? layers : most;
        common = wide_gcd(common, layers);
    }
    switch (grouping) {
    case MEMORY_GROUPING_SMALLEST: return least;
    case MEMORY_GROUPING_NEAR: return 4 * (uint64_t)most < 5 * (uint64_t)least ? most : least;
    case MEMORY_GROUPING_COMMON: return (uint32_t)common;
    case MEMORY_GROUPING_BEST: return best_size(pages, most);
    case MEMORY_GROUPING_SEPARATE:
    case MEMORY_GROUPING_COUNT: break;
    }
    return 0;
}

// ---- Bytes of pages.

// The bytes of all pages: those of the largest tokens, with as many of them as the largest state
// needs.
static uint64_t common_page_B(const MemoryPages *pages, uint64_t page_tokens) {
    uint64_t token_B = 0, state_B = 0;
    for (uint32_t i = 0; i < pages->kind_count; i++) {
        const MemoryLayer *layer = &pages->kinds[i].layer;
        if (layer->token_B > token_B) token_B = layer->token_B;
        if (layer->state_B > state_B) state_B = layer->state_B;
    }
    if (token_B == 0) return state_B;
    uint64_t tokens = page_tokens, needed = wide_div_up_u64(state_B, token_B);
    if (needed > tokens) tokens = wide_div_up_u64(needed, page_tokens) * page_tokens;
    return wide_mul_saturate(token_B, tokens);
}

static void group_kinds(MemoryPages *pages, uint64_t page_tokens) {
    pages->page_B = common_page_B(pages, page_tokens);
    for (uint32_t i = 0; i < pages->kind_count; i++) {
        MemoryKind *kind = &pages->kinds[i];
        kind->groups = groups_of(kind->layers, pages->group_layers);
        kind->padding_layers = kind->groups * pages->group_layers - kind->layers;
        if (is_state(kind)) continue;
        kind->page_tokens = pages->page_B / kind->layer.token_B / page_tokens * page_tokens;
    }
}

void memory_page_make(MemoryPages *pages, MemoryGrouping grouping, uint64_t page_tokens) {
    assert(page_tokens > 0);
    bool all_keep = true, any_entries = false;
    for (uint32_t i = 0; i < pages->kind_count; i++) {
        MemoryKind *kind = &pages->kinds[i];
        all_keep = all_keep && keeps_all(kind);
        any_entries = any_entries || kind->layer.ratio > 0;
        kind->groups = 1;
        kind->padding_layers = 0;
        kind->page_tokens = is_state(kind) ? 0 : page_tokens;
    }
    pages->group_layers = 0;
    pages->page_B = 0;
    if (all_keep || any_entries || grouping == MEMORY_GROUPING_SEPARATE) return;
    pages->group_layers = group_size(pages, grouping);
    group_kinds(pages, page_tokens);
}

// ---- Kinds of a stage.

static bool same_layer(const MemoryLayer *a, const MemoryLayer *b) {
    return a->token_B == b->token_B && a->window == b->window && a->entry_B == b->entry_B &&
           a->ratio == b->ratio && a->state_B == b->state_B && a->split == b->split;
}

static bool add_part(MemoryPages *pages, const MemoryLayer *layer) {
    if (layer->token_B == 0 && layer->entry_B == 0 && layer->state_B == 0) return true;
    uint32_t i = 0;
    while (i < pages->kind_count && !same_layer(&pages->kinds[i].layer, layer)) i++;
    if (i == MEMORY_KINDS_MAX) return false;
    if (i == pages->kind_count) pages->kinds[pages->kind_count++] = (MemoryKind){.layer = *layer};
    pages->kinds[i].layers++;
    return true;
}

// A layer with cache and state is one of each.
static bool add_layer(MemoryPages *pages, const MemoryLayer *layer) {
    MemoryLayer cache = *layer, constant = {.state_B = layer->state_B, .split = layer->split};
    cache.state_B = 0;
    return add_part(pages, &cache) && add_part(pages, &constant);
}

bool memory_page_of_stage(const Pool *pool, const Arch *arch, uint32_t stage,
                          MemoryGrouping grouping, uint64_t page_tokens, MemoryPages *out,
                          Err *err) {
    uint32_t first, count;
    MemoryPages pages = {0};
    pool_stage_layers(pool, arch->layers, stage, &first, &count);
    for (uint32_t i = first; i < first + count; i++) {
        const LayerKind *kind = &arch->kinds[arch->kind_of_layer[i]];
        MemoryLayer layer;
        memory_cache_layer(pool, arch->dtype, &arch->attentions[kind->attention], &layer);
        if (!add_layer(&pages, &layer))
            return err_set(err, "more than %d kinds of cache in one stage", MEMORY_KINDS_MAX);
    }
    memory_page_make(&pages, grouping, page_tokens);
    *out = pages;
    return true;
}

// ---- What is lost.

uint32_t memory_page_padding(const MemoryPages *pages) {
    uint32_t padding = 0;
    for (uint32_t i = 0; i < pages->kind_count; i++) padding += pages->kinds[i].padding_layers;
    return padding;
}

void memory_page_share(const MemoryPages *pages, uint64_t *out_part, uint64_t *out_whole) {
    *out_part = 0;
    *out_whole = 1;
    if (pages->group_layers > 0) (void)worst_share(pages, pages->group_layers, out_part, out_whole);
}

uint64_t memory_page_cache_B(const MemoryPages *pages, uint64_t tokens) {
    uint64_t total = 0, block_B = wide_mul_saturate(pages->page_B, pages->group_layers);
    for (uint32_t i = 0; i < pages->kind_count; i++) {
        const MemoryKind *kind = &pages->kinds[i];
        if (is_state(kind)) continue;
        const MemoryLayer *layer = &kind->layer;
        uint64_t each_B =
            pages->group_layers > 0
                ? wide_mul_saturate(memory_cache_pages(layer, tokens, kind->page_tokens), block_B)
                : memory_cache_layer_B(layer, tokens, kind->page_tokens);
        uint32_t count = pages->group_layers > 0 ? kind->groups : kind->layers;
        total = wide_add_saturate(total, wide_mul_saturate(count, each_B));
    }
    return total;
}

uint64_t memory_page_state_B(const MemoryPages *pages) {
    uint64_t total = 0, block_B = wide_mul_saturate(pages->page_B, pages->group_layers);
    for (uint32_t i = 0; i < pages->kind_count; i++) {
        const MemoryKind *kind = &pages->kinds[i];
        if (!is_state(kind)) continue;
        uint64_t kind_B = pages->group_layers > 0
                              ? wide_mul_saturate(kind->groups, block_B)
                              : wide_mul_saturate(kind->layers, kind->layer.state_B);
        total = wide_add_saturate(total, kind_B);
    }
    return total;
}

uint64_t memory_page_used_B(const MemoryPages *pages, uint64_t tokens) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < pages->kind_count; i++) {
        const MemoryKind *kind = &pages->kinds[i];
        uint64_t layer_B = memory_cache_layer_B(&kind->layer, tokens, 1);
        total = wide_add_saturate(
            total,
            wide_mul_saturate(kind->layers, wide_add_saturate(layer_B, kind->layer.state_B)));
    }
    return total;
}
