// Bounds a step by its chains.
//
// An operation takes at least its price, and a collective at least ChooseTime.least_ps; operations
// of one stream follow each other, and an operation follows those that it waits for. The last
// operation of a block on the compute stream comes before the first of the next block there, so
// that the chain of a program is the sum of those of its blocks, each as often as it is repeated
// (the critical path of a graph: Kelley, "Critical-Path Planning and Scheduling", Operations
// Research 9, 1961, with the repeats folded).
//
// Roles. Which member ends a pass last is not known, so that up to the first collective of all
// ranks of a stage only the shortest chain of its roles counts; from there on the longest does,
// because all leave that collective together and the pass ends with the last of them.
//
// Stages. What a stage receives comes after the send of the stage before. Of several receives and
// sends (two batches) the pair with the shortest chain counts.
//
// Invariant: no simulated step is shorter, whatever it shares links with (tests/sim/test_bound.c).
#include "sim/search/bound.h"

#include "model/base/mem.h"
#include "model/base/num.h"
#include "model/machine/fabric_fault.h"
#include "sim/engine.h"

#define UNREACHED (-1)

// The longest chain from one operation to another of a block. SCHEDULE_NONE: from the first, to the
// last of the compute stream.
typedef struct Chain {
    OpId from, to;
    Time ps;
} Chain;

// Of the stages of one role: up to its first collective of all ranks of the stage, from there on,
// and as a whole.
typedef struct RoleChain {
    Time before, after, whole;
    bool meets;
} RoleChain;

typedef struct Walk {
    const BoundInput *in;
    const Schedule *schedule;
    Arena arena;
    Time *least;   // [op_count]
    Price *prices; // [op_count], of compute
    Time *ends;    // [op_count] of the chain in the block at hand; UNREACHED
    OpId *pred;    // [op_count] before it in that chain
} Walk;

// ---- Operations

static Time least_collective(Walk *walk, OpId id) {
    const BoundInput *in = walk->in;
    const Comm *comm = &walk->schedule->ops[id].comm;
    // nobody knows how little of a recorded load leaves its rank, nor what faults do to groups
    if (in->load->kind == LOAD_RECORDED && comm->split != SPLIT_EVEN) return 0;
    if (fabric_has_faults(in->fabric) || walk->schedule->groups[comm->group].size <= 1) return 0;
    ChooseTime time;
    bool is_known =
        choose_bound_of(in->chooser, in->arch, in->pool, in->shape, walk->schedule, id, &time);
    return is_known ? time.least_ps : 0;
}

static void find_times(Walk *walk) {
    const BoundInput *in = walk->in;
    const Schedule *schedule = walk->schedule;
    Submission priced = {.schedule = schedule, .shape = *in->shape, .load = *in->load};
    walk->least = arena_alloc(&walk->arena, schedule->op_count, sizeof *walk->least);
    walk->prices = arena_alloc(&walk->arena, schedule->op_count, sizeof *walk->prices);
    for (OpId o = 0; o < schedule->op_count; o++) {
        const Op *op = &schedule->ops[o];
        uint32_t rank = schedule->roles[schedule_op_role(schedule, o)].ranks.first;
        switch (op->kind) {
        case OP_COLLECTIVE: walk->least[o] = least_collective(walk, o); break;
        case OP_SEND:
        case OP_RECV: walk->least[o] = 0; break;
        case OP_GEMM:
        case OP_GROUPED_GEMM:
        case OP_ATTENTION:
        case OP_MEMORY:
        case OP_COPY:
            walk->prices[o] = engine_price_of(&priced, in->model, o, rank);
            walk->least[o] = walk->prices[o].time_ps;
            break;
        case OP_KIND_COUNT: break;
        }
    }
}

// ---- Blocks

static void follow(Walk *walk, OpId op, OpId before, Time *start) {
    if (before == SCHEDULE_NONE || walk->ends[before] <= *start) return;
    *start = walk->ends[before];
    walk->pred[op] = before;
}

