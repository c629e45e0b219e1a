// Opens the model for a plan, and runs the operations of a schedule with it.
//
// Invariant: what is not computed exactly is refused by name when the model is opened or the run
// prepared, never in the middle. State between runs: caches, the tokens sampled last, and how far
// the texts are.
#include "exec/forward.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "exec/forward_internal.h"
#include "exec/kernel/convert.h"
#include "exec/kernel/gemm.h"
#include "model/base/wide.h"
#include "model/plan/memory_cache.h"

#define PARTS_MAX POOL_CHUNKS_MAX

// ---- What is refused.

static bool check_kind(const Arch *arch, const AttentionSpec *spec, Err *err) {
    if (spec->kind != ATTENTION_GQA && spec->kind != ATTENTION_MLA)
        return err_set(err, "%s: no kernel for %s attention", arch->name,
                       arch_attention_names[spec->kind]);
    if (spec->index_heads > 0 || spec->output_gate || spec->per_layer > 1)
        return err_set(err, "%s: no kernel for attention with %s", arch->name,
                       spec->index_heads > 0 ? "an indexer"
                       : spec->output_gate   ? "an output gate"
                                             : "several blocks in a layer");
    return true;
}

static bool check_attention(const Arch *arch, const Pool *pool, Err *err) {
    const AttentionSpec *spec = &arch->attentions[0];
    for (uint32_t i = 0; i < arch->attention_count; i++)
        if (!check_kind(arch, &arch->attentions[i], err)) return false;
    if (arch->attention_count != 1)
        return err_set(err,
                       "%s: no kernels for layers whose attention differs (%u kinds, of %u heads "
                       "and windows of %u, and of %u heads and windows of %u)",
                       arch->name, arch->attention_count, spec[0].heads, spec[0].window,
                       spec[1].heads, spec[1].window);
    if (spec->wide_norm && pool->tp > 1)
        return err_set(err, "%s: no kernel for norms over all heads that %u tp ranks share",
                       arch->name, pool->tp);
    if (spec->kv_heads > 0 && spec->kind == ATTENTION_GQA && spec->kv_heads < pool->tp &&
        pool->tp % spec->kv_heads != 0)
        return err_set(err, "%u tp ranks do not share %u kv heads evenly", pool->tp,
                       spec->kv_heads);
    return true;
}

static bool check_mlps(const Arch *arch, Err *err) {
    uint32_t experts = 0, top_k = 0;
    for (uint32_t i = 0; i < arch->mlp_count; i++) {
        const MlpSpec *mlp = &arch->mlps[i];
        if (mlp->matrices != 3 || mlp->latent > 0 || mlp->zero_experts > 0)
            return err_set(err, "%s: no kernel for feed-forward parts with %s", arch->name,
                           mlp->matrices != 3 ? "two matrices"
                           : mlp->latent > 0  ? "a latent space"
                                              : "experts that compute nothing");
        if (mlp->experts == 0) continue;
        if (experts > 0 && (mlp->experts != experts || mlp->top_k != top_k))
            return err_set(err, "%s: no kernel for layers of %u and %u experts", arch->name,
                           experts, mlp->experts);
        if (mlp->groups > ROUTER_GROUPS_MAX)
            return err_set(err, "%s: no kernel for %u groups of experts", arch->name, mlp->groups);
        experts = mlp->experts;
        top_k = mlp->top_k;
    }
    return true;
}

static bool check_pool(const Arch *arch, const Pool *pool, Err *err) {
    if (pool->cp > 1 || pool->dcp > 1)
        return err_set(err, "no kernel for context parallelism (cp %u, dcp %u)", pool->cp,
                       pool->dcp);
    if (pool->redundant_experts > 0 || pool->expert_placement != EXPERT_PLACEMENT_LINEAR)
        return err_set(err, "no kernel for experts that are placed by EPLB");
    if (!convert_knows(pool->kv_format))
        return err_set(err, "no kernel for caches in %s", numfmt_names[pool->kv_format]);
    NumFmt format = arch->dtype == NUMFMT_F32 ? NUMFMT_F32 : NUMFMT_BF16;
    return pool->dispatch_format == NUMFMT_BF16 || pool->dispatch_format == format ||
           err_set(err, "no kernel for dispatch in %s", numfmt_names[pool->dispatch_format]);
}

