// The file of a timeline of a run.
//
// Invariant: times are as the clock gave them, less when the run began: none is corrected, smoothed
// or left out. A rank that waits for a partner waits for the partner's work too: on a machine of
// few cores also for that of every rank whose turn comes before.
#include "exec/measure.h"

#include <sys/utsname.h>

#include "exec/program.h"

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

static uint64_t count_spans(const InterpResult *result, uint32_t repeat) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < result->span_count; i++) count += result->spans[i].repeat == repeat;
    return count;
}

static void add_spans(const InterpResult *result, uint32_t repeat, uint64_t count,
                      Timeline *timeline) {
    Time begin_ps = result->begin_ps[repeat];
    timeline->spans = arena_alloc(&timeline->arena, count, sizeof *timeline->spans);
    for (uint64_t i = 0; i < result->span_count; i++) {
        const InterpSpan *span = &result->spans[i];
        if (span->repeat != repeat) continue;
        Time start_ps = span->start_ps - begin_ps, end_ps = span->end_ps - begin_ps;
        timeline->spans[timeline->span_count++] =
            (Span){span->op, span->rank, span->pass, span->iteration, start_ps, end_ps};
        if (end_ps > timeline->end_ps) timeline->end_ps = end_ps;
    }
}

void measure_times(const InterpResult *result, Time *out_ps) {
    for (uint32_t r = 0; r < result->repeats; r++) out_ps[r] = 0;
    for (uint64_t i = 0; i < result->span_count; i++) {
        const InterpSpan *span = &result->spans[i];
        Time took_ps = span->end_ps - result->begin_ps[span->repeat];
        if (took_ps > out_ps[span->repeat]) out_ps[span->repeat] = took_ps;
    }
}

static const char *versions_of(const MeasureFacts *facts, Arena *arena) {
    struct utsname name;
    const char *program =
        arena_printf(arena, "%s %s", program_moesim_run.name, program_moesim_run.version);
    const char *separator = facts->libraries[0] != '\0' ? ", " : "";
    if (uname(&name) != 0)
        return arena_printf(arena, "%s%s%s", program, separator, facts->libraries);
    return arena_printf(arena, "%s, %s %s %s%s%s", program, name.sysname, name.release,
                        name.machine, separator, facts->libraries);
}

bool measure_file(const Job *job, const InterpResult *result, uint32_t repeat,
                  const MeasureFacts *facts, TimelineFile *out, Err *err) {
    const Schedule *schedule = job->schedule;
    uint64_t count = count_spans(result, repeat);
    if (count > TIMELINE_FILE_SPANS_MAX)
        return err_set(err, "a run of %llu operations, expected at most %u to write a timeline",
                       (unsigned long long)count, TIMELINE_FILE_SPANS_MAX);
    Timeline timeline = {.maker = facts->back_end,
                         .schedule = schedule->digest,
                         .shape = step_shape_digest(&job->shape),
                         .load = facts->load != NULL ? *facts->load : job->load->digest,
                         .form = TIMELINE_EXPANDED,
                         .op_count = schedule->op_count};
    add_members(schedule, &timeline);
    add_spans(result, repeat, count, &timeline);
    TimelineFileFacts file_facts = {.machine = facts->machine,
                                    .device = "CPU core", // all back ends compute on cores
                                    .versions = versions_of(facts, &timeline.arena),
                                    .is_partial = facts->is_partial,
                                    .works = result->works};
    bool good = timeline_file_build(&timeline, schedule, &file_facts, out, err);
    timeline_free(&timeline);
    return good;
}
