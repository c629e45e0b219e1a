// The file of a Timeline: built, written, and read strictly.
//
// Invariant: times are whole picoseconds and never pass through a double that could round them (a
// JSON number is exact up to 2^53 ps, 2.5 hours; more is refused); spans are in one order, so that
// equal timelines are equal bytes.
// Source: the strict reader of model/base/json.h; the format is our own.
#include "model/report/timeline_file.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/base/json.h"
#include "model/base/jsonw.h"

#define SPAN_FIELDS 4 // op, member, start, end

const char *const timeline_file_work_names[TIMELINE_FILE_WORK_COUNT] = {
#define X(name, text) text,
    TIMELINE_FILE_WORK_LIST(X)
#undef X
};

void timeline_file_free(TimelineFile *file) {
    arena_free(&file->arena);
    *file = (TimelineFile){0};
}

// ---- From a Timeline

static int compare_spans(const void *left, const void *right) {
    const TimelineFileSpan *a = left, *b = right;
    if (a->op != b->op) return a->op < b->op ? -1 : 1;
    if (a->member != b->member) return a->member < b->member ? -1 : 1;
    if (a->start_ps != b->start_ps) return a->start_ps < b->start_ps ? -1 : 1;
    return (a->end_ps > b->end_ps) - (a->end_ps < b->end_ps);
}

static const char *implementation_of(const Op *op, Arena *arena) {
    if (op->kind != OP_COLLECTIVE) return arena_string(arena, schedule_op_names[op->kind]);
    const char *kind = collective_names[op->comm.collective];
    const char *how = algorithm_names[op->comm.algorithm];
    return op->comm.algorithm == ALGORITHM_HIERARCHICAL
               ? arena_printf(arena, "%s %s of %" PRIu32, kind, how, op->comm.inner)
               : arena_printf(arena, "%s %s", kind, how);
}

static void build_ops(const Schedule *schedule, const TimelineFileFacts *facts, TimelineFile *out) {
    out->op_count = schedule->op_count;
    out->ops = arena_alloc(&out->arena, out->op_count, sizeof *out->ops);
    for (OpId id = 0; id < schedule->op_count; id++) {
        const Op *op = &schedule->ops[id];
        RoleId role = schedule_op_role(schedule, id);
        out->ops[id] = (TimelineFileOp){
            .name = arena_string(&out->arena, op->name),
            .role_name = arena_string(&out->arena, schedule->roles[role].name),
            .role = role,
            .stream = op->stream,
            .kind = op->kind,
            .op_class = op->op_class,
            .implementation = implementation_of(op, &out->arena),
            .work = facts->works == NULL ? TIMELINE_FILE_PREDICTED : facts->works[id],
            .link = facts->links == NULL ? LINK_CLASS_COUNT : facts->links[id]};
    }
}

static void build_spans(const Timeline *timeline, TimelineFile *out) {
    out->span_count = (uint32_t)timeline->span_count;
    out->spans = arena_alloc(&out->arena, out->span_count, sizeof *out->spans);
    for (uint32_t i = 0; i < out->span_count; i++) {
        const Span *span = &timeline->spans[i];
        out->spans[i] = (TimelineFileSpan){span->op, span->member, span->start_ps, span->end_ps};
    }
    qsort(out->spans, out->span_count, sizeof *out->spans, compare_spans);
}

bool timeline_file_build(const Timeline *timeline, const Schedule *schedule,
                         const TimelineFileFacts *facts, TimelineFile *out, Err *err) {
    assert(timeline->op_count == schedule->op_count);
    if (timeline->span_count > TIMELINE_FILE_SPANS_MAX)
        return err_set(err, "a timeline of %" PRIu64 " spans, expected at most %" PRIu32,
                       timeline->span_count, TIMELINE_FILE_SPANS_MAX);
    TimelineFile file = {.is_complete = !facts->is_partial,
                         .schedule = timeline->schedule,
                         .shape = timeline->shape,
                         .load = timeline->load,
                         .fabric = timeline->fabric,
                         .calibration = timeline->calibration,
                         .form = timeline->form,
                         .end_ps = timeline->end_ps,
                         .member_count = timeline->member_count};
    file.maker = arena_string(&file.arena, timeline->maker);
    file.machine = arena_string(&file.arena, facts->machine);
    file.device = arena_string(&file.arena, facts->device);
    file.versions = arena_string(&file.arena, facts->versions);
    file.members =
        arena_copy(&file.arena, timeline->members, file.member_count, sizeof *file.members);
    build_ops(schedule, facts, &file);
    build_spans(timeline, &file);
    *out = file;
    return true;
}

