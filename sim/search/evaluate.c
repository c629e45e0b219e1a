// Simulates the steps of a plan and adds them up to the figures that people compare.
//
// Prefill. A prompt longer than scenario.prefill_chunk passes in chunks that differ in how much is
// cached before them. Chunk by chunk the time is close to linear in that (prices are the larger of
// linear terms), so that of many full chunks SAMPLES are simulated and the others lie on the lines
// between them; the left-over chunk is simulated too. Chunks follow each other through the stages:
// with I the distance between two passes of a chunk and L its way through all stages, all chunks
// take sum(I) + max(L - I), which is exact when the stages take equal time (the proportionate flow
// shop: Pinedo, "Scheduling", chapter 6). Prompts shorter than a chunk share a step when throughput
// counts, and have it for themselves when latency does.
//
// Decode. The micro-batches go round a few times; the last round is the steady one.
//
// Load. Experts lie where the pool puts them; a load whose layers differ is simulated layer by
// layer (schedule_unroll.h), or with few classes of ranks and the mean of the layers
// (load_classes.h).
//
// Invariants: parts add up to the time that they explain; a bound never exceeds its time; the
// result depends on the inputs alone.
#include "sim/search/evaluate.h"

#include <assert.h>

#include "model/base/num.h"
#include "model/base/wide.h"
#include "model/plan/load_classes.h"
#include "model/plan/lower.h"
#include "model/plan/placed.h"
#include "model/plan/pool_place.h"
#include "model/plan/schedule_unroll.h"
#include "sim/search/bound.h"
#include "sim/search/evaluate_memory.h"

#define SAMPLES 4     // full chunks simulated at most: ends and thirds; the rest is interpolated
#define PS      1e-12 // seconds in a picosecond

// One simulated step, in picoseconds.
typedef struct StepTime {
    double latency;                       // of the first pass through all stages
    double interval;                      // between two passes in steady state
    double latency_bound, interval_bound; // lower bounds of both
    EvaluateParts parts;                  // of the interval, seconds
} StepTime;

// All steps of one prompt.
typedef struct PromptTime {
    double intervals, overhang; // sum(I), max(L - I)
    double interval_bounds, overhang_bound;
    EvaluateParts parts;
} PromptTime;

typedef struct Run {
    const EvaluateInput *input;
    const Pool *pool;
    EvaluateMemory *memory;
    uint32_t *places;       // of its ranks; NULL: in order
    bool bounds_only;       // steps are bounded (bound.h) instead of simulated
    EvaluatedPhase phase;   // at hand
    Evaluation *evaluation; // figures of that phase
    Load load;
    Schedule schedule; // of the phase at hand
    bool is_chosen;    // its algorithms
    bool is_borrowed;  // the schedule
    ChooseLog choices;
    uint32_t lag;             // passes from one to the next of the same micro-batch
    double transfer, exposed; // of communication in the phase at hand, picoseconds of all ranks
} Run;

static double larger(double a, double b) {
    return a > b ? a : b;
}

// ---- One step

// Work of one pass of a member by its longest stream: nothing on a stream runs beside itself.
static double member_bound(const Timeline *timeline, const Schedule *schedule, uint32_t member) {
    RoleId id = timeline_role(timeline, member);
    double sum[SCHEDULE_STREAMS_MAX] = {0}, longest = 0;
    const OpTotal *totals = &timeline->totals[(size_t)member * timeline->op_count];
    for (OpId op = 0; op < timeline->op_count; op++)
        if (schedule_op_role(schedule, op) == id)
            sum[schedule->ops[op].stream] += (double)totals[op].bound_ps;
    for (uint32_t i = 0; i < schedule->stream_count; i++) longest = larger(longest, sum[i]);
    return longest / schedule->roles[id].passes;
}

// A step passes all stages, and no two micro-batches are in one stage at the same time.
static void roofline_step(const Run *run, const Timeline *timeline, StepTime *step) {
    double slowest = 0, sum = 0;
    uint32_t stage_ranks = pool_stage_ranks(run->pool);
    for (uint32_t stage = 0; stage < run->pool->pp; stage++) {
        double longest = 0;
        for (uint32_t member = 0; member < timeline->member_count; member++) {
            RoleId id = timeline_role(timeline, member);
            const Role *role = &run->schedule.roles[id];
            if (role->ranks.first / stage_ranks % run->pool->pp != stage) continue;
            longest = larger(longest, member_bound(timeline, &run->schedule, member));
        }
        sum += longest;
        slowest = larger(slowest, longest);
    }
    step->latency_bound = sum;
    step->interval_bound = slowest * run->lag;
}

