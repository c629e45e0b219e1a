// Processor time from /proc/stat and getrusage.
//
// Invariant: time in interrupts counts for nobody: packets of the measurement are handled there.
// Source: proc(5), "/proc/stat"; the monitors of Mininet-HiFi (N. Handigol et al., "Reproducible
// Network Experiments Using Container-Based Emulation", CoNEXT 2012).
#include "exec/bench_noise.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static double used_s(int who) {
    struct rusage usage = {0};
    getrusage(who, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6; // us
}

BenchNoise bench_noise_now(void) {
    enum { USER, NICE, SYSTEM, IDLE, WAIT, IRQ, SOFT_IRQ, STOLEN, KINDS };
    unsigned long long ticks[KINDS] = {0};
    BenchNoise noise = {.own_s = used_s(RUSAGE_SELF) + used_s(RUSAGE_CHILDREN)};
    long per_second = sysconf(_SC_CLK_TCK);
    FILE *file = fopen("/proc/stat", "r");
    if (file == NULL || per_second <= 0) return noise;
    noise.is_known = fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &ticks[USER],
                            &ticks[NICE], &ticks[SYSTEM], &ticks[IDLE], &ticks[WAIT], &ticks[IRQ],
                            &ticks[SOFT_IRQ], &ticks[STOLEN]) == KINDS;
    fclose(file);
    double tick_s = 1 / (double)per_second;
    for (int i = 0; i < KINDS; i++) noise.all_s += (double)ticks[i] * tick_s;
    noise.stolen_s = (double)ticks[STOLEN] * tick_s;
    noise.busy_s = (double)(ticks[USER] + ticks[NICE] + ticks[SYSTEM]) * tick_s;
    return noise;
}

BenchShares bench_noise_between(const BenchNoise *begin, const BenchNoise *end) {
    double all_s = end->all_s - begin->all_s;
    double foreign_s = end->busy_s - begin->busy_s - (end->own_s - begin->own_s);
    if (!begin->is_known || !end->is_known || !(all_s > 0)) return (BenchShares){0};
    return (BenchShares){.stolen = (end->stolen_s - begin->stolen_s) / all_s,
                         .foreign = foreign_s > 0 ? foreign_s / all_s : 0};
}
