// Inputs of launch lines.
#include "tests/plan/hand_launch.h"

#include "tests/check.h"

void hand_launch_open(HandLaunch *out, LaunchEngine engine, const char *version, const char *model,
                      const char *topology) {
    Err err = {0};
    *out = (HandLaunch){0};
    check_ok(arch_load(model, NULL, 0, &out->arch, &err), &err);
    check_ok(device_load(&out->catalogue, &err), &err);
    check_ok(topology_load(topology, &out->topology, &err), &err);
    check_ok(fabric_build(&out->topology, &out->catalogue, &out->fabric, &err), &err);
    check_ok(scenario_load("tests/golden/launch/scenario.json", &out->scenario, &err), &err);
    check_ok(launch_flags_load(engine, version, &out->flags, &err), &err);
    for (uint32_t i = 0; i < LAUNCH_ENGINE_COUNT; i++)
        check_ok(launch_flags_load((LaunchEngine)i, NULL, &out->all[i], &err), &err);
    out->in = (LaunchInput){.arch = &out->arch,
                            .model = out->arch.name,
                            .flags = &out->flags,
                            .machine = {.name = out->topology.name,
                                        .gpus = out->fabric.gpu_count,
                                        .node_gpus = out->fabric.node_size,
                                        .domain_gpus = out->fabric.domain_size,
                                        .node_nics = out->fabric.node_size,
                                        .nic = ""},
                            .scenario = &out->scenario,
                            .prediction = ""};
}

void hand_launch_close(HandLaunch *hand) {
    for (uint32_t i = 0; i < LAUNCH_ENGINE_COUNT; i++) launch_flags_free(&hand->all[i]);
    launch_flags_free(&hand->flags);
    scenario_free(&hand->scenario);
    fabric_free(&hand->fabric);
    topology_free(&hand->topology);
    device_free(&hand->catalogue);
    arch_free(&hand->arch);
}

bool hand_launch_round(HandLaunch *hand, const Plan *plan, Plan *out, Err *why) {
    Err err = {0};
    Text text = {0};
    hand->in.plan = plan;
    bool written = launch_write(&hand->in, &text, why == NULL ? &err : why);
    if (why == NULL) check_ok(written, &err);
    if (written)
        check_ok(launch_parse_plan("lines", text.data, text.length, hand->all, &hand->arch, out,
                                   NULL, &err),
                 &err);
    text_free(&text);
    return written;
}

void hand_launch_check_same(const Plan *got, const Plan *want) {
    PlanFile a = {.plan = *got}, b = {.plan = *want};
    Text left = {0}, right = {0};
    plan_write(&a, &left);
    plan_write(&b, &right);
    check_text_equals(text_string(&left), text_string(&right));
    text_free(&left);
    text_free(&right);
}
