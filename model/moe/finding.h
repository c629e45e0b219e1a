// What is wrong with a checkpoint: counted by kind, the first few of each kind kept with their
// words.
#ifndef MODEL_MOE_FINDING_H
#define MODEL_MOE_FINDING_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"

// First what keeps a file from being read at all, then its layout, then files against each other
// and the index, then tensors against the model.
#define FINDING_KIND_LIST(X)                                                                       \
    X(UNREADABLE, "unreadable file")                                                               \
    X(NOT_DATA, "not a safetensors file")                                                          \
    X(LARGE_HEADER, "header too large")                                                            \
    X(BAD_HEADER, "bad header")                                                                    \
    X(TRUNCATED, "truncated file")                                                                 \
    X(TRAILING, "bytes after the last tensor")                                                     \
    X(HOLE, "hole between tensors")                                                                \
    X(OVERLAP, "overlapping tensors")                                                              \
    X(WRONG_SIZE, "wrong size for its shape")                                                      \
    X(MISSING_FILE, "missing file")                                                                \
    X(NOT_IN_FILE, "not in its file")                                                              \
    X(NOT_IN_INDEX, "not in the index")                                                            \
    X(TWICE, "in two files")                                                                       \
    X(TOTAL_SIZE, "wrong total_size")                                                              \
    X(MISSING, "missing tensor")                                                                   \
    X(EXTRA, "extra tensor")                                                                       \
    X(WRONG_SHAPE, "wrong shape")                                                                  \
    X(WRONG_TYPE, "wrong type")
typedef enum FindingKind {
#define X(name, text) FINDING_##name,
    FINDING_KIND_LIST(X)
#undef X
        FINDING_KIND_COUNT
} FindingKind;
extern const char *const finding_kind_names[FINDING_KIND_COUNT];

#define FINDING_SHOWN_MAX 20 // kept of each kind

typedef struct Finding {
    const char *subject; // a file or a tensor
    const char *detail;  // what was found, what was expected
} Finding;

// A zeroed Findings is empty and ready for use.
typedef struct Findings {
    Arena arena;
    uint64_t counts[FINDING_KIND_COUNT];
    Finding shown[FINDING_KIND_COUNT][FINDING_SHOWN_MAX];
    uint64_t unusable; // files of which nothing could be read, or that are hostile
} Findings;

// Counts, and copies both texts when it is one of the first of its kind.
void finding_add(Findings *findings, FindingKind kind, const char *subject, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
// The same, and counts the subject as unusable; returns false.
bool finding_refuse(Findings *findings, FindingKind kind, const char *subject, const char *format,
                    ...) __attribute__((format(printf, 4, 5)));
uint64_t finding_total(const Findings *findings);
// How many of a kind are kept.
uint32_t finding_shown(const Findings *findings, FindingKind kind);
// The first finding as an error ("SUBJECT: KIND: DETAIL") with their number, for those who go on
// with sound input alone. True when there is none.
bool finding_none(const Findings *findings, Err *err);
void finding_free(Findings *findings);

#endif
