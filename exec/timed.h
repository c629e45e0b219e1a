// The compute unit that only takes time: each operation lasts as long as a prediction says.
#ifndef EXEC_TIMED_H
#define EXEC_TIMED_H

#include <stdbool.h>

#include "exec/compute.h"
#include "model/report/timeline_file.h"

// Instance k of an operation on a rank lasts as long as instance k did on the member that the rank
// belongs to; the first ones again when a run is repeated. Everything that computes is marked
// STAND_IN. The timeline must be a complete one of the same schedule, shape and load.
// Closed by timed_close.
bool timed_open(const char *path, const Job *job, ComputeUnit *out, Err *err);
// The same of a timeline in memory, which is borrowed until timed_open_file returns.
bool timed_open_file(const char *name, const TimelineFile *file, const Job *job, ComputeUnit *out,
                     Err *err);
void timed_close(ComputeUnit *unit);

#endif
