// The event loop.
//
// All events of one instant are applied before rates change: compute that ends, transfers that end,
// operations that thereby start. Only then are the rates solved and the clock moved to the next end
// or event. Streams do not arbitrate: an operation starts when its own conditions hold, so the
// order inside an instant has no effect on times.
#include "sim/sim.h"

#include <assert.h>
#include <string.h>

#include "model/base/mem.h"
#include "sim/engine_account.h"
#include "sim/engine_compute.h"
#include "sim/engine_repeat.h"

Sim *sim_open(const Fabric *fabric, const PriceModel *model) {
    Sim *sim = mem_alloc(1, sizeof *sim);
    *sim = (Sim){.fabric = fabric, .model = model, .repeat = engine_repeat_open()};
    net_init(&sim->net, fabric, model->calib);
    return sim;
}

static void close_submission(Submission *submission) {
    engine_free(submission);
    mem_free(submission);
}

void sim_close(Sim *sim) {
    if (sim == NULL) return;
    for (uint32_t i = 0; i < sim->submission_count; i++) close_submission(sim->submissions[i]);
    mem_free(sim->submissions);
    mem_free(sim->heap);
    mem_free(sim->tags);
    engine_repeat_close(sim->repeat);
    net_free(&sim->net);
    mem_free(sim);
}

static void keep_span(Submission *submission, uint32_t member, const Stream *stream, Time now) {
    if (submission->span_count == submission->span_capacity) {
        submission->span_capacity =
            submission->span_capacity ? 2 * submission->span_capacity : 1024;
        submission->spans = mem_realloc(submission->spans, (size_t)submission->span_capacity,
                                        sizeof *submission->spans);
    }
    submission->spans[submission->span_count++] = (Span){.op = stream->cursor.op,
                                                         .member = member,
                                                         .pass = stream->cursor.pass,
                                                         .iteration = stream->cursor.iteration,
                                                         .start_ps = stream->started,
                                                         .end_ps = now};
}

static bool is_ready(const Submission *submission, const Member *member, const Stream *stream) {
    const EngineOp *op = &submission->ops[stream->cursor.op];
    for (uint32_t i = 0; i < op->wait_count; i++) {
        OpId on = submission->schedule->waits[op->first_wait + i];
        if (member->done[on] < schedule_index_earlier(&submission->index, &stream->cursor, on))
            return false;
    }
    return true;
}

static void post(Sim *sim, EventKind kind, uint32_t s, uint32_t index, uint32_t detail, Time time) {
    Event event = {.time = time, .kind = kind, .submission = s, .index = index, .detail = detail};
    if (kind == EVENT_ENDED)
        event.version = sim->submissions[s]->members[index].streams[detail].version;
    engine_push(sim, &event);
}

// Sets the flows of the present step going, each after the latency of its path.
static void start_step(Sim *sim, uint32_t s, uint32_t m) {
    Submission *submission = sim->submissions[s];
    Meeting *meeting = &submission->meetings[m];
    const TrafficStep *step = &meeting->traffic.steps[meeting->step];
    engine_account_meeting(submission, meeting, sim->now);
    meeting->is_running = true;
    meeting->pending = step->flow_count;
    for (uint32_t i = 0; i < step->latency_count; i++) {
        const TrafficLatency *latency = &meeting->traffic.latencies[step->first_latency + i];
        Time begin = sim->now + meeting->fixed_ps + engine_param_ps(sim, latency->step_param) +
                     latency->hardware_ps;
        post(sim, EVENT_LAUNCH, s, m, i, begin);
    }
}

// Begins an instance, of which the first step waits `fixed_ps` more.
static void begin_meeting(Sim *sim, uint32_t s, Meeting *meeting, Time fixed_ps) {
    meeting->fixed_ps = fixed_ps;
    meeting->began = sim->now;
    meeting->step = 0;
    meeting->repeats_left = meeting->traffic.steps[0].repeat;
    start_step(sim, s, (uint32_t)(meeting - sim->submissions[s]->meetings));
}

