// Runs of hand-made schedules on the host back end.
#include "tests/exec/run_host.h"

#include "tests/check.h"

static const StepShape one_token = {.tokens = 1, .sequences = 1, .kv_tokens = 1, .qk_pairs = 1};

InterpResult run_host(const Schedule *schedule, InterpFill *fill) {
    InterpResult result = {0};
    Load load = load_uniform();
    HostInit init = {.fill = fill};
    Err err = {0};
    check_ok(host_run(schedule, &one_token, &load, &init, &result, &err), &err);
    return result;
}

void run_host_refused(const Schedule *schedule, const Load *load, const char *message) {
    InterpResult result = {0};
    HostInit init = {0};
    Err err = {0};
    check_fails(host_run(schedule, &one_token, load, &init, &result, &err), &err, message);
}
