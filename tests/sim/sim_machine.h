// Machines and schedules for tests of the simulator.
#ifndef TESTS_SIM_SIM_MACHINE_H
#define TESTS_SIM_SIM_MACHINE_H

#include "model/plan/schedule.h"
#include "sim/sim.h"

#define PS_PER_US 1000000
#define PS_PER_NS 1000

// A machine to simulate on: its links as nominal (all efficiencies 1), software times 0 unless a
// test sets them.
typedef struct SimMachine {
    Topology topology;
    DeviceCatalogue catalogue;
    Fabric fabric;
    Device device;
    Calib calib;
    PriceModel model;
} SimMachine;

// One role of all ranks with a block of `ops` of collectives.
typedef struct Collect {
    Collective kind;
    Algorithm algorithm;
    uint64_t bytes;
    uint32_t size, stride, times;
} Collect;

void sim_machine_init(SimMachine *bench); // all but the topology and the fabric
void sim_machine_open(SimMachine *bench, const char *json);
void sim_machine_close(SimMachine *bench);
char *sim_machine_switch(Arena *arena, uint32_t gpus, uint32_t planes, const char *bandwidth);
char *sim_machine_rails(Arena *arena, uint32_t units, uint32_t nodes, uint32_t gpus,
                        uint32_t spines);
// `racks` of `trays` of 2 GPUs with 2 NICs on two rails; 3 planes of 50 GB/s join the GPUs of a
// rack.
char *sim_machine_racks(Arena *arena, uint32_t racks, uint32_t trays);
void sim_machine_collect(Schedule *schedule, uint32_t ranks, const Collect *collect);
void sim_machine_run(SimMachine *bench, const Schedule *schedule, SimForm form, Timeline *out);
Time sim_machine_time(SimMachine *bench, const Schedule *schedule, SimForm form);
Op sim_machine_memory_op(const char *name, uint32_t stream, uint64_t bytes);

#endif