static uint32_t participant_of(const Meeting *meeting, uint32_t member) {
    uint32_t i = 0;
    while (meeting->participants[i].member != member) i++;
    return i;
}

static void enter_collective(Sim *sim, uint32_t s, uint32_t member, Stream *stream) {
    Submission *submission = sim->submissions[s];
    Meeting *meeting = engine_meeting(submission, &submission->members[member], stream->cursor.op);
    if (meeting->traffic.step_count == 0) {
        post(sim, EVENT_ENDED, s, member, stream->cursor.stream, sim->now);
        return;
    }
    stream->participant = participant_of(meeting, member);
    if (++meeting->arrived < meeting->participant_count) return;
    meeting->arrived = 0;
    begin_meeting(sim, s, meeting, engine_param_ps(sim, CALIB_COLLECTIVE));
}

static void enter_send(Sim *sim, uint32_t s, uint32_t member, Stream *stream) {
    Submission *submission = sim->submissions[s];
    Meeting *meeting = engine_meeting(submission, &submission->members[member], stream->cursor.op);
    stream->participant = 0;
    begin_meeting(sim, s, meeting, 0);
}

// A receive needs the instance of `lag` passes earlier; before that the data is there already.
// Sends run ahead of receives: their data waits in the receiver's buffer.
static bool has_come(const Meeting *meeting) {
    return meeting->received < meeting->ahead ||
           meeting->delivered > meeting->received - meeting->ahead;
}

static void enter_receive(Sim *sim, uint32_t s, uint32_t member, Stream *stream) {
    Submission *submission = sim->submissions[s];
    Meeting *meeting = engine_meeting(submission, &submission->members[member], stream->cursor.op);
    stream->participant = 1;
    if (!has_come(meeting)) {
        meeting->receiver_waits = true;
        return;
    }
    meeting->received++;
    post(sim, EVENT_ENDED, s, member, stream->cursor.stream, sim->now);
}

static void try_stream(Sim *sim, uint32_t s, uint32_t member, uint32_t at) {
    Submission *submission = sim->submissions[s];
    Member *m = &submission->members[member];
    Stream *stream = &m->streams[at];
    if (stream->state != STREAM_BLOCKED || !is_ready(submission, m, stream)) return;
    engine_account_member(submission, member, sim->now);
    stream->state = STREAM_RUNNING;
    stream->started = sim->now;
    if (engine_is_comm(submission, stream->cursor.op))
        engine_compute_take_sms(sim, s, member, stream->cursor.op);
    switch (submission->ops[stream->cursor.op].kind) {
    case OP_GEMM:
    case OP_GROUPED_GEMM:
    case OP_ATTENTION:
    case OP_MEMORY:
    case OP_COPY: engine_compute_start(sim, s, member, at); break;
    case OP_SEND: enter_send(sim, s, member, stream); break;
    case OP_RECV: enter_receive(sim, s, member, stream); break;
    case OP_COLLECTIVE: enter_collective(sim, s, member, stream); break;
    case OP_KIND_COUNT: break;
    }
}

static void try_member(Sim *sim, uint32_t s, uint32_t member) {
    for (uint32_t at = 0; at < sim->submissions[s]->schedule->stream_count; at++)
        try_stream(sim, s, member, at);
}

static Time bound_of(Submission *submission, uint32_t m, OpId op) {
    const Member *member = &submission->members[m];
    if (!engine_is_comm(submission, op)) return engine_price(submission, m, op)->roofline_ps;
    if (submission->ops[op].kind == OP_RECV) return 0;
    return engine_meeting(submission, member, op)->traffic.bound_ps;
}

static void note_end(Submission *submission, uint32_t member, const Stream *stream, Time now) {
    Member *m = &submission->members[member];
    OpTotal *total = engine_account_total(submission, member, stream->cursor.op);
    total->instances++;
    total->busy_ps += now - stream->started;
    total->bound_ps += bound_of(submission, member, stream->cursor.op);
    m->done[stream->cursor.op]++;
    m->end = submission->end = now; // time never goes back
    submission->rounds[stream->cursor.pass] = now;
    if (submission->options.keep_spans) keep_span(submission, member, stream, now);
}

