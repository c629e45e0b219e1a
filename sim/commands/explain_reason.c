// Reasons, from the operations on the critical path and the groups they run in.
//
// Invariant: all numbers of a reason are sums over the operations of its class on the path, or of
// its operation that takes longest there.
#include "sim/commands/explain_reason.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/mem.h"
#include "model/base/num.h"
#include "model/plan/pool_place.h"
#include "sim/commands/output.h"

// Of all operations of one name on the path; or of all of a class.
typedef struct Work {
    OpId op; // one of them, the longest
    Time time_ps, longest_ps, roofline_ps;
    double times, flop, bytes;
} Work;

// The totals of an operation, of the first member that runs it.
static const OpTotal *total_of(const EvaluatePhase *phase, OpId op) {
    const Timeline *timeline = &phase->timeline;
    RoleId role = schedule_op_role(&phase->schedule, op);
    uint32_t member = 0;
    while (member + 1 < timeline->member_count && timeline_role(timeline, member) != role) member++;
    return &timeline->totals[(size_t)member * timeline->op_count + op];
}

// name == NULL: all of the class.
static Work work_of(const ExplainStep *step, uint32_t term, const char *name) {
    Work work = {.op = SCHEDULE_NONE};
    const EvaluatePhase *phase = step->phase;
    for (OpId op = 0; op < step->why.path.op_count; op++) {
        const WhyOp *on_path = &step->why.path.ops[op];
        const Op *o = &phase->schedule.ops[op];
        if (on_path->times == 0 || (uint32_t)o->op_class != term ||
            (name != NULL && strcmp(o->name, name) != 0))
            continue;
        const OpTotal *total = total_of(phase, op);
        work.time_ps += on_path->time_ps;
        work.times += on_path->times;
        work.bytes += (double)on_path->times * (double)total->bytes;
        if (!schedule_op_is_comm(o->kind)) {
            work.flop += (double)on_path->times * (double)total->price.flop;
            work.roofline_ps += (Time)on_path->times * total->price.roofline_ps;
        }
        if (work.op != SCHEDULE_NONE && on_path->time_ps <= work.longest_ps) continue;
        work.op = op;
        work.longest_ps = on_path->time_ps;
    }
    return work;
}

// ---- Communication

static void add_place(const ExplainPlan *plan, const GroupFamily *family, Text *out) {
    WhyReach reach;
    const Fabric *fabric = &plan->inputs.fabric;
    bool is_one = family->count == 1;
    const Pool *pool = &plan->plan.pools[0];
    uint32_t *places = NULL;
    Err ignored = {0}; // the plan was evaluated
    pool_place_order(fabric, pool, &places, &ignored);
    why_reach(fabric, &(WhyReachRanks){pool->first_gpu, places}, family, &reach);
    mem_free(places);
    text_addf(out, "its %" PRIu32 " %s group%s of %" PRIu32 " ", family->count, family->name,
              is_one ? "" : "s", family->size);
    bool is_wide = fabric->domain_size > 1;
    uint32_t parts = is_wide ? reach.domains : reach.nodes;
    const char *part = is_wide ? "scale-up domain" : "node";
    if (parts == 1)
        text_addf(out, "%s in one %s", is_one ? "stays" : "stay", part);
    else
        text_addf(out, "%s %" PRIu32 " %ss", is_one ? "crosses" : "cross", parts, part);
    if (reach.leaves == 1) text_add(out, " over one leaf");
    if (reach.leaves > 1) text_addf(out, " over %" PRIu32 " leaves", reach.leaves);
    text_add(out, ", ");
}

static void add_communication(const ExplainPlan *plan, const Work *all, uint32_t term, Text *out) {
    char bytes[UNITS_TEXT_MAX], time[UNITS_TEXT_MAX];
    const Schedule *schedule = &plan->step.phase->schedule;
    const Op *op = &schedule->ops[all->op];
    Work work = work_of(&plan->step, term, op->name);
    if (op->kind == OP_COLLECTIVE) add_place(plan, &schedule->groups[op->comm.group], out);
    text_addf(out, "%.0f x %s of %s", work.times, op->name,
              units_format_bytes((uint64_t)num_round(work.bytes / work.times), bytes));
    if (op->kind == OP_COLLECTIVE) text_addf(out, " by %s", algorithm_names[op->comm.algorithm]);
    text_addf(out, ", %s each", explain_plan_time(units_seconds(work.time_ps) / work.times, time));
    if (all->times > work.times)
        text_addf(out, ", and %.0f others of %s in all", all->times - work.times,
                  units_format_time(all->time_ps - work.time_ps, time));
}

// ---- All

// A class that is not on the path may be hidden, or absent.
static void add_absence(const ExplainStep *step, uint32_t term, Text *out) {
    const Timeline *timeline = &step->phase->timeline;
    Time busy_ps = 0;
    char time[UNITS_TEXT_MAX];
    for (OpId op = 0; op < timeline->op_count; op++)
        if ((uint32_t)step->phase->schedule.ops[op].op_class == term)
            busy_ps += timeline->totals[(size_t)step->member * timeline->op_count + op].busy_ps;
    if (busy_ps == 0)
        text_add(out, "none");
    else
        text_addf(out, "%s of it in all passes, beside what takes longer",
                  units_format_time(busy_ps, time));
}

static void add_compute(const Work *work, Text *out) {
    char bytes[UNITS_TEXT_MAX], flop[OUTPUT_NUMBER_MAX];
    text_addf(out, "%.0f kernels, %s", work->times,
              units_format_bytes((uint64_t)num_round(work->bytes), bytes));
    if (work->flop > 0) text_addf(out, ", %s Gflop", output_number(work->flop / 1e9, flop));
    text_addf(out, ", at %.0f %% of the roofline",
              explain_plan_percent((double)work->roofline_ps, (double)work->time_ps));
}

void explain_reason_add(const ExplainPlan *plan, uint32_t term, Text *out) {
    char time[UNITS_TEXT_MAX];
    const ExplainStep *step = &plan->step;
    if (term == WHY_ENGINE) {
        text_addf(out, "%" PRIu32 " pass%s of %s", step->is_decode ? step->lag : 1,
                  step->is_decode && step->lag > 1 ? "es" : "",
                  explain_plan_time(plan->inputs.calib.values[CALIB_STEP_OVERHEAD].value, time));
        return;
    }
    Work work = work_of(step, term, NULL);
    if (term == WHY_IDLE)
        text_add(out, units_format_time(step->why.path.term_ps[WHY_IDLE], time));
    else if (work.op == SCHEDULE_NONE)
        add_absence(step, term, out);
    else if (schedule_op_is_comm(step->phase->schedule.ops[work.op].kind))
        add_communication(plan, &work, term, out);
    else
        add_compute(&work, out);
}
