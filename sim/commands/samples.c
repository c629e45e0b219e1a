// Sampled loads of the law that --load names.
//
// Invariant: sample i of a seed is the same for every plan and phase with as many tokens. Other
// seeds draw other tokens from the same popularity, so that the expected load is the one that was
// priced.
#include "sim/commands/samples.h"

#include <inttypes.h>

#include "model/base/mem.h"
#include "model/plan/pool_place.h"
#include "model/base/num.h"
#include "sim/commands/load_option.h"

bool samples_read(const CliArgs *args, const Arch *arch, Samples *out, Err *err) {
    Samples samples = {.seed = cli_count(args, "seed")};
    uint64_t count = cli_count(args, "samples");
    if (count > TAILS_SAMPLES_MAX)
        return err_set(err, "--samples: expected at most %d, found %" PRIu64, TAILS_SAMPLES_MAX,
                       count);
    if (count == 0 && cli_is_given(args, "seed"))
        return err_set(err, "--seed: expected --samples with it, whose tokens it names");
    samples.count = (uint32_t)count;
    if (count > 0 && !load_option_law(args, arch, &samples.routing, err))
        return err_prefix(err, "--samples");
    *out = samples;
    return true;
}

// All attention-DP ranks of a stage send to the same experts. Shares of many tokens hardly spread:
// larger steps are drawn from fewer tokens, which spreads them a little more than they are.
static RoutingSpec routing_of(const Samples *samples, const Pool *pool, const StepShape *shape) {
    RoutingSpec routing = samples->routing;
    routing.tokens = shape->tokens < SAMPLES_TOKENS_MAX / pool->dp ? shape->tokens * pool->dp
                                                                   : SAMPLES_TOKENS_MAX;
    routing.draw = samples->seed * TAILS_SAMPLES_MAX; // wraps round: seeds are names, not sizes
    return routing;
}

static void add_engine_time(const Calib *calib, uint32_t lag, Tails *tails) {
    Time engine_ps =
        num_round(calib->values[CALIB_STEP_OVERHEAD].value * (double)PS_PER_SECOND * lag);
    for (uint32_t i = 0; i < tails->samples; i++) tails->times[i] += engine_ps;
    tails->even_ps += engine_ps;
    tails->expected_ps += engine_ps;
}

bool samples_run(const Samples *samples, const Inputs *inputs, const Pool *pool,
                 const EvaluatePhase *phase, uint32_t lag, Tails *out, Err *err) {
    uint32_t *places;
    if (!pool_place_order(&inputs->fabric, pool, &places, err)) return false;
    TailsInput input = {.fabric = &inputs->fabric,
                        .model = &inputs->model,
                        .schedule = &phase->schedule,
                        .shape = &phase->shape,
                        .options = {.first_gpu = pool->first_gpu,
                                    .places = places,
                                    .flow_eps_ppb = inputs->flow_eps_ppb},
                        .lag = lag,
                        .routing = routing_of(samples, pool, &phase->shape),
                        .samples = samples->count,
                        .pool = pool,
                        .arch = &inputs->arch,
                        .expected = inputs->has_expected ? &inputs->expected : &inputs->load,
                        .nodes = evaluate_nodes(&inputs->fabric, pool)};
    bool done = tails_run(&input, out, err);
    mem_free(places);
    if (!done) return err_prefix(err, "--samples");
    add_engine_time(&inputs->calib, lag, out);
    return true;
}

void samples_add(const Samples *samples, Text *out) {
    text_addf(out, "%" PRIu32 " load%s of ", samples->count, samples->count == 1 ? "" : "s");
    routing_add_law(&samples->routing.law, out);
    text_addf(out, ", seed %" PRIu64 " (of at most %d tokens, enough for larger steps)",
              samples->seed, SAMPLES_TOKENS_MAX);
}

void samples_write(JsonWriter *writer, const Samples *samples) {
    Text law = {0};
    routing_add_law(&samples->routing.law, &law);
    jsonw_u64(writer, "samples", samples->count);
    jsonw_string(writer, "load_law", text_string(&law));
    jsonw_u64(writer, "seed", samples->seed);
    text_free(&law);
}

void samples_write_tails(JsonWriter *writer, const char *key, const Tails *tails) {
    jsonw_open_object(writer, key);
    jsonw_double(writer, "even_s", units_seconds(tails->even_ps));
    jsonw_double(writer, "expected_s", units_seconds(tails->expected_ps));
    jsonw_double(writer, "p50_s", units_seconds(tails_percentile(tails, 50)));
    jsonw_double(writer, "p95_s", units_seconds(tails_percentile(tails, 95)));
    jsonw_double(writer, "p99_s", units_seconds(tails_percentile(tails, 99)));
    jsonw_close_object(writer);
}
