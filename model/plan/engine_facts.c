// Computes the values that rules of engines see.
//
// Invariant: every fact of ENGINE_FACT_LIST is set to its type, or unknown when it is one of the
// machine and no machine is given. Nothing here knows a model or an engine by name: block breaks
// are found over the tensor classes. Sources: vLLM validate_fp8_block_shape and SGLang's Fp8 layers
// refuse a part of a cut matrix that is no whole number of weight blocks, each part of a fused
// matrix by itself (vllm-project/vllm#25292, #52997, sgl-project/sglang#3345).
#include "model/plan/engine_facts.h"

#include <string.h>

#include "model/moe/tensor.h"

const EngineName engine_facts_names[ENGINE_FACT_COUNT] = {
#define X(id, name, type, needs, meaning) {name, needs, ENGINE_##type},
    ENGINE_FACT_LIST(X)
#undef X
};

typedef struct Filler {
    const Pool *pool;
    const Arch *arch;
    Arena *arena;
    EngineValue *values;
} Filler;

static void set_integer(Filler *filler, EngineFact fact, uint64_t value) {
    int64_t bounded = value > INT64_MAX ? INT64_MAX : (int64_t)value;
    filler->values[fact] = (EngineValue){.type = ENGINE_INTEGER, .integer = bounded};
}

static void set_boolean(Filler *filler, EngineFact fact, bool value) {
    filler->values[fact] = (EngineValue){.type = ENGINE_BOOLEAN, .integer = value};
}

static void set_text(Filler *filler, EngineFact fact, const char *value) {
    filler->values[fact] = (EngineValue){.type = ENGINE_STRING, .text = value};
}

// The plan.

static void fill_pool(Filler *filler, const Plan *plan) {
    const Pool *pool = filler->pool;
    set_text(filler, ENGINE_FACT_POOL, plan_pool_names[pool->kind]);
    set_integer(filler, ENGINE_FACT_POOLS, plan->pool_count);
    set_integer(filler, ENGINE_FACT_TP, pool->tp);
    set_integer(filler, ENGINE_FACT_PP, pool->pp);
    set_integer(filler, ENGINE_FACT_DP, pool->dp);
    set_integer(filler, ENGINE_FACT_EP, pool->ep);
    set_integer(filler, ENGINE_FACT_MOE_TP, pool->moe_tp);
    set_integer(filler, ENGINE_FACT_CP, pool->cp);
    set_integer(filler, ENGINE_FACT_DCP, pool->dcp > 1 ? pool->dcp : 1);
    set_integer(filler, ENGINE_FACT_REPLICAS, pool->replicas);
    set_integer(filler, ENGINE_FACT_STAGE_GPUS, pool_stage_ranks(pool));
    set_integer(filler, ENGINE_FACT_REPLICA_GPUS, pool_replica_ranks(pool));
    set_integer(filler, ENGINE_FACT_GPUS, pool_ranks(pool));
    set_boolean(filler, ENGINE_FACT_EPLB, pool->expert_placement == EXPERT_PLACEMENT_EPLB);
    set_integer(filler, ENGINE_FACT_REDUNDANT, pool->redundant_experts);
    set_boolean(filler, ENGINE_FACT_TWO_BATCH,
                pool->prefill_overlap == OVERLAP_TWO_BATCH ||
                    pool->decode_overlap == OVERLAP_TWO_BATCH);
    set_text(filler, ENGINE_FACT_MOE_COMM, plan_moe_comm_names[pool->moe_comm]);
    set_text(filler, ENGINE_FACT_KV_FORMAT, numfmt_name(pool->kv_format));
}

// The model.

static void fill_experts(Filler *filler) {
    const MlpSpec *most = NULL;
    uint32_t shared = 0;
    for (uint32_t i = 0; i < filler->arch->mlp_count; i++) {
        const MlpSpec *mlp = &filler->arch->mlps[i];
        if (mlp->experts > 0 && (most == NULL || mlp->experts > most->experts)) most = mlp;
        if (mlp->experts > 0 && mlp->shared_width > shared) shared = mlp->shared_width;
    }
    set_integer(filler, ENGINE_FACT_EXPERTS, most != NULL ? most->experts : 0);
    set_integer(filler, ENGINE_FACT_TOP_K, most != NULL ? most->top_k : 0);
    set_integer(filler, ENGINE_FACT_EXPERT_WIDTH, most != NULL ? most->width : 0);
    set_integer(filler, ENGINE_FACT_SHARED_WIDTH, shared);
}

// The cache grows with the tokens; a state does not.
static bool has_cache(const AttentionSpec *spec) {
    return spec->kind == ATTENTION_GQA || spec->kind == ATTENTION_MLA ||
           spec->kind == ATTENTION_COMPRESSED;
}

