// Attention with a state of constant size instead of a cache: delta rules, lightning attention,
// state-space models.
//
// Invariant: reads `hidden` (normed, all tokens of the attention-DP rank), returns the heads of
// this rank. The state of a sequence, in f32, and the tails of its convolutions are read and
// written once per sequence and step. Arithmetic: one token at a time by the recurrence, in decode;
// in chunks of C tokens in prefill, where products inside a chunk cost C per token and dimension
// (half of it is masked) and the state is read and updated once per chunk (2 flop per token and
// element for each). Sources: Kimi Linear, arXiv:2510.26692 (KDA: 6 d d + 3 C d + C C flop per
// token and head); Yang, Kautz, Hatamizadeh, "Gated Delta Networks", arXiv:2412.06464 (the same
// form); Lightning Attention-2, arXiv:2401.04658, section 3; Dao and Gu, arXiv:2405.21060, section
// 6 (Mamba-2); Gu and Dao, arXiv:2312.00752, section 3.3 (Mamba-1: a scan, no products).
#include "model/plan/lower_attend.h"

#define F32_B 4
#define USE   LOWER_USE

// Tokens of a chunk: flash-linear-attention and the Kimi Linear report; BLOCK of Lightning
// Attention-2; chunk_size in the configs of Nemotron-H and Nemotron-3.
#define DELTA_CHUNK     64
#define LIGHTNING_CHUNK 256
#define MAMBA2_CHUNK    128

// Flop per state element of one recurrent step: decay 1, read by k 2, rank-1 update 2, read by q 2;
// without the delta rule, decay 1, update 2, read 2; with a decay of each element (Mamba-1) its
// exponent 1 and exponential 1 more.
#define DELTA_STEP_FLOP  7
#define LINEAR_STEP_FLOP 5
#define SCAN_STEP_FLOP   7

// ---- What goes in.

static const char *kind_name(AttentionKind kind, const char *kda, const char *other) {
    return kind == ATTENTION_KDA ? kda : other;
}

// Short convolutions over the last tokens; their tails are state.
static BufferId add_convolution(Lower *lower, BufferId in) {
    const AttentionSpec *spec = lower_spec(lower);
    if (spec->conv == 0) return in;
    uint64_t filter_B, channels = lower_conv_channels(lower, &filter_B);
    uint64_t tail_B = channels * (spec->conv - 1) * lower->act_B;
    BufferId out = lower_buffer(lower, "convolved", lower_all(lower->act_B * channels));
    Extent bytes = {
        .fixed = filter_B, .per_token = 2 * lower->act_B * channels, .per_sequence = 2 * tail_B};
    const char *name = kind_name(spec->kind, "kda_convolution", "convolution");
    lower_memory(lower, OP_CLASS_ATTENTION, name, bytes);
    lower_read(lower, in);
    lower_write(lower, out);
    return out;
}

// ---- The recurrence.

// Flop of one token in all heads of this rank.
static uint64_t step_flop(const Lower *lower) {
    const AttentionSpec *spec = lower_spec(lower);
    uint64_t heads = lower_heads(lower), value = spec->value_dim;
    switch (spec->kind) {
    case ATTENTION_KDA:
    case ATTENTION_GATED_DELTA: return DELTA_STEP_FLOP * heads * spec->head_dim * value;
    case ATTENTION_LIGHTNING: return LINEAR_STEP_FLOP * heads * spec->head_dim * value;
    case ATTENTION_MAMBA1: return SCAN_STEP_FLOP * heads * value * spec->state_dim;
    case ATTENTION_MAMBA2: return LINEAR_STEP_FLOP * heads * value * spec->state_dim;
    case ATTENTION_GQA:
    case ATTENTION_MLA:
    case ATTENTION_COMPRESSED:
    case ATTENTION_NONE:
    case ATTENTION_KIND_COUNT: break;
    }
    return 0;
}

static uint64_t chunk_flop(const Lower *lower) {
    const AttentionSpec *spec = lower_spec(lower);
    uint64_t heads = lower_heads(lower), key = spec->head_dim, value = spec->value_dim;
    uint32_t tp = lower->pool->tp;
    uint64_t groups = spec->groups > tp ? spec->groups / tp : 1;
    switch (spec->kind) {
    case ATTENTION_KDA:
    case ATTENTION_GATED_DELTA:
        return heads *
               (6 * key * value + DELTA_CHUNK * (2 * key + value) + DELTA_CHUNK * DELTA_CHUNK);
    case ATTENTION_LIGHTNING: return heads * (4 * key * value + LIGHTNING_CHUNK * (key + value));
    case ATTENTION_MAMBA2: // the products of B and C are those of a group of heads
        return heads * (4 * value * spec->state_dim + MAMBA2_CHUNK * value) +
               groups * MAMBA2_CHUNK * spec->state_dim;
    case ATTENTION_MAMBA1: return step_flop(lower);
    case ATTENTION_GQA:
    case ATTENTION_MLA:
    case ATTENTION_COMPRESSED:
    case ATTENTION_NONE:
    case ATTENTION_KIND_COUNT: break;
    }
    return 0;
}

