// Routed tokens by node and rail.
//
// Invariant: after a dispatch each target has the token once; over a rail goes one copy for each
// node that has a target. A combine is the dispatch turned round.
//
// Source: DeepEP (deepseek-ai/DeepEP), normal kernels: a token crosses RDMA once for each
// destination node, to the GPU of equal index, which forwards it over NVLink.
#include "model/plan/collective_token.h"

#include <assert.h>

static uint32_t add_rail_hops(CollectiveShape shape, uint32_t source, const uint32_t *targets,
                              uint32_t count, TokenHop *hops) {
    uint32_t inner = shape.inner, found = 0, before = source / inner;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t node = targets[i] / inner;
        if (node == before || node == source / inner) continue;
        hops[found++] = (TokenHop){.from = source, .to = node * inner + source % inner};
        before = node;
    }
    return found;
}

static uint32_t add_node_hops(CollectiveShape shape, uint32_t source, const uint32_t *targets,
                              uint32_t count, TokenHop *hops) {
    uint32_t inner = shape.inner;
    for (uint32_t i = 0; i < count; i++)
        hops[i] = (TokenHop){.from = targets[i] / inner * inner + source % inner, .to = targets[i]};
    return count;
}

static uint32_t add_dispatch_hops(CollectiveShape shape, uint32_t step, uint32_t source,
                                  const uint32_t *targets, uint32_t count, TokenHop *hops) {
    if (shape.algorithm == ALGORITHM_HIERARCHICAL && shape.n > 1) {
        bool is_last = step + 1 == collective_steps(shape);
        return is_last ? add_node_hops(shape, source, targets, count, hops)
                       : add_rail_hops(shape, source, targets, count, hops);
    }
    for (uint32_t i = 0; i < count; i++) hops[i] = (TokenHop){.from = source, .to = targets[i]};
    return count;
}

uint32_t collective_token_hops(CollectiveShape shape, uint32_t step, uint32_t source,
                               const uint32_t *targets, uint32_t count, TokenHop *hops) {
    assert(shape.kind == COLLECTIVE_ALL_TO_ALL && source < shape.n);
    bool is_back = shape.order == NODE_FIRST;
    uint32_t steps = collective_steps(shape);
    uint32_t there = is_back && steps > 0 ? steps - 1 - step : step;
    uint32_t found = add_dispatch_hops(shape, there, source, targets, count, hops);
    for (uint32_t i = 0; is_back && i < found; i++)
        hops[i] = (TokenHop){.from = hops[i].to, .to = hops[i].from};
    return found;
}
