// Attention of one layer, by kind: what each kernel computes and moves on one of tp ranks.
//
// Invariant: reads `hidden` (normed, all tokens of the attention-DP rank), returns partial sums of
// all tokens over the ranks that cut the heads. Cache bytes are read once per cached token and
// layer, state once per sequence; the pairs of a token and what it attends to carry the arithmetic.
// Sources: DeepSeek-V2, arXiv:2405.04434, section 2.1 and appendix C (MLA, absorbed projections);
// FlashAttention-2, arXiv:2307.08691 (4 flop per pair and dimension); Kimi Linear, arXiv:2510.26692
// (KDA: 6 d d + 3 C d + C C flop per token and head in chunks of C = 64), and for one token at a
// time the recurrence of Yang, Kautz, Hatamizadeh, "Gated Delta Networks", arXiv:2412.06464.
#include "model/plan/lower_internal.h"

#define ACT       LOWER_BF16_B
#define F32_B     4
#define KDA_CHUNK 64 // tokens; flash-linear-attention and the Kimi Linear report
// Flop per state element of one recurrent step: decay 1, read by k 2, rank-1 update 2, read by q 2.
#define KDA_STEP_FLOP 7

static const AttentionSpec *spec_of(const Lower *lower) {
    return &lower->arch->attentions[lower->arch->kinds[lower->kind].attention];
}

// Query heads of one rank; the plan is legal, so tp divides them.
static uint64_t rank_heads(const Lower *lower) {
    return spec_of(lower)->heads / lower->pool->tp;
}

static BufferId project_named(Lower *lower, const char *name, BufferId in,
                              const char *const *names) {
    LowerWeight weight = lower_attention_weight(lower, names);
    return lower_project(lower, OP_CLASS_PROJECTION, name, in, &weight);
}

static bool has_weight(const Lower *lower, const char *name) {
    const char *const names[] = {name, NULL};
    return lower_attention_weight(lower, names).n > 0;
}

// Sets what an attention kernel reads and writes besides `queries` and `out`.
static void add_attention(Lower *lower, Op *op, BufferId queries, BufferId out) {
    op->op_class = OP_CLASS_ATTENTION;
    op->compute.bytes.per_token += lower->schedule->buffers[queries].bytes.per_token +
                                   lower->schedule->buffers[out].bytes.per_token;
    lower_compute(lower, op);
    lower_read(lower, queries);
    lower_write(lower, out);
}

static BufferId project_out(Lower *lower, BufferId heads) {
    static const char *const names[] = {"o_proj", NULL};
    return project_named(lower, "o_proj", heads, names);
}

// The sigmoid gate of the output: reads the gate's projection of `hidden` and the heads.
static BufferId gate_heads(Lower *lower, BufferId heads, BufferId gates) {
    uint64_t token_B = lower->schedule->buffers[heads].bytes.per_token;
    BufferId out = lower_buffer(lower, "gated", lower_all(token_B));
    lower_memory(lower, OP_CLASS_NORM, "output_gate", lower_all(3 * token_B));
    lower_read(lower, heads);
    lower_read(lower, gates);
    lower_write(lower, out);
    return out;
}

// ---- GQA.

static BufferId add_gqa(Lower *lower) {
    static const char *const qkv_names[] = {"q_proj", "k_proj", "v_proj", NULL};
    const AttentionSpec *spec = spec_of(lower);
    uint32_t tp = lower->pool->tp;
    uint64_t heads = rank_heads(lower), kv_heads = spec->kv_heads > tp ? spec->kv_heads / tp : 1;
    uint64_t both = (uint64_t)spec->head_dim + spec->value_dim;
    uint64_t cache_B = numfmt_bytes(lower->pool->kv_format, kv_heads * both);
    BufferId qkv = project_named(lower, "qkv_proj", lower->hidden, qkv_names);
    uint64_t qkv_B = lower->schedule->buffers[qkv].bytes.per_token;
    lower_memory(lower, OP_CLASS_NORM, "rope_and_cache", lower_all(2 * qkv_B + cache_B));
    lower_add(lower, qkv);
    BufferId out = lower_buffer(lower, "heads", lower_all(ACT * heads * spec->value_dim));
    Op op = {.kind = OP_ATTENTION, .name = "attention"};
    op.compute.flop.per_pair = 2 * heads * both;
    op.compute.bytes.per_kv = cache_B;
    add_attention(lower, &op, qkv, out);
    return project_out(lower, out);
}

