// The commands and options of moesim-run.
#ifndef EXEC_PROGRAM_H
#define EXEC_PROGRAM_H

#include "model/base/cli.h"

#define PROGRAM_VERSION "0.1.0"

extern const CliProgram program_moesim_run;

// Runs one command line. Results are added to `out`; false with a message when the use or the input
// is bad. A first word that looks like a file name, not like a command, is the operand of `run`, so
// that `moesim run SCHEDULE` works.
bool program_start(int argc, char **argv, Text *out, Err *err);

#endif
