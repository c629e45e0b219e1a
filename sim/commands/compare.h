// The command compare.
#ifndef SIM_COMMANDS_COMPARE_H
#define SIM_COMMANDS_COMPARE_H

#include "model/base/cli.h"

int compare_command(const CliArgs *args);

#endif
