// Trees: all-reduce up and down two binary trees, broadcast down a binomial one.
//
// The two trees carry one half of the buffer each (the first chunks and the last ones). In the
// first tree, rank r > 0 stands at the height of its lowest set bit b, under the rank that has 2 b
// there in place of b, or that lacks b where there is no such rank; rank 0 is the root above all.
// The second is the first with the ranks counted from the other end, or, for odd n, from rank 1 on:
// ranks inside one tree are leaves of the other, so that each sends and receives about as much.
//
// Invariant: a parent stands higher than its children. A rank at height h passes piece k up in step
// h + k, when all its children have; with d heights and p pieces the root has piece k after step
// d - 1 + k and it comes down to height h in step 2 d - 1 - h + k. A piece is a whole half (TREE:
// 2 d steps) or one chunk (PIPELINED_TREE: as many steps more as there are pieces).
//
// Sources: P. Sanders, J. Speck, J. L. Traff, "Two-tree algorithms for full bandwidth broadcast,
// reduction and scan", Parallel Computing 35 (2009) 581-594, as NCCL uses them. Binomial broadcast:
// R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19 (2005) 49-66.
#include "model/plan/collective_method.h"

#define TREES 2

// ---- Two trees

static uint32_t height_of(uint32_t place) {
    uint32_t height = 0;
    while ((place >> height & 1) == 0) height++;
    return height;
}

// Heights under the root's, which has `heights` itself: one more than the highest bit of n - 1.
static uint32_t heights_of(uint32_t n) {
    uint32_t heights = 0;
    while ((n - 1) >> heights > 0) heights++;
    return heights;
}

static uint32_t parent_of(uint32_t place, uint32_t n) {
    uint64_t bit = UINT64_C(1) << height_of(place);
    uint64_t without = place - bit, parent = without | bit << 1;
    return (uint32_t)(parent < n ? parent : without);
}

// The place of a rank in a tree and back: the second tree is its own inverse, or turns by one.
static uint32_t place_of(uint32_t rank, uint32_t tree, uint32_t n) {
    if (tree == 0) return rank;
    return n % 2 == 0 ? n - 1 - rank : (rank + n - 1) % n;
}

static uint32_t rank_at(uint32_t place, uint32_t tree, uint32_t n) {
    if (tree == 0) return place;
    return n % 2 == 0 ? n - 1 - place : (place + 1) % n;
}

// Chunks of a tree's half, and pieces that it is cut into.
static uint32_t half_of(uint32_t tree, uint32_t n) {
    return tree == 0 ? n - n / 2 : n / 2;
}

static uint32_t pieces_of(CollectiveShape shape, uint32_t tree) {
    return shape.algorithm == ALGORITHM_TREE ? 1 : half_of(tree, shape.n);
}

// One edge of a tree in use.
typedef struct Hop {
    uint32_t tree, from, to; // places
    uint32_t piece;
    bool is_up;
} Hop;

static bool is_active(CollectiveShape shape, uint32_t tree, uint32_t step, uint32_t begin,
                      uint32_t *piece) {
    *piece = step - begin;
    return step >= begin && *piece < pieces_of(shape, tree);
}

// The hop number `index` of what a place sends in a step, in one tree; returns how many there are.
// Children lie at place +- 2^h, h below the height; those above the last rank are nearer.
static uint32_t find_hops(CollectiveShape shape, uint32_t tree, uint32_t step, uint32_t place,
                          uint32_t index, Hop *out) {
    uint32_t n = shape.n, heights = heights_of(n), count = 0, piece;
    uint32_t height = place == 0 ? heights : height_of(place);
    if (place > 0 && is_active(shape, tree, step, height, &piece) && count++ == index)
        *out = (Hop){tree, place, parent_of(place, n), piece, true};
    for (uint32_t h = height; h-- > 0;) {
        if (!is_active(shape, tree, step, 2 * heights - 1 - h, &piece)) continue;
        uint32_t bit = 1U << h;
        const uint32_t children[] = {place - bit, place + bit};
        for (uint32_t i = place == 0 ? 1 : 0; i < 2; i++) {
            bool is_child = children[i] < n && parent_of(children[i], n) == place;
            if (is_child && count++ == index) *out = (Hop){tree, place, children[i], piece, false};
        }
    }
    return count;
}

