// What a plan must keep so that an engine can cut this model that way.
//
// Invariant: a plan without a fault gives every rank whole heads, at least one layer, and whole
// quantisation blocks; vocabulary tables may be padded, experts may leave a remainder. Sources:
// vLLM and SGLang, which divide heads by TP, replicate KV heads once TP exceeds them (TP % heads ==
// 0), and refuse a partition that is no multiple of the weight block (vllm-project/vllm#25292,
// sgl-project/sglang#3345).
#include "model/plan/plan_legal.h"

#include <inttypes.h>
#include <stdio.h>

#include "model/base/wide.h"
#include "model/plan/eplb.h"
#include "model/plan/memory_cache.h"
#include "model/plan/shard_slice.h"

const char *const plan_legal_names[PLAN_RULE_COUNT] = {
#define X(name, text) text,
    PLAN_LEGAL_LIST(X)
#undef X
};

static const PlanFault kept = {.rule = PLAN_RULE_KEPT};

// plan_check has seen that each listed stage has a layer.
static PlanFault check_stages(const Pool *pool, const Arch *arch, Err *reason) {
    uint64_t listed = 0;
    for (uint32_t i = 0; i < pool->pp && i < POOL_STAGES_MAX; i++) listed += pool->stages[i];
    if (pool->stage_cut != STAGE_CUT_LISTED || listed == arch->layers) return kept;
    err_set(reason, "the listed stages have %" PRIu64 " layers, the model has %" PRIu32, listed,
            arch->layers);
    return (PlanFault){PLAN_RULE_STAGES, listed, arch->layers};
}

static PlanFault check_layers(const Pool *pool, const Arch *arch, Err *reason) {
    if (pool->pp <= arch->layers) return check_stages(pool, arch, reason);
    err_set(reason, "pp %" PRIu32 " exceeds %" PRIu32 " layers", pool->pp, arch->layers);
    return (PlanFault){PLAN_RULE_LAYERS, pool->pp, arch->layers};
}

static PlanFault check_kv_heads(const Pool *pool, const AttentionSpec *spec, Err *reason) {
    uint32_t tp = pool->tp, heads = spec->kv_heads;
    if (heads == 0 || (tp <= heads ? heads % tp : tp % heads) == 0) return kept;
    if (tp <= heads)
        err_set(reason, "tp %" PRIu32 " does not divide %" PRIu32 " kv heads", tp, heads);
    else
        err_set(reason,
                "tp %" PRIu32 " is no multiple of %" PRIu32 " kv heads, which it must replicate",
                tp, heads);
    return (PlanFault){PLAN_RULE_KV_HEADS, tp, heads};
}

static PlanFault check_heads(const Pool *pool, const Arch *arch, Err *reason) {
    for (uint32_t i = 0; i < arch->attention_count; i++) {
        const AttentionSpec *spec = &arch->attentions[i];
        if (spec->heads % pool->tp != 0) {
            err_set(reason, "tp %" PRIu32 " does not divide %" PRIu32 " %s heads", pool->tp,
                    spec->heads, spec->kind == ATTENTION_KDA ? "kda" : "query");
            return (PlanFault){PLAN_RULE_HEADS, pool->tp, spec->heads};
        }
        if (spec->kind != ATTENTION_GQA) continue;
        PlanFault fault = check_kv_heads(pool, spec, reason);
        if (fault.rule != PLAN_RULE_KEPT) return fault;
    }
    return kept;
}

// ---- Context parallelism.

// What is dealt out are copies: ranks that hold the same KV head, or the same latent.
static uint32_t copies_of(const Pool *pool, const AttentionSpec *spec) {
    uint32_t heads = spec->kind == ATTENTION_GQA && spec->kv_heads > 0 ? spec->kv_heads : 1;
    return pool->tp > heads ? pool->tp / heads : 1;
}

static bool is_compressed(const Arch *arch) {
    for (uint32_t i = 0; i < arch->attention_count; i++)
        if (arch->attentions[i].kind == ATTENTION_COMPRESSED) return true;
    return false;
}

// What divides the copies of KV heads in all caches that can be dealt out by tokens; 0: none can. A
// state is cut by heads already, and dcp leaves it as it is.
static uint32_t common_copies(const Pool *pool, const Arch *arch) {
    Pool dealing = *pool;
    uint32_t common = 0;
    dealing.dcp = 2;
    for (uint32_t i = 0; i < arch->attention_count; i++) {
        if (memory_cache_ways(&dealing, &arch->attentions[i]) == 1) continue;
        uint32_t copies = copies_of(pool, &arch->attentions[i]);
        common = (uint32_t)wide_gcd(common, copies);
    }
    return common;
}

uint32_t plan_legal_most_dealt(const Pool *pool, const Arch *arch) {
    uint32_t copies = is_compressed(arch) ? 0 : common_copies(pool, arch);
    return copies > 1 ? copies : 0;
}

