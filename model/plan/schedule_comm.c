// What communication and copies do to buffers.
//
// Invariant: the room is what the step lists of collective.h touch: chunks of collective_chunk, of
// which the first is the longest, and shares of collective_share_count, which are rounded up at
// most once.
#include "model/plan/schedule_comm.h"

#include "model/base/wide.h"

CollectiveShape schedule_comm_shape(const Schedule *schedule, const Comm *comm) {
    return (CollectiveShape){.kind = comm->collective,
                             .algorithm = comm->algorithm,
                             .n = schedule->groups[comm->group].size,
                             .inner = comm->inner,
                             .order = comm->split == SPLIT_BY_SOURCE ? NODE_FIRST : RAIL_FIRST};
}

// The only slice with one of the accesses, SCHEDULE_NONE when there are none or several.
static uint32_t only_slice(const Schedule *schedule, const Op *op, SliceAccess a, SliceAccess b) {
    uint32_t found = SCHEDULE_NONE, count = 0;
    for (uint32_t i = op->first_slice; i < op->first_slice + op->slice_count; i++) {
        SliceAccess access = schedule->slices[i].access;
        if (access != a && access != b) continue;
        found = i;
        count++;
    }
    return count == 1 ? found : SCHEDULE_NONE;
}

static bool is_in_place(const Schedule *schedule, const Op *op) {
    return op->kind == OP_COLLECTIVE && op->comm.collective == COLLECTIVE_ALL_REDUCE &&
           op->slice_count == 1 && schedule->slices[op->first_slice].access == SLICE_ADD;
}

static const char *expected_slices(OpKind kind) {
    switch (kind) {
    case OP_SEND: return "one slice, read";
    case OP_RECV: return "one slice, written";
    case OP_COPY: return "one slice read and one written or added to";
    case OP_COLLECTIVE: return "one slice read and one written (all-reduce: or one added to)";
    case OP_GEMM:
    case OP_GROUPED_GEMM:
    case OP_ATTENTION:
    case OP_MEMORY:
    case OP_KIND_COUNT: break;
    }
    return "none";
}

bool schedule_comm_sides(const Schedule *schedule, OpId id, ScheduleSides *out, Err *err) {
    const Op *op = &schedule->ops[id];
    ScheduleSides sides = {.input = SCHEDULE_NONE, .output = SCHEDULE_NONE};
    uint32_t wanted = 0, found = 0;
    if (op->kind == OP_SEND || op->kind == OP_COPY || op->kind == OP_COLLECTIVE) {
        sides.input = only_slice(schedule, op, SLICE_READ, SLICE_READ);
        wanted++;
    }
    if (op->kind == OP_RECV || op->kind == OP_COPY || op->kind == OP_COLLECTIVE) {
        SliceAccess also = op->kind == OP_COPY ? SLICE_ADD : SLICE_WRITE;
        sides.output = only_slice(schedule, op, SLICE_WRITE, also);
        wanted++;
    }
    if (sides.input != SCHEDULE_NONE) found++;
    if (sides.output != SCHEDULE_NONE) found++;
    if (is_in_place(schedule, op)) {
        sides.input = sides.output = op->first_slice;
    } else if (wanted > 0 && (found != wanted || op->slice_count != wanted)) {
        return err_set(err, "%s needs %s", schedule_op_names[op->kind], expected_slices(op->kind));
    }
    *out = sides;
    return true;
}

static ScheduleRoom room_of_collective(const Schedule *schedule, const Comm *comm, uint64_t bytes,
                                       uint64_t part, uint64_t whole) {
    uint32_t n = schedule->groups[comm->group].size;
    uint64_t first, chunk;
    collective_chunk(bytes, comm->element, n, 0, &first, &chunk);
    switch (comm->collective) {
    case COLLECTIVE_ALL_GATHER: return (ScheduleRoom){.input_B = chunk, .output_B = bytes};
    case COLLECTIVE_REDUCE_SCATTER: return (ScheduleRoom){.input_B = bytes, .output_B = chunk};
    case COLLECTIVE_ALL_TO_ALL: break;
    case COLLECTIVE_ALL_REDUCE:
    case COLLECTIVE_BROADCAST:
    case COLLECTIVE_COUNT: return (ScheduleRoom){.input_B = bytes, .output_B = bytes};
    }
    if (comm->split == SPLIT_EVEN)
        return (ScheduleRoom){.input_B = bytes, .output_B = wide_mul_saturate(chunk, n)};
    uint64_t elements = wide_mul_saturate(wide_div_up_u64(bytes, comm->element), n);
    uint64_t share = wide_mul_saturate(wide_mul_div_up(elements, part, whole), comm->element);
    if (comm->split == SPLIT_BY_SOURCE) return (ScheduleRoom){.input_B = share, .output_B = bytes};
    return (ScheduleRoom){.input_B = bytes, .output_B = share};
}

ScheduleRoom schedule_comm_room(const Schedule *schedule, const Op *op, const StepShape *shape,
                                uint64_t part, uint64_t whole) {
    if (op->kind == OP_COLLECTIVE)
        return room_of_collective(schedule, &op->comm, extent_value(&op->comm.bytes, shape), part,
                                  whole);
    uint64_t bytes =
        extent_value(op->kind == OP_COPY ? &op->compute.bytes : &op->comm.bytes, shape);
    return (ScheduleRoom){.input_B = op->kind == OP_RECV ? 0 : bytes,
                          .output_B = op->kind == OP_SEND ? 0 : bytes};
}
