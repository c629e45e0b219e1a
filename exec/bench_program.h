// The cases of a benchmark that communicate as a job: one operation for each case, of which each
// repeat of a run does one (InterpDrill).
#ifndef EXEC_BENCH_PROGRAM_H
#define EXEC_BENCH_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "exec/bench_cases.h"
#include "exec/interp.h"

// Borrows the cases. A zeroed one is empty; freed by bench_program_close.
typedef struct BenchProgram {
    Arena arena;
    Schedule schedule;
    Load load;
    Job job;
    const BenchList *list;
    OpId *ops;             // [case][role]; SCHEDULE_NONE: the role takes no part
    const uint32_t *order; // [repeats] case of each repeat: set by the caller before a run
} BenchProgram;

bool bench_program_open(const BenchList *list, uint32_t ranks, BenchProgram *out, Err *err);
void bench_program_close(BenchProgram *program);

// Context: the BenchProgram.
bool bench_program_drill(void *context, const BackEnd *back_end, OpInstance *instance,
                         uint32_t repeat, Err *err);

#endif
