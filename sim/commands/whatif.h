// The command whatif: one or two inputs varied over the best plan.
#ifndef SIM_COMMANDS_WHATIF_H
#define SIM_COMMANDS_WHATIF_H

#include "model/base/cli.h"

int whatif_command(const CliArgs *args);

#endif
