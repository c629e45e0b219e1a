// Feed-forward parts: dense and shared ones, and the experts with the ways to and from them.
//
// Invariant: pairs (token, choice) are sorted by expert and then by number, everywhere; results of
// a token are summed in the order of its experts. What a rank's experts get lies by source and then
// by expert, as the all-to-all leaves it; where nothing travels it lies by expert.
//
// Where tokens are gathered (GATHER, and cuts of experts behind an all-to-all) the schedule moves
// tokens and not their routes: every rank chooses again for all of them, from the same bytes, so
// that all agree. Where they are not, routes go through the schedule's buffer, and the permutation
// made of them stays with the rank until the sum.
#include <math.h>
#include <string.h>

#include "exec/forward_internal.h"
#include "exec/kernel/elementwise.h"
#include "exec/kernel/gemm.h"
#include "exec/kernel/permute.h"
#include "model/base/wide.h"

typedef struct Route { // as in the schedule's buffer
    uint32_t expert;
    float weight;
} Route;

// ---- Dense and shared parts.

static void add_bias(const Weight *bias, uint64_t rows, uint64_t width, float *out) {
    for (uint64_t i = 0; bias->n > 0 && i < rows; i++)
        elementwise_add(width, bias->values, out + i * width);
}

bool forward_product(ForwardStep *step, WeightSlot slot, uint64_t rows, uint64_t in_width) {
    const Weight *weight = forward_weight(step, slot);
    const Compute *compute = &step->op->compute;
    if (weight->n != compute->n || weight->k != compute->k)
        return err_set(step->err, "the rank has weights of %u x %u, the schedule says %u x %u",
                       weight->n, weight->k, compute->n, compute->k);
    uint32_t write = forward_slice(step, SLICE_WRITE, 0);
    const float *in =
        forward_in(step, forward_slice(step, SLICE_READ, 0), 0, rows * in_width, SCRATCH_IN);
    float *out = forward_out(step, write, rows * weight->n, SCRATCH_OUT);
    if (in == NULL || out == NULL) return false;
    GemmShape shape = gemm_close(rows, weight->n, weight->k);
    shape.a_stride = in_width;
    gemm_rows(&shape, in, weight->values, out);
    if (slot == WEIGHT_QKV) add_bias(forward_weight(step, WEIGHT_QKV_BIAS), rows, weight->n, out);
    return forward_done(step, write, rows * weight->n, out);
}

static bool swiglu(ForwardStep *step, uint64_t rows, uint64_t width) {
    uint32_t write = forward_slice(step, SLICE_WRITE, 0);
    const float *in =
        forward_in(step, forward_slice(step, SLICE_READ, 0), 0, rows * 2 * width, SCRATCH_IN);
    float *out = forward_out(step, write, rows * width, SCRATCH_OUT);
    if (in == NULL || out == NULL) return false;
    elementwise_swiglu(rows, width, in, out);
    return forward_done(step, write, rows * width, out);
}

bool forward_swiglu(ForwardStep *step) {
    bool shared = step->op->op_class == OP_CLASS_SHARED;
    return swiglu(step, step->tokens,
                  forward_weight(step, shared ? WEIGHT_SHARED_DOWN : WEIGHT_DOWN)->k);
}

// ---- The choice.

static RouterSpec spec_of(const ForwardStep *step) {
    const MlpSpec *mlp = forward_mlp_spec(step);
    RouterSpec spec = step->forward->config.router;
    spec.experts = mlp->experts;
    spec.top_k = mlp->top_k;
    spec.groups = mlp->groups;
    spec.top_groups = mlp->top_groups;
    return spec;
}

// Whether the choice of the rank's own token `index` is to be counted: each by one rank, where it
// is made and not again where tokens are gathered, and none of padding.
static bool is_counted(const ForwardStep *step, uint64_t index) {
    const Forward *forward = step->forward;
    if (step->op->compute.work != WORK_TOP_K) return false;
    if (forward->token_ways == 1 && step->rank->tp_index > 0) return false;
    ForwardToken token = forward_token(step, step->first + step->own_first + index);
    return forward_step_text(step, token.sequence) < forward->texts;
}

static void note_margin(const ForwardStep *step, float margin) {
    ForwardRank *rank = step->rank;
    rank->choices++;
    rank->near += margin < step->forward->near;
    if (margin < rank->least_margin) rank->least_margin = margin;
}

