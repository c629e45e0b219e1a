// The interpreter: runs the program of some ranks of a job on a back end. Each stream of a rank is
// a thread that walks its cursor in issue order; an operation runs when all that it waits for has
// been issued, as streams and events of CUDA do.
#ifndef EXEC_INTERP_H
#define EXEC_INTERP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "exec/backend.h"
#include "exec/compute.h"
#include "exec/job.h"
#include "model/base/err.h"
#include "model/base/mem.h"

#define INTERP_THREADS_MAX 1024 // streams of all ranks of one process

// One instance of one operation, from when it was ready to when it ended, in picoseconds of the
// back end's clock. pass and iteration as in ScheduleCursor.
typedef struct InterpSpan {
    OpId op;
    uint32_t rank, repeat, pass, iteration;
    Time start_ps, end_ps;
} InterpSpan;

// Fills the memory of one buffer of one rank before the run, and again before each repeat of it,
// for several ranks at once; NULL leaves zeros, and then what the run before made.
typedef void InterpFill(void *context, BufferId buffer, uint32_t rank, uint8_t *bytes,
                        uint64_t count);

// What a rank does in one repeat instead of walking its program: a benchmark. By one thread of each
// rank. `instance` has the rank and its memory; the drill sets the operation that it is about, and
// leaves it where this repeat is not for this rank.
typedef bool InterpDrill(void *context, const BackEnd *back_end, OpInstance *instance,
                         uint32_t repeat, Err *err);

typedef struct InterpOptions {
    const uint32_t *ranks; // of this process; NULL: all
    uint32_t rank_count;
    InterpFill *fill;
    InterpDrill *drill; // NULL: the schedule is run
    void *context;      // of both
    bool spans;         // keep them
    // [SCHEDULE_STREAMS_MAX] of a process of one rank: the operation that each stream is in, plus
    // one; 0: none. For whoever looks at it when the process was killed. NULL: it is not kept.
    _Atomic uint32_t *now;
    uint32_t repeats; // runs of the whole schedule, each from a start of its own; 0 reads as 1
} InterpOptions;

// Freed by interp_free. A zeroed one is empty. Arrays by index into the ranks of this process.
typedef struct InterpResult {
    Arena arena;
    uint32_t rank_count;
    uint32_t *ranks;
    uint8_t ***buffers;  // [rank][buffer_count] memory after the run; NULL of other roles' buffers
    uint64_t *size_B;    // [buffer_count] on one rank: of the job, or Routing.room_B
    uint64_t *instances; // [op_count] over the ranks and repeats, as the bytes below
    uint64_t linked_B[OP_CLASS_COUNT]; // that these ranks sent to others, and moved inside one;
    uint64_t local_B[OP_CLASS_COUNT];  // not of collectives of a library's own
    InterpSpan *spans;                 // heap; by rank, stream and time
    uint64_t span_count;
    uint32_t repeats;
    Time *begin_ps;          // [repeats] when the first of these ranks was let go
    TimelineFileWork *works; // [op_count] what was done with each operation
    // [rank] what the compute unit left, where ranks of the run are in other processes; else NULL.
    uint8_t **left;
    uint64_t *left_B;
} InterpResult;

// False when a rank failed: the message names rank, operation and cause. What was measured until
// then is in `out` all the same (then `instances` counts what ended), so that a partial timeline
// can be kept. Freed by interp_free in both cases.
bool interp_run(const Job *job, const BackEnd *back_end, const ComputeUnit *compute,
                const InterpOptions *options, InterpResult *out, Err *err);
void interp_free(InterpResult *result);

// The bytes of a buffer on one of these ranks; NULL when the rank is of another role, or process.
uint8_t *interp_buffer(const InterpResult *result, BufferId buffer, uint32_t rank);
// A buffer on all ranks of its role, in order of member, when all of them are here.
Digest interp_digest(const InterpResult *result, const Schedule *schedule, BufferId buffer);

#endif
