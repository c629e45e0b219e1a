// Versions and ranges of versions, from text.
//
// Invariant: a version that was read has every part at most ENGINE_VERSION_PART_MAX, and what is
// not written is 0. The order is that of releases (PEP 440 without pre-releases, which no rule
// names).
#include "model/plan/engine_version.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/base/text.h"

#define NUMBERS (ENGINE_VERSION_PARTS - 1) // before ".post"

static bool read_part(const char **at, uint32_t *out) {
    uint32_t value = 0;
    if (**at < '0' || **at > '9') return false;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        value = value * 10 + (uint32_t)(**at - '0');
        if (value > ENGINE_VERSION_PART_MAX) return false;
    }
    *out = value;
    return true;
}

bool engine_version_parse(const char *text, EngineVersion *out, Err *err) {
    static const char post[] = ".post";
    char quoted[TEXT_QUOTE_MAX];
    EngineVersion version = {0};
    const char *at = text + (*text == 'v');
    bool ok = read_part(&at, &version.parts[0]);
    for (uint32_t i = 1; ok && i < NUMBERS && at[0] == '.' && at[1] >= '0' && at[1] <= '9'; i++) {
        at++;
        ok = read_part(&at, &version.parts[i]);
    }
    if (ok && strncmp(at, post, strlen(post)) == 0) {
        at += strlen(post);
        ok = read_part(&at, &version.parts[NUMBERS]);
    }
    if (!ok || *at != '\0')
        return err_set(err, "expected a version such as 0.11.0 or 0.4.6.post1, found %s",
                       text_quote(text, quoted));
    *out = version;
    return true;
}

int engine_version_compare(EngineVersion a, EngineVersion b) {
    for (uint32_t i = 0; i < ENGINE_VERSION_PARTS; i++)
        if (a.parts[i] != b.parts[i]) return a.parts[i] < b.parts[i] ? -1 : 1;
    return 0;
}

char *engine_version_format(EngineVersion version, char *buffer) {
    int length = snprintf(buffer, ENGINE_VERSION_TEXT_MAX, "%" PRIu32 ".%" PRIu32 ".%" PRIu32,
                          version.parts[0], version.parts[1], version.parts[2]);
    if (version.parts[NUMBERS] > 0)
        snprintf(buffer + length, ENGINE_VERSION_TEXT_MAX - (size_t)length, ".post%" PRIu32,
                 version.parts[NUMBERS]);
    return buffer;
}

// The longer of two signs stands first.
static const struct {
    const char *sign;
    EngineBoundKind kind;
} signs[] = {
    {">=", ENGINE_BOUND_LEAST}, {"<=", ENGINE_BOUND_MOST}, {"==", ENGINE_BOUND_EQUAL},
    {">", ENGINE_BOUND_ABOVE},  {"<", ENGINE_BOUND_BELOW},
};

static bool read_bound(const char *text, size_t length, EngineRange *out, Err *err) {
    char bound[ENGINE_VERSION_TEXT_MAX], quoted[TEXT_QUOTE_MAX];
    if (out->count == ENGINE_RANGE_BOUNDS_MAX)
        return err_set(err, "a range has at most %d bounds", ENGINE_RANGE_BOUNDS_MAX);
    if (length >= sizeof bound) length = sizeof bound - 1;
    memcpy(bound, text, length);
    bound[length] = '\0';
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        size_t sign = strlen(signs[i].sign);
        if (strncmp(bound, signs[i].sign, sign) != 0) continue;
        out->bounds[out->count].kind = signs[i].kind;
        return engine_version_parse(bound + sign, &out->bounds[out->count++].version, err);
    }
    return err_set(err, "expected a range such as \">=0.9,<0.12\" or \"*\", found %s",
                   text_quote(bound, quoted));
}

bool engine_version_range_parse(const char *text, EngineRange *out, Err *err) {
    EngineRange range = {0};
    if (strcmp(text, "*") != 0) {
        for (const char *at = text;; at++) {
            size_t length = strcspn(at, ",");
            if (!read_bound(at, length, &range, err)) return false;
            at += length;
            if (*at == '\0') break;
        }
    }
    *out = range;
    return true;
}

bool engine_version_in_range(const EngineRange *range, EngineVersion version) {
    for (uint32_t i = 0; i < range->count; i++) {
        int order = engine_version_compare(version, range->bounds[i].version);
        bool holds = false;
        switch (range->bounds[i].kind) {
        case ENGINE_BOUND_LEAST: holds = order >= 0; break;
        case ENGINE_BOUND_ABOVE: holds = order > 0; break;
        case ENGINE_BOUND_MOST: holds = order <= 0; break;
        case ENGINE_BOUND_BELOW: holds = order < 0; break;
        case ENGINE_BOUND_EQUAL: holds = order == 0; break;
        }
        if (!holds) return false;
    }
    return true;
}
