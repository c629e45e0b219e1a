// The net back end: ranks are processes, on one host or on several; TCP between hosts, memory that
// they share inside one. Every rank sleeps while it waits.
//
// The first process (the one that a person started) starts a process for each host, by an agent
// such as ssh or mpirun's, or by itself where no agent is named, or waits for people to start it;
// that one forks its ranks. Results come back to the first.
#ifndef EXEC_NET_LAUNCH_H
#define EXEC_NET_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include "exec/compute.h"
#include "exec/interp.h"
#include "model/base/err.h"
#include "model/base/text.h"

typedef struct LaunchOptions {
    const char *hosts;     // "10.99.0.1:2,10.99.0.2:2"; NULL: all ranks on this one
    const char *interface; // the network interface of every host that is used; NULL: names of hosts
                           // are the addresses that are used
    const char *agent;     // "ssh": AGENT HOST PROGRAM WORDS... runs the program there, with its
                           // stdin and stdout; NULL: processes of all hosts are forked here
    const char *by_hand;   // a port, "0" of the system's choice: the first host is this one, all
                           // others are started by people, who are told on stderr what to type
    char *const *words;    // for both: of this program, the command and all after it
    uint32_t word_count;
    Time time_out_ps;
    bool asks_clocks; // also where all hosts have one kernel, which is otherwise known to have one
} LaunchOptions;

typedef struct LaunchFacts {
    Text machine; // "4 hosts x 2 ranks, tcp and shared memory, one clock"
    Text notes;   // lines for people: connections that were refused
} LaunchFacts;

// As interp_run of all ranks. On failure the one line names the rank, what it did and the cause,
// and `out` has what came back until then. No process of it is left in either case. Freed by
// interp_free and launch_free.
bool launch_run(const Job *job, const ComputeUnit *compute, const InterpOptions *options,
                const LaunchOptions *launch, InterpResult *out, LaunchFacts *facts, Err *err);
void launch_free(LaunchFacts *facts);

// What an agent or a person starts: one host of the run. `at` is what follows HAND_OPTION (hand.h),
// or NULL: what an agent starts is told by its stdin. False when it found no first process.
bool launch_join(const Job *job, const ComputeUnit *compute, const InterpOptions *options,
                 const LaunchOptions *launch, const char *at, Err *err);

#define LAUNCH_JOIN_WORD "--join" // added to the words

#endif
