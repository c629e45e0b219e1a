// A plan simulated again with one thing changed.
//
// A constant is changed in a copy of the calibration, a class of links in a view of the fabric
// whose rules (and faults) have other rates; nothing is compiled again. Routes belong to a fabric
// and are remembered for all constants.
//
// Invariant: a factor of 1 gives the result of evaluate_plan to the bit.
#include "sim/search/why_vary.h"

#include <stdio.h>
#include <string.h>

#include "model/base/mem.h"
#include "model/base/num.h"
#include "model/base/progress.h"
#include "model/machine/fabric_fault.h"
#include "model/machine/fabric_rule.h"
#include "sim/flow.h"
#include "sim/search/evaluate_memory.h"
#include "sim/search/pools.h"

struct WhyLab {
    WhyPlan plan;
    FoldMemory *routes; // of the fabric as it is
    WhyResult base;
    bool has_base;
};

// ---- Knobs

static bool has_class(const Fabric *fabric, LinkClass link_class) {
    for (uint32_t i = 0; fabric != NULL && i < fabric->rule_count; i++)
        if (fabric->rules[i].link->link_class == link_class) return true;
    return false;
}

uint32_t why_vary_knobs(const Fabric *fabric, const Fabric *other, WhyKnob knobs[WHY_KNOBS_MAX]) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < CALIB_COUNT; i++)
        knobs[count++] = (WhyKnob){.kind = WHY_CONSTANT, .param = (CalibParam)i};
    for (uint32_t i = 0; i < LINK_CLASS_COUNT; i++) {
        LinkClass link_class = (LinkClass)i;
        if (!has_class(fabric, link_class) && !has_class(other, link_class)) continue;
        knobs[count++] = (WhyKnob){.kind = WHY_BANDWIDTH, .link_class = link_class};
        knobs[count++] = (WhyKnob){.kind = WHY_LATENCY, .link_class = link_class};
    }
    return count;
}

const char *why_vary_name(const WhyKnob *knob, char *buffer) {
    switch (knob->kind) {
    case WHY_CONSTANT: return calib_param_names[knob->param];
    case WHY_BANDWIDTH:
        snprintf(buffer, WHY_KNOB_TEXT, "bandwidth of %s", topology_class_names[knob->link_class]);
        return buffer;
    case WHY_LATENCY: break;
    }
    snprintf(buffer, WHY_KNOB_TEXT, "latency of %s", topology_class_names[knob->link_class]);
    return buffer;
}

// ---- One simulation

WhyLab *why_vary_open(const WhyPlan *plan) {
    WhyLab *lab = mem_alloc(1, sizeof *lab);
    *lab = (WhyLab){.plan = *plan, .routes = fold_memory_open(plan->input->fabric)};
    return lab;
}

void why_vary_close(WhyLab *lab) {
    if (lab == NULL) return;
    fold_memory_close(lab->routes);
    mem_free(lab);
}

static bool evaluate_pools(const EvaluateInput *input, const WhyPlan *plan, WhyResult *out,
                           Err *err) {
    PoolsRow row;
    if (!pools_evaluate(input, plan->plan, plan->sequences, &row, err)) return false;
    *out = (WhyResult){
        .tpot_ps = row.tpot_ps, .ttft_ps = row.ttft_ps, .tok_s_per_gpu = row.tok_s_per_gpu};
    return true;
}

static bool evaluate_unified(const EvaluateInput *input, const WhyPlan *plan, WhyResult *out,
                             Err *err) {
    Evaluation evaluation;
    if (!evaluate_plan(input, plan->plan, plan->sequences, &evaluation, err)) return false;
    *out = (WhyResult){.tpot_ps = evaluation.tpot_ps,
                       .ttft_ps = evaluation.ttft_ps,
                       .tok_s_per_gpu = evaluation.tok_s_per_gpu};
    evaluate_free(&evaluation);
    return true;
}

static bool evaluate(const WhyLab *lab, const Fabric *fabric, const Calib *calib,
                     FoldMemory *routes, WhyResult *out, Err *err) {
    EvaluateInput input = *lab->plan.input;
    PriceModel model = {.device = input.model->device, .calib = calib};
    bool is_pooled = lab->plan.plan->pool_count > 1;
    input.fabric = fabric;
    input.model = &model;
    input.keep_phases = input.keep_spans = false;
    input.memory = evaluate_memory_open(&input);
    fold_memory_close(input.memory->routes);
    input.memory->routes = routes; // lent
    bool done = is_pooled ? evaluate_pools(&input, &lab->plan, out, err)
                          : evaluate_unified(&input, &lab->plan, out, err);
    input.memory->routes = NULL;
    evaluate_memory_close(input.memory);
    return done;
}

