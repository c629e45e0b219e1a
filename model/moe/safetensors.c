// Reads the header of a safetensors file.
//
// Invariant: every size is checked against the limit and against the file before memory is asked
// for it, and memory is proportional to bytes that were read. A header that passes has unique names
// of one line each, known types, and products of shapes that fit 64 bits; whether the ranges fill
// the file exactly is reported, not assumed. The rules are those of the reference reader
// (huggingface/safetensors, tensor.rs: read_metadata and validate), and no two keys may be equal.
#include "model/moe/safetensors.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/base/json_scan.h"
#include "model/base/text.h"
#include "model/base/wide.h"
#include "model/moe/name_map.h"
#include "model/moe/quant.h"

#define TYPES_MAX 32 // more than there are
#define TYPE_B    16 // of the longest name of a type, with its end
#define PEEK_B    64 // of a file that is something else

typedef struct NameList {
    const char **items;
    uint32_t count, capacity;
} NameList;

typedef struct Parser {
    JsonWalk walk;
    JsonEvent event; // the last one
    NamePool pool;
    NameList names, metadata;
    const char *types[TYPES_MAX]; // that were met so far
    uint32_t type_count;
    bool has_metadata;
    SafetensorsTensor *tensors; // heap until the end, as are their dims, one after the other
    uint32_t count, capacity;
    uint64_t *dims;
    uint32_t dim_count, dim_capacity;
    uint64_t data_start;
    Err err;
} Parser;

static void add_name(NameList *list, const char *name) {
    list->items = mem_grow(list->items, &list->capacity, list->count + 1, sizeof *list->items);
    list->items[list->count++] = name;
}

// Refuses a name that is there twice.
static bool check_unique(const NameList *list, Err *err) {
    Arena arena = {0};
    NameMap map;
    char quote[TEXT_QUOTE_MAX];
    name_map_build(list->items, list->count, &arena, &map);
    uint32_t repeated = name_map_repeated(&map);
    if (repeated != NAME_NONE)
        err_set(err, "duplicate key %s", text_quote(list->items[repeated], quote));
    arena_free(&arena);
    return repeated == NAME_NONE;
}

// JSON, value by value.

static bool next(Parser *p) {
    if (json_scan_next(&p->walk, &p->event, &p->err)) return true;
    return err_prefix(&p->err, "byte %zu of the header", p->walk.at);
}

static bool next_kind(Parser *p, JsonEventKind kind, const char *expected) {
    if (!next(p)) return false;
    return p->event.kind == kind ? true : err_set(&p->err, "expected %s", expected);
}

// The key of the last event as a string of the pool.
static bool take_key(Parser *p, const char **out) {
    char *name = name_map_room(&p->pool, p->event.key_end - p->event.key);
    char quote[TEXT_QUOTE_MAX];
    size_t length = json_scan_string(p->walk.bytes, p->event.key, name);
    if (text_plain(name) != length)
        return err_set(&p->err, "control character in the name %s", text_quote(name, quote));
    name_map_keep(&p->pool, length + 1);
    *out = name;
    return true;
}

static bool take_whole(Parser *p, uint64_t *out) {
    uint64_t value = 0;
    if (p->event.kind != JSON_EVENT_NUMBER)
        return err_set(&p->err, "expected a whole number of at least 0");
    for (uint32_t i = p->event.offset; i < p->event.end; i++) {
        char c = p->walk.bytes[i];
        if (c < '0' || c > '9')
            return err_set(&p->err, "expected a whole number of at least 0, found %.*s",
                           (int)(p->event.end - p->event.offset), p->walk.bytes + p->event.offset);
        value = value * 10 + (uint64_t)(c - '0'); // at most 2^53, the scanner refuses more
    }
    *out = value;
    return true;
}

// Entries.

typedef enum Member { MEMBER_TYPE = 1, MEMBER_SHAPE = 2, MEMBER_RANGE = 4, MEMBERS = 7 } Member;

