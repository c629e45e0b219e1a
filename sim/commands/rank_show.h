// A ranking as people read it, and its table as CSV.
#ifndef SIM_COMMANDS_RANK_SHOW_H
#define SIM_COMMANDS_RANK_SHOW_H

#include "model/base/table.h"
#include "model/base/text.h"
#include "sim/commands/inputs.h"
#include "sim/search/rank.h"

// Resolved inputs, headline, table of the first `plans` rows, what the figures mean, ledger,
// counts.
void rank_show_text(const Inputs *inputs, const Ranking *ranking, uint32_t plans, Text *out);

// The same in parts. `rows` are the `count` rows to show, by position; NULL: the first ones.
void rank_show_headline(const Inputs *inputs, const Ranking *ranking, Text *out);
void rank_show_table(const Ranking *ranking, const uint32_t *rows, uint32_t count, Table *out);
void rank_show_meaning(const Inputs *inputs, const Ranking *ranking, Text *out);
void rank_show_ledger(const Space *space, Table *out);
void rank_show_counts(const Ranking *ranking, uint32_t shown, Text *out);
void rank_show_csv(const Ranking *ranking, const uint32_t *rows, uint32_t count, Text *out);

// The resolved inputs alone, for other commands.
void rank_show_inputs(const Inputs *inputs, Text *out);

#endif
