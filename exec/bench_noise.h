// What else the processors of this machine did during a measurement.
#ifndef EXEC_BENCH_NOISE_H
#define EXEC_BENCH_NOISE_H

#include <stdbool.h>

// Seconds since some start, over all processors.
typedef struct BenchNoise {
    bool is_known; // Linux says it
    double all_s, stolen_s, busy_s, own_s;
} BenchNoise;

// Now. `own` is what this process and those that it waited for have used.
BenchNoise bench_noise_now(void);

// Shares of the processors' time between two: taken by the hypervisor, and by other processes.
typedef struct BenchShares {
    double stolen, foreign;
} BenchShares;
BenchShares bench_noise_between(const BenchNoise *begin, const BenchNoise *end);

#endif
