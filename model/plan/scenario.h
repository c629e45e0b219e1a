// The workload and its limits: what must be served, how fast, and what a GPU costs. Data:
// scenarios/*.json.
//
//   { "moesim": "scenario", "version": 1, "name": "chat", "source": "...", "model": "kimi-k3.json",
//     "isl": 4096, "osl": 1024, "concurrency": 1024,
//     "ttft_limit": "2 s", "tpot_limit": "50 ms", "price_per_gpu_hour": 4.54,
//     "memory_fraction": 0.9, "prefill_chunk": 8192, "kv_format": "bf16" }
//
// isl, osl and concurrency are required; the rest may be left out.
#ifndef MODEL_PLAN_SCENARIO_H
#define MODEL_PLAN_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/hash.h"
#include "model/base/mem.h"
#include "model/base/numfmt.h"
#include "model/base/text.h"
#include "model/base/units.h"

#define SCENARIO_VERSION 1

// Where a field's value came from, for the echo of resolved inputs.
typedef enum ScenarioOrigin { SCENARIO_DEFAULT, SCENARIO_FILE, SCENARIO_FLAG } ScenarioOrigin;

// name, key in files
#define SCENARIO_FIELD_LIST(X)                                                                     \
    X(MODEL, "model")                                                                              \
    X(ISL, "isl")                                                                                  \
    X(OSL, "osl")                                                                                  \
    X(CONCURRENCY, "concurrency")                                                                  \
    X(TTFT_LIMIT, "ttft_limit")                                                                    \
    X(TPOT_LIMIT, "tpot_limit")                                                                    \
    X(PRICE, "price_per_gpu_hour")                                                                 \
    X(MEMORY_FRACTION, "memory_fraction")                                                          \
    X(PREFILL_CHUNK, "prefill_chunk")                                                              \
    X(KV_FORMAT, "kv_format")
typedef enum ScenarioField {
#define X(name, text) SCENARIO_##name,
    SCENARIO_FIELD_LIST(X)
#undef X
        SCENARIO_FIELD_COUNT
} ScenarioField;
extern const char *const scenario_field_names[SCENARIO_FIELD_COUNT];

typedef struct Scenario {
    Arena arena;
    const char *name, *source;
    const char *model;                 // file name, "" when the user must name one
    uint64_t isl, osl;                 // tokens of the prompt and of the answer
    uint64_t concurrency;              // requests in flight over the whole machine
    Time ttft_limit_ps, tpot_limit_ps; // 0: no limit
    uint64_t price_uusd_per_gpu_hour;  // 0: from the device catalogue, or unknown
    uint32_t memory_permille; // part of a GPU's memory that weights, cache and buffers may take
    uint64_t prefill_chunk;   // most new tokens of one step and attention-DP rank
    NumFmt kv_format;
    ScenarioOrigin origin[SCENARIO_FIELD_COUNT];
    const char *where[SCENARIO_FIELD_COUNT]; // "FILE:LINE:COLUMN" or the flag, "" for defaults: for
                                             // messages
    Digest digest;                           // of the fields, not of name, source and origin
} Scenario;

// No values but the defaults: one token in and out for one request. For tests and as a base for
// scenario_set.
void scenario_init(Scenario *out);

// The built-in workload used when neither a model nor a scenario is named is scenarios/chat.json.
bool scenario_load(const char *name, Scenario *out, Err *err); // by file_find
bool scenario_parse(const char *name, const char *bytes, size_t count, Scenario *out, Err *err);

// Takes a field from a flag: `text` as a user types it ("8k", "50 ms", "4.54", "0.9", "fp8"),
// `flag` for messages ("--isl"). The same bounds as in a file. The caller calls scenario_rehash
// after the last one.
bool scenario_set(Scenario *scenario, ScenarioField field, const char *flag, const char *text,
                  Err *err);

// Refuses zero lengths, a concurrency of zero, isl + osl over the model's context (0: not checked);
// the message begins with the place of the field when it has one.
bool scenario_check(const Scenario *scenario, uint64_t max_context, Err *err);
void scenario_write(const Scenario *scenario, Text *out); // reads back to the same digest
void scenario_rehash(Scenario *scenario);                 // after flags have changed fields
void scenario_free(Scenario *scenario);

#endif
