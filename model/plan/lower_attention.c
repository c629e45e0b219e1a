// Attention over a cache, by kind: what each kernel computes and moves on one of tp ranks.
//
// Invariant: reads `hidden` (normed, all tokens of the attention-DP rank), returns partial sums of
// all tokens over the ranks that cut the heads. Cache bytes are read once per cached token that is
// attended to and layer; the pairs of a token and what it attends to carry the arithmetic.
// A window bounds both. Where an indexer picks tokens, it scores all of them; the picks bound the
// pairs, and in decode the cached tokens too (the tokens of a chunk together pick about all).
// Sources: DeepSeek-V2, arXiv:2405.04434, section 2.1 and appendix C (MLA, absorbed projections);
// FlashAttention-2, arXiv:2307.08691 (4 flop per pair and dimension); DeepSeek-V3.2, section 2
// (indexer; attention in the latent space in both phases); Step-3, arXiv:2507.19427 (queries
// through a shared projection); the modelling code of DeepSeek-V4 (compressed entries).
#include "model/plan/lower_attend.h"

#define SCORE_B 4 // f32
#define USE     LOWER_USE

const AttentionSpec *lower_spec(const Lower *lower) {
    return &lower->arch->attentions[lower->arch->kinds[lower->kind].attention];
}

uint64_t lower_heads(const Lower *lower) {
    return lower_spec(lower)->heads / lower->pool->tp;
}

BufferId lower_project_uses(Lower *lower, const char *name, BufferId in, uint32_t uses) {
    LowerWeights weights = lower_attention_weights(lower, uses);
    return lower_project(lower, OP_CLASS_PROJECTION, name, in, &weights);
}

static bool has_use(const Lower *lower, uint32_t uses) {
    return lower_attention_weights(lower, uses).count > 0;
}

static uint64_t token_B(const Lower *lower, BufferId buffer) {
    return lower->schedule->buffers[buffer].bytes.per_token;
}

// Per token in an extent that is divided by the ratio of compressed entries.
static void add_per_token(Extent *extent, uint64_t B) {
    extent->per_token += B * (extent->divide > 1 ? extent->divide : 1);
}

void lower_attend(Lower *lower, Op *op, BufferId queries, BufferId out) {
    op->op_class = OP_CLASS_ATTENTION;
    add_per_token(&op->compute.bytes, token_B(lower, queries) + token_B(lower, out));
    lower_compute(lower, op);
    lower_read(lower, queries);
    lower_write(lower, out);
}

// What an attention kernel reads (SCHEDULE_NONE: nothing) and writes: `head_B` bytes for each of
// its heads and tokens.
typedef struct Kernel {
    BufferId queries, beside, picks, out;
    uint64_t head_B;
} Kernel;

// The results of this rank's heads: of the kernel, or of all that have a part of the cache.
static BufferId attend(Lower *lower, Op *op, const Kernel *kernel) {
    bool joins = lower_cache_ways(lower) > 1;
    BufferId lse = joins ? lower_lse(lower) : SCHEDULE_NONE;
    if (joins) add_per_token(&op->compute.bytes, token_B(lower, lse));
    lower_attend(lower, op, kernel->queries, kernel->out);
    if (kernel->beside != SCHEDULE_NONE) lower_read(lower, kernel->beside);
    if (kernel->picks != SCHEDULE_NONE) lower_read(lower, kernel->picks);
    if (!joins) return kernel->out;
    lower_write(lower, lse);
    return lower_join_heads(lower, kernel->out, lse, kernel->head_B);
}

static BufferId project_out(Lower *lower, BufferId heads) {
    BufferId out = lower_project_uses(lower, "o_proj", heads, USE(OUTPUT));
    lower_mark(lower, WORK_ATTENTION_OUT);
    return out;
}

BufferId lower_gate_heads(Lower *lower, BufferId heads, BufferId gates) {
    uint64_t heads_B = token_B(lower, heads);
    BufferId out = lower_buffer(lower, "gated", lower_all(heads_B));
    lower_memory(lower, OP_CLASS_NORM, "output_gate", lower_all(3 * heads_B));
    lower_read(lower, heads);
    lower_read(lower, gates);
    lower_write(lower, out);
    return out;
}

// Of a cached token: FP8 caches keep scales, and some parts wider (AttentionSpec).
static uint64_t cached_B(const Lower *lower, uint64_t elements, uint64_t packed_B) {
    NumFmt format = lower_format(lower, lower->pool->kv_format);
    return format == NUMFMT_FP8 && packed_B > 0 ? packed_B : numfmt_bytes(format, elements);
}

