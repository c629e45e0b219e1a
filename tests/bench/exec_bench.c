// exec_bench: prints rows of two markdown tables: what the interpreter adds to an operation, and
// copies of the host back end beside memcpy of the same bytes in the same run. Wall time, the best
// of RUNS: what else runs on the machine only adds to it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exec/host/host.h"

#define RUNS       9
#define OPERATIONS 20000
#define TRIES      12 // copies of one size in one run

static const StepShape one_token = {1, 1, 1, 1};

static double seconds_now(void) {
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static bool fails(const char *name, const Err *err) {
    fprintf(stderr, "exec_bench: %s: %s\n", name, err->text);
    return false;
}

// ---- Schedules

typedef struct Making {
    Schedule schedule;
    RoleId role;
    BlockId block;
} Making;

static void begin(Making *m, uint32_t ranks, uint32_t passes) {
    RankSet set = {.count = ranks, .repeat = 1};
    GroupFamily family = {.name = "all", .size = ranks, .stride = 1, .count = 1};
    schedule_init(&m->schedule, "bench", ranks);
    m->role = schedule_add_role(&m->schedule, "all", set, passes);
    schedule_add_group(&m->schedule, &family);
}

static void add_buffer(Making *m, const char *name, uint64_t bytes) {
    schedule_add_buffer(&m->schedule, &(Buffer){.name = name,
                                                .role = m->role,
                                                .format = NUMFMT_F32,
                                                .bytes = extent_fixed(bytes)});
}

static void add_op(Making *m, OpKind kind, uint32_t stream, uint64_t bytes) {
    Op op = {.kind = kind, .op_class = OP_CLASS_OTHER, .name = "op", .stream = stream};
    if (kind == OP_COPY) op.compute.bytes = extent_fixed(bytes);
    if (kind == OP_COLLECTIVE)
        op.comm = (Comm){.collective = COLLECTIVE_ALL_TO_ALL,
                         .algorithm = ALGORITHM_DIRECT,
                         .bytes = extent_fixed(bytes),
                         .element = 4,
                         .format = NUMFMT_F32};
    schedule_add_op(&m->schedule, &op);
    if (kind == OP_MEMORY) return;
    schedule_add_slice(&m->schedule, &(Slice){0, SLICE_READ, extent_fixed(0), extent_fixed(bytes)});
    schedule_add_slice(&m->schedule,
                       &(Slice){1, SLICE_WRITE, extent_fixed(0), extent_fixed(bytes)});
}

static void finish(Making *m, uint32_t repeat) {
    schedule_add_segment(&m->schedule, m->role, m->block, repeat);
    schedule_finish(&m->schedule);
}

// ---- The interpreter alone

// Seconds from the start of the first operation to the end of the last.
static bool time_run(const Schedule *schedule, double *best) {
    Load load = load_uniform();
    const ComputeUnit nothing = {0};
    const InterpOptions options = {.spans = true, .repeats = RUNS};
    Job job = {0};
    BackEnd host;
    InterpResult result = {0};
    Err err = {0};
    if (!job_open(schedule, &one_token, &load, &job, &err)) return fails("job", &err);
    host_open(schedule->rank_count, HOST_TIME_OUT_PS, &host);
    bool good = interp_run(&job, &host, &nothing, &options, &result, &err) || fails("run", &err);
    double ends[RUNS] = {0};
    for (uint64_t i = 0; good && i < result.span_count; i++) {
        const InterpSpan *span = &result.spans[i];
        double end = (double)(span->end_ps - result.begin_ps[span->repeat]) * 1e-12;
        if (end > ends[span->repeat]) ends[span->repeat] = end;
    }
    for (uint32_t r = 0; r < RUNS; r++)
        if (r == 0 || ends[r] < *best) *best = ends[r];
    interp_free(&result);
    host_close(&host);
    job_close(&job);
    return good;
}

static bool overhead_row(const char *name, double goal_us, const Schedule *schedule) {
    double best = 0;
    if (!time_run(schedule, &best)) return false;
    double us = best / OPERATIONS * 1e6;
    printf("| %s | %.2g us | ", name, us);
    if (goal_us > 0)
        printf("%g us, %s |\n", goal_us, us <= goal_us ? "met" : "missed");
    else
        printf("not asked: threads of the kernel take turns |\n");
    return true;
}

// One stream; one that copies four bytes; two streams, each operation waiting for the other's.
static bool overheads(void) {
    Making m = {0};
    bool good = true;
    printf("| one operation of the interpreter | time | goal |\n|---|---|---|\n");
    for (uint32_t kind = 0; good && kind < 3; kind++) {
        const char *const names[] = {"skipped, its span kept", "copy of 4 bytes",
                                     "skipped, on two streams, each waiting for the other"};
        begin(&m, 1, 1);
        add_buffer(&m, "in", 4);
        add_buffer(&m, "out", 4);
        m.block = schedule_add_block(&m.schedule, m.role, "block");
        add_op(&m, kind == 1 ? OP_COPY : OP_MEMORY, 0, 4);
        if (kind == 2) {
            schedule_add_wait(&m.schedule, 1);
            add_op(&m, OP_MEMORY, 1, 4);
            schedule_add_wait(&m.schedule, 0);
        }
        uint32_t repeat = kind == 2 ? OPERATIONS / 2 : OPERATIONS;
        finish(&m, repeat);
        good = overhead_row(names[kind], kind < 2 ? 2 : 0, &m.schedule);
        schedule_free(&m.schedule);
    }
    return good;
}

// ---- Bytes

// The best of several copies of `bytes` by memcpy.
static void best_memcpy(const uint8_t *from, uint8_t *into, uint64_t bytes, double *best) {
    for (uint32_t i = 0; i < TRIES; i++) {
        double start = seconds_now();
        memcpy(into, from, bytes);
        double time = seconds_now() - start;
        __asm__ volatile("" : : "r"(into) : "memory");
        if (time < *best) *best = time;
    }
}

// Memory that was never written is one page of zeros, read from the cache.
static void fill(void *context, BufferId buffer, uint32_t rank, uint8_t *bytes, uint64_t count) {
    (void)context;
    (void)buffer;
    (void)rank;
    memset(bytes, 1, count);
}

// The best span of an operation.
static bool best_span(const Schedule *schedule, double *best) {
    Load load = load_uniform();
    const ComputeUnit nothing = {0};
    const InterpOptions options = {.fill = fill, .spans = true};
    Job job = {0};
    BackEnd host;
    InterpResult result = {0};
    Err err = {0};
    if (!job_open(schedule, &one_token, &load, &job, &err)) return fails("job", &err);
    host_open(schedule->rank_count, HOST_TIME_OUT_PS, &host);
    bool good = interp_run(&job, &host, &nothing, &options, &result, &err) || fails("run", &err);
    for (uint64_t i = 0; good && i < result.span_count; i++) {
        double time = (double)(result.spans[i].end_ps - result.spans[i].start_ps) * 1e-12;
        if (time < *best) *best = time;
    }
    interp_free(&result);
    host_close(&host);
    job_close(&job);
    return good;
}

// A copy inside a rank, and an all-to-all of two ranks, of which each copies half to the other: by
// the best operation, one copy of all that both sent, since whoever comes second makes all of them.
static bool bytes_row(OpKind kind, uint64_t bytes) {
    Making m = {0};
    uint8_t *from = aligned_alloc(64, bytes), *into = aligned_alloc(64, bytes);
    double best = 1, library = 1;
    bool good = from != NULL && into != NULL;
    if (!good) return false;
    memset(from, 1, bytes);
    memset(into, 1, bytes);
    begin(&m, kind == OP_COPY ? 1 : 2, 1);
    add_buffer(&m, "in", bytes);
    add_buffer(&m, "out", bytes);
    m.block = schedule_add_block(&m.schedule, m.role, "block");
    add_op(&m, kind, 0, bytes);
    finish(&m, TRIES);
    for (uint32_t r = 0; good && r < RUNS;
         r++) { // by turns, as the machine is not alike all the time
        best_memcpy(from, into, bytes, &library);
        good = best_span(&m.schedule, &best);
    }
    schedule_free(&m.schedule);
    free(from);
    free(into);
    double ratio = best / library;
    if (good)
        printf("| %s of %llu KiB | %.1f GB/s | %.1f GB/s | 10 %%, %s |\n",
               kind == OP_COPY ? "copy" : "all-to-all of two ranks",
               (unsigned long long)(bytes >> 10), (double)bytes / best * 1e-9,
               (double)bytes / library * 1e-9,
               kind != OP_COPY ? "not asked"
               : ratio <= 1.1  ? "met"
                               : "missed");
    return good;
}

int main(void) {
    bool good = overheads();
    printf("\n| bytes on the host back end | ours | memcpy | goal |\n|---|---|---|---|\n");
    for (uint32_t kind = 0; good && kind < 2; kind++)
        for (uint64_t bytes = 64 << 10; good && bytes <= 16 << 20; bytes <<= 4)
            good = bytes_row(kind == 0 ? OP_COPY : OP_COLLECTIVE, bytes);
    return good ? 0 : 1;
}
