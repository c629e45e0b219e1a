// Models and plans for the tests of lowering.
#ifndef TESTS_PLAN_LOWER_PLANS_H
#define TESTS_PLAN_LOWER_PLANS_H

#include <stdint.h>

#include "model/plan/lower.h"

#define DEEPSEEK "scenarios/models/deepseek-v3.json"
#define KIMI     "scenarios/models/kimi-k3.json"
#define QWEN     "scenarios/models/qwen3-235b-a22b.json"
// Layers without attention or without a feed-forward part; two blocks of attention in a layer; a
// sum over ranks inside attention.
#define NEMOTRON "scenarios/models/nemotron-3-nano-30b-a3b.json"
#define LONGCAT  "scenarios/models/longcat-flash.json"
#define JAMBA    "scenarios/models/jamba-v0.1.json"

// Fails the test when the file cannot be read. Freed by arch_free.
Arch lower_plans_load(const char *path);

// hand_plan, with rings where there is a choice.
Plan lower_plans_make(uint32_t tp, uint32_t pp, uint32_t dp, uint32_t ep);

// As many redundant experts as make the slots of all positions equal, at least one each; whether
// the plan is legal with them.
bool lower_plans_add_replicas(Plan *plan, const Arch *arch);

// The plan must be legal. Freed by schedule_free.
Schedule lower_plans_lower(const Plan *plan, const Arch *arch, Phase phase, uint32_t steps);

#endif
