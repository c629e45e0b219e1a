// Steady repeats are run once.
//
// When two iterations of a block begin in the same state, up to a shift of time and of the number
// of the iteration, what happened between them happens again and again until some program leaves
// its block. These repeats are added up instead of run. The whole state is compared, not a digest
// of it, so a run with repeats left out ends at the same picosecond with the same sums.
//
// The state is compared whenever one stream, the leader, begins an iteration; in a block that does
// not become steady this is given up after a few times.
#include "sim/engine_repeat.h"

#include <stdlib.h>
#include <string.h>

#include "model/base/mem.h"

#define REPEATS_WORTH 3 // iterations ahead of the leader
#define TRIES_MAX     8 // in one segment

// A growing list of numbers that describe a state.
typedef struct Words {
    uint64_t *words;
    uint32_t count, capacity;
} Words;

// What one period adds to an OpTotal.
typedef struct OpSum {
    uint64_t instances;
    Time busy_ps, transfer_ps, exposed_ps, bound_ps;
} OpSum;

// Sums at the last time of comparison, to know what one period adds.
typedef struct Sums {
    uint32_t *done;       // [member][op]
    OpSum *totals;        // [member][op]
    TimeShare *shares;    // [member]
    uint32_t *iterations; // [member] of the member's program
    uint64_t *counts;     // [meeting] delivered and received
} Sums;

struct EngineRepeat {
    bool has_leader, has_begun; // begun: the leader has begun an iteration in this instant
    uint32_t submission, member, stream;
    uint32_t segment, pass, tries;
    Time at;
    Words last, next;
    Sums *sums; // by submission
    uint32_t sum_count;
    Wide *links; // what each resource carried
    uint32_t link_count, link_capacity;
    FlowLeft *flows;
    uint32_t flow_capacity;
    Event *events;
    uint32_t event_capacity;
};

EngineRepeat *engine_repeat_open(void) {
    return mem_alloc(1, sizeof(EngineRepeat));
}

static void free_sums(EngineRepeat *repeat) {
    for (uint32_t s = 0; s < repeat->sum_count; s++) {
        mem_free(repeat->sums[s].done);
        mem_free(repeat->sums[s].totals);
        mem_free(repeat->sums[s].shares);
        mem_free(repeat->sums[s].iterations);
        mem_free(repeat->sums[s].counts);
    }
    mem_free(repeat->sums);
    repeat->sums = NULL;
    repeat->sum_count = 0;
}

void engine_repeat_close(EngineRepeat *repeat) {
    if (repeat == NULL) return;
    free_sums(repeat);
    mem_free(repeat->last.words);
    mem_free(repeat->next.words);
    mem_free(repeat->links);
    mem_free(repeat->flows);
    mem_free(repeat->events);
    mem_free(repeat);
}

static uint32_t ahead_of(const Submission *submission, const ScheduleCursor *cursor) {
    if (cursor->op == SCHEDULE_NONE) return 0;
    return schedule_index_repeat(&submission->index, cursor->segment) - 1 - cursor->iteration;
}

void engine_repeat_begin(Sim *sim, uint32_t s, uint32_t member, uint32_t stream) {
    EngineRepeat *repeat = sim->repeat;
    const Submission *submission = sim->submissions[s];
    const ScheduleCursor *cursor = &submission->members[member].streams[stream].cursor;
    bool is_leader = repeat->has_leader && repeat->submission == s && repeat->member == member &&
                     repeat->stream == stream;
    if (repeat->has_leader && !is_leader) return;
    if (is_leader && cursor->op != SCHEDULE_NONE && repeat->segment == cursor->segment &&
        repeat->pass == cursor->pass) {
        repeat->has_begun = true;
        return;
    }
    repeat->last.count = repeat->tries = 0;
    repeat->has_leader = repeat->has_begun = ahead_of(submission, cursor) >= REPEATS_WORTH;
    repeat->submission = s;
    repeat->member = member;
    repeat->stream = stream;
    repeat->segment = cursor->segment;
    repeat->pass = cursor->pass;
}

