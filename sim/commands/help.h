// help, version, man, completion: what the option table says about itself.
#ifndef SIM_COMMANDS_HELP_H
#define SIM_COMMANDS_HELP_H

#include "model/base/cli.h"

int help_command(const CliArgs *args);
int help_version(const CliArgs *args);
int help_man(const CliArgs *args);
int help_completion(const CliArgs *args);

#endif
