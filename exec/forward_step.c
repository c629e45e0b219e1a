// One operation while it runs: which tokens and layer it is about, and where its slices lie.
//
// Invariant: no kernel touches memory outside the slices of its operation (their buffers, in a free
// run, for what depends on routing).
#include <string.h>

#include "exec/forward_internal.h"
#include "exec/kernel/convert.h"
#include "model/base/hash.h"

// ---- Tokens.

const Extent *forward_part(const Op *op) {
    const Compute *compute = &op->compute;
    if (op->kind == OP_COLLECTIVE) return &op->comm.bytes;
    return compute->m.parts > 1 ? &compute->m : &compute->bytes;
}

static uint64_t tokens_before(const Job *job, uint32_t part, uint32_t parts) {
    uint64_t before = 0;
    for (uint32_t i = 0; i < part; i++) before += step_shape_part(&job->shape, i, parts).tokens;
    return before;
}

// Layers of the stage before this instance of its block. The first segment of a program is no
// layer.
static uint32_t layers_before(const OpInstance *instance) {
    const Schedule *schedule = instance->job->schedule;
    const Role *role = &schedule->roles[instance->cursor.role];
    uint32_t before = 0;
    for (uint32_t i = role->first_segment + 1; i < instance->cursor.segment; i++)
        before += schedule->segments[i].repeat;
    bool first = instance->cursor.segment == role->first_segment;
    return first ? 0 : before + instance->cursor.iteration;
}

ForwardStep forward_step(Forward *forward, const OpInstance *instance, Err *err) {
    const Op *op = job_op(instance);
    ForwardStep step = {.forward = forward,
                        .rank = forward->ranks[instance->rank],
                        .instance = instance,
                        .op = op,
                        .err = err};
    const Extent *part = forward_part(op);
    step.micro_batch = instance->cursor.pass % forward->batches;
    step.round = instance->cursor.pass / forward->batches;
    step.layer = step.rank->weights.first_layer + layers_before(instance) - op->compute.layers_back;
    step.tokens = forward->job->shape.tokens;
    if (part->parts > 1) {
        step.part = part->part;
        step.first = tokens_before(forward->job, part->part, part->parts);
        step.tokens = step_shape_part(&forward->job->shape, part->part, part->parts).tokens;
    }
    step.own = forward_own_tokens(forward, step.tokens, instance->rank, &step.own_first);
    return step;
}

uint32_t forward_cached(const Forward *forward, uint32_t sequence) {
    return forward->options.cached + (sequence < forward->options.cached_longer);
}

uint32_t forward_length(const Forward *forward, uint32_t sequence) {
    return forward->per_pass + (sequence < forward->longer);
}

ForwardToken forward_token(const ForwardStep *step, uint64_t index) {
    const Forward *forward = step->forward;
    uint64_t per_pass = forward->per_pass, long_tokens = forward->longer * (per_pass + 1);
    bool is_long = index < long_tokens;
    uint64_t behind = is_long ? index : index - long_tokens, length = per_pass + is_long;
    uint32_t sequence = (uint32_t)(behind / length) + (is_long ? 0 : forward->longer);
    uint32_t at = (uint32_t)(behind % length);
    return (ForwardToken){.sequence = sequence,
                          .position = forward->base[sequence] + step->round * (uint32_t)length + at,
                          .left = (uint32_t)length - at};
}

uint32_t forward_text_number(const Forward *forward, uint32_t group, uint32_t micro_batch,
                             uint32_t sequence) {
    const Pool *pool = forward->pool;
    uint32_t batch = group * forward->batches + micro_batch;
    uint64_t first, count;
    collective_chunk(forward->texts, 1, pool->replicas * pool->dp * forward->batches, batch, &first,
                     &count);
    if (sequence < count) return (uint32_t)first + sequence;
    return forward->texts + batch * forward->sequences + sequence;
}

uint32_t forward_step_text(const ForwardStep *step, uint32_t sequence) {
    return forward_text_number(step->forward, step->rank->group, step->micro_batch, sequence);
}

// ---- Shares of the tokens.

uint64_t forward_own_tokens(const Forward *forward, uint64_t tokens, uint32_t rank,
                            uint64_t *first) {
    uint32_t ways = forward->token_ways;
    uint64_t count;
    collective_chunk(tokens, 1, ways, rank % ways, first, &count);
    return count;
}