// Of `tokens` tokens by their scores.
static bool choose(ForwardStep *step, uint64_t tokens, const float *scores, uint32_t *experts,
                   float *weights) {
    RouterSpec spec = spec_of(step);
    bool forced = step->forward->options.routing == FORWARD_FORCED;
    const Weight *bias = forward_weight(step, WEIGHT_ROUTER_BIAS);
    float *scratch = forward_scratch(step->rank, SCRATCH_KERNEL, 2 * (uint64_t)spec.experts);
    if (forced && !forward_force(step, tokens, experts)) return false;
    for (uint64_t i = 0; i < tokens; i++) {
        const float *own = scores + i * spec.experts;
        RouterChoice choice = {.experts = experts + i * spec.top_k,
                               .weights = weights + i * spec.top_k};
        if (forced) {
            router_weigh(&spec, own, scratch, &choice);
            continue;
        }
        router_choose(&spec, own, bias->n > 0 ? bias->values : NULL, scratch, &choice);
        if (is_counted(step, i)) note_margin(step, choice.margin);
    }
    return true;
}

bool forward_router(ForwardStep *step) {
    const Weight *weight = forward_weight(step, WEIGHT_ROUTER);
    uint64_t hidden = step->forward->arch->hidden;
    const float *in =
        forward_in(step, forward_slice(step, SLICE_READ, 0), 0, step->own * hidden, SCRATCH_IN);
    uint8_t *out = forward_bytes(step, forward_slice(step, SLICE_WRITE, 0), 0,
                                 step->own * weight->n * sizeof(float));
    if (in == NULL || out == NULL) return false;
    GemmShape shape = gemm_close(step->own, weight->n, hidden);
    gemm_rows(&shape, in, weight->values, (float *)(void *)out);
    return true;
}

// All repeats of a run choose alike: of the first.
static bool is_repeated(const OpInstance *instance) {
    const ScheduleIndex *index = &instance->job->index;
    return instance->number / schedule_index_passes(index, instance->cursor.role) >=
           schedule_index_per_pass(index, instance->cursor.op);
}

static void count_choices(const ForwardStep *step, const uint32_t *experts) {
    const Forward *forward = step->forward;
    const Arch *arch = forward->arch;
    if (is_repeated(step->instance)) return;
    uint64_t number = 0, top_k = forward_mlp_spec(step)->top_k;
    for (uint32_t i = 0; i < step->layer; i++)
        number += arch->mlps[arch->kinds[arch->kind_of_layer[i]].mlp].experts > 0;
    for (uint64_t i = 0; i < step->own; i++) {
        if (!is_counted(step, i)) continue;
        for (uint64_t k = 0; k < top_k; k++)
            step->rank->counts[number * forward->experts + experts[i * top_k + k]]++;
    }
}

bool forward_top_k(ForwardStep *step) {
    const MlpSpec *mlp = forward_mlp_spec(step);
    ForwardRoutes *routes = &step->rank->routes[step->part];
    uint64_t pairs = step->own * mlp->top_k;
    const uint8_t *scores = forward_bytes(step, forward_slice(step, SLICE_READ, 0), 0,
                                          step->own * mlp->experts * sizeof(float));
    uint8_t *out =
        forward_bytes(step, forward_slice(step, SLICE_WRITE, 0), 0, pairs * sizeof(Route));
    if (scores == NULL || out == NULL ||
        !choose(step, step->own, (const float *)(const void *)scores, routes->experts,
                routes->weights))
        return false;
    count_choices(step, routes->experts);
    for (uint64_t i = 0; i < pairs; i++) {
        Route route = {routes->experts[i], routes->weights[i]};
        memcpy(out + i * sizeof route, &route, sizeof route);
    }
    return true;
}

// ---- Routes of the tokens at hand.

static void read_routes(const uint8_t *bytes, uint64_t pairs, ForwardRoutes *routes) {
    for (uint64_t i = 0; i < pairs; i++) {
        Route route;
        memcpy(&route, bytes + i * sizeof route, sizeof route);
        routes->experts[i] = route.expert;
        routes->weights[i] = route.weight;
    }
}

// From slice `number` of those that are read, which has the routes of all tokens at hand.
static bool take_routes(ForwardStep *step, uint32_t number, uint64_t first, uint64_t tokens,
                        ForwardRoutes *routes) {
    uint64_t top_k = forward_mlp_spec(step)->top_k;
    const uint8_t *bytes =
        forward_bytes(step, forward_slice(step, SLICE_READ, number), first * top_k * sizeof(Route),
                      tokens * top_k * sizeof(Route));
    if (bytes != NULL) read_routes(bytes, tokens * top_k, routes);
    return bytes != NULL;
}

