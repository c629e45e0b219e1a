// Times of tenants alone and beside each other.
//
// Alone, a plan is lowered, its algorithms are chosen and it is priced by evaluate.c. Beside the
// others, the same schedules run together (tenants_run.c), one measured at a time. TTFT is added up
// from the chunks of a prompt as evaluate.c does it.
//
// Invariant: a lone time and a shared one are the same sum over runs of the same schedule; without
// a shared link they are equal to the picosecond.
#include "sim/tenants.h"

#include "model/plan/pool_place.h"
#include "model/base/num.h"
#include "model/base/progress.h"
#include "model/base/wide.h"
#include "model/plan/load_classes.h"
#include "model/plan/placed.h"
#include "sim/tenants_run.h"

#define PROMPT_OFFSETS 4 // at most
#define SAMPLES        4 // full chunks of a prompt: ends and thirds; the others lie on the lines between

double tenants_slowdown(const TenantTime *time) {
    return ((double)time->shared_ps / (double)time->alone_ps - 1) * 100;
}

// ---- Lowering

// As it is ranked: experts where the pool puts them, ranks in few classes.
static bool open_load(const TenantsInput *input, const Tenant *tenant, Load *out, Err *err) {
    const Pool *pool = &tenant->plan.pools[0];
    const PlacedSpec spec = {.load = tenant->load, .nodes = evaluate_nodes(input->fabric, pool)};
    Placed placed;
    if (!placed_load(pool, tenant->arch, &spec, &placed, err)) return false;
    *out = placed.load;
    if (pool->ep == 1 || out->kind == LOAD_UNIFORM) return true;
    Arena scratch = {0};
    double error; // of the hottest rank: rounding alone
    LoadClasses classes = {.ranks = pool->ep, .classes = LOAD_CLASSES_DEFAULT};
    classes.alike = load_classes_alike(pool, tenant->arch, placed.load.layers, &scratch);
    bool done = load_classes_reduce(&placed.load, &classes, out, &error, err);
    arena_free(&scratch);
    load_free(&placed.load);
    if (!done) *out = (Load){0};
    return done;
}

static bool open_work(const TenantsInput *input, const Tenant *tenant, TenantWork *out, Err *err) {
    EvaluateInput alone = {.fabric = input->fabric,
                           .arch = tenant->arch,
                           .model = input->model,
                           .scenario = tenant->scenario,
                           .load = tenant->load,
                           .load_classes = LOAD_CLASSES_DEFAULT,
                           .memory = input->memory,
                           .keep_phases = true};
    out->lag = tenant->plan.pools[0].micro_batches;
    return (open_load(input, tenant, &out->load, err) &&
            pool_place_order(input->fabric, &tenant->plan.pools[0], &out->places, err) &&
            evaluate_plan(&alone, &tenant->plan, tenant->sequences, &out->evaluation, err)) ||
           err_prefix(err, "%s", tenant->name);
}

// By where they lie, so that the order of the input has no effect.
static void sort_by_place(TenantsState *state) {
    const Tenant *tenants = state->input->tenants;
    for (uint32_t i = 0; i < state->input->count; i++) {
        uint32_t at = i;
        for (; at > 0 && tenants[state->order[at - 1]].plan.pools[0].first_gpu >
                             tenants[i].plan.pools[0].first_gpu;
             at--)
            state->order[at] = state->order[at - 1];
        state->order[at] = i;
    }
}

// ---- Decode

static Time engine_time(const TenantsState *state, uint32_t tenant) {
    double seconds = state->input->model->calib->values[CALIB_STEP_OVERHEAD].value;
    return num_round(seconds * (double)PS_PER_SECOND * state->works[tenant].lag);
}

static TenantsRun decode_run(const TenantsState *state, uint32_t tenant) {
    return (TenantsRun){.measured = tenant,
                        .phase = PHASE_DECODE,
                        .shape = state->works[tenant].evaluation.decode_phase.shape,
                        .steps = TENANTS_STEPS};
}