// Ends of the longest chains from one operation, or from the first of the compute stream.
static void walk_block(Walk *walk, const Block *block, OpId from) {
    const Schedule *schedule = walk->schedule;
    OpId last[SCHEDULE_STREAMS_MAX];
    for (uint32_t s = 0; s < SCHEDULE_STREAMS_MAX; s++) last[s] = SCHEDULE_NONE;
    for (OpId o = block->first_op; o < block->first_op + block->op_count; o++) {
        const Op *op = &schedule->ops[o];
        Time start = UNREACHED;
        walk->pred[o] = SCHEDULE_NONE;
        if (from == SCHEDULE_NONE && op->stream == 0 && last[0] == SCHEDULE_NONE) start = 0;
        follow(walk, o, last[op->stream], &start);
        for (uint32_t i = 0; i < op->wait_count; i++) {
            OpId on = schedule->waits[op->first_wait + i];
            if (on >= block->first_op && on < o) follow(walk, o, on, &start);
        }
        walk->ends[o] = start == UNREACHED ? UNREACHED : start + walk->least[o];
        if (o == from) walk->ends[o] = 0;
        last[op->stream] = o;
    }
}

static OpId last_compute(const Schedule *schedule, const Block *block) {
    for (OpId o = block->first_op + block->op_count; o > block->first_op; o--)
        if (schedule->ops[o - 1].stream == 0) return o - 1;
    return SCHEDULE_NONE;
}

static Time end_of(const Walk *walk, OpId op) {
    return op == SCHEDULE_NONE || walk->ends[op] == UNREACHED ? 0 : walk->ends[op];
}

// The shortest way out: by a send where there are any.
static Chain leave(const Walk *walk, const Block *block, OpId from) {
    Chain chain = {.from = from, .to = last_compute(walk->schedule, block)};
    bool sends = false;
    chain.ps = end_of(walk, chain.to);
    for (OpId o = block->first_op; o < block->first_op + block->op_count; o++) {
        if (walk->schedule->ops[o].kind != OP_SEND) continue;
        Time ps = end_of(walk, o);
        if (!sends || ps < chain.ps) chain = (Chain){from, o, ps};
        sends = true;
    }
    return chain;
}

// Through a block: the shortest of the ways in, which are its receives where there are any.
static Chain through(Walk *walk, const Block *block) {
    Chain shortest = {0};
    bool is_first = true;
    for (OpId o = block->first_op; o < block->first_op + block->op_count; o++) {
        if (walk->schedule->ops[o].kind != OP_RECV) continue;
        walk_block(walk, block, o);
        Chain chain = leave(walk, block, o);
        if (is_first || chain.ps < shortest.ps) shortest = chain;
        is_first = false;
    }
    if (!is_first) return shortest;
    walk_block(walk, block, SCHEDULE_NONE);
    return leave(walk, block, SCHEDULE_NONE);
}

// The first collective of all ranks of the stage.
static OpId meeting_of(const Walk *walk, const Block *block) {
    uint32_t ranks = pool_stage_ranks(walk->in->pool);
    for (OpId o = block->first_op; o < block->first_op + block->op_count; o++) {
        const Op *op = &walk->schedule->ops[o];
        if (op->kind != OP_COLLECTIVE) continue;
        if (op->comm.split != SPLIT_EVEN || walk->schedule->groups[op->comm.group].size == ranks)
            return o;
    }
    return SCHEDULE_NONE;
}

// ---- Roles

// The iteration of a block in which the role first meets all others.
static void meet(Walk *walk, const Block *block, OpId meeting, RoleChain *chain) {
    walk_block(walk, block, SCHEDULE_NONE);
    chain->before += end_of(walk, meeting);
    walk_block(walk, block, meeting);
    chain->after += leave(walk, block, meeting).ps;
    chain->meets = true;
}

static RoleChain chain_of(Walk *walk, const Role *role) {
    const Schedule *schedule = walk->schedule;
    RoleChain chain = {0};
    for (uint32_t s = role->first_segment; s < role->first_segment + role->segment_count; s++) {
        const Segment *segment = &schedule->segments[s];
        const Block *block = &schedule->blocks[segment->block];
        Time repeat = segment->repeat, ps = through(walk, block).ps;
        chain.whole += repeat * ps;
        bool arrives = s == role->first_segment; // may begin with a receive
        OpId meeting = chain.meets || arrives ? SCHEDULE_NONE : meeting_of(walk, block);
        if (meeting != SCHEDULE_NONE) {
            meet(walk, block, meeting, &chain);
            repeat--;
        }
        if (chain.meets)
            chain.after += repeat * ps;
        else
            chain.before += repeat * ps;
    }
    return chain;
}

