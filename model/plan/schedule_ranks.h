// Sets of ranks and families of groups, as formulas: they do not grow with the number of ranks.
#ifndef MODEL_PLAN_SCHEDULE_RANKS_H
#define MODEL_PLAN_SCHEDULE_RANKS_H

#include <stdbool.h>
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

uint32_t schedule_set_size(const RankSet *ranks);
uint32_t schedule_rank_at(const RankSet *ranks, uint32_t index); // member `index` of the set
bool schedule_set_index(const RankSet *ranks, uint32_t rank, uint32_t *out_index);

// Member j of group g; and the group and position of a rank (false when it is in none).
uint32_t schedule_group_member(const GroupFamily *family, uint32_t group, uint32_t j);
bool schedule_group_of(const GroupFamily *family, uint32_t rank, uint32_t *out_group,
                       uint32_t *out_position);

#endif
