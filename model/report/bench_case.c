// Writes and reads the cases of benchmarks as rows of record files.
//
// Invariant: a case that was written reads back to an equal one.
#include "model/report/bench_case.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/base/hash.h"
#include "model/base/wide.h"

#define BYTES_MAX (UINT64_C(1) << 62)
#define SIDE_MAX  (UINT32_C(1) << 24) // of a gemm
#define VALUE_MIN 1e-6                // us: a picosecond, the least that is simulated
#define VALUE_MAX 9.2e12              // us: 106 days, the most

const char *const bench_case_op_names[BENCH_OP_COUNT] = {
#define X(name, text) text,
    BENCH_OP_LIST(X)
#undef X
};

bool bench_case_communicates(BenchOp op) {
    return op != BENCH_GEMM && op != BENCH_COPY;
}

bool bench_case_collective(BenchOp op, Collective *out) {
    switch (op) {
    case BENCH_ALL_REDUCE: *out = COLLECTIVE_ALL_REDUCE; return true;
    case BENCH_ALL_GATHER: *out = COLLECTIVE_ALL_GATHER; return true;
    case BENCH_REDUCE_SCATTER: *out = COLLECTIVE_REDUCE_SCATTER; return true;
    case BENCH_ALL_TO_ALL: *out = COLLECTIVE_ALL_TO_ALL; return true;
    case BENCH_BROADCAST: *out = COLLECTIVE_BROADCAST; return true;
    case BENCH_SEND_RECV:
    case BENCH_ALL_TO_ALLV:
    case BENCH_GEMM:
    case BENCH_COPY:
    case BENCH_OP_COUNT: break;
    }
    return false;
}

double bench_case_bus_factor(const BenchCase *bench) {
    double others = (bench->ranks - 1.0) / bench->ranks;
    switch (bench->op) {
    case BENCH_ALL_REDUCE: return 2 * others;
    case BENCH_ALL_GATHER:
    case BENCH_REDUCE_SCATTER:
    case BENCH_ALL_TO_ALL: return others;
    case BENCH_SEND_RECV:
    case BENCH_BROADCAST: return 1;
    case BENCH_ALL_TO_ALLV:
    case BENCH_GEMM:
    case BENCH_COPY:
    case BENCH_OP_COUNT: break;
    }
    return 0;
}

// ---- Names

static void add_implementation(const BenchCase *bench, Text *out) {
    Collective ignored;
    if (bench->op == BENCH_SEND_RECV) text_addf(out, " %u to %u", bench->from, bench->to);
    if (!bench_case_collective(bench->op, &ignored)) return;
    text_addf(out, " %s", algorithm_names[bench->algorithm]);
    if (bench->algorithm == ALGORITHM_HIERARCHICAL) text_addf(out, " by %u", bench->inner);
}

// Of the bytes that each pair exchanges, whatever their size.
static Digest matrix_digest(const BenchCase *bench) {
    Digest digest = HASH_START;
    for (uint32_t i = 0; i < bench->ranks * bench->ranks; i++)
        digest = hash_u64(digest, bench->matrix[i]);
    return digest;
}

void bench_case_shape(const BenchCase *bench, Text *out) {
    text_add(out, bench_case_op_names[bench->op]);
    if (!bench_case_communicates(bench->op)) {
        text_addf(out, " %s", numfmt_name(bench->format));
        if (bench->op == BENCH_GEMM) text_addf(out, " n=%u k=%u", bench->n, bench->k);
        return;
    }
    if (bench->format != NUMFMT_F32) text_addf(out, " %s", numfmt_name(bench->format));
    add_implementation(bench, out);
    text_addf(out, ", %u ranks on %u node%s", bench->ranks, bench->nodes,
              bench->nodes == 1 ? "" : "s");
}

void bench_case_name(const BenchCase *bench, Text *out) {
    char digest[17];
    bench_case_shape(bench, out);
    if (bench->op == BENCH_GEMM)
        text_addf(out, " m=%u", bench->m);
    else
        text_addf(out, ", %" PRIu64 " B", bench->bytes);
    if (bench->op == BENCH_ALL_TO_ALLV)
        text_addf(out, " as %s", hash_format(matrix_digest(bench), digest));
}

// ---- Writing

void bench_case_write_header(RecordKind kind, Text *out) {
    text_addf(out, "%s\n", record_header(kind));
}

static void add_config(const BenchCase *bench, Text *out) {
    Collective ignored;
    if (bench->op == BENCH_SEND_RECV) text_addf(out, "from=%u to=%u", bench->from, bench->to);
    if (bench->op == BENCH_COPY) text_addf(out, "bytes=%" PRIu64, bench->bytes);
    if (bench_case_collective(bench->op, &ignored)) {
        text_addf(out, "algorithm=%s", algorithm_names[bench->algorithm]);
        if (bench->algorithm == ALGORITHM_HIERARCHICAL) text_addf(out, " inner=%u", bench->inner);
    }
    for (uint32_t i = 0; bench->op == BENCH_ALL_TO_ALLV && i < bench->ranks * bench->ranks; i++)
        text_addf(out, "%s%" PRIu64,
                  i == 0                  ? "matrix="
                  : i % bench->ranks == 0 ? ";"
                                          : " ",
                  bench->matrix[i]);
}

