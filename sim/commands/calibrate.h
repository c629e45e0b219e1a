// The command calibrate: constants of the price model fitted to measurements of our own.
#ifndef SIM_COMMANDS_CALIBRATE_H
#define SIM_COMMANDS_CALIBRATE_H

#include "model/base/cli.h"

// Returns the exit status: 1 when a limit of --max-mape or --max-worst is exceeded.
int calibrate_command(const CliArgs *args);

#endif
