// Quantities as people write them: "900 GB/s", "400 Gbit/s", "500 ns", "80 GiB", "1.5 us".
//
// GB is 1e9 bytes, GiB is 2^30. A bit rate must give a whole number of bytes per second. A number
// without a unit, a sign, an exponent, "inf" and "nan" are refused. Decimal fractions are read
// exactly (no double in between) and must come out whole in the base unit: "0.5 ps" is refused.
#ifndef MODEL_BASE_UNITS_H
#define MODEL_BASE_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"

typedef int64_t Time; // simulated time, picoseconds

#define TIME_MAX      INT64_MAX
#define PS_PER_SECOND INT64_C(1000000000000)

// Rounded once, so that a number written for programs is the nearest one.
static inline double units_seconds(Time ps) {
    return (double)ps / (double)PS_PER_SECOND;
}

// A duration is a time that people wait; only what is suggested in its place differs.
typedef enum UnitsKind {
    UNITS_BYTES,
    UNITS_RATE,
    UNITS_TIME,
    UNITS_DURATION,
    UNITS_FLOPS,
    UNITS_COUNT
} UnitsKind;

// The form of a quantity for messages: `a rate such as "400 Gbit/s"`.
const char *units_expected(UnitsKind kind);

// Parses any of the kinds below; a time is at most TIME_MAX.
bool units_parse(UnitsKind kind, const char *text, uint64_t *out, Err *err);

// Each parses the whole string (one optional space before the unit). On failure the message is
// `expected a size such as "80 GiB", found "80"`; the caller prefixes where. Outputs only on
// success.
// B kB KB MB GB TB PB KiB MiB GiB TiB PiB
bool units_parse_bytes(const char *text, uint64_t *out_B, Err *err);
// The same, rounded down: for a size that a program printed with few digits, such as "79.18 GiB".
bool units_parse_bytes_down(const char *text, uint64_t *out_B, Err *err);
// B/s kB/s .. PB/s KiB/s .. PiB/s bit/s kbit/s Mbit/s Gbit/s Tbit/s, and Gbps, Mbps, Tbps
bool units_parse_rate(const char *text, uint64_t *out_Bps, Err *err);
// ps ns us ms s min h (and the micro sign)
bool units_parse_time(const char *text, Time *out_ps, Err *err);
// flop/s kflop/s .. Pflop/s, and TFLOPS, PFLOPS
bool units_parse_flops(const char *text, uint64_t *out_flops, Err *err);
// Counts with an optional suffix k, M, G (1e3, 1e6, 1e9) or Ki, Mi: "8k", "1Mi", "4096"
bool units_parse_count(const char *text, uint64_t *out, Err *err);

// For people: three significant digits and a unit ("1.20 us", "80.0 GB", "900 GB/s"); minutes from
// 600 s on. `buffer` has at least UNITS_TEXT_MAX bytes. Return buffer. GB is 1e9 bytes.
#define UNITS_TEXT_MAX 32
char *units_format_time(Time ps, char *buffer);
char *units_format_bytes(uint64_t B, char *buffer);
char *units_format_rate(uint64_t Bps, char *buffer);

// For files: the largest unit in which the value is whole ("450 GB/s", "500 ns", "80 GiB"), so that
// it reads back exactly. Return buffer.
char *units_write_time(Time ps, char *buffer);
char *units_write_bytes(uint64_t B, char *buffer);
char *units_write_rate(uint64_t Bps, char *buffer);

#endif
