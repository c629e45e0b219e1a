// The state of a simulation as numbers.
//
// Invariant: two states with equal numbers go on alike, shifted by the time between them and by
// what their programs went on, until a program comes to another place than it did before. What has
// run or waited since before the last comparison is written as it is, all else relative to now and
// to the place of its member.
#include "sim/engine_repeat_state.h"

#include <stdlib.h>
#include <string.h>

#include "model/base/mem.h"
#include "sim/engine_account.h"

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

const Stream *engine_repeat_state_base(const Submission *submission, const Member *member) {
    for (uint32_t at = 0; at < submission->schedule->stream_count; at++)
        if (member->streams[at].state != STREAM_ENDED) return &member->streams[at];
    return NULL;
}

static bool is_still(const EngineRepeat *repeat, const Stream *stream, const ScheduleCursor *last) {
    const ScheduleCursor *cursor = &stream->cursor;
    if (repeat->last.count == 0 || cursor->op != last->op || cursor->pass != last->pass ||
        cursor->segment != last->segment || cursor->iteration != last->iteration)
        return false;
    return stream->state != STREAM_RUNNING || stream->started < repeat->at;
}

const ScheduleCursor *engine_repeat_state_last(const EngineRepeat *repeat, uint32_t s, uint32_t m,
                                               uint32_t at) {
    return &repeat->sums[s].cursors[(size_t)m * SCHEDULE_STREAMS_MAX + at];
}

bool engine_repeat_state_stays(const EngineRepeat *repeat, uint32_t s, uint32_t m, uint32_t at,
                               const Stream *stream) {
    return repeat->last.count > 0 &&
           is_still(repeat, stream, engine_repeat_state_last(repeat, s, m, at));
}

static void add_place(Words *words, const ScheduleCursor *cursor, const ScheduleCursor *base) {
    add(words, cursor->segment - (uint64_t)base->segment);
    add(words, engine_repeat_state_is_beside(cursor, base)
                   ? cursor->iteration - (uint64_t)base->iteration
                   : cursor->iteration);
}

static void add_running(Words *words, const Sim *sim, const EngineRepeat *repeat,
                        const Submission *submission, const Stream *stream) {
    // what has run since before the last comparison runs through all the repeats
    bool is_old = stream->started < repeat->at;
    add(words, is_old);
    add(words, (uint64_t)(is_old ? stream->started : stream->started - sim->now));
    add(words, stream->participant);
    if (engine_is_comm(submission, stream->cursor.op)) return;
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

// Where a stream is: as it is when it stays, else seen from the base of its member.
static void add_cursor(Words *words, const EngineRepeat *repeat, const ScheduleCursor *cursor,
                       const ScheduleCursor *base, bool does_stay) {
    const ScheduleCursor start = {0};
    bool is_relative = repeat->level == REPEAT_PASSES && !does_stay;
    add(words, is_relative ? cursor->pass - (uint64_t)base->pass : cursor->pass);
    add_place(words, cursor, repeat->level == REPEAT_PASSES || does_stay ? &start : base);
}

static void add_members(Words *words, const Sim *sim, const EngineRepeat *repeat, uint32_t s) {
    Submission *submission = sim->submissions[s];
    for (uint32_t m = 0; m < submission->member_count; m++) {
        const Member *member = &submission->members[m];
        const Stream *base = engine_repeat_state_base(submission, member);
        add(words, base != NULL);
        if (base == NULL) continue;
        if (!computes(submission, member)) engine_account_member(submission, m, sim->now);
        add_time(words, sim, member->accounted);
        add(words, member->sms);
        for (uint32_t at = 0; at < submission->schedule->stream_count; at++) {
            const Stream *stream = &member->streams[at];
            bool does_stay = engine_repeat_state_stays(repeat, s, m, at, stream);
            add(words, ((uint64_t)stream->cursor.op << 32) | (does_stay ? 4U : 0U) |
                           (uint64_t)stream->state);
            add_cursor(words, repeat, &stream->cursor, &base->cursor, does_stay);
            if (stream->state == STREAM_RUNNING)
                add_running(words, sim, repeat, submission, stream);
        }
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

static int compare_numbers(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}

// The order inside an instant has no effect: events of one are told apart by what they are.
static int compare_events(const void *a, const void *b) {
    const Event *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    if (x->kind != y->kind) return compare_numbers(x->kind, y->kind);
    if (x->submission != y->submission) return compare_numbers(x->submission, y->submission);
    if (x->index != y->index) return compare_numbers(x->index, y->index);
    if (x->detail != y->detail) return compare_numbers(x->detail, y->detail);
    return compare_numbers(x->sequence, y->sequence);
}

static void add_events(Words *words, const Sim *sim, EngineRepeat *repeat) {
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

static void add_flows(Words *words, const Sim *sim, EngineRepeat *repeat) {
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

void engine_repeat_state_describe(Sim *sim, EngineRepeat *repeat, Words *words) {
    words->count = 0;
    for (uint32_t s = 0; s < sim->submission_count; s++) {
        add_members(words, sim, repeat, s);
        add_meetings(words, sim, sim->submissions[s]);
    }
    add_events(words, sim, repeat);
    add_flows(words, sim, repeat);
}
