// The command load.
#ifndef SIM_COMMANDS_LOAD_H
#define SIM_COMMANDS_LOAD_H

#include "model/base/cli.h"

// Makes a load by a law or reads one, prints how even it is; returns the exit status.
int load_command(const CliArgs *args);

#endif
