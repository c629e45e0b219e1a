// Figures of engines: what they hold besides weights and cache.
//
// Invariant: each figure is one of the data file or follows from it, the plan and the model by the
// formula that the engine's source states. Sources beyond those in the file: DeepEP, config.hpp,
// for the size of low-latency buffers.
#include "model/plan/memory_engine.h"

#include "model/base/wide.h"

const char *const memory_engine_scope_names[MEMORY_SCOPE_COUNT] = {
#define X(name, text) text,
    MEMORY_SCOPE_LIST(X)
#undef X
};
const char *const memory_engine_chunk_names[MEMORY_CHUNK_OF_COUNT] = {
#define X(name, text) text,
    MEMORY_CHUNK_LIST(X)
#undef X
};

const MemoryDefaults *memory_engine_defaults(const MemoryEngine *engine, uint64_t memory_B) {
    const MemoryDefaults *found = &engine->sizes[0];
    for (uint32_t i = 1; i < engine->size_count; i++)
        if (engine->sizes[i].memory_B <= memory_B) found = &engine->sizes[i];
    return found;
}

uint64_t memory_engine_chunk(const MemoryEngine *engine, const Pool *pool, uint64_t memory_B) {
    uint64_t chunk = memory_engine_defaults(engine, memory_B)->chunk;
    switch (engine->chunk_of) {
    case MEMORY_CHUNK_OF_REPLICA: return wide_div_up_u64(chunk, pool->dp);
    case MEMORY_CHUNK_OF_RANK:
    case MEMORY_CHUNK_OF_COUNT: break;
    }
    return chunk;
}

static bool has_kind(const Arch *arch, AttentionKind kind) {
    for (uint32_t i = 0; i < arch->attention_count; i++)
        if (arch->attentions[i].kind == kind) return true;
    return false;
}

uint64_t memory_engine_page_tokens(const MemoryEngine *engine, const Arch *arch) {
    bool latent = has_kind(arch, ATTENTION_MLA) || has_kind(arch, ATTENTION_COMPRESSED);
    return latent ? engine->latent_page_tokens : engine->page_tokens;
}

// ---- Weights as loaded.

// The projection out of the latent, nope + v elements of each head by the latent, in BF16.
static uint64_t latent_copies_B(const Pool *pool, const Arch *arch, uint32_t stage) {
    uint32_t first, count;
    uint64_t sum = 0;
    pool_stage_layers(pool, arch->layers, stage, &first, &count);
    for (uint32_t i = first; i < first + count; i++) {
        const AttentionSpec *spec =
            &arch->attentions[arch->kinds[arch->kind_of_layer[i]].attention];
        if (spec->kind != ATTENTION_MLA || spec->head_dim < spec->rope) continue;
        uint64_t heads = wide_div_up_u64(spec->heads, pool->tp);
        uint64_t up = (uint64_t)(spec->head_dim - spec->rope) + spec->value_dim;
        uint64_t blocks = spec->per_layer > 0 ? spec->per_layer : 1;
        sum = wide_add_saturate(
            sum, wide_mul_saturate(blocks * heads * up, (uint64_t)spec->kv_lora * 2));
    }
    return sum;
}

static uint64_t rounded_up(uint64_t value, uint32_t multiple) {
    return multiple > 1 ? wide_div_up_u64(value, multiple) * multiple : value;
}

// Both sides of each expert matrix are padded: bytes grow by the product.
static uint64_t padding_B(const MemoryEngine *engine, const Pool *pool, const Arch *arch,
                          uint64_t routed_B) {
    if (arch->expert_format != NUMFMT_FP4) return 0;
    for (uint32_t i = 0; i < arch->mlp_count; i++) {
        const MlpSpec *mlp = &arch->mlps[i];
        if (mlp->experts == 0 || mlp->width == 0) continue;
        uint64_t hidden = mlp->latent > 0 ? mlp->latent : arch->hidden;
        uint64_t width = wide_div_up_u64(mlp->width, pool->moe_tp);
        uint64_t padded = rounded_up(hidden, engine->fp4_hidden_multiple) *
                          rounded_up(width, engine->fp4_width_multiple);
        return wide_mul_div(routed_B, padded - hidden * width, hidden * width);
    }
    return 0;
}

uint64_t memory_engine_added_B(const MemoryEngine *engine, const Pool *pool, const Arch *arch,
                               uint32_t stage, uint64_t routed_B) {
    uint64_t copies = engine->copies_latent_up ? latent_copies_B(pool, arch, stage) : 0;
    return wide_add_saturate(copies, padding_B(engine, pool, arch, routed_B));
}

// ---- Besides weights and cache.

