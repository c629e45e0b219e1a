// The compute unit that only takes time.
//
// Invariant: operations that follow each other on a stream and wait for nothing else end at
// instants that are fixed when the first of them starts, so that late wake-ups do not add up as
// work on a device would not; none ends before the operations up to it have had their time.
#include "exec/timed.h"

#include "exec/clock.h"

// Durations of the instances of one operation on one rank.
typedef struct Durations {
    uint32_t first, count; // into `durations_ps`
} Durations;

// When the operation that a stream of a rank ran last was to end.
typedef struct Last {
    bool is_set;
    ScheduleCursor cursor;
    uint64_t number;
    Time end_ps;
} Last;

typedef struct Timed {
    Arena arena;
    const Job *job;
    Time *durations_ps; // of the spans of the file, in its order
    Durations *table;   // [op_count][member_count]
    uint32_t member_count;
    uint32_t *members; // [rank_count] member of each rank
    OpId *follows; // [op_count] the one right before it on its stream, when it waits for no more
    Last *last;    // [rank_count][SCHEDULE_STREAMS_MAX], each written by its own thread
} Timed;

static bool timed_prepare(void *self, const Job *job, TimelineFileWork *works, Err *err) {
    (void)self;
    (void)err;
    for (OpId id = 0; id < job->schedule->op_count; id++)
        if (works[id] == TIMELINE_FILE_SKIPPED) works[id] = TIMELINE_FILE_STAND_IN;
    return true;
}

static bool follows(const Timed *timed, const OpInstance *instance, const Last *last) {
    const ScheduleCursor *now = &instance->cursor, *then = &last->cursor;
    return last->is_set && timed->follows[now->op] == then->op &&
           last->number == instance->number && then->pass == now->pass &&
           then->segment == now->segment && then->iteration == now->iteration;
}

static bool timed_run(void *self, const OpInstance *instance, Err *err) {
    const Timed *timed = self;
    (void)err;
    Last *last =
        &timed->last[(size_t)instance->rank * SCHEDULE_STREAMS_MAX + instance->cursor.stream];
    const Durations *own = &timed->table[(size_t)instance->cursor.op * timed->member_count +
                                         timed->members[instance->rank]];
    Time begin_ps = follows(timed, instance, last) ? last->end_ps : clock_now();
    *last = (Last){.is_set = true,
                   .cursor = instance->cursor,
                   .number = instance->number,
                   .end_ps = clock_after(
                       begin_ps, timed->durations_ps[own->first + instance->number % own->count])};
    clock_sleep_until(last->end_ps);
    return true;
}

// ---- From a timeline

static bool check_digest(const char *name, const char *what, Digest found, Digest expected,
                         Err *err) {
    char a[17], b[17];
    return found == expected || err_set(err, "%s: a timeline of %s %s, expected %s", name, what,
                                        hash_format(found, a), hash_format(expected, b));
}

static bool check_file(const char *name, const TimelineFile *file, const Job *job, Err *err) {
    const Schedule *schedule = job->schedule;
    uint32_t members = file->form == TIMELINE_FOLDED ? schedule->role_count : schedule->rank_count;
    if (!file->is_complete)
        return err_set(err, "%s: expected a whole run, found a part of one", name);
    if (file->form == TIMELINE_REFINED)
        return err_set(err,
                       "%s: expected a timeline of roles or of ranks, found %s (\"moesim simulate "
                       "--form expanded\" writes one)",
                       name, timeline_form_names[file->form]);
    if (!check_digest(name, "schedule", file->schedule, schedule->digest, err) ||
        !check_digest(name, "shape", file->shape, step_shape_digest(&job->shape), err) ||
        !check_digest(name, "load", file->load, job->load->digest, err))
        return false;
    if (file->op_count != schedule->op_count || file->member_count != members)
        return err_set(err, "%s: expected %u operations on %u members, found %u on %u", name,
                       schedule->op_count, members, file->op_count, file->member_count);
    return (uint64_t)file->op_count * members <= JOB_RUNS_MAX ||
           err_set(err, "%s: %u operations on %u members, at most %llu together", name,
                   file->op_count, members, (unsigned long long)JOB_RUNS_MAX);
}

