// The clock of the host back end.
//
// Invariant: one monotonic clock for all ranks, which share a thread; so a rank that waits for a
// partner waits for the partner's work and for that of every rank whose turn comes before. Times
// are as the clock gives them: none is corrected, smoothed or left out.
// Source: clock_gettime(CLOCK_MONOTONIC), POSIX.1-2008.
#include "exec/measure.h"

#include <time.h>

#define PS_PER_NS 1000

static Time now_ps(void) {
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    // seconds since some start, mostly of the machine: 2^63 ps are 106 days, so only differences
    // of nearby times mean something, and those wrap right
    uint64_t ps = (uint64_t)now.tv_sec * (uint64_t)PS_PER_SECOND;
    return (Time)(ps + (uint64_t)now.tv_nsec * PS_PER_NS);
}

static Time since_begin(const Measure *measure) {
    return (Time)((uint64_t)now_ps() - (uint64_t)measure->begin_ps);
}

static void begin(Measure *measure) {
    size_t slots = (size_t)measure->schedule->rank_count * SCHEDULE_STREAMS_MAX;
    measure->reached_ps = mem_alloc(slots, sizeof *measure->reached_ps);
    for (size_t i = 0; i < slots; i++) measure->reached_ps[i] = 0;
    measure->begin_ps = now_ps();
}

void measure_reached(Measure *measure, const ScheduleCursor *cursor, uint32_t rank) {
    if (measure->reached_ps == NULL) begin(measure);
    measure->reached_ps[(size_t)rank * SCHEDULE_STREAMS_MAX + cursor->stream] =
        since_begin(measure);
}

void measure_ended(Measure *measure, const ScheduleCursor *cursor, uint32_t rank) {
    measure->end_ps = since_begin(measure);
    if (measure->span_count >= TIMELINE_FILE_SPANS_MAX) {
        measure->span_count++; // that there were more is all that measure_file needs
        return;
    }
    measure->spans = mem_grow(measure->spans, &measure->span_capacity, measure->span_count + 1,
                              sizeof *measure->spans);
    measure->spans[measure->span_count++] = (MeasureSpan){
        .op = cursor->op,
        .rank = rank,
        .pass = cursor->pass,
        .iteration = cursor->iteration,
        .start_ps = measure->reached_ps[(size_t)rank * SCHEDULE_STREAMS_MAX + cursor->stream],
        .end_ps = measure->end_ps};
}

void measure_free(Measure *measure) {
    mem_free(measure->reached_ps);
    mem_free(measure->spans);
    *measure = (Measure){0};
}

// A member for each rank.
static void add_members(const Schedule *schedule, Timeline *timeline) {
    timeline->member_count = schedule->rank_count;
    timeline->members =
        arena_alloc(&timeline->arena, schedule->rank_count, sizeof *timeline->members);
    for (RoleId role = 0; role < schedule->role_count; role++)
        for (uint32_t i = 0; i < schedule_role_size(schedule, role); i++) {
            uint32_t rank = schedule_rank_at(&schedule->roles[role].ranks, i);
            timeline->members[rank] = (TimelineMember){role, rank, 1};
        }
}

static void add_spans(const Measure *measure, Timeline *timeline) {
    timeline->span_count = measure->span_count;
    timeline->spans = arena_alloc(&timeline->arena, measure->span_count, sizeof *timeline->spans);
    for (uint32_t i = 0; i < measure->span_count; i++) {
        const MeasureSpan *span = &measure->spans[i];
        timeline->spans[i] =
            (Span){span->op, span->rank, span->pass, span->iteration, span->start_ps, span->end_ps};
    }
}

bool measure_file(const Measure *measure, const StepShape *shape, const Load *load,
                  TimelineFile *out, Err *err) {
    const Schedule *schedule = measure->schedule;
    if (measure->span_count > TIMELINE_FILE_SPANS_MAX)
        return err_set(err, "a run of %u operations, expected at most %u to write a timeline",
                       measure->span_count, TIMELINE_FILE_SPANS_MAX);
    Timeline timeline = {.maker = "host",
                         .schedule = schedule->digest,
                         .shape = step_shape_digest(shape),
                         .load = load->digest,
                         .end_ps = measure->end_ps,
                         .form = TIMELINE_EXPANDED,
                         .op_count = schedule->op_count};
    add_members(schedule, &timeline);
    add_spans(measure, &timeline);
    TimelineFileWork *works = arena_alloc(&timeline.arena, schedule->op_count, sizeof *works);
    for (OpId id = 0; id < schedule->op_count; id++)
        works[id] =
            host_moves(schedule->ops[id].kind) ? TIMELINE_FILE_MEASURED : TIMELINE_FILE_SKIPPED;
    TimelineFileFacts facts = {.machine = "this machine, all ranks in one thread", .works = works};
    bool good = timeline_file_build(&timeline, schedule, &facts, out, err);
    timeline_free(&timeline);
    return good;
}
