// Runs of hand-made schedules on the host back end, for one token.
#ifndef TESTS_EXEC_RUN_HOST_H
#define TESTS_EXEC_RUN_HOST_H

#include "exec/host/host.h"

// Fills a buffer of a rank before the run, as HostInit.fill does; NULL leaves zeros.
typedef void HostFill(void *context, BufferId buffer, uint32_t rank, uint8_t *bytes,
                      uint64_t count);

// Under a uniform load. Fails the test when the run does. Freed by host_free.
HostResult run_host(const Schedule *schedule, HostFill *fill);
// Fails the test unless the run is refused with exactly this message.
void run_host_refused(const Schedule *schedule, const Load *load, const char *message);

#endif
