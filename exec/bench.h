// The command bench: times of messages, collectives and kernels, sample by sample.
#ifndef EXEC_BENCH_H
#define EXEC_BENCH_H

#include "model/base/cli.h"

// Results are added to `out`; false with a message.
bool bench_command(const CliArgs *args, Text *out, Err *err);

#endif
