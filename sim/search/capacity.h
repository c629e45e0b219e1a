// Capacity: how many machines serve so many tokens a day at the limits of a workload, for how much,
// and at how many tokens a day another machine becomes the cheaper one.
//
// Machines are copies that share nothing: n of them serve n times the requests of one.
#ifndef SIM_SEARCH_CAPACITY_H
#define SIM_SEARCH_CAPACITY_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "sim/search/sweep.h"

#define CAPACITY_SECONDS_PER_DAY 86400

// What one machine serves, prompts and answers together, rounded down, and costs; 0: not known.
typedef struct CapacityUnit {
    uint64_t tokens_per_day;
    uint64_t uusd_per_hour;
} CapacityUnit;

// The best plan of a machine within the limits, at the concurrency that serves most.
typedef struct CapacityPlan {
    bool is_feasible;
    const char *reason; // why not, "" otherwise; for one request
    uint64_t concurrency;
    SweepCell cell;
    CapacityUnit unit;
} CapacityPlan;

typedef struct CapacitySpec {
    const SweepMachine *machine;
    PoolsUse pools;
    bool is_fixed;                 // at the concurrency of the workload alone
    uint32_t utilisation_permille; // part of the day's tokens that a full machine could serve
} CapacitySpec;

// Doubles the concurrency from one request on, by fours, while a plan is feasible, then looks
// between the last that is and the first that is not until they differ by a sixteenth.
void capacity_find(const CapacitySpec *spec, Arena *arena, CapacityPlan *out);

// Machines for so many tokens a day: tokens / tokens_per_day, rounded up.
uint64_t capacity_machines(const CapacityUnit *unit, uint64_t tokens_per_day);
// What they cost an hour; saturates.
uint64_t capacity_uusd_per_hour(const CapacityUnit *unit, uint64_t tokens_per_day);
// The most tokens a day that a budget pays for, in whole machines.
uint64_t capacity_within(const CapacityUnit *unit, uint64_t budget_uusd_per_hour);

// The cheapest for so many tokens a day, of equal ones the first; SWEEP_NONE when none has a price
// and a capacity.
uint32_t capacity_cheapest(const CapacityUnit *units, uint32_t count, uint64_t tokens_per_day);

// From `tokens_per_day` on, until the next turn, `unit` is the cheapest.
typedef struct CapacityTurn {
    uint64_t tokens_per_day;
    uint32_t unit;
} CapacityTurn;

// The turns from one token a day on, at most `most` of them. *out_last is true when none follows
// the last one, however many tokens there are. Returns their number.
uint32_t capacity_turns(const CapacityUnit *units, uint32_t count, CapacityTurn *out, uint32_t most,
                        bool *out_last);

#endif
