// Joins two timelines: what may be compared, times by operation and class, exposed communication.
//
// Invariant: both sides are reduced by the same code, so a timeline compared with itself has no
// error anywhere; what a back end did not run counts in no error.
// Source: mean absolute percentage error, relative to what was measured, as forecasts are scored
// (R. Hyndman, A. Koehler, "Another look at measures of forecast accuracy", 2006, section 2.2).
#include "model/report/compare.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/base/wide.h"

typedef struct Side {
    const TimelineFile *file;
    const char *name;
    uint64_t *role_ranks;   // [role_count]
    uint32_t *role_members; // [role_count]
    uint64_t *instances;    // [op_count] on one rank
    double *time_s;         // [op_count] the mean over the ranks of its role
    double comm_s, exposed_s;
} Side;

typedef struct Join {
    Arena arena;
    Side predicted, measured;
    uint32_t role_count;
} Join;

void compare_free(Comparison *comparison) {
    arena_free(&comparison->arena);
    *comparison = (Comparison){0};
}

// ---- What may be compared

static bool check_digest(const Join *join, const char *what, Digest left, Digest right, Err *err) {
    char a[17], b[17];
    return left == right ||
           err_set(err, "different %ss: %s has %s, %s has %s", what, join->predicted.name,
                   hash_format(left, a), join->measured.name, hash_format(right, b));
}

// What the router of a model chose while it ran is no load that was known before.
static bool check_load(const Join *join, Err *err) {
    if (check_digest(join, "load", join->predicted.file->load, join->measured.file->load, err))
        return true;
    Err found = *err;
    return err_set(err,
                   "%s: expected the measured one (moesim-run run --write-load) in moesim simulate "
                   "--load",
                   found.text);
}

static bool check_inputs(const Join *join, Err *err) {
    const TimelineFile *p = join->predicted.file, *m = join->measured.file;
    for (OpId id = 0; id < p->op_count; id++)
        if (p->ops[id].work != TIMELINE_FILE_PREDICTED)
            return err_set(err, "%s: expected a prediction, found operation \"%s\" %s",
                           join->predicted.name, p->ops[id].name,
                           timeline_file_work_names[p->ops[id].work]);
    if (!p->is_complete || !m->is_complete)
        return err_set(err, "%s: expected a whole run, found a part of one",
                       p->is_complete ? join->measured.name : join->predicted.name);
    bool has_machines = p->fabric != 0 && m->fabric != 0;
    return check_digest(join, "schedule", p->schedule, m->schedule, err) &&
           check_digest(join, "shape", p->shape, m->shape, err) && check_load(join, err) &&
           (!has_machines || check_digest(join, "machine", p->fabric, m->fabric, err));
}

static bool is_same_op(const TimelineFileOp *a, const TimelineFileOp *b) {
    return strcmp(a->name, b->name) == 0 && a->role == b->role && a->kind == b->kind &&
           a->op_class == b->op_class && a->stream == b->stream;
}

static bool check_ops(const Join *join, Err *err) {
    const TimelineFile *p = join->predicted.file, *m = join->measured.file;
    if (p->op_count != m->op_count)
        return err_set(err, "%s has %u operations, %s has %u", join->predicted.name, p->op_count,
                       join->measured.name, m->op_count);
    for (OpId id = 0; id < p->op_count; id++) {
        const TimelineFileOp *a = &p->ops[id], *b = &m->ops[id];
        if (!is_same_op(a, b))
            return err_set(err, "operation %u is \"%s\" of role %u in %s, \"%s\" of role %u in %s",
                           id, a->name, a->role, join->predicted.name, b->name, b->role,
                           join->measured.name);
        if (strcmp(a->implementation, b->implementation) != 0)
            return err_set(err, "operation \"%s\" of role \"%s\": %s has %s, %s has %s", a->name,
                           a->role_name, join->predicted.name, a->implementation,
                           join->measured.name, b->implementation);
    }
    return true;
}

// ---- Roles and instances

static void count_ranks(Side *side, uint32_t roles, Arena *arena) {
    side->role_ranks = arena_alloc(arena, roles, sizeof *side->role_ranks);
    side->role_members = arena_alloc(arena, roles, sizeof *side->role_members);
    for (uint32_t i = 0; i < side->file->member_count; i++) {
        const TimelineMember *member = &side->file->members[i];
        side->role_ranks[member->role] += member->ranks;
        side->role_members[member->role]++;
    }
}

static bool check_ranks(const Join *join, Err *err) {
    for (RoleId role = 0; role < join->role_count; role++)
        if (join->predicted.role_ranks[role] != join->measured.role_ranks[role])
            return err_set(err, "role %u has %" PRIu64 " ranks in %s, %" PRIu64 " in %s", role,
                           join->predicted.role_ranks[role], join->predicted.name,
                           join->measured.role_ranks[role], join->measured.name);
    return true;
}

// Sums are of whole picoseconds, so that members of any size give the same mean.
static double mean_s(Wide sum_ps, uint64_t ranks) {
    return (double)sum_ps / (double)ranks / (double)PS_PER_SECOND;
}

