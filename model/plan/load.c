// Loads: how many tokens go to which expert, and what that gives each rank of a schedule.
//
// Invariant: the counts of a recorded layer have a sum over all sources that is above zero and fits
// in 64 bits, so that a share is always a fraction, and those of all experts sum to 1.
#include "model/plan/load.h"

#include <assert.h>

#include "model/base/wide.h"

// Of the counts alone, so that a law and a file of equal counts are one load. A lone source is left
// out: files of version 1 have none.
static Digest digest_of(const Load *load) {
    Digest digest = hash_string(HASH_START, "load");
    digest = hash_u64(digest, load->kind);
    digest = hash_u64(digest, load->layers);
    digest = hash_u64(digest, load->experts);
    if (load->sources > 1) digest = hash_u64(digest, load->sources);
    for (uint64_t i = 0; i < (uint64_t)load->layers * load->sources * load->experts; i++)
        digest = hash_u64(digest, load->tokens[i]);
    return digest;
}

Load load_uniform(void) {
    Load load = {.kind = LOAD_UNIFORM, .origin = "uniform"};
    load.digest = digest_of(&load);
    return load;
}

static bool check_layer(const uint64_t *tokens, uint64_t count, uint32_t layer, Err *err) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        if (!wide_add_u64(sum, tokens[i], &sum))
            return err_set(err, "the tokens of layer %u do not fit 64 bits", layer);
    }
    return sum > 0 || err_set(err, "layer %u: expected at least one token, found none", layer);
}

// Running sums, so that a share is two differences.
static uint64_t *sum_up(Load *load) {
    uint64_t row = (uint64_t)load->experts + 1, layer = (load->sources + UINT64_C(1)) * row;
    uint64_t *before = arena_alloc(&load->arena, load->layers, layer * sizeof *before);
    for (uint32_t l = 0; l < load->layers; l++) {
        uint64_t *all = before + l * layer + load->sources * row;
        for (uint32_t s = 0; s < load->sources; s++) {
            uint64_t *own = before + l * layer + s * row;
            const uint64_t *tokens =
                load->tokens + ((uint64_t)l * load->sources + s) * load->experts;
            for (uint32_t e = 0; e < load->experts; e++) own[e + 1] = own[e] + tokens[e];
            for (uint32_t e = 0; e <= load->experts; e++) all[e] += own[e];
        }
    }
    return before;
}

bool load_of_counts(uint32_t layers, uint32_t sources, uint32_t experts, const uint64_t *tokens,
                    const char *origin, Load *out, Err *err) {
    Wide count = wide_mul(layers, sources) * experts;
    if (count == 0 || count > LOAD_COUNTS_MAX) {
        char text[40];
        return err_set(
            err, "%u layers of %u experts from %u sources are %s counts, expected 1 to %u", layers,
            experts, sources, wide_format(count, text), (unsigned)LOAD_COUNTS_MAX);
    }
    uint64_t row = (uint64_t)sources * experts;
    for (uint32_t layer = 0; layer < layers; layer++)
        if (!check_layer(tokens + layer * row, row, layer, err)) return false;
    Load load = {.kind = LOAD_RECORDED, .experts = experts, .layers = layers, .sources = sources};
    load.tokens = arena_copy(&load.arena, tokens, (size_t)count, sizeof *tokens);
    load.before = sum_up(&load);
    load.origin = arena_string(&load.arena, origin);
    load.digest = digest_of(&load);
    *out = load;
    return true;
}

void load_free(Load *load) {
    arena_free(&load->arena);
    *load = (Load){0};
}

static bool has_layers(const Load *load, uint32_t layers) {
    return load->layers == 1 || layers <= load->layers;
}

bool load_check(const Load *load, uint32_t layers, uint32_t experts, Err *err) {
    if (load->kind == LOAD_UNIFORM) return true;
    if (load->experts != experts)
        return err_set(err, "the load is of %u experts, expected %u", load->experts, experts);
    return has_layers(load, layers) ||
           err_set(err, "the load is of %u layers, expected %u, or one for all", load->layers,
                   layers);
}

// ---- Shares.

// Running sums of a source of a layer; source load->sources is all of them.
static const uint64_t *row_of(const Load *load, uint32_t layer, uint64_t source) {
    uint64_t rows = load->sources + UINT64_C(1), row = (load->layers == 1 ? 0 : layer) * rows;
    return load->before + (row + source) * (load->experts + UINT64_C(1));
}