// A member for each rank, or for each role.
static bool take_members(const char *name, Timed *timed, const TimelineFile *file, Err *err) {
    const Job *job = timed->job;
    for (uint32_t rank = 0; rank < job->schedule->rank_count; rank++) {
        uint32_t member;
        for (member = 0; member < file->member_count; member++)
            if (file->form == TIMELINE_FOLDED ? file->members[member].role == job->roles[rank]
                                              : file->members[member].first_rank == rank)
                break;
        if (member == file->member_count)
            return err_set(err, "%s: has no member for rank %u", name, rank);
        timed->members[rank] = member;
    }
    return true;
}

static void take_spans(Timed *timed, const TimelineFile *file) {
    for (uint32_t i = 0; i < file->span_count; i++) {
        const TimelineFileSpan *span = &file->spans[i];
        Durations *own = &timed->table[(size_t)span->op * file->member_count + span->member];
        if (own->count++ == 0) own->first = i;
        timed->durations_ps[i] = span->end_ps - span->start_ps;
    }
}

static bool waits_for_others(const Schedule *schedule, const Op *op) {
    for (uint32_t i = 0; i < op->wait_count; i++)
        if (schedule->ops[schedule->waits[op->first_wait + i]].stream != op->stream) return true;
    return false;
}

static void take_order(Timed *timed, const Schedule *schedule) {
    OpId before[SCHEDULE_STREAMS_MAX];
    BlockId block = SCHEDULE_NONE;
    for (OpId id = 0; id < schedule->op_count; id++) {
        const Op *op = &schedule->ops[id];
        for (uint32_t s = 0; op->block != block && s < SCHEDULE_STREAMS_MAX; s++)
            before[s] = SCHEDULE_NONE;
        block = op->block;
        timed->follows[id] = waits_for_others(schedule, op) ? SCHEDULE_NONE : before[op->stream];
        before[op->stream] = id;
    }
}

static bool check_all(const char *name, const Timed *timed, Err *err) {
    const Job *job = timed->job;
    const Schedule *schedule = job->schedule;
    for (OpId id = 0; id < schedule->op_count; id++) {
        OpKind kind = schedule->ops[id].kind;
        const RankSet *ranks = &schedule->roles[schedule_op_role(schedule, id)].ranks;
        if (kind == OP_COPY || schedule_op_is_comm(kind)) continue;
        for (uint32_t i = 0; i < schedule_set_size(ranks); i++) {
            uint32_t member = timed->members[schedule_rank_at(ranks, i)];
            char text[SCHEDULE_TEXT_MAX];
            if (timed->table[(size_t)id * timed->member_count + member].count == 0)
                return err_set(err, "%s: has no span of %s on rank %u", name,
                               schedule_op_text(schedule, id, text), schedule_rank_at(ranks, i));
        }
    }
    return true;
}

bool timed_open_file(const char *name, const TimelineFile *file, const Job *job, ComputeUnit *out,
                     Err *err) {
    if (!check_file(name, file, job, err)) return false;
    Timed *timed = mem_alloc(1, sizeof *timed);
    *timed = (Timed){.job = job, .member_count = file->member_count};
    timed->durations_ps = arena_alloc(&timed->arena, file->span_count, sizeof(Time));
    timed->table = arena_alloc(&timed->arena, (size_t)file->op_count * file->member_count,
                               sizeof *timed->table);
    timed->members = arena_alloc(&timed->arena, job->schedule->rank_count, sizeof *timed->members);
    timed->follows = arena_alloc(&timed->arena, job->schedule->op_count, sizeof *timed->follows);
    timed->last = arena_alloc(&timed->arena, job->schedule->rank_count,
                              SCHEDULE_STREAMS_MAX * sizeof *timed->last);
    bool good = take_members(name, timed, file, err);
    take_spans(timed, file);
    take_order(timed, job->schedule);
    *out =
        (ComputeUnit){.name = "timed", .self = timed, .prepare = timed_prepare, .run = timed_run};
    if (good && check_all(name, timed, err)) return true;
    timed_close(out);
    return false;
}

bool timed_open(const char *path, const Job *job, ComputeUnit *out, Err *err) {
    TimelineFile file = {0};
    if (!timeline_file_read(path, &file, err)) return false;
    bool good = timed_open_file(path, &file, job, out, err);
    timeline_file_free(&file);
    return good;
}

void timed_close(ComputeUnit *unit) {
    Timed *timed = unit->self;
    if (timed == NULL) return;
    arena_free(&timed->arena);
    mem_free(timed);
    *unit = (ComputeUnit){0};
}
