// The best plan for each of several numbers of requests.
#ifndef SIM_COMMANDS_RANK_RANGE_H
#define SIM_COMMANDS_RANK_RANGE_H

#include "model/base/cli.h"
#include "sim/commands/inputs.h"
#include "sim/commands/rank_option.h"

// Doubles --concurrency from its first to its last value; prints one row for each.
int rank_range_command(const CliArgs *args, const Inputs *inputs, const RankOption *option);

#endif
