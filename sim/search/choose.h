// Which algorithm a collective takes: each that there is, simulated alone on the machine with all
// groups of the operation's family at once, and the fastest taken.
#ifndef SIM_SEARCH_CHOOSE_H
#define SIM_SEARCH_CHOOSE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/moe/arch.h"
#include "model/plan/node_spread.h"
#include "model/plan/pool.h"
#include "model/plan/schedule.h"
#include "sim/sim.h"

// A collective as it lies on the machine.
typedef struct ChooseCase {
    Collective kind;
    Split split;
    uint64_t bytes; // as Comm.bytes
    GroupFamily family;
    uint32_t first_gpu;
    const uint32_t *places; // of the ranks on live GPUs, as of SimOptions; NULL: from first_gpu on
    NodeSpread spread;      // of routed tokens, without the nodes; experts == 0: not known
} ChooseCase;

// One way to do it. time_ps is below 0 when it cannot be done there; then `reason` says why.
// least_ps is a lower bound of time_ps, whatever else uses the links at the same time: software and
// hardware latency of its steps, and its bytes over links at their best efficiency.
typedef struct ChooseTime {
    Algorithm algorithm;
    uint32_t inner, rail_ppm; // of Comm
    Time time_ps, bound_ps, least_ps;
    TimeShare share;    // of time_ps
    const char *reason; // in the chooser's memory
} ChooseTime;

// Fastest first, of equal ones the first in order of the algorithms; the impossible ones last.
typedef struct Choice {
    const ChooseTime *times; // in the chooser's memory
    uint32_t count;
} Choice;

// REGULAR: algorithms whose ranks are alike in every step, in which a search can afford thousands;
// left out are trees, and pairwise, which a model without collisions never finds faster than
// direct; faults of the machine are not looked at, so that plans with and without them compare.
// ALL: every algorithm on the machine as it is, in whatever form the simulator has for it.
typedef enum ChooseEffort { CHOOSE_REGULAR, CHOOSE_ALL } ChooseEffort;

// Remembers what it has simulated. Borrows fabric and model.
typedef struct Chooser Chooser;
Chooser *choose_open(const Fabric *fabric, const PriceModel *model, ChooseEffort effort);
void choose_close(Chooser *chooser); // NULL is allowed

// Lives until the next call.
const Choice *choose_times(Chooser *chooser, const ChooseCase *given);

// Consecutive ranks of a group that share a scale-up domain (else a node), as many as divide the
// group: Comm.inner. 1 or less: none do.
uint32_t choose_inner(const Fabric *fabric, const GroupFamily *family, uint32_t first_gpu);

uint32_t choose_inner_of(const Fabric *fabric, const ChooseCase *given); // in any order

// What was chosen for an operation.
typedef struct ChooseRow {
    const char *name; // of the operation, in the schedule's memory
    OpClass op_class;
    Collective kind;
    uint32_t n; // ranks of a group
    uint64_t bytes;
    ChooseTime best, second; // second.time_ps is below 0 when there is no other
} ChooseRow;

// A zeroed log is empty.
typedef struct ChooseLog {
    ChooseRow *rows; // heap; each operation of a channel once, equal ones together
    uint32_t count, capacity;
} ChooseLog;
void choose_log_free(ChooseLog *log);

// What is known of an operation whose algorithm was chosen, for the sizes of `shape`; NULL when it
// cannot be simulated alone. Lives until the next call.
const ChooseTime *choose_time_of(Chooser *chooser, const Arch *arch, const Pool *pool,
                                 const StepShape *shape, const Schedule *schedule, OpId op);

// The same, or for an all-to-all whose groups lie too unevenly for it what has to leave the domains
// of its ranks, whatever the algorithm: then of several stages the group counts that takes least,
// else the one that takes longest. False when there is no such bound either.
bool choose_bound_of(Chooser *chooser, const Arch *arch, const Pool *pool, const StepShape *shape,
                     const Schedule *schedule, OpId op, ChooseTime *out);

// Replaces AUTO in all operations of a pool's schedule, for the sizes of `shape`, and finishes it
// again. Groups that lie unevenly are simulated by classes of ranks when they are small enough for
// it; what cannot be simulated alone becomes DIRECT. Adds to `log` unless it is NULL.
void choose_schedule(Chooser *chooser, const Arch *arch, const Pool *pool, const StepShape *shape,
                     Schedule *schedule, ChooseLog *log);
// The same for a look that needs no digest: without finishing it, and without simulating groups
// that lie unevenly. Returns how many were replaced.
uint32_t choose_ops(Chooser *chooser, const Arch *arch, const Pool *pool, const StepShape *shape,
                    Schedule *schedule, ChooseLog *log);

#endif
