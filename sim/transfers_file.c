// Transfers from lines of text: patterns are resolved against the templates of the machine, as
// those of links and faults are, and unfolded to the parts that they name.
//
// Invariant: how many transfers a line stands for is known, and refused, before the first is added.
#include "sim/transfers_file.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/mem.h"
#include "model/base/text.h"
#include "model/base/wide.h"
#include "model/machine/fabric_rule.h"
#include "model/machine/topology_link.h"
#include "sim/fields.h"

#define NAME_TEXT_MAX 1024 // no name or pattern is longer: 8 segments, see model/machine/pattern.h
#define TIME_TEXT_MAX 64

typedef struct Reader {
    const Fabric *fabric;
    Fields fields;
    TransfersFile file;
    Route route;
} Reader;

// A line, with the columns of its ends.
typedef struct Line {
    char from[NAME_TEXT_MAX], to[NAME_TEXT_MAX];
    uint32_t from_column, to_column;
    uint64_t bytes;
    Time start;
} Line;

// ---- Fields

static bool is_number(const char *text) {
    return text[strspn(text, "0123456789")] == '\0';
}

// Writes the name of the GPU in place of its number.
static bool name_gpu(const Fabric *fabric, char *text, Err *err) {
    uint64_t gpu = 0;
    Text name = {0};
    if (!text_parse_u64(text, &gpu) || gpu >= fabric->gpu_count)
        return err_set(err, "GPU %s is not there: the machine has GPUs 0 to %u", text,
                       fabric->gpu_count - 1);
    fabric_vertex_name(fabric, fabric_gpu(fabric, (uint32_t)gpu), &name);
    bool fits = name.length < NAME_TEXT_MAX;
    if (fits) memcpy(text, text_string(&name), name.length + 1);
    text_free(&name);
    return fits || err_set(err, "the name of GPU %" PRIu64 " is too long", gpu);
}

static bool read_end(const Fabric *fabric, const Field *field, char out[NAME_TEXT_MAX], Err *err) {
    if (field->length == 0)
        return err_set(err, "expected a part such as gpu[0] or the number of a GPU, found nothing");
    if (!fields_text(field, out, NAME_TEXT_MAX))
        return err_set(
            err, "expected a part such as gpu[0] or the number of a GPU, found something else");
    return !is_number(out) || name_gpu(fabric, out, err);
}

static bool read_start(const Field *field, Time *out, Err *err) {
    char text[TIME_TEXT_MAX];
    if (field->length == 0 || !fields_text(field, text, sizeof text))
        return err_set(err, "expected a start such as \"10us\", found %s",
                       field->length == 0 ? "nothing" : "something else");
    return units_parse_time(text, out, err);
}

// FROM, TO, BYTES, START by position.
static bool read_field(Reader *reader, const Field *field, uint32_t position, Line *out, Err *err) {
    switch (position) {
    case 0:
        out->from_column = field->column;
        return read_end(reader->fabric, field, out->from, err);
    case 1: out->to_column = field->column; return read_end(reader->fabric, field, out->to, err);
    case 2: return fields_size(field, &out->bytes, err);
    case 3: return read_start(field, &out->start, err);
    default: break;
    }
    return err_set(err, "expected FROM, TO, BYTES and at most START, found more");
}

static bool read_line(Reader *reader, Line *out, Err *err) {
    Fields *fields = &reader->fields;
    Field field;
    uint32_t count = 0;
    *out = (Line){0};
    for (; fields_next(fields, &field); count++)
        if (!read_field(reader, &field, count, out, err))
            return fields_fail(fields, field.column, err);
    if (count >= 3) return true;
    err_set(err, "expected FROM, TO, BYTES and at most START, found %u of them", count);
    return fields_fail(fields, fields->column, err);
}

// ---- Patterns

// The parts of one class that a pattern names, numbered from 0.
typedef struct End {
    const VertexClass *class;
    const TopologyEnd *end;
    uint64_t count; // an expression is one number, given the other end
} End;

static uint64_t set_size(const PatternIndex *index) {
    uint64_t size = 0;
    if (index->kind == PATTERN_EXPRESSION) return 1;
    for (uint32_t i = 0; i < index->range_count; i++)
        size += index->ranges[i].last - index->ranges[i].first + 1;
    return size;
}

static bool find_end(const Fabric *fabric, const TopologyEnd *end, const char *text, End *out,
                     Err *err) {
    uint32_t levels = end->pattern.count;
    *out = (End){.end = end, .count = 1};
    for (uint32_t i = 0; i < fabric->class_count; i++) {
        const VertexClass *class = &fabric->classes[i];
        if (class->digit_count == levels &&
            memcmp(class->place.part, end->part, levels * sizeof end->part[0]) == 0)
            out->class = class;
    }
    if (out->class == NULL)
        return err_set(err, "%s has parts inside: expected the name of one, such as its gpu[0]",
                       text);
    for (uint32_t i = 0; i < levels; i++)
        out->count = wide_mul_saturate(out->count, set_size(&end->pattern.segments[i].index));
    return true;
}

