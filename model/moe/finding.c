// Counts findings and keeps the words of the first few.
//
// Invariant: memory is bounded by FINDING_SHOWN_MAX texts of each kind, however many findings a
// hostile file causes; texts are one line of UTF-8.
#include "model/moe/finding.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#define DETAIL_MAX 512

const char *const finding_kind_names[] = {
#define X(name, text) text,
    FINDING_KIND_LIST(X)
#undef X
};
static_assert(sizeof finding_kind_names / sizeof finding_kind_names[0] == FINDING_KIND_COUNT,
              "every kind of finding has a name");

static void add(Findings *findings, FindingKind kind, const char *subject, const char *format,
                va_list args) __attribute__((format(printf, 4, 0)));

static void add(Findings *findings, FindingKind kind, const char *subject, const char *format,
                va_list args) {
    uint64_t index = findings->counts[kind]++;
    if (index >= FINDING_SHOWN_MAX) return;
    char detail[DETAIL_MAX];
    Err clean = {0}; // replaces what would break the line
    vsnprintf(detail, sizeof detail, format, args);
    err_set(&clean, "%s", detail);
    Finding *finding = &findings->shown[kind][index];
    finding->detail = arena_string(&findings->arena, clean.text);
    err_set(&clean, "%s", subject);
    finding->subject = arena_string(&findings->arena, clean.text);
}

void finding_add(Findings *findings, FindingKind kind, const char *subject, const char *format,
                 ...) {
    va_list args;
    va_start(args, format);
    add(findings, kind, subject, format, args);
    va_end(args);
}

bool finding_refuse(Findings *findings, FindingKind kind, const char *subject, const char *format,
                    ...) {
    va_list args;
    va_start(args, format);
    add(findings, kind, subject, format, args);
    va_end(args);
    findings->unusable++;
    return false;
}

uint64_t finding_total(const Findings *findings) {
    uint64_t total = 0;
    for (uint32_t kind = 0; kind < FINDING_KIND_COUNT; kind++) total += findings->counts[kind];
    return total;
}

uint32_t finding_shown(const Findings *findings, FindingKind kind) {
    uint64_t count = findings->counts[kind];
    return count < FINDING_SHOWN_MAX ? (uint32_t)count : FINDING_SHOWN_MAX;
}

bool finding_none(const Findings *findings, Err *err) {
    uint64_t total = finding_total(findings);
    for (uint32_t kind = 0; kind < FINDING_KIND_COUNT; kind++) {
        if (findings->counts[kind] == 0) continue;
        const Finding *first = &findings->shown[kind][0];
        err_set(err, "%s: %s: %s", first->subject, finding_kind_names[kind], first->detail);
        if (total > 1) err_prefix(err, "%" PRIu64 " findings, first", total);
        return false;
    }
    return true;
}

void finding_free(Findings *findings) {
    arena_free(&findings->arena);
    *findings = (Findings){0};
}
