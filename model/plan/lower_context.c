// Context parallelism in attention: what is gathered and joined where ranks hold parts of the
// tokens.
//
// Decode (Pool.dcp). The tokens of a cache are dealt out, one by one, to `dcp` ranks of a TP group
// that would hold copies of it. Each gathers the queries of all of them, attends with all these
// heads to its own part of the cache, and corrects its result by the log-sum-exp of the scores,
// which is gathered; a reduce-scatter over heads then gives each rank the sums of its own. The
// product of heads and cached tokens, and so the arithmetic, is what it was without; the cache is
// read once instead of dcp times. Prefill does the same, but for latents that are expanded: there
// the cache is gathered. Where an indexer picks tokens, each rank scores its own part, and the best
// of each are merged. Sources: vLLM's Context Parallel Deployment page and vllm-project/vllm#23734
// (queries gathered, partial results corrected, reduced and scattered), #24864 (GQA), #25132 (cache
// gathered in chunked prefill); the log-sum-exp of parts: FlashAttention-2, arXiv:2307.08691.
//
// Prefill (Pool.cp). The chunk of a prompt is cut over `cp` ranks so that each has as many pairs to
// compute (two runs of tokens each, one from either end), and each gathers the keys and values of
// all and keeps them (vllm-project/vllm#25749; SGLang, Prefill Context Parallelism). The shape of a
// step is that of one of these ranks (step_shape_cp).
//
// Invariant: what returns to the callers has the sizes that it has without context parallelism.
#include "model/plan/lower_attend.h"
#include "model/plan/memory_cache.h"

#define LSE_B  4       // f32
#define PICK_B (4 + 4) // int32 and its score, f32

uint32_t lower_cache_ways(const Lower *lower) {
    return memory_cache_ways(lower->pool, lower_spec(lower));
}

// Whole parts of `part_B` of `bytes`, over ranks that hold equal ones of each token.
static Op context_op(const Lower *lower, Collective collective, const char *name, Extent bytes,
                     uint64_t part_B) {
    const Pool *pool = lower->pool;
    bool gathers = collective == COLLECTIVE_ALL_GATHER;
    Op op = {.op_class = OP_CLASS_CP_COMM, .name = name, .stream = LOWER_STREAM_COMPUTE};
    op.comm = (Comm){.collective = collective,
                     .algorithm = gathers ? pool->all_gather : pool->reduce_scatter,
                     .group = lower->dcp_group,
                     .bytes = bytes,
                     .element = (uint32_t)part_B,
                     .format = lower->act_format};
    return op;
}

// Of `part_B` bytes for each token at the start of `in`, from each of `ways` ranks.
static BufferId gather(Lower *lower, const char *name, GroupId group, uint32_t ways, BufferId in,
                       uint64_t part_B) {
    BufferId out = lower_buffer(lower, name, lower_all(part_B * ways));
    Op op = context_op(lower, COLLECTIVE_ALL_GATHER, name, lower_all(part_B * ways), part_B);
    op.comm.group = group;
    lower_collective(lower, &op);
    lower_slice(lower, in, SLICE_READ, lower_all(part_B));
    lower_write(lower, out);
    return out;
}

// ---- Decode: a part of the cache.

BufferId lower_gather_queries(Lower *lower, BufferId in, uint64_t token_B) {
    return gather(lower, "query_gather", lower->dcp_group, lower_cache_ways(lower), in, token_B);
}

BufferId lower_lse(Lower *lower) {
    uint64_t token_B = LSE_B * lower_heads(lower) * lower_cache_ways(lower);
    return lower_buffer(lower, "lse", lower_all(token_B));
}

BufferId lower_join_heads(Lower *lower, BufferId partial, BufferId lse, uint64_t head_B) {
    uint32_t ways = lower_cache_ways(lower);
    uint64_t own_B = lower_heads(lower) * head_B, all_B = own_B * ways;
    uint64_t lse_B = LSE_B * lower_heads(lower) * ways;
    BufferId lses = gather(lower, "lse_gather", lower->dcp_group, ways, lse, lse_B);
    BufferId out = lower_buffer(lower, "joined_heads", lower_all(own_B));
    lower_memory(lower, OP_CLASS_ATTENTION, "lse_correct", lower_all(2 * all_B + lse_B * ways));
    lower_read(lower, lses);
    lower_add(lower, partial);
    Op op = context_op(lower, COLLECTIVE_REDUCE_SCATTER, "head_reduce", lower_all(all_B), own_B);
    lower_collective(lower, &op);
    lower_read(lower, partial);
    lower_write(lower, out);
    return out;
}

// All of the cache, the tokens of this step with it, in bf16.
BufferId lower_gather_cache(Lower *lower) {
    uint64_t ways = lower_cache_ways(lower),
             token_B = lower->act_B * lower_spec(lower)->kv_elements_per_token;
    Extent all = {.per_kv = token_B}, part = {.per_kv = token_B, .divide = ways}, room = part;
    room.fixed = (ways - 1) * token_B;
    BufferId own = lower_buffer(lower, "cache_part", room);
    BufferId out = lower_buffer(lower, "cache_gather", all);
    part.per_kv *= 2; // read and written
    lower_memory(lower, OP_CLASS_ATTENTION, "cache_part", part);
    lower_write(lower, own);
    Op op = context_op(lower, COLLECTIVE_ALL_GATHER, "cache_gather", all, token_B);
    lower_collective(lower, &op);
    lower_read(lower, own);
    lower_write(lower, out);
    return out;
}

BufferId lower_merge_picks(Lower *lower, BufferId picks) {
    uint32_t ways = lower_cache_ways(lower);
    uint64_t token_B = PICK_B * (uint64_t)lower_spec(lower)->index_top_k;
    BufferId all = gather(lower, "pick_gather", lower->dcp_group, ways, picks, token_B);
    BufferId out = lower_buffer(lower, "merged_picks", lower_all(token_B));
    lower_memory(lower, OP_CLASS_ATTENTION, "pick_merge", lower_all(token_B * (ways + 1)));
    lower_read(lower, all);
    lower_write(lower, out);
    return out;
}

uint64_t lower_pick_B(const Lower *lower) {
    return lower_cache_ways(lower) > 1 ? PICK_B : PICK_B - LSE_B;
}

// ---- Prefill: tokens of several ranks.

void lower_share_cache(Lower *lower, BufferId in, uint64_t token_B, uint64_t cache_B) {
    uint32_t ways = lower->pool->cp;
    if (ways == 1 || lower->phase == PHASE_DECODE) return;
    BufferId all = gather(lower, "kv_gather", lower->cp_group, ways, in, token_B);
    lower_memory(lower, OP_CLASS_NORM, "kv_cache", lower_all(ways * (token_B + cache_B)));
    lower_read(lower, all);
}
