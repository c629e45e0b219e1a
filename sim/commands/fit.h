// The command fit: what fits where, term by term.
#ifndef SIM_COMMANDS_FIT_H
#define SIM_COMMANDS_FIT_H

#include "model/base/cli.h"

int fit_command(const CliArgs *args);

#endif
