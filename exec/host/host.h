// The host back end: runs the data-movement part of a schedule on real bytes, on expanded ranks, in
// one thread. Every rank has memory of its own; copies, sends, receives and collectives (by the
// step lists of model/plan/collective.h) move bytes between them. Operations that compute move
// nothing here: they take their place in the order and are listed as skipped.
#ifndef EXEC_HOST_HOST_H
#define EXEC_HOST_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/plan/load.h"
#include "model/plan/schedule.h"
#include "model/plan/schedule_index.h"

#define HOST_MEMORY_MAX_B (UINT64_C(4) << 30) // of all ranks and messages together
#define HOST_RUNS_MAX     (UINT64_C(1) << 26) // operation instances of all ranks
#define HOST_MOVED_MAX_B  (UINT64_C(1) << 40) // bytes that one run may move

// Fills the memory of one buffer of one rank before the run. A NULL `fill` leaves zeros. `reached`
// is told of each instance when all before it and all that it waits for have ended, `ended` when it
// has; NULL: nobody is told.
typedef struct HostInit {
    void (*fill)(void *context, BufferId buffer, uint32_t rank, uint8_t *bytes, uint64_t count);
    void (*reached)(void *context, const ScheduleCursor *cursor, uint32_t rank);
    void (*ended)(void *context, const ScheduleCursor *cursor, uint32_t rank);
    void *context;
} HostInit;

// Freed by host_free. A zeroed result is empty.
typedef struct HostResult {
    Arena arena;
    uint8_t **memory;                  // [buffer_count]: members of the buffer's role one by one
    uint64_t *size_B;                  // [buffer_count]: of one member
    uint64_t *instances;               // [op_count]: over all ranks
    uint64_t linked_B[OP_CLASS_COUNT]; // moved from one rank to another
    uint64_t local_B[OP_CLASS_COUNT];  // moved inside a rank
} HostResult;

// Runs the whole schedule for one shape. Refused by name: what schedule_check refuses for this
// shape (a deadlock with what waits for what), a load of other experts or layers, sums in a format
// that is neither f32 nor bf16, a run over the limits above.
bool host_run(const Schedule *schedule, const StepShape *shape, const Load *load,
              const HostInit *init, HostResult *out, Err *err);
void host_free(HostResult *result);

// Whether operations of this kind move bytes here; the others are skipped.
bool host_moves(OpKind kind);

// The bytes of a buffer on one rank of its role; NULL when the rank is of another role.
const uint8_t *host_buffer(const HostResult *result, const Schedule *schedule, BufferId buffer,
                           uint32_t rank);

// A buffer on all ranks of its role, in order of member.
Digest host_digest(const HostResult *result, const Schedule *schedule, BufferId buffer);

#endif
