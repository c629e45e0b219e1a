// The legal plans that differ least from one that an engine refuses.
#ifndef MODEL_PLAN_ENGINE_NEAREST_H
#define MODEL_PLAN_ENGINE_NEAREST_H

#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/plan/engine.h"

#define ENGINE_NEAREST_MAX 3

// What is asked: an engine, a plan and one pool of it, the model, the machine, options. Borrowed.
typedef struct EngineAsk {
    const Engine *engine;
    const Plan *plan;
    uint32_t pool;
    const Arch *arch;
    EngineMachine machine;
    const EngineSetting *settings;
    uint32_t setting_count;
} EngineAsk;

typedef struct EngineNear {
    Plan plan;
    const EngineSetting *settings; // the arena's
    uint32_t setting_count;
    const char *change; // "ep 1 -> 8, moe_tp 8 -> 1"
} EngineNear;

// Whether a plan is legal: structure (plan_legal.h), then the engine's rules. `structure` has the
// first rule of structure that it breaks in one line, "" when it breaks none or a broken rule of
// the engine says the same.
typedef struct EngineAnswer {
    EngineVerdict verdict;
    const char *structure;
    bool is_legal;
} EngineAnswer;
// Texts are the arena's. False when a setting is no option of the engine or a rule cannot be
// evaluated.
bool engine_nearest_ask(const EngineAsk *ask, Arena *arena, EngineAnswer *out, Err *err);

// At most ENGINE_NEAREST_MAX legal plans: one option changed or left out; else a cache dealt to
// fewer ranks or in another format; else the fewest changes of tp, pp, dp and whether experts are
// cut or dealt out, of these the nearest numbers of GPUs, more before fewer, and after them one on
// as many GPUs as the plan. Looks at a bounded number of candidates. Sets *out_count to 0 when none
// of them is legal.
bool engine_nearest_find(const EngineAsk *ask, Arena *arena, EngineNear out[ENGINE_NEAREST_MAX],
                         uint32_t *out_count, Err *err);

#endif
