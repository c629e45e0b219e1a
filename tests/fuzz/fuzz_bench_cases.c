// Files of cases of a benchmark from hostile text: what is read is within the limits, and is
// written and read back as a record.
#include <stdint.h>
#include <stdlib.h>

#include "exec/bench_cases.h"
#include "model/report/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const BenchCase *bench, bool communicates) {
    const BenchRow row = {
        .id = 1, .date = "d", .device = "g", .fabric = "f", .library = "l", .latency_s = 1};
    RecordFile file = {0};
    Arena arena = {0};
    BenchCase again;
    Text text = {0};
    Err err = {0};
    if (bench_case_communicates(bench->op) != communicates) abort();
    if (communicates && (bench->ranks < 2 || bench->ranks > 4)) abort();
    bench_case_write_header(communicates ? RECORD_COMM : RECORD_KERNEL, &text);
    bench_case_write(bench, &row, &text);
    if (!record_parse("again", text.data, text.length, &file, &err) ||
        !bench_case_read(&file, 0, &arena, &again, &err) || again.op != bench->op ||
        again.bytes != bench->bytes)
        abort();
    record_free(&file);
    arena_free(&arena);
    text_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint32_t hosts[] = {0, 0, 1, 1};
    const BenchGround ground = {.ranks = 4, .hosts = hosts, .seed = 1};
    Arena arena = {0};
    BenchList list;
    Text text = {0};
    Err err = {0};
    text_add_bytes(&text, (const char *)data, size);
    if (bench_cases_parse("fuzz", text_string(&text), &ground, &arena, &list, &err))
        for (uint32_t i = 0; i < list.count; i++) check(&list.cases[i], list.communicates);
    else if (!err_is_set(&err))
        abort();
    text_free(&text);
    arena_free(&arena);
    return 0;
}
