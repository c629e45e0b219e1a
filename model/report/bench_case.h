// One case of a benchmark of our own: what was done, by which implementation. How record files say
// it, so that what moesim-run measures is what moesim calibrate predicts.
//
// Communication is a row of the communication kind: op, dtype, n_gpus (ranks, numbered from 0),
// n_nodes, msg_bytes (as nccl-tests defines them; of alltoallv what all ranks send together), and
// config: "algorithm=direct", "algorithm=hierarchical inner=4", "from=0 to=1", "matrix=0
// 65536;65536 0" (bytes from each rank, row by row). A kernel is a row of the kernel kind: op,
// dtype, m, n, k; of stream_copy config is "bytes=65536". Every sample is a row: metric latency,
// unit us, read_mode raw.
#ifndef MODEL_REPORT_BENCH_CASE_H
#define MODEL_REPORT_BENCH_CASE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/numfmt.h"
#include "model/base/text.h"
#include "model/plan/collective.h"
#include "model/report/record.h"

#define BENCH_RANKS_MAX 64 // whose matrix still fits a cell

#define BENCH_OP_LIST(X)                                                                           \
    X(SEND_RECV, "send_recv")                                                                      \
    X(ALL_REDUCE, "all_reduce")                                                                    \
    X(ALL_GATHER, "all_gather")                                                                    \
    X(REDUCE_SCATTER, "reduce_scatter")                                                            \
    X(ALL_TO_ALL, "alltoall")                                                                      \
    X(BROADCAST, "broadcast") X(ALL_TO_ALLV, "alltoallv") X(GEMM, "gemm") X(COPY, "stream_copy")
typedef enum BenchOp {
#define X(name, text) BENCH_##name,
    BENCH_OP_LIST(X)
#undef X
        BENCH_OP_COUNT
} BenchOp;
extern const char *const bench_case_op_names[BENCH_OP_COUNT];

typedef struct BenchCase {
    BenchOp op;
    NumFmt format; // of elements; of gemm of weights and activations
    // Communication.
    uint32_t ranks, nodes;
    uint32_t from, to;      // SEND_RECV
    Algorithm algorithm;    // of the collectives
    uint32_t inner;         // HIERARCHICAL: ranks of a node
    uint64_t bytes;         // also of COPY: read, and written again
    const uint64_t *matrix; // ALL_TO_ALLV: [ranks * ranks], from row to column
    // Kernels.
    uint32_t m, n, k;
} BenchCase;

// False for gemm and stream_copy.
bool bench_case_communicates(BenchOp op);
// Of the collectives but alltoallv.
bool bench_case_collective(BenchOp op, Collective *out);
// busbw over algbw: bytes over each rank's link for each byte of the message, as nccl-tests define
// it (its doc/PERFORMANCE.md); 0 of alltoallv and of kernels, for which they define none.
double bench_case_bus_factor(const BenchCase *bench);

// "alltoall direct, 4 ranks on 1 node, 65536 B": one name for each case; an alltoallv gets the
// digest of its matrix, communication its number format ("alltoall bf16 direct, ...") when that is
// not f32, which moesim-run moves. Added to `out`.
void bench_case_name(const BenchCase *bench, Text *out);
// What is alike but for its size: "alltoall direct, 4 ranks on 1 node".
void bench_case_shape(const BenchCase *bench, Text *out);

// The header line of a file, and one row of one sample. `id` is a number of its own in the file;
// `device`, `fabric` and `library` name what it was measured on and by, in words without quotes and
// commas.
typedef struct BenchRow {
    uint64_t id;
    const char *date, *device, *fabric, *library;
    double latency_s;
} BenchRow;
void bench_case_write_header(RecordKind kind, Text *out); // RECORD_COMM or RECORD_KERNEL
void bench_case_write(const BenchCase *bench, const BenchRow *row, Text *out);

// Reads the case of a row of a file of one of the two kinds. Refuses, with file and line, what this
// vocabulary does not have: another op, metric, unit or config. The matrix is the arena's.
bool bench_case_read(const RecordFile *file, uint32_t row, Arena *arena, BenchCase *out, Err *err);

#endif