static void scale_parts(const TimeShare *share, double scale, EvaluateParts *parts) {
    for (uint32_t i = 0; i < CALIB_COUNT; i++)
        parts->part_s[i] = (double)share->param_ps[i] * scale * PS;
    parts->part_s[EVALUATE_WAIT] = (double)share->wait_ps * scale * PS;
    parts->part_s[EVALUATE_LATENCY] = (double)share->latency_ps * scale * PS;
}

// The engine's own time between steps, which nothing simulated contains: every stage has it once
// for every step.
static void add_engine_time(const Run *run, StepTime *step) {
    double seconds = run->input->model->calib->values[CALIB_STEP_OVERHEAD].value;
    step->interval += seconds / PS * run->lag;
    step->latency += seconds / PS * run->pool->pp;
    step->parts.part_s[CALIB_STEP_OVERHEAD] += seconds * run->lag;
}

static void read_step(const Run *run, const Timeline *timeline, StepTime *step) {
    const Time *ends = timeline->round_ps;
    uint32_t last = timeline->round_count - 1;
    step->latency = (double)ends[0];
    step->interval = (double)(last >= run->lag ? ends[last] - ends[last - run->lag] : ends[last]);
    scale_parts(&timeline->share, step->interval / (double)timeline->end_ps, &step->parts);
    add_engine_time(run, step);
    roofline_step(run, timeline, step);
}

static void add_overlap(Run *run, const Timeline *timeline) {
    for (uint32_t member = 0; member < timeline->member_count; member++) {
        double ranks = timeline->members[member].ranks;
        RoleId role = timeline_role(timeline, member);
        for (OpId op = 0; op < timeline->op_count; op++) {
            const OpTotal *total = &timeline->totals[(size_t)member * timeline->op_count + op];
            if (schedule_op_role(&run->schedule, op) != role ||
                !schedule_op_is_comm(run->schedule.ops[op].kind))
                continue;
            run->transfer += ranks * (double)total->transfer_ps;
            run->exposed += ranks * (double)total->exposed_ps;
        }
    }
}

// The algorithms of a phase are those that are fastest for its first step.
static void choose_algorithms(Run *run, const StepShape *shape) {
    ChooseLog *log = run->input->keep_phases ? &run->choices : NULL;
    if (run->is_chosen) return;
    if (run->bounds_only)
        choose_ops(run->memory->chooser, run->input->arch, run->pool, shape, &run->schedule, NULL);
    else
        choose_schedule(run->memory->chooser, run->input->arch, run->pool, shape, &run->schedule,
                        log);
    run->is_chosen = true;
}

// A step that is not simulated: all of its times are lower bounds.
static void bound_only(const Run *run, const StepShape *shape, StepTime *step) {
    const EvaluateInput *input = run->input;
    BoundInput given = {.fabric = input->fabric,
                        .model = input->model,
                        .arch = input->arch,
                        .pool = run->pool,
                        .chooser = run->memory->chooser,
                        .schedule = &run->schedule,
                        .shape = shape,
                        .load = &run->load};
    BoundStep bound;
    bound_step(&given, &bound);
    double passes = run->pool->pp == 1 ? run->lag : 1, sum = (double)bound.share.latency_ps;
    *step = (StepTime){.latency = (double)bound.latency_ps,
                       .interval = (double)bound.interval_ps * passes};
    for (uint32_t i = 0; i < CALIB_COUNT; i++) sum += (double)bound.share.param_ps[i];
    if (sum > 0) scale_parts(&bound.share, step->interval / sum, &step->parts);
    add_engine_time(run, step);
}

// Simulates the schedule of the run for a shape. With `keep`, the timeline stays there.
static bool simulate_step(Run *run, const StepShape *shape, EvaluatePhase *keep, StepTime *step,
                          Err *err) {
    const EvaluateInput *input = run->input;
    SimOptions options = {.form = input->form,
                          .routes = run->memory->routes,
                          .first_gpu = run->pool->first_gpu,
                          .places = run->places,
                          .keep_spans = keep != NULL && input->keep_spans,
                          .flow_eps_ppb = input->flow_eps_ppb,
                          .most_classes = input->most_classes};
    Timeline timeline = {0};
    choose_algorithms(run, shape);
    if (run->bounds_only) {
        bound_only(run, shape, step);
        return true;
    }
    bool done = sim_run(input->fabric, input->model, &run->schedule, shape, &run->load, &options,
                        &timeline, err);
    if (!done) return false;
    read_step(run, &timeline, step);
    add_overlap(run, &timeline);
    run->evaluation->events += timeline.events;
    if (timeline.flow_eps_error_ppb > run->evaluation->flow_eps_error_ppb)
        run->evaluation->flow_eps_error_ppb = timeline.flow_eps_error_ppb;
    assert(run->phase.run_count < EVALUATE_RUNS_MAX);
    run->phase.runs[run->phase.run_count++] = timeline_digest(&timeline);
    if (keep != NULL) {
        keep->shape = *shape;
        keep->timeline = timeline;
    } else {
        timeline_free(&timeline);
    }
    return true;
}

