// The commands that start a plan on an engine: one for each node of each server, what the flags of
// one invocation are, and the benchmark that would confirm or falsify the prediction.
//
// A pool of n replicas is n servers. A server lies on whole nodes or inside one. What the engine
// cannot do is refused, never rounded. Names of flags are data (launch_flags.h); here is what a
// plan means in the terms of each engine.
#ifndef MODEL_PLAN_LAUNCH_H
#define MODEL_PLAN_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/text.h"
#include "model/moe/arch.h"
#include "model/plan/launch_flags.h"
#include "model/plan/plan.h"
#include "model/plan/scenario.h"

// A two-batch threshold that no step reaches: the phase runs in one batch.
#define LAUNCH_NEVER UINT64_C(1000000000)

#define LAUNCH_SEQUENCES_MAX 1000000 // of one rank: far more than any engine runs at once

typedef struct LaunchMachine {
    const char *name;
    uint32_t gpus, node_gpus;
    uint32_t domain_gpus; // that scale-up links join
    uint32_t node_nics;   // of a network; 0: none
    const char *nic;      // what they are, "" when not named
} LaunchMachine;

typedef struct LaunchInput {
    const Plan *plan;
    const Arch *arch;
    const char *model; // as the engine is to find it: a repository or a path
    const LaunchFlags *flags;
    LaunchMachine machine;
    const Scenario *scenario; // NULL: no lengths, no benchmark
    uint64_t sequences;       // per attention-DP rank and micro-batch; 0: from the concurrency
    uint64_t requests;        // in flight in the benchmark; 0: the concurrency
    const char *prediction;   // one line, "" when nothing was predicted
} LaunchInput;

// One flag or variable of an invocation.
typedef struct LaunchSetting {
    const LaunchFlag *flag;
    const char *value; // NULL for a flag that takes none
    bool expands;      // the shell puts in variables: written in double quotes
} LaunchSetting;

typedef struct LaunchList {
    LaunchSetting *settings; // heap, variables and flags mixed
    uint32_t count, capacity;
} LaunchList;

// Where a server lies.
typedef struct LaunchPlace {
    uint32_t node, nodes; // first node of the machine, and how many
    uint32_t gpu, gpus;   // first GPU on its (first) node, GPUs on each of its nodes
} LaunchPlace;

// Which part of the plan an invocation is.
typedef struct LaunchPart {
    uint32_t pool, replica;
    uint32_t rank; // of the node among those of the server
} LaunchPart;

// Of a replica of a pool; refuses one that leaves the machine, or that lies on more than one node
// and not on whole ones.
bool launch_place(const LaunchInput *in, uint32_t pool, uint32_t replica, LaunchPlace *out,
                  Err *err);

// What an engine keeps in the cache that is not told otherwise: FP8 where the checkpoint has scales
// for it, else activations as they are (vLLM and SGLang, --kv-cache-dtype auto). `arch` may be
// NULL.
NumFmt launch_kv_format(const Arch *arch, NumFmt activations);

// How tokens are sent to experts by an engine that is not told otherwise: FP8 where the experts
// compute in it, else as activations are. `arch` may be NULL.
NumFmt launch_dispatch_format(const Arch *arch, NumFmt activations);

// Whether the engine can do what the plan says; `err` names the pool, what it has and what could be
// done instead.
bool launch_check(const LaunchInput *in, Err *err);

// All flags of one invocation; strings are the arena's. The plan has passed launch_check.
bool launch_settings(const LaunchInput *in, LaunchPart part, Arena *arena, LaunchList *out,
                     Err *err);
void launch_list_free(LaunchList *list);

// All lines: comments, servers, router, benchmark. Begins with launch_check.
bool launch_write(const LaunchInput *in, Text *out, Err *err);

#endif
