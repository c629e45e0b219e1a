// Makes the file of a timeline of the times of a run.
#ifndef EXEC_MEASURE_H
#define EXEC_MEASURE_H

#include "exec/interp.h"
#include "model/report/timeline_file.h"

// What a result does not say of itself.
typedef struct MeasureFacts {
    const char *back_end;  // "host"
    const char *machine;   // as BackEnd.machine
    const char *libraries; // with versions, "" for none
    bool is_partial;       // the run failed
    const Digest *load;    // of the rows that were routed; NULL: the job's
} MeasureFacts;

// Of each repeat of a run that kept its spans, from when the ranks were let go to the last end; 0
// of one without spans. out_ps: [result->repeats].
void measure_times(const InterpResult *result, Time *out_ps);

// Of one repeat of a run that kept its spans; more than a file holds are refused. Times count from
// when the ranks were let go. Skipped and stood-in operations are marked as they are.
bool measure_file(const Job *job, const InterpResult *result, uint32_t repeat,
                  const MeasureFacts *facts, TimelineFile *out, Err *err);

#endif
