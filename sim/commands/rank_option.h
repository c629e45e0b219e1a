// What rank is asked for beside its inputs: the objective, how wide the search is, and ranges.
#ifndef SIM_COMMANDS_RANK_OPTION_H
#define SIM_COMMANDS_RANK_OPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/cli.h"
#include "model/base/err.h"
#include "sim/commands/inputs.h"
#include "sim/search/rank.h"

// Pointers inside point into it: not copied, not moved.
typedef struct RankOption {
    RankOptions rank;
    EvaluatePaid paid;
    SpaceEngines engines;
    uint64_t least_requests, most_requests; // of --concurrency FIRST:LAST; equal without a range
} RankOption;

// "8" or "8:64": `*least` is 0 without a range.
bool rank_option_range(const char *flag, const char *text, uint64_t *least, uint64_t *most,
                       Err *err);
// Whether --concurrency is a range, of which inputs take the end.
bool rank_option_is_range(const CliArgs *args);

// Whether --gpus is one.
bool rank_option_has_sizes(const CliArgs *args);

bool rank_option_read(const CliArgs *args, const Inputs *inputs, RankOption *out, Err *err);
void rank_option_free(RankOption *option);

#endif
