// The command check: whether an engine starts a plan.
#ifndef SIM_COMMANDS_CHECK_H
#define SIM_COMMANDS_CHECK_H

#include "model/base/cli.h"

int check_command(const CliArgs *args);

#endif
