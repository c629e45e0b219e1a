// The commands of moesim: one table for parsing, help, manual and completion, and the functions
// behind it.
#ifndef SIM_COMMANDS_H
#define SIM_COMMANDS_H

#include "model/base/cli.h"

extern const CliProgram commands_moesim;

// True for commands that moesim-NAME beside this program carries out.
bool commands_is_program(const char *name);

// Runs what was parsed; returns the exit status: 0 yes, 1 no (nothing feasible, a comparison
// failed), 2 bad use or bad input.
int commands_run(const CliArgs *args);

#endif
