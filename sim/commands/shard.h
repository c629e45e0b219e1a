// moesim shard: which bytes of which files each rank of a plan reads.
#ifndef SIM_COMMANDS_SHARD_H
#define SIM_COMMANDS_SHARD_H

#include "model/base/cli.h"

int shard_command(const CliArgs *args);

#endif
