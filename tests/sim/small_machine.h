// A machine and a model that are small enough for tests to simulate every plan: Qwen3-30B-A3B on a
// few H100 around one switch.
#ifndef TESTS_SIM_SMALL_MACHINE_H
#define TESTS_SIM_SMALL_MACHINE_H

#include "model/cost/calib.h"
#include "model/cost/price.h"
#include "model/machine/device.h"
#include "model/machine/fabric.h"
#include "model/moe/arch.h"
#include "model/plan/scenario.h"
#include "sim/search/evaluate.h"

// Not moved: the parts point at each other.
typedef struct SmallMachine {
    DeviceCatalogue catalogue;
    Topology topology;
    Fabric fabric;
    Arch arch;
    Calib calib;
    PriceModel model;
    Scenario scenario; // ISL 2048, OSL 256, concurrency 32, no limits
} SmallMachine;

// `machine` is a synthetic string such as "switch:4,450GB/s". A failure fails the test.
void small_machine_open(SmallMachine *machine, const char *topology);
void small_machine_close(SmallMachine *machine);
EvaluateInput small_machine_input(const SmallMachine *machine);

#endif