// Heads that the cache can be dealt out by: a latent one, or one of compressed entries, is the same
// for all heads.
static uint32_t cache_heads(const AttentionSpec *spec) {
    return spec->kind == ATTENTION_GQA && spec->kv_heads > 0 ? spec->kv_heads : 1;
}

static void fill_attention(Filler *filler) {
    const AttentionSpec *fewest = NULL;
    bool mla = false, sparse = false, compressed = false, recurrent = false, windowed = false;
    for (uint32_t i = 0; i < filler->arch->attention_count; i++) {
        const AttentionSpec *spec = &filler->arch->attentions[i];
        mla = mla || spec->kind == ATTENTION_MLA;
        sparse = sparse || spec->index_top_k > 0;
        compressed = compressed || spec->kind == ATTENTION_COMPRESSED;
        recurrent = recurrent || spec->state_B_per_sequence > 0;
        windowed = windowed || spec->window > 0;
        if (!has_cache(spec)) continue;
        if (fewest == NULL || cache_heads(spec) < cache_heads(fewest)) fewest = spec;
    }
    set_integer(filler, ENGINE_FACT_HEADS, fewest != NULL ? fewest->heads : 0);
    set_integer(filler, ENGINE_FACT_KV_HEADS, fewest != NULL ? cache_heads(fewest) : 1);
    set_boolean(filler, ENGINE_FACT_MLA, mla);
    set_boolean(filler, ENGINE_FACT_SPARSE, sparse);
    set_boolean(filler, ENGINE_FACT_COMPRESSED, compressed);
    set_boolean(filler, ENGINE_FACT_RECURRENT, recurrent);
    set_boolean(filler, ENGINE_FACT_WINDOWED, windowed);
}

static void fill_formats(Filler *filler) {
    bool fp8 = false, fp4 = false;
    for (uint32_t i = 0; i < filler->arch->tensor_count; i++) {
        const TensorClass *tensor = &filler->arch->tensors[i];
        if (tensor->is_scale || tensor->dim_count < 2) continue;
        fp8 = fp8 || tensor_format(tensor) == NUMFMT_FP8;
        fp4 = fp4 || tensor_format(tensor) == NUMFMT_FP4;
    }
    set_boolean(filler, ENGINE_FACT_FP8_WEIGHTS, fp8);
    set_boolean(filler, ENGINE_FACT_FP4_WEIGHTS, fp4);
    set_text(filler, ENGINE_FACT_EXPERT_FORMAT, numfmt_name(filler->arch->expert_format));
    set_text(filler, ENGINE_FACT_DENSE_FORMAT, numfmt_name(filler->arch->dense_format));
}

static void fill_model(Filler *filler) {
    const Arch *arch = filler->arch;
    set_text(filler, ENGINE_FACT_FAMILY, arch->family);
    set_integer(filler, ENGINE_FACT_LAYERS, arch->layers);
    set_boolean(filler, ENGINE_FACT_MTP, arch->totals.mtp_parameters > 0);
    fill_experts(filler);
    fill_attention(filler);
    fill_formats(filler);
}

// Blocks of scales.

typedef struct BlockBreak {
    const TensorClass *tensor;
    const char *by;
    uint32_t extent, ways, block;
} BlockBreak;

// Weights that share a scale along the axis of the cut: the size of the matrix over that of its
// scales, which follow it in the list; 0 when it has none, or one scale over the whole axis.
static uint32_t block_of(const Arch *arch, uint32_t index) {
    const TensorClass *matrix = &arch->tensors[index];
    if (matrix->is_scale || matrix->dim_count < 2 || matrix->shard == SHARD_REPLICATED) return 0;
    for (uint32_t i = index + 1; i < arch->tensor_count && arch->tensors[i].is_scale; i++) {
        const TensorClass *scale = &arch->tensors[i];
        if (scale->dim_count != matrix->dim_count || scale->dims[scale->axis] <= 1) continue;
        if (scale->axis != matrix->axis || scale->shard != matrix->shard) continue;
        uint32_t extent = matrix->dims[matrix->axis], blocks = scale->dims[scale->axis];
        uint32_t least = extent / blocks + (extent % blocks != 0);
        // the last block may be cut short: sizes of blocks are powers of two
        uint32_t block = 1;
        while (block < least && block < UINT32_C(1) << 30) block *= 2;
        return block;
    }
    return 0;
}

// How many ways the rule of a tensor cuts it; 1: it does not.
static uint32_t ways_of(const Pool *pool, const TensorClass *tensor, const char **out_by) {
    *out_by = "tp";
    switch (tensor->shard) {
    case SHARD_COLUMN:
    case SHARD_ROW:
    case SHARD_KV: return pool->tp;
    case SHARD_EXPERT_COLUMN:
    case SHARD_EXPERT_ROW: *out_by = "moe_tp"; return pool->moe_tp;
    case SHARD_REPLICATED:
    case SHARD_VOCAB:
    case SHARD_EXPERT_WHOLE: break;
    }
    return 1;
}