static void end_operation(Sim *sim, uint32_t s, uint32_t member, uint32_t at) {
    Submission *submission = sim->submissions[s];
    Member *m = &submission->members[member];
    Stream *stream = &m->streams[at];
    engine_account_member(submission, member, sim->now);
    note_end(submission, member, stream, sim->now);
    const ScheduleCursor before = stream->cursor;
    schedule_index_next(&submission->index, &stream->cursor);
    if (stream->cursor.iteration != before.iteration || stream->cursor.segment != before.segment ||
        stream->cursor.pass != before.pass)
        engine_repeat_begin(sim, s, member, at);
    stream->state = stream->cursor.op == SCHEDULE_NONE ? STREAM_ENDED : STREAM_BLOCKED;
    if (engine_is_comm(submission, before.op)) engine_compute_give_sms(sim, s, member, before.op);
    try_member(sim, s, member);
}

static bool launch(Sim *sim, const Event *event, Err *err) {
    Submission *submission = sim->submissions[event->submission];
    Meeting *meeting = &submission->meetings[event->index];
    const TrafficStep *step = &meeting->traffic.steps[meeting->step];
    engine_account_meeting(submission, meeting, sim->now);
    for (uint32_t i = 0; i < meeting->participant_count; i++)
        meeting->participants[i].exposed_before[event->detail] =
            meeting->participants[i].exposed_ps;
    for (uint32_t f = 0; f < step->flow_count; f++) {
        const TrafficFlow *flow = &meeting->traffic.flows[step->first_flow + f];
        if (flow->latency != event->detail) continue;
        if (!flow_start(sim->net.flows, flow->path, flow->bytes,
                        meeting->first_tag + step->first_flow + f, sim->now))
            return err_set(
                err, "operation \"%s\": a transfer of %llu bytes is too large to simulate",
                submission->schedule->ops[meeting->op].name, (unsigned long long)flow->bytes);
    }
    return true;
}

static void leave_collective(Sim *sim, uint32_t s, Meeting *meeting) {
    Submission *submission = sim->submissions[s];
    meeting->is_running = false;
    for (uint32_t i = 0; i < meeting->participant_count; i++) {
        const Participant *participant = &meeting->participants[i];
        engine_account_transfer(submission, participant->member, participant->op, meeting->began,
                                sim->now);
        post(sim, EVENT_ENDED, s, participant->member,
             submission->schedule->ops[participant->op].stream, sim->now);
    }
}

static void deliver(Sim *sim, uint32_t s, Meeting *meeting) {
    Submission *submission = sim->submissions[s];
    meeting->is_running = false;
    meeting->delivered++;
    const Participant *sender = &meeting->participants[0], *receiver = &meeting->participants[1];
    engine_account_transfer(submission, sender->member, sender->op, meeting->began, sim->now);
    if (meeting->receiver_waits) {
        Time started = submission->members[receiver->member]
                           .streams[submission->schedule->ops[receiver->op].stream]
                           .started;
        Time since = started > meeting->began ? started : meeting->began;
        engine_account_transfer(submission, receiver->member, receiver->op, since, sim->now);
    }
    post(sim, EVENT_ENDED, s, sender->member, submission->schedule->ops[sender->op].stream,
         sim->now);
    if (!meeting->receiver_waits || !has_come(meeting)) return;
    meeting->receiver_waits = false;
    meeting->received++;
    post(sim, EVENT_ENDED, s, receiver->member, submission->schedule->ops[receiver->op].stream,
         sim->now);
}

