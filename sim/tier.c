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
// latency: messages of 1 and of 4 KiB lose the same number of packet times).
//
// Invariant: 0 for one path, and never below 0.
#include "sim/tier.h"

#include <math.h>

#include "model/base/num.h"

// Units: parts, parts, packets. Fitted to packet mode (MTU 4096 B, header 66 B, sprayed, default
// buffers) by tests/bench/packet_fit.c: 38 all-to-alls of 8, 16 and 32 nodes on 4 to 16 spines, 1
// to 256 KiB a pair, error of the whole time 2.9 % (root mean square). Held out: 76 of 12 and 24
// nodes, of other oversubscription at 24 and 32, and of sizes between: 3.2 %, at most 8.8 %. The
// buffers' part is the weakest: of long messages 1 to 18 % were lost, most on 4:1 and on 12 spines.
TierConstants tier_default(void) {
    return (TierConstants){.collisions = 0.66, .buffers = 0.079, .packets = 20.7};
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
    return sqrt(felt * felt + constants->buffers * constants->buffers) +
           constants->packets * ratio * ratio / most;
}
