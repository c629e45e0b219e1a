// The folder that `rank --save` writes: copies of the inputs, one file per plan shown, the report,
// and how to make it again.
//
//   topology.json scenario.json calibration.json MODEL.json plan-001.json ...
//   report.json report.csv report.html reproduce.sh saved.json
//
// and load.json, when the load of experts is not uniform.
#ifndef SIM_COMMANDS_SAVED_H
#define SIM_COMMANDS_SAVED_H

#include <stdbool.h>

#include "model/base/cli.h"
#include "model/base/err.h"
#include "model/base/jsonw.h"
#include "model/base/text.h"
#include "sim/commands/inputs.h"
#include "sim/search/rank.h"

// More sequences than any engine batches; a bound for edited files.
#define SAVED_SEQUENCES_MAX 1000000000

// The figures of an evaluation as members of the open object; keys name their units.
void saved_write_figures(JsonWriter *writer, const Evaluation *evaluation);

// The prediction that a plan file carries: what was assumed of the model, the batch, the figures,
// and digests of the schedules and of the simulated timelines. Equal text means an equal
// simulation, bit for bit. The phases of the evaluation must have been kept.
void saved_write_result(const char *assume, uint64_t sequences, const Evaluation *evaluation,
                        Text *out);

// Whether two such texts are the same prediction. Whether one ends with a newline is the writer's
// habit, not part of it.
bool saved_is_same_result(const char *result, const char *other);

// What `result` says was assumed, and the sequences per attention-DP rank and micro-batch.
bool saved_read_result(const char *result, Arena *arena, const char **out_assume,
                       uint64_t *out_sequences, Err *err);

// Whether the folder of --save can be made, asked before minutes of simulation: it is new or empty
// or, with --force, all files in it are as moesim wrote them (manifest.h). True without --save.
bool saved_check(const CliArgs *args, Err *err);

// Writes the folder whole or not at all; the ranking as JSON is `json`. It stops between plans when
// the program is interrupted (interrupt.h). Does nothing without --save.
bool saved_write(const CliArgs *args, const Inputs *inputs, const Ranking *ranking, uint32_t plans,
                 const Text *json, Err *err);

// Plans that are not of a ranking, each with its prediction as JSON that saved_read_result reads.
typedef struct SavedPlan {
    Plan plan;
    Text result;
    const char *origin; // as in PlanFile; borrowed
} SavedPlan;
// Their report; `html` NULL: none.
typedef struct SavedReport {
    const Text *json, *csv, *html;
} SavedReport;
// The same folder of them.
bool saved_write_plans(const CliArgs *args, const Inputs *inputs, const SavedPlan *plans,
                       uint32_t count, const SavedReport *report, Err *err);

#endif
