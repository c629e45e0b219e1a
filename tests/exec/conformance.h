// The cases that every back end, and the simulator, has to run alike: one list. Schedules with all
// that a schedule can move, and what must hold of the times of any run of them.
#ifndef TESTS_EXEC_CONFORMANCE_H
#define TESTS_EXEC_CONFORMANCE_H

#include "exec/interp.h"
#include "exec/job.h"

#define CONFORMANCE_CASES 11

// Freed by conformance_close.
typedef struct Conformance {
    const char *name;
    Schedule schedule;
    Load load;
    bool meets_all; // every member of a collective gets bytes from every other
    Job job;
} Conformance;

void conformance_open(uint32_t index, Conformance *out);
void conformance_close(Conformance *conformance);

// Whole numbers in f32 and bf16, so that sums are exact; different in every buffer and rank.
void conformance_fill(void *context, BufferId buffer, uint32_t rank, uint8_t *bytes,
                      uint64_t count);

// One instance; those of one operation on one rank follow each other in order of time.
typedef struct ConformanceSpan {
    OpId op;
    uint32_t rank;
    Time start_ps, end_ps;
} ConformanceSpan;

// Fails the test unless every operation of every rank ran as often as it is scheduled, started
// after what it waits for and what is before it on its stream had ended, a receive ended after its
// send started, and a collective ended after its last member started. `who` is for messages.
void conformance_check(const Conformance *conformance, const char *who,
                       const ConformanceSpan *spans, uint64_t count);

#endif