bool why_vary_base(WhyLab *lab, WhyResult *out, Err *err) {
    const EvaluateInput *input = lab->plan.input;
    if (!lab->has_base &&
        !evaluate(lab, input->fabric, input->model->calib, lab->routes, &lab->base, err))
        return false;
    lab->has_base = true;
    *out = lab->base;
    return true;
}

bool why_vary_set(WhyLab *lab, CalibParam param, double value, WhyResult *out, Err *err) {
    Calib calib = *lab->plan.input->model->calib; // a view, never freed
    if (calib.values[param].value == value) return why_vary_base(lab, out, err);
    calib.values[param].value = value;
    return evaluate(lab, lab->plan.input->fabric, &calib, lab->routes, out, err);
}

// ---- Links

static uint64_t scaled_rate(uint64_t Bps, uint32_t cables, double factor) {
    uint64_t most = FLOW_CAPACITY_MAX / (cables > 0 ? cables : 1);
    uint64_t rate = (uint64_t)num_round((double)Bps * factor);
    if (rate > most) rate = Bps > most ? Bps : most;
    return rate > 0 || Bps == 0 ? rate : 1;
}

static void scale_link(const WhyKnob *knob, double factor, LinkRule *link) {
    if (knob->kind == WHY_BANDWIDTH)
        link->bandwidth_Bps = scaled_rate(link->bandwidth_Bps, link->cables, factor);
    else
        link->latency_ps = num_round((double)link->latency_ps * factor);
}

// What faults leave of links of the class is scaled like the rest.
static const FabricFaults *scale_faults(const Fabric *fabric, const WhyKnob *knob, double factor,
                                        Arena *arena) {
    if (fabric->faults == NULL || knob->kind != WHY_BANDWIDTH) return fabric->faults;
    FabricFaults *faults = arena_copy(arena, fabric->faults, 1, sizeof *faults);
    faults->links = arena_copy(arena, faults->links, faults->link_count, sizeof *faults->links);
    for (uint32_t i = 0; i < faults->link_count; i++) {
        FabricFaultLink *link = &faults->links[i];
        if (fabric_rule_of(fabric, link->link)->link->link_class == knob->link_class)
            link->capacity_Bps = scaled_rate(link->capacity_Bps, 1, factor);
    }
    return faults;
}

static bool scale_links(WhyLab *lab, const WhyKnob *knob, double factor, WhyResult *out, Err *err) {
    Arena arena = {0};
    const Fabric *whole = lab->plan.input->fabric;
    Fabric fabric = *whole; // a view, never freed
    fabric.rules = arena_copy(&arena, whole->rules, whole->rule_count, sizeof *whole->rules);
    fabric.faults = scale_faults(whole, knob, factor, &arena);
    for (uint32_t i = 0; i < fabric.rule_count; i++) {
        FabricRule *rule = &fabric.rules[i];
        if (rule->link->link_class != knob->link_class) continue;
        LinkRule *link = arena_copy(&arena, rule->link, 1, sizeof *link);
        scale_link(knob, factor, link);
        rule->link = link;
    }
    FoldMemory *routes = fold_memory_open(&fabric);
    bool done = evaluate(lab, &fabric, lab->plan.input->model->calib, routes, out, err);
    fold_memory_close(routes);
    arena_free(&arena);
    return done;
}

bool why_vary_scale(WhyLab *lab, const WhyKnob *knob, double factor, WhyResult *out, Err *err) {
    if (factor == 1) return why_vary_base(lab, out, err);
    switch (knob->kind) {
    case WHY_CONSTANT: break;
    case WHY_BANDWIDTH:
    case WHY_LATENCY:
        if (!has_class(lab->plan.input->fabric, knob->link_class))
            return why_vary_base(lab, out, err);
        return scale_links(lab, knob, factor, out, err);
    }
    double value = lab->plan.input->model->calib->values[knob->param].value * factor;
    if (calib_kind(knob->param) == CALIB_IS_EFFICIENCY && value > 1) value = 1;
    return why_vary_set(lab, knob->param, value, out, err);
}

