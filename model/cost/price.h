// Price of one compute operation on one device: max(flop / rate(shape), bytes / bandwidth) + fixed,
// as a value that keeps its parts.
#ifndef MODEL_COST_PRICE_H
#define MODEL_COST_PRICE_H

#include <stdint.h>

#include "model/base/numfmt.h"
#include "model/base/units.h"
#include "model/cost/calib.h"
#include "model/machine/device.h"

typedef struct Price {
    Time time_ps; // max(compute, memory) + fixed
    Time compute_ps, memory_ps, fixed_ps;
    uint64_t flop, bytes;
    CalibParam compute_param; // which efficiency the arithmetic part used
    Time roofline_ps;         // at nominal rates, no efficiency, no fixed cost: the lower bound
} Price;

// What is priced on: a device and constants. Borrowed.
typedef struct PriceModel {
    const Device *device;
    const Calib *calib;
} PriceModel;

// The weights of one product; `scale_B` bytes of scales are read with them.
typedef struct PriceWeights {
    NumFmt format;
    uint64_t scale_B;
} PriceWeights;

// `batch` products of m x k by k x n. Weights are read once per product, with their
// scales; activations (2 bytes an element) in and out. Tiles of the size that the device
// states, else of 128 x 128 (64 rows when m is small), in waves over the compute units; k is cut
// over the units that one wave leaves idle. A device without the arithmetic format computes in the
// next wider one that it has (FP4 -> FP8 -> BF16).
Price price_gemm(const PriceModel *model, uint64_t m, uint64_t n, uint64_t k, uint64_t batch,
                 PriceWeights weights, NumFmt math);

// Routed tokens on this device: `m` (token, expert) pairs for its `experts`, out of `all_pairs` on
// the `all_experts` of the layer.
typedef struct PriceRouted {
    uint64_t m, experts;
    uint64_t all_pairs, all_experts;
} PriceRouted;

// Experts of n x k each. When all pairs fall evenly at random, experts * (1 - (1 -
// 1/all_experts)^all_pairs) of them are hit: only their weights are read, each padded to whole row
// tiles.
Price price_grouped_gemm(const PriceModel *model, const PriceRouted *routed, uint64_t n, uint64_t k,
                         PriceWeights weights, NumFmt math);

// Attention and anything described by its flop and bytes.
Price price_attention(const PriceModel *model, uint64_t flop, uint64_t bytes);
Price price_memory(const PriceModel *model, uint64_t flop, uint64_t bytes);

// Nominal rate of a format on a device after the fallback above, and the format that is used. 0
// when the device has none.
uint64_t price_rate(const Device *device, NumFmt math, NumFmt *used);

#endif
