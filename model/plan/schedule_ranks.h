// Sets of ranks and families of groups, as formulas: they do not grow with the number of ranks.
#ifndef MODEL_PLAN_SCHEDULE_RANKS_H
#define MODEL_PLAN_SCHEDULE_RANKS_H

#include <stdint.h>

// Ranks first + q * period + i for q < repeat, i < count; in this order they are members 0, 1, ...
typedef struct RankSet {
    uint32_t first, count, period, repeat;
} RankSet;

// Groups of equal size: member j of group g is the rank first + (g / stride) * (stride * size) +
// g % stride + j * stride, for g < count. With a `period` above 0 the pattern of `per_period`
// groups repeats every `period` ranks: g counts inside period g / per_period.
typedef struct GroupFamily {
    const char *name; // "tp", "ep"
    uint32_t size, stride, count;
    uint32_t first, period, per_period;
} GroupFamily;

#endif
