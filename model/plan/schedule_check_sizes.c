// Sizes of a schedule for its largest shape: none saturates, slices lie inside their buffers,
// communication has room for its bytes.
//
// Invariant: a value of UINT64_MAX is refused wherever an extent is evaluated; sums of two values
// are formed in 128 bits.
#include "model/plan/schedule_internal.h"

#include "model/base/wide.h"
#include "model/plan/schedule_comm.h"
#include "model/plan/schedule_fields.h"

static bool check_extent(const Extent *extent, const StepShape *largest, const char *what,
                         uint64_t *out, Err *err) {
    *out = extent_value(extent, largest);
    if (*out < UINT64_MAX) return true;
    Text text = {0};
    extent_print(extent, &text);
    err_set(err, "%s: %s saturates for the largest shape", what, text_string(&text));
    text_free(&text);
    return false;
}

static bool check_buffers(const Schedule *schedule, const StepShape *largest, Err *err) {
    for (BufferId id = 0; id < schedule->buffer_count; id++) {
        const Buffer *buffer = &schedule->buffers[id];
        uint64_t bytes;
        char role[TEXT_QUOTE_MAX], name[TEXT_QUOTE_MAX];
        if (!check_extent(&buffer->bytes, largest, "bytes", &bytes, err))
            return err_prefix(err, "role %s, buffer %s",
                              text_quote(schedule->roles[buffer->role].name, role),
                              text_quote(buffer->name, name));
    }
    return true;
}

static bool check_slices(const Schedule *schedule, const Op *op, const StepShape *largest,
                         Err *err) {
    for (uint32_t i = 0; i < op->slice_count; i++) {
        const Slice *slice = &schedule->slices[op->first_slice + i];
        const Buffer *buffer = &schedule->buffers[slice->buffer];
        uint64_t offset, bytes, size = extent_value(&buffer->bytes, largest);
        if (!check_extent(&slice->offset, largest, "offset", &offset, err) ||
            !check_extent(&slice->bytes, largest, "bytes", &bytes, err))
            return err_prefix(err, "slice %u", i);
        char name[TEXT_QUOTE_MAX], end[40];
        if ((Wide)offset + bytes > size)
            return err_set(err, "slice %u: bytes %llu to %s lie outside buffer %s of %llu bytes", i,
                           (unsigned long long)offset, wide_format((Wide)offset + bytes, end),
                           text_quote(buffer->name, name), (unsigned long long)size);
    }
    return true;
}

static bool check_fields(const Op *op, const StepShape *largest, Err *err) {
    Op copy = *op;
    ScheduleField fields[SCHEDULE_FIELDS_MAX];
    uint32_t count = schedule_fields_of(&copy, fields);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t value;
        if (fields[i].kind == FIELD_EXTENT &&
            !check_extent(fields[i].extent, largest, fields[i].key, &value, err))
            return false;
    }
    return true;
}

static bool check_side(const Schedule *schedule, uint32_t slice, const StepShape *largest,
                       uint64_t need, const char *verb, Err *err) {
    if (slice == SCHEDULE_NONE) return true;
    uint64_t bytes = extent_value(&schedule->slices[slice].bytes, largest);
    return bytes >= need || err_set(err, "%s %llu bytes, its slice has %llu", verb,
                                    (unsigned long long)need, (unsigned long long)bytes);
}

static bool check_room(const Schedule *schedule, OpId id, const StepShape *largest, Err *err) {
    const Op *op = &schedule->ops[id];
    const Comm *comm = &op->comm;
    bool shares = op->kind == OP_COLLECTIVE && comm->split != SPLIT_EVEN;
    ScheduleSides sides;
    if (!schedule_comm_sides(schedule, id, &sides, err)) return false;
    if (sides.input == SCHEDULE_NONE && sides.output == SCHEDULE_NONE) return true;
    ScheduleRoom room = schedule_comm_room(schedule, op, largest, shares ? comm->experts : 0,
                                           shares ? comm->experts_total : 1);
    return check_side(schedule, sides.input, largest, room.input_B, "reads", err) &&
           check_side(schedule, sides.output, largest, room.output_B, "writes", err);
}

bool schedule_check_sizes(const Schedule *schedule, const StepShape *largest, Err *err) {
    if (!check_buffers(schedule, largest, err)) return false;
    for (OpId id = 0; id < schedule->op_count; id++) {
        const Op *op = &schedule->ops[id];
        char place[SCHEDULE_TEXT_MAX];
        if (!check_fields(op, largest, err) || !check_slices(schedule, op, largest, err) ||
            !check_room(schedule, id, largest, err))
            return err_prefix(err, "%s", schedule_check_place(schedule, id, place));
    }
    return true;
}
