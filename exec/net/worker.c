// The process of one rank of the net back end.
//
// Invariant: the last message of a rank is DONE, and the one before is not lost when it failed.
#include "exec/net/worker.h"

#include <poll.h>

#include "exec/clock.h"
#include "exec/net/control.h"
#include "exec/result.h"

#define LOOK_MS 100 // how often a failed rank looks whether it may go

static bool tell_result(const ServeJob *job, const InterpResult *result, uint32_t rank, int out,
                        Err *err) {
    Text text = {0};
    result_pack(job->job, result, &text);
    bool good =
        text.length == 0 || control_write(out, CONTROL_RESULT, rank, text.data, text.length, err);
    text_free(&text);
    return good;
}

static void wait_until_stopped(const EndpointSetup *setup) {
    Time deadline = clock_now() + setup->time_out_ps;
    struct pollfd bell = {.fd = setup->shared->bells[setup->rank - setup->first], .events = POLLIN};
    while (!shared_is_stopped(setup->shared) && clock_now() < deadline) {
        poll(&bell, 1, LOOK_MS);
        shared_hear(setup->shared, setup->rank - setup->first);
    }
}

void worker_run(const ServeJob *job, const EndpointSetup *setup, int out) {
    Endpoint *endpoint = NULL;
    InterpResult result = {0};
    Err err = {0}, unheard = {0}; // without a reader there is nobody to tell
    bool good = endpoint_open(setup, &endpoint, &err);
    if (good) {
        BackEnd back_end = endpoint_back_end(endpoint);
        InterpOptions options = *job->options;
        options.ranks = &setup->rank;
        options.rank_count = 1;
        options.now = shared_now(setup->shared, setup->rank - setup->first);
        good = interp_run(job->job, &back_end, job->compute, &options, &result, &err) &&
               (endpoint_finish(endpoint, &err) || err_prefix(&err, "rank %u", setup->rank));
    }
    bool told = good || control_write_text(out, CONTROL_FAILED, setup->rank, err.text, &unheard);
    told = told && tell_result(job, &result, setup->rank, out, &unheard) &&
           control_write(out, CONTROL_DONE, setup->rank, NULL, 0, &unheard);
    if (told && !good) wait_until_stopped(setup);
    endpoint_close(endpoint);
    interp_free(&result);
}
