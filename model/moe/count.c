// Adds up tensors.
//
// Invariant: totals are sums over tensor classes, exact in 64 bits or refused; nothing is computed
// from a formula beside them, so that what is counted, stored and cut by a plan is the same list.
#include "model/moe/count.h"

#include "model/base/wide.h"

uint64_t count_tensors(const Arch *arch, const TensorClass *class) {
    uint64_t layers = class->layer_kind == UINT32_MAX ? 1 : arch->kinds[class->layer_kind].count;
    return layers * class->per_layer; // both below 2^32
}

static bool add_product(uint64_t *sum, uint64_t a, uint64_t b) {
    uint64_t product;
    return wide_mul_u64(a, b, &product) && wide_add_u64(*sum, product, sum);
}

// Adds what one token meets of this class: of routed experts, only the chosen ones.
static bool add_touched(const Arch *arch, const TensorClass *class, uint64_t *sum) {
    uint64_t count = count_tensors(arch, class), each = class->parameters;
    if (class->component == COMPONENT_ROUTED && class->layer_kind != UINT32_MAX) {
        const LayerKind *kind = &arch->kinds[class->layer_kind];
        const MlpSpec *mlp = &arch->mlps[kind->mlp];
        if (class->fused_experts > 0)
            each = each / class->fused_experts * mlp->top_k; // at most `each`
        else if (class->per_layer == mlp->experts)
            count = (uint64_t)kind->count * mlp->top_k;
    }
    return add_product(sum, count, each);
}

static bool add_parameters(const Arch *arch, const TensorClass *class, ArchTotals *totals) {
    uint64_t count = count_tensors(arch, class), each = class->parameters;
    bool is_draft_table = class->component == COMPONENT_MTP && class->shard == SHARD_VOCAB;
    if (!add_product(&totals->component_parameters[class->component], count, each)) return false;
    if (class->component == COMPONENT_VISION)
        return add_product(&totals->vision_parameters, count, each);
    if (class->component == COMPONENT_MTP)
        return add_product(&totals->mtp_on_disk, count, each) &&
               (is_draft_table || add_product(&totals->mtp_parameters, count, each));
    return add_product(&totals->parameters, count, each) &&
           add_touched(arch, class, &totals->active_all);
}

static bool add_class(const Arch *arch, const TensorClass *class, ArchTotals *totals) {
    uint64_t count = count_tensors(arch, class);
    return add_parameters(arch, class, totals) &&
           add_product(&totals->component_B[class->component], count, class->bytes) &&
           add_product(&totals->checkpoint_B, count, class->bytes) &&
           wide_add_u64(totals->tensors, count, &totals->tensors);
}

static bool add_caches(const Arch *arch, ArchTotals *totals) {
    for (uint32_t k = 0; k < arch->kind_count; k++) {
        const AttentionSpec *spec = &arch->attentions[arch->kinds[k].attention];
        uint64_t blocks, kv_B, window_B, sum = 0;
        if (!wide_mul_u64(arch->kinds[k].count, spec->per_layer, &blocks) ||
            !wide_mul_u64(spec->kv_elements_per_token, numfmt_bits(NUMFMT_BF16) / 8, &kv_B) ||
            !wide_mul_u64(kv_B, spec->window, &window_B) || !add_product(&sum, blocks, kv_B) ||
            !add_product(&sum, blocks, 2 * (spec->entry_elements + spec->index_elements)) ||
            !add_product(&sum, blocks, window_B) ||
            !add_product(&totals->state_B_per_sequence, blocks, spec->state_B_per_sequence))
            return false;
    }
    totals->kv_B_per_token = arch_kv_B_per_token(arch, NUMFMT_BF16); // none of it overflows
    totals->window_B_per_sequence = arch_window_B(arch, NUMFMT_BF16);
    return true;
}

bool count_totals(Arch *arch, Err *err) {
    ArchTotals totals = {.one_vocab_table = (uint64_t)arch->vocab * arch->hidden};
    for (uint32_t i = 0; i < arch->tensor_count; i++) {
        if (!add_class(arch, &arch->tensors[i], &totals))
            return err_set(err, "%s: the sizes of its tensors do not add up in 64 bits",
                           arch->tensors[i].pattern);
    }
    if (!add_caches(arch, &totals))
        return err_set(err, "the cache of all layers does not fit in 64 bits");
    arch->totals = totals;
    return true;
}

uint64_t count_active(const Arch *arch, CountActive kind) {
    const ArchTotals *totals = &arch->totals;
    uint64_t table = totals->one_vocab_table;
    switch (kind) {
    case COUNT_ACTIVE_ALL: return totals->active_all;
    case COUNT_ACTIVE_NO_INPUT: return totals->active_all - (arch->tied_embeddings ? 0 : table);
    case COUNT_ACTIVE_NO_TABLES:
        return totals->active_all - (arch->tied_embeddings ? table : 2 * table);
    case COUNT_ACTIVE_KINDS: break;
    }
    return 0;
}