static bool check_options(const ForwardOptions *options, Err *err) {
    return options->context > options->cached ||
           err_set(err, "a context of %u tokens, of which %u are cached", options->context,
                   options->cached);
}

bool forward_check(const Arch *arch, const Pool *pool, Err *err) {
    return check_attention(arch, pool, err) && check_mlps(arch, err) &&
           check_pool(arch, pool, err) && weights_check(arch, err);
}

// ---- Opening.

static void size_model(Forward *forward) {
    const Arch *arch = forward->arch;
    const AttentionSpec *spec = &arch->attentions[0];
    bool is_mla = spec->kind == ATTENTION_MLA;
    uint32_t tp = forward->pool->tp;
    uint32_t kv_heads = spec->kv_heads > tp ? spec->kv_heads / tp : 1;
    for (uint32_t i = 0; i < arch->layers; i++)
        forward->moe_layers += arch->mlps[arch->kinds[arch->kind_of_layer[i]].mlp].experts > 0;
    for (uint32_t i = 0; i < arch->mlp_count; i++) {
        if (arch->mlps[i].experts == 0) continue;
        forward->experts = arch->mlps[i].experts;
        forward->top_k = arch->mlps[i].top_k;
    }
    forward->cache_width =
        is_mla ? spec->kv_lora + spec->rope : kv_heads * (spec->head_dim + spec->value_dim);
    forward->attention_scale =
        (float)(rope_attention_scale(&forward->config.rope) / sqrt((double)spec->head_dim));
    forward->format = arch->dtype == NUMFMT_F32 ? NUMFMT_F32 : NUMFMT_BF16;
    forward->near = forward->format == NUMFMT_F32 ? FORWARD_NEAR : FORWARD_NEAR_BF16;
    forward->cache_format = memory_cache_format(forward->pool, arch->dtype);
    forward->routing = lower_routing(forward->pool, arch);
    forward->token_ways = forward->routing == LOWER_LOCAL ? 1 : tp;
    forward->row_B = numfmt_bytes(forward->format, arch->hidden);
}

static void open_rank(Forward *forward, uint32_t number) {
    const Pool *pool = forward->pool;
    ForwardRank *rank = arena_alloc(&forward->arena, 1, sizeof *rank);
    uint32_t replica = number / pool_replica_ranks(pool);
    WeightPlace place = weights_place(pool, number);
    pool_stage_layers(pool, forward->arch->layers, place.stage, &rank->weights.first_layer,
                      &rank->weights.layer_count);
    rank->rank = number;
    rank->is_held = true;
    rank->stage = place.stage;
    rank->stage_rank = number % pool_stage_ranks(pool);
    rank->group = replica * pool->dp + rank->stage_rank / pool->tp;
    rank->tp_index = place.tp_index;
    rank->least_margin = INFINITY;
    rank->counts = mem_alloc((size_t)forward->moe_layers * forward->experts, sizeof *rank->counts);
    rank->routes = arena_alloc(&forward->arena, PARTS_MAX, sizeof *rank->routes);
    forward->ranks[number] = rank;
}

static WeightPlace place_of(const Forward *forward, const ForwardRank *rank) {
    const uint32_t *other = forward->options.weights_of;
    return weights_place(forward->pool, other != NULL ? other[rank->rank] : rank->rank);
}

bool forward_open(const Arch *arch, const ForwardConfig *config, const Pool *pool,
                  const ForwardOptions *options, Forward **out, Err *err) {
    if (!forward_check(arch, pool, err) || !check_options(options, err)) return false;
    Forward *forward = mem_alloc(1, sizeof *forward);
    *forward = (Forward){.arch = arch, .pool = pool, .config = *config, .options = *options};
    gemm_start();
    size_model(forward);
    forward->ranks = arena_alloc(&forward->arena, pool_ranks(pool), sizeof *forward->ranks);
    for (uint32_t i = 0; i < pool_ranks(pool); i++) open_rank(forward, i);
    *out = forward;
    return true;
}

