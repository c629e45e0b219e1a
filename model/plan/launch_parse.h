// Reads the commands that start an engine back into a plan.
//
// Lines of one server are found by the address of its head; they may differ in what belongs to a
// node and in nothing else. Comments as launch_write has them ("# node 2: pool 0, replica 1, GPUs
// 0-7 of 8") say where the next line runs; without any, servers lie one behind another, and alike
// neighbours are replicas of one pool. A flag that is not known is an error: it may matter.
#ifndef MODEL_PLAN_LAUNCH_PARSE_H
#define MODEL_PLAN_LAUNCH_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/moe/arch.h"
#include "model/plan/launch_flags.h"
#include "model/plan/plan.h"

#define LAUNCH_COUNT_MAX 1000000000 // of what a flag may count

// Where a comment says that a line runs.
typedef struct LaunchSpot {
    bool given;
    uint32_t node, pool, replica, first_gpu, last_gpu, node_gpus;
} LaunchSpot;

// One line that starts (a part of) a server: what is said by meaning, NULL where nothing is.
typedef struct LaunchNode {
    uint32_t line;
    const char *values[LAUNCH_MEANING_COUNT];
    const LaunchFlag *flags[LAUNCH_MEANING_COUNT]; // whose value it is
    LaunchSpot spot;
} LaunchNode;

typedef struct LaunchNodes {
    Arena arena;
    LaunchNode *nodes; // heap
    uint32_t count, capacity;
    const LaunchFlags *flags; // of the engine of all lines
} LaunchNodes;

// The lines of a script. `flags` are those of all engines, LAUNCH_ENGINE_COUNT of them.
bool launch_parse_nodes(const char *name, const char *bytes, size_t count, const LaunchFlags *flags,
                        LaunchNodes *out, Err *err);
void launch_parse_free(LaunchNodes *nodes);

// What a node says of this: its own value, or the default of the engine; NULL without both.
const char *launch_parse_value(const LaunchNodes *nodes, const LaunchNode *node,
                               LaunchMeaning means);
bool launch_parse_count(const char *name, const LaunchNodes *nodes, const LaunchNode *node,
                        LaunchMeaning means, uint32_t *out, Err *err);
bool launch_parse_switch(const LaunchNode *node, LaunchMeaning means);

// All lines as a plan that passes plan_check. `arch` NULL: formats that the lines leave to the
// model are BF16. `engine` NULL when it is not wanted.
bool launch_parse_plan(const char *name, const char *bytes, size_t count, const LaunchFlags *flags,
                       const Arch *arch, Plan *out, LaunchEngine *engine, Err *err);

#endif
