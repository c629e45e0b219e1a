// The interpreter: one thread for each stream of each rank of this process.
//
// Invariant: a stream runs its operations one after another in issue order; before one runs, the
// latest earlier instance of each operation that it waits for has been counted. Counts are written
// by the one stream that has the operation and only grow, over repeats too, so a wait takes a lock
// only when it has to sleep. The first failure ends all: later ones are its consequences.
// Source: streams and events of CUDA (CUDA C++ Programming Guide, "Asynchronous Concurrent
// Execution").
#include "exec/interp_internal.h"

#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#define STACK_B     ((size_t)1 << 20) // of a thread: messages of a few KiB, and what kernels take
#define ALIGNMENT_B 64                // of buffers: a cache line, and the widest vectors

// ---- Counts

static void wake(InterpRank *rank) {
    pthread_mutex_lock(&rank->lock);
    pthread_cond_broadcast(&rank->changed);
    pthread_mutex_unlock(&rank->lock);
}

// Both sides are sequentially consistent: either the waiter sees the count, or this sees it wait.
static void count_to(InterpRank *rank, _Atomic uint64_t *count, uint64_t value) {
    atomic_store(count, value);
    if (atomic_load(&rank->waiters) > 0) wake(rank);
}

// False when the run has failed meanwhile.
static bool wait_for(InterpRun *run, InterpRank *rank, _Atomic uint64_t *count, uint64_t value) {
    if (atomic_load(count) >= value) return true;
    pthread_mutex_lock(&rank->lock);
    atomic_fetch_add(&rank->waiters, 1);
    while (atomic_load(count) < value && !atomic_load(&run->failed))
        pthread_cond_wait(&rank->changed, &rank->lock);
    atomic_fetch_sub(&rank->waiters, 1);
    pthread_mutex_unlock(&rank->lock);
    return atomic_load(count) >= value;
}

static void fail(InterpRun *run, uint32_t rank, const Err *err) {
    pthread_mutex_lock(&run->lock);
    bool is_first = !atomic_load(&run->failed);
    if (is_first) run->err = *err;
    atomic_store(&run->failed, true);
    pthread_mutex_unlock(&run->lock);
    if (!is_first) return;
    if (run->back_end->abort != NULL) run->back_end->abort(run->back_end->self, rank, err);
    for (uint32_t i = 0; i < run->rank_count; i++) wake(&run->ranks[i]);
}

// ---- A stream

// Waits for operations of other streams; those of its own have ended.
static bool wait_for_all(InterpWorker *worker, const OpInstance *instance, Err *err) {
    const Job *job = instance->job;
    const Op *op = job_op(instance);
    const BackEnd *back_end = worker->run->back_end;
    for (uint32_t i = 0; i < op->wait_count; i++) {
        OpId on = job->schedule->waits[op->first_wait + i];
        if (job->schedule->ops[on].stream == worker->stream) continue;
        uint64_t earlier = schedule_index_earlier(&job->index, &instance->cursor, on);
        if (earlier == 0) continue;
        if (worker->repeat > 0)
            earlier += worker->repeat * schedule_index_per_pass(&job->index, on) *
                       schedule_index_passes(&job->index, worker->rank->role);
        if (!wait_for(worker->run, worker->rank, &worker->rank->done[job->places[on]], earlier))
            return false;
        if (back_end->wait != NULL &&
            !back_end->wait(back_end->self, instance, on, earlier - 1, err))
            return false;
    }
    return true;
}

static void keep_span(InterpWorker *worker, const OpInstance *instance, Time start_ps) {
    const BackEnd *back_end = worker->run->back_end;
    const ScheduleCursor *cursor = &instance->cursor;
    worker->spans = mem_grow(worker->spans, &worker->span_capacity, worker->span_count + 1,
                             sizeof *worker->spans);
    worker->spans[worker->span_count++] = (InterpSpan){.op = cursor->op,
                                                       .rank = instance->rank,
                                                       .repeat = worker->repeat,
                                                       .pass = cursor->pass,
                                                       .iteration = cursor->iteration,
                                                       .start_ps = start_ps,
                                                       .end_ps = back_end->now(back_end->self)};
}