static PlanFault check_dcp(const Pool *pool, const Arch *arch, Err *reason) {
    if (pool->dcp <= 1) return kept;
    uint32_t copies = common_copies(pool, arch);
    if (copies == 0 || is_compressed(arch)) {
        err_set(reason, "dcp %" PRIu32 " on a model whose caches keep %s, which is not dealt out",
                pool->dcp, is_compressed(arch) ? "compressed entries" : "a window or a state");
        return (PlanFault){PLAN_RULE_DCP_KIND, pool->dcp, 1};
    }
    if (copies % pool->dcp == 0) return kept;
    err_set(reason,
            "dcp %" PRIu32 " does not divide %" PRIu32 ", the copies that tp %" PRIu32
            " keeps of each of %" PRIu32 " kv heads",
            pool->dcp, copies, pool->tp, pool->tp / copies);
    return (PlanFault){PLAN_RULE_DCP_COPIES, pool->dcp, copies};
}

// The state of a token is made from that of the token before it: ranks that have only their own
// tokens would wait for each other. Compressed entries are made from tokens of several ranks.
static PlanFault check_cp(const Pool *pool, const Arch *arch, Err *reason) {
    for (uint32_t i = 0; i < arch->attention_count && pool->cp > 1; i++) {
        AttentionKind kind = arch->attentions[i].kind;
        if (kind == ATTENTION_GQA || kind == ATTENTION_MLA || kind == ATTENTION_NONE) continue;
        err_set(reason, "cp %" PRIu32 " through %s attention, %s", pool->cp,
                arch_attention_names[kind],
                kind == ATTENTION_COMPRESSED ? "whose entries span tokens of several ranks"
                                             : "whose state passes from token to token");
        return (PlanFault){PLAN_RULE_CP_KIND, pool->cp, 1};
    }
    return kept;
}

static PlanFault check_context(const Pool *pool, const Arch *arch, Err *reason) {
    PlanFault fault = check_dcp(pool, arch, reason);
    return fault.rule == PLAN_RULE_KEPT ? check_cp(pool, arch, reason) : fault;
}

// ---- Experts.

// With one group of ranks every token is already where its experts are; with more, it must be sent.
static PlanFault check_comm(const Pool *pool, Err *reason) {
    uint32_t groups = pool_token_groups(pool);
    if ((groups == 1) == (pool->moe_comm == MOE_COMM_NONE)) return kept;
    char context[24] = "";
    if (pool->cp > 1) snprintf(context, sizeof context, " and cp %" PRIu32, pool->cp);
    err_set(reason, "moe_comm \"%s\" with dp %" PRIu32 "%s, expected %s",
            plan_moe_comm_names[pool->moe_comm], pool->dp, context,
            groups == 1 ? "\"none\"" : "\"all-to-all\" or \"gather\"");
    return (PlanFault){PLAN_RULE_MOE_COMM, groups, 1};
}

// Where EPLB places experts, all positions have the same number of slots.
static PlanFault check_slots(const Pool *pool, uint32_t fewest, uint32_t most, Err *reason) {
    uint64_t slots = (uint64_t)most + pool->redundant_experts;
    if (pool->expert_placement != EXPERT_PLACEMENT_EPLB) return kept;
    if (fewest != most) {
        err_set(reason, "layers of %" PRIu32 " and of %" PRIu32 " experts, which eplb cannot place",
                fewest, most);
        return (PlanFault){PLAN_RULE_SLOTS_MIXED, fewest, most};
    }
    if (slots > EPLB_SLOTS_MAX) {
        err_set(reason, "%" PRIu64 " replicas of experts exceed %d", slots, EPLB_SLOTS_MAX);
        return (PlanFault){PLAN_RULE_SLOTS_MANY, slots, EPLB_SLOTS_MAX};
    }
    if (slots % pool->ep == 0) return kept;
    err_set(reason,
            "ep %" PRIu32 " does not divide %" PRIu32 " experts and %" PRIu32 " redundant ones",
            pool->ep, most, pool->redundant_experts);
    return (PlanFault){PLAN_RULE_SLOTS, slots, wide_div_up_u64(slots, pool->ep) * pool->ep};
}

static PlanFault check_experts(const Pool *pool, const Arch *arch, Err *reason) {
    uint32_t fewest = UINT32_MAX, most = 0;
    for (uint32_t i = 0; i < arch->mlp_count; i++) {
        uint32_t experts = arch->mlps[i].experts;
        if (experts > 0 && experts < fewest) fewest = experts;
        if (experts > most) most = experts;
    }
    if (fewest == UINT32_MAX) {
        if (pool->ep == 1) return kept;
        err_set(reason, "ep %" PRIu32 " on a model without experts, expected 1", pool->ep);
        return (PlanFault){PLAN_RULE_DENSE_EP, pool->ep, 1};
    }
    if (pool->ep <= fewest) {
        PlanFault fault = check_slots(pool, fewest, most, reason);
        return fault.rule == PLAN_RULE_KEPT ? check_comm(pool, reason) : fault;
    }
    err_set(reason, "ep %" PRIu32 " exceeds %" PRIu32 " experts", pool->ep, fewest);
    return (PlanFault){PLAN_RULE_EXPERTS, pool->ep, fewest};
}