// ---- Load

uint32_t evaluate_nodes(const Fabric *fabric, const Pool *pool) {
    GroupFamily family = {.size = pool->ep,
                          .stride = pool->moe_tp,
                          .count = pool->moe_tp,
                          .period = pool_stage_ranks(pool),
                          .per_period = pool->moe_tp};
    uint32_t inner = choose_inner(fabric, &family, pool->first_gpu);
    if (pool->placement != PLACEMENT_LINEAR) return 1;
    return inner > 1 ? pool->ep / inner : 1;
}

// The load as it is simulated, on the pool's slots: as it is, or with its ranks in classes.
static bool open_load(const EvaluateInput *input, const Pool *pool, Evaluation *evaluation,
                      Load *out, Err *err) {
    Placed placed;
    PlacedSpec spec = {.load = input->load,
                       .expected = input->expected,
                       .nodes = evaluate_nodes(input->fabric, pool)};
    if (!evaluate_memory_placed(input->memory, pool, input->arch, &spec, &placed, err))
        return false;
    evaluation->balance_in_order = placed.balance_in_order;
    evaluation->balance = placed.balance;
    *out = placed.load;
    if (input->load_classes == 0 || pool->ep == 1 || out->kind == LOAD_UNIFORM) return true;
    Arena scratch = {0};
    double error; // of the hottest rank: rounding alone
    LoadClasses classes = {.ranks = pool->ep, .classes = input->load_classes};
    classes.alike = load_classes_alike(pool, input->arch, placed.load.layers, &scratch);
    bool done = load_classes_reduce(&placed.load, &classes, out, &error, err);
    arena_free(&scratch);
    load_free(&placed.load);
    if (!done) *out = (Load){0};
    return done;
}

bool evaluate_load(const EvaluateInput *input, const Pool *pool, Load *out, Err *err) {
    Evaluation figures;
    return open_load(input, pool, &figures, out, err);
}

// Lowers the plan for a phase, with an operation for each layer where layers are simulated apart.
static bool lower_phase(Run *run, const Plan *plan, Phase phase, uint32_t steps, Err *err) {
    bool is_whole = run->input->load_classes > 0 || run->load.layers <= 1;
    if (is_whole && run->bounds_only && run->memory->lowered != NULL) {
        run->schedule = *space_fit_lowered(run->memory->lowered, plan, run->input->arch, phase);
        run->is_borrowed = true;
        return true;
    }
    lower_plan(plan, 0, run->input->arch, phase, steps, &run->schedule);
    if (is_whole) return true;
    Schedule blocks = run->schedule;
    run->schedule = (Schedule){0};
    bool done = schedule_unroll_layers(&blocks, &run->schedule, err);
    schedule_free(&blocks);
    return done;
}

// ---- Prefill

static void add_parts(EvaluateParts *sum, double times, const EvaluateParts *parts) {
    for (uint32_t i = 0; i < EVALUATE_PARTS; i++) sum->part_s[i] += times * parts->part_s[i];
}

// Adds the steps a, and count - 1 more that follow on the straight line to b, which is not added.
static void add_line(PromptTime *sum, const StepTime *a, const StepTime *b, uint64_t count) {
    double n = (double)count, of_b = (n - 1) / 2, of_a = n - of_b;
    sum->intervals += of_a * a->interval + of_b * b->interval;
    sum->interval_bounds += of_a * a->interval_bound + of_b * b->interval_bound;
    add_parts(&sum->parts, of_a, &a->parts);
    add_parts(&sum->parts, of_b, &b->parts);
    sum->overhang = larger(sum->overhang, a->latency - a->interval);
    sum->overhang_bound = larger(sum->overhang_bound, a->latency_bound - a->interval_bound);
}

static void add_step(PromptTime *sum, const StepTime *step) {
    add_line(sum, step, step, 1);
}