static bool take_type(Parser *p, SafetensorsTensor *tensor) {
    size_t length = p->event.end - p->event.offset;
    if (p->event.kind != JSON_EVENT_STRING) return err_set(&p->err, "dtype: expected a string");
    char type[TYPE_B] = "";
    if (length - 2 < TYPE_B) memcpy(type, p->walk.bytes + p->event.offset + 1, length - 2);
    tensor->bits = quant_type_bits(type);
    if (tensor->bits == 0)
        return err_set(&p->err, "dtype: unknown type %.*s", (int)(length < 40 ? length : 40),
                       p->walk.bytes + p->event.offset);
    uint32_t i = 0;
    while (i < p->type_count && strcmp(p->types[i], type) != 0) i++;
    if (i == p->type_count) {
        assert(p->type_count < TYPES_MAX);
        p->types[p->type_count++] = arena_string(p->pool.arena, type);
    }
    tensor->type = p->types[i];
    return true;
}

static bool take_shape(Parser *p, SafetensorsTensor *tensor) {
    if (p->event.kind != JSON_EVENT_ARRAY) return err_set(&p->err, "shape: expected an array");
    for (;;) {
        if (!next(p)) return false;
        if (p->event.kind == JSON_EVENT_CLOSE) return true;
        uint64_t value;
        if (!take_whole(p, &value)) return err_prefix(&p->err, "shape");
        if (tensor->rank == SAFETENSORS_RANK_MAX)
            return err_set(&p->err, "shape: more than %d dimensions", SAFETENSORS_RANK_MAX);
        p->dims = mem_grow(p->dims, &p->dim_capacity, p->dim_count + 1, sizeof *p->dims);
        p->dims[p->dim_count++] = value;
        tensor->rank++;
    }
}

static bool take_range(Parser *p, SafetensorsTensor *tensor) {
    uint64_t bounds[2];
    bool good = p->event.kind == JSON_EVENT_ARRAY;
    for (uint32_t i = 0; good && i < 2; i++) {
        if (!next(p)) return false;
        if (p->event.kind == JSON_EVENT_CLOSE) good = false;
        if (good && !take_whole(p, &bounds[i])) return err_prefix(&p->err, "data_offsets");
    }
    if (good && !next(p)) return false;
    if (!good || p->event.kind != JSON_EVENT_CLOSE)
        return err_set(&p->err, "data_offsets: expected two numbers");
    if (bounds[0] > bounds[1])
        return err_set(&p->err, "data_offsets: begins at %" PRIu64 " and ends at %" PRIu64,
                       bounds[0], bounds[1]);
    tensor->begin = p->data_start + bounds[0]; // both below 2^54
    tensor->end = p->data_start + bounds[1];
    return true;
}

static bool key_is(const Parser *p, const char *word) {
    size_t length = p->event.key_end - p->event.key;
    return length == strlen(word) + 2 &&
           memcmp(p->walk.bytes + p->event.key + 1, word, length - 2) == 0;
}

static bool take_member(Parser *p, SafetensorsTensor *tensor, uint32_t *seen) {
    uint32_t member = key_is(p, "dtype")          ? MEMBER_TYPE
                      : key_is(p, "shape")        ? MEMBER_SHAPE
                      : key_is(p, "data_offsets") ? MEMBER_RANGE
                                                  : 0;
    int length = (int)(p->event.key_end - p->event.key);
    const char *key = p->walk.bytes + p->event.key;
    if (member == 0)
        return err_set(&p->err, "unknown key %.*s, expected dtype, shape, data_offsets",
                       length < 40 ? length : 40, key);
    if ((*seen & member) != 0) return err_set(&p->err, "duplicate key %.*s", length, key);
    *seen |= member;
    if (member == MEMBER_TYPE) return take_type(p, tensor);
    return member == MEMBER_SHAPE ? take_shape(p, tensor) : take_range(p, tensor);
}

