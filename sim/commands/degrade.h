// --degrade: faults added to a machine, and what they cost, for all commands.
#ifndef SIM_COMMANDS_DEGRADE_H
#define SIM_COMMANDS_DEGRADE_H

#include <stdbool.h>

#include "model/base/cli.h"
#include "model/base/err.h"
#include "model/base/text.h"
#include "model/machine/fabric.h"
#include "model/machine/fabric_loss.h"
#include "model/machine/fabric_summary.h"
#include "model/machine/topology.h"
#include "model/plan/library.h"
#include "sim/commands/figures.h"

// Adds the faults of --degrade, if it was given, to a machine from which nothing was built yet.
bool degrade_topology(const CliArgs *args, Topology *topology, Err *err);

// A machine as built and as its faults leave it.
typedef struct DegradeMachine {
    FabricSummary built, left;
    FabricLoss loss;
} DegradeMachine;

// False only on an error; without faults both summaries are the same and nothing is lost.
bool degrade_measure(const Fabric *fabric, DegradeMachine *out, Err *err);

// The faults, a table of before and after, and the GPU that is hit hardest; nothing without faults.
void degrade_show_machine(const Fabric *fabric, const DegradeMachine *machine, Text *out);
void degrade_put_machine(const Figures *to, const Fabric *fabric, const DegradeMachine *machine);

// The faults of a machine on one line, without its end: the first few, and how many more.
void degrade_show_faults(const Topology *topology, Text *out);

// What jobs of communication libraries do that lose a NIC, in lines behind `indent` blanks, when a
// NIC or some of the network behind one was lost; without a machine, whatever was lost.
void degrade_show_libraries(const Fabric *fabric, const Libraries *libraries, size_t indent,
                            Text *out);
void degrade_add_libraries(const Libraries *libraries, size_t indent, Text *out);

// Who computes slowest, and who has the smallest part of its bandwidth left, a sentence each;
// nothing when no GPU lost any.
void degrade_show_worst(const Fabric *fabric, const FabricLoss *loss, Text *out);

#endif
