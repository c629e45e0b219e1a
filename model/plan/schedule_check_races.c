// No two overlapping accesses to a buffer, one of them a write, may run in either order.
//
// Invariant: of each slice only the last instance is kept. That is enough: an earlier one ended
// before it on the same stream, so what is ordered after the last is ordered after all. Two
// iterations of a segment and two passes show every pair: the third instance of an operation
// follows the second on its stream.
#include "model/plan/schedule_internal.h"

#include "model/plan/schedule_clock.h"
#include "model/plan/schedule_index.h"

typedef struct Range {
    uint64_t first, end;
} Range;

typedef struct Hunt {
    const Schedule *schedule;
    ScheduleIndex index;
    ScheduleClocks clocks;
    Arena arena;
    Range *ranges;        // [slice_count] for the largest shape
    OpId *op_of;          // [slice_count]
    uint32_t *first_user; // [buffer_count + 1], into users
    uint32_t *users;      // slices by buffer
    uint64_t spent;
} Hunt;

static void hunt_open(Hunt *hunt, const Schedule *schedule, const StepShape *largest) {
    uint32_t slices = schedule->slice_count, buffers = schedule->buffer_count;
    hunt->schedule = schedule;
    schedule_index_build(&hunt->index, schedule, 2, 2);
    schedule_clock_open(&hunt->clocks, schedule, 0, schedule->op_count);
    hunt->ranges = arena_alloc(&hunt->arena, slices, sizeof *hunt->ranges);
    hunt->op_of = arena_alloc(&hunt->arena, slices, sizeof *hunt->op_of);
    hunt->users = arena_alloc(&hunt->arena, slices, sizeof *hunt->users);
    hunt->first_user = arena_alloc(&hunt->arena, (size_t)buffers + 2, sizeof *hunt->first_user);
    for (uint32_t i = 0; i < slices; i++) {
        const Slice *slice = &schedule->slices[i];
        uint64_t first = extent_value(&slice->offset, largest);
        hunt->ranges[i] =
            (Range){.first = first, .end = first + extent_value(&slice->bytes, largest)};
        hunt->first_user[slice->buffer + 2]++;
    }
    for (uint32_t b = 1; b <= buffers; b++) hunt->first_user[b + 1] += hunt->first_user[b];
    for (uint32_t i = 0; i < slices; i++) // moves the start of each buffer's list to its place
        hunt->users[hunt->first_user[schedule->slices[i].buffer + 1]++] = i;
    for (OpId id = 0; id < schedule->op_count; id++) {
        const Op *op = &schedule->ops[id];
        for (uint32_t i = 0; i < op->slice_count; i++) hunt->op_of[op->first_slice + i] = id;
    }
}

static void hunt_close(Hunt *hunt) {
    arena_free(&hunt->arena);
    schedule_index_free(&hunt->index);
    schedule_clock_close(&hunt->clocks);
}

static const char *verb(SliceAccess access) {
    switch (access) {
    case SLICE_READ: return "reads";
    case SLICE_WRITE: return "writes";
    case SLICE_ADD: return "adds to";
    case SLICE_ACCESS_COUNT: break;
    }
    return "";
}

static bool report(const Hunt *hunt, uint32_t now, uint32_t then, Err *err) {
    const Schedule *schedule = hunt->schedule;
    const Slice *slice = &schedule->slices[now];
    char first[SCHEDULE_TEXT_MAX], second[SCHEDULE_TEXT_MAX], name[TEXT_QUOTE_MAX];
    return err_set(
        err,
        "race: %s %s bytes %llu to %llu of buffer %s, and %s %s bytes %llu to %llu: no "
        "stream or wait orders them",
        schedule_op_text(schedule, hunt->op_of[now], first), verb(slice->access),
        (unsigned long long)hunt->ranges[now].first, (unsigned long long)hunt->ranges[now].end,
        text_quote(schedule->buffers[slice->buffer].name, name),
        schedule_op_text(schedule, hunt->op_of[then], second), verb(schedule->slices[then].access),
        (unsigned long long)hunt->ranges[then].first, (unsigned long long)hunt->ranges[then].end);
}

// Whether the access `now`, starting at `clock`, may overtake the last instance of the access
// `then`.
static bool conflicts(const Hunt *hunt, uint32_t now, uint32_t then, const ScheduleClock *clock) {
    const Schedule *schedule = hunt->schedule;
    OpId other = hunt->op_of[then];
    if (schedule->slices[now].access == SLICE_READ && schedule->slices[then].access == SLICE_READ)
        return false;
    Range a = hunt->ranges[now], b = hunt->ranges[then];
    if (a.first >= a.end || b.first >= b.end || a.first >= b.end || b.first >= a.end) return false;
    return schedule_clock_number(&hunt->clocks, other) > clock->ended[schedule->ops[other].stream];
}

static bool issue(Hunt *hunt, OpId id, Err *err) {
    const Schedule *schedule = hunt->schedule;
    const Op *op = &schedule->ops[id];
    ScheduleClock clock = schedule_clock_issue(&hunt->clocks, id);
    for (uint32_t i = op->first_slice; i < op->first_slice + op->slice_count; i++) {
        BufferId buffer = schedule->slices[i].buffer;
        uint32_t first = hunt->first_user[buffer], end = hunt->first_user[buffer + 1];
        if (!schedule_check_spend(&hunt->spent, end - first + 1, err)) return false;
        for (uint32_t j = first; j < end; j++) {
            uint32_t then = hunt->users[j];
            if (hunt->op_of[then] == id || !conflicts(hunt, i, then, &clock)) continue;
            return report(hunt, i, then, err);
        }
    }
    return schedule_check_spend(&hunt->spent, op->wait_count + 1, err);
}

static bool issue_block(Hunt *hunt, BlockId block, Err *err) {
    const Block *owner = &hunt->schedule->blocks[block];
    for (uint32_t i = 0; i < owner->op_count; i++) {
        if (!issue(hunt, owner->first_op + i, err)) return false;
    }
    return true;
}

static bool check_role(Hunt *hunt, RoleId role, Err *err) {
    const Schedule *schedule = hunt->schedule;
    const Role *owner = &schedule->roles[role];
    for (uint32_t s = 0; s < SCHEDULE_STREAMS_MAX; s++)
        hunt->clocks.streams[s] = (ScheduleClock){{0}};
    for (uint32_t pass = 0; pass < schedule_index_passes(&hunt->index, role); pass++) {
        for (uint32_t i = 0; i < owner->segment_count; i++) {
            uint32_t segment = owner->first_segment + i;
            for (uint32_t k = 0; k < schedule_index_repeat(&hunt->index, segment); k++) {
                if (!issue_block(hunt, schedule->segments[segment].block, err)) return false;
            }
        }
    }
    return true;
}

bool schedule_check_races(const Schedule *schedule, const StepShape *largest, Err *err) {
    Hunt hunt = {0};
    hunt_open(&hunt, schedule, largest);
    bool good = true;
    for (RoleId role = 0; good && role < schedule->role_count; role++)
        good = check_role(&hunt, role, err);
    hunt_close(&hunt);
    return good;
}