// Bytes that the shape takes; refuses what does not fit 64 bits or ends inside a byte.
static bool shape_bytes(const uint64_t *dims, uint32_t rank, uint32_t bits, uint64_t *out,
                        Err *err) {
    uint64_t product = 1;
    bool fits = true;
    for (uint32_t i = 0; i < rank; i++) fits = fits && wide_mul_u64(product, dims[i], &product);
    if (!fits || !wide_mul_u64(product, bits, &product))
        return err_set(err, "shape: more than 2^64 bits");
    if (product % 8 != 0)
        return err_set(err, "shape: %" PRIu64 " bits are not whole bytes", product);
    *out = product / 8;
    return true;
}

static bool parse_tensor(Parser *p, const char *name) {
    SafetensorsTensor tensor = {.name = name};
    uint32_t seen = 0, first_dim = p->dim_count;
    uint64_t bytes;
    if (p->event.kind != JSON_EVENT_OBJECT) return err_set(&p->err, "expected an object");
    for (;;) {
        if (!next(p)) return false;
        if (p->event.kind == JSON_EVENT_CLOSE) break;
        if (!take_member(p, &tensor, &seen)) return false;
    }
    if (seen != MEMBERS)
        return err_set(&p->err, "missing %s",
                       (seen & MEMBER_TYPE) == 0    ? "dtype"
                       : (seen & MEMBER_SHAPE) == 0 ? "shape"
                                                    : "data_offsets");
    const uint64_t *dims =
        tensor.rank > 0 ? &p->dims[first_dim] : NULL; // none when all are scalars
    if (!shape_bytes(dims, tensor.rank, tensor.bits, &bytes, &p->err)) return false;
    p->tensors = mem_grow(p->tensors, &p->capacity, p->count + 1, sizeof *p->tensors);
    p->tensors[p->count++] = tensor;
    add_name(&p->names, name);
    return true;
}

// Any words of the writer, strings alone.
static bool parse_metadata(Parser *p) {
    if (p->has_metadata) return err_set(&p->err, "duplicate key");
    p->has_metadata = true;
    if (p->event.kind != JSON_EVENT_OBJECT) return err_set(&p->err, "expected an object");
    for (;;) {
        const char *key;
        if (!next(p)) return false;
        if (p->event.kind == JSON_EVENT_CLOSE) break;
        if (!take_key(p, &key)) return false;
        if (p->event.kind != JSON_EVENT_STRING)
            return err_set(&p->err, "%s: expected a string", key);
        add_name(&p->metadata, key);
    }
    return check_unique(&p->metadata, &p->err);
}

static bool parse_entry(Parser *p) {
    const char *name;
    if (!take_key(p, &name)) return false;
    bool good = strcmp(name, "__metadata__") == 0 ? parse_metadata(p) : parse_tensor(p, name);
    return good || err_prefix(&p->err, "%s", name);
}

static bool parse_header(Parser *p) {
    if (p->walk.count == 0 || p->walk.bytes[0] != '{')
        return err_set(&p->err, "does not begin with '{'");
    if (!next_kind(p, JSON_EVENT_OBJECT, "an object")) return false;
    for (;;) {
        if (!next(p)) return false;
        if (p->event.kind == JSON_EVENT_CLOSE) break;
        if (!parse_entry(p)) return false;
    }
    return next_kind(p, JSON_EVENT_END, "nothing after the object") &&
           check_unique(&p->names, &p->err);
}

// Layout.

static int compare_ranges(const void *a, const void *b) {
    const SafetensorsTensor *left = a, *right = b;
    if (left->begin != right->begin) return left->begin < right->begin ? -1 : 1;
    if (left->end != right->end) return left->end < right->end ? -1 : 1;
    return strcmp(left->name, right->name);
}

static bool is_in_order(const SafetensorsFile *file) {
    for (uint32_t i = 1; i < file->count; i++)
        if (compare_ranges(&file->tensors[i - 1], &file->tensors[i]) > 0) return false;
    return true;
}

