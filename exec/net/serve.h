// The process of one host: connects its ranks to those of the other hosts, forks a process for
// each, tells the first process how they fare, and ends them.
#ifndef EXEC_NET_SERVE_H
#define EXEC_NET_SERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "exec/compute.h"
#include "exec/interp.h"
#include "exec/net/address.h"
#include "exec/net/frame.h"
#include "exec/net/hosts.h"
#include "exec/program.h"

#define SERVE_GRACE_PS                                                                             \
    (2 * PS_PER_SECOND) // for ranks to end after a failure, before they are killed
#define SERVE_KERNEL_B  40
#define SERVE_CLOCK_ONE (-1) // of the error of a clock: all hosts have the same one

#define SERVE_TIME_OUT_MAX_PS (3600 * PS_PER_SECOND) // as of the option

// What every host knows before it is asked.
typedef struct ServeJob {
    const Job *job;
    const ComputeUnit *compute;
    const InterpOptions *options; // of all ranks
    const Hosts *hosts;
    const char *interface; // NULL: names of hosts are addresses
    AddressNames names;
    bool names_count; // also of one host alone: it has to be this one
    bool asks_clocks; // also hosts of one kernel
} ServeJob;

#define SERVE_MAKER   "moesim-run " PROGRAM_VERSION " (messages 4)" // changes with what is told
#define SERVE_MAKER_B 48

// What the first process tells (control.h), as bytes of one machine type. `maker` stays the first
// for ever, so that different versions can say so.
typedef struct ServeSetup {
    char maker[SERVE_MAKER_B];
    uint8_t token[FRAME_TOKEN_B];
    Digest job;
    Time time_out_ps;
    uint32_t host, ranks;
} ServeSetup;

typedef struct ServeWhere {
    Address where;
    char kernel[SERVE_KERNEL_B]; // hosts of one kernel have one clock
} ServeWhere;

// How a rank ended that did not say that it is done, and what it was in; NONE when not known.
#define SERVE_LATE    (-1) // it was told to stop, did not, and was killed for it
#define SERVE_STOPPED (-2) // a signal stopped it, nobody continued it, and it was killed for it
typedef struct ServeDeath {
    int32_t status; // of waitpid, or one of these
    OpId op;
} ServeDeath;

typedef struct ServeRound {
    uint64_t round;
    Time time_ps; // of the clock of the run
} ServeRound;

// The schedule, the shape and the load: equal on all hosts of a run.
Digest serve_digest(const Job *job);

// Whether a time that was told is one that a run with this time-out may have now: all that is
// waited for comes within a few of them.
bool serve_is_near(Time told_ps, Time now_ps, Time time_out_ps);

// Until all ranks have ended. Reads control messages from `in`, writes them to `out`; when `in`
// ends, so do the ranks, at once. False when no first process was heard within the time-out (then
// nothing was written), or when it could not be told why the run failed.
bool serve_run(const ServeJob *job, int in, int out, Time time_out_ps, Err *err);

#endif
