// By node and rail: inside nodes over the scale-up links, across nodes between ranks of equal
// position, so that a byte crosses a NIC once for a node and not once for each of its ranks.
//
// Rank r has position r % inner in node r / inner. All-reduce: sums inside the node (position p
// gets the chunks of all ranks at position p), across the rail, and gathers back both ways.
// All-gather and reduce-scatter are its halves. All-to-all in two phases, in the order of the
// shape.
//
// Invariant: a rail carries the chunks that belong to its own ranks; phases across nodes are left
// out when there is one node.
//
// Sources: all-reduce: NCCL and BlueConnect (M. Cho, U. Finkler, M. Serrano, D. Kung, H. Hunter,
// IBM J. Res. Dev. 63 (2019) 1:1-1:11). All-to-all: DeepEP (deepseek-ai/DeepEP), normal kernels:
// RDMA to the same GPU index of the destination node, then NVLink; NCCL's PXN for the other order.
#include "model/plan/collective_method.h"

typedef enum Verb { VERB_REDUCE, VERB_GATHER, VERB_EXCHANGE } Verb;

typedef struct Phase {
    StepScope scope;
    Verb verb;
    bool is_first, is_last;
} Phase;

static const Phase reduce_scatter[] = {{SCOPE_NODE, VERB_REDUCE, true, false},
                                       {SCOPE_RAIL, VERB_REDUCE, false, true}};
static const Phase all_gather[] = {{SCOPE_RAIL, VERB_GATHER, true, false},
                                   {SCOPE_NODE, VERB_GATHER, false, true}};
static const Phase all_reduce[] = {{SCOPE_NODE, VERB_REDUCE, true, false},
                                   {SCOPE_RAIL, VERB_REDUCE, false, false},
                                   {SCOPE_RAIL, VERB_GATHER, false, false},
                                   {SCOPE_NODE, VERB_GATHER, false, true}};
static const Phase rail_first[] = {{SCOPE_RAIL, VERB_EXCHANGE, true, false},
                                   {SCOPE_NODE, VERB_EXCHANGE, false, true}};
static const Phase node_first[] = {{SCOPE_NODE, VERB_EXCHANGE, true, false},
                                   {SCOPE_RAIL, VERB_EXCHANGE, false, true}};

#define PHASES(list) ((uint32_t)(sizeof(list) / sizeof *(list)))

static const Phase *phases_of(CollectiveShape shape, uint32_t *count) {
    switch (shape.kind) {
    case COLLECTIVE_ALL_REDUCE: *count = PHASES(all_reduce); return all_reduce;
    case COLLECTIVE_ALL_GATHER: *count = PHASES(all_gather); return all_gather;
    case COLLECTIVE_REDUCE_SCATTER: *count = PHASES(reduce_scatter); return reduce_scatter;
    case COLLECTIVE_ALL_TO_ALL:
    case COLLECTIVE_BROADCAST:
    case COLLECTIVE_COUNT: break;
    }
    *count = PHASES(rail_first);
    return shape.order == RAIL_FIRST ? rail_first : node_first;
}

static uint32_t nodes_of(CollectiveShape shape) {
    return shape.n / shape.inner;
}

static uint32_t hierarchical_steps(CollectiveShape shape) {
    uint32_t count;
    phases_of(shape, &count);
    return nodes_of(shape) > 1 ? count : count / 2; // half of the phases cross nodes
}

// With one node, phases on rails are passed over; the first and the last that remain are so.
static Phase phase_of(CollectiveShape shape, uint32_t step) {
    uint32_t count;
    const Phase *phases = phases_of(shape, &count);
    if (nodes_of(shape) > 1) return phases[step];
    Phase phase = {0};
    for (uint32_t i = 0, found = 0; i < count; i++) {
        if (phases[i].scope == SCOPE_NODE && found++ == step) phase = phases[i];
    }
    phase.is_first = step == 0;
    phase.is_last = step + 1 == hierarchical_steps(shape);
    return phase;
}

// ---- Sums and gathers. A rail moves the chunk of each of its ranks; a node moves, for each of its
// positions, the chunks of that rail.

// Who may be left out: a rank that gathers what it has in place already.
static bool keeps_own(CollectiveShape shape, const Phase *phase) {
    if (phase->verb != VERB_GATHER) return false;
    return !phase->is_first || shape.kind == COLLECTIVE_ALL_REDUCE;
}

static uint32_t peer_of(CollectiveShape shape, const Phase *phase, uint32_t from, uint32_t index) {
    uint32_t node = from / shape.inner, position = from % shape.inner;
    uint32_t self = phase->scope == SCOPE_NODE ? position : node;
    if (keeps_own(shape, phase) && index >= self) index++;
    return phase->scope == SCOPE_NODE ? node * shape.inner + index : index * shape.inner + position;
}

static TransferSpace sum_space(CollectiveShape shape, bool is_end) {
    return shape.kind == COLLECTIVE_REDUCE_SCATTER && !is_end ? TRANSFER_SCRATCH : TRANSFER_OUTPUT;
}

