// The critical path of a timeline, and what one member does meanwhile, from spans alone.
//
// An operation starts at the end of the one before it on its stream, or of one that it waits for; a
// collective moves when its last member has entered; a receive that waits ends with its send. So
// from an end one can go back to its cause, at the same picosecond, until the window begins.
//
// Invariants: every piece of the window is charged to one term, so the terms add up to it; going
// back ends, because time does not grow and the number of spans is a limit.
// Method: critical path of an execution trace (Yang and Miller, "Critical path analysis for the
// execution of parallel and distributed programs", ICDCS 1988).
#include "sim/search/why.h"

#include <stdlib.h>
#include <string.h>

#include "model/base/mem.h"

// A communication among those of its channel.
typedef struct Meet {
    uint32_t channel, span;
    Time end_ps;
} Meet;

typedef struct Follow {
    const Schedule *schedule;
    const Timeline *timeline;
    uint32_t count;                     // of spans
    uint32_t *by_op, *op_first;         // spans by member and operation, in order of their ends
    uint32_t *by_stream, *stream_first; // by member and stream
    uint32_t *place;                    // of each span in by_stream
    Meet *meets;                        // by channel and end
    uint32_t meet_count;
} Follow;

static const Span *span_at(const Follow *f, uint32_t span) {
    return &f->timeline->spans[span];
}

static const Op *op_of(const Follow *f, uint32_t span) {
    return &f->schedule->ops[span_at(f, span)->op];
}

static uint32_t op_key(const Follow *f, uint32_t span) {
    return span_at(f, span)->member * f->timeline->op_count + span_at(f, span)->op;
}

static uint32_t stream_key(const Follow *f, uint32_t span) {
    return span_at(f, span)->member * f->schedule->stream_count + op_of(f, span)->stream;
}

// Spans in the order of their keys, those of one key as they are; first[key] is where a key begins.
static uint32_t *sort_by(const Follow *f, uint32_t (*key)(const Follow *, uint32_t), uint32_t keys,
                         uint32_t *first) {
    uint32_t *order = mem_alloc((size_t)f->count + 1, sizeof *order);
    uint32_t *next = mem_alloc((size_t)keys + 1, sizeof *next);
    memset(first, 0, ((size_t)keys + 1) * sizeof *first);
    for (uint32_t s = 0; s < f->count; s++) first[key(f, s) + 1]++;
    for (uint32_t k = 0; k < keys; k++) first[k + 1] += first[k];
    memcpy(next, first, ((size_t)keys + 1) * sizeof *next);
    for (uint32_t s = 0; s < f->count; s++) order[next[key(f, s)]++] = s;
    mem_free(next);
    return order;
}

static int compare_meets(const void *left, const void *right) {
    const Meet *a = left, *b = right;
    if (a->channel != b->channel) return a->channel < b->channel ? -1 : 1;
    if (a->end_ps != b->end_ps) return a->end_ps < b->end_ps ? -1 : 1;
    return (a->span > b->span) - (a->span < b->span);
}

static void list_meets(Follow *f) {
    f->meets = mem_alloc((size_t)f->count + 1, sizeof *f->meets);
    for (uint32_t s = 0; s < f->count; s++)
        if (schedule_op_is_comm(op_of(f, s)->kind))
            f->meets[f->meet_count++] = (Meet){
                .channel = op_of(f, s)->comm.channel, .span = s, .end_ps = span_at(f, s)->end_ps};
    qsort(f->meets, f->meet_count, sizeof *f->meets, compare_meets);
}

static void open_follow(const Schedule *schedule, const Timeline *timeline, Follow *f) {
    uint32_t ops = timeline->member_count * timeline->op_count;
    uint32_t streams = timeline->member_count * schedule->stream_count;
    *f = (Follow){
        .schedule = schedule, .timeline = timeline, .count = (uint32_t)timeline->span_count};
    f->op_first = mem_alloc((size_t)ops + 1, sizeof *f->op_first);
    f->stream_first = mem_alloc((size_t)streams + 1, sizeof *f->stream_first);
    f->by_op = sort_by(f, op_key, ops, f->op_first);
    f->by_stream = sort_by(f, stream_key, streams, f->stream_first);
    f->place = mem_alloc((size_t)f->count + 1, sizeof *f->place);
    for (uint32_t i = 0; i < f->count; i++) f->place[f->by_stream[i]] = i;
    list_meets(f);
}