// The instances on one member follow each other: runs of spans, as many as the role has members.
static bool reduce_op(Side *side, OpId id, uint32_t first, uint32_t end, Err *err) {
    const TimelineFile *file = side->file;
    const TimelineFileOp *op = &file->ops[id];
    uint32_t runs = 0;
    Wide sum_ps = 0; // over ranks: at most 2^53 ps on each of 2^20
    for (uint32_t i = first; i < end; runs++) {
        uint32_t member = file->spans[i].member, count = 0;
        Time busy_ps = 0; // of intervals that do not overlap: at most the end of the run
        for (; i < end && file->spans[i].member == member; i++, count++)
            busy_ps += file->spans[i].end_ps - file->spans[i].start_ps;
        if (runs > 0 && count != side->instances[id])
            return err_set(err,
                           "%s: operation \"%s\" of role \"%s\" ran %u times on member %u, %" PRIu64
                           " times on others",
                           side->name, op->name, op->role_name, count, member, side->instances[id]);
        side->instances[id] = count;
        sum_ps += wide_mul((uint64_t)busy_ps, file->members[member].ranks);
    }
    if (runs > 0 && runs != side->role_members[op->role])
        return err_set(err, "%s: operation \"%s\" of role \"%s\" ran on %u members of %u",
                       side->name, op->name, op->role_name, runs, side->role_members[op->role]);
    side->time_s[id] = runs > 0 ? mean_s(sum_ps, side->role_ranks[op->role]) : 0;
    return true;
}

static bool reduce_ops(Side *side, Arena *arena, Err *err) {
    const TimelineFile *file = side->file;
    side->instances = arena_alloc(arena, file->op_count, sizeof *side->instances);
    side->time_s = arena_alloc(arena, file->op_count, sizeof *side->time_s);
    uint32_t i = 0;
    for (OpId id = 0; id < file->op_count; id++) {
        uint32_t first = i;
        while (i < file->span_count && file->spans[i].op == id) i++;
        if (!reduce_op(side, id, first, i, err)) return false;
    }
    return true;
}

static bool check_instances(const Join *join, Err *err) {
    const TimelineFile *file = join->predicted.file;
    for (OpId id = 0; id < file->op_count; id++)
        if (join->predicted.instances[id] != join->measured.instances[id])
            return err_set(err,
                           "operation \"%s\" of role \"%s\" ran %" PRIu64
                           " times on a rank in %s, %" PRIu64 " times in %s",
                           file->ops[id].name, file->ops[id].role_name,
                           join->predicted.instances[id], join->predicted.name,
                           join->measured.instances[id], join->measured.name);
    return true;
}

// ---- Exposed communication

// An operation begins or ends on a member.
typedef struct Edge {
    uint32_t member;
    Time at_ps;
    int32_t comm, compute; // how many more run from then on
} Edge;

static int compare_edges(const void *left, const void *right) {
    const Edge *a = left, *b = right;
    if (a->member != b->member) return a->member < b->member ? -1 : 1;
    return (a->at_ps > b->at_ps) - (a->at_ps < b->at_ps);
}

static size_t list_edges(const TimelineFile *file, Edge *edges) {
    size_t count = 0;
    for (uint32_t i = 0; i < file->span_count; i++) {
        const TimelineFileSpan *span = &file->spans[i];
        if (span->end_ps == span->start_ps) continue;
        bool is_comm = schedule_op_is_comm(file->ops[span->op].kind);
        edges[count++] = (Edge){span->member, span->start_ps, is_comm, !is_comm};
        edges[count++] = (Edge){span->member, span->end_ps, -(int32_t)is_comm, -(int32_t)!is_comm};
    }
    return count;
}

static void sum_exposed(Side *side) {
    const TimelineFile *file = side->file;
    Edge *edges = mem_alloc(2 * (size_t)file->span_count + 1, sizeof *edges);
    size_t count = list_edges(file, edges);
    uint64_t ranks = 0;
    Wide comm_ps = 0, exposed_ps = 0; // over ranks
    int32_t comm = 0, compute = 0;    // 0 again after the last edge of a member
    qsort(edges, count, sizeof *edges, compare_edges);
    for (size_t i = 0; i < count; i++) {
        comm += edges[i].comm;
        compute += edges[i].compute;
        if (comm == 0 || i + 1 == count) continue;
        Wide span_ps = wide_mul((uint64_t)(edges[i + 1].at_ps - edges[i].at_ps),
                                file->members[edges[i].member].ranks);
        comm_ps += span_ps;
        if (compute == 0) exposed_ps += span_ps;
    }
    for (uint32_t i = 0; i < file->member_count; i++) ranks += file->members[i].ranks;
    side->comm_s = ranks > 0 ? mean_s(comm_ps, ranks) : 0;
    side->exposed_s = ranks > 0 ? mean_s(exposed_ps, ranks) : 0;
    mem_free(edges);
}

// ---- Errors

static bool error_of(ComparePair time, double *out) {
    if (!(time.measured_s > 0)) return false;
    *out = 100 * (time.predicted_s / time.measured_s - 1);
    return true;
}

