// Rates of network ports as people write them: a rate ("400Gbps"), a round number of Gbit/s as data
// sheets name ports ("400G", of Ethernet also "400GbE"), or a generation of InfiniBand: "NDR" is a
// port of four lanes, "NDR200" the part of it that so many Gbit/s are.
#ifndef MODEL_MACHINE_PORT_RATE_H
#define MODEL_MACHINE_PORT_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/machine/topology.h"

// Of a link of that class; the rate of a lane by generation is data
// (topologies/imports/known.json). Other classes than ib and eth are rates alone. Above 0 and at
// most TOPOLOGY_RATE_MAX_BPS.
bool port_rate_parse(LinkClass link_class, const char *text, uint64_t *out_Bps, Err *err);

#endif