static void close_rank(ForwardRank *rank) {
    weights_free(&rank->weights);
    for (uint32_t i = 0; i < PARTS_MAX; i++) forward_close_routes(&rank->routes[i]);
    for (uint32_t i = 0; i < SCRATCH_COUNT; i++) mem_free(rank->scratch[i]);
    mem_free(rank->cache);
    mem_free(rank->sampled);
    mem_free(rank->counts);
}

void forward_close(Forward *forward) {
    if (forward == NULL) return;
    for (uint32_t i = 0; i < pool_ranks(forward->pool); i++) close_rank(forward->ranks[i]);
    rope_free(&forward->rope);
    mem_free(forward->base);
    mem_free(forward->logits);
    mem_free(forward->has_logits);
    arena_free(&forward->arena);
    mem_free(forward);
}

// ---- Preparing a run.

// A forced run deals as many pairs to every rank that sends some (share.h): the schedule and the
// Load have one size for all of them.
static bool check_dealt(const Forward *forward, const Job *job, Err *err) {
    const Pool *pool = forward->pool;
    bool deals = forward->options.routing == FORWARD_FORCED &&
                 forward->routing == LOWER_ALL_TO_ALL && forward->token_ways > 1;
    for (OpId id = 0; deals && id < job->schedule->op_count; id++) {
        const Op *op = &job->schedule->ops[id];
        const Extent *size = forward_part(op);
        uint32_t parts = size->parts > 1 ? size->parts : 1;
        uint64_t tokens = step_shape_part(&job->shape, size->part, parts).tokens;
        if (tokens % pool->tp != 0)
            return err_set(err,
                           "%llu tokens%s do not divide over %u tp ranks: a load deals equally "
                           "many pairs to each, expected --routing free",
                           (unsigned long long)tokens, parts > 1 ? " of a part" : "", pool->tp);
        if (op->kind == OP_COLLECTIVE && op->comm.split != SPLIT_EVEN &&
            op->comm.element != forward->row_B)
            return err_set(err,
                           "%u choices do not divide over %u tp ranks: a load deals equally many "
                           "pairs to each, expected --routing free",
                           forward->top_k * pool->moe_tp, pool->tp);
    }
    return true;
}

// Micro-batches that the run has tokens for.
static uint32_t batches_of(const Forward *forward, const Job *job) {
    uint32_t passes = job->schedule->roles[0].passes, batches = forward->pool->micro_batches;
    return passes < batches ? passes : batches;
}

static uint64_t all_sequences(const Forward *forward, uint64_t sequences, uint32_t batches) {
    return (uint64_t)forward->pool->replicas * forward->pool->dp * batches * sequences;
}

static bool check_texts(const Forward *forward, const StepShape *shape, uint32_t batches,
                        Err *err) {
    uint64_t all = all_sequences(forward, shape->sequences, batches);
    return (all <= UINT32_MAX / 2 && forward->options.texts <= all) ||
           err_set(err, "%u texts, all ranks together have %llu sequences", forward->options.texts,
                   (unsigned long long)all);
}

static bool check_shape(const Forward *forward, const Job *job, Err *err) {
    const Pool *pool = forward->pool;
    const StepShape *shape = &job->shape;
    uint32_t passes = job->schedule->roles[0].passes, batches = batches_of(forward, job);
    if (job->schedule->rank_count != pool_ranks(pool))
        return err_set(err, "the schedule is for %u ranks, the plan for %u",
                       job->schedule->rank_count, pool_ranks(pool));
    if (shape->sequences == 0 || shape->tokens < shape->sequences || shape->tokens > UINT32_MAX)
        return err_set(err, "%llu tokens of %llu sequences, expected one or more of each",
                       (unsigned long long)shape->tokens, (unsigned long long)shape->sequences);
    const Load *load = job->load;
    if (load->kind != LOAD_UNIFORM && load->layers != 1 && load->layers != forward->moe_layers)
        return err_set(err, "the load is of %u layers, expected the %u MoE layers of %s, or one",
                       load->layers, forward->moe_layers, forward->arch->name);
    if (passes % batches != 0)
        return err_set(err, "%u passes do not divide over %u micro-batches", passes, batches);
    if (forward->sequences > 0 &&
        (forward->sequences != shape->sequences || forward->batches != batches))
        return err_set(err, "%u x %llu sequences, the run before had %u x %u", batches,
                       (unsigned long long)shape->sequences, forward->batches, forward->sequences);
    return check_texts(forward, shape, batches, err) && check_dealt(forward, job, err);
}