static void join_ops(const Join *join, Comparison *out) {
    const TimelineFile *p = join->predicted.file, *m = join->measured.file;
    out->op_count = p->op_count;
    out->ops = arena_alloc(&out->arena, out->op_count, sizeof *out->ops);
    for (OpId id = 0; id < p->op_count; id++) {
        const TimelineFileOp *op = &p->ops[id];
        TimelineFileWork work = m->ops[id].work;
        CompareOp row = {.name = op->name,
                         .role_name = op->role_name,
                         .op_class = op->op_class,
                         .link = op->link == LINK_CLASS_COUNT ? m->ops[id].link : op->link,
                         .work = work,
                         .instances = join->predicted.instances[id],
                         .time = {join->predicted.time_s[id], join->measured.time_s[id]}};
        bool is_real = work == TIMELINE_FILE_MEASURED || work == TIMELINE_FILE_PREDICTED;
        row.has_error = is_real && error_of(row.time, &row.error);
        out->ops[id] = row;
        out->stand_ins += work == TIMELINE_FILE_STAND_IN;
        out->skipped += work == TIMELINE_FILE_SKIPPED;
        out->skipped_compute += work == TIMELINE_FILE_SKIPPED && !schedule_op_is_comm(op->kind);
    }
}

static double size_of(double error) {
    return error < 0 ? -error : error;
}

static void add_op(CompareClass *sum, const Comparison *comparison, OpId id) {
    const CompareOp *op = &comparison->ops[id];
    sum->ops++;
    sum->time.predicted_s += op->time.predicted_s;
    sum->time.measured_s += op->time.measured_s;
    if (!op->has_error) return;
    sum->with_error++;
    sum->mean_error += size_of(op->error); // the sum, until finish_class
    if (sum->worst == SCHEDULE_NONE ||
        size_of(op->error) > size_of(comparison->ops[sum->worst].error))
        sum->worst = id;
}

static void finish_class(CompareClass *sum) {
    sum->has_error = error_of(sum->time, &sum->error);
    if (sum->with_error > 0) sum->mean_error /= sum->with_error;
}

static bool was_run(const CompareOp *op) {
    return op->instances > 0 && op->work != TIMELINE_FILE_STAND_IN &&
           op->work != TIMELINE_FILE_SKIPPED;
}

static void sum_classes(Comparison *out) {
    enum { LINKS = LINK_CLASS_COUNT + 1 };
    CompareClass *cells = arena_alloc(&out->arena, OP_CLASS_COUNT * LINKS, sizeof *cells);
    out->classes = arena_alloc(&out->arena, OP_CLASS_COUNT * LINKS, sizeof *out->classes);
    out->total.worst = SCHEDULE_NONE;
    for (uint32_t i = 0; i < OP_CLASS_COUNT * LINKS; i++)
        cells[i] = (CompareClass){.op_class = (OpClass)(i / LINKS),
                                  .link = (LinkClass)(i % LINKS),
                                  .worst = SCHEDULE_NONE};
    for (OpId id = 0; id < out->op_count; id++) {
        const CompareOp *op = &out->ops[id];
        if (!was_run(op)) continue;
        add_op(&cells[(uint32_t)op->op_class * LINKS + (uint32_t)op->link], out, id);
        add_op(&out->total, out, id);
    }
    for (uint32_t i = 0; i < OP_CLASS_COUNT * LINKS; i++) {
        finish_class(&cells[i]);
        if (cells[i].ops > 0) out->classes[out->class_count++] = cells[i];
    }
    finish_class(&out->total);
}

static bool join_sides(Join *join, Err *err) {
    Side *sides[] = {&join->predicted, &join->measured};
    if (!check_inputs(join, err) || !check_ops(join, err)) return false;
    for (uint32_t i = 0; i < 2; i++) count_ranks(sides[i], join->role_count, &join->arena);
    if (!check_ranks(join, err)) return false;
    for (uint32_t i = 0; i < 2; i++)
        if (!reduce_ops(sides[i], &join->arena, err)) return false;
    for (uint32_t i = 0; i < 2; i++) sum_exposed(sides[i]);
    return check_instances(join, err);
}

bool compare_timelines(const TimelineFile *predicted, const char *predicted_name,
                       const TimelineFile *measured, const char *measured_name, Comparison *out,
                       Err *err) {
    uint32_t a = predicted->member_count, b = measured->member_count;
    Join join = {.predicted = {.file = predicted, .name = predicted_name},
                 .measured = {.file = measured, .name = measured_name},
                 .role_count = a > b ? a : b};
    bool good = join_sides(&join, err);
    if (good) {
        Comparison result = {0};
        join_ops(&join, &result);
        sum_classes(&result);
        result.end =
            (ComparePair){units_seconds(predicted->end_ps), units_seconds(measured->end_ps)};
        result.comm = (ComparePair){join.predicted.comm_s, join.measured.comm_s};
        result.exposed = (ComparePair){join.predicted.exposed_s, join.measured.exposed_s};
        *out = result;
    }
    arena_free(&join.arena);
    return good;
}
