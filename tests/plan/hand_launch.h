// What launch lines are written from and read with, loaded by name.
#ifndef TESTS_PLAN_HAND_LAUNCH_H
#define TESTS_PLAN_HAND_LAUNCH_H

#include "model/machine/device.h"
#include "model/machine/fabric.h"
#include "model/machine/topology.h"
#include "model/plan/launch.h"
#include "model/plan/launch_parse.h"

// Pointers inside point into it: not copied, not moved.
typedef struct HandLaunch {
    Arch arch;
    DeviceCatalogue catalogue;
    Topology topology;
    Fabric fabric;
    Scenario scenario;
    LaunchFlags flags;                    // of the engine at the version asked for
    LaunchFlags all[LAUNCH_ENGINE_COUNT]; // at their last releases, to read with
    LaunchInput in;                       // but for the plan
} HandLaunch;

// Shipped names; `version` NULL: the last one. Ends the test when something is missing.
void hand_launch_open(HandLaunch *out, LaunchEngine engine, const char *version, const char *model,
                      const char *topology);
void hand_launch_close(HandLaunch *hand);

// The plan that the lines of `plan` give when they are read; NULL in `why` when it may not fail.
// True when the lines could be written.
bool hand_launch_round(HandLaunch *hand, const Plan *plan, Plan *out, Err *why);

// Both as files, so that a difference shows.
void hand_launch_check_same(const Plan *got, const Plan *want);

#endif