static bool expands(const Schedule *schedule) {
    for (OpId id = 0; id < schedule->op_count; id++)
        if (schedule->ops[id].compute.work == WORK_EXPAND) return true;
    return false;
}

// Floats of scratch of attention on one rank: scores and what lies behind them
// (attention_mla_scratch), queries that are turned, and keys and values of whole contexts.
static uint64_t attention_floats(const Forward *forward, const Job *job) {
    const AttentionSpec *spec = &forward->arch->attentions[0];
    const StepShape *shape = &job->shape;
    uint64_t context = forward->options.context, heads = spec->heads / forward->pool->tp;
    uint64_t sequences = shape->sequences > 0 ? shape->sequences : 1;
    uint64_t rows = wide_div_up_u64(shape->tokens, sequences); // of the longest sequence
    uint64_t wide = heads * ((uint64_t)spec->head_dim + spec->value_dim);
    uint64_t floats = wide_mul_saturate(rows > heads ? rows : heads, context);
    floats = wide_add_saturate(floats, wide_mul_saturate(shape->tokens, wide));
    if (spec->kind != ATTENTION_MLA) return floats;
    uint64_t latent = (uint64_t)spec->kv_lora + spec->rope;
    uint64_t queries = wide_mul_saturate(rows, heads * latent);
    uint64_t keys = wide_mul_saturate(context, spec->head_dim);
    floats = wide_add_saturate(floats, queries > keys ? queries : keys);
    if (!expands(job->schedule)) return floats;
    uint64_t texts = wide_mul_saturate(shape->sequences, context);
    return wide_add_saturate(floats, wide_mul_saturate(texts, wide));
}

static void hold(void *self, const uint32_t *ranks, uint32_t rank_count) {
    Forward *forward = self;
    for (uint32_t i = 0; i < pool_ranks(forward->pool); i++) forward->ranks[i]->is_held = false;
    for (uint32_t i = 0; i < rank_count; i++)
        if (ranks[i] < pool_ranks(forward->pool)) forward->ranks[ranks[i]]->is_held = true;
}

static uint64_t weights_floats(const Forward *forward, const ForwardRank *rank) {
    return rank->weights.layers != NULL
               ? rank->weights.elements
               : weights_count(forward->arch, forward->pool, place_of(forward, rank));
}

// Floats of one token of the caches on a rank, in all its layers.
static uint64_t cache_floats(const Forward *forward, const ForwardRank *rank) {
    return wide_mul_saturate(forward->cache_width, rank->weights.layer_count);
}