// ---- Writing

static void write_members(const TimelineFile *file, JsonWriter *writer) {
    jsonw_open_array(writer, "members");
    for (uint32_t i = 0; i < file->member_count; i++) {
        jsonw_inline_next(writer);
        jsonw_open_object(writer, NULL);
        jsonw_u64(writer, "role", file->members[i].role);
        jsonw_u64(writer, "first_rank", file->members[i].first_rank);
        jsonw_u64(writer, "ranks", file->members[i].ranks);
        jsonw_close_object(writer);
    }
    jsonw_close_array(writer);
}

static void write_ops(const TimelineFile *file, JsonWriter *writer) {
    jsonw_open_array(writer, "operations");
    for (OpId id = 0; id < file->op_count; id++) {
        const TimelineFileOp *op = &file->ops[id];
        jsonw_inline_next(writer);
        jsonw_open_object(writer, NULL);
        jsonw_string(writer, "name", op->name);
        jsonw_u64(writer, "role", op->role);
        jsonw_string(writer, "role_name", op->role_name);
        jsonw_u64(writer, "stream", op->stream);
        jsonw_string(writer, "kind", schedule_op_names[op->kind]);
        jsonw_string(writer, "class", schedule_class_names[op->op_class]);
        jsonw_string(writer, "implementation", op->implementation);
        jsonw_string(writer, "work", timeline_file_work_names[op->work]);
        if (op->link != LINK_CLASS_COUNT)
            jsonw_string(writer, "link", topology_class_names[op->link]);
        jsonw_close_object(writer);
    }
    jsonw_close_array(writer);
}

static void write_spans(const TimelineFile *file, JsonWriter *writer) {
    jsonw_open_array(writer, "spans");
    for (uint32_t i = 0; i < file->span_count; i++) {
        const TimelineFileSpan *span = &file->spans[i];
        jsonw_inline_next(writer);
        jsonw_open_array(writer, NULL);
        jsonw_u64(writer, NULL, span->op);
        jsonw_u64(writer, NULL, span->member);
        jsonw_i64(writer, NULL, span->start_ps);
        jsonw_i64(writer, NULL, span->end_ps);
        jsonw_close_array(writer);
    }
    jsonw_close_array(writer);
}

static void write_said(JsonWriter *writer, const char *key, const char *value) {
    if (value != NULL && value[0] != '\0') jsonw_string(writer, key, value);
}

void timeline_file_write(const TimelineFile *file, Text *out) {
    JsonWriter writer = {.text = out};
    jsonw_open_object(&writer, NULL);
    jsonw_string(&writer, "moesim", "timeline");
    jsonw_u64(&writer, "version", TIMELINE_FILE_VERSION);
    jsonw_string(&writer, "maker", file->maker);
    jsonw_string(&writer, "machine", file->machine);
    write_said(&writer, "device", file->device);
    write_said(&writer, "versions", file->versions);
    jsonw_bool(&writer, "complete", file->is_complete);
    jsonw_digest(&writer, "schedule_digest", file->schedule);
    jsonw_digest(&writer, "shape_digest", file->shape);
    jsonw_digest(&writer, "load_digest", file->load);
    jsonw_digest(&writer, "fabric_digest", file->fabric);
    jsonw_digest(&writer, "calibration_digest", file->calibration);
    jsonw_string(&writer, "form", timeline_form_names[file->form]);
    jsonw_i64(&writer, "end_ps", file->end_ps);
    write_members(file, &writer);
    write_ops(file, &writer);
    write_spans(file, &writer);
    jsonw_close_object(&writer);
    jsonw_finish(&writer);
}

// ---- Reading

static bool read_digest(JsonNode object, const char *key, Digest *out, Err *err) {
    const char *text;
    char quoted[TEXT_QUOTE_MAX];
    if (!json_string(object, key, &text, err)) return false;
    size_t count = strlen(text);
    if (count != 16 || strspn(text, "0123456789abcdef") != count)
        return json_error(json_find(object, key), err,
                          "expected 16 lower-case hexadecimal digits, found %s",
                          text_quote(text, quoted));
    *out = 0;
    for (size_t i = 0; i < count; i++) {
        Digest digit = text[i] <= '9' ? (Digest)(text[i] - '0') : (Digest)(text[i] - 'a') + 10;
        *out = *out << 4 | digit;
    }
    return true;
}

