// Choices that follow a Load.
//
// Invariant: a rank sends to each other rank as many rows as the collectives of a forced run move
// (share.h), and both ends deal them to experts by the same rule: of the rows for one rank, each of
// its experts gets its share of the Load, rounded so that sums come out. A token's choices are
// pairs that lie `tokens` apart in the order of experts, so that they are different experts as long
// as no expert gets more pairs than there are tokens.
#include "exec/forward_internal.h"
#include "model/base/wide.h"

// The first operation of the block behind this one whose size depends on a Load: its MoE layer.
static uint32_t moe_layer_of(const ForwardStep *step) {
    const Schedule *schedule = step->forward->job->schedule;
    const Block *block = &schedule->blocks[step->op->block];
    for (OpId id = step->instance->cursor.op; id < block->first_op + block->op_count; id++)
        if (schedule->ops[id].kind == OP_GROUPED_GEMM) return schedule->ops[id].compute.moe_layer;
    return 0;
}

typedef struct Deal {
    const Load *load;
    uint32_t moe_layer, experts, row; // row of the load: its source; behind the last: all together
} Deal;

static CollectiveShare share_of(const Deal *deal, uint32_t first, uint32_t count) {
    CollectiveShare share = {0};
    uint64_t whole;
    if (deal->row >= deal->load->sources) {
        load_share(deal->load, deal->moe_layer, deal->experts, 0, first, &share.before, &whole);
        load_share(deal->load, deal->moe_layer, deal->experts, first, count, &share.part,
                   &share.whole);
        return share;
    }
    load_source_share(deal->load, deal->moe_layer, deal->experts, deal->row, 0, first,
                      &share.before, &whole);
    load_source_share(deal->load, deal->moe_layer, deal->experts, deal->row, first, count,
                      &share.part, &share.whole);
    return share;
}

// Of `pairs` for experts [first, first + count), those of each.
static void deal_to_experts(const Deal *deal, uint64_t pairs, uint32_t first, uint32_t count,
                            uint32_t *out) {
    uint64_t all = share_of(deal, first, count).part, before = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t part = share_of(deal, first, i + 1).part;
        uint64_t end = all > 0 ? wide_mul_div(pairs, part, all) : pairs * (i + 1) / count;
        out[i] = (uint32_t)(end - before);
        before = end;
    }
}

// What the rank at position `owner` of the EP group, which sends `pairs`, sends to each expert of
// position `holder`.
static void deal_to_rank(const ForwardStep *step, uint32_t moe_layer, uint64_t pairs,
                         uint32_t owner, uint32_t holder, uint32_t *out) {
    const Forward *forward = step->forward;
    const Load *load = forward->job->load;
    uint32_t n = forward->pool->ep, first, count;
    uint32_t sources = load->kind == LOAD_UNIFORM ? 1 : load->sources < n ? load->sources : n;
    uint32_t source = (uint32_t)((uint64_t)owner * sources / n);
    uint64_t begin = wide_div_up_u64((uint64_t)source * n, sources);
    uint64_t end = wide_div_up_u64((uint64_t)(source + 1) * n, sources);
    Deal deal = {load, moe_layer, forward->experts, 0};
    if (load->kind != LOAD_UNIFORM)
        deal.row = (uint32_t)((uint64_t)source * load->sources / sources);
    pool_experts(forward->pool, forward->experts, holder, &first, &count);
    CollectiveShare share = share_of(&deal, first, count);
    uint64_t sent =
        collective_share_count(pairs, (uint32_t)(end - begin), (uint32_t)(owner - begin), &share);
    deal_to_experts(&deal, sent, first, count, out);
}

static uint32_t ep_position(const ForwardStep *step) {
    return step->rank->stage_rank / step->forward->pool->moe_tp;
}

// Pairs by expert for so many tokens of this rank.
static void count_pairs(const ForwardStep *step, uint64_t pairs, uint32_t *out) {
    const Forward *forward = step->forward;
    uint32_t moe_layer = moe_layer_of(step), first, count;
    if (forward->routing != LOWER_ALL_TO_ALL) {
        const Load *load = forward->job->load;
        Deal deal = {load, moe_layer, forward->experts, load->sources};
        deal_to_experts(&deal, pairs, 0, forward->experts, out);
        return;
    }
    for (uint32_t holder = 0; holder < forward->pool->ep; holder++) {
        pool_experts(forward->pool, forward->experts, holder, &first, &count);
        deal_to_rank(step, moe_layer, pairs, ep_position(step), holder, out + first);
    }
}

static void force_tokens(ForwardStep *step, uint64_t tokens, uint32_t *experts) {
    const Forward *forward = step->forward;
    uint32_t *counts = step->rank->routes[step->part].sent, top_k = forward->top_k;
    uint64_t number = 0;
    count_pairs(step, tokens * top_k, counts);
    for (uint32_t expert = 0; expert < forward->experts; expert++)
        for (uint32_t i = 0; i < counts[expert]; i++, number++)
            experts[number % tokens * top_k + number / tokens] = expert;
}

// Chunks of the tokens travel one by one, each dealt by itself.
bool forward_force(ForwardStep *step, uint64_t tokens, uint32_t *experts) {
    const Forward *forward = step->forward;
    bool chosen_here = step->op->compute.work == WORK_TOP_K; // for all chunks
    uint32_t chunks = chosen_here && forward->pool->moe_chunks > 1 ? forward->pool->moe_chunks : 1;
    uint64_t first, count;
    for (uint32_t i = 0; i < chunks; i++) {
        collective_chunk(tokens, 1, chunks, i, &first, &count);
        if (count > 0) force_tokens(step, count, experts + first * forward->top_k);
    }
    return true;
}

void forward_force_arrivals(ForwardStep *step, ForwardRoutes *routes) {
    const Forward *forward = step->forward;
    uint32_t first, held, moe_layer = step->op->compute.moe_layer;
    uint64_t pairs = step->tokens / forward->token_ways * forward->pool->moe_tp * forward->top_k;
    pool_experts(forward->pool, forward->experts, ep_position(step), &first, &held);
    for (uint32_t source = 0; source < forward->pool->ep; source++)
        deal_to_rank(step, moe_layer, pairs, source, ep_position(step),
                     routes->arrived + (uint64_t)source * held);
}