static StepShape prompt_shape(const Run *run, StepShape shape) {
    return step_shape_cp(&shape, run->pool->cp);
}

// Full chunks number 0 .. count - 1 of a prompt.
static bool run_full_chunks(Run *run, uint64_t chunk, uint64_t count, PromptTime *sum, Err *err) {
    uint64_t samples = count < SAMPLES ? count : SAMPLES, before = 0;
    StepTime step, last = {0};
    for (uint64_t i = 0; i < samples; i++) {
        uint64_t index = samples == 1 ? 0 : wide_mul_div(i, count - 1, samples - 1);
        StepShape shape = prompt_shape(run, step_shape_prefill(chunk, index * chunk));
        bool is_last = i == samples - 1;
        EvaluatePhase *keep =
            is_last && run->input->keep_phases ? &run->evaluation->prefill_phase : NULL;
        if (!simulate_step(run, &shape, keep, &step, err)) return false;
        if (i > 0) add_line(sum, &last, &step, index - before);
        if (is_last) add_step(sum, &step);
        last = step;
        before = index;
    }
    return true;
}

static bool run_prompt(Run *run, PromptTime *sum, Err *err) {
    const Scenario *scenario = run->input->scenario;
    uint64_t chunk =
        scenario->prefill_chunk < scenario->isl ? scenario->prefill_chunk : scenario->isl;
    uint64_t full = scenario->isl / chunk, rest = scenario->isl % chunk;
    if (!run_full_chunks(run, chunk, full, sum, err)) return false;
    if (rest == 0) return true;
    StepTime step;
    StepShape shape = prompt_shape(run, step_shape_prefill(rest, full * chunk));
    if (!simulate_step(run, &shape, NULL, &step, err)) return false;
    add_step(sum, &step);
    return true;
}

// `prompts` whole prompts in one step.
static bool run_packed(Run *run, uint64_t prompts, StepTime *step, Err *err) {
    StepShape shape = prompt_shape(run, step_shape_prompts(prompts, run->input->scenario->isl));
    return simulate_step(run, &shape, NULL, step, err);
}

// Adds `steps` steps with `prompts` whole prompts each to the refill.
static bool add_packed(Run *run, uint64_t prompts, uint64_t steps, const PromptTime *prompt,
                       double *intervals, Err *err) {
    StepTime step = {.interval = prompt->intervals, .parts = prompt->parts};
    if (prompts > 1 && !run_packed(run, prompts, &step, err)) return false;
    *intervals += (double)steps * step.interval;
    add_parts(&run->evaluation->prefill, (double)steps, &step.parts);
    return true;
}

// Prefill of all sequences of an attention-DP rank, as many prompts in a step as a chunk holds; a
// prompt alone is known.
static bool run_refill(Run *run, const PromptTime *prompt, uint64_t sequences, Err *err) {
    const Scenario *scenario = run->input->scenario;
    uint64_t prompts = scenario->prefill_chunk / scenario->isl;
    if (prompts > sequences) prompts = sequences;
    if (prompts == 0) prompts = 1;
    uint64_t steps = sequences / prompts, rest = sequences % prompts;
    double intervals = 0;
    if (!add_packed(run, prompts, steps, prompt, &intervals, err)) return false;
    if (rest > 0 && !add_packed(run, rest, 1, prompt, &intervals, err)) return false;
    run->evaluation->prefill_ps = num_round(intervals);
    return true;
}

static bool evaluate_prefill(Run *run, const Plan *plan, uint64_t sequences, Err *err) {
    // a second pass shows the distance between passes when there is more than one stage
    run->lag = 1;
    PromptTime prompt = {0};
    if (!lower_phase(run, plan, PHASE_PREFILL, run->pool->pp > 1 ? 2 : 1, err)) return false;
    if (!run_prompt(run, &prompt, err) || !run_refill(run, &prompt, sequences, err)) return false;
    run->evaluation->ttft_ps = num_round(prompt.intervals + prompt.overhang);
    run->evaluation->ttft_bound_ps = num_round(prompt.interval_bounds + prompt.overhang_bound);
    return true;
}

// ---- Decode

