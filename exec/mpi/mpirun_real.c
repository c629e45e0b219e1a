// The mpi back end: point to point messages of MPI, one rank in a process.
//
// Invariant: one lock around every call of MPI, none of which waits, so that a library without
// threads will do and every wait has a time-out. Messages of one channel between two ranks are
// posted by one thread in one order on both sides, and MPI keeps that order among equal tags; only
// those of a channel whose receive is behind its send may stay without a receive, and have a tag of
// their own. What becomes of a run that fails is in mpirun_fail.c.
#include "exec/mpi/mpirun_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "exec/clock.h"
#include "exec/result.h"
#include "model/base/mem.h"

#define PS_PER_US   INT64_C(1000000)
#define NAP_NS      20000               // between two looks at what is under way
#define LEAD_PS     (1000 * PS_PER_US)  // from when all have come to when all start
#define CHANNEL_MAX (UINT32_C(1) << 16) // messages of one channel that have tags of their own
#define QUESTIONS   64                  // about a clock

void mpirun_nap(void) {
    struct timespec time = {.tv_nsec = NAP_NS};
    nanosleep(&time, NULL);
}

// ---- Tags

// Dense numbers for wires; those around a run come last.
static bool number_wires(World *world, Err *err) {
    const Job *job = world->request->job;
    uint32_t count = 0, repeats = world->request->options->repeats;
    world->index = mem_alloc(JOB_WIRES_MAX + 1, sizeof *world->index);
    world->is_behind = mem_alloc((size_t)job->schedule->op_count + 1, sizeof *world->is_behind);
    for (uint32_t i = 0; i <= JOB_WIRES_MAX; i++) world->index[i] = UINT32_MAX;
    for (OpId id = 0; id < job->schedule->op_count; id++) {
        if (!schedule_op_is_comm(job->schedule->ops[id].kind)) continue;
        uint32_t *index = &world->index[job->wires[id]];
        if (*index == UINT32_MAX) *index = count++;
        if (job->behind[id] == 0) continue;
        world->is_behind[*index] = true;
        if (job->channel_runs[id] * (repeats > 0 ? repeats : 1) > CHANNEL_MAX)
            return err_set(err,
                           "%" PRIu64 " runs of a channel whose receive is behind its send, "
                           "expected at most %u",
                           job->channel_runs[id], CHANNEL_MAX);
    }
    for (uint32_t i = 0; i <= JOB_WIRES_MAX; i++) {
        if (world->index[i] == UINT32_MAX) world->index[i] = count;
    }
    int *most, found;
    MPI_Comm_get_attr(world->traffic, MPI_TAG_UB, &most, &found);
    return (found && (uint64_t)count << 16 < (uint64_t)*most) ||
           err_set(err, "%u channels, more than the tags of this MPI", count);
}

static int tag_of(const World *world, uint64_t tag) {
    uint32_t index = world->index[tag >> 46];
    uint64_t low = world->is_behind[index] ? tag >> 16 : tag;
    return (int)(index << 16 | (low & 0xffff));
}

// ---- Waiting

// `who` is silent when it is late.
static bool late(World *world, Time deadline, const char *who, Err *err) {
    char text[UNITS_TEXT_MAX];
    if (world->stopped)
        return err_set(err, "stopped by the failure of another %s",
                       world->has_news ? "rank" : "stream");
    if (clock_now() < deadline) return true;
    world->is_silence = true;
    return err_set(err, "%ssilent for %s", who,
                   units_format_time(world->request->time_out_ps, text));
}

// Takes back the memory of what was posted and has gone.
static void collect_posts(World *world) {
    for (uint32_t i = world->post_count; i > 0; i--) {
        Post *post = &world->posts[i - 1];
        int done;
        MPI_Test(&post->request, &done, MPI_STATUS_IGNORE);
        if (!done) continue;
        mem_free(post->bytes);
        *post = world->posts[--world->post_count];
    }
}

static bool wait_request(World *world, MPI_Request *request, Err *err) {
    Time deadline = clock_now() + world->request->time_out_ps;
    for (;;) {
        int done;
        pthread_mutex_lock(&world->lock);
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (!done) mpirun_hear(world);
        pthread_mutex_unlock(&world->lock);
        if (done) return true;
        if (!late(world, deadline, "some rank ", err)) return false;
        mpirun_nap();
    }
}

// ---- Messages

static void post(World *world, const Message *message) {
    world->posts =
        mem_grow(world->posts, &world->post_capacity, world->post_count + 1, sizeof *world->posts);
    Post *one = &world->posts[world->post_count++];
    one->bytes = mem_alloc((size_t)message->count, 1);
    if (message->count > 0) memcpy(one->bytes, message->bytes, (size_t)message->count);
    MPI_Isend(one->bytes, (int)message->count, MPI_BYTE, (int)message->peer,
              tag_of(world, message->tag), world->traffic, &one->request);
}