static bool read_list(JsonNode root, const char *key, uint32_t most, JsonNode *out, Err *err) {
    if (!json_array(root, key, out, err)) return false;
    return json_count(*out) <= most ||
           json_error(*out, err, "expected at most %u, found %u", most, json_count(*out));
}

// Every role has a member.
static bool check_role(JsonNode node, RoleId role, const TimelineFile *file, Err *err) {
    return role < file->member_count ||
           json_error(json_find(node, "role"), err, "expected a role below %u, found %u",
                      file->member_count, role);
}

static bool read_member(JsonNode node, const TimelineFile *file, TimelineMember *out, Err *err) {
    if (!json_u32(node, "role", &out->role, err) ||
        !json_u32(node, "first_rank", &out->first_rank, err) ||
        !json_u32(node, "ranks", &out->ranks, err) || !check_role(node, out->role, file, err) ||
        !json_finish(node, err))
        return false;
    if (out->first_rank >= SCHEDULE_RANKS_MAX || out->ranks == 0 || out->ranks > SCHEDULE_RANKS_MAX)
        return json_error(node, err, "expected 1 to %u ranks from below %u on, found %u from %u on",
                          SCHEDULE_RANKS_MAX, SCHEDULE_RANKS_MAX, out->ranks, out->first_rank);
    return true;
}

static bool read_members(JsonNode root, TimelineFile *file, Err *err) {
    JsonNode list;
    if (!read_list(root, "members", TIMELINE_FILE_MEMBERS_MAX, &list, err)) return false;
    file->member_count = json_count(list);
    file->members = arena_alloc(&file->arena, file->member_count, sizeof *file->members);
    uint64_t ranks = 0;
    for (uint32_t i = 0; i < file->member_count; i++) {
        if (!read_member(json_at(list, i), file, &file->members[i], err)) return false;
        ranks += file->members[i].ranks;
        if (i > 0 && file->members[i].first_rank <= file->members[i - 1].first_rank &&
            file->form == TIMELINE_EXPANDED)
            return json_error(json_at(list, i), err,
                              "expected one member for each rank in order, found rank %u after %u",
                              file->members[i].first_rank, file->members[i - 1].first_rank);
    }
    return ranks <= SCHEDULE_RANKS_MAX ||
           json_error(list, err, "expected at most %u ranks, found %" PRIu64, SCHEDULE_RANKS_MAX,
                      ranks);
}

static bool read_op(JsonNode node, TimelineFile *file, TimelineFileOp *out, Err *err) {
    uint32_t kind, op_class, work, link = LINK_CLASS_COUNT;
    if (!json_text(node, "name", &file->arena, &out->name, err) ||
        !json_u32(node, "role", &out->role, err) || !check_role(node, out->role, file, err) ||
        !json_text(node, "role_name", &file->arena, &out->role_name, err) ||
        !json_u32(node, "stream", &out->stream, err) ||
        !json_enum(node, "kind", schedule_op_names, OP_KIND_COUNT, &kind, err) ||
        !json_enum(node, "class", schedule_class_names, OP_CLASS_COUNT, &op_class, err) ||
        !json_text(node, "implementation", &file->arena, &out->implementation, err) ||
        !json_enum(node, "work", timeline_file_work_names, TIMELINE_FILE_WORK_COUNT, &work, err) ||
        (json_has(node, "link") &&
         !json_enum(node, "link", topology_class_names, LINK_CLASS_COUNT, &link, err)))
        return false;
    if (out->stream >= SCHEDULE_STREAMS_MAX)
        return json_error(json_find(node, "stream"), err, "expected less than %d, found %u",
                          SCHEDULE_STREAMS_MAX, out->stream);
    out->kind = (OpKind)kind;
    out->op_class = (OpClass)op_class;
    out->work = (TimelineFileWork)work;
    out->link = (LinkClass)link;
    return json_finish(node, err);
}

static bool read_ops(JsonNode root, TimelineFile *file, Err *err) {
    JsonNode list;
    if (!read_list(root, "operations", TIMELINE_FILE_OPS_MAX, &list, err)) return false;
    file->op_count = json_count(list);
    file->ops = arena_alloc(&file->arena, file->op_count, sizeof *file->ops);
    for (OpId id = 0; id < file->op_count; id++)
        if (!read_op(json_at(list, id), file, &file->ops[id], err)) return false;
    return true;
}

