// moesim simulate --topo T --collective K: one collective on a machine.
#ifndef SIM_COMMANDS_SIMULATE_COLLECTIVE_H
#define SIM_COMMANDS_SIMULATE_COLLECTIVE_H

#include "model/base/cli.h"

int simulate_collective_command(const CliArgs *args);

#endif