static void check_size(const SafetensorsTensor *tensor, Findings *findings) {
    Err unused = {0}; // the shape has been checked
    Text shape = {0};
    uint64_t bytes = 0, range = tensor->end - tensor->begin;
    shape_bytes(tensor->dims, tensor->rank, tensor->bits, &bytes, &unused);
    if (bytes == range) return;
    safetensors_add_shape(&shape, tensor->dims, tensor->rank);
    finding_add(findings, FINDING_WRONG_SIZE, tensor->name,
                "%s %s takes %" PRIu64 " bytes, its range has %" PRIu64, tensor->type,
                text_string(&shape), bytes, range);
    text_free(&shape);
}

static void check_layout(const char *name, const SafetensorsFile *file, Findings *findings) {
    uint64_t expected = file->data_start;
    const char *before = "the header";
    for (uint32_t i = 0; i < file->count; i++) {
        const SafetensorsTensor *tensor = &file->tensors[i];
        check_size(tensor, findings);
        if (tensor->begin > expected)
            finding_add(findings, FINDING_HOLE, tensor->name,
                        "%" PRIu64 " bytes between %s and it in %s", tensor->begin - expected,
                        before, name);
        if (tensor->begin < expected)
            finding_add(findings, FINDING_OVERLAP, tensor->name,
                        "begins %" PRIu64 " bytes before the end of %s in %s",
                        expected - tensor->begin, before, name);
        if (tensor->end < expected) continue;
        expected = tensor->end;
        before = tensor->name;
    }
    if (expected > file->size_B)
        finding_add(findings, FINDING_TRUNCATED, name,
                    "%" PRIu64 " bytes, its tensors end at %" PRIu64, file->size_B, expected);
    if (expected < file->size_B)
        finding_add(findings, FINDING_TRAILING, name,
                    "%" PRIu64 " bytes, its tensors end at %" PRIu64, file->size_B, expected);
}

void safetensors_add_shape(Text *out, const uint64_t *dims, uint32_t rank) {
    text_add_char(out, '[');
    for (uint32_t i = 0; i < rank; i++) text_addf(out, "%s%" PRIu64, i == 0 ? "" : ", ", dims[i]);
    text_add_char(out, ']');
}

// Hands over what was parsed; the dims move from the heap to the arena.
static void finish(Parser *p, Arena *arena, SafetensorsFile *out) {
    uint64_t *dims = arena_copy(arena, p->dims, p->dim_count, sizeof *dims);
    for (uint32_t i = 0; i < p->count; i++) {
        p->tensors[i].dims = dims;
        dims += p->tensors[i].rank;
    }
    out->count = p->count;
    out->tensors = p->tensors;
    if (!is_in_order(out)) qsort(out->tensors, out->count, sizeof *out->tensors, compare_ranges);
}

bool safetensors_parse(const char *name, const char *header, size_t count, uint64_t size_B,
                       Arena *arena, Findings *findings, SafetensorsFile *out) {
    Parser parser = {.pool = {.arena = arena}, .data_start = SAFETENSORS_PREFIX_B + count};
    SafetensorsFile file = {.size_B = size_B, .data_start = parser.data_start};
    json_scan_start(header, count, &parser.walk);
    bool good = parse_header(&parser);
    if (good) {
        finish(&parser, arena, &file);
        check_layout(name, &file, findings);
        *out = file;
    } else {
        finding_refuse(findings, FINDING_BAD_HEADER, name, "%s", parser.err.text);
        mem_free(parser.tensors);
    }
    mem_free(parser.names.items);
    mem_free(parser.metadata.items);
    mem_free(parser.dims);
    return good;
}

void safetensors_free(SafetensorsFile *file) {
    mem_free(file->tensors);
    *file = (SafetensorsFile){0};
}

// Files.

bool safetensors_pread(int descriptor, uint64_t from, char *out, size_t count) {
    while (count > 0) {
        ssize_t got = pread(descriptor, out, count, (off_t)from);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        out += got;
        from += (uint64_t)got;
        count -= (size_t)got;
    }
    return true;
}