static bool read_span(JsonNode node, const TimelineFile *file, TimelineFileSpan *out, Err *err) {
    uint64_t field[SPAN_FIELDS];
    if (json_kind(node) != JSON_ARRAY || json_count(node) != SPAN_FIELDS)
        return json_error(node, err, "expected [operation, member, start, end]");
    for (uint32_t i = 0; i < SPAN_FIELDS; i++)
        if (!json_as_u64(json_at(node, i), &field[i], err)) return false;
    if (field[0] >= file->op_count)
        return json_error(json_at(node, 0), err, "expected an operation below %u, found %" PRIu64,
                          file->op_count, field[0]);
    if (field[1] >= file->member_count)
        return json_error(json_at(node, 1), err, "expected a member below %u, found %" PRIu64,
                          file->member_count, field[1]);
    *out = (TimelineFileSpan){(OpId)field[0], (uint32_t)field[1], (Time)field[2], (Time)field[3]};
    if (file->members[out->member].role != file->ops[out->op].role)
        return json_error(node, err, "operation %u is of role %u, member %u of role %u", out->op,
                          file->ops[out->op].role, out->member, file->members[out->member].role);
    if (out->end_ps < out->start_ps || out->end_ps > file->end_ps)
        return json_error(node, err,
                          "expected start <= end <= %" PRId64 ", found %" PRId64 " and %" PRId64,
                          file->end_ps, out->start_ps, out->end_ps);
    return true;
}

static bool is_after(const TimelineFileSpan *span, const TimelineFileSpan *before) {
    if (span->op != before->op) return span->op > before->op;
    if (span->member != before->member) return span->member > before->member;
    return span->start_ps >= before->end_ps;
}

static bool read_spans(JsonNode root, TimelineFile *file, Err *err) {
    JsonNode list;
    if (!read_list(root, "spans", TIMELINE_FILE_SPANS_MAX, &list, err)) return false;
    file->span_count = json_count(list);
    file->spans = arena_alloc(&file->arena, file->span_count, sizeof *file->spans);
    for (uint32_t i = 0; i < file->span_count; i++) {
        if (!read_span(json_at(list, i), file, &file->spans[i], err)) return false;
        if (i > 0 && !is_after(&file->spans[i], &file->spans[i - 1]))
            return json_error(json_at(list, i), err,
                              "expected spans in order of operation, member and time, the "
                              "instances of one operation on one member one after another");
    }
    return true;
}

// What need not be said: "" when it is not.
static bool read_said(JsonNode root, const char *key, TimelineFile *file, const char **out,
                      Err *err) {
    *out = "";
    return !json_has(root, key) || json_text(root, key, &file->arena, out, err);
}

static bool read_head(JsonNode root, TimelineFile *file, Err *err) {
    uint32_t form;
    uint64_t end_ps;
    if (!json_header(root, "timeline", TIMELINE_FILE_VERSION, err) ||
        !json_text(root, "maker", &file->arena, &file->maker, err) ||
        !json_text(root, "machine", &file->arena, &file->machine, err) ||
        !read_said(root, "device", file, &file->device, err) ||
        !read_said(root, "versions", file, &file->versions, err) ||
        !json_bool(root, "complete", &file->is_complete, err) ||
        !read_digest(root, "schedule_digest", &file->schedule, err) ||
        !read_digest(root, "shape_digest", &file->shape, err) ||
        !read_digest(root, "load_digest", &file->load, err) ||
        !read_digest(root, "fabric_digest", &file->fabric, err) ||
        !read_digest(root, "calibration_digest", &file->calibration, err) ||
        !json_enum(root, "form", timeline_form_names, TIMELINE_FORM_COUNT, &form, err) ||
        !json_u64(root, "end_ps", &end_ps, err))
        return false;
    file->form = (TimelineForm)form;
    file->end_ps = (Time)end_ps;
    return true;
}

static bool read_all(const Json *json, TimelineFile *out, Err *err) {
    TimelineFile file = {0};
    JsonNode root = json_root(json);
    bool good = read_head(root, &file, err) && read_members(root, &file, err) &&
                read_ops(root, &file, err) && read_spans(root, &file, err) &&
                json_finish(root, err);
    if (good)
        *out = file;
    else
        timeline_file_free(&file);
    return good;
}

bool timeline_file_parse(const char *name, const char *bytes, size_t count, TimelineFile *out,
                         Err *err) {
    Json json = {0};
    bool good = json_parse(name, bytes, count, &json, err) && read_all(&json, out, err);
    json_free(&json);
    return good;
}

bool timeline_file_read(const char *path, TimelineFile *out, Err *err) {
    Json json = {0};
    bool good = json_read(path, &json, err) && read_all(&json, out, err);
    json_free(&json);
    return good;
}
