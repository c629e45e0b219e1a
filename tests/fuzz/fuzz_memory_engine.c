// The reader of engines' memory figures: bytes that parse give engines whose figures can be used
// for any memory.
#include <stdint.h>
#include <stdlib.h>

#include "model/plan/memory_engine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    MemoryEngines engines = {0};
    Err err = {0};
    if (!memory_engine_parse("fuzz", (const char *)data, size, &engines, &err)) {
        require(err_is_set(&err) && engines.engines == NULL);
        return 0;
    }
    Pool pool = {.tp = 8, .pp = 2, .dp = 4, .ep = 32, .moe_tp = 1, .cp = 1, .replicas = 1};
    for (uint32_t i = 0; i < engines.count; i++) {
        const MemoryEngine *engine = &engines.engines[i];
        for (uint64_t memory_B = 1; memory_B < UINT64_C(1) << 62; memory_B <<= 3) {
            require(memory_engine_chunk(engine, &pool, memory_B) > 0);
            require(memory_engine_usable_B(engine, &pool, memory_B, 0, 0) <= memory_B);
            (void)memory_engine_graphs_B(engine, &pool, memory_B);
        }
    }
    memory_engine_free(&engines);
    return 0;
}
