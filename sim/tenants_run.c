// The measured tenant and its neighbours in one simulation.
//
// The neighbours begin first, each shifted by a part of its own step, and go on until after the
// measured one has ended: what is measured never runs beside links that are idle because a
// neighbour was late or gone. Whether that held is looked at after each run, and more steps are
// given when it did not.
//
// Invariant: tenants are submitted in the order of their GPUs, and a neighbour's offset depends on
// how many places it is behind the measured tenant: neither depends on the order of the input.
#include "sim/tenants_run.h"

#include "model/base/wide.h"
#include "sim/engine.h"

#define WARM_STEPS  2     // until a pipeline and its neighbours are in step
#define PASSES_MAX  20000 // of a neighbour
#define STRETCH_MAX 64    // times the lone time that a run may take, in quarters: 16
#define QUARTERS    4

static const Pool *pool_of(const TenantsState *state, uint32_t tenant) {
    return &state->input->tenants[tenant].plan.pools[0];
}

static EvaluatePhase *phase_of(TenantWork *work, Phase phase) {
    switch (phase) {
    case PHASE_PREFILL: return &work->evaluation.prefill_phase;
    case PHASE_DECODE: break;
    }
    return &work->evaluation.decode_phase;
}

static uint32_t place_of(const TenantsState *state, uint32_t tenant) {
    uint32_t place = 0;
    while (state->order[place] != tenant) place++;
    return place;
}

// Whole step times of the slowest neighbour until all run.
static Time head_start(const TenantsState *state, const TenantsRun *run) {
    Time longest = 0;
    for (uint32_t t = 0; t < state->input->count; t++)
        if (t != run->measured && state->works[t].step_ps > longest)
            longest = state->works[t].step_ps;
    return 2 * longest;
}

// Neighbour number d behind the measured one is shifted by (2 d - 1) offset / offsets of its step:
// odd factors, so that each goes through all offsets when their number is a power of two.
static Time offset_of(const TenantsState *state, const TenantsRun *run, uint32_t tenant) {
    uint32_t count = state->input->count;
    uint32_t behind = (place_of(state, tenant) + count - place_of(state, run->measured)) % count;
    uint32_t part = (uint32_t)((uint64_t)run->offset * (2 * behind - 1) % run->offsets);
    return (Time)wide_mul_div((uint64_t)state->works[tenant].step_ps, part, run->offsets);
}

// How one simulation is opened.
typedef struct Opening {
    const TenantsRun *run;
    uint32_t stretch;
    SimForm form;
    TenantsJoint joint;
} Opening;

// Passes of a neighbour that last until the measured tenant has ended, if it takes stretch quarters
// of its time alone.
static bool neighbour_passes(const TenantsState *state, const Opening *opening, uint32_t tenant,
                             uint32_t *out, Err *err) {
    const TenantsRun *run = opening->run;
    const TenantWork *work = &state->works[tenant];
    double length = (double)run->alone_ps / QUARTERS * opening->stretch;
    double steps = ((double)head_start(state, run) + length) / (double)work->step_ps + 3;
    if (steps * work->lag > PASSES_MAX)
        return err_set(err,
                       "a step of %s lasts longer than %d steps of %s: too many to simulate "
                       "together",
                       state->input->tenants[run->measured].name, PASSES_MAX,
                       state->input->tenants[tenant].name);
    *out = (uint32_t)steps * work->lag;
    return true;
}

static bool submit(TenantsState *state, Opening *opening, uint32_t tenant, Err *err) {
    const TenantsRun *run = opening->run;
    TenantWork *work = &state->works[tenant];
    bool is_measured = tenant == run->measured;
    EvaluatePhase *phase = phase_of(work, is_measured ? run->phase : PHASE_DECODE);
    SimOptions options = {.form = opening->form,
                          .first_gpu = pool_of(state, tenant)->first_gpu,
                          .places = work->places};
    StepShape shape = is_measured ? run->shape : phase->shape;
    Time when = 0;
    uint32_t passes = is_measured ? (WARM_STEPS + run->steps) * work->lag : 0;
    if (is_measured && run->offsets > 0) when = head_start(state, run);
    if (!is_measured) {
        when = offset_of(state, run, tenant);
        if (!neighbour_passes(state, opening, tenant, &passes, err)) return false;
    }
    if (!is_measured || run->steps > 0) schedule_set_passes(&phase->schedule, passes);
    return sim_submit(opening->joint.sim, &phase->schedule, &shape, &work->load, &options, when,
                      &opening->joint.handles[tenant], err) ||
           err_prefix(err, "%s", state->input->tenants[tenant].name);
}

