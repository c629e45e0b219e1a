// Rule files of engines: bytes that parse give rules that can be asked about any plan; what comes
// of it is a verdict or an error, and every message prints.
#include <stdint.h>
#include <stdlib.h>

#include "model/plan/engine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition) abort();
}

// Numbers that divide and do not, with and without a machine; no model is needed for rules to run.
static void fill(EngineFacts *facts, int64_t number) {
    for (uint32_t i = 0; i < ENGINE_FACT_COUNT; i++) {
        EngineValue *value = &facts->values[i];
        *value = (EngineValue){.type = engine_facts_names[i].type, .integer = number, .text = "x"};
        if (value->type == ENGINE_BOOLEAN) value->integer = number % 2 != 0;
        if (number == 0 && engine_facts_names[i].needs[0] != '\0') *value = (EngineValue){0};
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const int64_t numbers[] = {0, 1, -3, 8, INT64_MAX};
    Engine engine = {0};
    Err err = {0};
    if (!engine_parse("fuzz", (const char *)data, size, NULL, &engine, &err)) {
        require(err_is_set(&err) && engine.name == NULL);
        return 0;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        Arena arena = {0};
        EngineFacts facts;
        EngineVerdict verdict = {0};
        Err failed = {0};
        fill(&facts, numbers[i]);
        if (engine_check(&engine, &facts, NULL, 0, &arena, &verdict, &failed))
            require(verdict.broken_count + verdict.note_count + verdict.undecided_count <=
                    engine.rule_count);
        else
            require(err_is_set(&failed));
        arena_free(&arena);
    }
    engine_unload(&engine);
    return 0;
}
