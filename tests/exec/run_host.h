// Runs of hand-made schedules on the host back end, for one token.
#ifndef TESTS_EXEC_RUN_HOST_H
#define TESTS_EXEC_RUN_HOST_H

#include "exec/host/host.h"

// Under a uniform load, from zeros when `fill` is NULL. Fails the test when the run does. Freed by
// interp_free.
InterpResult run_host(const Schedule *schedule, InterpFill *fill);
// Fails the test unless the run is refused with exactly this message.
void run_host_refused(const Schedule *schedule, const Load *load, const char *message);

#endif
