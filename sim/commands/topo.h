// moesim topo: a machine, checked and summarised.
#ifndef SIM_COMMANDS_TOPO_H
#define SIM_COMMANDS_TOPO_H

#include "model/base/cli.h"

int topo_command(const CliArgs *args);

#endif
