// How many nodes the experts of a token lie on, and what of its copies crosses nodes when each node
// gets one.
#ifndef MODEL_PLAN_NODE_SPREAD_H
#define MODEL_PLAN_NODE_SPREAD_H

#include <stdint.h>

// `top_k` of `experts`, all alike, spread evenly over `nodes`. With `groups` above 1 they are
// chosen inside `top_groups` of so many equal groups of consecutive experts (node-limited routing);
// a limit is not read when groups and nodes straddle each other: the result is then from above.
// 0 < top_k <= experts (those of top_groups, with a limit), 0 < nodes <= experts.
typedef struct NodeSpread {
    uint32_t experts, top_k, groups, top_groups, nodes;
} NodeSpread;

double node_spread_mean(const NodeSpread *spread); // nodes that hold an expert of a token

// One copy for each node, in millionths of one copy for each expert, rounded up: Comm.rail_ppm.
uint32_t node_spread_ppm(const NodeSpread *spread);

#endif
