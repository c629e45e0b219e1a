// rank --samples: the first plans of a ranking under sampled loads.
#ifndef SIM_COMMANDS_RANK_TAILS_H
#define SIM_COMMANDS_RANK_TAILS_H

#include "sim/commands/samples.h"
#include "sim/search/rank.h"

#define RANK_TAILS_PLANS 3 // each sample is a simulation of all ranks

// A zeroed RankTails is empty.
typedef struct RankTails {
    Samples samples;
    Tails decode[RANK_TAILS_PLANS]; // of the first `count` plans
    uint32_t count;
} RankTails;

// Of the first of the `plans` that are shown, if --samples asks for any.
bool rank_tails_run(const CliArgs *args, const Inputs *inputs, const Ranking *ranking,
                    uint32_t plans, RankTails *out, Err *err);
void rank_tails_free(RankTails *tails);

void rank_tails_show(const RankTails *tails, const Ranking *ranking, Text *out);
void rank_tails_write(JsonWriter *writer, const RankTails *tails); // the member "sampled_tpot"

#endif
