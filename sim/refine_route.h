// Routes of pairs of GPUs by form (refine_route.c, refine_form.c). Internal to refine*.c.
#ifndef SIM_REFINE_ROUTE_H
#define SIM_REFINE_ROUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/hash.h"
#include "model/base/mem.h"
#include "model/cost/calib.h"
#include "model/machine/fabric.h"
#include "sim/keymap.h"
#include "sim/tier.h"

// Colours are words of which sums and products are taken (refine_colour.c), so all bits count;
// hash_u64 would do with more work. A step of splitmix64 (hash.h), so that 0 is a word too.
static inline uint64_t refine_mix(uint64_t x) {
    return hash_spread(x + UINT64_C(0x9e3779b97f4a7c15));
}

static inline uint64_t refine_mix2(uint64_t a, uint64_t b) {
    return refine_mix(refine_mix(a) ^ b);
}

// The whole route of a pair, or what a rank exchanges with the switches of its domain: the part of
// the route before or after the switch.
typedef enum RefineHalf { REFINE_WHOLE, REFINE_UP, REFINE_DOWN } RefineHalf;

// One link on all routes of a form: its id is base + the sum over digits of from * (digit of the
// source) + to * (digit of the destination).
typedef struct RefineFormEdge {
    int64_t base;
    int64_t from[FABRIC_DIGITS_MAX], to[FABRIC_DIGITS_MAX];
    uint32_t follows; // bit d: from or to of digit d is not 0
    uint32_t weight, hop, rule;
    bool is_suspect; // some link of the rule is faulty
    uint64_t capacity_Bps;
    // Links that every route uses alike are one edge: the first, and how far the others are.
    const LinkId *planes;
    uint32_t plane_count; // of the others
} RefineFormEdge;

// Routes that are alike but for the digits of their ends; or, explicit, the one of a pair.
typedef struct RefineForm {
    RefineFormEdge *edges; // NULL in an explicit form
    RouteEdge *links;      // of an explicit form
    uint32_t edge_count;   // of either
    uint32_t scale;        // of the weights
    uint32_t hops;
    Time latency_ps;
    CalibParam step_param;
    TierShape tier;
    Digest tier_key;
    uint64_t key;     // of what it is a function of, beside the machine
    bool is_explicit; // of one pair
    bool is_suspect;  // one of its edges is
} RefineForm;

typedef struct RefineMemory RefineMemory; // refine_memory.h

// A zeroed RefineRoutes but for the fabric is empty.
typedef struct RefineRoutes {
    const Fabric *fabric;
    Fabric healthy;       // the fabric as built
    bool without_faults;  // forms of the machine as built are wanted
    RefineMemory *memory; // of the same machine, borrowed; NULL: none
    Arena arena;
    RefineForm *forms;
    uint32_t form_count, form_capacity;
    KeyMap by_key;
    LinkId *faulty; // heap; links that are not as built, some more than once
    uint32_t faulty_count, faulty_capacity;
    uint64_t *is_faulty; // by link, a bit each; NULL: none is
    KeyMap faulty_rules; // a set
    uint32_t explicit_count;
    uint64_t explicit_links; // of all of them
} RefineRoutes;

void refine_route_open(RefineRoutes *routes, const Fabric *fabric, RefineMemory *memory);
void refine_route_close(RefineRoutes *routes);
// The form of the route between two GPUs, made when it is new. Refused: no route, or more explicit
// ones than can be searched.
bool refine_route_form(RefineRoutes *routes, uint32_t from_gpu, uint32_t to_gpu, RefineHalf half,
                       uint32_t *out, Err *err);
// False when so many pairs of ranks of a machine where each is searched, such as these few, are
// more than can be searched. Makes nothing.
typedef struct RefineSample {
    uint32_t from_gpu, to_gpu;
} RefineSample;
bool refine_route_can_search(const RefineRoutes *routes, const RefineSample *sample, uint32_t count,
                             uint64_t pairs, Err *err);
// Makes one edge of links that all forms so far use alike.
void refine_route_bundle(RefineRoutes *routes);

typedef struct RefineDigits {
    uint32_t at[FABRIC_DIGITS_MAX];
} RefineDigits;
RefineDigits refine_route_digits(const Fabric *fabric, uint32_t gpu);
// The link of an edge between two GPUs.
LinkId refine_route_edge_link(const RefineFormEdge *edge, const RefineDigits *from,
                              const RefineDigits *to, uint32_t digit_count);
// Link number i of a form between two GPUs, and its weight.
RouteEdge refine_route_link(const RefineForm *form, uint32_t i, const RefineDigits *from,
                            const RefineDigits *to, uint32_t digit_count);
// Looks for the digits at which the edge is this link; they are set where it follows them.
bool refine_route_edge_find(const RefineFormEdge *edge, const FabricShape *shape, LinkId link,
                            RefineDigits *out);

// How routes of one set of differing digits follow the digits (refine_form.c): bit d of `differs`
// is set for those. False in *is_affine when they do not as formulas; then nothing is made.
bool refine_form_make(const RefineRoutes *routes, uint32_t differs, Arena *arena, RefineForm *out,
                      bool *is_affine, Err *err);

#endif