// How a tensor is cut: into `ways`, along a side of `extent` stored elements that stands for
// `width` of the model.
typedef struct Cut {
    const char *what, *by;
    PlanRule uneven, broken; // the rule that a part of no whole width, or of no whole block, breaks
    uint32_t ways, extent, width, unit;
    bool pads; // engines fill up what does not come out even
} Cut;

static PlanFault check_cut(const Cut *cut, Err *reason) {
    uint32_t unit = cut->unit > 0 ? cut->unit : 1;
    if (cut->extent % cut->ways == 0 && cut->extent / cut->ways % unit == 0) return kept;
    if (cut->pads && cut->extent / unit >= cut->ways) return kept;
    if (cut->width % cut->ways != 0) {
        err_set(reason, "%s %" PRIu32 " does not divide %s %" PRIu32, cut->by, cut->ways, cut->what,
                cut->width);
        return (PlanFault){cut->uneven, wide_div_up_u64(cut->width, cut->ways) * cut->ways,
                           cut->width};
    }
    // in the model's own width: a block of 16 packed bytes is one of 32 weights
    uint64_t block = (uint64_t)unit * cut->width / cut->extent;
    uint32_t part = cut->width / cut->ways;
    err_set(reason,
            "%s %" PRIu32 " cuts %s %" PRIu32 " into %" PRIu32 ", not whole blocks of %" PRIu64,
            cut->by, cut->ways, cut->what, cut->width, part, block);
    return (PlanFault){cut->broken, part, block};
}

static uint32_t mlp_width(const Arch *arch, const TensorClass *tensor) {
    if (tensor->layer_kind >= arch->kind_count) return 0;
    const MlpSpec *mlp = &arch->mlps[arch->kinds[tensor->layer_kind].mlp];
    return tensor->component == COMPONENT_SHARED ? mlp->shared_width : mlp->width;
}

// False for sides that are not cut, may be padded (vocabulary), are replicated (KV heads), or
// follow another tensor (scales).
static bool cut_of(const Pool *pool, const Arch *arch, const TensorClass *tensor, uint32_t index,
                   Cut *out) {
    ShardSide side = shard_slice_side(tensor, index);
    bool routed = shard_slice_is_routed(tensor);
    if (tensor->is_scale || tensor->dim_count == 0 || side.deal != SHARD_DEAL_UNITS) return false;
    out->ways = routed ? pool->moe_tp : pool->tp;
    out->by = routed ? "moe_tp" : "tp";
    out->extent = (uint32_t)side.extent;
    out->unit = (uint32_t)side.unit;
    out->pads = tensor->pads;
    out->width = mlp_width(arch, tensor);
    if (out->width == 0) out->width = out->extent;
    out->what = "the expert width";
    out->uneven = PLAN_RULE_EXPERT_WIDTH, out->broken = PLAN_RULE_EXPERT_CUT;
    if (routed) return out->extent > 0;
    out->what =
        tensor->component == COMPONENT_SHARED ? "the shared expert width" : "the dense width";
    out->uneven = PLAN_RULE_DENSE_WIDTH, out->broken = PLAN_RULE_DENSE_CUT;
    if (tensor->component == COMPONENT_SHARED || tensor->component == COMPONENT_DENSE)
        return out->extent > 0;
    out->what = "an attention width of";
    out->width = out->extent;
    out->uneven = PLAN_RULE_ATTENTION_WIDTH, out->broken = PLAN_RULE_ATTENTION_CUT;
    return tensor->component == COMPONENT_ATTENTION && out->extent > 0;
}

static PlanFault check_cuts(const Pool *pool, const Arch *arch, Err *reason) {
    for (uint32_t i = 0; i < arch->tensor_count; i++) {
        const TensorClass *tensor = &arch->tensors[i];
        for (uint32_t side = 0; side < shard_slice_sides(tensor); side++) {
            Cut cut;
            if (!cut_of(pool, arch, tensor, side, &cut)) continue;
            PlanFault fault = check_cut(&cut, reason);
            if (fault.rule != PLAN_RULE_KEPT) return fault;
        }
    }
    return kept;
}

PlanFault plan_legal_fault(const Plan *plan, const Arch *arch, Err *reason) {
    if (!plan_check(plan, reason)) return (PlanFault){PLAN_RULE_NUMBERS, 0, 0};
    PlanFault (*const checks[])(const Pool *, const Arch *, Err *) = {
        check_layers, check_heads, check_context, check_experts, check_cuts};
    for (uint32_t p = 0; p < plan->pool_count; p++) {
        for (uint32_t c = 0; c < sizeof checks / sizeof checks[0]; c++) {
            PlanFault fault = checks[c](&plan->pools[p], arch, reason);
            if (fault.rule != PLAN_RULE_KEPT) return fault;
        }
    }
    return kept;
}
