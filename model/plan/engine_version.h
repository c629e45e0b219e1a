// Versions of engines and ranges of them.
#ifndef MODEL_PLAN_ENGINE_VERSION_H
#define MODEL_PLAN_ENGINE_VERSION_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"

#define ENGINE_VERSION_PARTS    4
#define ENGINE_VERSION_TEXT_MAX 48
#define ENGINE_VERSION_PART_MAX 99999

// "0.8.3", "v0.24" (0.24.0), "0.4.6.post1" (after 0.4.6, before 0.4.7). Ordered part by part.
typedef struct EngineVersion {
    uint32_t parts[ENGINE_VERSION_PARTS]; // the last one is that of ".post"
} EngineVersion;

// Refuses other forms, and parts over ENGINE_VERSION_PART_MAX.
bool engine_version_parse(const char *text, EngineVersion *out, Err *err);
int engine_version_compare(EngineVersion a, EngineVersion b); // < 0, 0, > 0
// "0.24.0"; buffer has ENGINE_VERSION_TEXT_MAX bytes. Returns buffer.
char *engine_version_format(EngineVersion version, char *buffer);

// Bounds joined by ',' that must all hold: ">=0.9,<0.12"; ">0.8", "<=0.10", "==0.11"; "*": any.
#define ENGINE_RANGE_BOUNDS_MAX 4
typedef enum EngineBoundKind {
    ENGINE_BOUND_LEAST,
    ENGINE_BOUND_ABOVE,
    ENGINE_BOUND_MOST,
    ENGINE_BOUND_BELOW,
    ENGINE_BOUND_EQUAL
} EngineBoundKind;

typedef struct EngineRange {
    struct {
        EngineBoundKind kind;
        EngineVersion version;
    } bounds[ENGINE_RANGE_BOUNDS_MAX];
    uint32_t count; // 0: any version
} EngineRange;

// Refuses other forms, and more than ENGINE_RANGE_BOUNDS_MAX bounds.
bool engine_version_range_parse(const char *text, EngineRange *out, Err *err);
bool engine_version_in_range(const EngineRange *range, EngineVersion version);

#endif