// One byte more than is expected: a longer message is an error of this file's, not of MPI's.
static void receive(World *world, const Message *message, uint8_t **into, MPI_Request *request) {
    *into = mem_alloc((size_t)message->count + 1, 1);
    MPI_Irecv(*into, (int)message->count + 1, MPI_BYTE, (int)message->peer,
              tag_of(world, message->tag), world->traffic, request);
}

static bool begin(World *world, const Message *messages, uint32_t count, uint8_t **received,
                  MPI_Request *requests, Err *err) {
    for (uint32_t i = 0; i < count; i++) {
        const Message *message = &messages[i];
        requests[i] = MPI_REQUEST_NULL;
        if (message->kind == MESSAGE_COPY) continue;
        if (message->count >= MPIRUN_PART_MAX || (int64_t)message->peer >= world->size)
            return err_set(err, "a message of %" PRIu64 " bytes to rank %u, expected less than %d",
                           message->count, message->peer, MPIRUN_PART_MAX);
        if (message->kind == MESSAGE_POST)
            post(world, message);
        else if (message->kind == MESSAGE_RECV)
            receive(world, message, &received[i], &requests[i]);
        else
            MPI_Isend(message->bytes, (int)message->count, MPI_BYTE, (int)message->peer,
                      tag_of(world, message->tag), world->traffic, &requests[i]);
    }
    return true;
}

// What has come goes where it was asked for.
static bool end(const Message *messages, uint32_t count, uint8_t *const *received,
                const MPI_Status *statuses, Err *err) {
    for (uint32_t i = 0; i < count; i++) {
        const Message *message = &messages[i];
        int came;
        if (message->kind != MESSAGE_RECV) continue;
        MPI_Get_count(&statuses[i], MPI_BYTE, &came);
        if (came != (int)message->count)
            return err_set(err, "rank %u sent %d bytes%s, expected %" PRIu64, message->peer, came,
                           came > (int)message->count ? " or more" : "", message->count);
        if (came > 0) memcpy(message->bytes, received[i], (size_t)came);
    }
    return true;
}

static bool wait_all(World *world, const Message *messages, uint32_t count, MPI_Request *requests,
                     MPI_Status *statuses, Err *err) {
    Time deadline = clock_now() + world->request->time_out_ps;
    for (;;) {
        int done;
        pthread_mutex_lock(&world->lock);
        MPI_Testall((int)count, requests, &done, statuses);
        collect_posts(world);
        if (!done) mpirun_hear(world);
        pthread_mutex_unlock(&world->lock);
        if (done) return true;
        if (!late(world, deadline, "", err)) break;
        mpirun_nap();
    }
    for (uint32_t i = 0; i < count; i++) {
        int done;
        pthread_mutex_lock(&world->lock);
        MPI_Request_get_status(requests[i], &done, MPI_STATUS_IGNORE);
        pthread_mutex_unlock(&world->lock);
        if (done) continue;
        world->peer = (int)messages[i].peer;
        return err_prefix(err, "rank %u", messages[i].peer);
    }
    return false;
}

static bool exchange(void *self, uint32_t rank, const Message *messages, uint32_t count, Err *err) {
    World *world = self;
    Arena arena = {0};
    MPI_Request *requests = arena_alloc(&arena, count, sizeof *requests);
    MPI_Status *statuses = arena_alloc(&arena, count, sizeof *statuses);
    uint8_t **received = arena_alloc(&arena, count, sizeof *received);
    (void)rank;
    pthread_mutex_lock(&world->lock);
    bool good = begin(world, messages, count, received, requests, err);
    pthread_mutex_unlock(&world->lock);
    if (good) message_copy_all(messages, count);
    good = good && wait_all(world, messages, count, requests, statuses, err) &&
           end(messages, count, received, statuses, err);
    // after a failure MPI may still write there: the process ends soon
    for (uint32_t i = 0; good && i < count; i++) mem_free(received[i]);
    if (good) arena_free(&arena);
    return good;
}

// ---- The clock and the start

static Time now(void *self) {
    const World *world = self;
    return clock_now() - world->ahead_ps;
}

static bool start(void *self, uint32_t rank, Err *err) {
    World *world = self;
    MPI_Request request;
    (void)rank;
    pthread_mutex_lock(&world->lock);
    MPI_Ibarrier(world->own, &request);
    pthread_mutex_unlock(&world->lock);
    if (!wait_request(world, &request, err)) return false;
    int64_t start_ps = clock_now() + LEAD_PS; // that of rank 0 counts
    pthread_mutex_lock(&world->lock);
    MPI_Ibcast(&start_ps, 1, MPI_INT64_T, 0, world->own, &request);
    pthread_mutex_unlock(&world->lock);
    if (!wait_request(world, &request, err)) return false;
    clock_sleep_until(start_ps + world->ahead_ps);
    return true;
}

