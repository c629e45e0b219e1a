// The command detect: the machine that it runs on as a topology file.
#ifndef EXEC_DETECT_H
#define EXEC_DETECT_H

#include "model/base/cli.h"
#include "model/machine/topology.h"

// Added to `out`, or written to --output; false with a message.
bool detect_command(const CliArgs *args, Text *out, Err *err);

// A machine of `cores` cores, one of them the place of one rank, that share memory: what detect
// makes of one without GPUs. `found` and `finder` are what its name and its source say. Freed by
// topology_free.
bool detect_cores(uint32_t cores, const char *found, const char *finder, Topology *out, Err *err);

#endif
