// Files of timelines from hostile bytes: what is parsed reads back to the same bytes, and compares
// with itself without error where it may be compared at all.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/report/compare.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_back(const TimelineFile *file) {
    Text first = {0}, second = {0};
    TimelineFile again = {0};
    Err err = {0};
    timeline_file_write(file, &first);
    if (!timeline_file_parse("again", first.data, first.length, &again, &err)) abort();
    timeline_file_write(&again, &second);
    if (first.length != second.length || memcmp(first.data, second.data, first.length) != 0)
        abort();
    text_free(&first);
    text_free(&second);
    timeline_file_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    TimelineFile file = {0};
    Comparison comparison = {0};
    Err err = {0};
    if (!timeline_file_parse("fuzz", (const char *)data, size, &file, &err)) {
        if (!err_is_set(&err)) abort();
        return 0;
    }
    read_back(&file);
    if (compare_timelines(&file, "a", &file, "b", &comparison, &err)) {
        if (comparison.total.has_error && comparison.total.error != 0) abort();
        if (comparison.exposed.predicted_s != comparison.exposed.measured_s) abort();
    } else if (!err_is_set(&err)) {
        abort();
    }
    compare_free(&comparison);
    timeline_file_free(&file);
    return 0;
}
