// `--compute model` of moesim-run: the model of a plan (--model, --plan) as the compute unit of a
// run, and the files that it leaves (--logits, --write-load).
#ifndef EXEC_FORWARD_COMMAND_H
#define EXEC_FORWARD_COMMAND_H

#include <stdbool.h>

#include "exec/compute.h"
#include "model/base/cli.h"
#include "model/base/text.h"

// As ComputeKind says. Refuses a schedule that is not the plan's for the model, by digest. Where
// the shape has more cached tokens than new ones, caches begin with seeded values. `file` is not
// read.
bool forward_command_open(const char *file, const Job *job, const CliArgs *args, ComputeUnit *out,
                          Err *err);
// After the run: writes the files, and adds a line about the choices of experts to `out`.
bool forward_command_finish(const ComputeUnit *unit, const CliArgs *args, Text *out, Err *err);
void forward_command_close(ComputeUnit *unit);

#endif