// The largest factor that a knob of the plan can take.
static double most_factor(const WhyLab *lab, const WhyKnob *knob, double wanted) {
    if (knob->kind != WHY_CONSTANT || calib_kind(knob->param) != CALIB_IS_EFFICIENCY) return wanted;
    double most = 1 / lab->plan.input->model->calib->values[knob->param].value;
    return most < wanted ? most : wanted;
}

static bool equal(const WhyResult *a, const WhyResult *b) {
    return a->tpot_ps == b->tpot_ps && a->ttft_ps == b->ttft_ps &&
           a->tok_s_per_gpu == b->tok_s_per_gpu;
}

// ---- Influences

#define STEP 0.1 // each way

static double elasticity(double low, double high, double at_low, double at_high) {
    double of_knob = (high - low) / (high + low), sum = at_high + at_low;
    return sum > 0 ? (at_high - at_low) / sum / of_knob : 0;
}

static bool find_interval(WhyLab *lab, WhyInfluence *out, Err *err) {
    const CalibValue *value = &lab->plan.input->model->calib->values[out->knob.param];
    out->has_interval = out->knob.kind == WHY_CONSTANT;
    return !out->has_interval ||
           (why_vary_set(lab, out->knob.param, value->low, &out->at_low, err) &&
            why_vary_set(lab, out->knob.param, value->high, &out->at_high, err));
}

static bool find_influence(WhyLab *lab, const WhyKnob *knob, WhyInfluence *out, Err *err) {
    WhyResult base, low, high;
    *out = (WhyInfluence){.knob = *knob, .low = 1 - STEP, .high = most_factor(lab, knob, 1 + STEP)};
    const CalibValue *value = &lab->plan.input->model->calib->values[knob->param];
    if (!why_vary_base(lab, &base, err) || !find_interval(lab, out, err)) return false;
    double from = out->low, to = out->high;
    if (knob->kind == WHY_CONSTANT && value->value == 0) {
        low = out->at_low;
        high = out->at_high;
        from = value->low;
        to = value->high;
    } else if (!why_vary_scale(lab, knob, out->low, &low, err) ||
               !why_vary_scale(lab, knob, out->high, &high, err))
        return false;
    out->has_influence = !equal(&low, &base) || !equal(&high, &base);
    if (!out->has_influence) return true;
    out->tpot = elasticity(from, to, (double)low.tpot_ps, (double)high.tpot_ps);
    out->ttft = elasticity(from, to, (double)low.ttft_ps, (double)high.ttft_ps);
    out->tok_s_per_gpu = elasticity(from, to, low.tok_s_per_gpu, high.tok_s_per_gpu);
    return true;
}

static double size_of(double value) {
    return value < 0 ? -value : value;
}

// By insertion: a few dozen, and equal ones keep their order.
static void sort_influences(WhyInfluence *items, uint32_t count) {
    for (uint32_t i = 1; i < count; i++) {
        WhyInfluence item = items[i];
        uint32_t k = i;
        while (k > 0 && (item.has_influence > items[k - 1].has_influence ||
                         (item.has_influence == items[k - 1].has_influence &&
                          size_of(item.tok_s_per_gpu) > size_of(items[k - 1].tok_s_per_gpu)))) {
            items[k] = items[k - 1];
            k--;
        }
        items[k] = item;
    }
}

bool why_vary_influences(WhyLab *lab, const WhyKnob *knobs, uint32_t count, WhyInfluence *out,
                         Err *err) {
    Progress progress;
    bool done = true;
    progress_start(&progress, "simulating with each constant and link changed", count);
    for (uint32_t i = 0; done && i < count; i++) {
        done = find_influence(lab, &knobs[i], &out[i], err);
        progress_step(&progress, i + 1);
    }
    progress_end(&progress);
    if (done) sort_influences(out, count);
    return done;
}

// ---- Flips

#define ROOT_OF_2 1.4142135623730951
#define CLOSE     1e-4 // of a flip's factor

typedef struct Duel {
    WhyLab *a, *b;
    const WhyKnob *knob;
    double at_1; // (rate of b) - (rate of a), factor 1
} Duel;

static bool difference(const Duel *duel, double factor, double *out, Err *err) {
    WhyResult a, b;
    if (!why_vary_scale(duel->a, duel->knob, factor, &a, err) ||
        !why_vary_scale(duel->b, duel->knob, factor, &b, err))
        return false;
    *out = b.tok_s_per_gpu - a.tok_s_per_gpu;
    return true;
}