static void say_now(const InterpWorker *worker, uint32_t what) {
    _Atomic uint32_t *now = worker->run->options->now;
    if (now != NULL) atomic_store_explicit(&now[worker->stream], what, memory_order_relaxed);
}

static bool run_instance(InterpWorker *worker, OpInstance *instance, Err *err) {
    const InterpRun *run = worker->run;
    const BackEnd *back_end = run->back_end;
    InterpRank *rank = worker->rank;
    const Job *job = run->job;
    OpId id = instance->cursor.op;
    _Atomic uint64_t *done = &rank->done[job->places[id]];
    instance->number = atomic_load_explicit(done, memory_order_relaxed);
    if (schedule_op_is_comm(job->schedule->ops[id].kind)) {
        const SchedulePort *port = &job->wiring.ports[job->wiring.port_of[id]];
        instance->meeting = rank->met[job->places[job->wiring.ops[port->first]]]++;
    }
    say_now(worker, id + 1);
    if (!wait_for_all(worker, instance, err)) return false;
    Time start_ps = run->options->spans ? back_end->now(back_end->self) : 0;
    if (!interp_op(worker, instance, err)) return false;
    if (run->options->spans) keep_span(worker, instance, start_ps);
    count_to(rank, done, instance->number + 1);
    say_now(worker, 0);
    return true;
}

static bool stop(InterpWorker *worker, const OpInstance *instance, Err *err) {
    char text[JOB_TEXT_MAX];
    // without a message it waited for a stream that has failed
    if (!err_is_set(err)) return false;
    err_prefix(err, "%s", job_text(instance, text));
    fail(worker->run, worker->rank->rank, err);
    return false;
}

// One repeat of a benchmark. No other rank is known to have failed before it waits for one.
static bool drill(InterpWorker *worker, OpInstance *instance) {
    const InterpOptions *options = worker->run->options;
    const BackEnd *back_end = worker->run->back_end;
    Err err = {0};
    instance->cursor.op = SCHEDULE_NONE;
    instance->number = instance->meeting = worker->repeat;
    Time start_ps = back_end->now(back_end->self);
    if (!options->drill(options->context, back_end, instance, worker->repeat, &err))
        return stop(worker, instance, &err);
    if (options->spans && instance->cursor.op != SCHEDULE_NONE)
        keep_span(worker, instance, start_ps);
    return true;
}

// The whole of the stream once.
static bool walk(InterpWorker *worker) {
    InterpRun *run = worker->run;
    InterpRank *rank = worker->rank;
    OpInstance instance = {.job = run->job,
                           .rank = rank->rank,
                           .buffers = rank->buffers,
                           .size_B = run->size_B,
                           .dealt = rank->dealt,
                           .cursor =
                               schedule_index_start(&run->job->index, rank->role, worker->stream)};
    Err err = {0};
    if (run->options->drill != NULL) return !worker->leads || drill(worker, &instance);
    while (instance.cursor.op != SCHEDULE_NONE) {
        if (atomic_load_explicit(&run->failed, memory_order_relaxed)) return false;
        if (!run_instance(worker, &instance, &err)) return stop(worker, &instance, &err);
        schedule_index_next(&run->job->index, &instance.cursor);
    }
    return true;
}

static void fill(const InterpRun *run, const InterpRank *rank) {
    const InterpOptions *options = run->options;
    for (BufferId id = 0; options->fill != NULL && id < run->job->schedule->buffer_count; id++)
        if (rank->buffers[id] != NULL)
            options->fill(options->context, id, rank->rank, rank->buffers[id], run->size_B[id]);
}

// When all streams of the rank have ended the run before, and all ranks have come here.
static bool begin(InterpWorker *worker) {
    InterpRun *run = worker->run;
    InterpRank *rank = worker->rank;
    uint32_t repeat = worker->repeat;
    Err err = {0};
    if (!worker->leads) return wait_for(run, rank, &rank->begun, repeat + UINT64_C(1));
    if (!wait_for(run, rank, &rank->ended, (uint64_t)repeat * rank->streams)) return false;
    fill(run, rank);
    if (!run->back_end->start(run->back_end->self, rank->rank, &err)) {
        err_prefix(&err, "rank %u at the start", rank->rank);
        fail(run, rank->rank, &err);
        return false;
    }
    rank->begin_ps[repeat] = run->back_end->now(run->back_end->self);
    count_to(rank, &rank->begun, repeat + UINT64_C(1));
    return true;
}

