// Nodes that a token has to reach.
//
// A node of e experts is missed by k different experts out of T with probability C(T - e, k) /
// C(T, k); the mean number of nodes is the sum over nodes of what is left of 1. Under node-limited
// routing (DeepSeek-V3, arXiv:2412.19437, section 2.1.2: the groups are the nodes) T is what the
// chosen groups have; a node that holds several groups is missed according to how many of them were
// chosen (hypergeometric).
//
// Invariant: products and sums of numbers that are exact in a double; rounded once, upwards.
#include "model/plan/node_spread.h"

#define MILLION 1e6

static double choose(uint32_t n, uint32_t k) {
    double ways = 1;
    if (k > n) return 0;
    for (uint32_t i = 0; i < k; i++) ways = ways * (n - i) / (i + 1);
    return ways;
}

// That none of `picked` out of `total` is among `special` ones.
static double miss(uint32_t total, uint32_t special, uint32_t picked) {
    double chance = 1;
    if (total - special < picked) return 0;
    for (uint32_t i = 0; i < picked; i++) chance = chance * (total - special - i) / (total - i);
    return chance;
}

// Nodes inside groups, or no groups: nodes of one more and of one less expert.
static double mean_of_small_nodes(const NodeSpread *spread, uint32_t groups, uint32_t top_groups) {
    uint32_t each = spread->experts / spread->nodes, longer = spread->experts % spread->nodes;
    uint32_t open = (uint32_t)((uint64_t)spread->experts * top_groups / groups);
    double hit = (spread->nodes - longer) * (1 - miss(open, each, spread->top_k));
    if (longer > 0) hit += longer * (1 - miss(open, each + 1, spread->top_k));
    return hit * top_groups / groups;
}

// Nodes of several whole groups.
static double mean_of_large_nodes(const NodeSpread *spread) {
    uint32_t own = spread->groups / spread->nodes, others = spread->groups - own;
    uint32_t each = spread->experts / spread->groups, open = each * spread->top_groups;
    double missed = 0, ways = choose(spread->groups, spread->top_groups);
    for (uint32_t j = 0; j <= own && j <= spread->top_groups; j++) {
        double chance = choose(own, j) * choose(others, spread->top_groups - j) / ways;
        missed += chance * miss(open, j * each, spread->top_k);
    }
    return spread->nodes * (1 - missed);
}

double node_spread_mean(const NodeSpread *spread) {
    if (spread->groups > 1 && spread->nodes % spread->groups == 0)
        return mean_of_small_nodes(spread, spread->groups, spread->top_groups);
    if (spread->groups > 1 && spread->groups % spread->nodes == 0)
        return mean_of_large_nodes(spread);
    return mean_of_small_nodes(spread, 1, 1);
}

uint32_t node_spread_ppm(const NodeSpread *spread) {
    double ppm = node_spread_mean(spread) / spread->top_k * MILLION;
    uint32_t whole = (uint32_t)ppm;
    return whole < ppm ? whole + 1 : whole;
}
