// What the kinds of attention share while a role is lowered.
#ifndef MODEL_PLAN_LOWER_ATTEND_H
#define MODEL_PLAN_LOWER_ATTEND_H

#include "model/plan/lower_internal.h"

// ---- Attention (lower_attention.c, lower_state.c).

BufferId lower_state(Lower *lower); // of the kinds with a state instead of a cache
const AttentionSpec *lower_spec(const Lower *lower);
// Heads of one rank; the plan is legal, so tp divides them.
uint64_t lower_heads(const Lower *lower);
BufferId lower_project_uses(Lower *lower, const char *name, BufferId in, uint32_t uses);
// Adds an attention kernel, with its reads of `queries` and writes of `out`.
void lower_attend(Lower *lower, Op *op, BufferId queries, BufferId out);
// The gate of the output: reads its projection and the heads.
BufferId lower_gate_heads(Lower *lower, BufferId heads, BufferId gates);

// ---- Context parallelism (lower_context.c).

// Ranks over which the cache of the layer kind is dealt by tokens; 1: none of what follows, but for
// lower_share_cache, is called.
uint32_t lower_cache_ways(const Lower *lower);
// The queries of all these ranks, from `token_B` bytes for each token at the start of `in`.
BufferId lower_gather_queries(Lower *lower, BufferId in, uint64_t token_B);
// Room for the log-sum-exp of each head of these ranks, which the attention kernel writes too.
BufferId lower_lse(Lower *lower);
// Sums over the parts of the cache for the heads of this rank, of `head_B` bytes a token, from
// partial ones for the heads of all these ranks.
BufferId lower_join_heads(Lower *lower, BufferId partial, BufferId lse, uint64_t head_B);
// The whole cache of the layer in bf16.
BufferId lower_gather_cache(Lower *lower);
// The best picks of all parts from those of this rank's; bytes of one pick of a part: its score
// comes with it where they are merged.
BufferId lower_merge_picks(Lower *lower, BufferId picks);
uint64_t lower_pick_B(const Lower *lower);
// In prefill with Pool.cp: what the other ranks made of their tokens, `token_B` bytes for each at
// the start of `in`, of which the cache keeps `cache_B`.
void lower_share_cache(Lower *lower, BufferId in, uint64_t token_B, uint64_t cache_B);

#endif