// Keys and values are cut into whole heads and held twice beyond their number.
static uint32_t kv_ways(const Arch *arch, const TensorClass *tensor, uint32_t extent, uint32_t unit,
                        uint32_t ways) {
    uint32_t heads = unit > 0 ? extent / unit : extent;
    if (tensor->layer_kind < arch->kind_count) {
        uint32_t kv_heads = arch->attentions[arch->kinds[tensor->layer_kind].attention].kv_heads;
        if (kv_heads > 0 && extent % kv_heads == 0) heads = kv_heads;
    }
    return heads > 0 && ways > heads ? heads : ways;
}

static bool breaks(const TensorClass *tensor, uint32_t extent, uint32_t ways, uint32_t block,
                   const char *by, BlockBreak *out) {
    if (ways <= 1 || (extent % ways == 0 && extent / ways % block == 0)) return false;
    *out = (BlockBreak){tensor, by, extent, ways, block};
    return true;
}

static bool tensor_breaks(const Filler *filler, uint32_t index, BlockBreak *out) {
    const TensorClass *tensor = &filler->arch->tensors[index];
    const char *by;
    uint32_t block = block_of(filler->arch, index), ways = ways_of(filler->pool, tensor, &by);
    if (block <= 1 || ways <= 1 || tensor->pads) return false;
    for (uint32_t i = 0; i < tensor->segment_count; i++) {
        const TensorSegment *part = &tensor->segments[i];
        uint32_t cuts =
            part->is_kv ? kv_ways(filler->arch, tensor, part->extent, part->unit, ways) : ways;
        if (breaks(tensor, part->extent, cuts, block, by, out)) return true;
    }
    if (tensor->segment_count > 0) return false;
    uint32_t extent = tensor->dims[tensor->axis];
    if (tensor->shard == SHARD_KV) ways = kv_ways(filler->arch, tensor, extent, tensor->unit, ways);
    return breaks(tensor, extent, ways, block, by, out);
}

// Weights in one stored element along the cut: two in a byte of packed 4-bit codes.
static uint32_t packed_weights(const BlockBreak *found) {
    const TensorClass *tensor = found->tensor;
    uint64_t stored = 1;
    if (tensor == NULL || tensor->axis + 1 != tensor->dim_count) return 1;
    for (uint32_t i = 0; i < tensor->dim_count; i++) stored *= tensor->dims[i];
    uint64_t packed = stored > 0 ? tensor->parameters / stored : 1;
    return packed > 1 && packed <= 8 ? (uint32_t)packed : 1;
}

static void fill_break(Filler *filler) {
    BlockBreak found = {.by = ""};
    for (uint32_t i = 0; i < filler->arch->tensor_count; i++)
        if (tensor_breaks(filler, i, &found)) break;
    uint64_t packed = packed_weights(&found), extent = packed * found.extent;
    uint64_t part = found.ways > 0 ? extent / found.ways : 0;
    set_text(filler, ENGINE_FACT_BLOCK_BREAK, found.tensor != NULL ? found.tensor->pattern : "");
    set_text(filler, ENGINE_FACT_BREAK_BY, found.by);
    set_integer(filler, ENGINE_FACT_BREAK_EXTENT, extent);
    set_integer(filler, ENGINE_FACT_BREAK_WAYS, found.ways);
    set_integer(filler, ENGINE_FACT_BREAK_PART, part);
    set_integer(filler, ENGINE_FACT_BREAK_BLOCK, packed * found.block);
}

// The machine.

static void fill_machine(Filler *filler, const EngineMachine *machine) {
    const Device *device = machine->device;
    if (device != NULL) {
        set_text(filler, ENGINE_FACT_DEVICE, device->name);
        set_text(filler, ENGINE_FACT_GENERATION, device->generation);
        set_boolean(filler, ENGINE_FACT_DEVICE_FP8, device->rate_flops[NUMFMT_FP8].low > 0);
        set_boolean(filler, ENGINE_FACT_DEVICE_FP4, device->rate_flops[NUMFMT_FP4].low > 0);
    }
    if (machine->node_gpus > 0) set_integer(filler, ENGINE_FACT_NODE_GPUS, machine->node_gpus);
    if (machine->machine_gpus > 0)
        set_integer(filler, ENGINE_FACT_MACHINE_GPUS, machine->machine_gpus);
}

void engine_facts_of(const Plan *plan, uint32_t pool, const Arch *arch,
                     const EngineMachine *machine, Arena *arena, EngineFacts *out) {
    *out = (EngineFacts){0};
    Filler filler = {&plan->pools[pool], arch, arena, out->values};
    fill_pool(&filler, plan);
    fill_model(&filler);
    fill_break(&filler);
    fill_machine(&filler, machine);
}
