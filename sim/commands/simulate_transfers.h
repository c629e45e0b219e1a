// moesim simulate --topo T --transfers FILE: transfers between any parts of a machine.
#ifndef SIM_COMMANDS_SIMULATE_TRANSFERS_H
#define SIM_COMMANDS_SIMULATE_TRANSFERS_H

#include "model/base/cli.h"

int simulate_transfers_command(const CliArgs *args);

#endif