// Again, of gathered tokens.
static bool choose_again(ForwardStep *step, const float *rows, uint64_t tokens,
                         ForwardRoutes *routes) {
    const Weight *weight = forward_weight(step, WEIGHT_ROUTER);
    float *scores = forward_scratch(step->rank, SCRATCH_SUM, tokens * weight->n);
    GemmShape shape = gemm_close(tokens, weight->n, weight->k);
    gemm_rows(&shape, rows, weight->values, scores);
    return choose(step, tokens, scores, routes->experts, routes->weights);
}

static bool sort_pairs(ForwardStep *step, uint64_t tokens, ForwardRoutes *routes) {
    const MlpSpec *mlp = forward_mlp_spec(step);
    uint64_t pairs = tokens * mlp->top_k;
    for (uint64_t i = 0; i < pairs; i++)
        if (routes->experts[i] >= mlp->experts)
            return err_set(step->err, "expert %u of %u", routes->experts[i], mlp->experts);
    routes->tokens = tokens;
    permute_sort(pairs, routes->experts, mlp->experts, routes->sent, routes->next, routes->order);
    return true;
}

// Of so many tokens of each group, those of all ranks that hold the cuts of this rank's experts.
static uint64_t tokens_of_cuts(const ForwardStep *step, uint64_t tokens) {
    uint32_t cuts = step->forward->pool->moe_tp, rank = step->instance->rank;
    uint64_t sum = 0, first;
    for (uint32_t i = 0; i < cuts; i++)
        sum += forward_own_tokens(step->forward, tokens, rank / cuts * cuts + i, &first);
    return sum;
}

// Tokens of slice `in` that the operation is about: a chunk of them where the operation is of a
// part and the slice of the whole.
static void routed_tokens(const ForwardStep *step, uint32_t in, uint64_t *first, uint64_t *count) {
    const Forward *forward = step->forward;
    const Slice *slice = &forward->job->schedule->slices[in];
    uint32_t parts = step->op->compute.bytes.parts;
    bool is_chunk = parts > 1 && slice->bytes.parts <= 1;
    *first = 0;
    *count = tokens_of_cuts(step, is_chunk ? forward->job->shape.tokens : step->tokens);
    if (is_chunk) collective_chunk(*count, 1, parts, step->part, first, count);
}

bool forward_permute(ForwardStep *step) {
    ForwardRoutes *routes = &step->rank->routes[step->part];
    uint64_t hidden = step->forward->arch->hidden, first, tokens;
    uint64_t row_B = numfmt_bytes(step->forward->format, hidden),
             top_k = forward_mlp_spec(step)->top_k;
    uint32_t in = forward_slice(step, SLICE_READ, 0);
    routed_tokens(step, in, &first, &tokens);
    if (step->forward->pool->moe_tp > 1) {
        const float *rows = forward_in(step, in, first * hidden, tokens * hidden, SCRATCH_IN);
        if (rows == NULL || !choose_again(step, rows, tokens, routes)) return false;
    } else if (!take_routes(step, 1, first, tokens, routes)) {
        return false;
    }
    const uint8_t *from = forward_bytes(step, in, first * row_B, tokens * row_B);
    uint8_t *out =
        forward_bytes(step, forward_slice(step, SLICE_WRITE, 0), 0, tokens * top_k * row_B);
    if (from == NULL || out == NULL || !sort_pairs(step, tokens, routes)) return false;
    for (uint64_t i = 0; i < tokens * top_k; i++)
        routes->in_rows[i] = (uint32_t)(routes->order[i] / top_k);
    permute_gather(tokens * top_k, row_B, routes->in_rows, from, out);
    return true;
}

// ---- At the experts.

static void held_experts(const ForwardStep *step, uint32_t *first, uint32_t *count) {
    const Pool *pool = step->forward->pool;
    pool_experts(pool, forward_mlp_spec(step)->experts, step->rank->stage_rank / pool->moe_tp,
                 first, count);
}