// Operations, and transfers of communication, of all instances.
static double work_of(const Submission *submission) {
    double work = 0;
    for (OpId op = 0; op < submission->schedule->op_count; op++)
        work += (double)schedule_index_per_pass(&submission->index, op);
    work *= submission->member_count;
    for (uint32_t m = 0; m < submission->meeting_count; m++) {
        const Meeting *meeting = &submission->meetings[m];
        double flows = 0;
        for (uint32_t s = 0; s < meeting->traffic.step_count; s++)
            flows += (double)meeting->traffic.steps[s].flow_count *
                     (double)meeting->traffic.steps[s].repeat;
        work += flows * (double)schedule_index_per_pass(&submission->index, meeting->op);
    }
    return work * submission->round_count;
}

// Refused when this run and those with the offsets that are left go beyond what all runs may do.
static bool check_work(TenantsState *state, const TenantsRun *run, const Sim *sim, double *out,
                       Err *err) {
    double most = state->input->work_max > 0 ? state->input->work_max : TENANTS_WORK;
    uint32_t times = run->offsets > run->offset ? run->offsets - run->offset : 1;
    *out = 0;
    for (uint32_t s = 0; s < sim->submission_count; s++) *out += work_of(sim->submissions[s]);
    return state->result->work + *out * times <= most ||
           err_set(err,
                   "%.3g operations and transfers to simulate rank by rank, at most %.3g: place "
                   "tenants on whole scale-up domains or nodes, where equal ranks are one",
                   state->result->work + *out * times, most);
}

// Refined runs that look at one of many alike parts of a machine compare links only by what each
// looked at: not enough for tenants that lie in different parts.
static bool check_cells(const Sim *sim, SimForm form, Err *err) {
    return form != SIM_REFINED || sim->submission_count <= 1 || sim->net.cells == HASH_START ||
           err_set(err, "tenants repeat in parts of the machine");
}

static bool open_form(TenantsState *state, Opening *opening, Err *err) {
    const TenantsRun *run = opening->run;
    Sim *sim = opening->joint.sim = sim_open(state->input->fabric, state->input->model);
    bool done = true;
    double work = 0;
    for (uint32_t i = 0; done && i < state->input->count; i++) {
        uint32_t tenant = state->order[i];
        if (run->offsets == 0 && tenant != run->measured) continue;
        done = submit(state, opening, tenant, err);
    }
    done = done && check_cells(sim, opening->form, err) && check_work(state, run, sim, &work, err);
    if (!done) {
        sim_close(sim);
        return false;
    }
    state->result->work += work;
    if (opening->form > state->result->form) state->result->form = opening->form;
    return true;
}

bool tenants_run_open(TenantsState *state, const TenantsRun *run, uint32_t stretch,
                      TenantsJoint *out, Err *err) {
    static const SimForm forms[] = {SIM_FOLDED, SIM_REFINED, SIM_EXPANDED};
    const SimForm *form = forms, *end = forms + sizeof forms / sizeof *forms;
    if (state->input->form != SIM_AUTO) {
        form = &state->input->form;
        end = form + 1;
    }
    Err reason = {0};
    for (; form < end; form++) {
        Opening opening = {.run = run, .stretch = stretch, .form = *form};
        if (!open_form(state, &opening, &reason)) continue;
        *out = opening.joint;
        return true;
    }
    *err = reason;
    return false;
}

// Whether the neighbours were there until the end.
static bool is_covered(const TenantsState *state, const TenantsRun *run,
                       const TenantsJoint *joint) {
    Submission **submissions = joint->sim->submissions;
    Time end = submissions[joint->handles[run->measured]]->end;
    for (uint32_t t = 0; run->offsets > 0 && t < state->input->count; t++)
        if (submissions[joint->handles[t]]->end < end) return false;
    return true;
}

static void read_span(const TenantsState *state, const TenantsRun *run, const Submission *measured,
                      TenantsSpan *out) {
    uint32_t last = measured->round_count - 1;
    uint32_t passes = run->steps > 0 ? run->steps * state->works[run->measured].lag : 1;
    Time since = last >= passes ? measured->rounds[last - passes] : measured->when;
    *out = (TenantsSpan){.first_ps = measured->rounds[0] - measured->when,
                         .steps_ps = measured->rounds[last] - since,
                         .end_ps = measured->end - measured->when};
}

bool tenants_run_one(TenantsState *state, const TenantsRun *run, TenantsSpan *out, Err *err) {
    for (uint32_t stretch = QUARTERS + 1; stretch <= STRETCH_MAX; stretch *= 2) {
        TenantsJoint joint;
        if (!tenants_run_open(state, run, stretch, &joint, err)) return false;
        Sim *sim = joint.sim;
        bool done = sim_advance(sim, err), covered = done && is_covered(state, run, &joint);
        if (covered) read_span(state, run, sim->submissions[joint.handles[run->measured]], out);
        state->result->runs++;
        state->result->events += sim->events;
        sim_close(sim);
        if (!done || covered) return done;
    }
    return err_set(err, "%s takes more than %d times as long beside its neighbours as alone",
                   state->input->tenants[run->measured].name, STRETCH_MAX / QUARTERS);
}