static void add_op(const Walk *walk, OpId id, Time times, TimeShare *share) {
    const BoundInput *in = walk->in;
    const Schedule *schedule = walk->schedule;
    const Price *price = &walk->prices[id];
    if (walk->least[id] == 0) return;
    if (!schedule_op_is_comm(schedule->ops[id].kind)) {
        bool computes = price->compute_ps >= price->memory_ps;
        share->param_ps[CALIB_KERNEL] += times * price->fixed_ps;
        share->param_ps[computes ? price->compute_param : CALIB_MEMORY] +=
            times * (price->time_ps - price->fixed_ps);
        return;
    }
    ChooseTime time;
    if (!choose_bound_of(in->chooser, in->arch, in->pool, in->shape, schedule, id, &time) ||
        time.time_ps <= 0)
        return;
    double scale = (double)times * (double)walk->least[id] / (double)time.time_ps;
    for (uint32_t p = 0; p < CALIB_COUNT; p++)
        share->param_ps[p] += num_round(scale * (double)time.share.param_ps[p]);
    share->latency_ps += num_round(scale * (double)time.share.latency_ps);
}

// What the chains of a role consist of.
static void share_out(Walk *walk, const Role *role, TimeShare *share) {
    const Schedule *schedule = walk->schedule;
    for (uint32_t s = role->first_segment; s < role->first_segment + role->segment_count; s++) {
        const Segment *segment = &schedule->segments[s];
        const Block *block = &schedule->blocks[segment->block];
        Chain chain = through(walk, block);
        walk_block(walk, block, chain.from);
        for (OpId o = chain.to; o != SCHEDULE_NONE; o = walk->pred[o])
            add_op(walk, o, segment->repeat, share);
    }
}

// ---- Stages

typedef struct StageBound {
    Time ps;
    RoleId longest;
} StageBound;

static bool is_of_stage(const Walk *walk, RoleId role, uint32_t stage) {
    uint32_t first = walk->schedule->roles[role].ranks.first;
    return first / pool_stage_ranks(walk->in->pool) % walk->in->pool->pp == stage;
}

static StageBound bound_stage(Walk *walk, uint32_t stage) {
    StageBound out = {.longest = SCHEDULE_NONE};
    Time before = 0, after = 0, whole = 0;
    bool meets = true, is_first = true;
    for (RoleId r = 0; r < walk->schedule->role_count; r++) {
        if (!is_of_stage(walk, r, stage)) continue;
        RoleChain chain = chain_of(walk, &walk->schedule->roles[r]);
        meets = meets && chain.meets;
        if (is_first || chain.before < before) before = chain.before;
        if (is_first || chain.whole < whole) whole = chain.whole;
        if (is_first || chain.after > after) {
            after = chain.after;
            out.longest = r;
        }
        is_first = false;
    }
    out.ps = meets && before + after > whole ? before + after : whole;
    return out;
}

static bool feeds_back(const Schedule *schedule) {
    for (OpId o = 0; o < schedule->op_count; o++)
        if (schedule->ops[o].kind == OP_RECV && schedule->ops[o].comm.lag > 0) return true;
    return false;
}

void bound_step(const BoundInput *input, BoundStep *out) {
    const Schedule *schedule = input->schedule;
    Walk walk = {.in = input, .schedule = schedule};
    bool all = input->pool->pp == 1 || feeds_back(schedule);
    *out = (BoundStep){0};
    find_times(&walk);
    walk.ends = arena_alloc(&walk.arena, schedule->op_count, sizeof *walk.ends);
    walk.pred = arena_alloc(&walk.arena, schedule->op_count, sizeof *walk.pred);
    for (uint32_t stage = 0; stage < input->pool->pp; stage++) {
        StageBound bound = bound_stage(&walk, stage);
        out->latency_ps += bound.ps;
        if (!all && stage < input->pool->pp - 1) continue;
        out->interval_ps += bound.ps;
        if (bound.longest != SCHEDULE_NONE)
            share_out(&walk, &schedule->roles[bound.longest], &out->share);
    }
    arena_free(&walk.arena);
}
