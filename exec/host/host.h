// The host back end: ranks are threads of this process, messages are copied from memory to memory.
// The reference of all others.
#ifndef EXEC_HOST_HOST_H
#define EXEC_HOST_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "exec/backend.h"
#include "exec/interp.h"

// For one run (and its repeats) of ranks 0 to `ranks` - 1, all of them in this process. What waits
// longer than `time_out_ps` for a peer fails. Closed by host_close, after interp_run.
void host_open(uint32_t ranks, Time time_out_ps, BackEnd *out);
void host_close(BackEnd *back_end);

// A whole run of the data movement of a schedule, in one call.
typedef struct HostInit {
    InterpFill *fill; // NULL leaves zeros
    void *context;
} HostInit;

#define HOST_TIME_OUT_PS (30 * PS_PER_SECOND) // of a peer that is silent

bool host_run(const Schedule *schedule, const StepShape *shape, const Load *load,
              const HostInit *init, InterpResult *out, Err *err); // freed by interp_free

#endif