// Elements of the state of one head.
static uint64_t state_elements(const AttentionSpec *spec) {
    uint64_t rows = spec->state_dim > 0 ? spec->state_dim : spec->head_dim;
    return rows * spec->value_dim;
}

// `beside`: what it reads besides the inputs of the heads, or SCHEDULE_NONE.
static BufferId add_recurrence(Lower *lower, BufferId in, BufferId beside) {
    const AttentionSpec *spec = lower_spec(lower);
    uint64_t heads = lower_heads(lower);
    bool steps = lower->phase == PHASE_DECODE || spec->kind == ATTENTION_MAMBA1;
    BufferId out = lower_buffer(lower, "heads", lower_all(lower->act_B * heads * spec->value_dim));
    Op op = {.kind = steps ? OP_MEMORY : OP_ATTENTION};
    op.name = steps ? kind_name(spec->kind, "kda_step", "state_step")
                    : kind_name(spec->kind, "kda_chunks", "state_chunks");
    op.compute.flop.per_token = steps ? step_flop(lower) : chunk_flop(lower);
    if (beside != SCHEDULE_NONE)
        op.compute.bytes.per_token = lower->schedule->buffers[beside].bytes.per_token;
    op.compute.bytes.per_sequence = 2 * F32_B * heads * state_elements(spec);
    lower_attend(lower, &op, in, out);
    if (beside != SCHEDULE_NONE) lower_read(lower, beside);
    return out;
}

// ---- By kind.

// The decay of each channel and the step size of each head: low-rank, then one whole width.
static BufferId add_kda(Lower *lower) {
    BufferId qkvg = lower_project_uses(lower, "qkvg_proj", lower->hidden, USE(HEADS));
    BufferId ranks =
        lower_project_uses(lower, "f_a_b_proj", lower->hidden, USE(LATENT) | USE(GATE));
    BufferId decay = lower_project_uses(lower, "f_b_proj", ranks, USE(UP));
    BufferId convolved = add_convolution(lower, qkvg);
    BufferId heads = add_recurrence(lower, convolved, decay);
    BufferId gates = qkvg;
    if (lower_attention_weights(lower, USE(GATE_UP)).count > 0)
        gates = lower_project_uses(lower, "g_b_proj", ranks, USE(GATE_UP));
    return lower_gate_heads(lower, heads, gates); // norm of each head in the same kernel
}

// Inputs, gate, and all that the recurrence needs are one projection of the hidden vector. The norm
// of the heads is in the kernel of their gate.
static BufferId add_projected(Lower *lower) {
    BufferId in = lower_project_uses(lower, "in_proj", lower->hidden, USE(HEADS));
    BufferId heads = add_recurrence(lower, add_convolution(lower, in), SCHEDULE_NONE);
    BufferId sums = SCHEDULE_NONE;
    if (lower_spec(lower)->wide_norm)
        sums = lower_norm_sums(lower, heads, lower->schedule->buffers[heads].bytes.per_token, 1);
    BufferId out = lower_gate_heads(lower, heads, in);
    if (sums != SCHEDULE_NONE) lower_read(lower, sums);
    return out;
}

// Step sizes, B and C come from the channels after the convolution: a sum over tp, because it is
// them that are cut.
static BufferId add_mamba1(Lower *lower) {
    BufferId in = lower_project_uses(lower, "in_proj", lower->hidden, USE(HEADS));
    BufferId channels = add_convolution(lower, in);
    BufferId partial = lower_project_uses(lower, "x_proj", channels, USE(STEP));
    BufferId inputs = lower_all_sum(lower, "x_all_reduce", partial);
    BufferId steps = lower_project_uses(lower, "dt_proj", inputs, USE(UP));
    return lower_gate_heads(lower, add_recurrence(lower, channels, steps), in);
}

BufferId lower_state(Lower *lower) {
    switch (lower_spec(lower)->kind) {
    case ATTENTION_KDA: return add_kda(lower);
    case ATTENTION_MAMBA1: return add_mamba1(lower);
    case ATTENTION_GATED_DELTA:
    case ATTENTION_LIGHTNING:
    case ATTENTION_MAMBA2: return add_projected(lower);
    case ATTENTION_GQA:
    case ATTENTION_MLA:
    case ATTENTION_COMPRESSED:
    case ATTENTION_NONE:
    case ATTENTION_KIND_COUNT: break;
    }
    return lower->hidden;
}
