// Symmetry of placements: which links carry equal load when alike ranks send alike transfers over a
// uniform fabric, found without looking at every rank.
#ifndef SIM_FOLD_H
#define SIM_FOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/hash.h"
#include "model/machine/fabric.h"
#include "model/plan/schedule_ranks.h"

// Values that one digit of a GPU index takes, as a two-level pattern.
typedef RankSet DigitSet;

// The GPUs of a role as a product of digit sets: every combination occurs.
typedef struct Box {
    uint32_t digit_count;
    DigitSet sets[FABRIC_DIGITS_MAX];
} Box;

// False (with the reason) when the set is no product over the digits of the shape.
bool fold_box(const FabricShape *shape, const RankSet *ranks, uint32_t first_gpu, Box *out,
              Err *err);

// True when two boxes are equal or apart in every digit: then the GPUs of one see those of the
// other all alike.
bool fold_boxes_are_apart(const Box *a, const Box *b);

// How sources and destinations are paired: all pairs of a kind, or one destination for each source.
typedef enum FoldPairing { FOLD_ALL_PAIRS, FOLD_ONE_TO_ONE } FoldPairing;

// On which of its endpoints' digits the identity of a link depends.
typedef enum FoldDependence {
    FOLD_NEITHER,
    FOLD_SOURCE,
    FOLD_DESTINATION,
    FOLD_BOTH
} FoldDependence;

// A class of alike links: `base` is the member at digit 0 of all digits that matter; the others are
// reached by the values in `sets`. Planes that every transfer uses alike are one class: `planes`
// bases, the first of which is `base`.
typedef struct LinkOrbit {
    LinkId base;
    uint32_t rule, planes;
    Digest bases; // of all bases
    uint32_t digit_count;
    FoldDependence depends[FABRIC_DIGITS_MAX];
    DigitSet sets[FABRIC_DIGITS_MAX]; // zeroed where the digit does not matter
    DigitSet ends[FABRIC_DIGITS_MAX]; // of the destination, where the link follows both and they
                                      // have other values than the source; else zeroed
    uint64_t size;                    // links of one plane in it
} LinkOrbit;

bool fold_orbit_equal(const LinkOrbit *a, const LinkOrbit *b);
Digest fold_orbit_key(const LinkOrbit *orbit); // of what fold_orbit_equal compares
// True when the two share links without being equal: then the placement cannot be folded.
bool fold_orbit_conflict(const LinkOrbit *a, const LinkOrbit *b);

typedef struct FoldEdge {
    LinkOrbit orbit;
    uint64_t coefficient; // load of all `flows` on ONE link of the orbit, in 1 / FoldRoute.scale
} FoldEdge;

typedef struct FoldRoute {
    FoldEdge *edges; // heap
    uint32_t count, capacity;
    uint64_t scale;
    Route actual; // the route of the representative pair: latency, classes
} FoldRoute;

// `flows` transfers between the GPUs of two boxes, all like the one from `from_gpu` to `to_gpu`.
typedef struct FoldPair {
    uint32_t from_gpu, to_gpu;
    const Box *from_box, *to_box; // in the digits of `shape`
    FoldPairing pairing;
    uint64_t flows;
    bool tells_ends; // links between two GPUs may have `ends`
} FoldPair;

// Their links. `shape` says which GPUs are alike for these routes: the fabric's, or one with merged
// digits. Refused when the load is not even.
bool fold_route(const Fabric *fabric, const FabricShape *shape, const FoldPair *pair,
                FoldRoute *out, Err *err);
void fold_route_free(FoldRoute *route);

// Digits of a GPU index, most significant first, and back.
void fold_digits(const FabricShape *shape, uint32_t gpu, uint32_t *digits);
uint32_t fold_gpu(const FabricShape *shape, const uint32_t *digits);

// True when every number divides or is divided by every other: nested blocks, so that all ranks of
// a role see their peers alike.
bool fold_is_chain(const uint32_t *numbers, uint32_t count);

#endif