static bool has_rows(const Load *load, uint32_t layer, uint32_t experts) {
    return load->kind != LOAD_UNIFORM && load->experts == experts && has_layers(load, layer + 1);
}

void load_share(const Load *load, uint32_t layer, uint32_t experts, uint32_t first, uint32_t count,
                uint64_t *part, uint64_t *whole) {
    assert(experts > 0 && first <= experts && count <= experts - first);
    *part = count;
    *whole = experts;
    if (!has_rows(load, layer, experts)) return;
    const uint64_t *row = row_of(load, layer, load->sources);
    *part = row[first + count] - row[first];
    *whole = row[experts];
}

void load_source_share(const Load *load, uint32_t layer, uint32_t experts, uint32_t source,
                       uint32_t first, uint32_t count, uint64_t *part, uint64_t *whole) {
    load_share(load, layer, experts, first, count, part, whole);
    if (!has_rows(load, layer, experts) || load->sources == 1) return;
    assert(source < load->sources);
    const uint64_t *row = row_of(load, layer, source);
    if (row[experts] == 0) return;
    *part = row[first + count] - row[first];
    *whole = row[experts];
}

// ---- Under a Schedule.

// The experts of an operation: those of its Compute and its Comm are the same fields.
typedef struct OpExperts {
    uint32_t experts, total, first, sharers, layer;
} OpExperts;

static OpExperts experts_of(const Op *op) {
    if (op->kind == OP_COLLECTIVE)
        return (OpExperts){op->comm.experts, op->comm.experts_total, op->comm.first_expert,
                           op->comm.expert_sharers, op->comm.moe_layer};
    return (OpExperts){op->compute.experts, op->compute.experts_total, op->compute.first_expert,
                       op->compute.expert_sharers, op->compute.moe_layer};
}

bool load_sizes_op(const Op *op) {
    return op->kind == OP_GROUPED_GEMM ||
           (op->kind == OP_COLLECTIVE && op->comm.split != SPLIT_EVEN);
}

void load_rank_experts(const Schedule *schedule, OpId op, uint32_t rank, uint32_t *first,
                       uint32_t *count) {
    OpExperts own = experts_of(&schedule->ops[op]);
    const RankSet *ranks = &schedule->roles[schedule_op_role(schedule, op)].ranks;
    uint32_t index = 0;
    bool is_member = schedule_set_index(ranks, rank, &index);
    assert(is_member && load_sizes_op(&schedule->ops[op]));
    (void)is_member;
    uint32_t block = index % ranks->count / (own.sharers > 0 ? own.sharers : 1);
    uint64_t begin = (own.first + (uint64_t)block * own.experts) % own.total;
    uint64_t left = own.total - begin;
    *first = (uint32_t)begin;
    *count = own.experts < left ? own.experts : (uint32_t)left;
}

void load_rank_share(const Load *load, const Schedule *schedule, OpId op, uint32_t rank,
                     uint64_t *part, uint64_t *whole) {
    OpExperts own = experts_of(&schedule->ops[op]);
    uint32_t first, count;
    load_rank_experts(schedule, op, rank, &first, &count);
    load_share(load, own.layer, own.total, first, count, part, whole);
}

void load_pair_share(const Load *load, const Schedule *schedule, OpId op, uint32_t position,
                     uint32_t rank, uint64_t *part, uint64_t *whole) {
    OpExperts own = experts_of(&schedule->ops[op]);
    uint32_t first, count;
    load_rank_experts(schedule, op, rank, &first, &count);
    uint64_t source = 0;
    if (load->kind != LOAD_UNIFORM && load->sources > 1) {
        uint32_t size = schedule->groups[schedule->ops[op].comm.group].size;
        assert(position < size);
        source = (uint64_t)position * load->sources / size;
    }
    load_source_share(load, own.layer, own.total, (uint32_t)source, first, count, part, whole);
}

bool load_check_schedule(const Load *load, const Schedule *schedule, Err *err) {
    for (OpId id = 0; id < schedule->op_count; id++) {
        const Op *op = &schedule->ops[id];
        char text[SCHEDULE_TEXT_MAX];
        if (!load_sizes_op(op)) continue;
        OpExperts own = experts_of(op);
        if (!load_check(load, own.layer + 1, own.total, err))
            return err_prefix(err, "%s", schedule_op_text(schedule, id, text));
    }
    return true;
}