static void *work(void *context) {
    InterpWorker *worker = context;
    InterpRank *rank = worker->rank;
#ifdef __linux__
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); // sleeps end when asked, not 50 us later
#endif
    for (; worker->repeat < worker->run->repeats; worker->repeat++) {
        if (!begin(worker) || !walk(worker)) break;
        atomic_fetch_add(&rank->ended, 1);
        if (atomic_load(&rank->waiters) > 0) wake(rank);
    }
    return NULL;
}

// ---- A run

static uint32_t streams_of(const Job *job, RoleId role) {
    uint32_t count = 0;
    for (uint32_t s = 0; s < SCHEDULE_STREAMS_MAX; s++)
        count += job->index.role_streams[role] >> s & 1;
    return count > 0 ? count : 1; // a rank without work comes to the start all the same
}

static bool check_ops(const InterpRun *run, Err *err) {
    const Schedule *schedule = run->job->schedule;
    const BackEnd *back_end = run->back_end;
    for (OpId id = 0; back_end->supports != NULL && id < schedule->op_count; id++) {
        char text[SCHEDULE_TEXT_MAX];
        if (schedule->ops[id].kind == OP_COLLECTIVE &&
            !back_end->supports(back_end->self, &schedule->ops[id], err))
            return err_prefix(err, "%s", schedule_op_text(schedule, id, text));
    }
    return true;
}

static bool check(const InterpRun *run, const InterpResult *result, uint32_t *threads, Err *err) {
    const Job *job = run->job;
    uint64_t count = 0;
    for (uint32_t i = 0; i < result->rank_count; i++)
        count += streams_of(job, job->roles[result->ranks[i]]);
    *threads = (uint32_t)count;
    if (count > INTERP_THREADS_MAX)
        return err_set(err, "%u ranks have %llu streams together, expected at most %u in a process",
                       result->rank_count, (unsigned long long)count, INTERP_THREADS_MAX);
    if ((uint64_t)run->repeats * job->runs > JOB_RUNS_MAX)
        return err_set(err, "%u runs of %llu operation instances each, expected at most %llu",
                       run->repeats, (unsigned long long)job->runs,
                       (unsigned long long)JOB_RUNS_MAX);
    const ComputeUnit *compute = run->compute;
    Text parts = {0};
    uint64_t unit_B = compute->memory_B != NULL ? compute->memory_B(compute->self, job, &parts) : 0;
    bool good = job_check_memory(job, result->size_B, result->ranks, result->rank_count, unit_B,
                                 text_string(&parts), err);
    text_free(&parts);
    return good && check_ops(run, err);
}

static void take_ranks(const InterpRun *run, InterpResult *result) {
    const InterpOptions *options = run->options;
    const Job *job = run->job;
    const Routing *routing = run->compute->routing;
    uint32_t all = job->schedule->rank_count, buffers = job->schedule->buffer_count;
    result->rank_count = options->ranks != NULL ? options->rank_count : all;
    result->ranks = arena_alloc(&result->arena, result->rank_count, sizeof *result->ranks);
    for (uint32_t i = 0; i < result->rank_count; i++)
        result->ranks[i] = options->ranks != NULL ? options->ranks[i] : i;
    result->size_B = arena_copy(&result->arena, job->size_B, buffers, sizeof *job->size_B);
    for (BufferId id = 0; routing != NULL && id < buffers; id++)
        result->size_B[id] = routing->room_B(routing->self, job, id, job->size_B[id]);
    result->works = arena_alloc(&result->arena, job->schedule->op_count, sizeof *result->works);
    for (OpId id = 0; id < job->schedule->op_count; id++) {
        OpKind kind = job->schedule->ops[id].kind;
        bool moves = kind == OP_COPY || schedule_op_is_comm(kind);
        result->works[id] = moves ? TIMELINE_FILE_MEASURED : TIMELINE_FILE_SKIPPED;
    }
}

