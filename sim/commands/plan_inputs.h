// Reads what a saved plan was made for: files beside it or, for plans written by hand, found like
// any file, each of the digest that the plan has of it.
#ifndef SIM_COMMANDS_PLAN_INPUTS_H
#define SIM_COMMANDS_PLAN_INPUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/hash.h"
#include "model/base/mem.h"
#include "model/moe/arch.h"
#include "model/plan/load.h"
#include "model/plan/plan.h"

// Where the file is that the plan at `plan_path` names as its `key` ("model"); refuses that it
// names none. *out is the arena's.
bool plan_inputs_find(const char *plan_path, const char *key, const char *named, Arena *arena,
                      const char **out, Err *err);

// Refuses another digest than the one that the plan has: "PATH: digest ... is not the ...".
bool plan_inputs_check(const char *path, Digest found, Digest saved, Err *err);

// The model at `path` under what the plan's result says was assumed; of the plan's digest when the
// plan names a model. *out_sequences is that of saved_read_result, and is left alone when the plan
// has no result. The caller frees `out`.
bool plan_inputs_model(const char *plan_path, const PlanFile *file, const char *path, Arena *arena,
                       Arch *out, uint64_t *out_sequences, Err *err);

// The load of the model's experts: uniform when the plan names none. The caller frees `out`, after
// a failure too.
bool plan_inputs_load(const char *plan_path, const PlanFile *file, const Arch *arch, Arena *arena,
                      Load *out, Err *err);

#endif
