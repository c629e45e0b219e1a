// What packets lose on a tier of parallel links.
//
// A transfer of p packets dealt over w links puts p / w of them on each, rounded up on some and
// down on others as chance has it: on one link the variance is f (1 - f), f the fractional part of
// p / w. With k transfers a link has a mean of n = k p / w packets and a variance of k f (1 - f);
// of l links the fullest one exceeds the mean by about sqrt(2 k f (1 - f) ln l), the expected
// maximum of l normal variables (Cramer, Mathematical Methods of Statistics, 1946, section 28.6;
// for balls in bins: Raab and Steger, RANDOM 1998). When p is a multiple of w nothing collides in
// the sum, but packets still meet, and with finite buffers outputs idle: a constant part. Where the
// links below the tier are as full as those in it, a packet waits at both: a constant number of
// packet times, once, felt as the square of the ratio of the two loads (it does not depend on the
// latency: messages of 1 and of 4 KiB lose the same number of packet times). Queues grow as the
// square root of the packets that came until they are as long as they get, so that little traffic
// waits less. And where a port has few transfers, outputs are fed by few sources, which soon stand
// in each other's way no more: at most so many packets are lost for each of them.
//
// The constants fitted to packet mode (MTU 4096 B, header 66 B, sprayed, default buffers) by
// tests/bench/packet_fit.c: 38 all-to-alls of 8, 16 and 32 nodes on 4 to 16 spines, 1 to 256 KiB a
// pair, error of the whole time 3.3 % (root mean square). Held out: 76 of 12 and 24 nodes, of other
// oversubscription at 24 and 32, and of sizes between: 3.4 %, at most 9.0 %. The buffers' part is
// the weakest: of long messages 1 to 18 % were lost, most on 4:1 and on 12 spines.
//
// Invariant: 0 for one path, and never below 0.
#include "sim/tier.h"

#include <math.h>

#include "model/base/num.h"

// Packets of a link after which queues are as long as they get; packets that a transfer of a port
// costs at most, and the transfers of a port from which on that grows with their number. Read off
// shifts, not fitted: 12 and 16 nodes on 4, 8 and 16 spines, 1 to 60 transfers of 1 KiB to 1 MiB a
// port (tests/bench/packet_fit.c).
#define SETTLED_PACKETS  240.0
#define TRANSFER_PACKETS 4.5
#define FEW_TRANSFERS    8.0

static double most_lost(const TierTraffic *traffic) {
    double transfers = (double)traffic->port_transfers;
    double growth = transfers > FEW_TRANSFERS ? transfers / FEW_TRANSFERS : 1;
    return TRANSFER_PACKETS * transfers * growth;
}

double tier_excess(const TierTraffic *traffic, const TierConstants *constants) {
    if (traffic->paths < 2 || traffic->transfers == 0 || traffic->packets == 0) return 0;
    double paths = (double)traffic->paths, transfers = (double)traffic->transfers;
    double part = (double)(traffic->packets % traffic->paths) / paths;
    double mean = transfers * (double)traffic->packets / paths;
    double port = (double)traffic->port_packets;
    double most = mean > port ? mean : port, ratio = (mean < port ? mean : port) / most;
    double links = traffic->links > 2 ? (double)traffic->links : 2;
    double worst = sqrt(2 * transfers * part * (1 - part) * num_log(links)) / most;
    double felt = constants->collisions * worst;
    double settled = most < SETTLED_PACKETS ? sqrt(most / SETTLED_PACKETS) : 1;
    double lost = most * sqrt(felt * felt + constants->buffers * constants->buffers) +
                  constants->packets * ratio * ratio * settled;
    double bound = most_lost(traffic);
    return (lost < bound ? lost : bound) / most;
}
