// What the parts of the first process share: a run, its hosts, its ranks.
#ifndef EXEC_NET_LAUNCH_INTERNAL_H
#define EXEC_NET_LAUNCH_INTERNAL_H

#include <sys/types.h>

#include "exec/net/control.h"
#include "exec/net/hosts.h"
#include "exec/net/launch.h"
#include "exec/net/serve.h"

typedef struct LaunchHost {
    pid_t process;
    int socket; // -1: closed
    ControlReader reader;
    ControlPulse pulse;
    bool listens, is_connected, is_done, has_noted;
    ServeWhere where;
    Time error_ps;
    ServeRound arrived;
} LaunchHost;

typedef struct LaunchRank {
    Text result;
    uint64_t result_max_B; // more is refused
    Text failed, killed;   // why
    Text late;             // what it was in when it did not stop
    bool is_late;
    bool knows_op; // what it was in when it was killed is a part of that
    bool is_done;
} LaunchRank;

typedef struct Launch {
    const ServeJob *job;
    const LaunchOptions *options;
    const Hosts *hosts;
    LaunchHost *of;    // [hosts->count], heap
    LaunchRank *ranks; // [hosts->ranks], heap
    LaunchFacts *facts;
    Err host_failed;       // of a host rather than a rank
    uint32_t first_failed; // rank; CONTROL_HOST: none
    bool failed;
    Time kill_at_ps;    // 0: not yet
    Time connect_by_ps; // all hosts
    uint64_t round;     // that was started
    uint8_t token[FRAME_TOKEN_B];
} Launch;

// A process for each host, with its socket and what it is told at first (launch_start.c).
bool launch_start_hosts(Launch *launch, Err *err);
// Why nobody speaks for a host any more.
bool launch_lose_host(Launch *launch, uint32_t host, Err *err);
// How a process ended, by its status of waitpid: "was killed by signal 9", "ended with status 1".
#define LAUNCH_END_MAX 64
void launch_end_text(int status, char text[LAUNCH_END_MAX]);

#endif
