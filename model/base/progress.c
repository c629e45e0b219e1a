// The progress line: drawn over itself on stderr, at most ten times a second, after the first
// second.
//
// Invariant: nothing is written when stderr is not a terminal, and the line is gone when work ends.
#include "model/base/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define QUIET_NS   INT64_C(1000000000) // no line for short work
#define REDRAW_NS  INT64_C(100000000)
#define LINE_ERASE "\r\033[K" // ECMA-48: to column one, erase to the end of the line

static int64_t now_ns(void) {
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void progress_start(Progress *progress, const char *what, uint64_t total) {
    *progress = (Progress){.what = what, .total = total};
    progress->visible = isatty(STDERR_FILENO) == 1;
    if (progress->visible) progress->start_ns = now_ns();
}

void progress_step(Progress *progress, uint64_t done) {
    if (!progress->visible) return;
    int64_t now = now_ns();
    if (now - progress->start_ns < QUIET_NS || now - progress->shown_ns < REDRAW_NS) return;
    progress->shown_ns = now;
    fprintf(stderr, LINE_ERASE "%s: %" PRIu64 " of %" PRIu64, progress->what, done,
            progress->total);
    fflush(stderr);
}

void progress_end(Progress *progress) {
    if (progress->visible && progress->shown_ns != 0) fputs(LINE_ERASE, stderr);
    *progress = (Progress){0};
}