// The lone step of every tenant, before any runs beside another.
static bool run_alone(TenantsState *state, uint32_t tenant, Time *out_end, Err *err) {
    TenantsRun run = decode_run(state, tenant);
    TenantsSpan span;
    if (!tenants_run_one(state, &run, &span, err)) return false;
    TenantWork *work = &state->works[tenant];
    work->step_ps = num_round((double)span.steps_ps / TENANTS_STEPS);
    state->result->times[tenant].tpot.alone_ps = work->step_ps + engine_time(state, tenant);
    *out_end = span.end_ps;
    return true;
}

static void note_time(TenantTime *time, uint32_t offset, Time ps) {
    if (offset == 0 || ps < time->least_ps) time->least_ps = ps;
    if (offset == 0 || ps > time->most_ps) time->most_ps = ps;
}

static bool run_decode(TenantsState *state, uint32_t tenant, Time alone_ps, Err *err) {
    TenantTime *time = &state->result->times[tenant].tpot;
    TenantsRun run = decode_run(state, tenant);
    double sum = 0;
    run.offsets = TENANTS_OFFSETS;
    run.alone_ps = alone_ps;
    for (; run.offset < run.offsets; run.offset++) {
        TenantsSpan span;
        if (!tenants_run_one(state, &run, &span, err)) return false;
        sum += (double)span.steps_ps;
        note_time(time, run.offset,
                  num_round((double)span.steps_ps / TENANTS_STEPS) + engine_time(state, tenant));
    }
    time->shared_ps = num_round(sum / TENANTS_STEPS / TENANTS_OFFSETS) + engine_time(state, tenant);
    return true;
}

// ---- Prefill

// Sums over the chunks of a prompt, as in evaluate.c: intervals between passes, and by how much the
// way of a pass through all stages exceeds its interval.
typedef struct Prompt {
    double intervals_ps, overhang_ps;
    double last_ps; // interval of the sample before
    Time *alone;    // [SAMPLES + 1] how long each sample takes alone
    uint32_t samples;
} Prompt;

// The chunk stands for itself and for those between the sample before and itself, which lie on the
// straight line.
static bool add_chunk(TenantsState *state, TenantsRun *run, uint64_t between, Prompt *prompt,
                      Err *err) {
    const Pool *pool = &state->input->tenants[run->measured].plan.pools[0];
    double engine =
        state->input->model->calib->values[CALIB_STEP_OVERHEAD].value * (double)PS_PER_SECOND;
    Time *alone = &prompt->alone[prompt->samples++];
    TenantsSpan span;
    run->alone_ps = *alone;
    if (!tenants_run_one(state, run, &span, err)) return false;
    if (run->offsets == 0) *alone = span.end_ps;
    double interval = (double)span.steps_ps + engine;
    double overhang = (double)span.first_ps + engine * pool->pp - interval;
    prompt->intervals_ps += interval + (double)between * (prompt->last_ps + interval) / 2;
    prompt->last_ps = interval;
    if (overhang > prompt->overhang_ps) prompt->overhang_ps = overhang;
    return true;
}

static bool run_prompt(TenantsState *state, TenantsRun *run, Time *alone, Time *out, Err *err) {
    const Scenario *scenario = state->input->tenants[run->measured].scenario;
    Prompt prompt = {.alone = alone};
    uint64_t chunk =
        scenario->prefill_chunk < scenario->isl ? scenario->prefill_chunk : scenario->isl;
    uint64_t full = scenario->isl / chunk, rest = scenario->isl % chunk, before = 0;
    uint32_t cp = state->input->tenants[run->measured].plan.pools[0].cp;
    uint64_t samples = full < SAMPLES ? full : SAMPLES;
    for (uint64_t i = 0; i < samples; i++) {
        uint64_t index = samples == 1 ? 0 : wide_mul_div(i, full - 1, samples - 1);
        StepShape whole = step_shape_prefill(chunk, index * chunk);
        run->shape = step_shape_cp(&whole, cp);
        if (!add_chunk(state, run, i == 0 ? 0 : index - before - 1, &prompt, err)) return false;
        before = index;
    }
    StepShape whole = step_shape_prefill(rest, full * chunk);
    run->shape = step_shape_cp(&whole, cp);
    if (rest > 0 && !add_chunk(state, run, 0, &prompt, err)) return false;
    *out = num_round(prompt.intervals_ps + prompt.overhang_ps);
    return true;
}