// Rows lie by source, then by expert: those of one expert from all sources.
static void place_arrived(const ForwardStep *step, ForwardRoutes *routes) {
    uint32_t first, held, sources = step->forward->pool->ep, rows = 0;
    held_experts(step, &first, &held);
    for (uint32_t expert = 0; expert < held; expert++) {
        uint32_t begin = 0; // of the source
        routes->first[expert] = rows;
        for (uint32_t source = 0; source < sources; source++) {
            const uint32_t *arrived = routes->arrived + (uint64_t)source * held;
            uint32_t row = begin;
            for (uint32_t i = 0; i < expert; i++) row += arrived[i];
            for (uint32_t i = 0; i < arrived[expert]; i++, rows++)
                routes->in_rows[rows] = routes->out_rows[rows] = row + i;
            for (uint32_t i = 0; i < held; i++) begin += arrived[i];
        }
    }
    routes->first[held] = rows;
    routes->rows = rows;
}

// Of the tokens that are there, those of this rank's experts.
static void place_local(const ForwardStep *step, ForwardRoutes *routes) {
    uint32_t first, held, top_k = forward_mlp_spec(step)->top_k;
    held_experts(step, &first, &held);
    routes->skipped = routes->rows = 0;
    for (uint32_t i = 0; i < first; i++) routes->skipped += routes->sent[i];
    for (uint32_t expert = 0; expert < held; expert++) {
        routes->first[expert] = (uint32_t)routes->rows;
        routes->rows += routes->sent[first + expert];
    }
    routes->first[held] = (uint32_t)routes->rows;
    for (uint64_t i = 0; i < routes->rows; i++) {
        routes->in_rows[i] = routes->order[routes->skipped + i] / top_k;
        routes->out_rows[i] = (uint32_t)i;
    }
}

static bool place_tokens(ForwardStep *step, ForwardRoutes *routes) {
    const Forward *forward = step->forward;
    uint64_t hidden = forward->arch->hidden;
    switch (forward->routing) {
    case LOWER_ALL_TO_ALL:
        if (forward->options.routing == FORWARD_FORCED) forward_force_arrivals(step, routes);
        place_arrived(step, routes);
        routes->inputs = routes->rows;
        return true;
    case LOWER_GATHER: {
        uint64_t tokens = step->tokens * forward->pool->dp;
        const float *rows =
            forward_in(step, forward_slice(step, SLICE_READ, 0), 0, tokens * hidden, SCRATCH_IN);
        if (rows == NULL || !choose_again(step, rows, tokens, routes) ||
            !sort_pairs(step, tokens, routes))
            return false;
        break;
    }
    case LOWER_LOCAL:
        if (!take_routes(step, 1, 0, step->tokens, routes) ||
            !sort_pairs(step, step->tokens, routes))
            return false;
        break;
    }
    place_local(step, routes);
    routes->inputs = routes->tokens;
    return true;
}

static bool is_run(const uint32_t *rows, uint64_t count) {
    return count == 0 || rows[count - 1] - rows[0] == count - 1;
}

// One expert's product. Rows that lie close together are read and written where they are.
static void multiply(ForwardStep *step, const ForwardRoutes *routes, uint32_t expert,
                     const uint32_t *in_rows, const float *in, const Weight *weight, float *out) {
    uint64_t first = routes->first[expert], rows = routes->first[expert + 1] - first;
    uint64_t k = weight->k, n = weight->n;
    const uint32_t *from = in_rows + first, *to = routes->out_rows + first;
    const float *values = weight->values + (uint64_t)expert * n * k, *packed = in + from[0] * k;
    bool in_place = is_run(to, rows);
    float *results =
        in_place ? out + to[0] * n : forward_scratch(step->rank, SCRATCH_QUERIES, rows * n);
    if (!is_run(from, rows)) {
        float *gathered = forward_scratch(step->rank, SCRATCH_KERNEL, rows * k);
        for (uint64_t i = 0; i < rows; i++)
            memcpy(gathered + i * k, in + from[i] * k, k * sizeof *in);
        packed = gathered;
    }
    GemmShape shape = gemm_close(rows, n, k);
    gemm_rows(&shape, packed, values, results);
    for (uint64_t i = 0; !in_place && i < rows; i++)
        memcpy(out + to[i] * n, results + i * n, n * sizeof *out);
}

