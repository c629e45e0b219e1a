// What the parts of the interpreter share: a run, its ranks, their streams.
#ifndef EXEC_INTERP_INTERNAL_H
#define EXEC_INTERP_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "exec/collective.h"
#include "exec/interp.h"

typedef struct InterpRank {
    uint32_t rank;
    RoleId role;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    _Atomic uint32_t waiters;
    _Atomic uint64_t *done; // [operations of the role] instances that have been issued
    uint64_t *met;    // the same: of the first operation of a channel: instances of the channel
    uint32_t streams; // threads
    _Atomic uint64_t ended; // runs that a stream has walked to its end, over its streams
    _Atomic uint64_t begun; // runs that all ranks have come to
    uint8_t **buffers;      // [buffer_count]
    uint32_t **dealt;       // [op_count] of a free run, else NULL
    Time *begin_ps;         // [repeats]
} InterpRank;

typedef struct InterpRun {
    const Job *job;
    const BackEnd *back_end;
    const ComputeUnit *compute;
    const InterpOptions *options;
    TimelineFileWork *works; // [op_count]
    const uint64_t *size_B;
    uint32_t repeats;
    InterpRank *ranks;
    uint32_t rank_count;
    pthread_mutex_t lock; // of the message
    _Atomic bool failed;
    Err err;
} InterpRun;

// One thread: a stream of a rank.
typedef struct InterpWorker {
    InterpRun *run;
    InterpRank *rank;
    uint32_t stream, repeat;
    bool leads; // fills the memory of its rank and starts each run for it
    bool is_started;
    pthread_t thread;
    uint64_t linked_B[OP_CLASS_COUNT], local_B[OP_CLASS_COUNT];
    InterpSpan *spans; // heap
    uint32_t span_count, span_capacity;
} InterpWorker;

// One instance, all of whose waits have been met (interp_op.c).
bool interp_op(InterpWorker *worker, const OpInstance *instance, Err *err);

#endif
