// Cases of benchmarks from hostile record files: a case that is read is written and read back as an
// equal one, and every row is a sample of exactly one observation, with finite figures.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/report/bench_case.h"
#include "sim/calibrate/observe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_equal(const BenchCase *a, const BenchCase *b) {
    if (a->op != b->op || a->format != b->format || a->ranks != b->ranks || a->nodes != b->nodes ||
        a->from != b->from || a->to != b->to || a->algorithm != b->algorithm ||
        a->inner != b->inner || a->bytes != b->bytes || a->m != b->m || a->n != b->n ||
        a->k != b->k)
        abort();
    for (uint32_t i = 0; a->op == BENCH_ALL_TO_ALLV && i < a->ranks * a->ranks; i++)
        if (a->matrix[i] != b->matrix[i]) abort();
}

static void read_back(const BenchCase *bench, RecordKind kind) {
    const BenchRow row = {
        .id = 1, .date = "d", .device = "g", .fabric = "f", .library = "l", .latency_s = 1};
    RecordFile file = {0};
    Arena arena = {0};
    BenchCase again;
    Text text = {0};
    Err err = {0};
    bench_case_write_header(kind, &text);
    bench_case_write(bench, &row, &text);
    if (!record_parse("again", text.data, text.length, &file, &err) || file.row_count != 1 ||
        !bench_case_read(&file, 0, &arena, &again, &err))
        abort();
    check_equal(bench, &again);
    record_free(&file);
    arena_free(&arena);
    text_free(&text);
}

static void check_observations(const RecordFile *file, const Observation *list, uint32_t count) {
    uint32_t samples = 0;
    for (uint32_t i = 0; i < count; i++) {
        const Observation *of = &list[i];
        samples += of->samples;
        if (of->samples == 0 || !(of->min_s > 0) || !(of->min_s <= of->p25_s) ||
            !(of->p25_s <= of->median_s) || !isfinite(of->median_s) || !isfinite(of->noise))
            abort();
    }
    if (samples != file->row_count) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    RecordFile file = {0};
    Arena arena = {0};
    Err err = {0};
    if (!record_parse("fuzz", (const char *)data, size, &file, &err)) return 0;
    for (uint32_t row = 0; row < file.row_count; row++) {
        BenchCase bench;
        Err why = {0};
        if (bench_case_read(&file, row, &arena, &bench, &why))
            read_back(&bench, file.kind);
        else if (!err_is_set(&why))
            abort();
    }
    Observation *list;
    uint32_t count;
    if (observe_records(&file, &arena, &list, &count, &err))
        check_observations(&file, list, count);
    else if (!err_is_set(&err))
        abort();
    record_free(&file);
    arena_free(&arena);
    return 0;
}