// Weights, caches and scratch of attention on each rank of this process; of all together angles and
// logits.
static uint64_t memory_B(void *self, const Job *job, Text *parts) {
    enum { OF_WEIGHTS, OF_CACHES, OF_LOGITS, OF_ATTENTION, PART_COUNT };
    static const char *const names[] = {"weights", "caches", "logits", "attention"};
    const Forward *forward = self;
    uint32_t batches = batches_of(forward, job);
    uint64_t sequences = job->shape.sequences, context = forward->options.context;
    uint64_t rounds = job->schedule->roles[0].passes / batches, bytes = 0, floats[PART_COUNT] = {0};
    uint64_t all = wide_mul_saturate((uint64_t)forward->pool->replicas * forward->pool->dp,
                                     wide_mul_saturate(batches, sequences));
    uint64_t cached = wide_mul_saturate(wide_mul_saturate(batches, sequences), context);
    uint64_t scratch = attention_floats(forward, job);
    floats[OF_ATTENTION] = wide_mul_saturate(context, forward->config.rope.width); // angles
    floats[OF_LOGITS] = wide_mul_saturate(wide_mul_saturate(all, rounds), forward->arch->vocab);
    for (uint32_t i = 0; i < pool_ranks(forward->pool); i++) {
        const ForwardRank *rank = forward->ranks[i];
        if (!rank->is_held) continue;
        uint64_t cache = wide_mul_saturate(cached, cache_floats(forward, rank));
        floats[OF_WEIGHTS] = wide_add_saturate(floats[OF_WEIGHTS], weights_floats(forward, rank));
        floats[OF_CACHES] = wide_add_saturate(floats[OF_CACHES], cache);
        floats[OF_ATTENTION] = wide_add_saturate(floats[OF_ATTENTION], scratch);
    }
    for (uint32_t i = 0; i < PART_COUNT; i++) {
        uint64_t part_B = wide_mul_saturate(floats[i], sizeof(float));
        bytes = wide_add_saturate(bytes, part_B);
        text_addf(parts, "%s%s %" PRIu64, i == 0 ? "" : ", ", names[i], part_B);
    }
    return bytes;
}

static uint32_t base_of(const Forward *forward, uint32_t sequence) {
    return forward->base == NULL ? forward_cached(forward, sequence) : forward->base[sequence];
}

static bool check_context(const Forward *forward, const Job *job, Err *err) {
    const StepShape *shape = &job->shape;
    uint64_t rounds = job->schedule->roles[0].passes / batches_of(forward, job);
    for (uint32_t i = 0; i < shape->sequences; i++) {
        uint64_t length = shape->tokens / shape->sequences + (i < shape->tokens % shape->sequences);
        uint64_t done = forward->base == NULL ? 0 : forward->rounds * forward_length(forward, i);
        uint64_t end = base_of(forward, i) + done + rounds * length;
        if (end > forward->options.context)
            return err_set(err, "texts of %llu tokens in a context of %u", (unsigned long long)end,
                           forward->options.context);
    }
    return true;
}

// Whether a role's first stage gets the sampled tokens by a message.
static bool receives_tokens(const Schedule *schedule) {
    for (OpId id = 0; id < schedule->op_count; id++)
        if (schedule->ops[id].kind == OP_RECV && schedule->ops[id].comm.lag > 0) return true;
    return false;
}

static bool say_works(const Schedule *schedule, TimelineFileWork *works, Err *err) {
    for (OpId id = 0; id < schedule->op_count; id++) {
        const Op *op = &schedule->ops[id];
        char text[SCHEDULE_TEXT_MAX];
        if (schedule_op_is_comm(op->kind) || op->kind == OP_COPY) continue;
        if (op->compute.work == WORK_NONE)
            return err_set(err, "%s: no kernel for it", schedule_op_text(schedule, id, text));
        if (op->stream != LOWER_STREAM_COMPUTE)
            return err_set(err, "%s: computes on stream %u, expected %u",
                           schedule_op_text(schedule, id, text), op->stream, LOWER_STREAM_COMPUTE);
        works[id] = TIMELINE_FILE_MEASURED;
    }
    return true;
}

static void open_run(Forward *forward, ForwardRank *rank) {
    uint64_t texts = (uint64_t)forward->batches * forward->sequences;
    uint64_t rows = rank->weights.layer_count * texts * forward->options.context;
    if (rank->weights.layers == NULL)
        weights_build(forward->arch, forward->pool, forward->options.seed, place_of(forward, rank),
                      &rank->weights);
    if (rank->cache == NULL) {
        rank->cache = mem_alloc(rows * forward->cache_width, sizeof *rank->cache);
        rank->sampled = mem_alloc(texts, sizeof *rank->sampled);
        forward_fill_cache(forward, rank);
    }
    memset(rank->counts, 0, (size_t)forward->moe_layers * forward->experts * sizeof *rank->counts);
    for (uint32_t i = 0; forward->experts > 0 && i < PARTS_MAX; i++) {
        forward_close_routes(&rank->routes[i]);
        if (i < forward->parts) forward_open_routes(forward, rank, &rank->routes[i]);
    }
}