// Of flows that end in one instant the one with the longest latency counts as the last, so that the
// order of their ends has no effect.
static void note_last(Meeting *meeting, const TrafficFlow *flow, Time now) {
    const TrafficStep *step = &meeting->traffic.steps[meeting->step];
    const TrafficLatency *latencies = &meeting->traffic.latencies[step->first_latency];
    const TrafficFlow *last = meeting->last_end == now ? meeting->last : NULL;
    meeting->last_end = now;
    if (last != NULL) {
        const TrafficLatency *a = &latencies[last->latency], *b = &latencies[flow->latency];
        if (a->hardware_ps != b->hardware_ps ? a->hardware_ps > b->hardware_ps
            : a->step_param != b->step_param ? a->step_param > b->step_param
                                             : last->narrowest <= flow->narrowest)
            return;
    }
    meeting->last = flow;
}

static void flow_ended(Sim *sim, uint32_t tag) {
    TagOwner owner = sim->tags[tag];
    Submission *submission = sim->submissions[owner.submission];
    Meeting *meeting = &submission->meetings[owner.meeting];
    const TrafficFlow *flow = &meeting->traffic.flows[tag - meeting->first_tag];
    net_count(&sim->net, flow->edges, flow->edge_count, flow->scale, flow->bytes);
    note_last(meeting, flow, sim->now);
    if (--meeting->pending > 0) return;
    engine_account_settle(sim, submission, meeting, meeting->last);
    meeting->last = NULL;
    meeting->fixed_ps = 0;
    if (--meeting->repeats_left > 0) {
        start_step(sim, owner.submission, owner.meeting);
    } else if (meeting->step + 1 < meeting->traffic.step_count) {
        meeting->step++;
        meeting->repeats_left = meeting->traffic.steps[meeting->step].repeat;
        start_step(sim, owner.submission, owner.meeting);
    } else if (submission->ops[meeting->op].kind == OP_SEND)
        deliver(sim, owner.submission, meeting);
    else
        leave_collective(sim, owner.submission, meeting);
}

static bool apply(Sim *sim, const Event *event, Err *err) {
    switch (event->kind) {
    case EVENT_ENTER:
        for (uint32_t m = 0; m < sim->submissions[event->submission]->member_count; m++)
            try_member(sim, event->submission, m);
        return true;
    case EVENT_ENDED:
        if (engine_is_current(sim, event))
            end_operation(sim, event->submission, event->index, event->detail);
        return true;
    case EVENT_LAUNCH: return launch(sim, event, err);
    }
    return true;
}

static bool apply_instant(Sim *sim, Err *err) {
    for (;;) {
        uint32_t tag;
        Event event;
        if (flow_take(sim->net.flows, sim->now, &tag))
            flow_ended(sim, tag);
        else if (sim->heap_count > 0 && sim->heap[0].time <= sim->now) {
            engine_pop(sim, &event);
            if (!apply(sim, &event, err)) return false;
        } else
            return true;
    }
}

static bool refuse_stuck(const Sim *sim, Err *err) {
    for (uint32_t s = 0; s < sim->submission_count; s++) {
        const Submission *submission = sim->submissions[s];
        for (uint32_t m = 0; m < submission->member_count; m++) {
            const Member *member = &submission->members[m];
            for (uint32_t at = 0; at < submission->schedule->stream_count; at++) {
                const Stream *stream = &member->streams[at];
                if (stream->state == STREAM_ENDED) continue;
                const char *role = submission->schedule->roles[member->role].name;
                const char *op = submission->schedule->ops[stream->cursor.op].name;
                if (stream->state == STREAM_RUNNING)
                    return err_set(err, "no progress: \"%s\" of role \"%s\" waits for its partners",
                                   op, role);
                return err_set(err,
                               "no progress: \"%s\" of role \"%s\" waits for an earlier operation",
                               op, role);
            }
        }
    }
    return true;
}

