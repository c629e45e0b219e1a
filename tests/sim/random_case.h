// Random machines, schedules, loads and faults for the simulator, each from one number.
#ifndef TESTS_SIM_RANDOM_CASE_H
#define TESTS_SIM_RANDOM_CASE_H

#include "model/base/rng.h"
#include "tests/sim/sim_machine.h"

// A zeroed case is empty. Not moved once opened: the parts point at each other.
typedef struct RandomCase {
    Arena arena;
    SimMachine bench;
    Schedule schedule;
    Load load;
    StepShape shape;
    uint32_t first_gpu;
    Text text; // what was drawn, for people
} RandomCase;

// Draws a case. Small enough to be simulated rank by rank.
void random_case_open(RandomCase *out, uint64_t seed);
void random_case_close(RandomCase *drawn);

#endif