static Transfer sum_or_gather(CollectiveShape shape, const Phase *phase, uint32_t from,
                              uint32_t index) {
    uint32_t nodes = nodes_of(shape), rounds = phase->scope == SCOPE_NODE ? nodes : 1;
    uint32_t to = peer_of(shape, phase, from, index / rounds);
    uint32_t owner = phase->verb == VERB_REDUCE ? to : from; // of the rail whose chunks move
    uint32_t chunk = owner;
    if (phase->scope == SCOPE_NODE) chunk = index % rounds * shape.inner + owner % shape.inner;
    Transfer transfer = {.from = from,
                         .to = to,
                         .from_space = phase->is_first ? TRANSFER_INPUT : sum_space(shape, false),
                         .to_space = sum_space(shape, phase->is_last),
                         .from_chunk = chunk,
                         .to_chunk = chunk,
                         .chunks = 1};
    if (phase->verb == VERB_REDUCE) {
        uint32_t in_order = phase->scope == SCOPE_NODE ? from % shape.inner : from / shape.inner;
        transfer.action = collective_sum_action(in_order);
    }
    return transfer;
}

// ---- All-to-all. Between the phases, a rank holds in its SCRATCH, after the rail, what came for
// its node (chunk: source node, target position), before the rail, what its node sends along its
// rail (chunk: target node, source position). What stays inside a node takes the node phase alone.

static Transfer over_rail(CollectiveShape shape, const Phase *phase, uint32_t from,
                          uint32_t index) {
    uint32_t inner = shape.inner, node = from / inner, position = from % inner;
    uint32_t other = index / inner, at = index % inner; // node sent to, position inside it
    if (other >= node) other++;
    Transfer transfer = {.from = from, .to = other * inner + position, .chunks = 1};
    if (phase->is_first) {
        transfer.from_chunk = other * inner + at;
        transfer.to_space = TRANSFER_SCRATCH;
        transfer.to_chunk = node * inner + at;
    } else {
        transfer.from_space = TRANSFER_SCRATCH;
        transfer.from_chunk = other * inner + at;
        transfer.to_space = TRANSFER_OUTPUT;
        transfer.to_chunk = node * inner + at;
    }
    return transfer;
}

static Transfer inside_node(CollectiveShape shape, const Phase *phase, uint32_t from,
                            uint32_t index) {
    uint32_t inner = shape.inner, nodes = nodes_of(shape);
    uint32_t node = from / inner, position = from % inner;
    uint32_t at = index / nodes, other = index % nodes;
    bool is_inside = other == node;
    Transfer transfer = {
        .from = from, .to = node * inner + at, .to_space = TRANSFER_OUTPUT, .chunks = 1};
    if (phase->is_last) { // from source node `other`, which may be this one
        transfer.from_space = is_inside ? TRANSFER_INPUT : TRANSFER_SCRATCH;
        transfer.from_chunk = other * inner + at;
        transfer.to_chunk = other * inner + position;
    } else { // for target node `other`
        transfer.to_space = is_inside ? TRANSFER_OUTPUT : TRANSFER_SCRATCH;
        transfer.from_chunk = other * inner + at;
        transfer.to_chunk = other * inner + position;
    }
    return transfer;
}

CollectivePart collective_scratch_part(CollectiveShape shape, uint32_t holder, uint32_t chunk) {
    uint32_t inner = shape.inner, node = holder / inner, position = holder % inner;
    uint32_t other = chunk / inner, at = chunk % inner;
    if (shape.order == RAIL_FIRST)
        return (CollectivePart){.source = other * inner + position, .target = node * inner + at};
    return (CollectivePart){.source = node * inner + at, .target = other * inner + position};
}

// ---- The method

static uint32_t hierarchical_count(CollectiveShape shape, uint32_t step, uint32_t from) {
    (void)from;
    Phase phase = phase_of(shape, step);
    uint32_t nodes = nodes_of(shape);
    if (phase.verb == VERB_EXCHANGE)
        return phase.scope == SCOPE_NODE ? shape.n : shape.n - shape.inner;
    uint32_t peers = phase.scope == SCOPE_NODE ? shape.inner : nodes;
    if (keeps_own(shape, &phase)) peers--;
    return phase.scope == SCOPE_NODE ? peers * nodes : peers;
}

static Transfer hierarchical_transfer(CollectiveShape shape, uint32_t step, uint32_t from,
                                      uint32_t index) {
    Phase phase = phase_of(shape, step);
    if (phase.verb != VERB_EXCHANGE) return sum_or_gather(shape, &phase, from, index);
    return phase.scope == SCOPE_NODE ? inside_node(shape, &phase, from, index)
                                     : over_rail(shape, &phase, from, index);
}

static uint32_t chunks_of(CollectiveShape shape, const Phase *phase) {
    if (phase->scope == SCOPE_NODE) return nodes_of(shape);
    return phase->verb == VERB_EXCHANGE ? shape.inner : 1;
}

// The all-gather on the rails looks as the sum before it; so do sum and all-gather of one node.
static StepTraffic hierarchical_traffic(CollectiveShape shape, uint32_t step) {
    Phase phase = phase_of(shape, step);
    uint32_t repeat = 1;
    if (step + 1 < hierarchical_steps(shape) && phase_of(shape, step + 1).scope == phase.scope)
        repeat = 2;
    return (StepTraffic){.pattern = PATTERN_ALL_PAIRS,
                         .scope = phase.scope,
                         .chunks = chunks_of(shape, &phase),
                         .repeat = repeat};
}

const CollectiveMethod collective_hierarchical = {
    .kinds = METHOD_KIND(ALL_REDUCE) | METHOD_KIND(ALL_GATHER) | METHOD_KIND(REDUCE_SCATTER) |
             METHOD_KIND(ALL_TO_ALL),
    .steps = hierarchical_steps,
    .count = hierarchical_count,
    .transfer = hierarchical_transfer,
    .traffic = hierarchical_traffic,
};
