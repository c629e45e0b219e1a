// Sets of ranks and families of groups, as formulas.
//
// Invariant: for values that schedule_check_structure accepts, set_index and group_of are the exact
// inverses of rank_at and group_member; for any others they stay inside 32 bits and do not divide
// by zero.
#include "model/plan/schedule.h"

uint32_t schedule_set_size(const RankSet *ranks) {
    return ranks->count * ranks->repeat;
}

uint32_t schedule_role_size(const Schedule *schedule, RoleId role) {
    return schedule_set_size(&schedule->roles[role].ranks);
}

uint32_t schedule_rank_at(const RankSet *ranks, uint32_t index) {
    if (ranks->count == 0) return ranks->first;
    return ranks->first + index / ranks->count * ranks->period + index % ranks->count;
}

bool schedule_set_index(const RankSet *ranks, uint32_t rank, uint32_t *out_index) {
    if (rank < ranks->first) return false;
    uint32_t offset = rank - ranks->first;
    bool periodic = ranks->repeat > 1 && ranks->period > 0; // one turn may be of any length
    uint32_t turn = periodic ? offset / ranks->period : 0;
    uint32_t place = periodic ? offset % ranks->period : offset;
    if (turn >= ranks->repeat || place >= ranks->count) return false;
    *out_index = turn * ranks->count + place;
    return true;
}

uint32_t schedule_group_member(const GroupFamily *family, uint32_t group, uint32_t j) {
    uint32_t first = family->first;
    if (family->period > 0 && family->per_period > 0) {
        first += group / family->per_period * family->period;
        group %= family->per_period;
    }
    uint32_t stride = family->stride > 0 ? family->stride : 1;
    return first + group / stride * (stride * family->size) + group % stride + j * stride;
}

bool schedule_group_of(const GroupFamily *family, uint32_t rank, uint32_t *out_group,
                       uint32_t *out_position) {
    if (rank < family->first || family->size == 0 || family->count == 0) return false;
    uint32_t stride = family->stride > 0 ? family->stride : 1;
    bool periodic = family->period > 0 && family->per_period > 0;
    uint32_t offset = rank - family->first;
    uint64_t before = periodic ? (uint64_t)(offset / family->period) * family->per_period : 0;
    if (periodic) offset %= family->period;
    uint64_t cube = (uint64_t)stride * family->size; // ranks of `stride` interleaved groups
    uint64_t group = offset / cube * stride + offset % stride;
    if (periodic && group >= family->per_period) return false;
    if (before + group >= family->count) return false;
    *out_group = (uint32_t)(before + group);
    *out_position = (uint32_t)(offset % cube / stride);
    return true;
}

RoleId schedule_role_of(const Schedule *schedule, uint32_t rank) {
    for (RoleId id = 0; id < schedule->role_count; id++) {
        uint32_t index;
        if (schedule_set_index(&schedule->roles[id].ranks, rank, &index)) return id;
    }
    return SCHEDULE_NONE;
}
