// Prints what an engine says of the pools of a plan.
#ifndef SIM_COMMANDS_CHECK_SHOW_H
#define SIM_COMMANDS_CHECK_SHOW_H

#include "model/plan/engine_nearest.h"

// The answer about one pool, and where to go from there.
typedef struct CheckPool {
    EngineAnswer answer;
    EngineNear nearest[ENGINE_NEAREST_MAX]; // of a pool that is not legal
    uint32_t nearest_count;
} CheckPool;

typedef struct CheckResult {
    const Engine *engine;
    const Plan *plan;
    const CheckPool *pools;      // [plan->pool_count]
    const char *model, *machine; // machine "": none was given
    bool is_legal;
} CheckResult;

void check_show_table(const CheckResult *result, Text *out);
void check_show_json(const CheckResult *result, Text *out);

#endif
