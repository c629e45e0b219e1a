// A schedule of one collective alone, as benchmarks measure them and tuners compare them.
#ifndef MODEL_PLAN_SCHEDULE_ONE_H
#define MODEL_PLAN_SCHEDULE_ONE_H

#include "model/plan/schedule.h"

// All groups of the family do `comm` at the same time, once; its group is set here. Rank ids are
// those of the family, so that a schedule may begin with ranks that take no part. It has no
// buffers: it can be simulated, not run. Freed by schedule_free.
void schedule_one_collective(const GroupFamily *family, const Comm *comm, Schedule *out);

#endif