static uint8_t *aligned(Arena *arena, uint64_t bytes) {
    uintptr_t memory = (uintptr_t)arena_alloc(arena, bytes + ALIGNMENT_B - 1, 1);
    return (uint8_t *)((memory + ALIGNMENT_B - 1) / ALIGNMENT_B * ALIGNMENT_B);
}

static void take_memory(InterpRun *run, Arena *arena, InterpResult *result) {
    const Job *job = run->job;
    const Schedule *schedule = job->schedule;
    run->ranks = arena_alloc(arena, result->rank_count, sizeof *run->ranks);
    run->rank_count = result->rank_count;
    result->buffers = arena_alloc(&result->arena, result->rank_count, sizeof *result->buffers);
    for (uint32_t i = 0; i < result->rank_count; i++) {
        InterpRank *rank = &run->ranks[i];
        rank->rank = result->ranks[i];
        rank->role = job->roles[rank->rank];
        rank->streams = streams_of(job, rank->role);
        rank->done = arena_alloc(arena, job->role_ops[rank->role], sizeof *rank->done);
        rank->met = arena_alloc(arena, job->role_ops[rank->role], sizeof *rank->met);
        rank->begin_ps = arena_alloc(arena, run->repeats, sizeof *rank->begin_ps);
        rank->buffers = arena_alloc(&result->arena, schedule->buffer_count, sizeof *rank->buffers);
        if (run->compute->routing != NULL)
            rank->dealt = arena_alloc(arena, schedule->op_count, sizeof *rank->dealt);
        for (BufferId id = 0; id < schedule->buffer_count; id++)
            if (schedule->buffers[id].role == rank->role)
                rank->buffers[id] = aligned(&result->arena, result->size_B[id]);
        result->buffers[i] = rank->buffers;
        pthread_mutex_init(&rank->lock, NULL);
        pthread_cond_init(&rank->changed, NULL);
    }
}

static void free_ranks(InterpRun *run) {
    for (uint32_t i = 0; i < run->rank_count; i++) {
        InterpRank *rank = &run->ranks[i];
        for (OpId id = 0; rank->dealt != NULL && id < run->job->schedule->op_count; id++)
            mem_free(rank->dealt[id]);
        pthread_cond_destroy(&rank->changed);
        pthread_mutex_destroy(&rank->lock);
    }
}

static void start_threads(InterpRun *run, InterpWorker *workers) {
    pthread_attr_t attributes;
    uint32_t count = 0;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_B);
    for (uint32_t i = 0; i < run->rank_count; i++) {
        InterpRank *rank = &run->ranks[i];
        uint32_t streams = run->job->index.role_streams[rank->role], stream = 0;
        for (uint32_t k = 0; k < rank->streams; k++, stream++, count++) {
            while (streams != 0 && (streams >> stream & 1) == 0) stream++;
            InterpWorker *worker = &workers[count];
            *worker = (InterpWorker){.run = run, .rank = rank, .stream = stream, .leads = k == 0};
            int status = pthread_create(&worker->thread, &attributes, work, worker);
            worker->is_started = status == 0;
            if (worker->is_started) continue;
            Err err = {0};
            err_set(&err, "rank %u: cannot start a thread: %s", rank->rank, strerror(status));
            fail(run, rank->rank, &err);
        }
    }
    pthread_attr_destroy(&attributes);
}

// ---- What it gave

static void add_spans(const InterpWorker *worker, InterpResult *result) {
    if (worker->span_count > 0)
        memcpy(result->spans + result->span_count, worker->spans,
               worker->span_count * sizeof *worker->spans);
    result->span_count += worker->span_count;
}

