// Results of the ranks of one process as bytes, and the results of several processes as one.
//
// Form: 64-bit numbers of this machine's byte order. A head of six (mark, operations, buffers,
// repeats, ranks, spans), then sizes of buffers, instances, bytes by class, begins, works, the
// ranks with their memory and what the compute unit left of each, the spans. Invariant of reading:
// a count is believed only after as many bytes are known to be there.
#include "exec/result.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/mem.h"

#define MARK       UINT64_C(0x746c757365720002)
#define SPAN_ITEMS 7
#define HEAD_ITEMS 6
#define LEFT_MAX_B (UINT64_C(1) << 32) // of what a compute unit leaves of a rank

// ---- Out

static void add(Text *out, uint64_t value) {
    char bytes[sizeof value];
    memcpy(bytes, &value, sizeof value);
    text_add_bytes(out, bytes, sizeof bytes);
}

static void add_all(Text *out, const uint64_t *values, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) add(out, values[i]);
}

static void add_rank(Text *out, const Job *job, const InterpResult *result, uint32_t index) {
    add(out, result->ranks[index]);
    for (BufferId id = 0; id < job->schedule->buffer_count; id++) {
        const uint8_t *bytes = result->buffers[index][id];
        if (bytes != NULL) text_add_bytes(out, (const char *)bytes, (size_t)result->size_B[id]);
    }
    uint64_t left_B = result->left == NULL ? 0 : result->left_B[index];
    add(out, left_B);
    if (left_B > 0) text_add_bytes(out, (const char *)result->left[index], (size_t)left_B);
}

static void add_span(Text *out, const InterpSpan *span) {
    const uint64_t items[SPAN_ITEMS] = {span->op,
                                        span->rank,
                                        span->repeat,
                                        span->pass,
                                        span->iteration,
                                        (uint64_t)span->start_ps,
                                        (uint64_t)span->end_ps};
    add_all(out, items, SPAN_ITEMS);
}

void result_pack(const Job *job, const InterpResult *result, Text *out) {
    const Schedule *schedule = job->schedule;
    if (result->instances == NULL) return;
    const uint64_t head[] = {MARK,
                             schedule->op_count,
                             schedule->buffer_count,
                             result->repeats,
                             result->rank_count,
                             result->span_count};
    add_all(out, head, sizeof head / sizeof head[0]);
    add_all(out, result->size_B, schedule->buffer_count);
    add_all(out, result->instances, schedule->op_count);
    add_all(out, result->linked_B, OP_CLASS_COUNT);
    add_all(out, result->local_B, OP_CLASS_COUNT);
    for (uint32_t i = 0; i < result->repeats; i++) add(out, (uint64_t)result->begin_ps[i]);
    for (OpId id = 0; id < schedule->op_count; id++) add(out, result->works[id]);
    for (uint32_t i = 0; i < result->rank_count; i++) add_rank(out, job, result, i);
    for (uint64_t i = 0; i < result->span_count; i++) add_span(out, &result->spans[i]);
}

uint64_t result_bytes_max(const Job *job, const ComputeUnit *compute, const InterpOptions *options,
                          uint32_t rank) {
    const Schedule *schedule = job->schedule;
    const Routing *routing = compute->routing;
    uint64_t repeats = options->repeats > 0 ? options->repeats : 1;
    uint64_t spans = options->spans ? repeats * (options->drill != NULL ? 1 : job->runs) : 0;
    uint64_t items = HEAD_ITEMS + (uint64_t)schedule->buffer_count +
                     2 * (uint64_t)schedule->op_count + 2 * OP_CLASS_COUNT + repeats + 2;
    uint64_t bytes = sizeof(uint64_t) * (items + SPAN_ITEMS * spans);
    if (compute->leave != NULL) bytes += LEFT_MAX_B;
    for (BufferId id = 0; id < schedule->buffer_count; id++) {
        uint64_t size_B = job->size_B[id];
        if (schedule->buffers[id].role != job->roles[rank]) continue;
        if (routing != NULL) size_B = routing->room_B(routing->self, job, id, size_B);
        if (size_B > UINT64_MAX - bytes) return UINT64_MAX;
        bytes += size_B;
    }
    return bytes;
}

// ---- In

typedef struct Reader {
    const Job *job;
    uint64_t repeats;
    const uint8_t *next, *end;
    InterpResult *out;
    bool *seen;    // [rank_count]
    bool is_first; // part
} Reader;

