// The file form of a schedule, read. schedule_write.c has its counterpart.
//
// Invariant: what is read passes schedule_check_structure, so that every index in it may be used.
// The memory grows with the document, never with a number in it.
#include "model/plan/schedule.h"

#include "model/base/json.h"
#include "model/plan/schedule_fields.h"

static bool read_number(JsonNode node, uint64_t *out, Err *err) {
    const char *text;
    if (json_kind(node) != JSON_STRING) return json_as_u64(node, out, err);
    return json_as_string(node, &text, err) &&
           (text_parse_u64(text, out) ||
            json_error(node, err, "expected a whole number, found \"%s\"", text));
}

static bool read_optional(JsonNode object, const char *key, uint64_t *out, Err *err) {
    return !json_has(object, key) || read_number(json_find(object, key), out, err);
}

// Part `part` (from 0 on) of `parts`: both or none.
static bool read_part(JsonNode object, Extent *extent, Err *err) {
    if (!json_has(object, "part") && !json_has(object, "parts")) return true;
    if (!json_u32(object, "part", &extent->part, err) ||
        !json_u32(object, "parts", &extent->parts, err))
        return false;
    if (extent->parts < 2 || extent->parts > EXTENT_PARTS_MAX)
        return json_error(json_find(object, "parts"), err, "expected 2 to %d, found %u",
                          EXTENT_PARTS_MAX, (unsigned)extent->parts);
    return extent->part < extent->parts ||
           json_error(json_find(object, "part"), err, "expected a number below %u, found %u",
                      (unsigned)extent->parts, (unsigned)extent->part);
}

static bool read_extent(JsonNode object, const char *key, Extent *out, Err *err) {
    JsonNode node = json_find(object, key);
    Extent extent = {0};
    if (json_is_absent(node)) return json_error(object, err, "missing \"%s\"", key);
    if (json_kind(node) != JSON_OBJECT) return read_number(node, &out->fixed, err);
    if (!read_optional(node, "fixed", &extent.fixed, err) ||
        !read_optional(node, "per_token", &extent.per_token, err) ||
        !read_optional(node, "per_sequence", &extent.per_sequence, err) ||
        !read_optional(node, "per_kv", &extent.per_kv, err) ||
        !read_optional(node, "per_pair", &extent.per_pair, err) ||
        !read_optional(node, "divide", &extent.divide, err) ||
        !read_optional(node, "window", &extent.window, err) || !read_part(node, &extent, err) ||
        !json_finish(node, err))
        return false;
    if (json_has(node, "divide") && extent.divide == 0)
        return json_error(node, err, "divide: expected a number above 0, found 0");
    *out = extent;
    return true;
}

static bool read_program(Schedule *schedule, RoleId role, JsonNode node, Err *err) {
    JsonNode program;
    if (!json_array(node, "program", &program, err)) return false;
    for (uint32_t i = 0; i < json_count(program); i++) {
        JsonNode segment = json_at(program, i);
        uint32_t block, repeat;
        if (!json_u32(segment, "block", &block, err) ||
            !json_u32(segment, "repeat", &repeat, err) || !json_finish(segment, err))
            return false;
        schedule_add_segment(schedule, role, block, repeat);
    }
    return true;
}

static bool read_role(Schedule *schedule, JsonNode node, Err *err) {
    const char *name;
    JsonNode set;
    RankSet ranks = {0};
    uint32_t passes;
    if (!json_string(node, "name", &name, err) || !json_object(node, "ranks", &set, err) ||
        !json_u32(set, "first", &ranks.first, err) || !json_u32(set, "count", &ranks.count, err) ||
        !json_u32(set, "period", &ranks.period, err) ||
        !json_u32(set, "repeat", &ranks.repeat, err) || !json_finish(set, err) ||
        !json_u32(node, "passes", &passes, err))
        return false;
    schedule_add_role(schedule, name, ranks, passes);
    return read_program(schedule, schedule->role_count - 1, node, err) && json_finish(node, err);
}

static bool read_roles(Schedule *schedule, JsonNode root, Err *err) {
    JsonNode roles;
    if (!json_array(root, "roles", &roles, err)) return false;
    for (uint32_t i = 0; i < json_count(roles); i++) {
        if (!read_role(schedule, json_at(roles, i), err)) return false;
    }
    return true;
}

static bool read_groups(Schedule *schedule, JsonNode root, Err *err) {
    JsonNode groups;
    if (!json_array(root, "groups", &groups, err)) return false;
    for (uint32_t i = 0; i < json_count(groups); i++) {
        JsonNode node = json_at(groups, i);
        GroupFamily family = {0};
        if (!json_string(node, "name", &family.name, err) ||
            !json_u32(node, "size", &family.size, err) ||
            !json_u32(node, "stride", &family.stride, err) ||
            !json_u32(node, "count", &family.count, err) ||
            !json_u32(node, "first", &family.first, err) ||
            !json_u32(node, "period", &family.period, err) ||
            !json_u32(node, "per_period", &family.per_period, err) || !json_finish(node, err))
            return false;
        schedule_add_group(schedule, &family);
    }
    return true;
}

static bool read_buffers(Schedule *schedule, JsonNode root, Err *err) {
    JsonNode buffers;
    if (!json_array(root, "buffers", &buffers, err)) return false;
    for (uint32_t i = 0; i < json_count(buffers); i++) {
        JsonNode node = json_at(buffers, i);
        Buffer buffer = {0};
        uint32_t format, life;
        if (!json_string(node, "name", &buffer.name, err) ||
            !json_u32(node, "role", &buffer.role, err) ||
            !json_enum(node, "format", numfmt_names, NUMFMT_COUNT, &format, err) ||
            !json_enum(node, "life", schedule_life_names, BUFFER_LIFE_COUNT, &life, err) ||
            !read_extent(node, "bytes", &buffer.bytes, err) || !json_finish(node, err))
            return false;
        buffer.format = (NumFmt)format;
        buffer.life = (BufferLife)life;
        schedule_add_buffer(schedule, &buffer);
    }
    return true;
}

