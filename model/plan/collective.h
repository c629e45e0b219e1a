// Collectives as step lists: who sends which chunk to whom in which step. One place for each
// algorithm, shared by the simulator (which prices the transfers) and the back ends (which execute
// them on real bytes).
//
// Data is cut into n chunks, chunk c belonging to rank c of the group (collective_chunk). In one
// step all transfers run at the same time: each reads what was there when the step began. A step
// starts when the one before has ended for the ranks that take part. nccl-tests' size semantics:
// ALL_REDUCE and BROADCAST (from rank 0): the buffer; ALL_GATHER: all that a rank receives, its own
// chunk included; REDUCE_SCATTER and ALL_TO_ALL: all that a rank sends, its own chunk included.
#ifndef MODEL_PLAN_COLLECTIVE_H
#define MODEL_PLAN_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/plan/algorithm.h"

#define COLLECTIVE_LIST(X)                                                                         \
    X(ALL_REDUCE, "all-reduce")                                                                    \
    X(ALL_GATHER, "all-gather")                                                                    \
    X(REDUCE_SCATTER, "reduce-scatter") X(ALL_TO_ALL, "all-to-all") X(BROADCAST, "broadcast")
typedef enum Collective {
#define X(name, text) COLLECTIVE_##name,
    COLLECTIVE_LIST(X)
#undef X
        COLLECTIVE_COUNT
} Collective;
extern const char *const collective_names[COLLECTIVE_COUNT];

bool collective_has(Collective kind, Algorithm algorithm);

// For HIERARCHICAL, `inner` consecutive ranks of the group share a node; ranks of equal position in
// their nodes are a rail. RAIL_FIRST: an all-to-all crosses nodes along the rail of its source and
// is spread inside the node where it arrives (a dispatch: one copy of a token for each node).
// NODE_FIRST: it is brought to the rail of its destination first (a combine: one sum for each
// node). Other algorithms and collectives do not read the order.
typedef enum HierarchyOrder { RAIL_FIRST, NODE_FIRST } HierarchyOrder;

typedef struct CollectiveShape {
    Collective kind;
    Algorithm algorithm;
    uint32_t n;     // ranks of the group
    uint32_t inner; // HIERARCHICAL: 1 < inner <= n, a divisor of n; not read by others
    HierarchyOrder order;
} CollectiveShape;

// Whether there is such a collective: has, and `inner` as above when n > 1.
bool collective_check(CollectiveShape shape, Err *err);

// Where chunks lie. INPUT is never written. A rank's INPUT of an ALL_GATHER and its OUTPUT of a
// REDUCE_SCATTER hold one chunk (of any number) at their start; of a BROADCAST only rank 0 has an
// INPUT; all else is n chunks in order of their number. The chunk number is, for ALL_TO_ALL: of the
// INPUT the rank it goes to, of the OUTPUT the rank it comes from. SCRATCH lies aside for the
// length of the collective: n chunks of the buffer, or, for ALL_TO_ALL, the parts of
// collective_scratch_part.
typedef enum TransferSpace {
    TRANSFER_INPUT,
    TRANSFER_OUTPUT,
    TRANSFER_SCRATCH,
    TRANSFER_SPACES
} TransferSpace;

// Into one place of one step go copies first, then sums in order of `from`: so direct and one-shot
// sums are those of the ranks in order, the same on every rank.
typedef enum TransferAction { TRANSFER_COPY, TRANSFER_ADD } TransferAction;

typedef struct Transfer {
    uint32_t from, to; // ranks of the group; equal: local, no link is used
    TransferSpace from_space, to_space;
    uint32_t from_chunk, to_chunk;
    uint32_t chunks; // that follow each other from there on; 1 for ALL_TO_ALL
    TransferAction action;
} Transfer;

// Number of steps (0 when n == 1: only local transfers of step 0 then remain, below). All functions
// below take shapes that check.
uint32_t collective_steps(CollectiveShape shape);
// Transfers that rank `from` sends in a step, local ones included; step 0 always exists for them.
uint32_t collective_transfer_count(CollectiveShape shape, uint32_t step, uint32_t from);
Transfer collective_transfer(CollectiveShape shape, uint32_t step, uint32_t from, uint32_t index);

// The part of an all-to-all that a transfer carries: from the INPUT of `source` for `target`.
typedef struct CollectivePart {
    uint32_t source, target;
} CollectivePart;
CollectivePart collective_part(const Transfer *transfer);
// The part in chunk `chunk` of the SCRATCH of rank `holder` in an all-to-all, n chunks on each
// rank; those that belong to the holder's own node stay empty.
CollectivePart collective_scratch_part(CollectiveShape shape, uint32_t holder, uint32_t chunk);

// What a step looks like to the network. ALL_PAIRS: every rank sends `chunks` chunks to each other
// rank of its scope. SHIFT: to the rank `shift` further on in its scope. IN_SWITCH: every rank
// sends `chunks` chunks once to the switches of its scale-up domain and gets `down` chunks from
// them; the transfers then say what data ends where, not what goes over links. IRREGULAR: only the
// transfers tell. GROUP: all ranks; NODE: those of one node; RAIL: those of one rail.
typedef enum StepPattern {
    PATTERN_ALL_PAIRS,
    PATTERN_SHIFT,
    PATTERN_IN_SWITCH,
    PATTERN_IRREGULAR
} StepPattern;
typedef enum StepScope { SCOPE_GROUP, SCOPE_NODE, SCOPE_RAIL } StepScope;
typedef struct StepTraffic {
    StepPattern pattern;
    StepScope scope;
    uint32_t shift;
    uint32_t chunks, down;
    uint32_t repeat; // equal steps from this one on, this one included: priced once
} StepTraffic;
// `step` is below collective_steps.
StepTraffic collective_traffic(CollectiveShape shape, uint32_t step);

// Bytes [*first, *first + *count) of chunk c when `bytes` are cut into n chunks of whole elements:
// the first (elements % n) chunks are one element longer. `element` is the size of what must not be
// cut (0 reads as 1); a last element that is not whole belongs to the last chunk that has one.
void collective_chunk(uint64_t bytes, uint32_t element, uint32_t n, uint32_t c, uint64_t *first,
                      uint64_t *count);

// An all-to-all(v) cut by shares: rank j's share of what all ranks send together is
// [before, before + part) of `whole`. Elements that rank `source` sends to it when every rank sends
// `elements`: whole numbers; each rank's sum over destinations is exactly `elements`, and a
// destination's sum over sources is its share of n * elements rounded up or down. The elements of
// all ranks, in order of destination, are dealt to the sources in turn, like cards.
typedef struct CollectiveShare {
    uint64_t before, part, whole; // whole > 0, before + part <= whole
} CollectiveShare;
uint64_t collective_share_count(uint64_t elements, uint32_t n, uint32_t source,
                                const CollectiveShare *destination);

// Bus bandwidth of nccl-tests: algorithm bandwidth * num / den. Source: nccl-tests,
// doc/PERFORMANCE.md.
void collective_bus_factor(Collective kind, uint32_t n, uint32_t *num, uint32_t *den);

#endif
