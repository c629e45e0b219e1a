// The file form of a schedule, written. schedule_file.c reads it.
//
// Invariant: a field that is zero (or the first of its names) and not required is left out; what is
// left out reads back as zero, so the digest is the same. Numbers over 2^53 are written as strings,
// because JSON readers round them.
#include "model/base/jsonw.h"
#include "model/plan/schedule.h"
#include "model/plan/schedule_fields.h"

#define EXACT_MAX (UINT64_C(1) << 53)

static void write_number(JsonWriter *writer, const char *key, uint64_t value) {
    char text[24] = {0};
    if (value <= EXACT_MAX) {
        jsonw_u64(writer, key, value);
        return;
    }
    uint32_t place = sizeof text - 1;
    for (; value > 0; value /= 10) text[--place] = (char)('0' + value % 10);
    jsonw_string(writer, key, text + place);
}

static void write_optional(JsonWriter *writer, const char *key, uint64_t value) {
    if (value != 0) write_number(writer, key, value);
}

static void write_extent(JsonWriter *writer, const char *key, const Extent *extent) {
    uint64_t divide = extent->divide == 0 ? 1 : extent->divide;
    if (extent->per_token == 0 && extent->per_sequence == 0 && extent->per_kv == 0 &&
        extent->per_pair == 0 && divide == 1 && extent->window == 0 && extent->parts <= 1) {
        write_number(writer, key, extent->fixed);
        return;
    }
    jsonw_inline_next(writer);
    jsonw_open_object(writer, key);
    write_optional(writer, "fixed", extent->fixed);
    write_optional(writer, "per_token", extent->per_token);
    write_optional(writer, "per_sequence", extent->per_sequence);
    write_optional(writer, "per_kv", extent->per_kv);
    write_optional(writer, "per_pair", extent->per_pair);
    if (divide != 1) write_number(writer, "divide", divide);
    write_optional(writer, "window", extent->window);
    if (extent->parts > 1) {
        jsonw_u64(writer, "part", extent->part);
        jsonw_u64(writer, "parts", extent->parts);
    }
    jsonw_close_object(writer);
}

static void write_role(JsonWriter *writer, const Schedule *schedule, const Role *role) {
    jsonw_open_object(writer, NULL);
    jsonw_string(writer, "name", role->name);
    jsonw_inline_next(writer);
    jsonw_open_object(writer, "ranks");
    jsonw_u64(writer, "first", role->ranks.first);
    jsonw_u64(writer, "count", role->ranks.count);
    jsonw_u64(writer, "period", role->ranks.period);
    jsonw_u64(writer, "repeat", role->ranks.repeat);
    jsonw_close_object(writer);
    jsonw_u64(writer, "passes", role->passes);
    jsonw_open_array(writer, "program");
    for (uint32_t i = 0; i < role->segment_count; i++) {
        const Segment *segment = &schedule->segments[role->first_segment + i];
        jsonw_inline_next(writer);
        jsonw_open_object(writer, NULL);
        jsonw_u64(writer, "block", segment->block);
        jsonw_u64(writer, "repeat", segment->repeat);
        jsonw_close_object(writer);
    }
    jsonw_close_array(writer);
    jsonw_close_object(writer);
}

static void write_group(JsonWriter *writer, const GroupFamily *family) {
    jsonw_inline_next(writer);
    jsonw_open_object(writer, NULL);
    jsonw_string(writer, "name", family->name);
    jsonw_u64(writer, "size", family->size);
    jsonw_u64(writer, "stride", family->stride);
    jsonw_u64(writer, "count", family->count);
    jsonw_u64(writer, "first", family->first);
    jsonw_u64(writer, "period", family->period);
    jsonw_u64(writer, "per_period", family->per_period);
    jsonw_close_object(writer);
}

static void write_buffer(JsonWriter *writer, const Buffer *buffer) {
    jsonw_inline_next(writer);
    jsonw_open_object(writer, NULL);
    jsonw_string(writer, "name", buffer->name);
    jsonw_u64(writer, "role", buffer->role);
    jsonw_string(writer, "format", numfmt_names[buffer->format]);
    jsonw_string(writer, "life", schedule_life_names[buffer->life]);
    write_extent(writer, "bytes", &buffer->bytes);
    jsonw_close_object(writer);
}