static void gather(const InterpRun *run, InterpWorker *workers, uint32_t count,
                   InterpResult *result) {
    const Job *job = run->job;
    const Schedule *schedule = job->schedule;
    uint64_t spans = 0;
    for (uint32_t i = 0; i < count; i++) spans += workers[i].span_count;
    result->spans = mem_realloc(NULL, spans, sizeof *result->spans);
    for (uint32_t i = 0; i < count; i++) {
        add_spans(&workers[i], result);
        mem_free(workers[i].spans);
        for (uint32_t c = 0; c < OP_CLASS_COUNT; c++) {
            result->linked_B[c] += workers[i].linked_B[c];
            result->local_B[c] += workers[i].local_B[c];
        }
    }
    result->instances = arena_alloc(&result->arena, schedule->op_count, sizeof *result->instances);
    result->repeats = run->repeats;
    result->begin_ps = arena_alloc(&result->arena, run->repeats, sizeof *result->begin_ps);
    for (uint32_t i = 0; i < run->rank_count; i++) {
        const InterpRank *rank = &run->ranks[i];
        for (uint32_t r = 0; r < run->repeats; r++)
            if (i == 0 || rank->begin_ps[r] < result->begin_ps[r])
                result->begin_ps[r] = rank->begin_ps[r];
        for (OpId id = 0; id < schedule->op_count; id++)
            if (schedule_op_role(schedule, id) == rank->role)
                result->instances[id] += atomic_load(&rank->done[job->places[id]]);
    }
}

static bool run_threads(InterpRun *run, uint32_t threads, InterpResult *result, Err *err) {
    Arena arena = {0};
    InterpWorker *workers = mem_alloc(threads, sizeof *workers);
    take_memory(run, &arena, result);
    pthread_mutex_init(&run->lock, NULL);
    start_threads(run, workers);
    for (uint32_t i = 0; i < threads; i++)
        if (workers[i].is_started) pthread_join(workers[i].thread, NULL);
    gather(run, workers, threads, result);
    pthread_mutex_destroy(&run->lock);
    free_ranks(run);
    mem_free(workers);
    arena_free(&arena);
    if (atomic_load(&run->failed)) *err = run->err;
    return !atomic_load(&run->failed);
}

static void take_left(const ComputeUnit *compute, InterpResult *result) {
    result->left = arena_alloc(&result->arena, result->rank_count, sizeof *result->left);
    result->left_B = arena_alloc(&result->arena, result->rank_count, sizeof *result->left_B);
    for (uint32_t i = 0; compute->leave != NULL && i < result->rank_count; i++) {
        Text text = {0};
        compute->leave(compute->self, result->ranks[i], &text);
        result->left[i] = arena_copy(&result->arena, text.data, text.length, 1);
        result->left_B[i] = text.length;
        text_free(&text);
    }
}

bool interp_run(const Job *job, const BackEnd *back_end, const ComputeUnit *compute,
                const InterpOptions *options, InterpResult *out, Err *err) {
    InterpResult result = {0};
    InterpRun run = {.job = job,
                     .back_end = back_end,
                     .compute = compute,
                     .options = options,
                     .repeats = options->repeats > 0 ? options->repeats : 1};
    uint32_t threads = 0;
    take_ranks(&run, &result);
    if (compute->hold != NULL) compute->hold(compute->self, result.ranks, result.rank_count);
    run.size_B = result.size_B;
    run.works = result.works;
    bool good =
        check(&run, &result, &threads, err) &&
        (compute->prepare == NULL || compute->prepare(compute->self, job, result.works, err)) &&
        run_threads(&run, threads, &result, err);
    if (good && options->ranks != NULL) take_left(compute, &result);
    *out = result;
    return good;
}

void interp_free(InterpResult *result) {
    mem_free(result->spans);
    arena_free(&result->arena);
    *result = (InterpResult){0};
}

uint8_t *interp_buffer(const InterpResult *result, BufferId buffer, uint32_t rank) {
    for (uint32_t i = 0; i < result->rank_count; i++)
        if (result->ranks[i] == rank) return result->buffers[i][buffer];
    return NULL;
}

Digest interp_digest(const InterpResult *result, const Schedule *schedule, BufferId buffer) {
    const RankSet *ranks = &schedule->roles[schedule->buffers[buffer].role].ranks;
    uint32_t members = schedule_set_size(ranks);
    uint64_t size_B = result->size_B[buffer];
    Digest digest = hash_u64(HASH_START, members * size_B);
    for (uint32_t i = 0; i < members; i++)
        digest =
            hash_bytes(digest, interp_buffer(result, buffer, schedule_rank_at(ranks, i)), size_B);
    return digest;
}
