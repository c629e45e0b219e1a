// The host back end: messages between threads.
//
// Invariant: whoever comes second copies, from the memory of the sender to that of the receiver,
// outside all locks; so a message is copied once, and a receive that came first costs its thread
// nothing but the sleep. An end lies in the box of its receiver until the other end takes it out,
// or its own call takes it back; a call returns only when none of its ends can be touched any more.
// Source: the rendezvous of MPI implementations (eager sends are copied: POST).
#include "exec/host/host.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "exec/clock.h"

#define START_PS    INT64_C(100000000) // from when the last rank comes to the start until all go,
#define WAKE_PS     INT64_C(10000000)  // and for each rank: time to wake up and sleep again
#define ENDS_INLINE 8                  // ends of a call that need no heap

typedef struct Call {
    _Atomic uint32_t open; // ends that still wait
    const char *bad;       // why one of them failed, under the lock of the rank's box
} Call;

// One end of a message that waits for the other.
typedef struct End {
    Call *call; // NULL: a post, which owns its memory
    uint32_t rank;
    MessageKind kind;
    uint8_t *bytes;
    uint64_t count;
    _Atomic bool is_done;
} End;

typedef struct Entry {
    uint64_t tag;
    uint32_t from;
    bool is_receive;
    End *end;
} Entry;

// Messages to one rank.
typedef struct Box {
    pthread_mutex_t lock;
    pthread_cond_t changed; // of calls of this rank
    Entry *entries;         // heap
    uint32_t count, capacity;
} Box;

typedef struct Host {
    uint32_t ranks;
    Time base_ps, time_out_ps;
    Box *boxes;
    char machine[64];
    pthread_mutex_t lock; // of the start
    pthread_cond_t changed;
    uint32_t arrived, generation;
    Time start_ps;
    _Atomic bool aborted;
    _Atomic uint32_t aborter;
} Host;

// ---- Time

static Time host_now(void *self) {
    const Host *host = self;
    return clock_now() - host->base_ps;
}

