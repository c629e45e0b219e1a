// moesim validate: predictions beside published measurements.
#ifndef SIM_COMMANDS_VALIDATE_H
#define SIM_COMMANDS_VALIDATE_H

#include "model/base/cli.h"

int validate_command(const CliArgs *args);

#endif
