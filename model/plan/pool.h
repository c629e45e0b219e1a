// A pool: ranks that serve together, how the model is cut over them, and who holds what. plan.h has
// the names.
//
// Ranks are numbered (((replica * pp + stage) * dp + d) * cp + c) * tp + t; rank r runs on GPU
// first_gpu + r, or where its placement says. Attention is replicated dp * cp times inside a
// replica and cut tp ways. Each of dp attention-DP positions has requests of its own; the cp
// positions of one share them: a chunk of a prompt is cut over them by tokens, and each gathers the
// keys and values of all (prefill context parallelism: vLLM's prefill-context-parallel-size,
// SGLang's attn-cp-size). They repeat each other in decode. The experts of a stage are spread over
// its same dp * cp * tp ranks as ep positions of whole experts times moe_tp cuts of each: ep *
// moe_tp == dp * cp * tp; rank s of a stage holds cut s % moe_tp of the experts of position s /
// moe_tp. A dense model has ep == 1.
//
// dcp consecutive ranks of a TP group, which hold copies of the same KV heads, keep every dcp-th
// token of a cache instead (decode context parallelism: decode-context-parallel-size, dcp-size). It
// takes no ranks of its own.
#ifndef MODEL_PLAN_POOL_H
#define MODEL_PLAN_POOL_H

#include <stdint.h>

#include "model/base/numfmt.h"
#include "model/plan/collective.h"

#define POOL_RANKS_MAX 1000000 // as many as a machine may have parts (TOPOLOGY_PARTS_MAX)

#define POOL_CHUNKS_MAX 16
#define POOL_STAGES_MAX 128 // of a pool whose stages are listed

#define PLAN_POOL_LIST(X) X(UNIFIED, "unified") X(PREFILL, "prefill") X(DECODE, "decode")
typedef enum PoolKind {
#define X(name, text) POOL_##name,
    PLAN_POOL_LIST(X)
#undef X
        POOL_KIND_COUNT
} PoolKind;

// How tokens reach their experts. ALL_TO_ALL: each token to the ranks of its experts and back.
// GATHER: all-gather of the tokens of all dp ranks, then a reduce-scatter of the results. NONE:
// experts see the tokens that are already there (dp == 1), followed by the TP all-reduce.
#define PLAN_MOE_COMM_LIST(X) X(NONE, "none") X(ALL_TO_ALL, "all-to-all") X(GATHER, "gather")
typedef enum MoeComm {
#define X(name, text) MOE_COMM_##name,
    PLAN_MOE_COMM_LIST(X)
#undef X
        MOE_COMM_COUNT
} MoeComm;

// On which GPUs the ranks lie (pool_place.h). TP groups are placed whole; a block is a scale-up
// domain (else a node), or a leaf, which is what the machine has above that: a leaf, a rail unit, a
// rack row.
// LINEAR: ranks in order, so that TP lies inside DP, DP inside PP, PP inside replicas (Slurm's
// block, Megatron's tp-dp-pp). STAGES: PP inside DP: the stages of an attention-DP position are
// neighbours (Megatron's tp-pp-dp). NODES: TP groups are dealt to the nodes in turn (Slurm's cyclic
// and plane): on machines with rails those that follow each other share a rail, and stages and DP
// positions are spread. LEAVES: dealt to the leaves in turn. PACKED: stages begin where they do not
// straddle a node that has room for them, or a leaf, and GPUs in between stay idle.
#define PLAN_PLACEMENT_LIST(X)                                                                     \
    X(LINEAR, "linear")                                                                            \
    X(STAGES, "stages")                                                                            \
    X(NODES, "nodes")                                                                              \
    X(LEAVES, "leaves")                                                                            \
    X(PACKED, "packed")
typedef enum Placement {
#define X(name, text) PLACEMENT_##name,
    PLAN_PLACEMENT_LIST(X)
#undef X
        PLACEMENT_COUNT
} Placement;

// Which expert lies in which slot of its layer. LINEAR: the experts in order. EPLB: where
// DeepSeek's load balancer puts them for an expected load (placed.h), with or without redundant
// ones; all EP positions have the same number of slots then.
#define PLAN_EXPERT_PLACEMENT_LIST(X) X(LINEAR, "linear") X(EPLB, "eplb")
typedef enum ExpertPlacement {
#define X(name, text) EXPERT_PLACEMENT_##name,
    PLAN_EXPERT_PLACEMENT_LIST(X)
#undef X
        EXPERT_PLACEMENT_COUNT
} ExpertPlacement;

