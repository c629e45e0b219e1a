// Constants of the price model: efficiencies and fixed costs, each with its interval, provenance
// and source. Data: topologies/calibrations/*.json.
#ifndef MODEL_COST_CALIB_H
#define MODEL_COST_CALIB_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/hash.h"
#include "model/base/mem.h"
#include "model/base/text.h"

// Weakest last: the confidence of a result is the weakest provenance in it.
#define PROVENANCE_LIST(X)                                                                         \
    X(MEASURED, "measured")                                                                        \
    X(INTERPOLATED, "interpolated") X(EXTRAPOLATED, "extrapolated") X(DEFAULT, "default")
typedef enum Provenance {
#define X(name, text) PROVENANCE_##name,
    PROVENANCE_LIST(X)
#undef X
        PROVENANCE_COUNT
} Provenance;
extern const char *const calib_provenance_names[PROVENANCE_COUNT];

// EFFICIENCY parameters are parts of a nominal rate (0..1]; TIME parameters are seconds; PLAIN ones
// are numbers of no unit, 0 or more, of a formula that states what they mean. One per row, whatever
// the device generation; a file may give a value per generation ("hopper", "blackwell", "*").
typedef enum CalibKind { CALIB_IS_EFFICIENCY, CALIB_IS_TIME, CALIB_IS_PLAIN } CalibKind;
#define CALIB_LIST(X)                                                                              \
    X(GEMM_BF16, "gemm bf16 efficiency")                                                           \
    X(GEMM_FP8, "gemm fp8 efficiency")                                                             \
    X(GEMM_FP4, "gemm fp4 efficiency")                                                             \
    X(ATTENTION, "attention arithmetic efficiency")                                                \
    X(MEMORY, "memory bandwidth efficiency")                                                       \
    X(KERNEL, "fixed time of a kernel")                                                            \
    X(NVLINK, "nvlink efficiency")                                                                 \
    X(C2C, "c2c efficiency")                                                                       \
    X(PCIE, "pcie efficiency")                                                                     \
    X(IB, "infiniband efficiency")                                                                 \
    X(ETH, "ethernet efficiency")                                                                  \
    X(NVLINK_STEP, "software time of a step over nvlink")                                          \
    X(PCIE_STEP, "software time of a step over pcie")                                              \
    X(NET_STEP, "software time of a step over the network")                                        \
    X(COLLECTIVE, "fixed time of a collective")                                                    \
    X(STEP_OVERHEAD, "engine time between steps")                                                  \
    X(TIER_COLLISIONS, "collisions on a network tier")                                             \
    X(TIER_BUFFERS, "finite buffers on a network tier")                                            \
    X(TIER_PACKETS, "packets lost between network stages")                                         \
    X(NVLINK_COPY, "nvlink efficiency of copy engines")                                            \
    X(IN_SWITCH, "nvlink efficiency in the switch")
typedef enum CalibParam {
#define X(name, text) CALIB_##name,
    CALIB_LIST(X)
#undef X
        CALIB_COUNT
} CalibParam;
extern const char *const calib_param_names[CALIB_COUNT];
CalibKind calib_kind(CalibParam param);

// [low, high] is the interval that the source states; when it states none, value / 1.5 .. value
// * 1.5 and `is_default_interval`.
typedef struct CalibValue {
    double value, low, high;
    Provenance provenance;
    bool is_default_interval;
    const char *source;
} CalibValue;

// Values for one device generation.
typedef struct Calib {
    Arena arena;
    const char *name;
    const char *generation;
    CalibValue values[CALIB_COUNT];
    Digest digest;
} Calib;

// topologies/calibrations/default.json unless `name` says otherwise ("" or NULL). `generation`
// picks rows; "*" rows serve the rest.
bool calib_load(const char *name, const char *generation, Calib *out, Err *err);
bool calib_parse(const char *name, const char *bytes, size_t count, const char *generation,
                 Calib *out, Err *err);
void calib_free(Calib *calib);

// A file with these values as rows of one generation ("*" when the calibration is of none), which
// reads back to equal ones. A value with a default interval is written without it.
void calib_write(const Calib *calib, const char *name, const char *source, Text *out);

// Factor by which the time governed by a parameter is multiplied in draw number `draw` of `seed`:
// log-uniform over the interval, the same for every plan (common draws). An efficiency's factor is
// value / drawn, a time's drawn / value; a plain number governs no time by itself: 1.
double calib_draw(const Calib *calib, CalibParam param, uint64_t seed, uint32_t draw);

#endif
