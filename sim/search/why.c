// A step of a plan, simulated again with spans and followed back.
//
// Invariant: the terms of a step add up to its time to the picosecond; what is rounded, the
// engine's time, is the rest between the step and the window that was simulated.
#include "sim/search/why.h"

#include <inttypes.h>

#include "model/base/mem.h"
#include "model/plan/placed.h"
#include "model/plan/pool_place.h"
#include "sim/sim.h"

const char *why_term_name(uint32_t term) {
    if (term < OP_CLASS_COUNT) return schedule_class_names[term];
    return term == WHY_ENGINE ? "engine" : "idle";
}

bool why_load(const WhyPlan *plan, Load *out, Err *err) {
    Placed placed;
    const Pool *pool = &plan->plan->pools[0];
    PlacedSpec spec = {.load = plan->input->load,
                       .expected = plan->input->expected,
                       .nodes = evaluate_nodes(plan->input->fabric, pool)};
    if (!placed_load(pool, plan->input->arch, &spec, &placed, err)) return false;
    *out = placed.load;
    return true;
}

// ---- The busiest member

static Time work_time(const EvaluatePhase *phase, uint32_t member) {
    const Timeline *timeline = &phase->timeline;
    Time sum = 0;
    for (OpId op = 0; op < timeline->op_count; op++) {
        const OpTotal *total = &timeline->totals[(size_t)member * timeline->op_count + op];
        bool is_comm = schedule_op_is_comm(phase->schedule.ops[op].kind);
        sum += is_comm ? total->exposed_ps : total->busy_ps;
    }
    return sum;
}

uint32_t why_busiest(const EvaluatePhase *phase) {
    uint32_t best = 0;
    Time longest = -1;
    for (uint32_t member = 0; member < phase->timeline.member_count; member++) {
        Time time = work_time(phase, member);
        if (time <= longest) continue;
        longest = time;
        best = member;
    }
    return best;
}

// ---- A step

static uint64_t span_count(const Timeline *timeline) {
    uint64_t sum = 0;
    size_t cells = (size_t)timeline->member_count * timeline->op_count;
    for (size_t i = 0; i < cells; i++) sum += timeline->totals[i].instances;
    return sum;
}

static bool simulate(const WhyPlan *plan, const EvaluatePhase *phase, Timeline *out, Err *err) {
    const EvaluateInput *input = plan->input;
    Load load;
    uint64_t spans = span_count(&phase->timeline);
    if (spans > WHY_SPANS_MAX)
        return err_set(err,
                       "%" PRIu64 " operations are too many to follow, expected at most %d: see a "
                       "plan with fewer micro-batches",
                       spans, WHY_SPANS_MAX);
    if (!why_load(plan, &load, err)) return false;
    uint32_t *places;
    if (!pool_place_order(input->fabric, &plan->plan->pools[0], &places, err)) {
        load_free(&load);
        return false;
    }
    SimOptions options = {.form = input->form,
                          .first_gpu = plan->plan->pools[0].first_gpu,
                          .places = places,
                          .keep_spans = true,
                          .flow_eps_ppb = input->flow_eps_ppb};
    bool done = sim_run(input->fabric, input->model, &phase->schedule, &phase->shape, &load,
                        &options, out, err);
    mem_free(places);
    load_free(&load);
    return done;
}

// What a pipeline does last is done by its last stage: an earlier one has long nothing left to do.
static Time last_end(const Timeline *timeline, uint32_t member) {
    Time end = 0;
    for (uint64_t i = 0; i < timeline->span_count; i++) {
        const Span *span = &timeline->spans[i];
        if (span->member == member && span->end_ps > end) end = span->end_ps;
    }
    return end;
}

bool why_step(const WhyPlan *plan, const EvaluatePhase *phase, uint32_t lag, Time engine_ps,
              WhyStep *out, Err *err) {
    Timeline timeline = {0};
    if (!simulate(plan, phase, &timeline, err)) return false;
    uint32_t last = timeline.round_count - 1;
    Time end = timeline.round_ps[last], begin = last >= lag ? timeline.round_ps[last - lag] : 0;
    *out = (WhyStep){.time_ps = end - begin + engine_ps, .member = why_busiest(phase)};
    why_follow(&phase->schedule, &timeline, begin, end, &out->path);
    Time own_end = last_end(&timeline, out->member);
    why_balance(&phase->schedule, &timeline, out->member, own_end - (end - begin), own_end,
                &out->balance);
    out->path.term_ps[WHY_ENGINE] += engine_ps;
    timeline_free(&timeline);
    return true;
}

void why_step_free(WhyStep *step) {
    why_path_free(&step->path);
    *step = (WhyStep){0};
}