static void add(Words *words, uint64_t word) {
    words->words = mem_grow(words->words, &words->capacity, words->count + 1, sizeof *words->words);
    words->words[words->count++] = word;
}

static void add_time(Words *words, const Sim *sim, Time time) {
    add(words, (uint64_t)(time - sim->now));
}

static void add_wide(Words *words, Wide wide) {
    add(words, (uint64_t)(wide >> 64));
    add(words, (uint64_t)wide);
}

// The stream whose cursor stands for the program of the member, or NULL when it has ended.
static const Stream *base_of(const Submission *submission, const Member *member) {
    for (uint32_t at = 0; at < submission->schedule->stream_count; at++)
        if (member->streams[at].state != STREAM_ENDED) return &member->streams[at];
    return NULL;
}

static bool is_beside(const ScheduleCursor *cursor, const ScheduleCursor *base) {
    return cursor->segment == base->segment && cursor->pass == base->pass;
}

static void add_stream(Words *words, const Sim *sim, const Submission *submission,
                       const Stream *stream, const Stream *base) {
    const ScheduleCursor *cursor = &stream->cursor;
    add(words, ((uint64_t)cursor->op << 32) | cursor->segment);
    add(words, ((uint64_t)cursor->pass << 32) | (uint64_t)stream->state);
    bool is_relative = is_beside(cursor, &base->cursor);
    add(words, is_relative ? cursor->iteration - (uint64_t)base->cursor.iteration
                           : ~(uint64_t)cursor->iteration);
    if (stream->state != STREAM_RUNNING) return;
    // what has run since before the last comparison runs through all the repeats
    bool is_old = stream->started < sim->repeat->at;
    add(words, is_old);
    add(words, (uint64_t)(is_old ? stream->started : stream->started - sim->now));
    add(words, stream->participant);
    if (engine_is_comm(submission, cursor->op)) return;
    add_wide(words, stream->work_left);
    add_time(words, sim, stream->paced);
    add(words, (uint64_t)stream->duration);
}

// Waiting can be charged at any time; compute cannot, its parts are rounded.
static bool computes(const Submission *submission, const Member *member) {
    for (uint32_t at = 0; at < submission->schedule->stream_count; at++) {
        const Stream *stream = &member->streams[at];
        if (stream->state == STREAM_RUNNING && !engine_is_comm(submission, stream->cursor.op))
            return true;
    }
    return false;
}

static void add_members(Words *words, const Sim *sim, Submission *submission) {
    for (uint32_t m = 0; m < submission->member_count; m++) {
        const Member *member = &submission->members[m];
        const Stream *base = base_of(submission, member);
        add(words, base != NULL);
        if (base == NULL) continue;
        if (!computes(submission, member)) engine_account(submission, m, sim->now);
        add_time(words, sim, member->accounted);
        add(words, member->sms);
        for (uint32_t at = 0; at < submission->schedule->stream_count; at++)
            add_stream(words, sim, submission, &member->streams[at], base);
    }
}

static void add_meetings(Words *words, const Sim *sim, const Submission *submission) {
    for (uint32_t i = 0; i < submission->meeting_count; i++) {
        const Meeting *meeting = &submission->meetings[i];
        add(words, ((uint64_t)meeting->arrived << 32) | (meeting->is_running ? 2U : 0U) |
                       (meeting->receiver_waits ? 1U : 0U));
        add(words, meeting->delivered - (uint64_t)meeting->received);
        add(words, meeting->received < meeting->ahead ? meeting->received : UINT64_MAX);
        if (!meeting->is_running) continue;
        add(words, ((uint64_t)meeting->step << 32) | meeting->repeats_left);
        add(words, meeting->pending);
        add(words, (uint64_t)meeting->fixed_ps);
        add_time(words, sim, meeting->began);
        for (uint32_t p = 0; p < meeting->participant_count; p++) {
            const Participant *participant = &meeting->participants[p];
            add(words, (uint64_t)participant->exposed_ps);
            for (uint32_t l = 0; l < meeting->traffic.steps[meeting->step].latency_count; l++)
                add(words, (uint64_t)participant->exposed_before[l]);
        }
    }
}

