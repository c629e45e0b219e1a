// moesim model --tensors: every tensor that a checkpoint of the model has.
#ifndef SIM_COMMANDS_MODEL_TENSORS_H
#define SIM_COMMANDS_MODEL_TENSORS_H

#include <stdint.h>

#include "model/moe/arch.h"

// Writes to stdout; `format` is the choice of --format. Returns the exit status.
int model_tensors_list(const Arch *arch, uint32_t format);

#endif
