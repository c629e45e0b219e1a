// What moesim shard works on: a plan, its model, perhaps a checkpoint, cut as an engine cuts it.
#ifndef SIM_COMMANDS_SHARD_INPUT_H
#define SIM_COMMANDS_SHARD_INPUT_H

#include <stdbool.h>

#include "model/base/cli.h"
#include "model/base/err.h"
#include "model/moe/arch.h"
#include "model/moe/checkpoint.h"
#include "model/plan/load.h"
#include "model/plan/plan.h"

typedef enum ShardEngine { SHARD_ENGINE_NONE, SHARD_ENGINE_VLLM, SHARD_ENGINE_SGLANG } ShardEngine;

// A zeroed one is empty. Pointers inside point into it: not moved.
typedef struct ShardInputs {
    Arena arena;
    PlanFile file;
    uint32_t pool;
    ShardEngine engine;
    Arch arch;
    Checkpoint checkpoint;
    bool has_checkpoint;
    Load load; // of the plan; uniform when it has none
} ShardInputs;

// OUTPUT_OK; OUTPUT_NO when the engine refuses the plan; OUTPUT_BAD for what cannot be read or is
// illegal.
int shard_input_read(const CliArgs *args, ShardInputs *out, Err *err);
void shard_input_free(ShardInputs *inputs);

#endif
