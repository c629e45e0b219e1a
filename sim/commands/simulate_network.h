// What simulate --collective and --transfers share: the two models of the network on lists of
// transfers, collectives packet by packet, and a matrix of bytes in place of a size.
#ifndef SIM_COMMANDS_SIMULATE_NETWORK_H
#define SIM_COMMANDS_SIMULATE_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/cli.h"
#include "model/base/err.h"
#include "model/base/jsonw.h"
#include "model/base/text.h"
#include "model/machine/fabric.h"
#include "model/plan/collective.h"
#include "model/report/timeline.h"
#include "sim/packet.h"
#include "sim/transfers.h"

typedef enum NetworkModel { NETWORK_FLOW, NETWORK_PACKET } NetworkModel;

// Rank r is on live GPU first + r.
typedef struct NetworkRanks {
    const Fabric *fabric;
    uint32_t first_gpu, count;
} NetworkRanks;

typedef struct NetworkResult {
    Time time_ps, bound_ps;
    LinkTotal links[LINK_CLASS_COUNT]; // of packets with their headers
    uint64_t packets;                  // 0 in the flow model
    uint64_t fullest_B, buffer_B;      // the fullest buffer of all: its peak and its size
    LinkId fullest;                    // the link before it
    Time blocked_ps;                   // the longest that one link stood for want of room
    uint64_t flow_eps_error_ppb;       // of flows: what --flow-eps moved an end by, at most
} NetworkResult;

// Bytes from rank i to rank j at [i * ranks + j].
typedef struct NetworkMatrix {
    uint64_t *bytes; // heap
    uint32_t ranks;
    uint64_t total_B, most_sent_B, most_received_B; // the diagonal left out
} NetworkMatrix;

// --network, --mtu, --buffer, --route and --seed. Refused when those of packets are given for
// flows.
bool simulate_network_options(const CliArgs *args, NetworkModel *out_model, PacketOptions *out,
                              Err *err);

// All steps of a collective of `bytes` (collective.h), one after the other, packet by packet.
bool simulate_network_collective(const NetworkRanks *ranks, CollectiveShape shape, uint64_t bytes,
                                 const PacketOptions *options, NetworkResult *out, Err *err);

bool simulate_network_read_matrix(const char *path, uint32_t ranks, NetworkMatrix *out, Err *err);
// All at once. `flow` is for the flow model, and has constants; `packet` for the other one.
bool simulate_network_matrix(const NetworkRanks *ranks, const NetworkMatrix *matrix,
                             NetworkModel model, const TransfersOptions *flow,
                             const PacketOptions *packet, NetworkResult *out, Err *err);

// A list that transfers_check accepts. *out_finish (heap, see TransfersResult) may be NULL.
bool simulate_network_list(const Fabric *fabric, const NetTransfer *list, uint32_t count,
                           NetworkModel model, const TransfersOptions *flow,
                           const PacketOptions *packet, Time **out_finish, NetworkResult *out,
                           Err *err);

// Result of `count` such runs in a row; false when the time cannot be held.
bool simulate_network_repeat(NetworkResult *result, uint64_t count, Err *err);

// The lines and members that only packets have.
void simulate_network_show(const Fabric *fabric, const PacketOptions *options,
                           const NetworkResult *result, Text *out);
void simulate_network_json(const Fabric *fabric, const PacketOptions *options,
                           const NetworkResult *result, JsonWriter *out);

#endif
