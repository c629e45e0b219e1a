// A link rule compiled for one place of its template in the machine: which vertices it joins,
// computed from their digits.
//
// Instances are numbered: the rank of the `from` vertex inside its sets, then that of the free
// levels of `to`. A rule of pairs (both ends the same set) numbers unordered pairs by the lower
// rank, then the higher. Nothing is stored per instance.
#ifndef MODEL_MACHINE_FABRIC_RULE_H
#define MODEL_MACHINE_FABRIC_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/machine/fabric.h"
#include "model/machine/pattern.h"
#include "model/machine/topology_link.h"

// Numbers that one level of a pattern names, ascending; ranks count them from 0.
typedef struct FabricSet {
    uint32_t count, range_count;
    PatternRange ranges[PATTERN_RANGES_MAX];
} FabricSet;

// A level of `to`: free in a set, equal to a level of `from`, or computed from levels of `from`.
typedef enum FabricDigitKind { FABRIC_FREE, FABRIC_COPY, FABRIC_COMPUTED } FabricDigitKind;
typedef struct FabricDigit {
    FabricDigitKind kind;
    FabricSet set;       // FABRIC_FREE
    uint32_t copied;     // FABRIC_COPY: level of `from`
    uint32_t step_count; // FABRIC_COMPUTED; PATTERN_LETTER steps hold the level of `from`
    PatternStep steps[PATTERN_STEPS_MAX];
} FabricDigit;

// How a level of `from` follows from a level of `to`: it is one of start, start + step, ... The
// rest are tried one by one.
typedef enum FabricInverseKind {
    FABRIC_TRY,
    FABRIC_LISTED, // by the table of the rule
    FABRIC_SAME,
    FABRIC_SHIFT,
    FABRIC_QUOTIENT,
    FABRIC_REMAINDER
} FabricInverseKind;
typedef struct FabricInverse {
    FabricInverseKind kind;
    uint32_t level;   // of `to`
    int64_t constant; // shift, divisor
    uint32_t modulus; // of a shift; 0 for none
} FabricInverse;

// For an expression that has none of the simple forms: for each value of the level of `to`, the
// ranks of the letters' levels that give it. Its size is that of the levels inside one template, at
// most TOPOLOGY_COMBINATIONS_MAX.
typedef struct FabricTable {
    uint32_t to_level, level_count;
    uint32_t levels[FABRIC_DIGITS_MAX]; // of `from`
    uint32_t *start;                    // by value: first entry of `ranks`
    uint32_t *ranks;                    // over the sets of the levels together
} FabricTable;

struct FabricRule {
    const LinkRule *link; // borrowed from the topology
    uint32_t rule;        // number of the link rule over all templates
    TopologyForm form;
    uint32_t from_class, to_class;
    LinkId first;       // id of instance 0, first direction
    uint64_t instances; // two directed links each
    uint32_t from_levels, to_levels;
    FabricSet from[FABRIC_DIGITS_MAX];
    FabricDigit to[FABRIC_DIGITS_MAX];
    FabricInverse inverse[FABRIC_DIGITS_MAX]; // of the levels of `from`
    const FabricTable *table;                 // NULL when no level needs one
    uint64_t from_count;                      // vertices that `from` names
    uint64_t to_count;                        // partners of each
    uint64_t box_count; // TOPOLOGY_PAIRS: parts that are joined with each other
};

// FABRIC_BOTH is the only side of a rule of pairs.
typedef enum FabricSide { FABRIC_FROM, FABRIC_TO, FABRIC_BOTH } FabricSide;

// Walks the partners of one vertex through one rule.
typedef struct FabricWalk {
    const Fabric *fabric;
    const FabricRule *rule;
    FabricSide side;
    uint64_t position, end;
    uint64_t rank;                       // of the vertex, inside the sets of its side
    uint32_t here[FABRIC_DIGITS_MAX];    // digits of the vertex
    uint32_t partner[FABRIC_DIGITS_MAX]; // digits of the partner that do not change
    uint32_t start[FABRIC_DIGITS_MAX], step[FABRIC_DIGITS_MAX], count[FABRIC_DIGITS_MAX];
    bool is_free[FABRIC_DIGITS_MAX]; // the digit runs over the set, not over start + step
    uint32_t listed, listed_count;   // entries of the table, 0 and 1 when there is none
} FabricWalk;

// `base` is the number of levels of the place of the template: both patterns begin with those
// digits.
bool fabric_rule_compile(Fabric *fabric, const TopologyLink *link, uint32_t base, FabricRule *rule,
                         Err *err);

// The rule of a link, by halving: O(log rules).
const FabricRule *fabric_rule_of(const Fabric *fabric, LinkId link);

void fabric_rule_ends(const Fabric *fabric, const FabricRule *rule, uint64_t instance,
                      VertexId *from, VertexId *to);

void fabric_rule_walk(const Fabric *fabric, const FabricRule *rule, FabricSide side,
                      VertexId vertex, FabricWalk *walk);
bool fabric_rule_next(FabricWalk *walk, VertexId *partner, LinkId *link);

// True when the rule joins the two; the link leads from `vertex`, which is on that side, to
// `partner`.
bool fabric_rule_between(const Fabric *fabric, const FabricRule *rule, FabricSide side,
                         VertexId vertex, VertexId partner, LinkId *link);

void fabric_rule_digits(const VertexClass *in, VertexId vertex, uint32_t *digits);
VertexId fabric_rule_vertex(const VertexClass *in, const uint32_t *digits);

#endif
