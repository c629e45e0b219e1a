// The memory that the ranks of one host share.
//
// Invariant: a rank sleeps only after it said so and then found nothing to do; whoever gives it
// something to do looks at what it said after that. So one of the two sees the other, and no bell
// is missed. Bells are eventfds: a rank waits for its bell and its sockets at once.
#define _DEFAULT_SOURCE // MAP_ANONYMOUS
#include "exec/net/shared.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model/base/file.h"
#include "model/base/mem.h"
#include "model/plan/schedule.h"

#define ROOM_MAX  ((size_t)256 << 10) // bytes of a ring: in the second cache together with its copy
#define ROOM_MIN  ((size_t)4 << 10)
#define RINGS_MAX ((size_t)512 << 20) // bytes of all rings of a host

struct SharedRank {
    _Alignas(64) _Atomic uint32_t sleeps;
    _Alignas(64) _Atomic uint32_t now[SCHEDULE_STREAMS_MAX];
};

struct SharedState {
    _Alignas(64) _Atomic uint64_t arrived; // over all rounds
    _Atomic uint64_t round;                // published
    _Atomic int64_t start_ps;
    _Atomic uint32_t stopped;
    SharedRank ranks[];
};

static size_t state_size(uint32_t ranks) {
    return sizeof(SharedState) + ranks * sizeof(SharedRank);
}

static size_t ring_room(uint32_t ranks) {
    size_t room = ROOM_MAX;
    while (room > ROOM_MIN && room * ranks * ranks > RINGS_MAX) room /= 2;
    return room;
}

static bool open_bells(Shared *shared, Err *err) {
    shared->bells = mem_alloc(shared->ranks + 1, sizeof *shared->bells);
    for (uint32_t i = 0; i <= shared->ranks; i++) shared->bells[i] = -1;
    for (uint32_t i = 0; i <= shared->ranks; i++) {
        shared->bells[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (shared->bells[i] < 0)
            return err_set(err, "cannot make a bell for rank %u: %s", i, file_reason(errno));
    }
    return true;
}

bool shared_open(uint32_t ranks, Shared *out, Err *err) {
    Shared shared = {.ranks = ranks, .room = ring_room(ranks)};
    if (ranks == 0 || ranks > SHARED_RANKS_MAX)
        return err_set(err, "%u ranks on one host, expected 1 to %d", ranks, SHARED_RANKS_MAX);
    shared.size = state_size(ranks) + ring_size(shared.room) * ranks * ranks;
    void *memory =
        mmap(NULL, shared.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return err_set(err, "cannot share %zu bytes of memory: %s", shared.size,
                       file_reason(errno));
    shared.memory = memory;
    shared.state = memory;
    if (!open_bells(&shared, err)) {
        shared_close(&shared);
        return false;
    }
    *out = shared;
    return true;
}

void shared_close(Shared *shared) {
    for (uint32_t i = 0; shared->bells != NULL && i <= shared->ranks; i++) {
        if (shared->bells[i] >= 0) close(shared->bells[i]);
    }
    mem_free(shared->bells);
    if (shared->memory != NULL) munmap(shared->memory, shared->size);
    *shared = (Shared){0};
}

Ring *shared_ring(const Shared *shared, uint32_t from, uint32_t to) {
    size_t index = (size_t)from * shared->ranks + to;
    void *ring = shared->memory + state_size(shared->ranks) + index * ring_size(shared->room);
    return ring;
}

// ---- Bells

void shared_sleep(const Shared *shared, uint32_t rank) {
    atomic_store(&shared->state->ranks[rank].sleeps, 1);
}

void shared_wake(const Shared *shared, uint32_t rank) {
    atomic_store(&shared->state->ranks[rank].sleeps, 0);
}

void shared_hear(const Shared *shared, uint32_t rank) {
    uint64_t rings;
    // not blocking: nothing to read is as good
    if (read(shared->bells[rank], &rings, sizeof rings) < 0) return;
}

void shared_ring_loud(const Shared *shared, uint32_t rank) {
    uint64_t one = 1;
    // full: it rings already
    if (write(shared->bells[rank], &one, sizeof one) < 0) return;
}

void shared_ring_bell(const Shared *shared, uint32_t rank) {
    _Atomic uint32_t *sleeps = &shared->state->ranks[rank].sleeps;
    if (atomic_load(sleeps) != 0 && atomic_exchange(sleeps, 0) != 0) shared_ring_loud(shared, rank);
}

static void ring_all(const Shared *shared) {
    for (uint32_t i = 0; i < shared->ranks; i++) shared_ring_loud(shared, i);
}

// ---- The barrier

void shared_arrive(const Shared *shared, uint64_t round) {
    if (atomic_fetch_add(&shared->state->arrived, 1) + 1 == round * shared->ranks)
        shared_ring_loud(shared, shared->ranks);
}

bool shared_has_arrived(const Shared *shared, uint64_t round) {
    return atomic_load(&shared->state->arrived) >= round * shared->ranks;
}

void shared_publish(const Shared *shared, uint64_t round, Time start_ps) {
    atomic_store(&shared->state->start_ps, start_ps);
    atomic_store(&shared->state->round, round);
    ring_all(shared);
}

bool shared_started(const Shared *shared, uint64_t round, Time *out_start_ps) {
    if (atomic_load(&shared->state->round) < round) return false;
    *out_start_ps = atomic_load(&shared->state->start_ps);
    return true;
}

_Atomic uint32_t *shared_now(const Shared *shared, uint32_t rank) {
    return shared->state->ranks[rank].now;
}

void shared_stop(const Shared *shared) {
    atomic_store(&shared->state->stopped, 1);
    ring_all(shared);
}

bool shared_is_stopped(const Shared *shared) {
    return atomic_load(&shared->state->stopped) != 0;
}