static uint64_t left(const Reader *reader) {
    return (uint64_t)(reader->end - reader->next);
}

// The caller knows that it is there.
static uint64_t take(Reader *reader) {
    uint64_t value;
    memcpy(&value, reader->next, sizeof value);
    reader->next += sizeof value;
    return value;
}

static bool has(const Reader *reader, uint64_t items, Err *err) {
    return items <= left(reader) / sizeof(uint64_t) ||
           err_set(err, "ends after %" PRIu64 " bytes that were expected to go on", left(reader));
}

static bool expect(const char *what, uint64_t found, uint64_t expected, Err *err) {
    return found == expected ||
           err_set(err, "%s: found %" PRIu64 ", expected %" PRIu64, what, found, expected);
}

static bool read_head(Reader *reader, uint64_t *ranks, uint64_t *spans, Err *err) {
    const Schedule *schedule = reader->job->schedule;
    if (!has(reader, HEAD_ITEMS, err) || !expect("mark of a result", take(reader), MARK, err) ||
        !expect("operations", take(reader), schedule->op_count, err) ||
        !expect("buffers", take(reader), schedule->buffer_count, err) ||
        !expect("repeats", take(reader), reader->repeats, err))
        return false;
    *ranks = take(reader);
    *spans = take(reader);
    return true;
}

static bool read_sizes(Reader *reader, Err *err) {
    uint64_t *size_B = reader->out->size_B;
    for (BufferId id = 0; id < reader->job->schedule->buffer_count; id++) {
        uint64_t found = take(reader);
        if (reader->is_first) size_B[id] = found;
        if (!expect("bytes of a buffer", found, size_B[id], err)) return false;
    }
    return true;
}

// Far from the ends of Time, so that any two have a difference.
static bool is_time(uint64_t value) {
    return (Time)value > -(INT64_C(1) << 60) && (Time)value < INT64_C(1) << 62;
}

static bool read_counts(Reader *reader, Err *err) {
    const Schedule *schedule = reader->job->schedule;
    InterpResult *out = reader->out;
    uint64_t items = (uint64_t)schedule->buffer_count + 2 * (uint64_t)schedule->op_count +
                     2 * OP_CLASS_COUNT + reader->repeats;
    if (!has(reader, items, err) || !read_sizes(reader, err)) return false;
    for (OpId id = 0; id < schedule->op_count; id++) out->instances[id] += take(reader);
    for (uint32_t i = 0; i < OP_CLASS_COUNT; i++) out->linked_B[i] += take(reader);
    for (uint32_t i = 0; i < OP_CLASS_COUNT; i++) out->local_B[i] += take(reader);
    for (uint32_t i = 0; i < reader->repeats; i++) {
        Time begin_ps = (Time)take(reader);
        if (!is_time((uint64_t)begin_ps))
            return err_set(err,
                           "begin of a repeat: found %lld ps, expected a time that a clock has",
                           (long long)begin_ps);
        if (reader->is_first || begin_ps < out->begin_ps[i]) out->begin_ps[i] = begin_ps;
    }
    for (OpId id = 0; id < schedule->op_count; id++) {
        uint64_t work = take(reader);
        if (work >= TIMELINE_FILE_WORK_COUNT)
            return err_set(err, "work of an operation: found %" PRIu64 ", expected less than %d",
                           work, TIMELINE_FILE_WORK_COUNT);
        out->works[id] = (TimelineFileWork)work;
    }
    return true;
}

static bool read_memory(Reader *reader, RoleId role, uint8_t **buffers, Err *err) {
    const Schedule *schedule = reader->job->schedule;
    for (BufferId id = 0; id < schedule->buffer_count; id++) {
        uint64_t count = reader->out->size_B[id];
        if (schedule->buffers[id].role != role) continue;
        if (count > left(reader)) return err_set(err, "ends inside a buffer");
        buffers[id] = arena_copy(&reader->out->arena, reader->next, (size_t)count, 1);
        reader->next += count;
    }
    return true;
}

static bool read_left(Reader *reader, uint32_t index, Err *err) {
    if (!has(reader, 1, err)) return false;
    uint64_t count = take(reader);
    if (count > left(reader)) return err_set(err, "ends inside what a rank computed");
    reader->out->left[index] = arena_copy(&reader->out->arena, reader->next, (size_t)count, 1);
    reader->out->left_B[index] = count;
    reader->next += count;
    return true;
}

