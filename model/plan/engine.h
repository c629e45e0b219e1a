// What a serving engine of a given version starts and what it refuses: rules as data, one file for
// each engine (scenarios/engines/NAME.json).
//
//   { "moesim": "engine", "version": 1, "name": "vllm",
//     "releases": ["0.8.0", "0.24.0"],      the range of versions that the rules were read for
//     "options": [ {"name": "attention-backend", "type": "text", "default": "auto",
//                   "choices": ["auto", "FLASHMLA"], "versions": ">=0.8", "source": "..."} ],
//     "lists": [ {"name": "no_pp", "rows": [{"value": "...", "versions": "...", "source": "..."}]}
//     ], "rules": [ {"name": "heads", "versions": ">=0.9,<0.12", "effect": "refuse",
//                 "when": "tp > 1", "require": "heads % tp == 0",
//                 "message": "tp {tp} does not divide {heads} heads", "source": "..."} ] }
//
// Conditions are those of engine_expr.h. They may use the facts of engine_facts.h, the options of
// the file ('-' written as '_') and its lists. A message prints the value of what stands in braces.
// A rule is broken where `when` holds and `require` does not; effect "note" says something about a
// plan that is legal all the same. What no engine can do is in plan_legal.h and not here.
#ifndef MODEL_PLAN_ENGINE_H
#define MODEL_PLAN_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/plan/engine_expr.h"
#include "model/plan/engine_facts.h"
#include "model/plan/engine_version.h"

#define ENGINE_FILE_VERSION 1
#define ENGINE_OPTIONS_MAX  128
#define ENGINE_LISTS_MAX    64
#define ENGINE_ROWS_MAX     256 // of one list
#define ENGINE_RULES_MAX    512

typedef enum EngineOptionType {
    ENGINE_OPTION_FLAG, // "true" or "false"
    ENGINE_OPTION_COUNT,
    ENGINE_OPTION_TEXT,
    ENGINE_OPTION_TYPE_COUNT
} EngineOptionType;

// A row is there for the versions in its range alone. An option without a range in which this
// engine's version lies may not be set; `refused` then says what to do instead ("" when nothing).
typedef struct EngineOption {
    const char *name; // as on the command line, without the dashes
    EngineOptionType type;
    EngineValue fallback;
    const char **choices; // of a text; 0: any
    uint32_t choice_count;
    const char *versions, *source, *refused;
    EngineRange range;
} EngineOption;

typedef struct EngineList {
    const char *name;
    const char **values; // for this version
    uint32_t value_count;
} EngineList;

#define ENGINE_EFFECT_LIST(X) X(REFUSE, "refuse") X(NOTE, "note")
typedef enum EngineEffect {
#define X(name, text) ENGINE_##name,
    ENGINE_EFFECT_LIST(X)
#undef X
        ENGINE_EFFECT_COUNT
} EngineEffect;

typedef struct EngineRule {
    const char *name, *versions, *message, *source;
    EngineRange range;
    EngineEffect effect;
    bool covers_cuts; // says what plan_legal.h says of a cut inside a quantisation block
    EngineExpr when, require;
} EngineRule;

// An engine at one version: rules of other versions are read and checked, and not kept.
typedef struct Engine {
    Arena arena;
    const char *name, *path;
    EngineVersion version;
    EngineVersion first, last; // releases that the rules are for; others are asked for in vain
    EngineOption *options;
    uint32_t option_count;
    EngineList *lists;
    uint32_t list_count;
    EngineRule *rules;
    uint32_t rule_count;
    EngineScope scope; // names: facts, then options, then lists
} Engine;

// `name` is a shipped engine ("vllm") or, with a '/', a file. `version` NULL: the last release.
bool engine_load(const char *name, const char *version, Engine *out, Err *err);
bool engine_parse(const char *name, const char *bytes, size_t count, const char *version,
                  Engine *out, Err *err);
void engine_unload(Engine *engine);
// The option by its name with '-', or NULL.
const EngineOption *engine_option(const Engine *engine, const char *name);

// An option that the user set: --set name=value.
typedef struct EngineSetting {
    const char *option, *value;
} EngineSetting;

// "a=1,b=2": at most ENGINE_OPTIONS_MAX, strings are the arena's.
bool engine_split_settings(const char *text, Arena *arena, EngineSetting *out, uint32_t *out_count,
                           Err *err);

typedef struct EngineBroken {
    const EngineRule *rule; // NULL: an option that this version does not have
    const char *name, *text, *source;
} EngineBroken;

// What one plan breaks, in the order of the file. Undecided rules need a fact that is not known.
typedef struct EngineVerdict {
    EngineBroken *broken, *notes;
    uint32_t broken_count, note_count;
    const char **undecided; // "RULE needs --topo"
    uint32_t undecided_count;
} EngineVerdict;

// Strings are the arena's. Fails for a setting that the engine does not know or whose value has
// another type, and for a rule that divides by zero or overflows.
bool engine_check(const Engine *engine, const EngineFacts *facts, const EngineSetting *settings,
                  uint32_t setting_count, Arena *arena, EngineVerdict *out, Err *err);

#endif
