// moesim tenants: several plans on one machine.
#ifndef SIM_COMMANDS_TENANTS_H
#define SIM_COMMANDS_TENANTS_H

#include "model/base/cli.h"

int tenants_command(const CliArgs *args);

#endif
