// What the parts of mpirun_real share: a run as one process sees it, and how one that fails ends.
#ifndef EXEC_MPI_MPIRUN_INTERNAL_H
#define EXEC_MPI_MPIRUN_INTERNAL_H

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "exec/mpi/mpirun.h"
#include "model/base/text.h"

#define MPIRUN_PART_MAX (1 << 30) // bytes of one message of MPI, whose counts are ints

typedef enum MpirunTag { TAG_CLOCK = 1, TAG_SIZE, TAG_RESULT, TAG_FAILED, TAG_STOP } MpirunTag;

typedef struct Post {
    MPI_Request request;
    uint8_t *bytes;
} Post;

// Why a rank ended. A message between processes of one program.
typedef struct Report {
    int32_t peer;    // that it waited for; -1: for no single one
    bool is_silence; // it waited longer than the time-out
    bool is_own;     // not because another rank failed
    bool has_come;
    char text[ERR_TEXT_MAX];
} Report;

typedef struct World {
    const BackEndRequest *request;
    int rank, size, provided;
    MPI_Comm traffic, own; // of the schedule, and of this module
    uint32_t *index;       // [JOB_WIRES_MAX + 1] of a wire among those that there are, heap
    bool *is_behind;       // [wires] its receive is behind its send, heap
    pthread_mutex_t lock;
    Post *posts; // heap
    uint32_t post_count, post_capacity;
    _Atomic bool stopped;
    _Atomic bool has_news;   // another rank failed
    _Atomic bool is_silence; // a wait was longer than the time-out,
    _Atomic int peer;        // for this rank; -1: for no single one
    Report *reports;         // [size], on rank 0, heap
    int first;               // whose report came first
    Time ahead_ps, error_ps; // this clock and that of rank 0
} World;

void mpirun_nap(void);

// Whether no rank found anything wrong before. Called by all; rank 0 has what the first one found.
bool mpirun_agree(const Err *mine, Err *err);

// The lock is held. Rank 0 hears why another one failed, the others that they shall stop.
void mpirun_hear(World *world);

// Another rank than 0: says why, gives what it has, and waits for rank 0 to end all. Returns, with
// the message to print, only where rank 0 does not answer; then all end with this process.
void mpirun_give_up(World *world, const InterpResult *result, Err *err);

// Rank 0: why, and what all have; all end when this process has done with it.
void mpirun_gather_failed(World *world, InterpResult *result, BackEndAnswer *out, Err *err);

#endif
