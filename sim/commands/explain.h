// moesim explain PLAN: where the time and the memory of a saved plan go.
#ifndef SIM_COMMANDS_EXPLAIN_H
#define SIM_COMMANDS_EXPLAIN_H

#include "model/base/cli.h"

int explain_command(const CliArgs *args);

#endif
