// Models that records name: published names to configs, read once.
//
// Data: scenarios/records/models.json lists published models whose shape another config has.
//   { "moesim": "published models", "version": 1,
//     "models": [ { "name": "zai-org/GLM-4.6", "configs": ["zai-org--GLM-4.7.json"],
//                   "assume": { "field": "value" }, "without": ["mtp tables"],
//                   "source": "where the sameness is stated" } ] }
// `configs` are looked for in order, in the folder of configs and then in the shipped models;
// `assume` replaces fields of the config (arch.h), `without` names what the config has and the
// published files have not. Both may be left out.
#ifndef SIM_COMMANDS_VALIDATE_MODELS_H
#define SIM_COMMANDS_VALIDATE_MODELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/moe/arch.h"

#define VALIDATE_MODELS_VERSION 1
#define VALIDATE_MODELS_MAX     1024 // different models in one run

// Draft layers; their own copies of the vocabulary tables alone; the vision tower.
#define VALIDATE_WITHOUT_LIST(X) X(MTP, "mtp") X(MTP_TABLES, "mtp tables") X(VISION, "vision")
typedef enum ValidateWithout {
#define X(name, text) VALIDATE_WITHOUT_##name,
    VALIDATE_WITHOUT_LIST(X)
#undef X
        VALIDATE_WITHOUT_COUNT
} ValidateWithout;

typedef struct ValidateModel {
    const char *name; // as published: "zai-org/GLM-4.6"
    bool is_read;
    Arch arch;
    bool without[VALIDATE_WITHOUT_COUNT];
    Err reason; // why it could not be read
} ValidateModel;

// What the list says of one model.
typedef struct ValidateShape {
    const char *name;
    const char *const *configs;
    uint32_t config_count;
    const ArchAssumption *assumptions;
    uint32_t assumption_count;
    bool without[VALIDATE_WITHOUT_COUNT];
} ValidateShape;

typedef struct ValidateModels {
    Arena arena;
    const char *folder; // of configs ORG--NAME.json; NULL: none
    ValidateShape *shapes;
    uint32_t shape_count;
    ValidateModel **models; // read so far
    uint32_t model_count, model_capacity;
} ValidateModels;

// Reads the shipped list.
bool validate_models_open(ValidateModels *out, Err *err);
bool validate_models_parse(const char *name, const char *bytes, size_t count, ValidateModels *out,
                           Err *err);
// From now on, configs lie in this folder; NULL: in the shipped models alone.
void validate_models_folder(ValidateModels *models, const char *folder);
// The model, or NULL with the reason. Valid until the folder changes or the end.
const ValidateModel *validate_models_find(ValidateModels *models, const char *name, Err *reason);
void validate_models_close(ValidateModels *models);

bool validate_models_is_folder(const char *path);

#endif
