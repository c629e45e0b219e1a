// Steady repeats are run once.
//
// When two iterations of a block, or of a few segments that repeat, begin in the same state, up to
// a shift of time and of the place in the program, what happened between them happens again and
// again until some program comes to something else. These repeats are added up instead of run. The
// whole state is compared, not a digest of it, so a run with repeats left out ends at the same
// picosecond with the same sums.
//
// The state is compared whenever one stream, the leader, begins an iteration, or the first of its
// segments; where it does not become steady this is given up after a few times.
#include "sim/engine_repeat.h"

#include <string.h>

#include "model/base/mem.h"
#include "sim/engine_account.h"
#include "sim/engine_repeat_state.h"

#define REPEATS_WORTH 3 // periods ahead of the leader
#define TRIES_MAX     8 // for one leader
#define STRIDE_MAX    8 // segments of a period

EngineRepeat *engine_repeat_open(void) {
    EngineRepeat *levels = mem_alloc(REPEAT_LEVELS, sizeof *levels);
    for (uint32_t i = 0; i < REPEAT_LEVELS; i++) levels[i].level = (RepeatLevel)i;
    return levels;
}

static void free_sums(EngineRepeat *repeat) {
    for (uint32_t s = 0; s < repeat->sum_count; s++) {
        mem_free(repeat->sums[s].done);
        mem_free(repeat->sums[s].totals);
        mem_free(repeat->sums[s].shares);
        mem_free(repeat->sums[s].cursors);
        mem_free(repeat->sums[s].counts);
    }
    mem_free(repeat->sums);
    repeat->sums = NULL;
    repeat->sum_count = 0;
}

static void close_level(EngineRepeat *repeat) {
    free_sums(repeat);
    mem_free(repeat->last.words);
    mem_free(repeat->next.words);
    mem_free(repeat->links);
    mem_free(repeat->flows);
    mem_free(repeat->events);
}

void engine_repeat_close(EngineRepeat *levels) {
    if (levels == NULL) return;
    for (uint32_t i = 0; i < REPEAT_LEVELS; i++) close_level(&levels[i]);
    mem_free(levels);
}

static uint32_t ahead_of(const Submission *submission, const ScheduleCursor *cursor) {
    if (cursor->op == SCHEDULE_NONE) return 0;
    return schedule_index_repeat(&submission->index, cursor->segment) - 1 - cursor->iteration;
}

static bool segments_equal(const Submission *submission, uint32_t a, uint32_t b) {
    const Segment *segments = submission->schedule->segments;
    return segments[a].block == segments[b].block &&
           schedule_index_repeat(&submission->index, a) ==
               schedule_index_repeat(&submission->index, b);
}

// The last segment up to which, from `from` on, each equals the one `stride` before it.
static uint32_t last_alike(const Submission *submission, RoleId role, uint32_t from,
                           uint32_t stride) {
    const Role *owner = &submission->schedule->roles[role];
    uint32_t end = owner->first_segment + owner->segment_count, at = from + stride;
    while (at < end && segments_equal(submission, at - stride, at)) at++;
    return at - 1;
}

// Whether something repeats from the cursor on, and what.
static bool find_period(const Submission *submission, const ScheduleCursor *cursor,
                        EngineRepeat *repeat) {
    repeat->pass = cursor->pass;
    repeat->segment = repeat->last_segment = cursor->segment;
    repeat->stride = 0;
    if (cursor->op == SCHEDULE_NONE) return false;
    if (ahead_of(submission, cursor) >= REPEATS_WORTH) return true;
    if (cursor->iteration > 0) return false;
    for (uint32_t stride = 1; stride <= STRIDE_MAX; stride++) {
        uint32_t last = last_alike(submission, cursor->role, cursor->segment, stride);
        if ((last + 1 - cursor->segment) / stride <= REPEATS_WORTH) continue;
        repeat->stride = stride;
        repeat->last_segment = last;
        return true;
    }
    return false;
}

static bool leads(const EngineRepeat *repeat, uint32_t s, uint32_t member, uint32_t stream) {
    return repeat->has_leader && repeat->submission == s && repeat->member == member &&
           repeat->stream == stream;
}

static void lead(EngineRepeat *repeat, uint32_t s, uint32_t member, uint32_t stream) {
    repeat->submission = s;
    repeat->member = member;
    repeat->stream = stream;
}

static uint32_t passes_ahead(const Submission *submission, const ScheduleCursor *cursor) {
    if (cursor->op == SCHEDULE_NONE) return 0;
    return schedule_index_passes(&submission->index, cursor->role) - 1 - cursor->pass;
}

