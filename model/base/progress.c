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

// As long as what is done took, for as much of what is left.
static void show_left(const Progress *progress, int64_t now, uint64_t done) {
    if (done == 0 || done > progress->total) return;
    double elapsed_s = (double)(now - progress->start_ns) * 1e-9;
    double left_s = elapsed_s / (double)done * (double)(progress->total - done);
    if (left_s >= 100)
        fprintf(stderr, ", about %.0f min left", left_s / 60);
    else
        fprintf(stderr, ", about %.0f s left", left_s);
}

void progress_step(Progress *progress, uint64_t done) {
    if (!progress->visible) return;
    int64_t now = now_ns();
    if (now - progress->start_ns < QUIET_NS || now - progress->shown_ns < REDRAW_NS) return;
    progress->shown_ns = now;
    fprintf(stderr, LINE_ERASE "%s: %" PRIu64, progress->what, done);
    if (progress->total > 0) fprintf(stderr, " of %" PRIu64, progress->total);
    show_left(progress, now, done);
    fflush(stderr);
}

void progress_end(Progress *progress) {
    if (progress->visible && progress->shown_ns != 0) fputs(LINE_ERASE, stderr);
    *progress = (Progress){0};
}
