// The named values that the rules of an engine see: of one pool of a plan, of the model, and of the
// machine when it is known.
//
// Names of plans are those of pool.h: tp cuts attention, dp replicates it, ep x moe_tp = dp x cp x
// tp. vLLM calls them tensor-parallel-size and data-parallel-size; SGLang's tp-size is
// `stage_gpus`.
#ifndef MODEL_PLAN_ENGINE_FACTS_H
#define MODEL_PLAN_ENGINE_FACTS_H

#include <stdint.h>

#include "model/base/mem.h"
#include "model/machine/device.h"
#include "model/moe/arch.h"
#include "model/plan/engine_expr.h"
#include "model/plan/plan.h"

// id, name, type, what must be given for it to be known ("" when it always is), meaning
#define ENGINE_FACT_LIST(X)                                                                        \
    X(POOL, "pool", STRING, "", "unified, prefill or decode")                                      \
    X(POOLS, "pools", INTEGER, "", "pools of the plan")                                            \
    X(TP, "tp", INTEGER, "", "ways in which attention is cut")                                     \
    X(PP, "pp", INTEGER, "", "pipeline stages")                                                    \
    X(DP, "dp", INTEGER, "", "replicas of attention inside a replica of the model")                \
    X(EP, "ep", INTEGER, "", "ways in which whole experts are dealt out")                          \
    X(MOE_TP, "moe_tp", INTEGER, "", "ways in which each expert is cut")                           \
    X(CP, "cp", INTEGER, "", "ranks that share prompts")                                           \
    X(DCP, "dcp", INTEGER, "", "ranks of a tp group that a cache is dealt to")                     \
    X(REPLICAS, "replicas", INTEGER, "", "of the whole model")                                     \
    X(STAGE_GPUS, "stage_gpus", INTEGER, "", "tp x dp x cp")                                       \
    X(REPLICA_GPUS, "replica_gpus", INTEGER, "", "tp x dp x cp x pp")                              \
    X(GPUS, "gpus", INTEGER, "", "of the pool")                                                    \
    X(EPLB, "eplb", BOOLEAN, "", "experts are placed by load")                                     \
    X(REDUNDANT, "redundant_experts", INTEGER, "", "replicas of experts")                          \
    X(TWO_BATCH, "two_batch", BOOLEAN, "", "two micro-batches overlap in some phase")              \
    X(MOE_COMM, "moe_comm", STRING, "", "none, all-to-all or gather")                              \
    X(KV_FORMAT, "kv_format", STRING, "", "of the cache")                                          \
    X(FAMILY, "family", STRING, "", "model_type of the config")                                    \
    X(LAYERS, "layers", INTEGER, "", "of the main model")                                          \
    X(EXPERTS, "experts", INTEGER, "", "of the layer with most; 0: a dense model")                 \
    X(TOP_K, "top_k", INTEGER, "", "experts of a token")                                           \
    X(EXPERT_WIDTH, "expert_width", INTEGER, "", "of one routed expert")                           \
    X(SHARED_WIDTH, "shared_width", INTEGER, "", "of what every token passes beside them")         \
    X(HEADS, "heads", INTEGER, "", "query heads of the attention that has a growing cache")        \
    X(KV_HEADS, "kv_heads", INTEGER, "", "heads that its cache can be cut by; 1 when latent")      \
    X(MLA, "mla", BOOLEAN, "", "latent attention")                                                 \
    X(SPARSE, "sparse", BOOLEAN, "", "attention to the best tokens of an indexer")                 \
    X(COMPRESSED, "compressed", BOOLEAN, "", "a cache of compressed entries")                      \
    X(RECURRENT, "recurrent", BOOLEAN, "", "some layers keep a state")                             \
    X(WINDOWED, "windowed", BOOLEAN, "", "some layers see a window")                               \
    X(MTP, "mtp", BOOLEAN, "", "draft layers come with the model")                                 \
    X(FP8_WEIGHTS, "fp8_weights", BOOLEAN, "", "some matrix is stored in fp8")                     \
    X(FP4_WEIGHTS, "fp4_weights", BOOLEAN, "", "some matrix is stored in fp4")                     \
    X(EXPERT_FORMAT, "expert_format", STRING, "", "of routed experts")                             \
    X(DENSE_FORMAT, "dense_format", STRING, "", "of attention projections")                        \
    X(BLOCK_BREAK, "block_break", STRING, "",                                                      \
      "first matrix that is cut inside a block of scales, or empty")                               \
    X(BREAK_BY, "block_break_by", STRING, "", "what cuts it: tp or moe_tp")                        \
    X(BREAK_EXTENT, "block_break_extent", INTEGER, "", "its size along the cut")                   \
    X(BREAK_WAYS, "block_break_ways", INTEGER, "", "into how many parts")                          \
    X(BREAK_PART, "block_break_part", INTEGER, "", "size of a part, rounded down")                 \
    X(BREAK_BLOCK, "block_break_block", INTEGER, "", "size of a block")                            \
    X(DEVICE, "device", STRING, "--topo", "name of the GPU")                                       \
    X(GENERATION, "device_generation", STRING, "--topo", "such as hopper")                         \
    X(DEVICE_FP8, "device_fp8", BOOLEAN, "--topo", "it computes in fp8")                           \
    X(DEVICE_FP4, "device_fp4", BOOLEAN, "--topo", "it computes in fp4")                           \
    X(NODE_GPUS, "node_gpus", INTEGER, "--topo", "GPUs that one host has")                         \
    X(MACHINE_GPUS, "machine_gpus", INTEGER, "--topo", "of the machine")
typedef enum EngineFact {
#define X(id, name, type, needs, meaning) ENGINE_FACT_##id,
    ENGINE_FACT_LIST(X)
#undef X
        ENGINE_FACT_COUNT
} EngineFact;
extern const EngineName engine_facts_names[ENGINE_FACT_COUNT];

typedef struct EngineFacts {
    EngineValue values[ENGINE_FACT_COUNT];
} EngineFacts;

// The machine, as far as it is known: NULL and 0 where it is not.
typedef struct EngineMachine {
    const Device *device;
    uint32_t node_gpus, machine_gpus;
} EngineMachine;

// Texts are the arch's, the device's or the arena's. The plan has passed plan_check.
void engine_facts_of(const Plan *plan, uint32_t pool, const Arch *arch,
                     const EngineMachine *machine, Arena *arena, EngineFacts *out);

#endif
