// The flags of a serving engine as data: what each means in terms of plans and scenarios, in which
// versions it is there. Data: scenarios/engines/flags-NAME.json.
//
//   { "moesim": "engine-flags", "version": 1, "name": "vllm", "releases": ["0.9.0", "0.24.0"],
//     "sources": {"docs": "..."},
//     "starts": [["vllm", "serve"]],        commands that start a server
//     "others": [["vllm", "bench"]],        commands that decide nothing
//     "serve": ["vllm", "serve", "{model}"], "benchmark": ["..."], "router": ["..."],
//     "router_prefill": ["..."], "router_decode": ["..."], "all_to_all_sms": 20,
//     "flags": [ {"flag": "--tensor-parallel-size", "also": ["-tp"], "takes": "one",
//                 "means": "tp", "default": "1", "versions": ">=0.9", "source": "docs"},
//                {"env": "NCCL_*", "means": "nothing", "source": "docs"},
//                {"flag": "--x", "means": "refused", "why": "...", "source": "docs"} ] }
//
// "values" of a flag translate: {"value": "deepep_low_latency", "is": "all-to-all", "when":
// "decode", "versions": ">=0.11"}; "when" is a kind of pool for which this one is chosen first. An
// "env" that ends with '*' stands for all names that begin so. Without "default" a flag that is not
// given says nothing.
#ifndef MODEL_PLAN_LAUNCH_FLAGS_H
#define MODEL_PLAN_LAUNCH_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/plan/engine_version.h"
#include "model/plan/launch_meaning.h"
#include "model/plan/pool.h"

#define LAUNCH_FLAGS_VERSION 1
#define LAUNCH_FLAGS_MAX     512
#define LAUNCH_ALSO_MAX      16  // other spellings of a flag
#define LAUNCH_VALUES_MAX    64  // of one flag
#define LAUNCH_WORDS_MAX     128 // of a command in the file

#define LAUNCH_ENGINE_LIST(X) X(VLLM, "vllm") X(SGLANG, "sglang")
typedef enum LaunchEngine {
#define X(name, text) LAUNCH_##name,
    LAUNCH_ENGINE_LIST(X)
#undef X
        LAUNCH_ENGINE_COUNT
} LaunchEngine;
extern const char *const launch_flags_engines[LAUNCH_ENGINE_COUNT];

extern const char *const launch_flags_meanings[LAUNCH_MEANING_COUNT];
extern const LaunchScope launch_flags_scopes[LAUNCH_MEANING_COUNT];

#define LAUNCH_TAKES_LIST(X) X(NONE, "none") X(ONE, "one") X(MANY, "many")
typedef enum LaunchTakes {
#define X(name, text) LAUNCH_TAKES_##name,
    LAUNCH_TAKES_LIST(X)
#undef X
        LAUNCH_TAKES_COUNT
} LaunchTakes;

typedef struct LaunchValue {
    const char *value, *is;
    PoolKind when; // POOL_KIND_COUNT: any
    EngineRange range;
} LaunchValue;

typedef struct LaunchFlag {
    const char *name;
    const char **also;
    uint32_t also_count;
    bool is_env;
    LaunchTakes takes;
    LaunchMeaning means;
    const char *fallback, *why, *source; // "" when there is none
    const char *versions;                // as written, "" for all
    EngineRange range;
    LaunchValue *values;
    uint32_t value_count;
} LaunchFlag;

typedef struct LaunchWords {
    const char **words;
    uint32_t count;
} LaunchWords;

typedef struct LaunchFlags {
    Arena arena;
    LaunchEngine engine;
    EngineVersion first, last; // releases that the rows were read for
    EngineVersion version;     // asked for
    LaunchFlag *flags;         // of all versions, in the order of the file
    uint32_t flag_count;
    uint32_t all_to_all_sms; // that its kernels for prefill occupy when nothing is said
    LaunchWords *starts, *others;
    uint32_t start_count, other_count;
    LaunchWords serve, benchmark, router, router_prefill, router_decode;
} LaunchFlags;

// The shipped file of an engine; `version` NULL: the last release.
bool launch_flags_load(LaunchEngine engine, const char *version, LaunchFlags *out, Err *err);
bool launch_flags_parse(const char *name, const char *bytes, size_t count, const char *version,
                        LaunchFlags *out, Err *err);
void launch_flags_free(LaunchFlags *flags);

// The first row that means this and is there in this version; NULL when there is none.
const LaunchFlag *launch_flags_find(const LaunchFlags *flags, LaunchMeaning means);
// The row of a spelling, in any version; of several, one that is there in this version.
const LaunchFlag *launch_flags_named(const LaunchFlags *flags, const char *name);
const LaunchFlag *launch_flags_env(const LaunchFlags *flags, const char *name);
// How this version spells what `is` says, for this kind of pool; NULL when it cannot.
const char *launch_flags_value(const LaunchFlags *flags, const LaunchFlag *flag, const char *is,
                               PoolKind kind);
// What a value says; NULL when the flag has no such value.
const char *launch_flags_is(const LaunchFlag *flag, const char *value);

#endif