static bool read_rank(Reader *reader, Err *err) {
    const Schedule *schedule = reader->job->schedule;
    InterpResult *out = reader->out;
    if (!has(reader, 1, err)) return false;
    uint64_t rank = take(reader);
    if (rank >= schedule->rank_count || reader->seen[rank])
        return err_set(err, "rank %" PRIu64 ": expected another one below %u", rank,
                       schedule->rank_count);
    uint32_t index = out->rank_count++;
    reader->seen[rank] = true;
    out->ranks[index] = (uint32_t)rank;
    out->buffers[index] =
        arena_alloc(&out->arena, schedule->buffer_count, sizeof *out->buffers[index]);
    return read_memory(reader, reader->job->roles[rank], out->buffers[index], err) &&
           read_left(reader, index, err);
}

static bool read_spans(Reader *reader, uint64_t count, Err *err) {
    InterpResult *out = reader->out;
    if (count != left(reader) / sizeof(uint64_t) / SPAN_ITEMS ||
        left(reader) % (SPAN_ITEMS * sizeof(uint64_t)) != 0)
        return err_set(err, "%" PRIu64 " bytes for %" PRIu64 " spans", left(reader), count);
    if (count == 0) return true;
    out->spans = mem_realloc(out->spans, (size_t)(out->span_count + count), sizeof *out->spans);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t items[SPAN_ITEMS];
        for (uint32_t k = 0; k < SPAN_ITEMS; k++) items[k] = take(reader);
        if (items[0] >= reader->job->schedule->op_count ||
            items[1] >= reader->job->schedule->rank_count || items[2] >= reader->repeats ||
            !is_time(items[5]) || !is_time(items[6]) || (Time)items[6] < (Time)items[5])
            return err_set(err, "span %" PRIu64 " of operation %" PRIu64 " on rank %" PRIu64, i,
                           items[0], items[1]);
        out->spans[out->span_count++] = (InterpSpan){.op = (OpId)items[0],
                                                     .rank = (uint32_t)items[1],
                                                     .repeat = (uint32_t)items[2],
                                                     .pass = (uint32_t)items[3],
                                                     .iteration = (uint32_t)items[4],
                                                     .start_ps = (Time)items[5],
                                                     .end_ps = (Time)items[6]};
    }
    return true;
}

static bool read_part(Reader *reader, Err *err) {
    uint64_t ranks, spans;
    if (!read_head(reader, &ranks, &spans, err) || !read_counts(reader, err)) return false;
    for (uint64_t i = 0; i < ranks; i++) {
        if (!read_rank(reader, err)) return false;
    }
    return read_spans(reader, spans, err);
}

static void open_result(const Job *job, uint32_t repeats, InterpResult *out) {
    const Schedule *schedule = job->schedule;
    *out = (InterpResult){.repeats = repeats};
    out->ranks = arena_alloc(&out->arena, schedule->rank_count, sizeof *out->ranks);
    out->buffers = arena_alloc(&out->arena, schedule->rank_count, sizeof *out->buffers);
    out->left = arena_alloc(&out->arena, schedule->rank_count, sizeof *out->left);
    out->left_B = arena_alloc(&out->arena, schedule->rank_count, sizeof *out->left_B);
    out->size_B = arena_copy(&out->arena, job->size_B, schedule->buffer_count, sizeof *out->size_B);
    out->instances = arena_alloc(&out->arena, schedule->op_count, sizeof *out->instances);
    out->begin_ps = arena_alloc(&out->arena, repeats, sizeof *out->begin_ps);
    out->works = arena_alloc(&out->arena, schedule->op_count, sizeof *out->works);
}

bool result_merge(const Job *job, uint32_t repeats, const ResultPart *parts, uint32_t count,
                  InterpResult *out, Err *err) {
    InterpResult result;
    bool good = true;
    if (repeats == 0) repeats = 1;
    open_result(job, repeats, &result);
    Reader reader = {.job = job,
                     .repeats = repeats,
                     .out = &result,
                     .seen = mem_alloc(job->schedule->rank_count, sizeof *reader.seen),
                     .is_first = true};
    for (uint32_t i = 0; i < count && good; i++) {
        if (parts[i].bytes == NULL) continue;
        reader.next = parts[i].bytes;
        reader.end = parts[i].bytes + parts[i].count;
        good = read_part(&reader, err) || err_prefix(err, "result %u", i);
        reader.is_first = false;
    }
    mem_free(reader.seen);
    if (good)
        *out = result;
    else
        interp_free(&result);
    return good;
}