static void stop(void *self, uint32_t rank, const Err *why) {
    World *world = self;
    (void)rank;
    (void)why;
    world->stopped = true;
}

static bool is_one_kernel(void) {
    char mine[40] = "", first[40];
    int same, all;
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (file != NULL && fgets(mine, sizeof mine, file) == NULL) *mine = '\0';
    if (file != NULL) fclose(file);
    memcpy(first, mine, sizeof first);
    MPI_Bcast(first, sizeof first, MPI_BYTE, 0, MPI_COMM_WORLD);
    same = *mine != '\0' && memcmp(mine, first, sizeof mine) == 0;
    MPI_Allreduce(&same, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all;
}

// By the fastest of a few questions to rank 0 and answers: Cristian, "Probabilistic clock
// synchronization", Distributed Computing 1989.
static void ask_clock(World *world) {
    Time best = TIME_MAX;
    for (uint32_t i = 0; i < QUESTIONS; i++) {
        int64_t theirs = 0, before = clock_now();
        MPI_Send(&theirs, 1, MPI_INT64_T, 0, TAG_CLOCK, world->own);
        MPI_Recv(&theirs, 1, MPI_INT64_T, 0, TAG_CLOCK, world->own, MPI_STATUS_IGNORE);
        Time round_ps = clock_now() - before;
        if (round_ps >= best) continue;
        best = round_ps;
        world->ahead_ps = before + round_ps / 2 - theirs;
    }
    world->error_ps = best / 2;
}

static void answer_clock(World *world, int rank) {
    for (uint32_t i = 0; i < QUESTIONS; i++) {
        int64_t time;
        MPI_Recv(&time, 1, MPI_INT64_T, rank, TAG_CLOCK, world->own, MPI_STATUS_IGNORE);
        time = clock_now();
        MPI_Send(&time, 1, MPI_INT64_T, rank, TAG_CLOCK, world->own);
    }
}

static void compare_clocks(World *world) {
    int64_t mine, most = 0;
    if (is_one_kernel()) return;
    for (int rank = 1; rank < world->size; rank++) {
        if (world->rank == rank) ask_clock(world);
        if (world->rank == 0) answer_clock(world, rank);
    }
    mine = world->error_ps;
    MPI_Allreduce(&mine, &most, 1, MPI_INT64_T, MPI_MAX, world->own);
    world->error_ps = most;
}

// ---- Results

// Takes what nobody asked for until all have come here and all that was posted has gone. By the
// only thread that is left.
static bool drain(World *world, Err *err) {
    Time deadline = clock_now() + world->request->time_out_ps;
    MPI_Request barrier;
    bool waits = false;
    int done = 0;
    while (!done) {
        int is_there;
        MPI_Status status;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world->traffic, &is_there, &status);
        if (is_there) {
            int count;
            MPI_Get_count(&status, MPI_BYTE, &count);
            uint8_t *bytes = mem_alloc((size_t)count, 1);
            MPI_Recv(bytes, count, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, world->traffic,
                     MPI_STATUS_IGNORE);
            mem_free(bytes);
        }
        collect_posts(world);
        if (!waits && world->post_count == 0) {
            MPI_Ibarrier(world->own, &barrier);
            waits = true;
        }
        if (waits) MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
        if (!done) mpirun_hear(world);
        if (!done && !late(world, deadline, "some rank ", err))
            return err_prefix(err, "rank %d at the end", world->rank);
        if (!done && !is_there) mpirun_nap();
    }
    return true;
}

static void send_result(const World *world, const Text *text) {
    uint64_t size = text->length;
    MPI_Send(&size, 1, MPI_UINT64_T, 0, TAG_SIZE, world->own);
    for (uint64_t i = 0; i < size; i += MPIRUN_PART_MAX) {
        int now_B = size - i < MPIRUN_PART_MAX ? (int)(size - i) : MPIRUN_PART_MAX;
        MPI_Send(text->data + i, now_B, MPI_BYTE, 0, TAG_RESULT, world->own);
    }
}

static ResultPart receive_result(const World *world, int rank) {
    uint64_t size;
    MPI_Recv(&size, 1, MPI_UINT64_T, rank, TAG_SIZE, world->own, MPI_STATUS_IGNORE);
    uint8_t *bytes = mem_alloc(size, 1);
    for (uint64_t i = 0; i < size; i += MPIRUN_PART_MAX) {
        int now_B = size - i < MPIRUN_PART_MAX ? (int)(size - i) : MPIRUN_PART_MAX;
        MPI_Recv(bytes + i, now_B, MPI_BYTE, rank, TAG_RESULT, world->own, MPI_STATUS_IGNORE);
    }
    return (ResultPart){.bytes = bytes, .count = size};
}