static void write_fields(JsonWriter *writer, const Op *op) {
    Op copy = *op;
    ScheduleField fields[SCHEDULE_FIELDS_MAX];
    uint32_t count = schedule_fields_of(&copy, fields);
    const Extent zero = {0};
    for (uint32_t i = 0; i < count; i++) {
        const ScheduleField *field = &fields[i];
        bool is_zero =
            field->kind == FIELD_EXTENT ? extent_equals(field->extent, &zero) : *field->number == 0;
        if (is_zero && field->need != FIELD_REQUIRED) continue;
        switch (field->kind) {
        case FIELD_COUNT: jsonw_u64(writer, field->key, *field->number); break;
        case FIELD_NAME: jsonw_string(writer, field->key, field->names[*field->number]); break;
        case FIELD_EXTENT: write_extent(writer, field->key, field->extent); break;
        }
    }
}

static void write_slices(JsonWriter *writer, const Schedule *schedule, const Op *op) {
    const Extent zero = {0};
    if (op->slice_count == 0) return;
    jsonw_open_array(writer, "slices");
    for (uint32_t i = 0; i < op->slice_count; i++) {
        const Slice *slice = &schedule->slices[op->first_slice + i];
        jsonw_open_object(writer, NULL);
        jsonw_u64(writer, schedule_access_names[slice->access], slice->buffer);
        if (!extent_equals(&slice->offset, &zero)) write_extent(writer, "offset", &slice->offset);
        write_extent(writer, "bytes", &slice->bytes);
        jsonw_close_object(writer);
    }
    jsonw_close_array(writer);
}

static void write_op(JsonWriter *writer, const Schedule *schedule, const Op *op) {
    jsonw_inline_next(writer);
    jsonw_open_object(writer, NULL);
    jsonw_string(writer, "op", schedule_op_names[op->kind]);
    jsonw_string(writer, "name", op->name);
    jsonw_string(writer, "class", schedule_class_names[op->op_class]);
    jsonw_u64(writer, "stream", op->stream);
    if (op->wait_count > 0) {
        jsonw_open_array(writer, "waits");
        for (uint32_t i = 0; i < op->wait_count; i++)
            jsonw_u64(writer, NULL, schedule->waits[op->first_wait + i]);
        jsonw_close_array(writer);
    }
    write_fields(writer, op);
    write_slices(writer, schedule, op);
    jsonw_close_object(writer);
}

static void write_block(JsonWriter *writer, const Schedule *schedule, const Block *block) {
    jsonw_open_object(writer, NULL);
    jsonw_string(writer, "name", block->name);
    jsonw_u64(writer, "role", block->role);
    jsonw_open_array(writer, "ops");
    for (uint32_t i = 0; i < block->op_count; i++)
        write_op(writer, schedule, &schedule->ops[block->first_op + i]);
    jsonw_close_array(writer);
    jsonw_close_object(writer);
}

void schedule_write(const Schedule *schedule, Text *out) {
    JsonWriter writer = {.text = out};
    jsonw_open_object(&writer, NULL);
    jsonw_string(&writer, "moesim", "schedule");
    jsonw_u64(&writer, "version", SCHEDULE_VERSION);
    jsonw_string(&writer, "name", schedule->name);
    jsonw_u64(&writer, "ranks", schedule->rank_count);
    jsonw_open_array(&writer, "roles");
    for (uint32_t i = 0; i < schedule->role_count; i++)
        write_role(&writer, schedule, &schedule->roles[i]);
    jsonw_close_array(&writer);
    jsonw_open_array(&writer, "groups");
    for (uint32_t i = 0; i < schedule->group_count; i++) write_group(&writer, &schedule->groups[i]);
    jsonw_close_array(&writer);
    jsonw_open_array(&writer, "buffers");
    for (uint32_t i = 0; i < schedule->buffer_count; i++)
        write_buffer(&writer, &schedule->buffers[i]);
    jsonw_close_array(&writer);
    jsonw_open_array(&writer, "blocks");
    for (uint32_t i = 0; i < schedule->block_count; i++)
        write_block(&writer, schedule, &schedule->blocks[i]);
    jsonw_close_array(&writer);
    jsonw_close_object(&writer);
    jsonw_finish(&writer);
}