// Sizes by token of what ranks share: of a gather or a scatter all of it is the tokens of several
// ranks, an element of it one token; of messages and copies it is this rank's mean.
uint64_t forward_share_B(void *self, const OpInstance *instance, uint32_t rank) {
    const Forward *forward = self;
    const Op *op = job_op(instance);
    bool gathers = op->kind == OP_COLLECTIVE && op->comm.split == SPLIT_EVEN &&
                   (op->comm.collective == COLLECTIVE_ALL_GATHER ||
                    op->comm.collective == COLLECTIVE_REDUCE_SCATTER);
    bool passes = op->kind == OP_COPY || op->kind == OP_SEND || op->kind == OP_RECV;
    const Extent *size = op->kind == OP_COPY ? &op->compute.bytes : &op->comm.bytes;
    uint32_t ways = forward->token_ways, parts = size->parts > 1 ? size->parts : 1;
    uint64_t tokens = step_shape_part(&instance->job->shape, size->part, parts).tokens, first;
    if (tokens % ways == 0 || size->per_token == 0 || !(gathers || (passes && size->divide > 1)))
        return COMPUTE_AS_SCHEDULED;
    return forward_own_tokens(forward, tokens, rank, &first) *
           (gathers ? op->comm.element : size->per_token);
}

uint32_t forward_text(uint64_t seed, uint32_t vocab, uint32_t sequence, uint32_t position) {
    Digest hash = hash_u64(hash_string(HASH_START, "text"), seed);
    return (uint32_t)(hash_spread(hash_u64(hash_u64(hash, sequence), position)) % vocab);
}

// ---- The model.

const AttentionSpec *forward_attention_spec(const ForwardStep *step) {
    const Arch *arch = step->forward->arch;
    return &arch->attentions[arch->kinds[arch->kind_of_layer[step->layer]].attention];
}

const MlpSpec *forward_mlp_spec(const ForwardStep *step) {
    const Arch *arch = step->forward->arch;
    return &arch->mlps[arch->kinds[arch->kind_of_layer[step->layer]].mlp];
}

const Weight *forward_weight(const ForwardStep *step, WeightSlot slot) {
    const Weights *weights = &step->rank->weights;
    return &weights->layers[step->layer - weights->first_layer][slot];
}

// ---- Memory.

float *forward_scratch(ForwardRank *rank, ForwardScratch which, uint64_t count) {
    if (count > rank->scratch_room[which]) {
        mem_free(rank->scratch[which]);
        rank->scratch[which] = mem_alloc(count, sizeof(float));
        rank->scratch_room[which] = count;
    }
    if (rank->scratch[which] == NULL) rank->scratch[which] = mem_alloc(1, sizeof(float));
    return rank->scratch[which];
}

uint32_t forward_slice(const ForwardStep *step, SliceAccess access, uint32_t number) {
    const Schedule *schedule = step->instance->job->schedule;
    for (uint32_t i = 0; i < step->op->slice_count; i++) {
        if (schedule->slices[step->op->first_slice + i].access != access) continue;
        if (number-- == 0) return step->op->first_slice + i;
    }
    return SCHEDULE_NONE;
}

uint8_t *forward_bytes(ForwardStep *step, uint32_t slice, uint64_t offset, uint64_t bytes) {
    const OpInstance *instance = step->instance;
    if (slice == SCHEDULE_NONE) {
        err_set(step->err, "the schedule gives it too few slices");
        return NULL;
    }
    const JobRange *range = &instance->job->slices[slice];
    uint64_t room = range->count;
    if (step->forward->options.routing == FORWARD_FREE)
        room = instance->size_B[instance->job->schedule->slices[slice].buffer] - range->first;
    if (bytes > room || offset > room - bytes) {
        err_set(step->err, "needs %llu bytes of a slice that has %llu",
                (unsigned long long)(offset + bytes), (unsigned long long)room);
        return NULL;
    }
    return job_slice(instance, slice) + offset;
}

static uint64_t width_B(const ForwardStep *step) {
    return numfmt_bytes(step->forward->format, 1);
}

float *forward_in(ForwardStep *step, uint32_t slice, uint64_t first, uint64_t count,
                  ForwardScratch scratch) {
    NumFmt format = step->forward->format;
    uint8_t *bytes = forward_bytes(step, slice, first * width_B(step), count * width_B(step));
    if (bytes == NULL) return NULL;
    if (format == NUMFMT_F32) return (float *)(void *)bytes;
    float *values = forward_scratch(step->rank, scratch, count);
    convert_read(format, bytes, count, values);
    return values;
}

float *forward_out(ForwardStep *step, uint32_t slice, uint64_t count, ForwardScratch scratch) {
    uint8_t *bytes = forward_bytes(step, slice, 0, count * width_B(step));
    if (bytes == NULL) return NULL;
    if (step->forward->format == NUMFMT_F32) return (float *)(void *)bytes;
    return forward_scratch(step->rank, scratch, count);
}

bool forward_done(ForwardStep *step, uint32_t slice, uint64_t count, const float *values) {
    if (step->forward->format != NUMFMT_F32)
        convert_write(step->forward->format, values, count, job_slice(step->instance, slice));
    return true;
}
