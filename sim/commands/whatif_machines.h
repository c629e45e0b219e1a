// The machines of --topo, one or several joined by +, each with all that a search needs.
#ifndef SIM_COMMANDS_WHATIF_MACHINES_H
#define SIM_COMMANDS_WHATIF_MACHINES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/cli.h"
#include "model/base/err.h"
#include "sim/commands/inputs.h"
#include "sim/search/sweep.h"

// A zeroed one is empty.
typedef struct WhatifMachines {
    Arena arena;
    Inputs *inputs;         // heap; they point into themselves
    SweepMachine *machines; // the arena's; they borrow the inputs
    uint32_t count;
} WhatifMachines;

// From the options of rank, of which --price is DOLLARS for all machines, or NAME=DOLLARS,... by
// the name of a machine or of its GPUs.
bool whatif_machines_load(const CliArgs *args, WhatifMachines *out, Err *err);
void whatif_machines_free(WhatifMachines *machines);

// "$1.99 for a GPU and hour (device catalogue: ...)": where the price comes from.
void whatif_machines_add_price(const Inputs *inputs, Text *out);

#endif
