// Collectives as step lists: what all algorithms have in common. Each algorithm is a file of its
// own, collective_*.c, which names its source.
//
// Invariant: collective_transfer is the definition; collective_steps, collective_transfer_count and
// collective_traffic only describe it (the tests derive them from it). After the last step every
// rank's OUTPUT is what the collective means, for every n >= 1 and every size.
#include "model/plan/collective.h"

#include <assert.h>

#include "model/plan/collective_method.h"

const char *const collective_names[COLLECTIVE_COUNT] = {
#define X(name, text) text,
    COLLECTIVE_LIST(X)
#undef X
};

static const CollectiveMethod none = {0}; // of AUTO

static const CollectiveMethod *method_of(Algorithm algorithm) {
    switch (algorithm) {
    case ALGORITHM_DIRECT: return &collective_direct;
    case ALGORITHM_RING: return &collective_ring;
    case ALGORITHM_ONE_SHOT: return &collective_one_shot;
    case ALGORITHM_PAIRWISE: return &collective_pairwise;
    case ALGORITHM_TREE: return &collective_tree;
    case ALGORITHM_PIPELINED_TREE: return &collective_pipelined_tree;
    case ALGORITHM_IN_SWITCH: return &collective_in_switch;
    case ALGORITHM_HIERARCHICAL: return &collective_hierarchical;
    case ALGORITHM_AUTO:
    case ALGORITHM_COUNT: break;
    }
    return &none;
}

bool collective_has(Collective kind, Algorithm algorithm) {
    return (method_of(algorithm)->kinds >> kind & 1) != 0;
}

bool collective_check(CollectiveShape shape, Err *err) {
    if (!collective_has(shape.kind, shape.algorithm))
        return err_set(err, "%s has no algorithm \"%s\"", collective_names[shape.kind],
                       algorithm_names[shape.algorithm]);
    if (shape.algorithm != ALGORITHM_HIERARCHICAL || shape.n == 1) return true;
    return (shape.inner > 1 && shape.inner <= shape.n && shape.n % shape.inner == 0) ||
           err_set(err,
                   "hierarchical %s of %u ranks: expected nodes of 2 to %u ranks that divide "
                   "them, found %u",
                   collective_names[shape.kind], shape.n, shape.n, shape.inner);
}

uint32_t collective_steps(CollectiveShape shape) {
    assert(shape.n > 0 && collective_has(shape.kind, shape.algorithm));
    return shape.n == 1 ? 0 : method_of(shape.algorithm)->steps(shape);
}

uint32_t collective_transfer_count(CollectiveShape shape, uint32_t step, uint32_t from) {
    assert(from < shape.n && (step == 0 || step < collective_steps(shape)));
    return shape.n == 1 ? 1 : method_of(shape.algorithm)->count(shape, step, from);
}

Transfer collective_transfer(CollectiveShape shape, uint32_t step, uint32_t from, uint32_t index) {
    assert(index < collective_transfer_count(shape, step, from));
    if (shape.n == 1) return (Transfer){.to_space = TRANSFER_OUTPUT, .chunks = 1};
    return method_of(shape.algorithm)->transfer(shape, step, from, index);
}

StepTraffic collective_traffic(CollectiveShape shape, uint32_t step) {
    assert(step < collective_steps(shape));
    return method_of(shape.algorithm)->traffic(shape, step);
}

// Every transfer of an all-to-all has its INPUT or its OUTPUT at one end.
CollectivePart collective_part(const Transfer *transfer) {
    if (transfer->from_space == TRANSFER_INPUT)
        return (CollectivePart){.source = transfer->from, .target = transfer->from_chunk};
    return (CollectivePart){.source = transfer->to_chunk, .target = transfer->to};
}

void collective_bus_factor(Collective kind, uint32_t n, uint32_t *num, uint32_t *den) {
    *num = n - 1;
    *den = n;
    if (kind == COLLECTIVE_ALL_REDUCE) *num = 2 * (n - 1);
    if (kind == COLLECTIVE_BROADCAST) *num = n;
}
