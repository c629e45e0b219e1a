// Machines for the command fit: from a topology, or so many GPUs of one device behind a switch.
#ifndef SIM_COMMANDS_FIT_MACHINE_H
#define SIM_COMMANDS_FIT_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/cli.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/machine/device.h"

// Memory outside of the GPUs that weights or cache may be put into.
typedef struct FitTier {
    const char *name;   // class of the parts, "node.dram"; NULL: the machine has none
    uint64_t share_B;   // for each GPU, when all use it evenly
    uint64_t share_Bps; // likewise, from there to a GPU
} FitTier;

typedef struct FitMachine {
    const char *name;
    const Device *device; // of every GPU
    uint64_t memory_B;    // of one GPU
    uint32_t gpus;
    uint32_t group; // GPUs that TP and fast exchange stay within: a scale-up domain, or a node
    FitTier tier;
} FitMachine;

// The machines of --topo, joined by '+' ("hgx-h100+nvl72"), with --device. `tier` names the memory
// to look for ("dram"), NULL: none is looked for. Arrays are the arena's; the catalogue is
// borrowed.
bool fit_machine_load(const CliArgs *args, const char *tier, const DeviceCatalogue *catalogue,
                      Arena *arena, FitMachine **out, uint32_t *out_count, Err *err);
// "H100 SXM+B200" or "all": `gpus` of each device, as one group.
bool fit_machine_devices(const char *names, uint32_t gpus, const DeviceCatalogue *catalogue,
                         Arena *arena, FitMachine **out, uint32_t *out_count, Err *err);

#endif
