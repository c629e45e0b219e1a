// A list of transfers between GPUs: the input and the output that both models of the network share,
// and the flow model's run of it. The packet model is sim/packet.h.
#ifndef SIM_TRANSFERS_H
#define SIM_TRANSFERS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/units.h"
#include "model/cost/calib.h"
#include "model/machine/fabric.h"
#include "model/report/timeline.h"

typedef struct NetTransfer {
    uint32_t from_gpu, to_gpu;
    uint64_t bytes; // below 2^62; 0 takes the latency alone
    Time start;     // at least 0
} NetTransfer;

// Most transfers of one list: 4096 GPUs, all pairs.
#define TRANSFERS_MAX (UINT32_C(1) << 24)

typedef struct TransfersOptions {
    // NULL: links at their nominal rates, no software time.
    const Calib *calib;
    // Payload and header of a packet: every started packet costs its header on each link. 0:
    // headers are not counted.
    uint32_t mtu_B, header_B;
    uint32_t eps_ppb; // of flow_set_eps; 0 is exact
} TransfersOptions;

// A zeroed TransfersResult is empty.
typedef struct TransfersResult {
    Time *finish; // of each transfer, in the order of the list: its last byte is there; heap
    Time end_ps;  // the latest of them
    // No routing of these paths can be faster: over links, the earliest that a transfer can reach
    // one and its bytes over its nominal capacity, the paths sharing as the fabric's weights say;
    // over transfers, the same of one alone. Headers are not counted.
    Time bound_ps;
    LinkTotal links[LINK_CLASS_COUNT]; // bytes without headers
    uint64_t steps;                    // solves, or events of the packet model
} TransfersResult;

// Refused, with the position in the list: a GPU that the machine does not have, a transfer to
// itself, 2^62 bytes or more, a start before 0, a pair that is not connected; and more transfers or
// a longer time than can be held.
bool transfers_run(const Fabric *fabric, const NetTransfer *list, uint32_t count,
                   const TransfersOptions *options, TransfersResult *out, Err *err);
void transfers_result_free(TransfersResult *result);

// What both models do with a list, for the models alone.
bool transfers_check(const Fabric *fabric, const NetTransfer *list, uint32_t count, Err *err);

// Sums over links, while routes are looked up one after the other.
typedef struct TransfersBound TransfersBound;
TransfersBound *transfers_bound_open(const Fabric *fabric);
// A transfer that checked, on its route.
void transfers_bound_add(TransfersBound *bound, const NetTransfer *transfer, const Route *route);
// Sets bound_ps and links; false when the time is beyond what can be held.
bool transfers_bound_close(TransfersBound *bound, TransfersResult *out, Err *err);

// Adds a link and what went over it to the totals. The busiest of a class is the one of the lowest
// number among equals; `busiest` holds it, FABRIC_NONE at first; names come last.
void transfers_total_link(const Fabric *fabric, LinkId link, uint64_t bytes,
                          LinkTotal totals[LINK_CLASS_COUNT], LinkId busiest[LINK_CLASS_COUNT]);
void transfers_total_names(const Fabric *fabric, const LinkId busiest[LINK_CLASS_COUNT],
                           LinkTotal totals[LINK_CLASS_COUNT]);

#endif
