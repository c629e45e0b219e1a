// The process of one host: connects its ranks to those of the other hosts, forks a process for
// each, tells the first process how they fare, and ends them.
#ifndef EXEC_NET_SERVE_H
#define EXEC_NET_SERVE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "exec/compute.h"
#include "exec/interp.h"
#include "exec/net/frame.h"
#include "exec/net/hosts.h"

#define SERVE_GRACE_PS                                                                             \
    (2 * PS_PER_SECOND) // for ranks to end after a failure, before they are killed
#define SERVE_KERNEL_B  40
#define SERVE_CLOCK_ONE (-1) // of the error of a clock: all hosts have the same one

// What every host knows before it is asked.
typedef struct ServeJob {
    const Job *job;
    const ComputeUnit *compute;
    const InterpOptions *options; // of all ranks
    const Hosts *hosts;
    const char *interface; // NULL: names of hosts are addresses
    bool asks_clocks;      // also hosts of one kernel
} ServeJob;

// What the first process tells (control.h), as bytes of one machine type.
typedef struct ServeSetup {
    uint8_t token[FRAME_TOKEN_B];
    Digest job;
    Time time_out_ps;
    uint32_t host, ranks;
} ServeSetup;

typedef struct ServeWhere {
    struct sockaddr_in where;
    char kernel[SERVE_KERNEL_B]; // hosts of one kernel have one clock
} ServeWhere;

typedef struct ServeRound {
    uint64_t round;
    Time time_ps; // of the clock of the run
} ServeRound;

// The schedule, the shape and the load: equal on all hosts of a run.
Digest serve_digest(const Job *job);

// Until all ranks have ended. Reads control messages from `in`, writes them to `out`; when `in`
// ends, so do the ranks, at once. False when the first process could not be told why.
bool serve_run(const ServeJob *job, int in, int out, Err *err);

#endif