static bool evaluate_decode(Run *run, const Plan *plan, uint64_t sequences, Err *err) {
    const Scenario *scenario = run->input->scenario;
    Evaluation *out = run->evaluation;
    // one round fills the pipeline; with several stages one more settles it
    run->lag = run->pool->micro_batches;
    if (!lower_phase(run, plan, PHASE_DECODE, run->pool->pp > 1 ? 3 : 2, err)) return false;
    StepShape shape = step_shape_decode(sequences, scenario->isl + scenario->osl / 2);
    StepTime step;
    EvaluatePhase *keep = run->input->keep_phases ? &out->decode_phase : NULL;
    if (!simulate_step(run, &shape, keep, &step, err)) return false;
    out->tpot_ps = num_round(step.interval);
    out->tpot_bound_ps = num_round(larger(step.interval_bound, step.latency_bound));
    out->decode = step.parts;
    return true;
}

// ---- Figures

static uint32_t largest_part(const EvaluateParts *parts) {
    uint32_t largest = 0;
    for (uint32_t i = 1; i < EVALUATE_PARTS; i++)
        if (parts->part_s[i] > parts->part_s[largest]) largest = i;
    return largest;
}

static Provenance weakest(const EvaluateParts *parts, const Calib *calib) {
    Provenance weakest = (Provenance)0;
    for (uint32_t i = 0; i < CALIB_COUNT; i++)
        if (parts->part_s[i] > 0 && calib->values[i].provenance > weakest)
            weakest = calib->values[i].provenance;
    return weakest;
}

static void add_up(const EvaluateInput *input, const Pool *pool, uint64_t sequences,
                   Evaluation *out) {
    const Scenario *scenario = input->scenario;
    double slots = (double)pool->replicas * pool->dp * pool->micro_batches * (double)sequences;
    double answers = (double)(scenario->osl - 1);
    double gpus = input->paid == EVALUATE_PAID_PLAN ? pool_ranks(pool) : input->fabric->gpu_count;
    double cycle_s = ((double)out->prefill_ps + answers * (double)out->tpot_ps) * PS;
    out->requests = slots < (double)scenario->concurrency ? (uint64_t)slots : scenario->concurrency;
    out->output_tok_s = (double)out->requests * (double)scenario->osl / cycle_s;
    out->tok_s_per_gpu = out->output_tok_s / gpus;
    out->tok_s_per_user = 1 / ((double)out->tpot_ps * PS);
    double usd_per_s = (double)scenario->price_uusd_per_gpu_hour * 1e-6 * gpus / 3600;
    out->usd_per_mtok = usd_per_s / out->output_tok_s * 1e6;
    out->cycle = out->prefill;
    add_parts(&out->cycle, answers, &out->decode);
    out->bottleneck = largest_part(&out->cycle);
    out->confidence = weakest(&out->cycle, input->model->calib);
}

// The schedule goes to the kept phase, or is freed.
static void end_phase(Run *run, EvaluatePhase *phase) {
    if (run->input->keep_phases) {
        phase->schedule = run->schedule;
        phase->choices = run->choices;
    } else if (!run->is_borrowed) {
        schedule_free(&run->schedule);
    }
    run->is_borrowed = false;
    run->schedule = (Schedule){0};
    run->choices = (ChooseLog){0};
    run->is_chosen = false;
    run->transfer = run->exposed = 0;
}

static double overlap_of(const Run *run) {
    return run->transfer > 0 ? 1 - run->exposed / run->transfer : 0;
}

static bool simulate_phase(Run *run, const Plan *plan, Phase phase, uint64_t sequences, Err *err) {
    bool done = false;
    switch (phase) {
    case PHASE_PREFILL:
        done = evaluate_prefill(run, plan, sequences * run->pool->micro_batches, err);
        run->evaluation->prefill_overlap = overlap_of(run);
        end_phase(run, &run->evaluation->prefill_phase);
        break;
    case PHASE_DECODE:
        done = evaluate_decode(run, plan, sequences, err);
        run->evaluation->decode_overlap = overlap_of(run);
        end_phase(run, &run->evaluation->decode_phase);
        break;
    }
    return done;
}

// Sums of two phases, each of which leaves at 0 what the other sets.
static void add_phase(const EvaluatedPhase *phase, Evaluation *sum) {
    const Evaluation *more = &phase->figures;
    sum->ttft_ps += more->ttft_ps;
    sum->ttft_bound_ps += more->ttft_bound_ps;
    sum->tpot_ps += more->tpot_ps;
    sum->tpot_bound_ps += more->tpot_bound_ps;
    sum->prefill_ps += more->prefill_ps;
    sum->prefill_overlap += more->prefill_overlap;
    sum->decode_overlap += more->decode_overlap;
    add_parts(&sum->prefill, 1, &more->prefill);
    add_parts(&sum->decode, 1, &more->decode);
    sum->events += more->events;
    if (more->flow_eps_error_ppb > sum->flow_eps_error_ppb)
        sum->flow_eps_error_ppb = more->flow_eps_error_ppb;
    for (uint32_t i = 0; i < phase->run_count; i++)
        sum->timelines = hash_u64(sum->timelines, phase->runs[i]);
}

