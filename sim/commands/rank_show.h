// A ranking as people read it, and its table as CSV.
#ifndef SIM_COMMANDS_RANK_SHOW_H
#define SIM_COMMANDS_RANK_SHOW_H

#include "model/base/text.h"
#include "sim/commands/inputs.h"
#include "sim/search/rank.h"

// Resolved inputs, headline, table of the first `plans` rows, what the figures mean, ledger,
// counts.
void rank_show_text(const Inputs *inputs, const Ranking *ranking, uint32_t plans, Text *out);
void rank_show_csv(const Ranking *ranking, uint32_t plans, Text *out);

// The resolved inputs alone, for other commands.
void rank_show_inputs(const Inputs *inputs, Text *out);

#endif
