// moesim simulate PLAN: a saved plan, again.
#ifndef SIM_COMMANDS_SIMULATE_H
#define SIM_COMMANDS_SIMULATE_H

#include "model/base/cli.h"

int simulate_command(const CliArgs *args);

#endif
