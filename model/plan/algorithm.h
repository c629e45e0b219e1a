// How a collective is done.
#ifndef MODEL_PLAN_ALGORITHM_H
#define MODEL_PLAN_ALGORITHM_H

// DIRECT: everyone to everyone at once (all-reduce: reduce-scatter then all-gather, "two-shot";
// broadcast: the root to everyone). RING: neighbour to neighbour, n - 1 steps (all-reduce 2(n - 1);
// broadcast: n chunks down a chain). ONE_SHOT: all-reduce by sending the whole buffer to everyone.
// PAIRWISE: all-to-all in n - 1 steps, step s (counted from 1) with the rank s further on. TREE:
// all-reduce up and down two binary trees, half of the buffer each; broadcast down a binomial tree.
// PIPELINED_TREE: the same two trees, chunk after chunk. IN_SWITCH: the switch sums and copies.
// HIERARCHICAL: inside nodes, and across them along rails. AUTO stands in plans alone: the fastest
// by simulated time, chosen operation by operation (sim/search/choose.h).
#define ALGORITHM_LIST(X)                                                                          \
    X(DIRECT, "direct")                                                                            \
    X(RING, "ring")                                                                                \
    X(ONE_SHOT, "one-shot")                                                                        \
    X(PAIRWISE, "pairwise")                                                                        \
    X(TREE, "tree")                                                                                \
    X(PIPELINED_TREE, "pipelined-tree")                                                            \
    X(IN_SWITCH, "in-switch") X(HIERARCHICAL, "hierarchical") X(AUTO, "auto")
typedef enum Algorithm {
#define X(name, text) ALGORITHM_##name,
    ALGORITHM_LIST(X)
#undef X
        ALGORITHM_COUNT
} Algorithm;
extern const char *const algorithm_names[ALGORITHM_COUNT];

#endif