static void add_comm(const BenchCase *bench, const BenchRow *row, Text *out) {
    text_addf(out, "%s,%u,%u,%s,%s,%s,%s,,,,,%" PRIu64 ",", row->device, bench->ranks, bench->nodes,
              row->fabric, row->library, bench_case_op_names[bench->op], numfmt_name(bench->format),
              bench->bytes);
}

static void add_kernel(const BenchCase *bench, const BenchRow *row, Text *out) {
    text_addf(out, "%s,%s,%s,%s,", row->device, row->library, bench_case_op_names[bench->op],
              numfmt_name(bench->format));
    if (bench->op == BENCH_GEMM)
        text_addf(out, "%u,%u,%u", bench->m, bench->n, bench->k);
    else
        text_add(out, ",,");
    text_add(out, ",,,,,,,,,,,,,,"); // groups to tp
}

void bench_case_write(const BenchCase *bench, const BenchRow *row, Text *out) {
    text_addf(out, "B%06" PRIu64 ",", row->id);
    size_t start = out->length;
    bench_case_shape(bench, out);
    for (size_t i = start; i < out->length; i++)
        if (out->data[i] == ',' || out->data[i] == ' ') out->data[i] = '_';
    text_addf(out, ",moesim-run bench,,%s,", row->date);
    if (bench_case_communicates(bench->op))
        add_comm(bench, row, out);
    else
        add_kernel(bench, row, out);
    add_config(bench, out);
    text_addf(out, ",latency,%.9g,us,raw,,\n", row->latency_s * 1e6);
}

// ---- Reading

typedef struct Cells {
    const RecordFile *file;
    uint32_t row;
} Cells;

static const char *cell(const Cells *cells, const char *column) {
    return record_cell(cells->file, cells->row, column);
}

static bool wrong(const Cells *cells, const char *column, const char *expected, Err *err) {
    char quote[TEXT_QUOTE_MAX];
    return err_set(err, "%s:%u: %s: expected %s, found %s", cells->file->name,
                   cells->file->rows[cells->row].line, column, expected,
                   text_quote(cell(cells, column), quote));
}

static bool read_number(const Cells *cells, const char *column, uint64_t least, uint64_t most,
                        uint64_t *out, Err *err) {
    char expected[64];
    if (text_parse_u64(cell(cells, column), out) && *out >= least && *out <= most) return true;
    snprintf(expected, sizeof expected, "a number from %" PRIu64 " to %" PRIu64, least, most);
    return wrong(cells, column, expected, err);
}

static bool read_small(const Cells *cells, const char *column, uint32_t least, uint32_t most,
                       uint32_t *out, Err *err) {
    uint64_t value;
    if (!read_number(cells, column, least, most, &value, err)) return false;
    *out = (uint32_t)value;
    return true;
}

static bool read_name(const Cells *cells, const char *column, const char *const *names,
                      uint32_t count, const char *expected, uint32_t *out, Err *err) {
    const char *text = cell(cells, column);
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(names[i], text) == 0) {
            *out = i;
            return true;
        }
    return wrong(cells, column, expected, err);
}

// The value of KEY=VALUE in config, up to the next blank; NULL when it is not there.
static const char *find_key(const char *config, const char *key, size_t *length) {
    size_t name = strlen(key);
    while (*config != '\0') {
        size_t word = strcspn(config, " ");
        if (word > name && strncmp(config, key, name) == 0 && config[name] == '=') {
            *length = word - name - 1;
            return config + name + 1;
        }
        config += word + (config[word] == ' ');
    }
    return NULL;
}

static bool read_key(const Cells *cells, const char *key, uint64_t most, uint64_t *out, Err *err) {
    char expected[48], digits[24];
    size_t length;
    const char *text = find_key(cell(cells, "config"), key, &length);
    if (text != NULL && length < sizeof digits) {
        memcpy(digits, text, length);
        digits[length] = '\0';
        if (text_parse_u64(digits, out) && *out <= most) return true;
    }
    snprintf(expected, sizeof expected, "%s=NUMBER in it", key);
    return wrong(cells, "config", expected, err);
}

static bool read_rank(const Cells *cells, const char *key, uint32_t ranks, uint32_t *out,
                      Err *err) {
    uint64_t value;
    if (!read_key(cells, key, ranks - 1, &value, err)) return false;
    *out = (uint32_t)value;
    return true;
}

static bool read_pair(const Cells *cells, BenchCase *out, Err *err) {
    return read_rank(cells, "from", out->ranks, &out->from, err) &&
           read_rank(cells, "to", out->ranks, &out->to, err) &&
           (out->from != out->to || wrong(cells, "config", "two ranks", err));
}

