// The machine that an option or operand names, with what other options change of it.
#ifndef SIM_COMMANDS_MACHINE_OPTION_H
#define SIM_COMMANDS_MACHINE_OPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/cli.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/machine/device.h"
#include "model/machine/topology.h"

// Reads `name` as topology_load does; then --device names its GPUs and --degrade takes parts of it
// away, where the command has these options.
bool machine_option_load(const CliArgs *args, const char *name, const DeviceCatalogue *catalogue,
                         Topology *out, Err *err);

// Cuts "a+b" (or another separator) into at most `most` names, which are the arena's. `option` is
// for messages.
bool machine_option_split(const char *option, const char *names, char separator, uint32_t most,
                          Arena *arena, const char **out, uint32_t *out_count, Err *err);

#endif
