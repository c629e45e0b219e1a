// Picoseconds of CLOCK_MONOTONIC (POSIX.1-2008).
//
// Invariant: 0 <= clock_now() < CLOCK_PERIOD_S seconds. A run that is under way when a period ends
// sees the clock jump back, once in 46 days.
#include "exec/clock.h"

#include <errno.h>
#include <limits.h>

#define PS_PER_NS 1000
#define PS_PER_MS INT64_C(1000000000)
#define NS_PER_S  INT64_C(1000000000)

static struct timespec read_clock(void) {
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now;
}

Time clock_now(void) {
    struct timespec now = read_clock();
    return (Time)(now.tv_sec % CLOCK_PERIOD_S) * PS_PER_SECOND + (Time)now.tv_nsec * PS_PER_NS;
}

Time clock_after(Time from_ps, Time wait_ps) {
    return from_ps < TIME_MAX - wait_ps ? from_ps + wait_ps : TIME_MAX;
}

int clock_poll_ms(Time wait_ps) {
    if (wait_ps <= 0) return 0;
    return wait_ps / PS_PER_MS < INT_MAX ? (int)(wait_ps / PS_PER_MS) + 1 : INT_MAX;
}

struct timespec clock_timespec(Time at_ps) {
    time_t now_s = read_clock().tv_sec;
    Time at_ns = at_ps / PS_PER_NS + (at_ps % PS_PER_NS > 0);
    return (struct timespec){.tv_sec = now_s - now_s % CLOCK_PERIOD_S + (time_t)(at_ns / NS_PER_S),
                             .tv_nsec = (long)(at_ns % NS_PER_S)};
}

void clock_sleep_until(Time at_ps) {
    struct timespec until = clock_timespec(at_ps);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) continue;
}