bool forward_experts(ForwardStep *step) {
    ForwardRoutes *routes = &step->rank->routes[step->part];
    bool up = step->op->compute.work == WORK_EXPERTS_GATE_UP;
    const Weight *weight = forward_weight(step, up ? WEIGHT_EXPERTS_GATE_UP : WEIGHT_EXPERTS_DOWN);
    const Compute *compute = &step->op->compute;
    if (weight->n != compute->n || weight->k != compute->k || weight->count != compute->experts)
        return err_set(step->err,
                       "the rank has weights of %u experts, %u x %u, the schedule says "
                       "%u, %u x %u",
                       weight->count, weight->n, weight->k, compute->experts, compute->n,
                       compute->k);
    if (up && !place_tokens(step, routes)) return false;
    uint32_t write = forward_slice(step, SLICE_WRITE, 0);
    uint64_t in_rows = up ? routes->inputs : routes->rows;
    const float *in =
        forward_in(step, forward_slice(step, SLICE_READ, 0), 0, in_rows * weight->k, SCRATCH_IN);
    float *out = forward_out(step, write, routes->rows * weight->n, SCRATCH_OUT);
    if (in == NULL || out == NULL) return false;
    for (uint32_t expert = 0; expert < weight->count; expert++)
        if (routes->first[expert + 1] > routes->first[expert])
            multiply(step, routes, expert, up ? routes->in_rows : routes->out_rows, in, weight,
                     out);
    return forward_done(step, write, routes->rows * weight->n, out);
}

bool forward_experts_swiglu(ForwardStep *step) {
    return swiglu(step, step->rank->routes[step->part].rows,
                  forward_weight(step, WEIGHT_EXPERTS_DOWN)->k);
}

// ---- Sums.

// Of this rank's tokens: what came back lies in the order in which it was sent, chunk by chunk.
bool forward_weighted_sum(ForwardStep *step) {
    uint64_t hidden = step->forward->arch->hidden, done = 0, count = 0;
    uint32_t top_k = forward_mlp_spec(step)->top_k, write = forward_slice(step, SLICE_WRITE, 0);
    uint32_t chunks = 0;
    while (forward_slice(step, SLICE_READ, chunks + 1) != SCHEDULE_NONE) chunks++;
    ForwardRoutes *all = step->rank->routes + (chunks > 1 ? 0 : step->part);
    for (uint32_t i = 0; i < chunks; i++) count += all[i].tokens * hidden;
    float *out = forward_out(step, write, count, SCRATCH_OUT);
    if (out == NULL) return false;
    memset(out, 0, count * sizeof *out);
    for (uint32_t i = 0; i < chunks; i++) {
        uint64_t pairs = all[i].tokens * top_k;
        const float *rows =
            forward_in(step, forward_slice(step, SLICE_READ, i), 0, pairs * hidden, SCRATCH_IN);
        if (rows == NULL) return false;
        permute_sum(pairs, hidden, top_k, all[i].order, all[i].weights, rows, out + done * hidden);
        done += all[i].tokens;
    }
    return forward_done(step, write, count, out);
}

// Of all tokens that are there, over this rank's experts; shared experts that are partial over the
// same ranks join.
bool forward_expert_sum(ForwardStep *step) {
    const ForwardRoutes *routes = &step->rank->routes[step->part];
    uint64_t hidden = step->forward->arch->hidden, count = routes->tokens * hidden;
    uint32_t write = forward_slice(step, SLICE_WRITE, 0);
    uint32_t beside = forward_slice(step, SLICE_READ, 2);
    const float *rows =
        forward_in(step, forward_slice(step, SLICE_READ, 0), 0, routes->rows * hidden, SCRATCH_IN);
    float *out = forward_out(step, write, count, SCRATCH_OUT);
    if (rows == NULL || out == NULL) return false;
    memset(out, 0, count * sizeof *out);
    permute_sum(routes->rows, hidden, forward_mlp_spec(step)->top_k,
                routes->order + routes->skipped, routes->weights, rows, out);
    if (beside != SCHEDULE_NONE) {
        const float *more = forward_in(step, beside, 0, count, SCRATCH_BESIDE);
        if (more == NULL) return false;
        elementwise_add(count, more, out);
    }
    return forward_done(step, write, count, out);
}

// ---- What the collectives of a free run ask.

bool forward_rows(void *self, const OpInstance *dispatch, uint32_t *rows, Err *err) {
    ForwardStep step = forward_step(self, dispatch, err);
    const ForwardRoutes *routes = &step.rank->routes[step.part];
    memcpy(rows, routes->sent, step.forward->experts * sizeof *rows);
    return true;
}

bool forward_arrives(void *self, const OpInstance *dispatch, uint32_t source, const uint32_t *rows,
                     uint32_t count, Err *err) {
    ForwardStep step = forward_step(self, dispatch, err);
    memcpy(step.rank->routes[step.part].arrived + (uint64_t)source * count, rows,
           count * sizeof *rows);
    return true;
}

