// The best plan for each of several loads, of several sizes of the machine, or of both.
#ifndef SIM_COMMANDS_RANK_RANGE_H
#define SIM_COMMANDS_RANK_RANGE_H

#include "model/base/cli.h"
#include "sim/commands/inputs.h"
#include "sim/commands/rank_option.h"

// Doubles --concurrency, or --gpus, from its first to its last value; prints one row for each, and
// with --pareto the front over all.
int rank_range_command(const CliArgs *args, const Inputs *inputs, const RankOption *option);

#endif
