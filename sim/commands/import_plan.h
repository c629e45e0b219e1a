// moesim import-plan: the plan that the lines of an engine start.
#ifndef SIM_COMMANDS_IMPORT_PLAN_H
#define SIM_COMMANDS_IMPORT_PLAN_H

#include "model/base/cli.h"

int import_plan_command(const CliArgs *args);

#endif