// Tokens of a part that ranks which hold the cuts of one expert have at most outside of attention:
// of a batch, or of a chunk of theirs.
static uint64_t tokens_most(const Forward *forward, const Job *job, const Extent *size) {
    uint64_t ways = forward->token_ways, cuts = forward->pool->moe_tp;
    uint32_t parts = size->parts > 1 ? size->parts : 1;
    uint64_t of_batch =
        cuts * wide_div_up_u64(step_shape_part(&job->shape, size->part, parts).tokens, ways);
    uint64_t of_chunk = wide_div_up_u64(cuts * wide_div_up_u64(job->shape.tokens, ways), parts);
    return of_batch > of_chunk ? of_batch : of_chunk;
}

// Rows that may come to the experts of one rank: each token once for each of its experts.
static uint64_t rows_worst(const Forward *forward, const Job *job, const Extent *size,
                           uint32_t held) {
    const Pool *pool = forward->pool;
    uint64_t tokens = forward->routing == LOWER_ALL_TO_ALL
                          ? tokens_most(forward, job, size) * pool->ep
                          : job->shape.tokens * pool->dp;
    return tokens * (held < forward->top_k ? held : forward->top_k);
}

// What an operation needs of a buffer that it touches by this slice.
static uint64_t need_B(const Forward *forward, const Job *job, const Op *op, const Slice *slice) {
    const Compute *compute = &op->compute;
    bool reads = slice->access == SLICE_READ;
    if (op->kind == OP_COLLECTIVE && op->comm.split != SPLIT_EVEN) {
        bool held = (op->comm.split == SPLIT_BY_SOURCE) == reads;
        uint64_t own = tokens_most(forward, job, &op->comm.bytes);
        uint64_t rows = held ? rows_worst(forward, job, &op->comm.bytes, op->comm.experts)
                             : own * forward->top_k;
        return forward->row_B * rows;
    }
    if (op->kind != OP_GROUPED_GEMM || (reads && compute->work == WORK_EXPERTS_GATE_UP)) return 0;
    return numfmt_bytes(forward->format, reads ? compute->k : compute->n) *
           rows_worst(forward, job, &compute->m, compute->experts);
}

uint64_t forward_room_B(void *self, const Job *job, BufferId buffer, uint64_t scheduled_B) {
    const Schedule *schedule = job->schedule;
    uint64_t room_B = scheduled_B;
    for (OpId id = 0; id < schedule->op_count; id++) {
        const Op *op = &schedule->ops[id];
        for (uint32_t i = op->first_slice; i < op->first_slice + op->slice_count; i++) {
            if (schedule->slices[i].buffer != buffer) continue;
            uint64_t bytes = need_B(self, job, op, &schedule->slices[i]);
            if (bytes > room_B) room_B = bytes;
        }
    }
    return room_B;
}

// ---- Memory.

void forward_open_routes(Forward *forward, ForwardRank *rank, ForwardRoutes *routes) {
    const Pool *pool = forward->pool;
    uint32_t first, held;
    uint64_t ranks = pool_stage_ranks(pool);
    uint64_t tokens = (forward->job->shape.tokens + ranks) * ranks, pairs = tokens * forward->top_k;
    pool_experts(pool, forward->experts, rank->stage_rank / pool->moe_tp, &first, &held);
    routes->experts = mem_alloc(pairs, sizeof *routes->experts);
    routes->weights = mem_alloc(pairs, sizeof *routes->weights);
    routes->order = mem_alloc(pairs, sizeof *routes->order);
    routes->in_rows = mem_alloc(pairs, sizeof *routes->in_rows);
    routes->out_rows = mem_alloc(pairs, sizeof *routes->out_rows);
    routes->sent = mem_alloc(forward->experts, sizeof *routes->sent);
    routes->next = mem_alloc(forward->experts, sizeof *routes->next);
    routes->arrived = mem_alloc((size_t)pool->ep * held, sizeof *routes->arrived);
    routes->first = mem_alloc((size_t)held + 1, sizeof *routes->first);
}

void forward_close_routes(ForwardRoutes *routes) {
    mem_free(routes->experts);
    mem_free(routes->weights);
    mem_free(routes->order);
    mem_free(routes->in_rows);
    mem_free(routes->out_rows);
    mem_free(routes->sent);
    mem_free(routes->next);
    mem_free(routes->arrived);
    mem_free(routes->first);
    *routes = (ForwardRoutes){0};
}