static bool has_turned(const Duel *duel, double now) {
    return duel->at_1 > 0 ? now <= 0 : now >= 0;
}

// Between `inside`, where the order is that of 1, and `outside`, where it has turned.
static bool halve(const Duel *duel, double inside, double outside, double *out, Err *err) {
    while (outside / inside > 1 + CLOSE || inside / outside > 1 + CLOSE) {
        double middle = num_exp((num_log(inside) + num_log(outside)) / 2), now;
        if (!difference(duel, middle, &now, err)) return false;
        if (has_turned(duel, now))
            outside = middle;
        else
            inside = middle;
    }
    *out = outside;
    return true;
}

// From 1 to `end` in steps; *out stays 0 when the order does not turn.
static bool search_side(const Duel *duel, double end, double step, double *out, Err *err) {
    double inside = 1, now;
    *out = 0;
    while (inside != end) {
        double next = inside * step;
        if (step > 1 ? next > end * (1 - CLOSE) : next < end * (1 + CLOSE)) next = end;
        if (!difference(duel, next, &now, err)) return false;
        if (has_turned(duel, now)) return halve(duel, inside, next, out, err);
        inside = next;
    }
    return true;
}

static bool differs(WhyLab *lab, const WhyKnob *knob, double factor, bool *out, Err *err) {
    WhyResult base, now;
    if (!why_vary_base(lab, &base, err) || !why_vary_scale(lab, knob, factor, &now, err))
        return false;
    if (!equal(&base, &now)) *out = true;
    return true;
}

// How far a factor is from 1, as a ratio of 1 or more.
static double distance(double factor) {
    return factor < 1 ? 1 / factor : factor;
}

static bool find_flip(Duel *duel, WhyFlip *out, Err *err) {
    double most = most_factor(duel->a, duel->knob, WHY_FLIP_MOST), up, down;
    *out = (WhyFlip){.knob = *duel->knob,
                     .low = 1 / WHY_FLIP_MOST,
                     .high = most_factor(duel->b, duel->knob, most)};
    if (!differs(duel->a, duel->knob, out->low, &out->has_influence, err) ||
        !differs(duel->a, duel->knob, out->high, &out->has_influence, err) ||
        !differs(duel->b, duel->knob, out->low, &out->has_influence, err) ||
        !differs(duel->b, duel->knob, out->high, &out->has_influence, err))
        return false;
    if (!out->has_influence) return true;
    if (!search_side(duel, out->high, ROOT_OF_2, &up, err) ||
        !search_side(duel, out->low, 1 / ROOT_OF_2, &down, err))
        return false;
    out->is_found = up > 0 || down > 0;
    bool takes_up = up > 0 && (down == 0 || distance(up) <= distance(down));
    out->factor = takes_up ? up : down;
    return true;
}

static bool comes_before(const WhyFlip *a, const WhyFlip *b) {
    if (a->is_found != b->is_found) return a->is_found;
    if (a->is_found) return distance(a->factor) < distance(b->factor);
    return a->has_influence && !b->has_influence;
}

static void sort_flips(WhyFlip *items, uint32_t count) {
    for (uint32_t i = 1; i < count; i++) {
        WhyFlip item = items[i];
        uint32_t k = i;
        for (; k > 0 && comes_before(&item, &items[k - 1]); k--) items[k] = items[k - 1];
        items[k] = item;
    }
}

bool why_vary_flips(WhyLab *a, WhyLab *b, const WhyKnob *knobs, uint32_t count, WhyFlip *out,
                    Err *err) {
    WhyResult of_a, of_b;
    if (!why_vary_base(a, &of_a, err) || !why_vary_base(b, &of_b, err)) return false;
    if (of_a.tok_s_per_gpu == of_b.tok_s_per_gpu)
        return err_set(err, "the plans tie: no order that could turn");
    Progress progress;
    bool done = true;
    progress_start(&progress, "looking for what turns the order", count);
    for (uint32_t i = 0; done && i < count; i++) {
        Duel duel = {a, b, &knobs[i], of_b.tok_s_per_gpu - of_a.tok_s_per_gpu};
        done = find_flip(&duel, &out[i], err);
        progress_step(&progress, i + 1);
    }
    progress_end(&progress);
    if (done) sort_flips(out, count);
    return done;
}
