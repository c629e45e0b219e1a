// The memory that the ranks of one host share with each other and with the process that forked
// them: rings between every two, a bell for each, the barrier of the start.
#ifndef EXEC_NET_SHARED_H
#define EXEC_NET_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exec/net/ring.h"
#include "model/base/err.h"
#include "model/base/units.h"

#define SHARED_RANKS_MAX 256 // of one host

typedef struct SharedRank SharedRank;
typedef struct SharedState SharedState;

// A zeroed Shared is empty. Ranks are numbered from 0 on this host; bells[ranks] is the parent's.
typedef struct Shared {
    uint32_t ranks;
    size_t room; // bytes in each ring
    size_t size;
    uint8_t *memory;
    SharedState *state;
    int *bells; // [ranks + 1] descriptors to poll; heap
} Shared;

// Before the ranks are forked; they inherit it.
bool shared_open(uint32_t ranks, Shared *out, Err *err);
void shared_close(Shared *shared);

Ring *shared_ring(const Shared *shared, uint32_t from, uint32_t to);

// A rank says that it goes to sleep, looks once more for what there is to do, sleeps on its bell,
// says that it is awake, and, if it was the bell, that it heard it.
void shared_sleep(const Shared *shared, uint32_t rank);
void shared_wake(const Shared *shared, uint32_t rank);
void shared_hear(const Shared *shared, uint32_t rank); // or the parent
// Rings the bell of a rank if it sleeps.
void shared_ring_bell(const Shared *shared, uint32_t rank);
// In any case; of the parent, or of a rank that may be about to sleep.
void shared_ring_loud(const Shared *shared, uint32_t rank);

// A barrier in rounds, from 1 on. The rank that comes last rings the parent's bell; the parent (of
// one host: for all) publishes when the round starts.
void shared_arrive(const Shared *shared, uint64_t round);
bool shared_has_arrived(const Shared *shared, uint64_t round); // all ranks of this host
void shared_publish(const Shared *shared, uint64_t round, Time start_ps);
// False before it was published.
bool shared_started(const Shared *shared, uint64_t round, Time *out_start_ps);

// What each stream of a rank is in, as InterpOptions.now: stays when the rank is killed.
_Atomic uint32_t *shared_now(const Shared *shared, uint32_t rank);

// All that waits shall end.
void shared_stop(const Shared *shared);
bool shared_is_stopped(const Shared *shared);

#endif
