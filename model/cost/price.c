// Roofline prices: the slower of arithmetic and memory traffic at the rates that kernels reach, and
// a fixed time.
//
// Invariants: time_ps >= roofline_ps, because efficiencies are at most 1, padding only adds work,
// and both are divided by the same code, rounded up and down; time_ps never falls when m, n, k or
// batch grow. Rates are rounded down to whole flop/s and B/s once, then all division is exact in
// integers. Times saturate at PRICE_TIME_MAX.
//
// Method: Williams, Waterman, Patterson, "Roofline", 2009. Tiles and waves: NVIDIA, "Matrix
// Multiplication Background User's Guide" (output tiles are spread over the compute units; the last
// wave costs as much as a full one; small outputs split k over the idle units).
#include "model/cost/price.h"

#include "model/base/num.h"
#include "model/base/wide.h"

#define PRICE_TIME_MAX (INT64_MAX / 8) // sums of a few prices cannot wrap
#define TILE           128             // rows and columns of a large output tile (cuBLAS, CUTLASS)
#define TILE_SMALL     64              // rows when no more are filled: the least of a Hopper wgmma
#define SPLIT_K        256             // least part of k that is worth a unit of its own
#define ACTIVATION_B   2               // bytes of an input or output element: bf16

// What a GEMM of any kind asks of a device.
typedef struct Work {
    uint64_t flop, padded_flop, bytes;
    NumFmt math;
} Work;

// A value in [0, 2^64) rounded up; doubles above that saturate.
static uint64_t round_up(double value) {
    if (value >= 0x1p63) return UINT64_MAX;
    uint64_t whole = (uint64_t)value;
    return whole + ((double)whole < value);
}

// The format that a device uses in place of one that it lacks; itself at the end of the line.
static NumFmt wider(NumFmt format) {
    switch (format) {
    case NUMFMT_FP4: return NUMFMT_FP8;
    case NUMFMT_FP8: return NUMFMT_BF16;
    case NUMFMT_INT4: return NUMFMT_INT8;
    case NUMFMT_INT8: return NUMFMT_BF16;
    case NUMFMT_F16: return NUMFMT_BF16;
    case NUMFMT_BF16: return NUMFMT_F32;
    case NUMFMT_F32:
    case NUMFMT_COUNT: break;
    }
    return NUMFMT_F32;
}

uint64_t price_rate(const Device *device, NumFmt math, NumFmt *used) {
    NumFmt format = math;
    while (format != NUMFMT_F32 && device_low(device->rate_flops[format]) == 0) {
        format = wider(format);
    }
    *used = format;
    return device_low(device->rate_flops[format]);
}

static CalibParam gemm_param(NumFmt used) {
    switch (used) {
    case NUMFMT_FP4:
    case NUMFMT_INT4: return CALIB_GEMM_FP4;
    case NUMFMT_FP8:
    case NUMFMT_INT8: return CALIB_GEMM_FP8;
    case NUMFMT_F32:
    case NUMFMT_F16:
    case NUMFMT_BF16:
    case NUMFMT_COUNT: break;
    }
    return CALIB_GEMM_BF16;
}

static Time clamp(uint64_t ps) {
    return ps > (uint64_t)PRICE_TIME_MAX ? PRICE_TIME_MAX : (Time)ps;
}

// The part of a nominal rate that is reached, at least 1 so that a price is always finite.
static uint64_t reached(uint64_t rate, double efficiency) {
    double value = (double)rate * efficiency;
    uint64_t whole = value >= (double)rate ? rate : (uint64_t)value;
    return whole > 0 ? whole : 1;
}

static Time time_up(uint64_t amount, uint64_t rate) {
    return clamp(wide_mul_div_up(amount, (uint64_t)PS_PER_SECOND, rate));
}

// A device without a rate bounds nothing from below.
static Time time_down(uint64_t amount, uint64_t rate) {
    return rate == 0 ? 0 : clamp(wide_mul_div(amount, (uint64_t)PS_PER_SECOND, rate));
}

static Time larger(Time a, Time b) {
    return a > b ? a : b;
}

// Adds the parts up; `param` governs the arithmetic.
static Price assemble(const PriceModel *model, const Work *work, CalibParam param) {
    const CalibValue *values = model->calib->values;
    NumFmt used;
    uint64_t rate = price_rate(model->device, work->math, &used);
    uint64_t bandwidth = device_low(model->device->memory_Bps);
    Price price = {.flop = work->flop, .bytes = work->bytes, .compute_param = param};
    price.compute_ps = time_up(work->padded_flop, reached(rate, values[param].value));
    price.memory_ps = time_up(work->bytes, reached(bandwidth, values[CALIB_MEMORY].value));
    price.fixed_ps = clamp((uint64_t)num_round(values[CALIB_KERNEL].value * (double)PS_PER_SECOND));
    price.roofline_ps = larger(time_down(work->flop, rate), time_down(work->bytes, bandwidth));
    price.time_ps = larger(price.compute_ps, price.memory_ps) + price.fixed_ps;
    return price;
}

