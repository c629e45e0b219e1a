// A list of transfers between parts of a machine: the input and the output that both models of the
// network share, and the flow model's run of it. The packet model is sim/packet.h.
//
// Ends are GPUs, CPUs, NICs, memories and storage. What limits an end is the links at it: a memory
// its link of class memory, a drive the one of class storage, a GPU its NVLink, C2C and PCIe links,
// a part behind a NIC the port of that. Not modelled: DRAM moves its rate one way or the other, its
// link both ways at once; copy engines change how much of NVLink a copy gets, but how many copies
// they can serve at once and the time to start one are not published; copies take no SMs.
#ifndef SIM_TRANSFERS_H
#define SIM_TRANSFERS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/units.h"
#include "model/cost/calib.h"
#include "model/machine/fabric.h"
#include "model/report/timeline.h"
#include "sim/tier.h"

typedef struct NetTransfer {
    VertexId from, to; // GPU i is vertex i
    uint64_t bytes;    // below 2^62; 0 takes the latency alone
    Time start;        // at least 0
} NetTransfer;

// Most transfers of one list: 4096 GPUs, all pairs.
#define TRANSFERS_MAX (UINT32_C(1) << 24)

// What a GPU moves bytes with: loads and stores of kernels, as most collectives do, in NVLink
// packets of 128 B; or its copy engines, in packets of 256 B, which waste less of the link.
#define TRANSFERS_MOVER_LIST(X) X(KERNELS, "kernels") X(COPY_ENGINES, "copy-engines")
typedef enum TransfersMover {
#define X(name, text) TRANSFERS_BY_##name,
    TRANSFERS_MOVER_LIST(X)
#undef X
        TRANSFERS_MOVER_COUNT
} TransfersMover;
extern const char *const transfers_mover_names[TRANSFERS_MOVER_COUNT];

typedef struct TransfersOptions {
    // NULL: links at their nominal rates, no software time.
    const Calib *calib;
    TransfersMover mover; // which of its efficiencies NVLink has
    // Payload and header of a packet: every started packet costs its header on each link. 0:
    // headers are not counted.
    uint32_t mtu_B, header_B;
    uint32_t eps_ppb; // of flow_set_eps; 0 is exact
    // What tiers of parallel links cost (tier.h), all transfers taken for one step of those who
    // send any. Zeroed: nothing. Headers that are counted come on top.
    TierConstants tier;
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
    uint64_t eps_error_ppb;            // what eps_ppb moved an end by, at most
} TransfersResult;

// Refused, with the position in the list: a part that the machine does not have or that neither
// sends nor receives, a transfer to itself, 2^62 bytes or more, a start before 0, a pair that is
// not connected; and more transfers or a longer time than can be held.
bool transfers_run(const Fabric *fabric, const NetTransfer *list, uint32_t count,
                   const TransfersOptions *options, TransfersResult *out, Err *err);
void transfers_result_free(TransfersResult *result);

// Whether transfers can begin and end there: false, by name, at a switch and at what is down.
bool transfers_check_end(const Fabric *fabric, VertexId vertex, Err *err);

// What both models do with a list, for the models alone.
bool transfers_check(const Fabric *fabric, const NetTransfer *list, uint32_t count, Err *err);

// Sums over links, while routes are looked up one after the other.
typedef struct TransfersBound TransfersBound;
TransfersBound *transfers_bound_open(const Fabric *fabric);
// A transfer that checked, on its route.
void transfers_bound_add(TransfersBound *bound, const NetTransfer *transfer, const Route *route);
// Sets bound_ps and links; false when the time is beyond what can be held.
bool transfers_bound_close(TransfersBound *bound, TransfersResult *out, Err *err);

// Adds a link and what went over it to the totals. The busiest of a class carries the most for its
// capacity, and has the lowest number among equals; `busiest` holds it, FABRIC_NONE at first; names
// come last.
void transfers_total_link(const Fabric *fabric, LinkId link, uint64_t bytes,
                          LinkTotal totals[LINK_CLASS_COUNT], LinkId busiest[LINK_CLASS_COUNT]);
void transfers_total_names(const Fabric *fabric, const LinkId busiest[LINK_CLASS_COUNT],
                           LinkTotal totals[LINK_CLASS_COUNT]);

#endif
