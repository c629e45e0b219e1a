// What the ranks of one process made, as bytes, so that another process can put the results of all
// ranks together. Between processes of one run on machines of one byte order.
#ifndef EXEC_RESULT_H
#define EXEC_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "exec/compute.h"
#include "exec/interp.h"
#include "exec/job.h"
#include "model/base/err.h"
#include "model/base/text.h"

// Adds to `out`, the memory of all buffers included; nothing when the run was refused before it
// began.
void result_pack(const Job *job, const InterpResult *result, Text *out);

// The most bytes that result_pack makes of one rank in a run; UINT64_MAX when there is no bound.
uint64_t result_bytes_max(const Job *job, const ComputeUnit *compute, const InterpOptions *options,
                          uint32_t rank);

// A part as result_pack made it: borrowed, NULL of a rank that left none.
typedef struct ResultPart {
    const uint8_t *bytes;
    size_t count;
} ResultPart;

// Puts together what is there; ranks without a part are left out. The bytes are not trusted: what
// does not fit the job and `repeats` (of InterpOptions) is refused, with the part that it is from.
// Freed by interp_free.
bool result_merge(const Job *job, uint32_t repeats, const ResultPart *parts, uint32_t count,
                  InterpResult *out, Err *err);

#endif