// What runs beside the all-to-all of routed experts. SHARED: the shared experts, beside the
// dispatch. NONE: nothing. TWO_BATCH: the tokens of a step are cut in two halves, of which one
// computes while the other travels (DeepSeek's dual micro-batches, SGLang's two-batch overlap,
// vLLM's dual batch overlap); weights are then read twice.
#define PLAN_OVERLAP_LIST(X) X(SHARED, "shared") X(NONE, "none") X(TWO_BATCH, "two-batch")
typedef enum Overlap {
#define X(name, text) OVERLAP_##name,
    PLAN_OVERLAP_LIST(X)
#undef X
        OVERLAP_COUNT
} Overlap;

// Which layers a pipeline stage has; layers that do not come out even go to: EVEN: the first
// stages, one each. VLLM: one each, from the last stage but one backwards. VLLM_OLD: the last
// stage, all of them. SGLANG: the last stages, one each. LISTED: the plan says how many each stage
// has (vLLM's VLLM_PP_LAYER_PARTITION, SGLang's SGLANG_PP_LAYER_PARTITION).
#define PLAN_STAGE_CUT_LIST(X)                                                                     \
    X(EVEN, "even")                                                                                \
    X(VLLM, "vllm")                                                                                \
    X(VLLM_OLD, "vllm-old")                                                                        \
    X(SGLANG, "sglang")                                                                            \
    X(LISTED, "listed")
typedef enum StageCut {
#define X(name, text) STAGE_CUT_##name,
    PLAN_STAGE_CUT_LIST(X)
#undef X
        STAGE_CUT_COUNT
} StageCut;

typedef struct Pool {
    PoolKind kind;
    uint32_t tp, pp, dp, ep, moe_tp, cp, replicas;
    uint32_t dcp; // ranks over which the tokens of a cache are dealt: 0 (none) or 2 and more
    uint32_t first_gpu;
    Placement placement;
    uint32_t micro_batches; // in flight in decode; pp of them keep every stage busy
    MoeComm moe_comm;
    Algorithm all_reduce, all_to_all, all_gather, reduce_scatter;
    NumFmt kv_format, activation_format, dispatch_format;
    uint32_t redundant_experts; // slots of a layer beyond its experts, for replicas; with EPLB
    ExpertPlacement expert_placement;
    Overlap prefill_overlap, decode_overlap;
    uint32_t moe_chunks; // dispatch, experts and combine in so many parts of the tokens, one beside
                         // another: 0 (in one) or 2 to POOL_CHUNKS_MAX
    uint32_t prefill_sms, decode_sms; // that the kernels of dispatch and combine occupy while they
                                      // run
    StageCut stage_cut;
    uint32_t stages[POOL_STAGES_MAX]; // LISTED: layers of each stage, [pp]; else all 0
} Pool;

// Groups of tp ranks in a stage, each with tokens of its own in a step: dp * cp.
uint32_t pool_token_groups(const Pool *pool);
uint32_t pool_stage_ranks(const Pool *pool);   // tp * dp * cp
uint32_t pool_replica_ranks(const Pool *pool); // tp * dp * cp * pp
uint32_t pool_ranks(const Pool *pool);         // times replicas

// Things [*first, *first + *count) of run `index` when `total` of them are cut into `parts` even
// runs: a remainder gives the first runs one more.
void pool_cut(uint32_t total, uint32_t parts, uint32_t index, uint32_t *first, uint32_t *count);
// Layers of a pipeline stage, by its stage_cut.
void pool_stage_layers(const Pool *pool, uint32_t layers, uint32_t stage, uint32_t *first,
                       uint32_t *count);
// Slots of a layer with this many experts: those, and the redundant ones.
uint32_t pool_slots(const Pool *pool, uint32_t experts);
// Experts (or slots) of position `index` in the EP group, so cut.
void pool_experts(const Pool *pool, uint32_t experts, uint32_t index, uint32_t *first,
                  uint32_t *count);

#endif