// A prefill that outlasts many steps of all others sees all phases by itself.
static uint32_t prompt_offsets(const TenantsState *state, uint32_t tenant, const Time *alone) {
    Time shortest = alone[0], longest = 1;
    for (uint32_t i = 1; i <= SAMPLES && alone[i] > 0; i++)
        if (alone[i] < shortest) shortest = alone[i];
    for (uint32_t t = 0; t < state->input->count; t++)
        if (t != tenant && state->works[t].step_ps > longest) longest = state->works[t].step_ps;
    uint32_t offsets = 1;
    while (offsets < PROMPT_OFFSETS &&
           (double)shortest * offsets < (double)longest * TENANTS_PROMPT_STEPS)
        offsets *= 2;
    return offsets;
}

static bool run_prefill(TenantsState *state, uint32_t tenant, Err *err) {
    TenantTime *time = &state->result->times[tenant].ttft;
    TenantsRun run = {.measured = tenant, .phase = PHASE_PREFILL};
    Time alone[SAMPLES + 1] = {0}, shared;
    double sum = 0;
    if (!run_prompt(state, &run, alone, &time->alone_ps, err)) return false;
    if (state->input->count == 1) return true;
    run.offsets = prompt_offsets(state, tenant, alone);
    for (; run.offset < run.offsets; run.offset++) {
        if (!run_prompt(state, &run, alone, &shared, err)) return false;
        sum += (double)shared;
        note_time(time, run.offset, shared);
    }
    time->shared_ps = num_round(sum / run.offsets);
    return true;
}

// ---- All

static bool measure_shared(TenantsState *state, TenantsWhat what, const Time *ends,
                           Progress *progress, Err *err) {
    uint32_t count = state->input->count, step = 0;
    for (uint32_t t = 0; count > 1 && t < count; t++) {
        if (!run_decode(state, t, ends[t], err)) return false;
        progress_step(progress, ++step);
    }
    for (uint32_t t = 0; what == TENANTS_ALL && t < count; t++) {
        if (!run_prefill(state, t, err)) return false;
        progress_step(progress, ++step);
    }
    return tenants_link_find(state, err);
}

static bool measure(TenantsState *state, TenantsWhat what, Err *err) {
    uint32_t count = state->input->count;
    Time ends[TENANTS_MAX];
    Progress progress;
    for (uint32_t t = 0; t < count; t++)
        if (!open_work(state->input, &state->input->tenants[t], &state->works[t], err) ||
            !run_alone(state, t, &ends[t], err))
            return false;
    progress_start(&progress, "simulating tenants", 2 * (uint64_t)count);
    bool done = measure_shared(state, what, ends, &progress, err);
    progress_end(&progress);
    return done;
}

// Without neighbours.
static void copy_alone(TenantTime *time) {
    time->shared_ps = time->least_ps = time->most_ps = time->alone_ps;
}

bool tenants_measure(const TenantsInput *input, TenantsWhat what, TenantsResult *out, Err *err) {
    TenantsResult result = {0};
    Arena scratch = {0};
    TenantsState state = {.input = input, .result = &result};
    state.works = arena_alloc(&scratch, input->count, sizeof *state.works);
    state.order = arena_alloc(&scratch, input->count, sizeof *state.order);
    result.times = arena_alloc(&result.arena, input->count, sizeof *result.times);
    sort_by_place(&state);
    bool done = measure(&state, what, err);
    for (uint32_t t = 0; t < input->count; t++) {
        evaluate_free(&state.works[t].evaluation);
        load_free(&state.works[t].load);
        mem_free(state.works[t].places);
    }
    arena_free(&scratch);
    if (!done) {
        tenants_free(&result);
        return false;
    }
    if (input->count == 1) {
        copy_alone(&result.times[0].tpot);
        copy_alone(&result.times[0].ttft);
    }
    *out = result;
    return true;
}

void tenants_free(TenantsResult *result) {
    arena_free(&result->arena);
    *result = (TenantsResult){0};
}
