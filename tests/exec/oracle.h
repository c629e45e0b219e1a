// One collective on the memories of a group, all ranks at once in one thread: what ranks that run
// side by side must come to, byte for byte.
#ifndef TESTS_EXEC_ORACLE_H
#define TESTS_EXEC_ORACLE_H

#include "model/plan/load.h"
#include "model/plan/schedule_comm.h"

// `op` is the one operation of the schedule, `buffers` [rank][buffer] the memory of each rank.
void oracle_collective(const Schedule *schedule, OpId op, const StepShape *shape, const Load *load,
                       uint32_t group, uint8_t *const *const *buffers);

#endif
