// A safetensors file in memory: 8 bytes of length and what follows, as a file of just these bytes.
//
// A header that is accepted has unique names of one line, ranges that do not run backwards, and
// a finding for each way in which the ranges do not fill the file.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/base/text.h"
#include "model/moe/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_file(const SafetensorsFile *file, const Findings *findings) {
    uint64_t at = file->data_start;
    bool fills = true;
    for (uint32_t i = 0; i < file->count; i++) {
        const SafetensorsTensor *tensor = &file->tensors[i];
        uint64_t bits = tensor->bits;
        if (tensor->begin < file->data_start || tensor->begin > tensor->end) abort();
        if (i > 0 && file->tensors[i - 1].begin > tensor->begin) abort();
        if (text_plain(tensor->name) != strlen(tensor->name)) abort();
        for (uint32_t d = 0; d < tensor->rank; d++) bits *= tensor->dims[d];
        fills = fills && tensor->begin == at && tensor->end - tensor->begin == bits / 8;
        at = tensor->end;
    }
    fills = fills && at == file->size_B;
    if (fills != (finding_total(findings) == 0)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Arena arena = {0};
    Findings findings = {0};
    SafetensorsFile file = {0};
    uint64_t length = 0;
    if (size < SAFETENSORS_PREFIX_B) return 0;
    for (uint32_t i = SAFETENSORS_PREFIX_B; i-- > 0;) length = length << 8 | data[i];
    if (length > size - SAFETENSORS_PREFIX_B) length = size - SAFETENSORS_PREFIX_B;
    char *header = malloc(length > 0 ? (size_t)length : 1); // of exactly its size
    if (header == NULL) return 0;
    memcpy(header, data + SAFETENSORS_PREFIX_B, (size_t)length);
    if (safetensors_parse("f", header, (size_t)length, size, &arena, &findings, &file))
        check_file(&file, &findings);
    else if (findings.unusable != 1 || findings.counts[FINDING_BAD_HEADER] != 1)
        abort();
    free(header);
    safetensors_free(&file);
    finding_free(&findings);
    arena_free(&arena);
    return 0;
}
