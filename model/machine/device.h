// The device catalogue: what a GPU, CPU, NIC or switch of a given name can do, with the source of
// every figure. Data: topologies/devices/*.json. A figure that a vendor states as a range keeps
// both ends.
#ifndef MODEL_MACHINE_DEVICE_H
#define MODEL_MACHINE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/base/numfmt.h"
#include "model/base/hash.h"

// Both ends of a figure; low == high when it is one number; 0, 0 when not given.
typedef struct Range {
    uint64_t low, high;
} Range;

// Rates are dense. memory_B is what a process sees, Bps per direction. price in micro-dollars per
// hour, with its date in `price_source`. `confidence` is A (vendor or source code), B (third
// party), C (derived) or M (no source).
typedef struct Device {
    const char *name;           // "GB200"
    const char *const *aliases; // other names, `alias_count` of them
    uint32_t alias_count;
    const char *kind; // "gpu", "cpu", "nic", "switch"
    Range memory_B;
    Range memory_Bps;
    Range rate_flops[NUMFMT_COUNT]; // by arithmetic format; FP4 and FP8 and BF16 as vendors state
                                    // them
    uint32_t compute_units;         // SM or CU; 0 when not given; the low end of a range
    uint32_t compute_units_high;
    uint32_t comm_units; // of these, taken by kernels of an all-to-all that are made for bandwidth
                         // (prefill); 0 when not given
    uint32_t gemm_tile_rows, gemm_tile_columns; // outputs that its product kernel computes at once;
                                                // 0 when not given
    uint64_t l2_B;
    Range scale_up_Bps; // sum over its scale-up links
    uint32_t scale_up_links;
    uint32_t ports; // of a NIC or switch; 0 when not given
    uint64_t port_Bps;
    uint32_t in_network; // 1: a switch that sums and copies on the way (NVLink SHARP); 0 when not
                         // given
    const char *host;    // link to the host: "PCIe5", "C2C"; "" when not given
    Range power_mW;
    Range price_uusd_per_hour;
    const char *generation; // "hopper", "blackwell": key of calibrations
    const char *source, *price_source, *note;
    char confidence;
} Device;

// The shipped catalogue, ordered by name. Strings live in the arena.
typedef struct DeviceCatalogue {
    Arena arena;
    Device *devices;
    uint32_t count;
    Digest digest;
} DeviceCatalogue;

bool device_load(DeviceCatalogue *out, Err *err); // topologies/devices/*.json of the shipped data
bool device_read(const char *path, DeviceCatalogue *out, Err *err);
bool device_parse(const char *name, const char *bytes, size_t count, DeviceCatalogue *out,
                  Err *err); // JSON in memory
void device_free(DeviceCatalogue *catalogue);

// By name, ignoring case; aliases ("H100" for "H100 SXM") are data. NULL when unknown.
const Device *device_find(const DeviceCatalogue *catalogue, const char *name);
// "unknown device \"H1000\", did you mean \"H100 SXM\"?"; returns false.
bool device_unknown(const DeviceCatalogue *catalogue, const char *name, Err *err);

// The figure used when one number is needed: the low end (what every such device reaches).
uint64_t device_low(Range range);

#endif
