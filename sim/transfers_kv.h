// The hand-over of a KV cache (model/plan/kv_transfer.h) on the links of a machine.
#ifndef SIM_TRANSFERS_KV_H
#define SIM_TRANSFERS_KV_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/machine/fabric.h"
#include "model/plan/kv_transfer.h"
#include "sim/transfers.h"

typedef struct TransfersKv {
    const KvList *pieces;      // in the order of kv_transfer_list; all members are borrowed
    const VertexId *from, *to; // of each rank: a GPU, or the memory that it stands for
    uint32_t from_ranks, to_ranks;
    const Time *ready; // of each batch: when its sender has it; NULL: all at 0
} TransfersKv;

// Batches in a row: a batch starts when it is ready and the one before has arrived, as engines do
// that wait for a layer or a block to be complete; what a pair of ranks exchanges in it is one
// transfer. finish is that of batches; bound_ps is that of all transfers, each as early as it is
// ready. A rank on the part that it receives from moves nothing. Refused besides what transfers_run
// refuses: a rank that has no part.
bool transfers_kv_run(const Fabric *fabric, const TransfersKv *move,
                      const TransfersOptions *options, TransfersResult *out, Err *err);

uint32_t transfers_kv_batches(const KvList *pieces);

#endif