// What a file is whose first eight bytes are no length; NULL: nothing that is known.
static const char *other_format(const char *bytes, size_t count) {
    static const struct {
        const char *begin, *what;
    } formats[] = {
        {"version https://git-lfs", "a git-lfs pointer; the data itself was not downloaded"},
        {"<!DOCTYPE", "a page of HTML"},
        {"<!doctype", "a page of HTML"},
        {"<html", "a page of HTML"},
        {"<?xml", "a page of XML"},
        {"PK\x03\x04", "a zip archive, as PyTorch writes them"},
        {"GGUF", "a GGUF file"},
    };
    size_t printable = 0;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        size_t length = strlen(formats[i].begin);
        if (length <= count && memcmp(bytes, formats[i].begin, length) == 0) return formats[i].what;
    }
    while (printable < count && bytes[printable] >= ' ' && bytes[printable] <= '~') printable++;
    return printable >= SAFETENSORS_PREFIX_B ? "text" : NULL;
}

static bool check_length(int descriptor, const char *name, uint64_t size_B, uint64_t length,
                         Findings *findings) {
    if (length > SAFETENSORS_HEADER_MAX_B) {
        char start[PEEK_B];
        size_t count = size_B < PEEK_B ? (size_t)size_B : PEEK_B;
        const char *what =
            safetensors_pread(descriptor, 0, start, count) ? other_format(start, count) : NULL;
        if (what != NULL) return finding_refuse(findings, FINDING_NOT_DATA, name, "is %s", what);
        return finding_refuse(findings, FINDING_LARGE_HEADER, name,
                              "claims a header of %" PRIu64 " bytes, at most %" PRIu64 " are read",
                              length, SAFETENSORS_HEADER_MAX_B);
    }
    if (length > size_B - SAFETENSORS_PREFIX_B)
        return finding_refuse(findings, FINDING_TRUNCATED, name,
                              "%" PRIu64 " bytes, its header alone ends at %" PRIu64, size_B,
                              SAFETENSORS_PREFIX_B + length);
    return true;
}

static bool read_header(int descriptor, const char *name, Arena *arena, Findings *findings,
                        SafetensorsFile *out) {
    struct stat info;
    unsigned char prefix[SAFETENSORS_PREFIX_B];
    if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode))
        return finding_refuse(findings, FINDING_UNREADABLE, name, "is not a regular file");
    uint64_t size_B = (uint64_t)info.st_size, length = 0;
    if (size_B < SAFETENSORS_PREFIX_B)
        return finding_refuse(findings, FINDING_TRUNCATED, name,
                              "%" PRIu64 " bytes, expected 8 and a header", size_B);
    if (!safetensors_pread(descriptor, 0, (char *)prefix, sizeof prefix))
        return finding_refuse(findings, FINDING_UNREADABLE, name, "cannot be read");
    for (uint32_t i = SAFETENSORS_PREFIX_B; i-- > 0;) length = length << 8 | prefix[i];
    if (!check_length(descriptor, name, size_B, length, findings)) return false;
    char *header = mem_alloc((size_t)length, 1);
    bool good = safetensors_pread(descriptor, SAFETENSORS_PREFIX_B, header, (size_t)length)
                    ? safetensors_parse(name, header, (size_t)length, size_B, arena, findings, out)
                    : finding_refuse(findings, FINDING_UNREADABLE, name, "cannot be read");
    mem_free(header);
    return good;
}

bool safetensors_read(const char *path, const char *name, Arena *arena, Findings *findings,
                      SafetensorsFile *out) {
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0)
        return finding_refuse(findings, FINDING_UNREADABLE, name, "%s",
                              errno == EACCES ? "permission denied" : "cannot be opened");
    bool good = read_header(descriptor, name, arena, findings, out);
    close(descriptor);
    return good;
}
