// Measured timelines of one schedule: what a fit compares the simulation of the same schedule with,
// operation by operation.
#ifndef SIM_CALIBRATE_REPLAY_H
#define SIM_CALIBRATE_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/report/timeline_file.h"
#include "sim/calibrate/calibrate.h"
#include "sim/search/evaluate.h"

// Simulates one phase of a plan as `moesim simulate --timeline` does.
typedef struct Replay {
    EvaluateInput input; // its constants are those of each call
    const Plan *plan;
    Phase phase;
    uint64_t sequences;
    const TimelineFile *measured; // the first of those that were measured
    const char *measured_name;
    const OpId *ops; // [item count] the operation of each item
} Replay;

// The operations that were measured in all of `files` (of one schedule, shape and load) and took
// some time, each with its mean over ranks, by the file in which that is least: *out and *out_ops
// are the arena's. Refused: part of a run, an operation that something else stood in for, files
// that cannot be compared with the simulation (compare.h), and nothing left.
bool replay_items(Replay *replay, const TimelineFile *files, const char *const *names,
                  uint32_t file_count, Arena *arena, CalibrateItem **out, uint32_t *out_count,
                  Err *err);
bool replay_predict(void *context, const Calib *calib, const uint32_t *items, uint32_t count,
                    double *out_s, Err *err); // CalibratePredict; context: a Replay

#endif