void forward_size_run(Forward *forward, const Job *job) {
    const StepShape *shape = &job->shape;
    uint32_t sequences = (uint32_t)shape->sequences;
    uint32_t *base = mem_alloc(sequences, sizeof *base);
    for (uint32_t i = 0; i < sequences; i++) {
        base[i] = base_of(forward, i);
        if (forward->base != NULL) base[i] += forward->rounds * forward_length(forward, i);
    }
    mem_free(forward->base);
    forward->base = base;
    forward->job = job;
    forward->sequences = sequences;
    forward->per_pass = (uint32_t)(shape->tokens / sequences);
    forward->longer = (uint32_t)(shape->tokens % sequences);
    forward->batches = batches_of(forward, job);
    forward->texts = forward->options.texts;
    if (forward->texts == 0)
        forward->texts = (uint32_t)all_sequences(forward, sequences, forward->batches);
    forward->rounds = job->schedule->roles[0].passes / forward->batches;
    forward->feeds_back = receives_tokens(job->schedule);
    forward->parts = forward->pool->moe_chunks > 2 ? forward->pool->moe_chunks : 2;
    uint64_t count = (uint64_t)forward->texts * forward->rounds;
    mem_free(forward->logits);
    mem_free(forward->has_logits);
    forward->logits = mem_alloc(count * forward->arch->vocab, sizeof *forward->logits);
    forward->has_logits = mem_alloc(count, sizeof *forward->has_logits);
}

static bool prepare(void *self, const Job *job, TimelineFileWork *works, Err *err) {
    Forward *forward = self;
    if (!check_shape(forward, job, err) || !check_context(forward, job, err) ||
        !say_works(job->schedule, works, err))
        return false;
    if (forward->rope.cosines == NULL)
        rope_build(&forward->config.rope, forward->options.context, &forward->rope);
    forward_size_run(forward, job);
    for (uint32_t i = 0; i < pool_ranks(forward->pool); i++)
        if (forward->ranks[i]->is_held) open_run(forward, forward->ranks[i]);
    return true;
}

// ---- Running.

static bool run_product(ForwardStep *step, WeightSlot slot) {
    return forward_product(step, slot, step->tokens, forward_weight(step, slot)->k);
}

static bool run_queries(ForwardStep *step) {
    bool has_latent = forward_weight(step, WEIGHT_Q_UP)->n > 0;
    return has_latent ? forward_product(step, WEIGHT_Q_UP, step->tokens,
                                        forward_weight(step, WEIGHT_LATENTS)->n)
                      : run_product(step, WEIGHT_QKV);
}

static bool run_work(ForwardStep *step) {
    bool shared = step->op->op_class == OP_CLASS_SHARED;
    switch (step->op->compute.work) {
    case WORK_EMBED: return forward_embed(step);
    case WORK_BEGIN_NORM: return forward_begin_norm(step);
    case WORK_MLP_NORM:
    case WORK_NEXT_NORM: return forward_norm(step);
    case WORK_QKV: return run_product(step, WEIGHT_QKV);
    case WORK_ROPE_CACHE: return forward_rope_cache(step);
    case WORK_GQA: return forward_gqa(step);
    case WORK_LATENTS: return run_product(step, WEIGHT_LATENTS);
    case WORK_LATENT_CACHE: return forward_latent_cache(step);
    case WORK_QUERIES: return run_queries(step);
    case WORK_Q_ABSORB:
    case WORK_V_ABSORB: return forward_absorb(step);
    case WORK_MLA_ABSORBED: return forward_mla_absorbed(step);
    case WORK_EXPAND: return forward_expand(step);
    case WORK_MLA_EXPANDED: return forward_mla_expanded(step);
    case WORK_ATTENTION_OUT: return run_product(step, WEIGHT_OUT);
    case WORK_GATE_UP: return run_product(step, shared ? WEIGHT_SHARED_GATE_UP : WEIGHT_GATE_UP);
    case WORK_SWIGLU: return forward_swiglu(step);
    case WORK_DOWN: return run_product(step, shared ? WEIGHT_SHARED_DOWN : WEIGHT_DOWN);
    case WORK_ROUTER: return forward_router(step);
    case WORK_TOP_K: return forward_top_k(step);
    case WORK_PERMUTE: return forward_permute(step);
    case WORK_EXPERTS_GATE_UP:
    case WORK_EXPERTS_DOWN: return forward_experts(step);
    case WORK_EXPERTS_SWIGLU: return forward_experts_swiglu(step);
    case WORK_WEIGHTED_SUM: return forward_weighted_sum(step);
    case WORK_EXPERT_SUM: return forward_expert_sum(step);
    case WORK_HEAD: return forward_head(step);
    case WORK_SAMPLE: return forward_sample(step);
    case WORK_NONE:
    case OP_WORK_COUNT: break;
    }
    return err_set(step->err, "no kernel for it");
}