// Nothing happens before the end of time: what runs is named by its first operation.
static bool refuse_long(const Sim *sim, Err *err) {
    const char *name = "";
    for (uint32_t s = 0; *name == '\0' && s < sim->submission_count; s++) {
        const Submission *submission = sim->submissions[s];
        size_t streams = submission->schedule->stream_count;
        for (size_t i = 0; *name == '\0' && i < submission->member_count * streams; i++) {
            const Stream *stream = &submission->members[i / streams].streams[i % streams];
            if (stream->state == STREAM_RUNNING)
                name = submission->schedule->ops[stream->cursor.op].name;
        }
    }
    return err_set(err, "operation \"%s\" takes longer than the %lld days that time can hold", name,
                   (long long)(TIME_MAX / PS_PER_SECOND / 86400));
}

bool sim_advance(Sim *sim, Err *err) {
    for (;;) {
        if (!apply_instant(sim, err)) return false;
        flow_solve(sim->net.flows, sim->now);
        engine_repeat_skip(sim);
        Time next = flow_next(sim->net.flows);
        if (sim->heap_count > 0 && sim->heap[0].time < next) next = sim->heap[0].time;
        if (next == TIME_MAX) return refuse_stuck(sim, err);
        if (next >= TIME_MAX / 2) return refuse_long(sim, err);
        sim->now = next;
    }
}

// The submission of a request in one form, or NULL.
static Submission *open_submission(Sim *sim, const Submission *request, SimForm form, Err *err) {
    Submission *submission = mem_alloc(1, sizeof *submission);
    *submission = *request;
    if (engine_build(sim, submission, form, err)) {
        sim->form = form;
        return submission;
    }
    close_submission(submission);
    return NULL;
}

// The first submission fixes the form of all: folded when that is exact, else refined.
static Submission *open_in_either_form(Sim *sim, const Submission *request, Err *err) {
    Submission *submission = open_submission(sim, request, SIM_FOLDED, err);
    if (submission != NULL) return submission;
    net_free(&sim->net); // it has classes of links that were made for nothing
    net_init(&sim->net, sim->fabric, sim->model->calib);
    sim->tag_count = 0;
    Err reason = {0}, unfolded = *err;
    submission = open_submission(sim, request, SIM_REFINED, &reason);
    if (submission != NULL) return submission;
    *err = reason;
    if (strcmp(reason.text, unfolded.text) != 0)
        err_set(err, "%s; and not folded: %s", reason.text, unfolded.text);
    return NULL;
}

bool sim_submit(Sim *sim, const Schedule *schedule, const StepShape *shape, const Load *load,
                const SimOptions *options, Time when, uint32_t *out_handle, Err *err) {
    assert(when >= sim->now);
    const Submission request = {.schedule = schedule,
                                .shape = *shape,
                                .load = *load,
                                .options = *options,
                                .when = when,
                                .end = when};
    SimForm form = options->form == SIM_AUTO ? sim->form : options->form;
    if (sim->form != SIM_AUTO && form != sim->form)
        return err_set(err, "all schedules of one simulation must be of one form");
    if (sim->submission_count > 0 &&
        options->flow_eps_ppb != sim->submissions[0]->options.flow_eps_ppb)
        return err_set(err,
                       "all schedules of one simulation must have one flow eps: expected %u parts "
                       "of 10^9, found %u",
                       sim->submissions[0]->options.flow_eps_ppb, options->flow_eps_ppb);
    Submission *submission = form == SIM_AUTO ? open_in_either_form(sim, &request, err)
                                              : open_submission(sim, &request, form, err);
    if (submission == NULL) return false;
    flow_set_eps(sim->net.flows, options->flow_eps_ppb);
    sim->submissions = mem_grow(sim->submissions, &sim->submission_capacity,
                                sim->submission_count + 1, sizeof *sim->submissions);
    sim->submissions[sim->submission_count] = submission;
    post(sim, EVENT_ENTER, sim->submission_count, 0, 0, when);
    *out_handle = sim->submission_count++;
    return true;
}

// Of members that end together, the one of the lowest rank.
static uint32_t last_member(const Submission *submission) {
    uint32_t last = 0;
    for (uint32_t m = 1; m < submission->member_count; m++) {
        const Member *member = &submission->members[m], *best = &submission->members[last];
        if (member->end > best->end ||
            (member->end == best->end && member->first_rank < best->first_rank))
            last = m;
    }
    return last;
}