// A leader of passes leads to the end.
static void begin_pass(EngineRepeat *repeat, const Submission *submission, uint32_t s,
                       uint32_t member, uint32_t stream) {
    const ScheduleCursor *cursor = &submission->members[member].streams[stream].cursor;
    if (!repeat->has_leader && passes_ahead(submission, cursor) >= REPEATS_WORTH) {
        repeat->has_leader = true;
        repeat->pass = cursor->pass;
        lead(repeat, s, member, stream);
    }
    if (!leads(repeat, s, member, stream) || repeat->pass == cursor->pass) return;
    repeat->has_begun = passes_ahead(submission, cursor) > 0;
    repeat->pass = cursor->pass;
}

void engine_repeat_begin(Sim *sim, uint32_t s, uint32_t member, uint32_t stream) {
    EngineRepeat *repeat = &sim->repeat[REPEAT_PROGRAM];
    const Submission *submission = sim->submissions[s];
    const ScheduleCursor *cursor = &submission->members[member].streams[stream].cursor;
    begin_pass(&sim->repeat[REPEAT_PASSES], submission, s, member, stream);
    bool is_leader = leads(repeat, s, member, stream);
    if (repeat->has_leader && !is_leader) return;
    if (is_leader && cursor->op != SCHEDULE_NONE && cursor->segment >= repeat->segment &&
        cursor->segment <= repeat->last_segment && repeat->pass == cursor->pass) {
        uint32_t offset = cursor->segment - repeat->segment;
        bool is_start =
            repeat->stride == 0 || (cursor->iteration == 0 && offset % repeat->stride == 0);
        if (is_start) repeat->has_begun = true;
        return;
    }
    repeat->last.count = repeat->tries = 0;
    repeat->is_done = false;
    repeat->has_leader = repeat->has_begun = find_period(submission, cursor, repeat);
    lead(repeat, s, member, stream);
}

static void make_sums(const Sim *sim, EngineRepeat *repeat) {
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
            .cursors =
                mem_alloc(members * SCHEDULE_STREAMS_MAX + 1, sizeof *repeat->sums[s].cursors),
            .counts = mem_alloc(2 * (size_t)submission->meeting_count + 1,
                                sizeof *repeat->sums[s].counts),
        };
    }
}

static OpSum sum_of(const OpTotal *total) {
    return (OpSum){total->instances, total->busy_ps, total->transfer_ps, total->exposed_ps,
                   total->bound_ps};
}

