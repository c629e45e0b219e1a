// decode_bench MACHINE [FAULTS]: one decode step of DeepSeek-V3 on all GPUs of a machine, in expert
// groups of 64 consecutive GPUs (attention-DP 64, EP 64, no TP), 64 sequences of 4,096 tokens a
// GPU, as one line of numbers:
//
//   BUILD_S LOWER_S RUN_S PEAK_KIB GPUS GROUPS STEP_US SOLVES
//
// The first three are CPU seconds: of reading the machine and the model and building the fabric,
// of the schedule, and of the simulation.
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "model/cost/calib.h"
#include "model/machine/fabric.h"
#include "model/machine/topology_degrade.h"
#include "model/moe/arch.h"
#include "model/plan/lower.h"
#include "model/plan/step_shape.h"
#include "sim/sim.h"

enum { GROUP = 64, SEQUENCES = 64, CONTEXT = 4096 };

typedef struct Setting {
    DeviceCatalogue catalogue;
    Topology topology;
    Fabric fabric;
    Arch arch;
    Calib calib;
} Setting;

static double cpu_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static bool open_setting(const char *machine, const char *faults, Setting *out, Err *err) {
    return device_load(&out->catalogue, err) && topology_load(machine, &out->topology, err) &&
           (faults == NULL || topology_degrade_add(&out->topology, "FAULTS", faults, err)) &&
           fabric_build(&out->topology, &out->catalogue, &out->fabric, err) &&
           arch_load("deepseek-v3.json", NULL, 0, &out->arch, err) &&
           calib_load(NULL, fabric_device(&out->fabric, 0)->generation, &out->calib, err);
}

static Plan make_plan(uint32_t gpus, const Arch *arch) {
    Plan plan = {.pool_count = 1};
    plan.pools[0] = (Pool){.kind = POOL_UNIFIED,
                           .tp = 1,
                           .pp = 1,
                           .dp = GROUP,
                           .ep = GROUP,
                           .moe_tp = 1,
                           .cp = 1,
                           .replicas = gpus / GROUP,
                           .placement = PLACEMENT_LINEAR,
                           .micro_batches = 1,
                           .moe_comm = MOE_COMM_ALL_TO_ALL,
                           .kv_format = NUMFMT_BF16,
                           .activation_format = arch->dtype,
                           .dispatch_format = NUMFMT_FP8};
    return plan;
}

static bool run(const Setting *setting, double started_s, Err *err) {
    double built_s = cpu_s();
    uint32_t gpus = setting->fabric.gpu_count;
    PriceModel model = {.device = fabric_device(&setting->fabric, 0), .calib = &setting->calib};
    Plan plan = make_plan(gpus, &setting->arch);
    if (!plan_legal(&plan, &setting->arch, err)) return false;
    Schedule schedule = {0};
    lower_plan(&plan, 0, &setting->arch, PHASE_DECODE, 1, &schedule);
    StepShape shape = step_shape_decode(SEQUENCES, CONTEXT);
    Load load = load_uniform();
    double lowered_s = cpu_s();
    Timeline timeline = {0};
    SimOptions options = {.form = SIM_AUTO};
    bool is_done =
        sim_run(&setting->fabric, &model, &schedule, &shape, &load, &options, &timeline, err);
    double ended_s = cpu_s();
    if (is_done) {
        struct rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        printf("%.6f %.6f %.6f %ld %lu %lu %.3f %llu\n", built_s - started_s, lowered_s - built_s,
               ended_s - lowered_s, usage.ru_maxrss, (unsigned long)gpus,
               (unsigned long)(gpus / GROUP), (double)timeline.end_ps / 1e6,
               (unsigned long long)timeline.events);
        timeline_free(&timeline);
    }
    schedule_free(&schedule);
    return is_done;
}

int main(int argc, char **argv) {
    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: decode_bench MACHINE [FAULTS]\n");
        return 2;
    }
    double started_s = cpu_s();
    Setting setting = {0};
    Err err = {0};
    bool is_done = open_setting(argv[1], argc == 3 ? argv[2] : NULL, &setting, &err) &&
                   run(&setting, started_s, &err);
    if (!is_done) fprintf(stderr, "decode_bench: %s\n", err.text);
    calib_free(&setting.calib);
    arch_free(&setting.arch);
    fabric_free(&setting.fabric);
    topology_free(&setting.topology);
    device_free(&setting.catalogue);
    return is_done ? 0 : 1;
}