uint64_t memory_engine_sampler_B(const MemoryEngine *engine, const Arch *arch, uint64_t sequences,
                                 uint64_t chunk) {
    if (engine->sampler_B_per_logit == 0) return 0;
    uint64_t logits = wide_mul_saturate(sequences, arch->vocab);
    uint64_t hidden_B = 2 * numfmt_bytes(arch->dtype, arch->hidden);
    return wide_add_saturate(wide_mul_saturate(logits, engine->sampler_B_per_logit),
                             wide_mul_saturate(chunk, hidden_B));
}

uint64_t memory_engine_index_B(const MemoryEngine *engine, const Arch *arch, uint64_t chunk,
                               uint64_t context) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < arch->attention_count; i++) {
        const AttentionSpec *spec = &arch->attentions[i];
        if (spec->index_heads == 0) continue;
        uint64_t keys = spec->ratio > 0 ? context / spec->ratio : context;
        uint64_t scores_B = wide_mul_saturate(wide_mul_saturate(chunk, keys), 4);
        if (scores_B > most) most = scores_B;
    }
    uint64_t limit = engine->index_logits_most_B;
    return limit > 0 && most > limit ? limit : most;
}

// Two sets of a send and a receive buffer, a message for each expert and token of a rank: the
// hidden state in BF16 behind a header of 16 bytes (an int4 of CUDA), or without it on the way
// back. DeepEP, config.hpp.
static uint64_t all_to_all_B(const MemoryEngine *engine, const Pool *pool, const Arch *arch) {
    if (pool->moe_comm != MOE_COMM_ALL_TO_ALL) return 0;
    uint64_t experts = arch_most_experts(arch);
    uint64_t back_B = (uint64_t)arch->hidden * 2, there_B = back_B + 16;
    uint64_t messages = (experts + pool->redundant_experts) * engine->all_to_all_tokens;
    return wide_mul_saturate(2 * messages, there_B + back_B);
}

uint64_t memory_engine_communication_B(const MemoryEngine *engine, const Pool *pool,
                                       const Arch *arch) {
    uint64_t communicators = pool_replica_ranks(pool) > 1 ? engine->shared_B - engine->alone_B : 0;
    return wide_add_saturate(communicators, all_to_all_B(engine, pool, arch));
}

static uint64_t graph_sequences(const MemoryEngine *engine, const Pool *pool, uint64_t memory_B) {
    const MemoryDefaults *defaults = memory_engine_defaults(engine, memory_B);
    bool wide = pool_stage_ranks(pool) >= 4;
    return wide ? defaults->graph_sequences_tp4 : defaults->graph_sequences;
}

uint64_t memory_engine_graphs_B(const MemoryEngine *engine, const Pool *pool, uint64_t memory_B) {
    return wide_mul_saturate(graph_sequences(engine, pool, memory_B), engine->graph_B_per_sequence);
}

// What a derived fraction leaves free. Engines count the chunk of a replica, at least 2048.
static uint64_t static_rest_B(const MemoryEngine *engine, const Pool *pool, uint64_t memory_B,
                              uint64_t chunk) {
    const MemoryStatic *rule = &engine->derived;
    uint64_t tokens =
        engine->chunk_of == MEMORY_CHUNK_OF_REPLICA ? wide_mul_saturate(chunk, pool->dp) : chunk;
    if (tokens < 2048) tokens = 2048;
    uint64_t graphs = graph_sequences(engine, pool, memory_B);
    uint64_t sum =
        wide_add_saturate(rule->base_B, wide_mul_saturate(tokens, rule->per_chunk_token_B));
    sum = wide_add_saturate(sum, wide_mul_saturate(pool_replica_ranks(pool), rule->per_rank_B));
    sum = wide_add_saturate(sum, memory_engine_graphs_B(engine, pool, memory_B));
    if (pool->dp > 1)
        sum = wide_add_saturate(
            sum, wide_mul_saturate(graphs * pool->dp, rule->per_dp_graph_sequence_B));
    return memory_B > rule->least_from_B && sum < rule->least_B ? rule->least_B : sum;
}

uint64_t memory_engine_usable_B(const MemoryEngine *engine, const Pool *pool, uint64_t memory_B,
                                uint32_t permille, uint64_t chunk) {
    uint32_t fraction = permille > 0 ? permille : engine->fraction_permille;
    if (fraction > 0) return wide_mul_div(memory_B, fraction, 1000);
    if (chunk == 0) chunk = memory_engine_chunk(engine, pool, memory_B);
    uint64_t rest = static_rest_B(engine, pool, memory_B, chunk);
    return memory_B > rest ? memory_B - rest : 0;
}