// Simulates a phase unless it is remembered, and adds it to *sum. What is kept of it is not shared.
static bool evaluate_phase(Run *run, const Plan *plan, Phase phase, uint64_t sequences,
                           Evaluation *sum, Err *err) {
    bool is_shared = !run->input->keep_phases;
    EvaluateDepth depth = run->bounds_only ? EVALUATE_BOUND : EVALUATE_SIMULATED;
    Digest key = evaluate_memory_key(run->input, plan, phase, sequences, depth);
    const EvaluatedPhase *known = is_shared ? evaluate_memory_find(run->memory, phase, key) : NULL;
    if (known == NULL) {
        run->phase = (EvaluatedPhase){0};
        run->evaluation = &run->phase.figures;
        run->phase.is_done = simulate_phase(run, plan, phase, sequences, &run->phase.reason);
        if (is_shared) evaluate_memory_keep(run->memory, phase, key, depth, &run->phase);
        known = &run->phase;
    }
    if (!is_shared && phase == PHASE_PREFILL) sum->prefill_phase = known->figures.prefill_phase;
    if (!is_shared && phase == PHASE_DECODE) sum->decode_phase = known->figures.decode_phase;
    if (!known->is_done) {
        *err = known->reason;
        return false;
    }
    add_phase(known, sum);
    return true;
}

// Both phases, or one.
typedef enum Phases { PHASES_BOTH, PHASES_PREFILL, PHASES_DECODE } Phases;

static bool run_phases(const EvaluateInput *input, const Plan *plan, uint64_t sequences,
                       Phases which, EvaluateDepth depth, Evaluation *out, Err *err) {
    Evaluation evaluation = {.timelines = HASH_START};
    const Pool *pool = &plan->pools[0];
    EvaluateMemory *own = input->memory == NULL ? evaluate_memory_open(input) : NULL;
    Run run = {.input = input,
               .pool = pool,
               .memory = own != NULL ? own : input->memory,
               .bounds_only = depth == EVALUATE_BOUND};
    bool done = pool_place_order(input->fabric, pool, &run.places, err) &&
                open_load(input, pool, &evaluation, &run.load, err) &&
                (which == PHASES_DECODE ||
                 evaluate_phase(&run, plan, PHASE_PREFILL, sequences, &evaluation, err)) &&
                (which == PHASES_PREFILL ||
                 evaluate_phase(&run, plan, PHASE_DECODE, sequences, &evaluation, err));
    load_free(&run.load);
    mem_free(run.places);
    evaluate_memory_close(own);
    if (done)
        *out = evaluation;
    else
        evaluate_free(&evaluation);
    return done;
}

bool evaluate_plan(const EvaluateInput *input, const Plan *plan, uint64_t sequences,
                   Evaluation *out, Err *err) {
    if (!run_phases(input, plan, sequences, PHASES_BOTH, EVALUATE_SIMULATED, out, err))
        return false;
    add_up(input, &plan->pools[0], sequences, out);
    return true;
}

bool evaluate_bound(const EvaluateInput *input, const Plan *plan, uint64_t sequences,
                    Evaluation *out, Err *err) {
    EvaluateInput lean = *input;
    lean.keep_phases = lean.keep_spans = false;
    if (!run_phases(&lean, plan, sequences, PHASES_BOTH, EVALUATE_BOUND, out, err)) return false;
    add_up(&lean, &plan->pools[0], sequences, out);
    return true;
}

bool evaluate_one_phase(const EvaluateInput *input, const Plan *plan, Phase phase,
                        uint64_t sequences, Evaluation *out, Err *err) {
    Phases which = phase == PHASE_PREFILL ? PHASES_PREFILL : PHASES_DECODE;
    return run_phases(input, plan, sequences, which, EVALUATE_SIMULATED, out, err);
}

static void free_phase(EvaluatePhase *phase) {
    schedule_free(&phase->schedule);
    timeline_free(&phase->timeline);
    choose_log_free(&phase->choices);
}

void evaluate_free(Evaluation *evaluation) {
    free_phase(&evaluation->prefill_phase);
    free_phase(&evaluation->decode_phase);
    *evaluation = (Evaluation){0};
}
