// The options --samples and --seed: steps of a plan under sampled loads, and their percentiles.
#ifndef SIM_COMMANDS_SAMPLES_H
#define SIM_COMMANDS_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/cli.h"
#include "model/base/err.h"
#include "model/base/jsonw.h"
#include "model/base/text.h"
#include "model/plan/plan.h"
#include "sim/commands/inputs.h"
#include "sim/search/tails.h"

#define SAMPLES_TOKENS_MAX 16384 // of a layer of one sample: about a second for 58 layers of 256

// What is drawn. `count` 0: nothing.
typedef struct Samples {
    uint32_t count;
    uint64_t seed;       // of the tokens; the popularity of the experts is that of --load
    RoutingSpec routing; // without the tokens
} Samples;

// Refused: samples with a --load that is a file, or that is missing.
bool samples_read(const CliArgs *args, const Arch *arch, Samples *out, Err *err);

// Steps of a simulated phase, `lag` passes each, under every sample and under the shares that the
// law states; the time of the engine between steps is in all of them.
bool samples_run(const Samples *samples, const Inputs *inputs, const Pool *pool,
                 const EvaluatePhase *phase, uint32_t lag, Tails *out, Err *err);

// "100 loads of zipf:0.8, seed 1"
void samples_add(const Samples *samples, Text *out);
// The members "samples", "load_law", "seed" of the open object; and the times of one phase.
void samples_write(JsonWriter *writer, const Samples *samples);
void samples_write_tails(JsonWriter *writer, const char *key, const Tails *tails);

#endif
