// All that a simulation needs, read and checked once: machine, model, workload, constants.
#ifndef SIM_COMMANDS_INPUTS_H
#define SIM_COMMANDS_INPUTS_H

#include <stdbool.h>

#include "model/base/cli.h"
#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/cost/calib.h"
#include "model/cost/price.h"
#include "model/machine/device.h"
#include "model/machine/fabric.h"
#include "model/machine/topology.h"
#include "model/moe/arch.h"
#include "model/plan/library.h"
#include "model/plan/load.h"
#include "model/plan/plan.h"
#include "model/plan/scenario.h"
#include "sim/search/evaluate.h"
#include "sim/search/space.h"

// A file as it was read, for a copy beside saved plans.
typedef struct InputFile {
    const char *path;
    char *bytes;
    size_t count;
} InputFile;

// Pointers inside point into it: not copied, not moved.
typedef struct Inputs {
    Arena arena;
    DeviceCatalogue catalogue;
    Libraries libraries; // of communication
    Topology topology;
    Fabric fabric;
    const Device *device;   // of every GPU; for transfers alone, of the first
    const char *generation; // of the constants; "" for those of all
    Scenario scenario;
    Arch arch;
    Calib calib;
    PriceModel model;
    Load load;     // of experts; uniform unless --load or a saved plan says more
    Load expected; // for which EPLB placed the experts of a saved plan, when --load gives
                   // it another one
    bool has_expected;
    SpaceExperts experts;  // of --redundant-experts and --eplb
    uint32_t flow_eps_ppb; // of --flow-eps
    InputFile calib_file;
    ArchInput arch_files;
    const char *topology_name, *scenario_name; // as given, or the default
    const char *assume;                        // "" when nothing was assumed
    uint64_t sequences;    // of a saved plan, per attention-DP rank and micro-batch
    bool default_scenario; // nobody named one
    bool catalogue_price;  // the price is the device's
} Inputs;

// From the options of rank, the faults of --degrade included.
bool inputs_load(const CliArgs *args, Inputs *out, Err *err);
// The same on one of several machines; its price is the catalogue's or the scenario's, --price is
// the caller's.
bool inputs_load_on(const CliArgs *args, const char *machine, Inputs *out, Err *err);
// Machine and constants alone, for transfers: --topo, --degrade and --calibration. GPUs may differ.
bool inputs_load_machine(const CliArgs *args, Inputs *out, Err *err);
// From the files beside a saved plan of one pool; refuses files whose digest is not the plan's.
bool inputs_load_beside(const char *plan_path, const PlanFile *plan, Inputs *out, Err *err);
// The same of a plan with any pools.
bool inputs_load_pools(const char *plan_path, const PlanFile *plan, Inputs *out, Err *err);
// With --load, the load of the plan becomes the one that was expected.
bool inputs_replace_load(const CliArgs *args, Inputs *inputs, Err *err);
// The machine again with the faults of --degrade.
bool inputs_degrade(const CliArgs *args, Inputs *inputs, Err *err);
// Another machine, with --device and --degrade; or another model, whose bytes are kept.
bool inputs_replace_machine(const CliArgs *args, const char *name, Inputs *inputs, Err *err);
bool inputs_replace_model(const ArchInput *files, Inputs *inputs, Err *err);
void inputs_free(Inputs *inputs);

// The load as it is; and with few classes of ranks, as plans are ranked and saved.
EvaluateInput inputs_for_evaluation(const Inputs *inputs);
EvaluateInput inputs_for_ranking(const Inputs *inputs);

#endif
