// Lists of transfers from bytes, on a machine with templates inside of each other and with parts of
// all kinds. What is accepted is a list that transfers_check accepts, and is the same when it is
// written out by names and read again.
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>

#include "model/base/text.h"
#include "model/machine/device.h"
#include "sim/transfers_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LIST_MAX 4096 // longer ones are not written out

static const Fabric *machine(void) {
    static Topology topology;
    static DeviceCatalogue catalogue;
    static Fabric fabric;
    Err err = {0};
    if (fabric.gpu_count > 0) return &fabric;
    if (!topology_load("nvl72.json", &topology, &err) || !device_load(&catalogue, &err) ||
        !fabric_build(&topology, &catalogue, &fabric, &err))
        abort();
    return &fabric;
}

static void read_back(const Fabric *fabric, const TransfersFile *file) {
    Text text = {0};
    Err err = {0};
    TransfersFile again = {0};
    for (uint32_t i = 0; i < file->count; i++) {
        const NetTransfer *transfer = &file->list[i];
        fabric_vertex_name(fabric, transfer->from, &text);
        text_add(&text, ", ");
        fabric_vertex_name(fabric, transfer->to, &text);
        text_addf(&text, ", %" PRIu64 ", %" PRId64 " ps\n", transfer->bytes, transfer->start);
    }
    if (!transfers_file_parse(fabric, "again", text.data, text.length, &again, &err)) abort();
    if (again.count != file->count) abort();
    for (uint32_t i = 0; i < file->count; i++) {
        const NetTransfer *a = &file->list[i], *b = &again.list[i];
        if (a->from != b->from || a->to != b->to || a->bytes != b->bytes || a->start != b->start)
            abort();
    }
    transfers_file_free(&again);
    text_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const Fabric *fabric = machine();
    Err err = {0};
    TransfersFile file = {0};
    if (size == 0) return 0;
    if (!transfers_file_parse(fabric, "input", (const char *)data, size, &file, &err)) {
        if (!err_is_set(&err)) abort();
        return 0;
    }
    if (!transfers_check(fabric, file.list, file.count, &err)) abort();
    if (file.count <= LIST_MAX) read_back(fabric, &file);
    transfers_file_free(&file);
    return 0;
}
