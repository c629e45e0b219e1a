// The time of a step over sampled loads.
//
// Invariant: all runs have the same schedule, shape and machine; only the load differs, and sample
// i depends on the seed and i alone. Percentiles are of simulated steps: nearest rank, nothing is
// interpolated.
#include "sim/search/tails.h"

#include <assert.h>
#include <stdlib.h>

#include "model/base/progress.h"
#include "model/plan/placed.h"
#include "model/plan/schedule_unroll.h"

// What all samples share.
typedef struct Sampler {
    const TailsInput *input;
    Schedule schedule;
    Load stated; // the shares that the law states
} Sampler;

static bool simulate(const Sampler *sampler, const Load *load, Time *out, Err *err) {
    const TailsInput *input = sampler->input;
    Timeline timeline = {0};
    if (!sim_run(input->fabric, input->model, &sampler->schedule, input->shape, load,
                 &input->options, &timeline, err))
        return false;
    uint32_t last = timeline.round_count - 1;
    const Time *ends = timeline.round_ps;
    *out = last >= input->lag ? ends[last] - ends[last - input->lag] : ends[last];
    timeline_free(&timeline);
    return true;
}

// A load of experts, where the pool has them.
static bool run_step(const Sampler *sampler, const Load *load, Time *out, Err *err) {
    const TailsInput *input = sampler->input;
    if (input->pool == NULL) return simulate(sampler, load, out, err);
    Placed placed = {0};
    PlacedSpec spec = {.load = load,
                       .expected = input->expected != NULL ? input->expected : &sampler->stated,
                       .nodes = input->nodes};
    bool done = placed_load(input->pool, input->arch, &spec, &placed, err) &&
                simulate(sampler, &placed.load, out, err);
    load_free(&placed.load);
    return done;
}

static bool run_sample(const Sampler *sampler, uint32_t number, Time *out, Err *err) {
    RoutingSpec spec = sampler->input->routing;
    Routing routing = {0};
    spec.draw += number;
    bool done = routing_sample(&spec, &routing, err) && run_step(sampler, &routing.load, out, err);
    routing_free(&routing);
    return done;
}

static int sooner_first(const void *a, const void *b) {
    Time x = *(const Time *)a, y = *(const Time *)b;
    return x < y ? -1 : x > y;
}

bool tails_run(const TailsInput *input, Tails *out, Err *err) {
    if (input->samples == 0 || input->samples > TAILS_SAMPLES_MAX)
        return err_set(err, "expected 1 to %d samples, found %u", TAILS_SAMPLES_MAX,
                       input->samples);
    Sampler sampler = {.input = input};
    if (!schedule_unroll_layers(input->schedule, &sampler.schedule, err)) return false;
    Load even = load_uniform();
    Tails tails = {.samples = input->samples};
    tails.times = mem_alloc(tails.samples, sizeof *tails.times);
    bool done = routing_expect(&input->routing, &sampler.stated, err) &&
                run_step(&sampler, &even, &tails.even_ps, err) &&
                run_step(&sampler, &sampler.stated, &tails.expected_ps, err);
    Progress progress;
    progress_start(&progress, "sampling loads", tails.samples);
    for (uint32_t i = 0; done && i < tails.samples; i++) {
        done = run_sample(&sampler, i, &tails.times[i], err);
        progress_step(&progress, i + 1);
    }
    progress_end(&progress);
    load_free(&sampler.stated);
    schedule_free(&sampler.schedule);
    if (!done) {
        tails_free(&tails);
        return false;
    }
    qsort(tails.times, tails.samples, sizeof *tails.times, sooner_first);
    *out = tails;
    return true;
}

void tails_free(Tails *tails) {
    mem_free(tails->times);
    *tails = (Tails){0};
}

Time tails_percentile(const Tails *tails, uint32_t percent) {
    assert(percent >= 1 && percent <= 100 && tails->samples > 0);
    uint64_t rank = ((uint64_t)percent * tails->samples + 99) / 100; // from 1 on
    return tails->times[rank - 1];
}
