// How a collective is done.
#ifndef MODEL_PLAN_ALGORITHM_H
#define MODEL_PLAN_ALGORITHM_H

// DIRECT: everyone to everyone at once (all-reduce: reduce-scatter then all-gather, "two-shot").
// RING: neighbour to neighbour, n - 1 steps (all-reduce 2(n - 1)). ONE_SHOT: all-reduce by sending
// the whole buffer to everyone. PAIRWISE: all-to-all in n - 1 steps, step s (counted from 1) with
// the rank s further on.
#define ALGORITHM_LIST(X)                                                                          \
    X(DIRECT, "direct") X(RING, "ring") X(ONE_SHOT, "one-shot") X(PAIRWISE, "pairwise")
typedef enum Algorithm {
#define X(name, text) ALGORITHM_##name,
    ALGORITHM_LIST(X)
#undef X
        ALGORITHM_COUNT
} Algorithm;
extern const char *const algorithm_names[ALGORITHM_COUNT];

#endif
