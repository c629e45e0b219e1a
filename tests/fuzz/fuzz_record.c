// Record files from hostile bytes: what is parsed has a cell for every column of every row.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/base/text.h"
#include "model/report/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    RecordFile file = {0};
    Err err = {0};
    if (!record_parse("fuzz", (const char *)data, size, &file, &err)) {
        if (!err_is_set(&err)) abort();
        return 0;
    }
    for (uint32_t row = 0; row < file.row_count; row++) {
        if (*file.rows[row].id == '\0' || *file.rows[row].series == '\0') abort();
        for (uint32_t i = 0; i < file.column_count; i++) {
            const char *cell = record_cell(&file, row, file.columns[i]);
            if (text_plain(cell) != strlen(cell)) abort();
        }
    }
    record_free(&file);
    return 0;
}