// ---- MLA.

// The latent of keys and values and, where queries have one too, theirs; norms, and the queries.
static BufferId add_mla_queries(Lower *lower, BufferId *latents) {
    static const char *const both[] = {"q_a_proj", "kv_a_proj_with_mqa", NULL};
    static const char *const only_kv[] = {"kv_a_proj_with_mqa", NULL};
    static const char *const q[] = {"q_proj", NULL}, *const q_b[] = {"q_b_proj", NULL};
    const AttentionSpec *spec = spec_of(lower);
    bool has_latent = spec->q_lora > 0;
    *latents = project_named(lower, "latent_proj", lower->hidden, has_latent ? both : only_kv);
    uint64_t latent_B = lower->schedule->buffers[*latents].bytes.per_token;
    uint64_t cache_B = numfmt_bytes(lower->pool->kv_format, spec->kv_elements_per_token);
    // one kernel norms both latents, rotates the shared key and writes the cache
    lower_memory(lower, OP_CLASS_NORM, "latent_norm_and_cache", lower_all(2 * latent_B + cache_B));
    lower_add(lower, *latents);
    return has_latent ? project_named(lower, "q_b_proj", *latents, q_b)
                      : project_named(lower, "q_proj", lower->hidden, q);
}

// One head-wise product with a part of kv_b: the absorbed projections.
static BufferId absorb(Lower *lower, const char *name, BufferId in, uint32_t n, uint32_t k) {
    static const char *const names[] = {"kv_b_proj", NULL};
    LowerWeight part = lower_attention_weight(lower, names);
    part.n = n;
    part.k = k;
    uint64_t heads = rank_heads(lower);
    BufferId out = lower_buffer(lower, name, lower_all(ACT * heads * n));
    OpId id = lower_gemm(lower, OP_CLASS_PROJECTION, name, lower_all(1), &part);
    lower->schedule->ops[id].compute.batch = (uint32_t)heads;
    lower_read(lower, in);
    lower_write(lower, out);
    return out;
}

// Decode: queries go into the latent space, where all heads read the same cache.
static BufferId attend_in_latent(Lower *lower, BufferId queries) {
    const AttentionSpec *spec = spec_of(lower);
    uint64_t heads = rank_heads(lower);
    uint32_t nope = spec->head_dim - spec->rope;
    BufferId absorbed = absorb(lower, "q_absorb", queries, spec->kv_lora, nope);
    BufferId out = lower_buffer(lower, "latent_heads", lower_all(ACT * heads * spec->kv_lora));
    Op op = {.kind = OP_ATTENTION, .name = "mla_absorbed"};
    op.compute.flop.per_pair = 2 * heads * (spec->kv_lora + spec->rope) + 2 * heads * spec->kv_lora;
    op.compute.bytes.per_kv = numfmt_bytes(lower->pool->kv_format, spec->kv_elements_per_token);
    op.compute.bytes.per_token = ACT * heads * spec->rope; // of the queries, which are not absorbed
    add_attention(lower, &op, absorbed, out);
    lower_read(lower, queries);
    return absorb(lower, "v_absorb", out, spec->value_dim, spec->kv_lora);
}

// Prefill: keys and values of all heads are made from the latents of all cached tokens. The buffer
// holds those of one chunk at a time, as engines do.
static BufferId attend_expanded(Lower *lower, BufferId queries, BufferId latents) {
    static const char *const names[] = {"kv_b_proj", NULL};
    const AttentionSpec *spec = spec_of(lower);
    uint64_t heads = rank_heads(lower);
    LowerWeight weight = lower_attention_weight(lower, names);
    uint64_t expanded_B = (uint64_t)ACT * weight.n;
    BufferId expanded = lower_buffer(lower, "expanded_kv", lower_all(expanded_B));
    lower_gemm(lower, OP_CLASS_PROJECTION, "kv_b_proj", (Extent){.per_kv = 1}, &weight);
    lower_read(lower, latents);
    lower_write(lower, expanded);
    BufferId out = lower_buffer(lower, "heads", lower_all(ACT * heads * spec->value_dim));
    Op op = {.kind = OP_ATTENTION, .name = "mla_expanded"};
    op.compute.flop.per_pair = 2 * heads * ((uint64_t)spec->head_dim + spec->value_dim);
    op.compute.bytes.per_kv = expanded_B + (uint64_t)ACT * spec->rope;
    add_attention(lower, &op, queries, out);
    lower_read(lower, expanded);
    return out;
}

