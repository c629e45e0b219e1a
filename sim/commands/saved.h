// The folder that `rank --save` writes: copies of the inputs, one file per plan shown, the ranking
// itself.
//
//   topology.json scenario.json calibration.json MODEL.json plan-001.json ... rank.json
//
// and load.json, when the load of experts is not uniform.
#ifndef SIM_COMMANDS_SAVED_H
#define SIM_COMMANDS_SAVED_H

#include <stdbool.h>

#include "model/base/err.h"
#include "model/base/jsonw.h"
#include "model/base/text.h"
#include "sim/commands/inputs.h"
#include "sim/search/rank.h"

// More sequences than any engine batches; a bound for edited files.
#define SAVED_SEQUENCES_MAX 1000000000

// The figures of an evaluation as members of the open object; keys name their units.
void saved_write_figures(JsonWriter *writer, const Evaluation *evaluation);

// The prediction that a plan file carries: what was assumed of the model, the batch, the figures
// and a digest of the simulated timelines. Equal text means an equal simulation, bit for bit.
void saved_write_result(const char *assume, uint64_t sequences, const Evaluation *evaluation,
                        Text *out);

// What `result` says was assumed, and the sequences per attention-DP rank and micro-batch.
bool saved_read_result(const char *result, Arena *arena, const char **out_assume,
                       uint64_t *out_sequences, Err *err);

// Writes everything; `rank_json` is the ranking as JSON. The folder must exist and be empty.
bool saved_write(const char *folder, const Inputs *inputs, const Ranking *ranking, uint32_t plans,
                 const Text *rank_json, Err *err);

#endif