static int compare_events(const void *a, const void *b) {
    const Event *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static void add_events(Words *words, Sim *sim) {
    EngineRepeat *repeat = sim->repeat;
    repeat->events = mem_grow(repeat->events, &repeat->event_capacity, sim->heap_count + 1,
                              sizeof *repeat->events);
    if (sim->heap_count > 0)
        memcpy(repeat->events, sim->heap, sim->heap_count * sizeof *repeat->events);
    qsort(repeat->events, sim->heap_count, sizeof *repeat->events, compare_events);
    add(words, sim->heap_count);
    for (uint32_t i = 0; i < sim->heap_count; i++) {
        const Event *event = &repeat->events[i];
        add_time(words, sim, event->time);
        add(words, ((uint64_t)event->kind << 32) | event->submission);
        add(words, ((uint64_t)event->index << 32) | event->detail);
        add(words, engine_is_current(sim, event));
    }
}

static void add_flows(Words *words, Sim *sim) {
    EngineRepeat *repeat = sim->repeat;
    uint32_t count = flow_active(sim->net.flows);
    repeat->flows =
        mem_grow(repeat->flows, &repeat->flow_capacity, count + 1, sizeof *repeat->flows);
    flow_list(sim->net.flows, sim->now, repeat->flows);
    add(words, count);
    for (uint32_t i = 0; i < count; i++) {
        add(words, repeat->flows[i].tag);
        add_wide(words, repeat->flows[i].left);
    }
}

static void describe(Sim *sim, Words *words) {
    words->count = 0;
    for (uint32_t s = 0; s < sim->submission_count; s++) {
        add_members(words, sim, sim->submissions[s]);
        add_meetings(words, sim, sim->submissions[s]);
    }
    add_events(words, sim);
    add_flows(words, sim);
}

static uint32_t iteration_of(const Submission *submission, const Member *member) {
    const Stream *base = base_of(submission, member);
    return base == NULL ? 0 : base->cursor.iteration;
}

static void make_sums(Sim *sim) {
    EngineRepeat *repeat = sim->repeat;
    if (repeat->sum_count == sim->submission_count) return;
    free_sums(repeat);
    repeat->sum_count = sim->submission_count;
    repeat->sums = mem_alloc(repeat->sum_count, sizeof *repeat->sums);
    for (uint32_t s = 0; s < repeat->sum_count; s++) {
        const Submission *submission = sim->submissions[s];
        size_t members = submission->member_count;
        size_t cells = members * submission->schedule->op_count;
        repeat->sums[s] = (Sums){
            .done = mem_alloc(cells + 1, sizeof *repeat->sums[s].done),
            .totals = mem_alloc(cells + 1, sizeof *repeat->sums[s].totals),
            .shares = mem_alloc(members + 1, sizeof *repeat->sums[s].shares),
            .iterations = mem_alloc(members + 1, sizeof *repeat->sums[s].iterations),
            .counts = mem_alloc(2 * (size_t)submission->meeting_count + 1,
                                sizeof *repeat->sums[s].counts),
        };
    }
}

static OpSum sum_of(const OpTotal *total) {
    return (OpSum){total->instances, total->busy_ps, total->transfer_ps, total->exposed_ps,
                   total->bound_ps};
}

static void save_sums(Sim *sim) {
    EngineRepeat *repeat = sim->repeat;
    make_sums(sim);
    for (uint32_t s = 0; s < sim->submission_count; s++) {
        const Submission *submission = sim->submissions[s];
        Sums *sums = &repeat->sums[s];
        size_t ops = submission->schedule->op_count;
        for (uint32_t m = 0; m < submission->member_count; m++) {
            const Member *member = &submission->members[m];
            memcpy(&sums->done[m * ops], member->done, ops * sizeof *sums->done);
            sums->shares[m] = member->share;
            sums->iterations[m] = iteration_of(submission, member);
        }
        for (size_t i = 0; i < submission->member_count * ops; i++)
            sums->totals[i] = sum_of(&submission->totals[i]);
        for (uint32_t i = 0; i < submission->meeting_count; i++) {
            sums->counts[2 * i] = submission->meetings[i].delivered;
            sums->counts[2 * i + 1] = submission->meetings[i].received;
        }
    }
    repeat->link_count = flow_resource_count(sim->net.flows);
    repeat->links = mem_grow(repeat->links, &repeat->link_capacity, repeat->link_count + 1,
                             sizeof *repeat->links);
    for (uint32_t r = 0; r < repeat->link_count; r++) repeat->links[r] = sim->net.links[r].carried;
    repeat->at = sim->now;
}

// Whether each program went forward by whole iterations of its block and nothing else was done.
static bool is_whole(const Submission *submission, const Sums *sums) {
    size_t ops = submission->schedule->op_count;
    for (uint32_t m = 0; m < submission->member_count; m++) {
        const Member *member = &submission->members[m];
        const Stream *base = base_of(submission, member);
        uint32_t went = iteration_of(submission, member) - sums->iterations[m];
        BlockId block = base == NULL ? SCHEDULE_NONE
                                     : submission->schedule->segments[base->cursor.segment].block;
        for (size_t o = 0; o < ops; o++) {
            uint32_t more = member->done[o] - sums->done[m * ops + o];
            if (more != (submission->schedule->ops[o].block == block ? went : 0)) return false;
        }
    }
    return true;
}

// How often the period can be repeated before a program leaves its block.
static uint64_t periods_ahead(const Submission *submission, const Sums *sums) {
    uint64_t periods = UINT64_MAX;
    for (uint32_t m = 0; m < submission->member_count; m++) {
        const Member *member = &submission->members[m];
        const Stream *base = base_of(submission, member);
        if (base == NULL) continue;
        uint32_t went = base->cursor.iteration - sums->iterations[m];
        for (uint32_t at = 0; went > 0 && at < submission->schedule->stream_count; at++) {
            const ScheduleCursor *cursor = &member->streams[at].cursor;
            if (member->streams[at].state == STREAM_ENDED || !is_beside(cursor, &base->cursor))
                continue;
            uint64_t can = ahead_of(submission, cursor) / went;
            if (can < periods) periods = can;
        }
    }
    return periods;
}

static void add_total(OpTotal *total, const OpSum *old, uint64_t periods) {
    Time times = (Time)periods;
    total->instances += periods * (total->instances - old->instances);
    total->busy_ps += times * (total->busy_ps - old->busy_ps);
    total->transfer_ps += times * (total->transfer_ps - old->transfer_ps);
    total->exposed_ps += times * (total->exposed_ps - old->exposed_ps);
    total->bound_ps += times * (total->bound_ps - old->bound_ps);
}

static void add_share(TimeShare *share, const TimeShare *old, Time periods) {
    for (uint32_t p = 0; p < CALIB_COUNT; p++)
        share->param_ps[p] += periods * (share->param_ps[p] - old->param_ps[p]);
    share->wait_ps += periods * (share->wait_ps - old->wait_ps);
    share->latency_ps += periods * (share->latency_ps - old->latency_ps);
}

static void skip_member(Submission *submission, uint32_t m, const Sums *sums, uint64_t periods,
                        Time since, Time wait) {
    Member *member = &submission->members[m];
    size_t ops = submission->schedule->op_count;
    const Stream *base = base_of(submission, member);
    if (base == NULL) return;
    const ScheduleCursor here = base->cursor;
    uint32_t went = here.iteration - sums->iterations[m];
    member->accounted += wait;
    add_share(&member->share, &sums->shares[m], (Time)periods);
    for (size_t o = 0; o < ops; o++) {
        member->done[o] += (uint32_t)periods * (member->done[o] - sums->done[m * ops + o]);
        add_total(&submission->totals[m * ops + o], &sums->totals[m * ops + o], periods);
    }
    for (uint32_t at = 0; at < submission->schedule->stream_count; at++) {
        Stream *stream = &member->streams[at];
        if (stream->state == STREAM_ENDED) continue;
        if (stream->started >= since) stream->started += wait;
        stream->paced += wait;
        if (is_beside(&stream->cursor, &here)) stream->cursor.iteration += (uint32_t)periods * went;
    }
}

static void skip(Sim *sim, uint64_t periods) {
    EngineRepeat *repeat = sim->repeat;
    Time wait = (Time)periods * (sim->now - repeat->at);
    for (uint32_t s = 0; s < sim->submission_count; s++) {
        Submission *submission = sim->submissions[s];
        const Sums *sums = &repeat->sums[s];
        for (uint32_t m = 0; m < submission->member_count; m++)
            skip_member(submission, m, sums, periods, repeat->at, wait);
        for (uint32_t i = 0; i < submission->meeting_count; i++) {
            Meeting *meeting = &submission->meetings[i];
            meeting->began += wait;
            meeting->delivered += (uint32_t)(periods * (meeting->delivered - sums->counts[2 * i]));
            meeting->received +=
                (uint32_t)(periods * (meeting->received - sums->counts[2 * i + 1]));
        }
    }
    for (uint32_t r = 0; r < repeat->link_count; r++)
        sim->net.links[r].carried += periods * (sim->net.links[r].carried - repeat->links[r]);
    for (uint32_t i = 0; i < sim->heap_count; i++) sim->heap[i].time += wait;
    flow_shift(sim->net.flows, wait);
    sim->now += wait;
}

// Spans are kept one by one, and a submission that is still to come breaks every period.
static bool is_allowed(const Sim *sim) {
    for (uint32_t s = 0; s < sim->submission_count; s++)
        if (sim->submissions[s]->options.keep_spans || sim->submissions[s]->when > sim->now)
            return false;
    return true;
}

static bool is_steady(const Sim *sim, uint64_t *out_periods) {
    const EngineRepeat *repeat = sim->repeat;
    const Words *last = &repeat->last, *next = &repeat->next;
    if (last->count != next->count || repeat->sum_count != sim->submission_count ||
        repeat->link_count != flow_resource_count(sim->net.flows) ||
        memcmp(last->words, next->words, next->count * sizeof *next->words) != 0)
        return false;
    uint64_t periods = UINT64_MAX;
    for (uint32_t s = 0; s < sim->submission_count; s++) {
        if (!is_whole(sim->submissions[s], &repeat->sums[s])) return false;
        uint64_t ahead = periods_ahead(sim->submissions[s], &repeat->sums[s]);
        if (ahead < periods) periods = ahead;
    }
    Time period = sim->now - repeat->at;
    if (period <= 0 || periods > (uint64_t)((TIME_MAX / 2 - sim->now) / period)) return false;
    *out_periods = periods;
    return true;
}

void engine_repeat_skip(Sim *sim) {
    EngineRepeat *repeat = sim->repeat;
    if (!repeat->has_begun) return;
    repeat->has_begun = false;
    if (repeat->tries > TRIES_MAX || !is_allowed(sim)) return;
    repeat->tries++;
    describe(sim, &repeat->next);
    uint64_t periods = 0;
    if (is_steady(sim, &periods)) {
        skip(sim, periods);
        repeat->tries = TRIES_MAX + 1;
        return;
    }
    Words old = repeat->last;
    repeat->last = repeat->next;
    repeat->next = old;
    save_sums(sim);
}