static void open_condition(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

// ---- Boxes

static Box *box_to(Host *host, uint32_t rank, const Message *message) {
    return &host->boxes[message->kind == MESSAGE_RECV ? rank : message->peer];
}

static Entry entry_of(uint32_t rank, const Message *message, End *end) {
    bool is_receive = message->kind == MESSAGE_RECV;
    return (Entry){.tag = message->tag,
                   .from = is_receive ? message->peer : rank,
                   .is_receive = is_receive,
                   .end = end};
}

static void put(Box *box, Entry entry) {
    box->entries = mem_grow(box->entries, &box->capacity, box->count + 1, sizeof *box->entries);
    box->entries[box->count++] = entry;
}

// The other end of the message that `entry` is of, taken out of the box; NULL when it is not there.
static End *take(Box *box, const Entry *entry) {
    for (uint32_t i = 0; i < box->count; i++) {
        const Entry *other = &box->entries[i];
        if (other->tag != entry->tag || other->from != entry->from ||
            other->is_receive == entry->is_receive)
            continue;
        End *end = other->end;
        box->entries[i] = box->entries[--box->count];
        return end;
    }
    return NULL;
}

// An end of the caller's own, whose other end has not come.
static bool take_back(Box *box, const End *end) {
    for (uint32_t i = 0; i < box->count; i++) {
        if (box->entries[i].end != end) continue;
        box->entries[i] = box->entries[--box->count];
        return true;
    }
    return false;
}

// Tells the call of an end that it is over; a post has none.
static void finish(Host *host, End *end, const char *bad) {
    if (end->call == NULL) {
        mem_free(end->bytes);
        mem_free(end);
        return;
    }
    Box *box = &host->boxes[end->rank];
    Call *call = end->call;
    pthread_mutex_lock(&box->lock);
    if (bad != NULL) call->bad = bad;
    atomic_store(&end->is_done, true);
    if (atomic_fetch_sub(&call->open, 1) == 1) pthread_cond_broadcast(&box->changed);
    pthread_mutex_unlock(&box->lock);
}

static End *new_post(uint32_t rank, const Message *message) {
    End *end = mem_alloc(1, sizeof *end);
    *end = (End){.rank = rank, .kind = MESSAGE_POST, .count = message->count};
    end->bytes = mem_realloc(NULL, message->count > 0 ? message->count : 1, 1);
    if (message->count > 0) memcpy(end->bytes, message->bytes, message->count);
    return end;
}

// ---- A group of messages

static bool move(Host *host, const Message *message, End *other, Err *err) {
    bool receives = message->kind == MESSAGE_RECV;
    uint64_t sent = receives ? other->count : message->count;
    uint64_t expected = receives ? message->count : other->count;
    if (sent != expected) {
        finish(host, other, "the ends of a message have different lengths");
        return err_set(err, "a message of %llu bytes %s rank %u, expected %llu",
                       (unsigned long long)sent, receives ? "of" : "to", message->peer,
                       (unsigned long long)expected);
    }
    if (sent > 0 && receives) memcpy(message->bytes, other->bytes, sent);
    if (sent > 0 && !receives) memcpy(other->bytes, message->bytes, sent);
    finish(host, other, NULL);
    return true;
}

// Meets the other end if it is there; else `end` waits in the box (a post's copy: `end` is NULL).
static bool meet(Host *host, uint32_t rank, const Message *message, End *end, Call *call,
                 Err *err) {
    Box *box = box_to(host, rank, message);
    Entry entry = entry_of(rank, message, end);
    End *other, *post = NULL;
    pthread_mutex_lock(&box->lock);
    other = take(box, &entry);
    if (other == NULL && message->kind == MESSAGE_POST) { // copied outside the lock: look again
        pthread_mutex_unlock(&box->lock);
        entry.end = post = new_post(rank, message);
        pthread_mutex_lock(&box->lock);
        other = take(box, &entry);
    }
    if (other == NULL) {
        if (message->kind != MESSAGE_POST) atomic_fetch_add(&call->open, 1);
        put(box, entry);
        post = NULL;
    }
    pthread_mutex_unlock(&box->lock);
    if (post != NULL) finish(host, post, NULL);
    if (other == NULL) return true;
    if (end != NULL) atomic_store(&end->is_done, true);
    return move(host, message, other, err);
}

// Takes back the ends that still wait for others, and waits for those that are being copied.
static void withdraw(Host *host, uint32_t rank, const Message *messages, End *ends, uint32_t count,
                     Call *call) {
    for (uint32_t i = 0; i < count; i++) {
        if (ends[i].call == NULL || atomic_load(&ends[i].is_done)) continue;
        Box *box = box_to(host, rank, &messages[i]);
        pthread_mutex_lock(&box->lock);
        bool was_there = take_back(box, &ends[i]);
        pthread_mutex_unlock(&box->lock);
        if (was_there) atomic_fetch_sub(&call->open, 1);
    }
    Box *own = &host->boxes[rank];
    pthread_mutex_lock(&own->lock);
    while (atomic_load(&call->open) > 0) pthread_cond_wait(&own->changed, &own->lock);
    pthread_mutex_unlock(&own->lock);
}

static bool refuse(const Host *host, const Message *messages, const End *ends, uint32_t count,
                   Err *err) {
    char text[UNITS_TEXT_MAX];
    units_format_time(host->time_out_ps, text);
    if (atomic_load(&host->aborted))
        return err_set(err, "rank %u has failed", atomic_load(&host->aborter));
    for (uint32_t i = 0; i < count; i++)
        if (ends[i].call != NULL && !atomic_load(&ends[i].is_done))
            return err_set(err, "no %s rank %u within %s",
                           messages[i].kind == MESSAGE_RECV ? "message of" : "receive at",
                           messages[i].peer, text);
    return err_set(err, "no answer within %s", text);
}

// Until all ends are over. False: aborted, or too late.
static bool wait_for_ends(Host *host, uint32_t rank, Call *call) {
    Box *own = &host->boxes[rank];
    if (atomic_load(&call->open) == 0) {
        // the last to finish an end may still be inside `finish`
        pthread_mutex_lock(&own->lock);
        pthread_mutex_unlock(&own->lock);
        return true;
    }
    struct timespec limit = clock_timespec(clock_after(clock_now(), host->time_out_ps));
    int status = 0;
    pthread_mutex_lock(&own->lock);
    while (atomic_load(&call->open) > 0 && !atomic_load(&host->aborted) && status == 0)
        status = pthread_cond_timedwait(&own->changed, &own->lock, &limit);
    bool is_over = atomic_load(&call->open) == 0;
    pthread_mutex_unlock(&own->lock);
    return is_over;
}

static bool host_exchange(void *self, uint32_t rank, const Message *messages, uint32_t count,
                          Err *err) {
    Host *host = self;
    End few[ENDS_INLINE];
    End *ends = count <= ENDS_INLINE ? few : mem_alloc(count, sizeof *ends);
    Call call = {0};
    bool good = true;
    uint32_t met = 0;
    for (; good && met < count; met++) {
        const Message *message = &messages[met];
        bool is_post = message->kind == MESSAGE_POST;
        if (message->kind == MESSAGE_COPY) {
            ends[met] = (End){0};
            continue;
        }
        ends[met] = (End){.call = is_post ? NULL : &call,
                          .rank = rank,
                          .kind = message->kind,
                          .bytes = message->bytes,
                          .count = message->count};
        good = meet(host, rank, message, is_post ? NULL : &ends[met], &call, err);
    }
    if (good) message_copy_all(messages, count);
    if (good && !wait_for_ends(host, rank, &call)) good = refuse(host, messages, ends, met, err);
    if (!good) withdraw(host, rank, messages, ends, met, &call);
    if (good && call.bad != NULL) good = err_set(err, "%s", call.bad);
    if (ends != few) mem_free(ends);
    return good;
}

// ---- The start, and the end

static bool host_start(void *self, uint32_t rank, Err *err) {
    Host *host = self;
    char text[UNITS_TEXT_MAX];
    int status = 0;
    (void)rank;
    pthread_mutex_lock(&host->lock);
    uint32_t generation = host->generation;
    if (++host->arrived == host->ranks) {
        host->arrived = 0;
        host->generation++;
        host->start_ps = clock_now() + START_PS + WAKE_PS * host->ranks;
        pthread_cond_broadcast(&host->changed);
    }
    struct timespec limit = clock_timespec(clock_after(clock_now(), host->time_out_ps));
    while (host->generation == generation && !atomic_load(&host->aborted) && status == 0)
        status = pthread_cond_timedwait(&host->changed, &host->lock, &limit);
    bool is_good = host->generation != generation;
    uint32_t arrived = host->arrived;
    Time start_ps = host->start_ps;
    pthread_mutex_unlock(&host->lock);
    if (!is_good && atomic_load(&host->aborted))
        return err_set(err, "rank %u has failed", atomic_load(&host->aborter));
    if (!is_good)
        return err_set(err, "%u of %u ranks came within %s", arrived, host->ranks,
                       units_format_time(host->time_out_ps, text));
    clock_sleep_until(start_ps);
    return true;
}

static void host_abort(void *self, uint32_t rank, const Err *why) {
    Host *host = self;
    (void)why;
    atomic_store(&host->aborter, rank);
    atomic_store(&host->aborted, true);
    for (uint32_t i = 0; i < host->ranks; i++) {
        pthread_mutex_lock(&host->boxes[i].lock);
        pthread_cond_broadcast(&host->boxes[i].changed);
        pthread_mutex_unlock(&host->boxes[i].lock);
    }
    pthread_mutex_lock(&host->lock);
    pthread_cond_broadcast(&host->changed);
    pthread_mutex_unlock(&host->lock);
}

void host_open(uint32_t ranks, Time time_out_ps, BackEnd *out) {
    Host *host = mem_alloc(1, sizeof *host);
    *host = (Host){.ranks = ranks,
                   .base_ps = clock_now(),
                   .time_out_ps = time_out_ps,
                   .boxes = mem_alloc(ranks, sizeof *host->boxes)};
    for (uint32_t i = 0; i < ranks; i++) {
        pthread_mutex_init(&host->boxes[i].lock, NULL);
        open_condition(&host->boxes[i].changed);
    }
    pthread_mutex_init(&host->lock, NULL);
    open_condition(&host->changed);
    snprintf(host->machine, sizeof host->machine, "this machine, %u ranks in shared memory", ranks);
    *out = (BackEnd){.name = "host",
                     .machine = host->machine,
                     .self = host,
                     .exchange = host_exchange,
                     .now = host_now,
                     .start = host_start,
                     .abort = host_abort};
}

// Posts that nobody has received are left from the last passes.
void host_close(BackEnd *back_end) {
    Host *host = back_end->self;
    if (host == NULL) return;
    for (uint32_t i = 0; i < host->ranks; i++) {
        Box *box = &host->boxes[i];
        for (uint32_t k = 0; k < box->count; k++) finish(host, box->entries[k].end, NULL);
        mem_free(box->entries);
        pthread_cond_destroy(&box->changed);
        pthread_mutex_destroy(&box->lock);
    }
    pthread_cond_destroy(&host->changed);
    pthread_mutex_destroy(&host->lock);
    mem_free(host->boxes);
    mem_free(host);
    *back_end = (BackEnd){0};
}

// ---- All in one

bool host_run(const Schedule *schedule, const StepShape *shape, const Load *load,
              const HostInit *init, InterpResult *out, Err *err) {
    Job job = {0};
    BackEnd back_end;
    const ComputeUnit nothing = {0};
    const InterpOptions options = {.fill = init->fill, .context = init->context};
    InterpResult result = {0};
    if (!job_open(schedule, shape, load, &job, err)) return false;
    host_open(schedule->rank_count, HOST_TIME_OUT_PS, &back_end);
    bool good = interp_run(&job, &back_end, &nothing, &options, &result, err);
    host_close(&back_end);
    job_close(&job);
    if (good)
        *out = result;
    else
        interp_free(&result);
    return good;
}