static Price assemble_gemm(const PriceModel *model, const Work *work) {
    NumFmt used;
    price_rate(model->device, work->math, &used);
    return assemble(model, work, gemm_param(used));
}

// n x k weights with their scales.
static uint64_t weight_bytes(PriceWeights weights, uint64_t n, uint64_t k) {
    return wide_add_saturate(numfmt_bytes(weights.format, wide_mul_saturate(n, k)),
                             weights.scale_B);
}

// m x k inputs and m x n outputs.
static uint64_t activation_bytes(uint64_t m, uint64_t n, uint64_t k) {
    return wide_mul_saturate(ACTIVATION_B, wide_mul_saturate(m, wide_add_saturate(n, k)));
}

// What the device states, or what GPUs have.
static uint64_t tile_rows(const Device *device, uint64_t rows) {
    if (device->gemm_tile_rows > 0) return device->gemm_tile_rows;
    return rows <= TILE_SMALL ? TILE_SMALL : TILE;
}

static uint64_t tile_columns(const Device *device) {
    return device->gemm_tile_columns > 0 ? device->gemm_tile_columns : TILE;
}

// Arithmetic that the device is busy for when `row_tiles` x columns tiles run in waves over its
// units: in the last wave idle units count like busy ones. When all tiles fit in one wave, k is cut
// over the units that are left, in parts of at least SPLIT_K.
static uint64_t wave_flop(const Device *device, uint64_t row_tiles, uint64_t rows, uint64_t n,
                          uint64_t k) {
    uint64_t units = device->compute_units, columns = tile_columns(device);
    uint64_t tiles = wide_mul_saturate(row_tiles, wide_div_up_u64(n, columns));
    if (units == 0) units = 1;
    uint64_t tile_flop = wide_mul_saturate(2 * rows, columns); // for one step of k
    if (tiles >= units)
        return wide_mul_saturate(
            wide_mul_saturate(wide_mul_saturate(wide_div_up_u64(tiles, units), units), tile_flop),
            k);
    uint64_t split = tiles == 0 ? 1 : units / tiles, least = k < SPLIT_K ? k : SPLIT_K;
    uint64_t depth = wide_div_up_u64(k, split) > least ? wide_div_up_u64(k, split) : least;
    return wide_mul_saturate(wide_mul_saturate(units, tile_flop), depth);
}

Price price_gemm(const PriceModel *model, uint64_t m, uint64_t n, uint64_t k, uint64_t batch,
                 PriceWeights weights, NumFmt math) {
    Work work = {.math = math};
    if (m > 0) {
        uint64_t rows = tile_rows(model->device, m);
        work.flop = wide_mul_saturate(wide_mul_saturate(2, wide_mul_saturate(m, n)),
                                      wide_mul_saturate(k, batch));
        work.padded_flop = wave_flop(
            model->device, wide_mul_saturate(batch, wide_div_up_u64(m, rows)), rows, n, k);
        if (work.padded_flop < work.flop) work.padded_flop = work.flop;
        work.bytes = wide_mul_saturate(
            batch, wide_add_saturate(weight_bytes(weights, n, k), activation_bytes(m, n, k)));
    }
    return assemble_gemm(model, &work);
}

// Expected number of experts that at least one pair falls on.
static double experts_hit(const PriceRouted *routed) {
    double miss = 1 - 1 / (double)routed->all_experts;
    return (double)routed->experts * (1 - num_pow_int(miss, routed->all_pairs));
}

Price price_grouped_gemm(const PriceModel *model, const PriceRouted *routed, uint64_t n, uint64_t k,
                         PriceWeights weights, NumFmt math) {
    Work work = {.math = math};
    uint64_t m = routed->m;
    if (m > 0 && routed->experts > 0) {
        // rows and tiles of an expert that is hit grow with m, and so does the number hit: the
        // product is monotone
        double hit = experts_hit(routed);
        uint64_t rows_each = round_up((double)m / hit), rows = tile_rows(model->device, rows_each);
        uint64_t row_tiles = round_up(hit * (double)wide_div_up_u64(rows_each, rows));
        work.flop = wide_mul_saturate(2, wide_mul_saturate(wide_mul_saturate(m, n), k));
        work.padded_flop = wave_flop(model->device, row_tiles, rows, n, k);
        if (work.padded_flop < work.flop) work.padded_flop = work.flop;
        work.bytes = wide_add_saturate(round_up(hit * (double)weight_bytes(weights, n, k)),
                                       activation_bytes(m, n, k));
    }
    return assemble_gemm(model, &work);
}

static Price price_plain(const PriceModel *model, uint64_t flop, uint64_t bytes) {
    Work work = {.flop = flop, .padded_flop = flop, .bytes = bytes, .math = NUMFMT_BF16};
    return assemble(model, &work, CALIB_ATTENTION);
}

Price price_attention(const PriceModel *model, uint64_t flop, uint64_t bytes) {
    return price_plain(model, flop, bytes);
}

Price price_memory(const PriceModel *model, uint64_t flop, uint64_t bytes) {
    return price_plain(model, flop, bytes);
}
