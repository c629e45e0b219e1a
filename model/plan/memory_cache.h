// Bytes of cache and of constant state on one rank, by kind of attention.
//
// Heads are cut by TP, and a KV head is on several ranks once TP exceeds them; what has no heads
// (an MLA latent, compressed entries, index keys) is whole on every TP rank. Only decode context
// parallelism divides tokens (Pool.dcp): every dcp-th token of a cache without a window, with its
// index key. Constant state is cut by heads, and what groups of heads share by groups.
#ifndef MODEL_PLAN_MEMORY_CACHE_H
#define MODEL_PLAN_MEMORY_CACHE_H

#include <stdint.h>

#include "model/moe/arch.h"
#include "model/plan/pool.h"

// What a rank stores for one layer with one kind of attention (all blocks of it in the layer).
typedef struct MemoryLayer {
    uint64_t token_B;        // of a token: keys and values, or the latent; with its index key
    uint64_t window;         // tokens that are kept at most; 0: all
    uint64_t entry_B, ratio; // one entry more (with its index key) for every `ratio` tokens
    uint64_t state_B;        // of a sequence, whatever its length
    uint32_t split;          // ranks over which the tokens of a sequence are dealt
} MemoryLayer;

// Ranks of the pool over which the tokens of such a cache are dealt; 1: each keeps all of its
// heads'. A window stays whole, as engines keep it (vLLM's SlidingWindowSpec), and so do compressed
// entries.
uint32_t memory_cache_ways(const Pool *pool, const AttentionSpec *spec);

// How a pool keeps keys and values of a model with weights of `dtype`: bf16 in a plan stands for
// that of the model, which is f32 or has two bytes as well (an engine's "auto").
NumFmt memory_cache_format(const Pool *pool, NumFmt dtype);

// On each rank of the pool, for a model with weights of `dtype`.
void memory_cache_layer(const Pool *pool, NumFmt dtype, const AttentionSpec *spec,
                        MemoryLayer *out);

// Pages that one sequence has in such a layer: tokens rounded up, and in a full window one page
// more, because it slides through the middle of a page. `page_tokens` 1: the tokens that are kept.
uint64_t memory_cache_pages(const MemoryLayer *layer, uint64_t tokens, uint64_t page_tokens);

// Bytes of one sequence in such a layer, without state: of whole pages. `page_tokens` 1: exactly.
uint64_t memory_cache_layer_B(const MemoryLayer *layer, uint64_t tokens, uint64_t page_tokens);

// Sums over the layers of a stage, on one rank. token_B: growth by one token of a sequence that is
// longer than every window, rounded up.
uint64_t memory_cache_token_B(const Pool *pool, const Arch *arch, uint32_t stage);
uint64_t memory_cache_sequence_B(const Pool *pool, const Arch *arch, uint32_t stage,
                                 uint64_t tokens, uint64_t page_tokens);
uint64_t memory_cache_state_B(const Pool *pool, const Arch *arch, uint32_t stage);

#endif
