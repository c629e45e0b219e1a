// The wall clock of back ends.
#ifndef EXEC_CLOCK_H
#define EXEC_CLOCK_H

#include <time.h>

#include "model/base/units.h"

// CLOCK_MONOTONIC, which all processes of one kernel share, less whole periods of CLOCK_PERIOD_S,
// so that it and any time-out added to it fit Time however long the machine is up.
#define CLOCK_PERIOD_S 4000000 // 46 days; twice as many would not fit
Time clock_now(void);

// The instant `wait_ps`, 0 or more, after another one; TIME_MAX when that is later.
Time clock_after(Time from_ps, Time wait_ps);

// What a poll takes to wait so long, not less; 0 when it is no wait at all.
int clock_poll_ms(Time wait_ps);

// An instant of it, near now, for what waits until a time of CLOCK_MONOTONIC; not before it.
struct timespec clock_timespec(Time at_ps);

// Returns at an instant of it, near now, or after it; at once when it has passed.
void clock_sleep_until(Time at_ps);

#endif