static uint64_t latent_cache_B(const Lower *lower) {
    const AttentionSpec *spec = lower_spec(lower);
    return cached_B(lower, spec->kv_elements_per_token, spec->kv_packed_B_per_token);
}

// ---- Which tokens are attended to.

// The indexer: its queries and keys from `hidden` and from the latent of the queries, whole on
// every rank; one kernel that scores all keys and keeps the best. Returns the picks of each token,
// or SCHEDULE_NONE where there is none, or where those of an earlier layer are used.
static BufferId add_indexer(Lower *lower, BufferId latents) {
    const AttentionSpec *spec = lower_spec(lower);
    if (spec->index_heads == 0) return SCHEDULE_NONE;
    LowerWeights weights = lower_attention_weights(lower, USE(INDEX)), from[2] = {{.count = 0}};
    for (uint32_t i = 0; i < weights.count; i++) {
        LowerWeights *side = &from[weights.of[i].k != lower->arch->hidden];
        side->of[side->count++] = weights.of[i];
    }
    BufferId ins[] = {lower->hidden, latents}, projected[2];
    uint32_t count = 0;
    for (uint32_t i = 0; i < 2; i++)
        if (from[i].count > 0)
            projected[count++] =
                lower_project(lower, OP_CLASS_PROJECTION, "index_proj", ins[i], &from[i]);
    if (count == 0) return SCHEDULE_NONE;
    uint64_t key_B = cached_B(lower, spec->index_elements, spec->index_packed_B);
    uint32_t ways = lower_cache_ways(lower);
    lower_share_cache(lower, projected[0], lower->act_B * spec->index_elements, key_B);
    BufferId picks =
        lower_buffer(lower, "picks", lower_all(lower_pick_B(lower) * spec->index_top_k));
    Op op = {.kind = OP_ATTENTION, .name = "index_top_k"};
    // each head's product, its weight, and the sum over heads
    op.compute.flop.per_pair = (uint64_t)spec->index_heads * (2 * (uint64_t)spec->index_dim + 2);
    op.compute.bytes.per_kv = key_B;
    op.compute.bytes.per_pair = 2 * SCORE_B; // scores written, and read by the choice
    op.compute.flop.divide = op.compute.bytes.divide =
        (uint64_t)ways * (spec->ratio > 1 ? spec->ratio : 1);
    add_per_token(&op.compute.bytes, key_B + (count > 1 ? token_B(lower, projected[1]) : 0));
    lower_attend(lower, &op, projected[0], picks);
    if (count > 1) lower_read(lower, projected[1]);
    return ways > 1 ? lower_merge_picks(lower, picks) : picks;
}

// Bounds of the pairs, and of the cached tokens that are read; 0: all.
static uint64_t pairs_window(const Lower *lower) {
    const AttentionSpec *spec = lower_spec(lower);
    uint64_t picked = spec->index_top_k, window = spec->window;
    return picked > 0 && (window == 0 || picked < window) ? picked : window;
}

static uint64_t cache_window(const Lower *lower) {
    return lower->phase == PHASE_DECODE ? pairs_window(lower) : lower_spec(lower)->window;
}

// ---- GQA.

// Queries of this rank, from the products of a token: `heads` of them come first, then keys. What
// is written to a cache that is dealt out is every `ways`-th token.
static BufferId add_gqa_queries(Lower *lower, BufferId qkv, uint64_t key_heads,
                                uint64_t kv_elements) {
    const AttentionSpec *spec = lower_spec(lower);
    BufferId sums = SCHEDULE_NONE;
    if (spec->wide_norm) {
        uint64_t elements = (lower_heads(lower) + key_heads) * spec->head_dim;
        sums = lower_norm_sums(lower, qkv, lower->act_B * elements, 2);
    }
    uint64_t ways = lower_cache_ways(lower), qkv_B = token_B(lower, qkv);
    uint64_t cache_B = numfmt_bytes(lower_format(lower, lower->pool->kv_format), kv_elements);
    Extent bytes = {.per_token = 2 * qkv_B * ways + cache_B, .divide = ways};
    lower_memory(lower, OP_CLASS_NORM, "rope_and_cache", bytes);
    lower_mark(lower, WORK_ROPE_CACHE);
    if (sums != SCHEDULE_NONE) lower_read(lower, sums);
    lower_add(lower, qkv);
    lower_share_cache(lower, qkv, lower->act_B * kv_elements, cache_B);
    if (!has_use(lower, USE(UP))) return qkv;
    return lower_project_uses(lower, "q_up_proj", qkv, USE(UP));
}

