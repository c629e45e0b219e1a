// A predicted and a measured timeline of one schedule, operation by operation.
#ifndef MODEL_REPORT_COMPARE_H
#define MODEL_REPORT_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/report/timeline_file.h"

// Times of an operation are of one rank: sums over its instances, the mean over the ranks of the
// role. Those of communication begin when the rank reaches it: waiting for partners is in both.
typedef struct ComparePair {
    double predicted_s, measured_s;
} ComparePair;

// Of one operation.
typedef struct CompareOp {
    const char *name, *role_name; // the predicted file's
    OpClass op_class;
    LinkClass link;        // LINK_CLASS_COUNT: none, or not known
    TimelineFileWork work; // of the measured file
    uint64_t instances;    // on one rank
    ComparePair time;
    bool has_error; // work is MEASURED, and it took some time
    double error;   // predicted over measured, less 1, in percent
} CompareOp;

// Of all operations of one class that were measured and fill links of one class.
typedef struct CompareClass {
    OpClass op_class;
    LinkClass link;
    uint32_t ops, with_error;
    ComparePair time; // sums over the operations, of all roles
    bool has_error;
    double error;      // of the sums
    double mean_error; // over the operations with an error: mean of its size
    OpId worst;        // with the largest error; SCHEDULE_NONE: none
} CompareClass;

typedef struct Comparison {
    Arena arena;
    CompareOp *ops;
    uint32_t op_count;
    CompareClass *classes; // by class, then link
    uint32_t class_count;
    CompareClass total; // of all that was measured; its class and link mean nothing
    ComparePair end;    // of the whole run
    // A rank communicates; of that, it computes nothing meanwhile (the mean over all ranks).
    ComparePair comm, exposed;
    uint32_t stand_ins, skipped; // operations of the measured file that have no error
    uint32_t skipped_compute;    // of them; with one, the exposed part measured is too long
} Comparison;

// Refused, by name: a first file that was not predicted, parts of a run, other schedules, shapes,
// loads or machines (where both files name one), operations that another implementation ran, other
// numbers of ranks or instances. `predicted_name` and `measured_name` are for messages. *out
// borrows names from `predicted`.
bool compare_timelines(const TimelineFile *predicted, const char *predicted_name,
                       const TimelineFile *measured, const char *measured_name, Comparison *out,
                       Err *err);
void compare_free(Comparison *comparison);

#endif