static bool run(void *self, const OpInstance *instance, Err *err) {
    ForwardStep step = forward_step(self, instance, err);
    return run_work(&step);
}

static bool routed_load(void *self, Load *out, Err *err) {
    return forward_load(self, out, err);
}

ComputeUnit forward_unit(Forward *forward) {
    bool free_run = forward->options.routing == FORWARD_FREE;
    forward->vtable = (Routing){.self = forward,
                                .rows = forward_rows,
                                .arrives = forward_arrives,
                                .room_B = forward_room_B,
                                .load = forward->experts > 0 ? routed_load : NULL,
                                .row_B = forward->row_B};
    return (ComputeUnit){.name = "model",
                         .self = forward,
                         .hold = hold,
                         .prepare = prepare,
                         .memory_B = memory_B,
                         .run = run,
                         .routing = free_run ? &forward->vtable : NULL,
                         .share_B = forward_share_B,
                         .leave = forward_leave};
}

// ---- Results.

uint32_t forward_texts(const Forward *forward) {
    return forward->texts;
}

uint32_t forward_rounds(const Forward *forward) {
    return forward->rounds;
}

const float *forward_logits(const Forward *forward, uint32_t text, uint32_t round) {
    if (text >= forward->texts || round >= forward->rounds) return NULL;
    uint64_t at = (uint64_t)text * forward->rounds + round;
    return forward->has_logits[at] ? forward->logits + at * forward->arch->vocab : NULL;
}

ForwardTies forward_ties(const Forward *forward) {
    ForwardTies ties = {.within = forward->near, .least_margin = INFINITY};
    for (uint32_t i = 0; i < pool_ranks(forward->pool); i++) {
        const ForwardRank *rank = forward->ranks[i];
        ties.choices += rank->choices;
        ties.near += rank->near;
        if (rank->least_margin < ties.least_margin) ties.least_margin = rank->least_margin;
    }
    return ties;
}

// Sources are the EP positions where tokens travel to their experts; replicas run side by side.
bool forward_load(const Forward *forward, Load *out, Err *err) {
    bool travels = forward->routing == LOWER_ALL_TO_ALL;
    uint32_t sources = travels ? forward->pool->ep : 1, experts = forward->experts;
    if (experts == 0) return err_set(err, "%s has no experts", forward->arch->name);
    uint64_t *tokens = mem_alloc((size_t)forward->moe_layers * sources * experts, sizeof *tokens);
    for (uint32_t i = 0; i < pool_ranks(forward->pool); i++) {
        const ForwardRank *rank = forward->ranks[i];
        uint32_t source = travels ? rank->stage_rank / forward->pool->moe_tp : 0;
        for (uint32_t layer = 0; layer < forward->moe_layers; layer++)
            for (uint32_t expert = 0; expert < experts; expert++)
                tokens[((size_t)layer * sources + source) * experts + expert] +=
                    rank->counts[(size_t)layer * experts + expert];
    }
    bool good = load_of_counts(forward->moe_layers, sources, experts, tokens, "a run of moesim-run",
                               out, err);
    mem_free(tokens);
    return good;
}
