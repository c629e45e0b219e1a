// The prediction inside a plan file: any JSON value, kept as text, embedded in the file as it is.
#ifndef MODEL_PLAN_PLAN_RESULT_H
#define MODEL_PLAN_PLAN_RESULT_H

#include <stdbool.h>

#include "model/base/err.h"
#include "model/base/json.h"
#include "model/base/jsonw.h"

// Writes a copy of `node` and all below it as the member `key`.
bool plan_result_copy(JsonNode node, JsonWriter *writer, const char *key, Err *err);

#endif
