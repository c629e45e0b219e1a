// moesim model: what a config.json says, checked and counted.
#ifndef SIM_COMMANDS_MODEL_H
#define SIM_COMMANDS_MODEL_H

#include "model/base/cli.h"

int model_command(const CliArgs *args);

#endif
