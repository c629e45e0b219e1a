// The command scale: a smaller plan and model with the communication pattern of a saved plan.
#ifndef SIM_COMMANDS_SCALE_H
#define SIM_COMMANDS_SCALE_H

#include "model/base/cli.h"

// Returns the exit status.
int scale_command(const CliArgs *args);

#endif
