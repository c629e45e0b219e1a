// One rank of the net back end: its wires to the others and its threads that wait for them.
//
// One thread at a time polls for all: the one that waits, so that a message wakes the thread that
// it is for. Only what was posted and did not fit has a thread of its own.
#ifndef EXEC_NET_ENDPOINT_H
#define EXEC_NET_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "exec/backend.h"
#include "exec/net/shared.h"
#include "model/base/err.h"
#include "model/base/units.h"

// The message of what ends because another rank failed.
#define ENDPOINT_NOT_ALL "not all ranks came to the barrier"
#define ENDPOINT_STOPPED "stopped by the failure of another rank"

typedef struct Endpoint Endpoint;

// The ranks of this host are `first` .. first + shared->ranks - 1. sockets: [rank_count], not
// blocking, -1 to ranks of this host; the endpoint's from then on. `ahead_ps`: how much the clock
// of this host is ahead of the run's.
typedef struct EndpointSetup {
    uint32_t rank, rank_count, first;
    const int *sockets;
    const Shared *shared; // borrowed
    Time time_out_ps, ahead_ps;
    const char *machine; // borrowed, for the timeline
} EndpointSetup;

// In the rank's own process.
bool endpoint_open(const EndpointSetup *setup, Endpoint **out, Err *err);
void endpoint_close(Endpoint *endpoint); // accepts NULL

// Borrows the endpoint.
BackEnd endpoint_back_end(Endpoint *endpoint);

// Waits until all that was posted is written and all ranks of the run have come here.
bool endpoint_finish(Endpoint *endpoint, Err *err);

#endif
