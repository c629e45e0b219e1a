// The command run: a schedule on the host back end, filled with seeded bytes.
#ifndef EXEC_RUN_H
#define EXEC_RUN_H

#include "model/base/cli.h"

// Results on stdout; false with a message.
bool run_command(const CliArgs *args, Text *out, Err *err);

#endif
