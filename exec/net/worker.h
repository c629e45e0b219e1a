// The process of one rank of the net back end.
#ifndef EXEC_NET_WORKER_H
#define EXEC_NET_WORKER_H

#include <stdbool.h>

#include "exec/net/endpoint.h"
#include "exec/net/serve.h"

// Runs the rank and writes its result, or why it failed, to `out` as control messages. After a
// failure it stays until all ranks are told to stop, so that nobody sees its connections end before
// the cause is known. Called once, in a process of its own, which ends after it.
void worker_run(const ServeJob *job, const EndpointSetup *setup, int out);

#endif