static Transfer hop_transfer(CollectiveShape shape, const Hop *hop) {
    uint32_t n = shape.n, first = hop->tree == 0 ? 0 : half_of(0, n);
    bool is_leaf = hop->from > 0 && height_of(hop->from) == 0;
    bool is_whole = shape.algorithm == ALGORITHM_TREE;
    uint32_t chunk = first + (is_whole ? 0 : hop->piece);
    return (Transfer){.from = rank_at(hop->from, hop->tree, n),
                      .to = rank_at(hop->to, hop->tree, n),
                      .from_space = is_leaf ? TRANSFER_INPUT : TRANSFER_OUTPUT,
                      .to_space = TRANSFER_OUTPUT,
                      .from_chunk = chunk,
                      .to_chunk = chunk,
                      .chunks = is_whole ? half_of(hop->tree, n) : 1,
                      .action = hop->is_up ? TRANSFER_ADD : TRANSFER_COPY};
}

static Transfer whole_to_itself(CollectiveShape shape, uint32_t rank) {
    return (Transfer){.from = rank, .to = rank, .to_space = TRANSFER_OUTPUT, .chunks = shape.n};
}

// ---- Broadcast: in step s the ranks below 2^s have it and send it 2^s further on.

static uint32_t broadcast_count(CollectiveShape shape, uint32_t step, uint32_t from) {
    uint64_t distance = UINT64_C(1) << step;
    uint32_t sends = from < distance && from + distance < shape.n ? 1 : 0;
    return sends + (step == 0 && from == 0 ? 1U : 0U);
}

static Transfer broadcast_transfer(CollectiveShape shape, uint32_t step, uint32_t from,
                                   uint32_t index) {
    if (index == 1) return whole_to_itself(shape, from);
    return (Transfer){.from = from,
                      .to = from + (1U << step),
                      .from_space = from == 0 ? TRANSFER_INPUT : TRANSFER_OUTPUT,
                      .to_space = TRANSFER_OUTPUT,
                      .chunks = shape.n};
}

// ---- The methods

static uint32_t tree_steps(CollectiveShape shape) {
    uint32_t heights = heights_of(shape.n);
    if (shape.kind == COLLECTIVE_BROADCAST) return heights;
    return 2 * heights + pieces_of(shape, 0) - 1;
}

// Step 0 ends with every rank's copy of its own addend, under which the sums of its children go.
static uint32_t tree_count(CollectiveShape shape, uint32_t step, uint32_t from) {
    if (shape.kind == COLLECTIVE_BROADCAST) return broadcast_count(shape, step, from);
    Hop unused;
    uint32_t count = step == 0 ? 1 : 0;
    for (uint32_t tree = 0; tree < TREES; tree++)
        count += find_hops(shape, tree, step, place_of(from, tree, shape.n), UINT32_MAX, &unused);
    return count;
}

static Transfer tree_transfer(CollectiveShape shape, uint32_t step, uint32_t from, uint32_t index) {
    if (shape.kind == COLLECTIVE_BROADCAST) return broadcast_transfer(shape, step, from, index);
    for (uint32_t tree = 0; tree < TREES; tree++) {
        Hop hop;
        uint32_t found = find_hops(shape, tree, step, place_of(from, tree, shape.n), index, &hop);
        if (index < found) return hop_transfer(shape, &hop);
        index -= found;
    }
    return whole_to_itself(shape, from);
}

static StepTraffic tree_traffic(CollectiveShape shape, uint32_t step) {
    (void)shape;
    (void)step;
    return (StepTraffic){.pattern = PATTERN_IRREGULAR, .repeat = 1};
}

const CollectiveMethod collective_tree = {
    .kinds = METHOD_KIND(ALL_REDUCE) | METHOD_KIND(BROADCAST),
    .steps = tree_steps,
    .count = tree_count,
    .transfer = tree_transfer,
    .traffic = tree_traffic,
};

const CollectiveMethod collective_pipelined_tree = {
    .kinds = METHOD_KIND(ALL_REDUCE),
    .steps = tree_steps,
    .count = tree_count,
    .transfer = tree_transfer,
    .traffic = tree_traffic,
};
