// Machines and models that rankings name: what was published, to what is simulated.
//
// Data: scenarios/records/rankings.json.
//   { "moesim": "published rankings", "version": 1,
//     "machines": [ { "gpu": "H100", "gpus": 72, "topology": "hgx-h100:9", "source": "..." } ],
//     "models": [ { "model": "GLM-5.2", "precision": "FP8", "published": "zai-org/GLM-5.2-FP8",
//                   "kv_format": "fp8", "source": "..." } ] }
// Of the machines of a GPU, the first with as many GPUs as a plan has is taken; `published` is
// looked up as models of other records are (validate_models.h); kv_format is bf16 unless given.
#ifndef SIM_COMMANDS_VALIDATE_RANKING_NAMES_H
#define SIM_COMMANDS_VALIDATE_RANKING_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/numfmt.h"

#define VALIDATE_RANKING_NAMES_VERSION 1

typedef struct ValidateRankingMachine {
    const char *gpu, *topology;
    uint32_t gpus;
} ValidateRankingMachine;

typedef struct ValidateRankingModel {
    const char *model, *precision, *published;
    NumFmt kv_format;
} ValidateRankingModel;

typedef struct ValidateRankingNames {
    Arena arena;
    ValidateRankingMachine *machines;
    ValidateRankingModel *models;
    uint32_t machine_count, model_count;
} ValidateRankingNames;

// Reads the shipped list.
bool validate_ranking_names_open(ValidateRankingNames *out, Err *err);
bool validate_ranking_names_parse(const char *name, const char *bytes, size_t count,
                                  ValidateRankingNames *out, Err *err);
void validate_ranking_names_free(ValidateRankingNames *names);

// NULL with the reason.
const ValidateRankingMachine *validate_ranking_names_machine(const ValidateRankingNames *names,
                                                             const char *gpu, uint32_t gpus,
                                                             Err *reason);
const ValidateRankingModel *validate_ranking_names_model(const ValidateRankingNames *names,
                                                         const char *model, const char *precision,
                                                         Err *reason);

#endif