static bool gather(const World *world, const Text *mine, InterpResult *out, Err *err) {
    const BackEndRequest *request = world->request;
    ResultPart *parts = mem_alloc((size_t)world->size, sizeof *parts);
    parts[0] = (ResultPart){.bytes = (const uint8_t *)mine->data, .count = mine->length};
    for (int rank = 1; rank < world->size; rank++) parts[rank] = receive_result(world, rank);
    bool good = result_merge(request->job, request->options->repeats, parts, (uint32_t)world->size,
                             out, err);
    for (int rank = 1; rank < world->size; rank++) {
        union {
            const uint8_t *borrowed;
            uint8_t *owned; // by receive_result
        } bytes = {.borrowed = parts[rank].bytes};
        mem_free(bytes.owned);
    }
    mem_free(parts);
    return good;
}

// ---- A run

static void describe(const World *world, BackEndAnswer *out) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING], text[UNITS_TEXT_MAX];
    int length;
    if (world->error_ps == 0)
        snprintf(out->machine, sizeof out->machine, "%d ranks, one clock", world->size);
    else
        snprintf(out->machine, sizeof out->machine, "%d ranks, clocks within %s", world->size,
                 units_format_time(world->error_ps, text));
    MPI_Get_library_version(version, &length);
    snprintf(out->libraries, sizeof out->libraries, "%.*s", (int)strcspn(version, ",\n"), version);
}

static bool run_rank(World *world, InterpResult *result, Err *err) {
    const BackEndRequest *request = world->request;
    BackEnd back_end = {.name = "mpi",
                        .machine = "",
                        .self = world,
                        .exchange = exchange,
                        .now = now,
                        .start = start,
                        .abort = stop};
    uint32_t rank = (uint32_t)world->rank;
    InterpOptions options = *request->options;
    options.ranks = &rank;
    options.rank_count = 1;
    return interp_run(request->job, &back_end, request->compute, &options, result, err);
}

static bool answer(World *world, const InterpResult *result, BackEndAnswer *out, Err *err) {
    Text text = {0};
    bool good = true;
    if (!drain(world, err)) return false;
    describe(world, out);
    result_pack(world->request->job, result, &text);
    out->is_silent = world->rank != 0;
    if (out->is_silent)
        send_result(world, &text);
    else
        good = gather(world, &text, &out->result, err);
    text_free(&text);
    return good;
}

// False when some rank found something wrong before this: see mpirun_tell.
static bool open_world(const BackEndRequest *request, World *world, Err *err) {
    Err nothing = {0};
    *world = (World){.request = request, .peer = -1, .first = -1};
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &world->provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world->size);
    pthread_mutex_init(&world->lock, NULL);
    if (!mpirun_agree(&nothing, err)) return false;
    world->reports = mem_alloc(world->rank == 0 ? (size_t)world->size : 1, sizeof *world->reports);
    MPI_Comm_dup(MPI_COMM_WORLD, &world->traffic);
    MPI_Comm_dup(MPI_COMM_WORLD, &world->own);
    compare_clocks(world);
    return true;
}

static void close_world(World *world) {
    mem_free(world->reports);
    mem_free(world->posts);
    mem_free(world->is_behind);
    mem_free(world->index);
    pthread_mutex_destroy(&world->lock);
    MPI_Finalize();
}

// What every rank finds alike.
static bool check_world(World *world, Err *err) {
    uint32_t ranks = world->request->job->schedule->rank_count;
    if (world->provided < MPI_THREAD_SERIALIZED)
        return err_set(err, "this MPI has no threads (level %d)", world->provided);
    if ((uint32_t)world->size != ranks)
        return err_set(err, "mpirun started %d processes, the schedule has %u ranks", world->size,
                       ranks);
    return number_wires(world, err);
}

bool mpirun_job(const BackEndRequest *request, BackEndAnswer *out, Err *err) {
    World world;
    InterpResult result = {0};
    if (!open_world(request, &world, err) || !check_world(&world, err)) {
        out->is_silent = world.rank != 0; // one line is enough
        close_world(&world);
        return out->is_silent;
    }
    if (!run_rank(&world, &result, err) || !answer(&world, &result, out, err)) {
        out->is_silent = false;
        if (world.rank != 0)
            mpirun_give_up(&world, &result, err);
        else
            mpirun_gather_failed(&world, &result, out, err);
        describe(&world, out);
        interp_free(&result);
        return false;
    }
    interp_free(&result);
    close_world(&world);
    return true;
}