// Numbers with blanks between them and a semicolon behind each row, up to the end of the cell.
static bool read_matrix(const Cells *cells, Arena *arena, BenchCase *out, Err *err) {
    static const char expected[] = "matrix= and a row of bytes for each rank";
    const char *at = cell(cells, "config");
    uint32_t count = out->ranks * out->ranks;
    uint64_t *matrix = arena_alloc(arena, count, sizeof *matrix), sum = 0;
    if (strncmp(at, "matrix=", 7) != 0) return wrong(cells, "config", expected, err);
    at += 7;
    for (uint32_t i = 0; i < count; i++) {
        char digits[24];
        size_t length = strcspn(at, " ;");
        char end = i + 1 == count ? '\0' : (i + 1) % out->ranks == 0 ? ';' : ' ';
        if (length >= sizeof digits || at[length] != end)
            return wrong(cells, "config", expected, err);
        memcpy(digits, at, length);
        digits[length] = '\0';
        if (!text_parse_u64(digits, &matrix[i]) || matrix[i] >= BYTES_MAX)
            return wrong(cells, "config", expected, err);
        sum = wide_add_saturate(sum, i / out->ranks == i % out->ranks ? 0 : matrix[i]);
        at += length + (end != '\0');
    }
    out->matrix = matrix;
    return sum == out->bytes || wrong(cells, "msg_bytes", "the sum of the matrix", err);
}

static bool read_algorithm(const Cells *cells, Collective kind, BenchCase *out, Err *err) {
    size_t length;
    const char *text = find_key(cell(cells, "config"), "algorithm", &length);
    uint32_t i = 0;
    while (text != NULL && i < ALGORITHM_COUNT &&
           (strlen(algorithm_names[i]) != length || strncmp(algorithm_names[i], text, length) != 0))
        i++;
    if (text == NULL || i == ALGORITHM_COUNT || !collective_has(kind, (Algorithm)i))
        return wrong(cells, "config", "algorithm= and one that this collective has", err);
    out->algorithm = (Algorithm)i;
    uint64_t inner = 0;
    if (out->algorithm == ALGORITHM_HIERARCHICAL &&
        !read_key(cells, "inner", out->ranks, &inner, err))
        return false;
    out->inner = (uint32_t)inner;
    CollectiveShape shape = {
        .kind = kind, .algorithm = out->algorithm, .n = out->ranks, .inner = out->inner};
    Err why = {0};
    return collective_check(shape, &why) || wrong(cells, "config", why.text, err);
}

static bool read_comm(const Cells *cells, Arena *arena, BenchCase *out, Err *err) {
    Collective kind;
    if (!read_small(cells, "n_gpus", 2, BENCH_RANKS_MAX, &out->ranks, err) ||
        !read_small(cells, "n_nodes", 1, out->ranks, &out->nodes, err) ||
        !read_number(cells, "msg_bytes", 0, BYTES_MAX, &out->bytes, err))
        return false;
    if (out->op == BENCH_SEND_RECV) return read_pair(cells, out, err);
    if (out->op == BENCH_ALL_TO_ALLV) return read_matrix(cells, arena, out, err);
    bool is_known = bench_case_collective(out->op, &kind);
    assert(is_known);
    return is_known && read_algorithm(cells, kind, out, err);
}

static bool read_kernel(const Cells *cells, BenchCase *out, Err *err) {
    if (out->op == BENCH_COPY) return read_key(cells, "bytes", BYTES_MAX, &out->bytes, err);
    return read_small(cells, "m", 1, SIDE_MAX, &out->m, err) &&
           read_small(cells, "n", 1, SIDE_MAX, &out->n, err) &&
           read_small(cells, "k", 1, SIDE_MAX, &out->k, err);
}

bool bench_case_read(const RecordFile *file, uint32_t row, Arena *arena, BenchCase *out, Err *err) {
    static const char *const metrics[] = {"latency"}, *const units[] = {"us"};
    Cells cells = {file, row};
    BenchCase bench = {0};
    uint32_t op = 0, format = 0, ignored;
    bool is_comm = file->kind == RECORD_COMM;
    if (!is_comm && file->kind != RECORD_KERNEL)
        return err_set(err, "%s: %s records, expected communication or kernel ones", file->name,
                       record_kind_names[file->kind]);
    if (!read_name(&cells, "op", bench_case_op_names, BENCH_OP_COUNT,
                   "one that moesim-run measures", &op, err) ||
        !read_name(&cells, "dtype", numfmt_names, NUMFMT_COUNT, "a number format", &format, err) ||
        !read_name(&cells, "metric", metrics, 1, "latency", &ignored, err) ||
        !read_name(&cells, "unit", units, 1, "us", &ignored, err))
        return false;
    bench.op = (BenchOp)op;
    bench.format = (NumFmt)format;
    if (bench_case_communicates(bench.op) != is_comm)
        return wrong(&cells, "op", is_comm ? "communication" : "a kernel", err);
    if (!(is_comm ? read_comm(&cells, arena, &bench, err) : read_kernel(&cells, &bench, err)))
        return false;
    if (file->rows[row].value < VALUE_MIN || file->rows[row].value > VALUE_MAX)
        return wrong(&cells, "value", "1 ps to 106 days", err);
    *out = bench;
    return true;
}