static bool read_field(JsonNode node, const ScheduleField *field, Err *err) {
    if (field->need != FIELD_REQUIRED && !json_has(node, field->key)) return true;
    switch (field->kind) {
    case FIELD_COUNT: return json_u32(node, field->key, field->number, err);
    case FIELD_NAME:
        return json_enum(node, field->key, field->names, field->name_count, field->number, err);
    case FIELD_EXTENT: return read_extent(node, field->key, field->extent, err);
    }
    return false;
}

static bool read_waits(Schedule *schedule, JsonNode node, Err *err) {
    JsonNode waits;
    if (!json_has(node, "waits")) return true;
    if (!json_array(node, "waits", &waits, err)) return false;
    for (uint32_t i = 0; i < json_count(waits); i++) {
        uint64_t on;
        if (!json_as_u64(json_at(waits, i), &on, err)) return false;
        if (on >= SCHEDULE_NONE)
            return json_error(json_at(waits, i), err, "expected the number of an operation");
        schedule_add_wait(schedule, (OpId)on);
    }
    return true;
}

// The member that names the access has the buffer as its value: exactly one of them is there.
static bool read_slice(JsonNode node, Slice *slice, Err *err) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < SLICE_ACCESS_COUNT; i++) {
        if (!json_has(node, schedule_access_names[i])) continue;
        if (!json_u32(node, schedule_access_names[i], &slice->buffer, err)) return false;
        slice->access = (SliceAccess)i;
        found++;
    }
    if (found != 1)
        return json_error(node, err, "expected one of \"read\", \"write\" and \"add\", found %u",
                          found);
    if (json_has(node, "offset") && !read_extent(node, "offset", &slice->offset, err)) return false;
    return read_extent(node, "bytes", &slice->bytes, err) && json_finish(node, err);
}

static bool read_slices(Schedule *schedule, JsonNode node, Err *err) {
    JsonNode slices;
    if (!json_has(node, "slices")) return true;
    if (!json_array(node, "slices", &slices, err)) return false;
    for (uint32_t i = 0; i < json_count(slices); i++) {
        Slice slice = {0};
        if (!read_slice(json_at(slices, i), &slice, err)) return false;
        schedule_add_slice(schedule, &slice);
    }
    return true;
}

static bool read_op(Schedule *schedule, JsonNode node, Err *err) {
    Op op = {0};
    uint32_t kind, op_class;
    if (!json_enum(node, "op", schedule_op_names, OP_KIND_COUNT, &kind, err) ||
        !json_string(node, "name", &op.name, err) ||
        !json_enum(node, "class", schedule_class_names, OP_CLASS_COUNT, &op_class, err) ||
        !json_u32(node, "stream", &op.stream, err))
        return false;
    op.kind = (OpKind)kind;
    op.op_class = (OpClass)op_class;
    ScheduleField fields[SCHEDULE_FIELDS_MAX];
    uint32_t count = schedule_fields_of(&op, fields);
    for (uint32_t i = 0; i < count; i++) {
        if (!read_field(node, &fields[i], err)) return false;
    }
    schedule_add_op(schedule, &op);
    return read_waits(schedule, node, err) && read_slices(schedule, node, err) &&
           json_finish(node, err);
}

static bool read_blocks(Schedule *schedule, JsonNode root, Err *err) {
    JsonNode blocks;
    if (!json_array(root, "blocks", &blocks, err)) return false;
    for (uint32_t i = 0; i < json_count(blocks); i++) {
        JsonNode node = json_at(blocks, i), ops;
        const char *name;
        uint32_t role;
        if (!json_string(node, "name", &name, err) || !json_u32(node, "role", &role, err) ||
            !json_array(node, "ops", &ops, err) || !json_finish(node, err))
            return false;
        schedule_add_block(schedule, role, name);
        for (uint32_t j = 0; j < json_count(ops); j++) {
            if (!read_op(schedule, json_at(ops, j), err)) return false;
        }
    }
    return true;
}

static bool read_document(const Json *json, const char *path, Schedule *out, Err *err) {
    JsonNode root = json_root(json);
    Schedule schedule = {0};
    const char *name;
    uint32_t ranks;
    bool good = json_header(root, "schedule", SCHEDULE_VERSION, err) &&
                json_string(root, "name", &name, err) && json_u32(root, "ranks", &ranks, err);
    if (!good) return false;
    schedule_init(&schedule, name, ranks);
    good = read_roles(&schedule, root, err) && read_groups(&schedule, root, err) &&
           read_buffers(&schedule, root, err) && read_blocks(&schedule, root, err) &&
           json_finish(root, err);
    if (good && !schedule_check_structure(&schedule, err)) good = err_prefix(err, "%s", path);
    if (!good) {
        schedule_free(&schedule);
        return false;
    }
    schedule_finish(&schedule);
    *out = schedule;
    return true;
}

bool schedule_read(const char *path, Schedule *out, Err *err) {
    Json json = {0};
    bool done = json_read(path, &json, err) && read_document(&json, path, out, err);
    json_free(&json);
    return done;
}

bool schedule_parse(const char *name, const char *bytes, size_t count, Schedule *out, Err *err) {
    Json json = {0};
    bool done = json_parse(name, bytes, count, &json, err) && read_document(&json, name, out, err);
    json_free(&json);
    return done;
}
