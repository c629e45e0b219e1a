// moesim rank: which plan?
#ifndef SIM_COMMANDS_RANK_H
#define SIM_COMMANDS_RANK_H

#include "model/base/cli.h"

int rank_command(const CliArgs *args);

#endif
