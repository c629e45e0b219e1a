// How the ranks of different hosts get their connections: every host listens on one address and
// connects to the hosts before it; both sides greet.
#ifndef EXEC_NET_CONNECT_H
#define EXEC_NET_CONNECT_H

#include <stdbool.h>
#include <stdint.h>

#include "exec/net/address.h"
#include "exec/net/frame.h"
#include "exec/net/hosts.h"
#include "model/base/err.h"
#include "model/base/text.h"
#include "model/base/units.h"

typedef struct ConnectPlan {
    const Hosts *hosts;
    uint32_t host;          // this one
    const Address *where;   // [hosts->count] they listen
    int listener;           // of this one
    FrameGreeting greeting; // token and job; the ranks are filled in
    Time time_out_ps;
} ConnectPlan;

// A socket for each pair of a rank of this host and a rank of another: sockets[local *
// hosts->ranks + rank], heap memory; -1 between ranks of one host. Not blocking, without delay.
// Foreign and malformed connections are refused (door.h), with lines about them added to `notes`.
bool connect_all(const ConnectPlan *plan, int **out_sockets, Text *notes, Err *err);
void connect_close(int *sockets, uint32_t count);

// How much the clock of this side is ahead of the other's, by the fastest of a few questions and
// answers, and how wrong that may be: half the time of that one (Cristian, "Probabilistic clock
// synchronization", Distributed Computing 1989). The other side answers.
bool connect_ask_clock(int socket, Time time_out_ps, Time *out_ahead_ps, Time *out_error_ps,
                       Err *err);
bool connect_answer_clock(int socket, Time time_out_ps, Err *err);

#endif