static BufferId add_gqa(Lower *lower) {
    const AttentionSpec *spec = lower_spec(lower);
    uint32_t tp = lower->pool->tp, ways = lower_cache_ways(lower);
    uint64_t heads = lower_heads(lower), kv_heads = spec->kv_heads > tp ? spec->kv_heads / tp : 1;
    uint64_t both = (uint64_t)spec->head_dim + spec->value_dim,
             head_B = lower->act_B * spec->value_dim;
    BufferId qkv = lower_project_uses(lower, "qkv_proj", lower->hidden, USE(HEADS) | USE(LATENT));
    lower_mark(lower, WORK_QKV);
    BufferId queries = add_gqa_queries(lower, qkv, kv_heads, kv_heads * both);
    BufferId picks = add_indexer(lower, qkv);
    if (ways > 1)
        queries = lower_gather_queries(lower, queries, lower->act_B * heads * spec->head_dim);
    BufferId out = lower_buffer(lower, "heads", lower_all(heads * ways * head_B));
    Op op = {.kind = OP_ATTENTION, .name = spec->window > 0 ? "window_attention" : "attention"};
    op.compute.work = WORK_GQA;
    op.compute.flop = (Extent){.per_pair = 2 * heads * both, .window = pairs_window(lower)};
    op.compute.bytes = (Extent){
        .per_kv = numfmt_bytes(lower_format(lower, lower->pool->kv_format), kv_heads * both),
        .divide = ways,
        .window = cache_window(lower)};
    Kernel kernel = {queries, SCHEDULE_NONE, picks, out, head_B};
    out = attend(lower, &op, &kernel);
    if (spec->output_gate) out = lower_gate_heads(lower, out, qkv);
    return project_out(lower, out);
}

// ---- MLA.

// The latent of keys and values and, where queries have one too, theirs; norms, and the queries.
static BufferId add_mla_queries(Lower *lower, BufferId *latents) {
    const AttentionSpec *spec = lower_spec(lower);
    *latents = lower_project_uses(lower, "latent_proj", lower->hidden, USE(LATENT));
    lower_mark(lower, WORK_LATENTS);
    uint64_t latent_B = token_B(lower, *latents), ways = lower_cache_ways(lower);
    uint64_t cache_B = latent_cache_B(lower);
    // one kernel norms both latents, rotates the shared key and writes the cache
    Extent bytes = {.per_token = 2 * latent_B * ways + cache_B, .divide = ways};
    lower_memory(lower, OP_CLASS_NORM, "latent_norm_and_cache", bytes);
    lower_mark(lower, WORK_LATENT_CACHE);
    lower_add(lower, *latents);
    lower_share_cache(lower, *latents, lower->act_B * spec->kv_elements_per_token, cache_B);
    BufferId queries = spec->q_lora > 0
                           ? lower_project_uses(lower, "q_b_proj", *latents, USE(UP))
                           : lower_project_uses(lower, "q_proj", lower->hidden, USE(HEADS));
    lower_mark(lower, WORK_QUERIES);
    return queries;
}

// One head-wise product with a part of kv_b: the absorbed projections.
static BufferId absorb(Lower *lower, OpWork work, BufferId in, uint32_t n, uint32_t k) {
    const char *name = work == WORK_Q_ABSORB ? "q_absorb" : "v_absorb";
    LowerWeights whole = lower_attention_weights(lower, USE(KV_UP));
    LowerWeight part = lower_weight_part(&whole.of[0], n, k);
    uint64_t heads = lower_heads(lower);
    BufferId out = lower_buffer(lower, name, lower_all(lower->act_B * heads * n));
    OpId id = lower_gemm(lower, OP_CLASS_PROJECTION, name, lower_all(1), &part);
    lower->schedule->ops[id].compute.batch = (uint32_t)heads;
    lower_mark(lower, work);
    lower_read(lower, in);
    lower_write(lower, out);
    return out;
}

