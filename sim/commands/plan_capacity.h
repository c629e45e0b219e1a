// The command plan-capacity: machines and dollars for so many tokens a day.
#ifndef SIM_COMMANDS_PLAN_CAPACITY_H
#define SIM_COMMANDS_PLAN_CAPACITY_H

#include "model/base/cli.h"

int plan_capacity_command(const CliArgs *args);

#endif
