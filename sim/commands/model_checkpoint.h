// moesim model --checkpoint: the files of a checkpoint against the model.
#ifndef SIM_COMMANDS_MODEL_CHECKPOINT_H
#define SIM_COMMANDS_MODEL_CHECKPOINT_H

#include "model/base/cli.h"
#include "model/moe/arch.h"

// `arch` is what args says. Returns the exit status: 0 when all is as it should be, 1 with
// findings, 2 when a file cannot be used at all.
int model_checkpoint_check(const CliArgs *args, const Arch *arch);

#endif