// With a part of the cache on each rank, the queries of all of them: absorbed and rotated ones side
// by side.
static BufferId gather_latent_queries(Lower *lower, BufferId absorbed, BufferId queries) {
    const AttentionSpec *spec = lower_spec(lower);
    uint64_t query_B = lower->act_B * lower_heads(lower) * (spec->kv_lora + spec->rope);
    BufferId packed = lower_buffer(lower, "latent_queries", lower_all(query_B));
    lower_memory(lower, OP_CLASS_ATTENTION, "query_pack", lower_all(2 * query_B));
    lower_read(lower, absorbed);
    lower_read(lower, queries);
    lower_write(lower, packed);
    return lower_gather_queries(lower, packed, query_B);
}

// Queries go into the latent space, where all heads read the same cache: decode, and wherever
// tokens are picked.
static BufferId attend_in_latent(Lower *lower, BufferId queries, BufferId picks) {
    const AttentionSpec *spec = lower_spec(lower);
    uint64_t heads = lower_heads(lower), ways = lower_cache_ways(lower);
    uint64_t head_B = lower->act_B * spec->kv_lora;
    BufferId absorbed =
        absorb(lower, WORK_Q_ABSORB, queries, spec->kv_lora, spec->head_dim - spec->rope);
    Kernel kernel = {absorbed, queries, picks, SCHEDULE_NONE, head_B};
    Op op = {.kind = OP_ATTENTION, .name = "mla_absorbed"};
    op.compute.work = WORK_MLA_ABSORBED;
    op.compute.flop.per_pair = 2 * heads * (spec->kv_lora + spec->rope) + 2 * heads * spec->kv_lora;
    op.compute.flop.window = pairs_window(lower);
    op.compute.bytes.per_kv = latent_cache_B(lower);
    op.compute.bytes.window = cache_window(lower);
    op.compute.bytes.divide = ways;
    if (ways > 1) {
        kernel.queries = gather_latent_queries(lower, absorbed, queries);
        kernel.beside = SCHEDULE_NONE;
    } else { // of the queries, what is not absorbed
        add_per_token(&op.compute.bytes, lower->act_B * heads * spec->rope);
    }
    kernel.out = lower_buffer(lower, "latent_heads", lower_all(heads * ways * head_B));
    return absorb(lower, WORK_V_ABSORB, attend(lower, &op, &kernel), spec->value_dim,
                  spec->kv_lora);
}

// Prefill: keys and values of all heads are made from the latents of all cached tokens. The buffer
// holds those of one chunk at a time, as engines do.
static BufferId attend_expanded(Lower *lower, BufferId queries, BufferId latents) {
    const AttentionSpec *spec = lower_spec(lower);
    uint64_t heads = lower_heads(lower);
    LowerWeights weights = lower_attention_weights(lower, USE(KV_UP));
    uint64_t expanded_B = lower->act_B * lower_rows(&weights);
    BufferId expanded = lower_buffer(lower, "expanded_kv", lower_all(expanded_B));
    Extent cached = {.per_kv = 1, .window = spec->window};
    if (lower_cache_ways(lower) > 1) latents = lower_gather_cache(lower);
    lower_gemms(lower, OP_CLASS_PROJECTION, "kv_b_proj", cached, &weights, latents, expanded);
    lower_mark(lower, WORK_EXPAND);
    BufferId out = lower_buffer(lower, "heads", lower_all(lower->act_B * heads * spec->value_dim));
    Op op = {.kind = OP_ATTENTION, .name = "mla_expanded"};
    op.compute.work = WORK_MLA_EXPANDED;
    op.compute.flop.per_pair = 2 * heads * ((uint64_t)spec->head_dim + spec->value_dim);
    op.compute.bytes.per_kv = expanded_B + lower->act_B * spec->rope;
    op.compute.flop.window = op.compute.bytes.window = spec->window;
    lower_attend(lower, &op, queries, out);
    lower_read(lower, expanded);
    return out;
}

static BufferId add_mla(Lower *lower) {
    const AttentionSpec *spec = lower_spec(lower);
    BufferId latents, queries = add_mla_queries(lower, &latents);
    BufferId picks = add_indexer(lower, latents);
    bool absorbs = lower->phase == PHASE_DECODE || spec->index_top_k > 0;
    BufferId heads = absorbs ? attend_in_latent(lower, queries, picks)
                             : attend_expanded(lower, queries, latents);
    BufferId gates = queries;
    if (spec->q_lora > 0 && has_use(lower, USE(HEADS)))
        gates = lower_project_uses(lower, "g_proj", lower->hidden, USE(HEADS));
    else if (!spec->output_gate)
        return project_out(lower, heads);
    return project_out(lower, lower_gate_heads(lower, heads, gates));
}

