// What a run does with operations that compute. Units: none (they only take their place), timed
// (timed.h: each lasts as long as it was predicted), kernels and the model itself (forward.h).
#ifndef EXEC_COMPUTE_H
#define EXEC_COMPUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "exec/job.h"
#include "model/base/err.h"
#include "model/base/text.h"
#include "model/report/timeline_file.h"

// How many rows of routed traffic go where in a free run, where the router decides while it runs.
// NULL in a forced run: the Load says it.
typedef struct Routing {
    void *self;
    // Before a dispatch of this rank: rows that it sends to each expert, [experts_total].
    bool (*rows)(void *self, const OpInstance *dispatch, uint32_t *rows, Err *err);
    // Rows that member `source` of the group sends to each of this rank's `count` experts.
    bool (*arrives)(void *self, const OpInstance *dispatch, uint32_t source, const uint32_t *rows,
                    uint32_t count, Err *err);
    // Bytes that a buffer needs on one rank when any token may go anywhere; at least `scheduled_B`.
    uint64_t (*room_B)(void *self, const Job *job, BufferId buffer, uint64_t scheduled_B);
    // After a run, of all ranks (those that `take` was given included): where the rows went. NULL,
    // or false: nobody knows.
    bool (*load)(void *self, Load *out, Err *err);
    uint64_t row_B; // bytes of a row; 0: an element of the operation
} Routing;

#define COMPUTE_AS_SCHEDULED UINT64_MAX

// Zeroed: nothing computes. Functions may be called by several threads at once, one for each stream
// of each rank.
typedef struct ComputeUnit {
    const char *name; // "timed", "model"
    void *self;
    // Once in each process, before all else: the ranks that it runs. NULL: it holds nothing for a
    // rank.
    void (*hold)(void *self, const uint32_t *ranks, uint32_t rank_count);
    // Once in each process. Says of each operation of the schedule what it does with it
    // ([op_count], preset to SKIPPED, communication and copies to MEASURED) or refuses by name.
    bool (*prepare)(void *self, const Job *job, TimelineFileWork *works, Err *err);
    // Bytes that it holds in this process for a run, before `prepare` takes them; saturates. Adds
    // what takes them: "weights 4096, caches 512". The job may still be one that `prepare` refuses.
    // NULL: none to speak of.
    uint64_t (*memory_B)(void *self, const Job *job, Text *parts);
    // One instance of an operation that is neither communication nor a copy and not SKIPPED.
    bool (*run)(void *self, const OpInstance *instance, Err *err);
    const Routing *routing;
    // Bytes that `rank` has of what an operation moves where ranks share tokens unevenly: its part
    // of an all-gather or a reduce-scatter, its message, its copy. Equal at both ends of a message;
    // COMPUTE_AS_SCHEDULED, on all ranks alike, where the schedule's size is it. NULL: it always
    // is.
    uint64_t (*share_B)(void *self, const OpInstance *instance, uint32_t rank);
    // After a run: what a rank computed, as bytes for the process that has the results of all
    // ranks, and there, from another process (so not to be trusted). NULL: nothing is left.
    void (*leave)(void *self, uint32_t rank, Text *out);
    bool (*take)(void *self, const Job *job, uint32_t rank, const uint8_t *bytes, uint64_t count,
                 Err *err);
} ComputeUnit;

#endif