static void save_sums(const Sim *sim, EngineRepeat *repeat) {
    make_sums(sim, repeat);
    for (uint32_t s = 0; s < sim->submission_count; s++) {
        Submission *submission = sim->submissions[s];
        Sums *sums = &repeat->sums[s];
        size_t ops = submission->schedule->op_count;
        for (uint32_t m = 0; m < submission->member_count; m++) {
            const Member *member = &submission->members[m];
            for (size_t o = member->first_op; o < member->end_op; o++) {
                sums->done[m * ops + o] = member->done[o];
                sums->totals[m * ops + o] = sum_of(engine_account_total(submission, m, (OpId)o));
            }
            sums->shares[m] = member->share;
            for (uint32_t at = 0; at < submission->schedule->stream_count; at++)
                sums->cursors[(size_t)m * SCHEDULE_STREAMS_MAX + at] = member->streams[at].cursor;
        }
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

// False when the program did not go from a place to one like it.
static bool went_of(const EngineRepeat *repeat, uint32_t s, uint32_t m,
                    const Submission *submission, Went *out) {
    *out = (Went){0};
    const Stream *base = engine_repeat_state_base(submission, &submission->members[m]);
    if (base == NULL) return true;
    const ScheduleCursor *last = engine_repeat_state_last(repeat, s, m, base->cursor.stream);
    if (repeat->level == REPEAT_PASSES) {
        out->passes = base->cursor.pass - last->pass;
        return base->cursor.segment == last->segment && base->cursor.iteration == last->iteration;
    }
    if (last->pass != base->cursor.pass || last->segment > base->cursor.segment) return false;
    out->segments = base->cursor.segment - last->segment;
    out->iterations = base->cursor.iteration - last->iteration;
    return out->segments == 0 ? base->cursor.iteration >= last->iteration : out->iterations == 0;
}

// Instances of a block in a period.
static uint64_t instances_of(const Submission *submission, const ScheduleCursor *base, Went went,
                             BlockId block) {
    const Segment *segments = submission->schedule->segments;
    if (went.segments == 0) return segments[base->segment].block == block ? went.iterations : 0;
    uint64_t count = 0;
    for (uint32_t i = base->segment - went.segments; i < base->segment; i++)
        if (segments[i].block == block) count += schedule_index_repeat(&submission->index, i);
    return count;
}

static uint64_t instances_of_op(const Submission *submission, const ScheduleCursor *base, Went went,
                                OpId op) {
    if (went.passes > 0) return went.passes * schedule_index_per_pass(&submission->index, op);
    return instances_of(submission, base, went, submission->schedule->ops[op].block);
}

// Whether the program of a member did a period and nothing else.
static bool is_whole(const EngineRepeat *repeat, uint32_t s, uint32_t m,
                     const Submission *submission, Went went) {
    size_t ops = submission->schedule->op_count;
    const Member *member = &submission->members[m];
    const Stream *base = engine_repeat_state_base(submission, member);
    for (size_t o = member->first_op; base != NULL && o < member->end_op; o++) {
        uint32_t more = member->done[o] - repeat->sums[s].done[m * ops + o];
        if (more != instances_of_op(submission, &base->cursor, went, (OpId)o)) return false;
    }
    return true;
}

// How many periods of whole passes are ahead; none when a stream stays while others of its member
// do passes: what it waits for may come on the way.
static uint64_t passes_to_repeat(const EngineRepeat *repeat, uint32_t s, uint32_t m,
                                 const Submission *submission, Went went) {
    uint64_t periods = UINT64_MAX;
    const Member *member = &submission->members[m];
    for (uint32_t at = 0; at < submission->schedule->stream_count; at++) {
        const Stream *stream = &member->streams[at];
        if (stream->state == STREAM_ENDED) continue;
        if (engine_repeat_state_stays(repeat, s, m, at, stream)) return 0;
        uint64_t can = passes_ahead(submission, &stream->cursor) / went.passes;
        if (can < periods) periods = can;
    }
    return periods;
}

// How often the period can be repeated before the member's program comes to something else.
static uint64_t periods_ahead(const EngineRepeat *repeat, uint32_t s, uint32_t m,
                              const Submission *submission, Went went) {
    uint64_t periods = UINT64_MAX;
    const Member *member = &submission->members[m];
    const Stream *base = engine_repeat_state_base(submission, member);
    if (went.passes > 0) return passes_to_repeat(repeat, s, m, submission, went);
    if (base == NULL || (went.segments == 0 && went.iterations == 0)) return periods;
    uint32_t first = UINT32_MAX;
    for (uint32_t at = 0; at < submission->schedule->stream_count; at++) {
        const ScheduleCursor *last = engine_repeat_state_last(repeat, s, m, at);
        if (member->streams[at].state != STREAM_ENDED &&
            !engine_repeat_state_stays(repeat, s, m, at, &member->streams[at]) &&
            last->segment < first)
            first = last->segment;
    }
    for (uint32_t at = 0; at < submission->schedule->stream_count; at++) {
        const Stream *stream = &member->streams[at];
        if (stream->state == STREAM_ENDED || engine_repeat_state_stays(repeat, s, m, at, stream))
            continue;
        uint64_t can = UINT64_MAX;
        if (went.segments > 0) {
            uint32_t last = last_alike(submission, member->role, first, went.segments);
            uint64_t whole =
                last < stream->cursor.segment ? 0 : (last - stream->cursor.segment) / went.segments;
            can = whole > 0 ? whole - 1 : 0; // the last one is run: others may wait for its end
        } else if (engine_repeat_state_is_beside(&stream->cursor, &base->cursor))
            can = ahead_of(submission, &stream->cursor) / went.iterations;
        if (can < periods) periods = can;
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

static void skip_member(EngineRepeat *repeat, uint32_t s, uint32_t m, Submission *submission,
                        uint32_t periods, Time wait) {
    Member *member = &submission->members[m];
    const Sums *sums = &repeat->sums[s];
    size_t ops = submission->schedule->op_count;
    const Stream *base = engine_repeat_state_base(submission, member);
    if (base == NULL) return;
    const ScheduleCursor here = base->cursor;
    Went went;
    went_of(repeat, s, m, submission, &went);
    member->accounted += wait;
    add_share(&member->share, &sums->shares[m], (Time)periods);
    for (size_t o = member->first_op; o < member->end_op; o++) {
        member->done[o] += periods * (member->done[o] - sums->done[m * ops + o]);
        add_total(engine_account_total(submission, m, (OpId)o), &sums->totals[m * ops + o],
                  periods);
    }
    for (uint32_t at = 0; at < submission->schedule->stream_count; at++) {
        Stream *stream = &member->streams[at];
        if (stream->state == STREAM_ENDED || engine_repeat_state_stays(repeat, s, m, at, stream))
            continue;
        stream->started += wait;
        stream->paced += wait;
        if (engine_repeat_state_is_beside(&stream->cursor, &here))
            stream->cursor.iteration += periods * went.iterations;
        stream->cursor.segment += periods * went.segments;
        stream->cursor.pass += periods * went.passes;
    }
}

// Passes of the repeats end as those of the period did. All programs that went on did `passes`.
static void skip_rounds(const EngineRepeat *repeat, Submission *submission, uint32_t passes,
                        uint64_t periods, Time period) {
    uint32_t count = submission->round_count;
    Time *old = mem_alloc(count, sizeof *old);
    memcpy(old, submission->rounds, count * sizeof *old);
    for (uint64_t k = 1; k <= periods; k++)
        for (uint32_t r = 0; r < count; r++)
            if (old[r] > repeat->at) submission->rounds[r + k * passes] = old[r] + (Time)k * period;
    mem_free(old);
}

// Of all programs that went on; 0 when there is none, or they did not all do as many.
static uint32_t passes_of_all(const EngineRepeat *repeat, uint32_t s,
                              const Submission *submission) {
    uint32_t passes = 0;
    for (uint32_t m = 0; m < submission->member_count; m++) {
        Went went;
        went_of(repeat, s, m, submission, &went);
        if (went.passes == 0) continue;
        if (passes > 0 && went.passes != passes) return 0;
        passes = went.passes;
    }
    return passes;
}

static void skip(Sim *sim, EngineRepeat *repeat, uint64_t periods) {
    Time period = sim->now - repeat->at, wait = (Time)periods * period;
    for (uint32_t s = 0; s < sim->submission_count; s++) {
        Submission *submission = sim->submissions[s];
        const Sums *sums = &repeat->sums[s];
        if (repeat->level == REPEAT_PASSES)
            skip_rounds(repeat, submission, passes_of_all(repeat, s, submission), periods, period);
        for (uint32_t m = 0; m < submission->member_count; m++)
            skip_member(repeat, s, m, submission, (uint32_t)periods, wait);
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

// Spans are kept one by one, a submission that is still to come breaks every period, and token
// buckets are not compared.
static bool is_allowed(const Sim *sim) {
    if (flow_has_bursts(sim->net.flows)) return false;
    for (uint32_t s = 0; s < sim->submission_count; s++)
        if (sim->submissions[s]->options.keep_spans || sim->submissions[s]->when > sim->now)
            return false;
    return true;
}

static bool is_steady(const Sim *sim, const EngineRepeat *repeat, uint64_t *out_periods) {
    const Words *last = &repeat->last, *next = &repeat->next;
    if (last->count != next->count || repeat->sum_count != sim->submission_count ||
        repeat->link_count != flow_resource_count(sim->net.flows) ||
        memcmp(last->words, next->words, next->count * sizeof *next->words) != 0)
        return false;
    uint64_t periods = UINT64_MAX;
    for (uint32_t s = 0; s < sim->submission_count; s++) {
        const Submission *submission = sim->submissions[s];
        for (uint32_t m = 0; m < submission->member_count; m++) {
            Went went;
            if (!went_of(repeat, s, m, submission, &went) ||
                !is_whole(repeat, s, m, submission, went))
                return false;
            uint64_t ahead = periods_ahead(repeat, s, m, submission, went);
            if (ahead < periods) periods = ahead;
        }
        if (repeat->level == REPEAT_PASSES && passes_of_all(repeat, s, submission) == 0)
            return false;
    }
    if (periods > UINT32_MAX) return false;
    Time period = sim->now - repeat->at;
    if (period <= 0 || periods > (uint64_t)((TIME_MAX / 2 - sim->now) / period)) return false;
    *out_periods = periods;
    return true;
}

// True when time has gone on.
static bool skip_level(Sim *sim, EngineRepeat *repeat) {
    if (!repeat->has_begun) return false;
    repeat->has_begun = false;
    bool is_over = repeat->level == REPEAT_PROGRAM && repeat->tries > TRIES_MAX;
    if (repeat->is_done || is_over || !is_allowed(sim)) return false;
    repeat->tries++;
    engine_repeat_state_describe(sim, repeat, &repeat->next);
    uint64_t periods = 0;
    if (is_steady(sim, repeat, &periods)) {
        if (periods > 0) skip(sim, repeat, periods);
        repeat->is_done = true;
        return periods > 0;
    }
    Words old = repeat->last;
    repeat->last = repeat->next;
    repeat->next = old;
    save_sums(sim, repeat);
    return false;
}

void engine_repeat_skip(Sim *sim) {
    EngineRepeat *program = &sim->repeat[REPEAT_PROGRAM];
    if (skip_level(sim, &sim->repeat[REPEAT_PASSES])) {
        program->has_leader = program->has_begun = false;
        program->last.count = 0;
    }
    skip_level(sim, program);
}