// What an instance of each operation moves, when it communicates.
static uint64_t *comm_bytes(const Submission *submission) {
    const Schedule *schedule = submission->schedule;
    uint64_t *bytes = mem_alloc(schedule->op_count, sizeof *bytes);
    for (OpId op = 0; op < schedule->op_count; op++)
        if (engine_is_comm(submission, op))
            bytes[op] = extent_value(&schedule->ops[op].comm.bytes, &submission->shape);
    return bytes;
}

static void copy_totals(const Submission *submission, Timeline *out) {
    size_t ops = out->op_count;
    uint64_t *bytes = comm_bytes(submission);
    out->totals = arena_alloc(&out->arena, out->member_count * ops, sizeof *out->totals);
    for (uint32_t m = 0; m < out->member_count; m++) {
        const Member *member = &submission->members[m];
        OpTotal *row = &out->totals[m * ops];
        memcpy(&row[member->first_op], &submission->totals[member->first_total],
               (member->end_op - member->first_op) * sizeof *row);
        for (OpId op = 0; op < ops; op++) {
            row[op].price = *engine_price(submission, m, op);
            row[op].bytes = engine_is_comm(submission, op) ? bytes[op] : row[op].price.bytes;
        }
    }
    mem_free(bytes);
}

static TimelineForm form_of(SimForm form) {
    switch (form) {
    case SIM_AUTO:
    case SIM_FOLDED: break;
    case SIM_REFINED: return TIMELINE_REFINED;
    case SIM_EXPANDED: return TIMELINE_EXPANDED;
    }
    return TIMELINE_FOLDED;
}

static void copy_members(const Submission *submission, Timeline *out) {
    out->members = arena_alloc(&out->arena, out->member_count, sizeof *out->members);
    for (uint32_t m = 0; m < out->member_count; m++) {
        const Member *member = &submission->members[m];
        out->members[m] = (TimelineMember){member->role, member->first_rank, member->ranks};
    }
}

void sim_timeline(Sim *sim, uint32_t handle, Timeline *out) {
    Submission *submission = sim->submissions[handle];
    const Schedule *schedule = submission->schedule;
    *out = (Timeline){.maker = "simulator",
                      .schedule = schedule->digest,
                      .shape = step_shape_digest(&submission->shape),
                      .load = submission->load.digest,
                      .fabric = sim->fabric->topology->digest,
                      .calibration = sim->model->calib->digest,
                      .end_ps = submission->end - submission->when,
                      .span_count = submission->span_count,
                      .member_count = submission->member_count,
                      .op_count = schedule->op_count,
                      .round_count = submission->round_count,
                      .form = form_of(sim->form),
                      .events = sim->events,
                      .flow_eps_ppb = submission->options.flow_eps_ppb,
                      .flow_eps_error_ppb = flow_stats(sim->net.flows).late_ppb};
    if (submission->options.keep_spans)
        out->spans = arena_copy(&out->arena, submission->spans, submission->span_count,
                                sizeof *submission->spans);
    copy_members(submission, out);
    copy_totals(submission, out);
    out->round_ps = arena_copy(&out->arena, submission->rounds, submission->round_count,
                               sizeof *submission->rounds);
    for (uint32_t i = 0; i < out->round_count; i++) out->round_ps[i] -= submission->when;
    net_totals(&sim->net, out->links);
    if (submission->member_count > 0)
        out->share = submission->members[last_member(submission)].share;
}

bool sim_run(const Fabric *fabric, const PriceModel *model, const Schedule *schedule,
             const StepShape *shape, const Load *load, const SimOptions *options, Timeline *out,
             Err *err) {
    Sim *sim = sim_open(fabric, model);
    uint32_t handle;
    bool done =
        sim_submit(sim, schedule, shape, load, options, 0, &handle, err) && sim_advance(sim, err);
    if (done) sim_timeline(sim, handle, out);
    sim_close(sim);
    return done;
}
