// The axes of a sweep, as they are written and as they are walked.
//
//   gpus=8:1024  link.ib=200:1600Gbps  fail=link|plane|nic|switch|gpu  isl=1k:1M  osl=1k,2k,4k
//   concurrency=64:512:64  kv-format=bf16,fp8  memory-fraction=0.5:0.9:0.1  price=1:8
//   price.H100=1:8 (of one of several machines)
//
// a:b doubles from a to b, a:b:step adds, a,b,c lists ('|' separates too); b is always the last
// value. Of rates the unit of the last number goes for those before it.
#ifndef SIM_SEARCH_SWEEP_AXES_H
#define SIM_SEARCH_SWEEP_AXES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/machine/topology.h"

#define SWEEP_AXES_MAX  2
#define SWEEP_CELLS_MAX 4096
#define SWEEP_NONE      UINT32_MAX

#define SWEEP_AXIS_LIST(X)                                                                         \
    X(GPUS, "gpus")                                                                                \
    X(LINK, "link")                                                                                \
    X(FAIL, "fail")                                                                                \
    X(ISL, "isl")                                                                                  \
    X(OSL, "osl")                                                                                  \
    X(CONCURRENCY, "concurrency")                                                                  \
    X(KV_FORMAT, "kv-format")                                                                      \
    X(MEMORY_FRACTION, "memory-fraction")                                                          \
    X(PRICE, "price")
typedef enum SweepKind {
#define X(name, text) SWEEP_##name,
    SWEEP_AXIS_LIST(X)
#undef X
        SWEEP_KIND_COUNT
} SweepKind;

// Which part is down: the cable from the first NIC (else GPU) to its switch; a scale-up switch; the
// first NIC; the first switch of the network; the first GPU.
#define SWEEP_FAIL_LIST(X)                                                                         \
    X(NONE, "none")                                                                                \
    X(LINK, "link") X(PLANE, "plane") X(NIC, "nic") X(SWITCH, "switch") X(GPU, "gpu")
typedef enum SweepFail {
#define X(name, text) SWEEP_FAIL_##name,
    SWEEP_FAIL_LIST(X)
#undef X
        SWEEP_FAIL_COUNT
} SweepFail;
extern const char *const sweep_axes_fail_names[SWEEP_FAIL_COUNT];

// `number` is GPUs, bytes per second, a SweepFail, tokens, requests, a NumFmt, permille or
// micro-dollars.
typedef struct SweepValue {
    uint64_t number;
    const char *text; // "8", "50.0 GB/s", "nic", "4k", "fp8", "0.9", "$1.99"
} SweepValue;

typedef struct SweepAxis {
    SweepKind kind;
    const char *name;     // as typed: "link.ib"
    const char *subject;  // behind the dot: "ib"; "" for none
    LinkClass link_class; // of link
    uint32_t machine;     // of price.NAME; SWEEP_NONE: all
    SweepValue *values;   // the arena's
    uint32_t count;
} SweepAxis;

typedef struct SweepAxes {
    SweepAxis axes[SWEEP_AXES_MAX];
    uint32_t count;
} SweepAxes;

// Reads "gpus=8:64,isl=1k,2k". Bounds of a scenario hold; fail begins with none.
bool sweep_axes_parse(const char *text, Arena *arena, SweepAxes *out, Err *err);
// Whether there are values between two values.
bool sweep_axes_is_continuous(SweepKind kind);
// A value between those of the axis, with its text.
SweepValue sweep_axes_value(const SweepAxis *axis, uint64_t number, Arena *arena);

#endif
