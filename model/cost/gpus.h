// The one device of all GPUs of a machine: prices and memories are of one device for all ranks.
#ifndef MODEL_COST_GPUS_H
#define MODEL_COST_GPUS_H

#include <stdbool.h>

#include "model/base/err.h"
#include "model/machine/device.h"
#include "model/machine/fabric.h"

// What must be known of it: nothing (it may have no device at all, then *out is NULL), its memory,
// or all that prices take.
typedef enum GpusNeed { GPUS_NEED_NOTHING, GPUS_NEED_MEMORY, GPUS_NEED_RATES } GpusNeed;

// `machine` begins the messages. Machines of several devices are refused.
bool gpus_device(const Fabric *fabric, const char *machine, GpusNeed need, const Device **out,
                 Err *err);

#endif
