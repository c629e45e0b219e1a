// Models and plans for the tests of lowering.
#ifndef TESTS_PLAN_LOWER_PLANS_H
#define TESTS_PLAN_LOWER_PLANS_H

#include <stdint.h>

#include "model/plan/lower.h"

#define DEEPSEEK "scenarios/models/deepseek-v3.json"
#define KIMI     "scenarios/models/kimi-k3.json"
#define QWEN     "scenarios/models/qwen3-235b-a22b.json"

// Fails the test when the file cannot be read. Freed by arch_free.
Arch lower_plans_load(const char *path);

// hand_plan, with rings where there is a choice.
Plan lower_plans_make(uint32_t tp, uint32_t pp, uint32_t dp, uint32_t ep);

// The plan must be legal. Freed by schedule_free.
Schedule lower_plans_lower(const Plan *plan, const Arch *arch, Phase phase, uint32_t steps);

#endif
