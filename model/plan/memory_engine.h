// What an engine holds besides weights and cache, as data with sources:
// scenarios/engines/memory.json.
#ifndef MODEL_PLAN_MEMORY_ENGINE_H
#define MODEL_PLAN_MEMORY_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/moe/arch.h"
#include "model/plan/memory_page.h"
#include "model/plan/pool.h"

// What the memory fraction covers. ALL: everything but captured graphs (vLLM). STATIC: weights and
// cache (SGLang); all else lies in the rest.
#define MEMORY_SCOPE_LIST(X) X(ALL, "all") X(STATIC, "static")
typedef enum MemoryScope {
#define X(name, text) MEMORY_SCOPE_##name,
    MEMORY_SCOPE_LIST(X)
#undef X
        MEMORY_SCOPE_COUNT
} MemoryScope;
extern const char *const memory_engine_scope_names[MEMORY_SCOPE_COUNT];

// Whose tokens the chunk of a step counts: of each attention-DP rank, or of all of a replica.
#define MEMORY_CHUNK_LIST(X) X(RANK, "rank") X(REPLICA, "replica")
typedef enum MemoryChunkOf {
#define X(name, text) MEMORY_CHUNK_OF_##name,
    MEMORY_CHUNK_LIST(X)
#undef X
        MEMORY_CHUNK_OF_COUNT
} MemoryChunkOf;
extern const char *const memory_engine_chunk_names[MEMORY_CHUNK_OF_COUNT];

// Defaults for GPUs of at least this memory.
#define MEMORY_SIZES_MAX 8
typedef struct MemoryDefaults {
    uint64_t memory_B, chunk, sequences;           // sequences 0: no limit of its own
    uint64_t graph_sequences, graph_sequences_tp4; // largest captured batch; with TP of 4 or more
} MemoryDefaults;

// What a derived fraction leaves free; all 0 when the fraction is a number.
typedef struct MemoryStatic {
    uint64_t base_B, per_chunk_token_B, per_rank_B, per_dp_graph_sequence_B;
    uint64_t least_B, least_from_B; // at least so much on GPUs of more memory than that
} MemoryStatic;

typedef struct MemoryEngine {
    const char *name; // "vllm"
    MemoryScope scope;
    uint32_t fraction_permille; // 0: derived from `derived`
    MemoryStatic derived;
    MemoryGrouping grouping;
    StageCut stage_cut;                       // which layers pipeline stages have
    uint64_t page_tokens, latent_page_tokens; // of caches with heads; of latents and entries
    MemoryDefaults sizes[MEMORY_SIZES_MAX];   // ascending, the first from 0 on
    uint32_t size_count;
    MemoryChunkOf chunk_of;
    uint64_t sampler_B_per_logit; // of the start-up that decides how much is left
    uint64_t index_logits_most_B; // of a sparse indexer's scores at once; 0: all of a chunk
    uint64_t alone_B, shared_B;   // context and libraries: of one GPU, with a communicator
    uint64_t graph_B_per_sequence;
    uint64_t all_to_all_tokens; // of a rank, that low-latency buffers are made for
    bool copies_latent_up;      // the projection out of an MLA latent, in BF16 beside the original
    uint32_t fp4_hidden_multiple, fp4_width_multiple; // sides that kernels of 4-bit experts take
    const char *sources;                              // one line each
} MemoryEngine;

typedef struct MemoryEngines {
    Arena arena;
    MemoryEngine *engines;
    uint32_t count;
} MemoryEngines;

// The shipped file; or its bytes, which `name` stands for in messages. The caller frees *out, which
// is left alone on failure.
bool memory_engine_load(MemoryEngines *out, Err *err);
bool memory_engine_parse(const char *name, const char *bytes, size_t count, MemoryEngines *out,
                         Err *err);
void memory_engine_free(MemoryEngines *engines);
// NULL with a message when unknown.
const MemoryEngine *memory_engine_find(const MemoryEngines *engines, const char *name, Err *err);

// Defaults of a GPU. chunk: new tokens of a step on one attention-DP rank.
const MemoryDefaults *memory_engine_defaults(const MemoryEngine *engine, uint64_t memory_B);
uint64_t memory_engine_chunk(const MemoryEngine *engine, const Pool *pool, uint64_t memory_B);
uint64_t memory_engine_page_tokens(const MemoryEngine *engine, const Arch *arch);

// What loading adds to the tensors of the checkpoint on the fullest rank of a stage whose routed
// experts take routed_B there: padding and copies.
uint64_t memory_engine_added_B(const MemoryEngine *engine, const Pool *pool, const Arch *arch,
                               uint32_t stage, uint64_t routed_B);
// Sampling for `sequences` at start-up beside the hidden states (and their residual) of a chunk.
uint64_t memory_engine_sampler_B(const MemoryEngine *engine, const Arch *arch, uint64_t sequences,
                                 uint64_t chunk);
// F32 scores of a sparse indexer, of a chunk against a context.
uint64_t memory_engine_index_B(const MemoryEngine *engine, const Arch *arch, uint64_t chunk,
                               uint64_t context);
// Communicators, and buffers of an all-to-all of tokens.
uint64_t memory_engine_communication_B(const MemoryEngine *engine, const Pool *pool,
                                       const Arch *arch);
// CUDA graphs of the batches that a GPU of that memory captures by default.
uint64_t memory_engine_graphs_B(const MemoryEngine *engine, const Pool *pool, uint64_t memory_B);
// Of a GPU's memory, what the fraction covers. permille 0: the engine's default. `chunk`: of one
// attention-DP rank, 0: the default.
uint64_t memory_engine_usable_B(const MemoryEngine *engine, const Pool *pool, uint64_t memory_B,
                                uint32_t permille, uint64_t chunk);

#endif