static BufferId add_mla(Lower *lower) {
    static const char *const gate_names[] = {"g_proj", NULL};
    BufferId latents, queries = add_mla_queries(lower, &latents);
    BufferId heads = lower->phase == PHASE_DECODE ? attend_in_latent(lower, queries)
                                                  : attend_expanded(lower, queries, latents);
    if (has_weight(lower, "g_proj")) {
        BufferId gates = project_named(lower, "g_proj", lower->hidden, gate_names);
        heads = gate_heads(lower, heads, gates);
    }
    return project_out(lower, heads);
}

// ---- KDA.

// Short convolutions of q, k and v over the last tokens; their tails are state.
static BufferId add_convolution(Lower *lower, BufferId qkv) {
    const AttentionSpec *spec = spec_of(lower);
    uint64_t channels = 3 * rank_heads(lower) * spec->head_dim;
    uint64_t tail_B = channels * (spec->conv - 1) * ACT;
    BufferId out = lower_buffer(lower, "convolved", lower_all(ACT * channels));
    Extent bytes = {.fixed = channels * spec->conv * F32_B,
                    .per_token = 2 * ACT * channels,
                    .per_sequence = 2 * tail_B};
    lower_memory(lower, OP_CLASS_ATTENTION, "kda_convolution", bytes);
    lower_read(lower, qkv);
    lower_write(lower, out);
    return out;
}

// The decay of each channel and the step size of each head: low-rank, then one whole width.
static BufferId add_decay(Lower *lower) {
    static const char *const low[] = {"f_a_proj", "b_proj", "g_a_proj", NULL};
    static const char *const high[] = {"f_b_proj", NULL};
    BufferId ranks = project_named(lower, "f_a_b_proj", lower->hidden, low);
    return project_named(lower, "f_b_proj", ranks, high);
}

// One state matrix of head_dim x value_dim in f32 per head and sequence, read and written once.
static BufferId add_delta_rule(Lower *lower, BufferId qkv, BufferId decay) {
    const AttentionSpec *spec = spec_of(lower);
    uint64_t heads = rank_heads(lower), d = spec->head_dim, state = d * spec->value_dim;
    bool decode = lower->phase == PHASE_DECODE;
    BufferId out = lower_buffer(lower, "heads", lower_all(ACT * heads * spec->value_dim));
    Op op = {.kind = decode ? OP_MEMORY : OP_ATTENTION, .name = decode ? "kda_step" : "kda_chunks"};
    op.compute.flop.per_token =
        heads *
        (decode ? KDA_STEP_FLOP * state : 6 * state + 3 * KDA_CHUNK * d + KDA_CHUNK * KDA_CHUNK);
    op.compute.bytes.per_token = lower->schedule->buffers[decay].bytes.per_token;
    op.compute.bytes.per_sequence = 2 * F32_B * heads * state;
    add_attention(lower, &op, qkv, out);
    lower_read(lower, decay);
    return out;
}

static BufferId add_kda(Lower *lower) {
    static const char *const with_gate[] = {"q_proj", "k_proj", "v_proj", "g_proj", NULL};
    static const char *const gate_up[] = {"g_b_proj", NULL};
    BufferId qkvg = project_named(lower, "qkvg_proj", lower->hidden, with_gate);
    BufferId decay = add_decay(lower);
    BufferId convolved = add_convolution(lower, qkvg);
    BufferId heads = add_delta_rule(lower, convolved, decay);
    BufferId gates = qkvg;
    if (has_weight(lower, "g_b_proj"))
        gates = project_named(lower, "g_b_proj", lower->hidden, gate_up);
    return project_out(lower,
                       gate_heads(lower, heads, gates)); // norm of each head in the same kernel
}

BufferId lower_attention(Lower *lower) {
    switch (spec_of(lower)->kind) {
    case ATTENTION_GQA: return add_gqa(lower);
    case ATTENTION_MLA: return add_mla(lower);
    case ATTENTION_KDA: return add_kda(lower);
    case ATTENTION_COMPRESSED:
    case ATTENTION_GATED_DELTA:
    case ATTENTION_LIGHTNING:
    case ATTENTION_MAMBA1:
    case ATTENTION_MAMBA2:
    case ATTENTION_NONE:
    case ATTENTION_KIND_COUNT: break;
    }
    return lower->hidden;
}
