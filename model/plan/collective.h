// Collectives as step lists: who sends which chunk to whom in which step. One place for each
// algorithm, shared by the simulator (which prices the transfers) and the back ends (which execute
// them on real bytes).
//
// Data is cut into n chunks, chunk c belonging to rank c of the group (collective_chunk). In one
// step all transfers run at the same time: each reads what was there when the step began. A step
// starts when the one before has ended for the ranks that take part. nccl-tests' size semantics:
// ALL_REDUCE: the buffer; ALL_GATHER: all that a rank receives, its own chunk included;
// REDUCE_SCATTER and ALL_TO_ALL: all that a rank sends, its own chunk included.
#ifndef MODEL_PLAN_COLLECTIVE_H
#define MODEL_PLAN_COLLECTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/plan/algorithm.h"

#define COLLECTIVE_LIST(X)                                                                         \
    X(ALL_REDUCE, "all-reduce")                                                                    \
    X(ALL_GATHER, "all-gather") X(REDUCE_SCATTER, "reduce-scatter") X(ALL_TO_ALL, "all-to-all")
typedef enum Collective {
#define X(name, text) COLLECTIVE_##name,
    COLLECTIVE_LIST(X)
#undef X
        COLLECTIVE_COUNT
} Collective;
extern const char *const collective_names[COLLECTIVE_COUNT];

bool collective_has(Collective kind, Algorithm algorithm);

// Where a chunk lies. INPUT is never written. A rank's INPUT of an ALL_GATHER and its OUTPUT of a
// REDUCE_SCATTER hold one chunk (of any number) at their start; all else is n chunks in order of
// their number. The chunk number is, for ALL_TO_ALL: of the INPUT the rank it goes to, of the
// OUTPUT the rank it comes from.
typedef enum TransferSpace { TRANSFER_INPUT, TRANSFER_OUTPUT } TransferSpace;

// Into one place of one step go copies first, then sums in order of `from`: so direct and one-shot
// sums are those of the ranks in order, the same on every rank.
typedef enum TransferAction { TRANSFER_COPY, TRANSFER_ADD } TransferAction;

#define CHUNK_ALL UINT32_MAX // the whole buffer

typedef struct Transfer {
    uint32_t from, to;        // ranks of the group; equal: local, no link is used
    TransferSpace from_space; // the destination is always OUTPUT
    uint32_t from_chunk, to_chunk;
    TransferAction action;
} Transfer;

// Number of steps for n ranks (0 when n == 1: only local transfers of step 0 then remain, below).
uint32_t collective_steps(Collective kind, Algorithm algorithm, uint32_t n);
// Transfers that rank `from` sends in a step, local ones included; step 0 always exists for them.
uint32_t collective_transfer_count(Collective kind, Algorithm algorithm, uint32_t n, uint32_t step,
                                   uint32_t from);
Transfer collective_transfer(Collective kind, Algorithm algorithm, uint32_t n, uint32_t step,
                             uint32_t from, uint32_t index);

// What a step looks like to the network: every rank sends `chunks` chunks (CHUNK_ALL: the whole
// buffer) to each other rank (ALL_PAIRS), or to the rank `shift` further on (SHIFT).
typedef enum StepPattern { PATTERN_ALL_PAIRS, PATTERN_SHIFT } StepPattern;
typedef struct StepTraffic {
    StepPattern pattern;
    uint32_t shift;
    uint32_t chunks;
    uint32_t repeat; // equal steps from this one on, this one included: priced once
} StepTraffic;
// `step` is below collective_steps.
StepTraffic collective_traffic(Collective kind, Algorithm algorithm, uint32_t n, uint32_t step);

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
