// A run that was prepared: a schedule, a shape and a load with all that every rank looks up. What
// can be refused without running is refused here.
#ifndef EXEC_JOB_H
#define EXEC_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/plan/load.h"
#include "model/plan/schedule.h"
#include "model/plan/schedule_comm.h"
#include "model/plan/schedule_index.h"
#include "model/plan/schedule_wire.h"

#define JOB_MEMORY_MAX_B (UINT64_C(4) << 30)       // of all ranks of one process together
#define JOB_RUNS_MAX     (UINT64_C(1) << 26)       // operation instances of all ranks
#define JOB_MOVED_MAX_B  (UINT64_C(1) << 40)       // bytes that one run may move
#define JOB_WIRES_MAX    ((UINT32_C(1) << 18) - 1) // channels
#define JOB_GROUP_MAX    (UINT32_C(1) << 14)       // ranks of a group

typedef struct JobRange {
    uint64_t first, count; // bytes of a buffer
} JobRange;

// Read by all threads, never changed after job_open. A zeroed job is empty. Borrows the schedule
// and the load.
typedef struct Job {
    Arena arena;
    const Schedule *schedule;
    const Load *load;
    StepShape shape;
    ScheduleIndex index;
    ScheduleWiring wiring;
    RoleId *roles;        // [rank_count]
    uint32_t *members;    // [rank_count] position of the rank in its role
    uint32_t *places;     // [op_count] of the operation among those of its role
    uint32_t *role_ops;   // [role_count] operations of the role
    ScheduleSides *sides; // [op_count]
    JobRange *slices;     // [slice_count] for the shape, with room for what the load gives the rank
                          // of the role that gets most
    uint64_t *size_B;     // [buffer_count] on one rank of its role, with the same room
    uint32_t *wires;      // [op_count] of communication: its channel, the same number on all ranks
    uint64_t *channel_runs; // [op_count] instances of its channel on one rank in a whole run
    uint64_t *behind;       // [op_count] SEND, RECV: messages that the receive is behind the send
    OpId *undoes;  // [op_count] of a combine: the dispatch whose rows it brings back, or NONE
    uint64_t runs; // operation instances of all ranks
} Job;

// Refused by name: what schedule_check refuses for this shape (a deadlock with what waits for
// what), a shape of more sequences or pairs than its tokens can have, a load of other experts or
// layers, one of layers that differ where a block stands for several of them, one that gives a rank
// more than its slice holds where another slice lies behind that, sums in a format that is neither
// f32 nor bf16, a run over the limits above (the memory excepted).
bool job_open(const Schedule *schedule, const StepShape *shape, const Load *load, Job *out,
              Err *err);
void job_close(Job *job);

// Whether a process may run these ranks: buffers of `size_B` [buffer_count] on each, and all that
// lies aside, from above; with `unit_B` that what computes holds for all of them, whose `parts` are
// named ("weights 4096, caches 512"; "" for none).
bool job_check_memory(const Job *job, const uint64_t *size_B, const uint32_t *ranks,
                      uint32_t rank_count, uint64_t unit_B, const char *parts, Err *err);

// One operation on one rank, about to run or running.
typedef struct OpInstance {
    const Job *job;
    ScheduleCursor cursor; // op, stream, pass, segment, iteration
    uint32_t rank;
    uint64_t number;   // of this operation on this rank, from 0; counts on when a run is repeated
    uint64_t meeting;  // the same of all operations of its channel: equal on all who meet
    uint8_t **buffers; // [buffer_count] memory of the rank; NULL of other roles' buffers
    const uint64_t *size_B; // [buffer_count] of that memory
    // Free runs: of each dispatch [op_count] the rows of its last instance, [from][to] by position.
    uint32_t **dealt;
} OpInstance;

static inline const Op *job_op(const OpInstance *instance) {
    return &instance->job->schedule->ops[instance->cursor.op];
}
// Where a slice of the operation (index into schedule->slices) lies on its rank.
static inline uint8_t *job_slice(const OpInstance *instance, uint32_t slice) {
    const Job *job = instance->job;
    return instance->buffers[job->schedule->slices[slice].buffer] + job->slices[slice].first;
}

// The operation that `role` runs where this one communicates with it.
OpId job_peer_op(const OpInstance *instance, RoleId role);

// Tags of messages: used once between two ranks in one direction. `message` counts those of one
// instance between the two. Wire JOB_WIRES_MAX is that of messages around a run.
static inline uint64_t job_tag(uint32_t wire, uint64_t meeting, uint32_t message) {
    return (uint64_t)wire << 46 | meeting << 16 | message;
}

// `collective "dispatch" of role "stage 0" on rank 3`, for messages.
#define JOB_TEXT_MAX (SCHEDULE_TEXT_MAX + 32)
char *job_text(const OpInstance *instance, char *buffer);

#endif