static void close_follow(Follow *f) {
    mem_free(f->by_op);
    mem_free(f->op_first);
    mem_free(f->by_stream);
    mem_free(f->stream_first);
    mem_free(f->place);
    mem_free(f->meets);
}

// ---- Partners

static uint32_t first_meet(const Follow *f, uint32_t channel, Time end) {
    const Meet wanted = {.channel = channel, .end_ps = end};
    uint32_t low = 0, high = f->meet_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare_meets(&f->meets[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Members of one rank each can tell their groups; classes of ranks are in several.
static bool may_meet(const Follow *f, uint32_t a, uint32_t b) {
    const TimelineMember *x = &f->timeline->members[span_at(f, a)->member];
    const TimelineMember *y = &f->timeline->members[span_at(f, b)->member];
    if (op_of(f, a)->kind != OP_COLLECTIVE || x->ranks != 1 || y->ranks != 1) return true;
    const GroupFamily *family = &f->schedule->groups[op_of(f, a)->comm.group];
    uint32_t of_x, of_y, position;
    return schedule_group_of(family, x->first_rank, &of_x, &position) &&
           schedule_group_of(family, y->first_rank, &of_y, &position) && of_x == of_y;
}

// The partner of that kind that began last among those that ended together; the span itself when
// there is none later.
static uint32_t latest_partner(const Follow *f, uint32_t span, OpKind kind) {
    const Span *s = span_at(f, span);
    uint32_t latest = span, channel = op_of(f, span)->comm.channel;
    for (uint32_t i = first_meet(f, channel, s->end_ps); i < f->meet_count; i++) {
        const Meet *meet = &f->meets[i];
        if (meet->channel != channel || meet->end_ps != s->end_ps) break;
        if (op_of(f, meet->span)->kind != kind || !may_meet(f, span, meet->span)) continue;
        bool is_first = op_of(f, latest)->kind != kind;
        if (is_first || span_at(f, meet->span)->start_ps > span_at(f, latest)->start_ps)
            latest = meet->span;
    }
    return latest;
}

// The span whose start began what ends with this one: of a collective that of the last member, of a
// receive that waited its send.
static uint32_t opener_of(const Follow *f, uint32_t span) {
    const Span *s = span_at(f, span);
    switch (op_of(f, span)->kind) {
    case OP_COLLECTIVE: return latest_partner(f, span, OP_COLLECTIVE);
    case OP_RECV: return s->end_ps > s->start_ps ? latest_partner(f, span, OP_SEND) : span;
    case OP_GEMM:
    case OP_GROUPED_GEMM:
    case OP_ATTENTION:
    case OP_MEMORY:
    case OP_COPY:
    case OP_SEND:
    case OP_KIND_COUNT: break;
    }
    return span;
}

// ---- Causes

// The instance of an operation of a member that ended at that time, or SCHEDULE_NONE.
static uint32_t ended_at(const Follow *f, uint32_t member, OpId op, Time end) {
    uint32_t key = member * f->timeline->op_count + op;
    uint32_t low = f->op_first[key], high = f->op_first[key + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (span_at(f, f->by_op[middle])->end_ps < end)
            low = middle + 1;
        else
            high = middle;
    }
    bool is_found = low < f->op_first[key + 1] && span_at(f, f->by_op[low])->end_ps == end;
    return is_found ? f->by_op[low] : SCHEDULE_NONE;
}

// What ended when the span started, on its stream or among what it waits for; SCHEDULE_NONE at the
// start of the schedule.
static uint32_t cause_of(const Follow *f, uint32_t span) {
    const Span *s = span_at(f, span);
    const Op *op = op_of(f, span);
    uint32_t place = f->place[span];
    if (place > f->stream_first[stream_key(f, span)]) {
        uint32_t before = f->by_stream[place - 1];
        if (span_at(f, before)->end_ps == s->start_ps) return before;
    }
    for (uint32_t i = 0; i < op->wait_count; i++) {
        OpId on = f->schedule->waits[op->first_wait + i];
        uint32_t cause = ended_at(f, s->member, on, s->start_ps);
        if (cause != SCHEDULE_NONE && cause != span) return cause;
    }
    return SCHEDULE_NONE;
}

// ---- The path

static uint32_t last_span(const Follow *f, Time end) {
    for (uint32_t s = f->count; s-- > 0;)
        if (span_at(f, s)->end_ps == end) return s;
    return SCHEDULE_NONE;
}

void why_follow(const Schedule *schedule, const Timeline *timeline, Time begin_ps, Time end_ps,
                WhyPath *out) {
    Follow f;
    open_follow(schedule, timeline, &f);
    *out = (WhyPath){.op_count = schedule->op_count,
                     .ops = mem_alloc((size_t)schedule->op_count + 1, sizeof *out->ops)};
    memset(out->ops, 0, ((size_t)schedule->op_count + 1) * sizeof *out->ops);
    Time now = end_ps;
    uint32_t at = last_span(&f, end_ps);
    for (uint32_t i = 0; i < f.count && at != SCHEDULE_NONE && now > begin_ps; i++) {
        uint32_t opener = opener_of(&f, at);
        Time from = span_at(&f, opener)->start_ps;
        if (from < begin_ps) from = begin_ps;
        WhyOp *op = &out->ops[span_at(&f, opener)->op];
        op->time_ps += now - from;
        op->times++;
        out->term_ps[op_of(&f, opener)->op_class] += now - from;
        now = from;
        at = cause_of(&f, opener);
    }
    out->term_ps[WHY_IDLE] += now - begin_ps;
    close_follow(&f);
}

void why_path_free(WhyPath *path) {
    mem_free(path->ops);
    *path = (WhyPath){0};
}

// ---- The balance

// Something begins (1) or ends (-1).
typedef struct Edge {
    Time time_ps;
    int compute, comm;
} Edge;

static int compare_edges(const void *left, const void *right) {
    const Edge *a = left, *b = right;
    return (a->time_ps > b->time_ps) - (a->time_ps < b->time_ps);
}

static Time clip(Time time, Time begin, Time end) {
    return time < begin ? begin : time > end ? end : time;
}

static uint32_t list_edges(const Follow *f, uint32_t member, Time begin, Time end, Edge *edges) {
    uint32_t count = 0, streams = f->schedule->stream_count;
    uint32_t first = f->stream_first[member * streams];
    for (uint32_t i = first; i < f->stream_first[(member + 1) * streams]; i++) {
        uint32_t span = f->by_stream[i];
        const Span *s = span_at(f, span);
        int is_comm = schedule_op_is_comm(op_of(f, span)->kind) ? 1 : 0;
        Time opened = span_at(f, opener_of(f, span))->start_ps;
        Time from = clip(opened > s->start_ps ? opened : s->start_ps, begin, end);
        Time to = clip(s->end_ps, begin, end);
        if (from >= to) continue;
        edges[count++] = (Edge){from, 1 - is_comm, is_comm};
        edges[count++] = (Edge){to, is_comm - 1, -is_comm};
    }
    return count;
}

void why_balance(const Schedule *schedule, const Timeline *timeline, uint32_t member, Time begin_ps,
                 Time end_ps, WhyBalance *out) {
    Follow f;
    open_follow(schedule, timeline, &f);
    Edge *edges = mem_alloc(2 * (size_t)f.count + 1, sizeof *edges);
    uint32_t count = list_edges(&f, member, begin_ps, end_ps, edges);
    qsort(edges, count, sizeof *edges, compare_edges);
    *out = (WhyBalance){.time_ps = end_ps - begin_ps};
    int compute = 0, comm = 0;
    Time now = begin_ps;
    for (uint32_t i = 0; i <= count; i++) {
        Time next = i < count ? edges[i].time_ps : end_ps, piece = next - now;
        if (compute > 0) out->compute_ps += piece;
        if (comm > 0) out->comm_ps += piece;
        if (compute > 0 && comm > 0) out->overlapped_ps += piece;
        if (compute == 0 && comm == 0) out->waiting_ps += piece;
        now = next;
        if (i == count) break;
        compute += edges[i].compute;
        comm += edges[i].comm;
    }
    mem_free(edges);
    close_follow(&f);
}
