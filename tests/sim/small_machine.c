// Loads what the tests of the search share.
#include "tests/check.h"

#include "tests/sim/small_machine.h"

void small_machine_open(SmallMachine *machine, const char *topology) {
    *machine = (SmallMachine){0};
    Err err = {0};
    check_ok(device_load(&machine->catalogue, &err), &err);
    check_ok(topology_load(topology, &machine->topology, &err), &err);
    check_ok(fabric_build(&machine->topology, &machine->catalogue, &machine->fabric, &err), &err);
    check_ok(arch_load("qwen3-30b-a3b.json", NULL, 0, &machine->arch, &err), &err);
    const Device *device = fabric_device(&machine->fabric, 0);
    check_ok(calib_load(NULL, device->generation, &machine->calib, &err), &err);
    machine->model = (PriceModel){.device = device, .calib = &machine->calib};
    scenario_init(&machine->scenario);
    machine->scenario.isl = 2048;
    machine->scenario.osl = 256;
    machine->scenario.concurrency = 32;
    scenario_rehash(&machine->scenario);
}

void small_machine_close(SmallMachine *machine) {
    scenario_free(&machine->scenario);
    calib_free(&machine->calib);
    arch_free(&machine->arch);
    fabric_free(&machine->fabric);
    topology_free(&machine->topology);
    device_free(&machine->catalogue);
}

EvaluateInput small_machine_input(const SmallMachine *machine) {
    return (EvaluateInput){.fabric = &machine->fabric,
                           .arch = &machine->arch,
                           .model = &machine->model,
                           .scenario = &machine->scenario};
}
