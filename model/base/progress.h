// A progress line on stderr, with an estimate of the time left, for work that takes more than a
// second, when stderr is a terminal. The only module outside exec/ that reads a clock; the reading
// reaches nothing but stderr.
#ifndef MODEL_BASE_PROGRESS_H
#define MODEL_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Progress {
    const char *what; // borrowed, for example "simulating plans"
    uint64_t total;
    int64_t start_ns;
    int64_t shown_ns;
    bool visible;
} Progress;

// total 0: not known; else the line has an estimate of the time left.
void progress_start(Progress *progress, const char *what, uint64_t total);
void progress_step(Progress *progress, uint64_t done); // cheap; draws at most ten times a second
void progress_end(Progress *progress);                 // removes the line

#endif