// ---- Compressed: one head of keys and values, in a window and in entries of `ratio` tokens.

// The output of each group of heads by rows of its own; a rank has the groups of its heads, or a
// part of one.
static BufferId project_groups(Lower *lower, BufferId heads) {
    LowerWeight whole = lower_attention_weights(lower, USE(GROUPED)).of[0];
    uint64_t width = (uint64_t)lower_spec(lower)->heads * lower_spec(lower)->value_dim;
    uint32_t groups = whole.k > 0 && whole.k < width ? (uint32_t)(width / whole.k) : 1;
    uint32_t tp = lower->pool->tp;
    LowerWeight part =
        lower_weight_part(&whole, whole.n / groups, tp > groups ? whole.k * groups / tp : whole.k);
    uint32_t held = tp > groups ? 1 : groups / tp;
    BufferId out = lower_buffer(lower, "o_a_proj", lower_all(lower->act_B * held * part.n));
    OpId id = lower_gemm(lower, OP_CLASS_PROJECTION, "o_a_proj", lower_all(1), &part);
    lower->schedule->ops[id].compute.batch = held;
    lower_read(lower, heads);
    lower_write(lower, out);
    return out;
}

// Every token attends to `window` tokens (fewer at the start of a text, which is neglected), and to
// one entry for each `ratio` tokens before it, of which the indexer may pick some.
static void size_compressed(const Lower *lower, Op *op) {
    const AttentionSpec *spec = lower_spec(lower);
    NumFmt format = lower_format(lower, lower->pool->kv_format);
    uint64_t pair = 2 * lower_heads(lower) * ((uint64_t)spec->head_dim + spec->value_dim);
    uint64_t near_B = numfmt_bytes(format, spec->kv_elements_per_token);
    Extent *flop = &op->compute.flop, *bytes = &op->compute.bytes;
    if (spec->ratio == 0) {
        *flop = (Extent){.per_pair = pair, .window = spec->window};
        *bytes = (Extent){.per_kv = near_B, .window = spec->window};
        return;
    }
    uint64_t ratio = spec->ratio, picked = ratio * spec->index_top_k;
    *flop = (Extent){.per_pair = pair, .divide = ratio, .window = picked};
    flop->per_token = pair * spec->window * ratio;
    *bytes = (Extent){.per_kv = numfmt_bytes(format, spec->entry_elements), .divide = ratio};
    bytes->per_sequence = near_B * spec->window * ratio;
    if (lower->phase == PHASE_DECODE) bytes->window = picked;
}

static BufferId add_compressed(Lower *lower) {
    const AttentionSpec *spec = lower_spec(lower);
    BufferId latents = lower_project_uses(lower, "latent_proj", lower->hidden, USE(LATENT));
    uint64_t cache_B = numfmt_bytes(lower_format(lower, lower->pool->kv_format),
                                    spec->kv_elements_per_token + spec->entry_elements);
    lower_memory(lower, OP_CLASS_NORM, "latent_norm_and_cache",
                 lower_all(2 * token_B(lower, latents) + cache_B));
    lower_add(lower, latents);
    BufferId queries = lower_project_uses(lower, "q_up_proj", latents, USE(UP));
    BufferId picks = add_indexer(lower, latents);
    uint64_t heads_B = lower->act_B * lower_heads(lower) * spec->value_dim;
    BufferId heads = lower_buffer(lower, "heads", lower_all(heads_B));
    Op op = {.kind = OP_ATTENTION, .name = "compressed_attention"};
    size_compressed(lower, &op);
    Kernel kernel = {queries, SCHEDULE_NONE, picks, heads, lower->act_B * spec->value_dim};
    return project_out(lower, project_groups(lower, attend(lower, &op, &kernel)));
}

BufferId lower_attention(Lower *lower) {
    switch (lower_spec(lower)->kind) {
    case ATTENTION_GQA: return add_gqa(lower);
    case ATTENTION_MLA: return add_mla(lower);
    case ATTENTION_COMPRESSED: return add_compressed(lower);
    case ATTENTION_KDA:
    case ATTENTION_GATED_DELTA:
    case ATTENTION_LIGHTNING:
    case ATTENTION_MAMBA1:
    case ATTENTION_MAMBA2: return project_out(lower, lower_state(lower));
    case ATTENTION_NONE:
    case ATTENTION_KIND_COUNT: break;
    }
    return lower->hidden; // not called for layers without attention
}
