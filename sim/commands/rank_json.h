// A ranking as JSON: stable keys with units in their names, digests of all inputs.
#ifndef SIM_COMMANDS_RANK_JSON_H
#define SIM_COMMANDS_RANK_JSON_H

#include "model/base/jsonw.h"
#include "model/base/text.h"
#include "sim/commands/inputs.h"
#include "sim/commands/rank_tails.h"
#include "sim/search/rank.h"

// The first `plans` rows, the whole ledger; of a machine with faults also what they cost beside the
// ranking as built; with samples, their percentiles.
void rank_json_write(const Inputs *inputs, const Ranking *ranking, const Ranking *built,
                     uint32_t plans, const RankTails *tails, Text *out);

// Members of the open object, for other commands: "inputs", and "ledger".
void rank_json_write_inputs(JsonWriter *writer, const Inputs *inputs);
void rank_json_write_ledger(JsonWriter *writer, const Space *space);

#endif
