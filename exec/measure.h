// Takes the times of a run of the host back end and makes the file of a timeline of them.
#ifndef EXEC_MEASURE_H
#define EXEC_MEASURE_H

#include "exec/host/host.h"
#include "model/report/timeline_file.h"

typedef struct MeasureSpan {
    OpId op;
    uint32_t rank, pass, iteration;
    Time start_ps, end_ps;
} MeasureSpan;

// A zeroed Measure is empty. Borrows the schedule.
typedef struct Measure {
    const Schedule *schedule;
    Time begin_ps;      // of the machine's clock; all others are from there
    Time *reached_ps;   // [rank_count][SCHEDULE_STREAMS_MAX], heap; NULL before the first call
    MeasureSpan *spans; // heap, the first TIMELINE_FILE_SPANS_MAX
    uint32_t span_count, span_capacity;
    Time end_ps;
} Measure;

// One call of each for each instance, as HostInit tells, with `schedule` set before. The first one
// starts the clock.
void measure_reached(Measure *measure, const ScheduleCursor *cursor, uint32_t rank);
void measure_ended(Measure *measure, const ScheduleCursor *cursor, uint32_t rank);
void measure_free(Measure *measure);

// Of the whole run. Operations that the host back end does not run are marked as skipped.
bool measure_file(const Measure *measure, const StepShape *shape, const Load *load,
                  TimelineFile *out, Err *err);

#endif
