// Which cases a benchmark measures: named sets, and files of one case a line.
//
// A line is an operation, then words KEY=VALUE; what follows '#' is a remark:
//   send_recv size=256KiB from=0 to=1
//   alltoall size=1MiB algorithm=hierarchical inner=2 ranks=4   all collectives; ranks 0 to 3
//   alltoallv size=1MiB seed=3          each rank sends so much, most of it to few others
//   alltoallv size=1MiB pairs=0>2,1>3   each pair so much, at the same time
//   gemm m=64 n=2048 k=1024 format=bf16
//   stream_copy size=64MiB
#ifndef EXEC_BENCH_CASES_H
#define EXEC_BENCH_CASES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/report/bench_case.h"

#define BENCH_CASES_MAX   1024
#define BENCH_CASES_MAX_B (UINT64_C(1) << 30) // of the memory of one case on one rank

#define BENCH_SETS "p2p, collectives, alltoallv, pairs, all, gemm, copy"

// Where ranks are. Borrows `hosts`.
typedef struct BenchGround {
    uint32_t ranks;
    const uint32_t *hosts; // [ranks] that a rank is on; they only grow
    uint64_t seed;         // of the matrices of the named sets
} BenchGround;

// The arena's. All communicate, or all are kernels.
typedef struct BenchList {
    BenchCase *cases;
    uint32_t count;
    bool communicates;
} BenchList;

// Sets and files, separated by commas; what has a '/' or a '.' is a file.
bool bench_cases_read(const char *list, const BenchGround *ground, Arena *arena, BenchList *out,
                      Err *err);
// The bytes of a file, which `name` stands for in messages.
bool bench_cases_parse(const char *name, const char *bytes, const BenchGround *ground, Arena *arena,
                       BenchList *out, Err *err);

// Bytes from rank to rank of a send or an all-to-all(v) by matrix.
uint64_t bench_cases_bytes(const BenchCase *bench, uint32_t from, uint32_t to);

#endif