static uint32_t set_at(const PatternIndex *index, uint64_t number) {
    uint32_t i = 0;
    for (; number > index->ranges[i].last - index->ranges[i].first; i++)
        number -= index->ranges[i].last - index->ranges[i].first + 1;
    return index->ranges[i].first + (uint32_t)number;
}

// The digits of part `number`; `letters` are those of the other end.
static void end_digits(const End *end, uint64_t number, const uint32_t *letters, uint32_t *digits) {
    for (uint32_t level = end->end->pattern.count; level-- > 0;) {
        const PatternIndex *index = &end->end->pattern.segments[level].index;
        int64_t value = 0;
        if (index->kind == PATTERN_EXPRESSION) {
            pattern_evaluate(index->steps, index->step_count, letters, &value); // resolved: exists
            digits[level] = (uint32_t)value;
            continue;
        }
        digits[level] = set_at(index, number % set_size(index));
        number /= set_size(index);
    }
}

static void letters_of(const TopologyLink *ends, const uint32_t *digits, uint32_t *letters) {
    for (uint32_t i = 0; i < PATTERN_LETTERS; i++) {
        uint32_t level = ends->level_of_letter[i];
        letters[i] = level == UINT32_MAX ? 0 : digits[level];
    }
}

// ---- Transfers

static void add(Reader *reader, const Line *line, VertexId from, VertexId to) {
    TransfersFile *file = &reader->file;
    file->list = mem_grow(file->list, &file->capacity, file->count + 1, sizeof *file->list);
    file->list[file->count++] = (NetTransfer){from, to, line->bytes, line->start};
}

// All live GPUs reach each other (model/machine/fabric_fault.h); other parts may not.
static bool check_pair(Reader *reader, VertexId from, VertexId to, Err *err) {
    uint32_t gpus = reader->fabric->gpu_count;
    if (from < gpus && to < gpus) return true;
    return fabric_route(reader->fabric, from, to, &reader->route, err);
}

static bool add_pairs(Reader *reader, const Line *line, const TopologyLink *ends, const End *from,
                      const End *to, Err *err) {
    uint32_t digits[FABRIC_DIGITS_MAX], letters[PATTERN_LETTERS], first = reader->file.count;
    for (uint64_t i = 0; i < from->count; i++) {
        end_digits(from, i, NULL, digits);
        VertexId source = fabric_rule_vertex(from->class, digits);
        letters_of(ends, digits, letters);
        if (!transfers_check_end(reader->fabric, source, err))
            return fields_fail(&reader->fields, line->from_column, err);
        for (uint64_t k = 0; k < to->count; k++) {
            end_digits(to, k, letters, digits);
            VertexId target = fabric_rule_vertex(to->class, digits);
            if (target == source) continue;
            if (!transfers_check_end(reader->fabric, target, err) ||
                !check_pair(reader, source, target, err))
                return fields_fail(&reader->fields, line->to_column, err);
            add(reader, line, source, target);
        }
    }
    if (reader->file.count > first) return true;
    err_set(err, "%s names no part but that of FROM: nothing to move", line->to);
    return fields_fail(&reader->fields, line->to_column, err);
}

static bool add_line(Reader *reader, const Line *line, Err *err) {
    const Fabric *fabric = reader->fabric;
    Fault named = {.from = line->from, .to = line->to}; // whose patterns are of the whole machine
    TopologyLink ends;
    End from, to;
    const char *field = "";
    if (!topology_link_fault(fabric->topology, &named, &ends, &field, err))
        return fields_fail(&reader->fields,
                           strcmp(field, "to") == 0 ? line->to_column : line->from_column, err);
    if (!find_end(fabric, &ends.from, line->from, &from, err))
        return fields_fail(&reader->fields, line->from_column, err);
    if (!find_end(fabric, &ends.to, line->to, &to, err))
        return fields_fail(&reader->fields, line->to_column, err);
    if (wide_mul(from.count, to.count) <= TRANSFERS_MAX - reader->file.count)
        return add_pairs(reader, line, &ends, &from, &to, err);
    err_set(err, "%" PRIu64 " parts to %" PRIu64 " each: expected at most %u transfers in all",
            from.count, to.count, TRANSFERS_MAX);
    return fields_fail(&reader->fields, line->from_column, err);
}

bool transfers_file_parse(const Fabric *fabric, const char *name, const char *bytes, size_t count,
                          TransfersFile *out, Err *err) {
    Reader reader = {.fabric = fabric, .fields = fields_open(name, bytes, count)};
    Line line;
    bool done = true;
    while (done && fields_next_line(&reader.fields))
        done = read_line(&reader, &line, err) && add_line(&reader, &line, err);
    if (done && reader.file.count == 0)
        done = err_set(err, "%s: expected transfers, found none", name);
    fabric_route_free(&reader.route);
    if (done)
        *out = reader.file;
    else
        transfers_file_free(&reader.file);
    return done;
}

void transfers_file_free(TransfersFile *file) {
    mem_free(file->list);
    *file = (TransfersFile){0};
}
