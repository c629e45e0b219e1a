// Which plans an engine refuses: what no flag of it says, and what its rules forbid.
#ifndef SIM_SEARCH_SPACE_ENGINE_H
#define SIM_SEARCH_SPACE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/machine/fabric.h"
#include "model/moe/arch.h"
#include "model/plan/engine.h"
#include "model/plan/launch.h"
#include "model/plan/plan.h"
#include "model/plan/scenario.h"

// Engines at their last known version, any of which may run a plan. A zeroed one refuses nothing.
typedef struct SpaceEngines {
    Engine rules[LAUNCH_ENGINE_COUNT];
    LaunchFlags flags[LAUNCH_ENGINE_COUNT];
    uint32_t count;
} SpaceEngines;

// One engine, or LAUNCH_ENGINE_COUNT for all. Freed by space_engine_close.
bool space_engine_open(LaunchEngine engine, SpaceEngines *out, Err *err);
void space_engine_close(SpaceEngines *engines);

typedef struct SpaceEngineCase {
    const Fabric *fabric;
    const Arch *arch;
    const Scenario *scenario;
    const Plan *plan;
    uint64_t sequences; // per attention-DP rank and micro-batch
} SpaceEngineCase;

// NULL when some engine runs the plan; else the rule by its name ("vllm: tp-heads"), which lives as
// long as the arena, and the text of the last engine that was asked.
const char *space_engine_refuses(const SpaceEngines *engines, const SpaceEngineCase *given,
                                 Arena *arena, Err *text);

#endif
