// moesim emit: the lines that start a saved plan on an engine.
#ifndef SIM_COMMANDS_EMIT_H
#define SIM_COMMANDS_EMIT_H

#include "model/base/cli.h"

int emit_command(const CliArgs *args);

#endif
