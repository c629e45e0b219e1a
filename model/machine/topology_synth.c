// Machines from one line: the grammar, and the small things that all generators build with. After
// the idea of hwloc's synthetic topologies.
//
// Invariant: a generator is called only with every key that it requires and none that it does not
// take; each value has the type of its key.
#include "model/machine/topology_synth.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model/machine/port_rate.h"

#define KEY(name) (UINT32_C(1) << SYNTH_KEY_##name)

typedef struct Generator {
    const char *name;
    uint32_t required, optional; // KEY(...)
    bool (*make)(const SynthSpec *spec, Topology *out, Err *err);
} Generator;

#define GRAPH  (KEY(SIZE) | KEY(BANDWIDTH)), (KEY(LATENCY) | KEY(DEVICE))
#define ASKS   (KEY(OVERSUBSCRIPTION) | KEY(IB) | KEY(ETH) | KEY(DEVICE))
#define COPIES KEY(SIZE), ASKS
#define MODELS KEY(SIZE), (KEY(NODES) | ASKS)
#define PLANES KEY(SIZE), (KEY(NODES) | KEY(DEVICE))

static const Generator generators[] = {
    {"ring", GRAPH, topology_synth_ring},
    {"switch", GRAPH, topology_synth_switch},
    {"mesh", GRAPH, topology_synth_mesh},
    {"torus", GRAPH, topology_synth_torus},
    {"dragonfly", KEY(P) | KEY(A) | KEY(H) | KEY(BANDWIDTH), KEY(LATENCY) | KEY(DEVICE),
     topology_synth_dragonfly},
    {"fattree", KEY(K) | KEY(BANDWIDTH), KEY(LATENCY) | KEY(DEVICE), topology_synth_fattree},
    {"leafspine", KEY(NODES) | KEY(GPUS) | KEY(NIC) | KEY(NVLINK) | KEY(LEAF),
     KEY(OVERSUBSCRIPTION) | KEY(PORTS) | KEY(LATENCY) | KEY(DEVICE), topology_synth_leafspine},
    {"superpod-h100", MODELS, topology_synth_rails},
    {"superpod-b200", MODELS, topology_synth_rails},
    {"superpod-b300", PLANES, topology_synth_rails},
    {"superpod-b300-xdr", MODELS, topology_synth_rails},
    {"superpod-rubin", MODELS, topology_synth_rails},
    {"nvl72", COPIES, topology_synth_rails},
    {"gb300-nvl72", COPIES, topology_synth_rails},
    {"vr-nvl72", COPIES, topology_synth_rails},
    {"hgx-h100", COPIES, topology_synth_nodes},
    {"hgx-a100", COPIES, topology_synth_rails},
    {"hgx-h200", COPIES, topology_synth_rails},
    {"hgx-h20", COPIES, topology_synth_rails},
    {"hgx-h800", COPIES, topology_synth_rails},
    {"hgx-b200", COPIES, topology_synth_rails},
    {"hgx-b300", COPIES, topology_synth_rails},
    {"hgx-rubin", COPIES, topology_synth_rails},
    {"mi300x", COPIES, topology_synth_rails},
    {"mi325x", COPIES, topology_synth_rails},
    {"mi355x", COPIES, topology_synth_rails},
};
#define GENERATOR_COUNT (sizeof generators / sizeof generators[0])

static const char *const key_names[SYNTH_KEY_COUNT] = {
#define X(name, key, type) key,
    SYNTH_KEY_LIST(X)
#undef X
};

static const SynthType key_types[SYNTH_KEY_COUNT] = {
#define X(name, key, type) type,
    SYNTH_KEY_LIST(X)
#undef X
};

// ---- The line

static bool fail_at(const SynthSpec *spec, uint32_t column, Err *err, const char *what) {
    return err_set(err, "\"%s\", column %u: %s", spec->text, column, what);
}

bool topology_synth_fail(const SynthSpec *spec, SynthKey key, Err *err, const char *format, ...) {
    const SynthValue *value = &spec->values[key];
    Arena arena = {0};
    va_list args;
    va_start(args, format);
    const char *what = arena_vprintf(&arena, format, args);
    va_end(args);
    fail_at(spec, value->text != NULL ? value->column : (uint32_t)strlen(spec->text) + 1, err,
            what);
    arena_free(&arena);
    return false;
}

static void describe(SynthKey key, Text *out) {
    static const char *const values[] = {"NAME", "N", "RATE", "TIME", "RATE", "RATE"};
    if (key == SYNTH_KEY_BANDWIDTH)
        text_add(out, "a rate such as \"450 GB/s\"");
    else
        text_addf(out, "%s=%s", key_names[key], values[key_types[key]]);
}

// A field that the generator does not take, or has no use for yet.
static bool unexpected(const SynthSpec *spec, const Generator *generator, const char *field,
                       uint32_t column, Err *err) {
    Text text = {0};
    uint32_t keys = (generator->required | generator->optional) & ~KEY(SIZE), listed = 0;
    for (uint32_t key = 0; key < SYNTH_KEY_COUNT; key++) {
        if ((keys >> key & 1) == 0) continue;
        keys &= ~(UINT32_C(1) << key);
        text_add(&text, listed++ == 0 ? "expected " : keys == 0 ? " or " : ", ");
        describe((SynthKey)key, &text);
    }
    text_addf(&text, ", found \"%s\"", field);
    fail_at(spec, column, err, text_string(&text));
    text_free(&text);
    return false;
}

static bool read_rate(const char *text, uint64_t *out, Err *err) {
    if (!units_parse_rate(text, out, err)) return false;
    return (*out > 0 && *out <= TOPOLOGY_RATE_MAX_BPS) ||
           err_set(err, "expected a rate above 0 and at most 100 TB/s");
}

static bool read_time(const char *text, uint64_t *out, Err *err) {
    Time time_ps;
    if (!units_parse_time(text, &time_ps, err)) return false;
    *out = (uint64_t)time_ps;
    return time_ps <= TOPOLOGY_LATENCY_MAX_PS || err_set(err, "expected at most 1 s");
}

// What a file could hold.
static bool is_name(const char *text) {
    size_t length = strlen(text);
    return length > 0 && text_is_utf8(text, length) && text_plain(text) == length;
}

static bool read_value(SynthType type, SynthValue *value, Err *err) {
    switch (type) {
    case SYNTH_TEXT: return is_name(value->text) || err_set(err, "expected the name of a device");
    case SYNTH_NUMBER:
        return (text_parse_u64(value->text, &value->number) && value->number > 0 &&
                value->number <= TOPOLOGY_PARTS_MAX) ||
               err_set(err, "expected a count of 1 to 1000000");
    case SYNTH_RATE: return read_rate(value->text, &value->number, err);
    case SYNTH_TIME: return read_time(value->text, &value->number, err);
    case SYNTH_IB: return port_rate_parse(LINK_IB, value->text, &value->number, err);
    case SYNTH_ETH: return port_rate_parse(LINK_ETH, value->text, &value->number, err);
    }
    return false;
}

// The key of a field, and its value; SYNTH_KEY_COUNT when it has none.
static SynthKey key_of(const char *field, const char **out_value) {
    const char *equals = strchr(field, '=');
    *out_value = equals == NULL ? field : equals + 1;
    if (equals == NULL) return SYNTH_KEY_BANDWIDTH;
    size_t length = (size_t)(equals - field);
    for (uint32_t key = SYNTH_KEY_BANDWIDTH + 1; key < SYNTH_KEY_COUNT; key++) {
        if (strlen(key_names[key]) == length && strncmp(key_names[key], field, length) == 0)
            return (SynthKey)key;
    }
    return SYNTH_KEY_COUNT;
}

static bool read_field(SynthSpec *spec, const Generator *generator, const char *field,
                       uint32_t column, Err *err) {
    SynthValue value = {.column = column};
    SynthKey key = key_of(field, &value.text);
    Err what = {0};
    if (key == SYNTH_KEY_COUNT || ((generator->required | generator->optional) >> key & 1) == 0)
        return unexpected(spec, generator, field, column, err);
    if (spec->values[key].text != NULL) {
        const char *name = key == SYNTH_KEY_BANDWIDTH ? "a rate" : key_names[key];
        err_set(&what, "%s is given twice", name);
        return fail_at(spec, column, err, what.text);
    }
    if (key == SYNTH_KEY_BANDWIDTH && !units_parse_rate(field, &value.number, &what))
        return unexpected(spec, generator, field, column, err);
    if (!read_value(key_types[key], &value, &what)) return fail_at(spec, column, err, what.text);
    spec->values[key] = value;
    return true;
}

static bool check_required(const SynthSpec *spec, const Generator *generator, Err *err) {
    for (uint32_t key = 0; key < SYNTH_KEY_COUNT; key++) {
        bool is_missing = (generator->required >> key & 1) != 0 && spec->values[key].text == NULL;
        if (!is_missing) continue;
        if (key == SYNTH_KEY_SIZE)
            return topology_synth_fail(spec, SYNTH_KEY_SIZE, err,
                                       "expected a size, such as \":4\"");
        if (key == SYNTH_KEY_BANDWIDTH)
            return topology_synth_fail(spec, (SynthKey)key, err,
                                       "expected a rate, such as \",450GB/s\"");
        return topology_synth_fail(spec, (SynthKey)key, err, "expected \"%s=\"", key_names[key]);
    }
    return true;
}

static const Generator *find_generator(const char *name, size_t length) {
    for (uint32_t i = 0; i < GENERATOR_COUNT; i++) {
        if (strlen(generators[i].name) == length && strncmp(generators[i].name, name, length) == 0)
            return &generators[i];
    }
    return NULL;
}

// The fields behind the name, from `start` on.
static bool read_fields(SynthSpec *spec, const Generator *generator, size_t start, Err *err) {
    size_t length = strlen(spec->text);
    bool wants_size = (generator->required & KEY(SIZE)) != 0 && spec->text[start - 1] == ':';
    while (start <= length) {
        char *field = spec->copy + start;
        size_t end = strcspn(field, ",");
        field[end] = '\0';
        if (wants_size) {
            spec->values[SYNTH_KEY_SIZE] = (SynthValue){field, (uint32_t)start + 1, 0};
            wants_size = false;
        } else if (!read_field(spec, generator, field, (uint32_t)start + 1, err)) {
            return false;
        }
        start += end + 1;
    }
    return check_required(spec, generator, err);
}

static bool unknown(const SynthSpec *spec, Err *err) {
    Text names = {0};
    for (uint32_t i = 0; i < GENERATOR_COUNT; i++)
        text_addf(&names, "%s%s",
                  i == 0                     ? "expected "
                  : i + 1 == GENERATOR_COUNT ? " or "
                                             : ", ",
                  generators[i].name);
    fail_at(spec, 1, err, text_string(&names));
    text_free(&names);
    return false;
}

bool topology_synth_make(const char *text, Topology *out, Err *err) {
    SynthSpec spec = {.text = text};
    size_t length = strlen(text), name = strcspn(text, ":,");
    if (length >= SYNTH_TEXT_MAX)
        return err_set(err, "a description of more than %d characters", SYNTH_TEXT_MAX - 1);
    memcpy(spec.name, text, name);
    memcpy(spec.copy, text, length + 1);
    const Generator *generator = find_generator(text, name);
    if (generator == NULL) return unknown(&spec, err);
    if (name == length && !check_required(&spec, generator, err)) return false;
    return read_fields(&spec, generator, name + 1, err) && generator->make(&spec, out, err);
}

bool topology_synth_begins(const char *text) {
    const char *colon = strchr(text, ':');
    return colon != NULL && find_generator(text, (size_t)(colon - text)) != NULL;
}

const char *topology_synth_nearest(const char *text) {
    const char *names[GENERATOR_COUNT];
    char word[SYNTH_TEXT_MAX];
    for (uint32_t i = 0; i < GENERATOR_COUNT; i++) names[i] = generators[i].name;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(text, ":"), text);
    uint32_t near = text_nearest(word, names, GENERATOR_COUNT);
    return near == UINT32_MAX ? NULL : names[near];
}

uint64_t topology_synth_number(const SynthSpec *spec, SynthKey key, uint64_t otherwise) {
    return spec->values[key].text == NULL ? otherwise : spec->values[key].number;
}

bool topology_synth_count(const SynthSpec *spec, const char *unit, uint32_t *out, Err *err) {
    char digits[SYNTH_TEXT_MAX];
    const char *text = spec->values[SYNTH_KEY_SIZE].text;
    size_t length = strlen(text), unit_length = strlen(unit);
    uint64_t count = 0;
    bool has_unit = length >= unit_length && strcmp(text + length - unit_length, unit) == 0;
    if (has_unit) {
        memcpy(digits, text, length - unit_length);
        digits[length - unit_length] = '\0';
    }
    if (!has_unit || !text_parse_u64(digits, &count) || count == 0 || count > TOPOLOGY_PARTS_MAX) {
        if (unit[0] == '\0')
            return topology_synth_fail(spec, SYNTH_KEY_SIZE, err,
                                       "expected a count of 1 to 1000000");
        return topology_synth_fail(spec, SYNTH_KEY_SIZE, err, "expected a count such as \"4%s\"",
                                   unit);
    }
    *out = (uint32_t)count;
    return true;
}

const char *topology_synth_device(const SynthSpec *spec, Arena *arena, const char *otherwise) {
    const char *named = spec->values[SYNTH_KEY_DEVICE].text;
    return named == NULL ? otherwise : arena_string(arena, named);
}

// ---- Building

void topology_synth_open(Topology *topology, const SynthSpec *spec, uint32_t template_most) {
    Template *templates = arena_alloc(
        &topology->arena, (size_t)topology->template_count + template_most, sizeof *templates);
    if (topology->template_count > 0)
        memcpy(templates, topology->templates, topology->template_count * sizeof *templates);
    topology->templates = templates;
    topology->name = topology->origin = arena_string(&topology->arena, spec->text);
    if (topology->source == NULL) topology->source = "";
    if (topology->note == NULL) topology->note = "";
}

Template *topology_synth_template(Topology *topology, const char *name, uint32_t part_most,
                                  uint32_t link_most) {
    Template *added = &topology->templates[topology->template_count++];
    added->name = name;
    added->parts = arena_alloc(&topology->arena, part_most, sizeof *added->parts);
    added->links = arena_alloc(&topology->arena, link_most, sizeof *added->links);
    return added;
}

void topology_synth_part(Template *in, Part part) {
    if (part.device == NULL) part.device = "";
    if (part.place == NULL) part.place = "";
    if (part.count == 0) part.count = 1;
    if (part.kind != PART_GROUP) part.template_id = UINT32_MAX;
    in->parts[in->part_count++] = part;
}

void topology_synth_group(Topology *topology, Template *in, const char *name, const Template *of,
                          uint32_t count) {
    topology_synth_part(in, (Part){.name = name,
                                   .kind = PART_GROUP,
                                   .template_id = (uint32_t)(of - topology->templates),
                                   .count = count});
}

void topology_synth_link(Template *in, LinkRule link) {
    if (link.source == NULL) link.source = "";
    if (link.cables == 0) link.cables = 1;
    if (link.confidence == '\0') link.confidence = 'M';
    in->links[in->link_count++] = link;
}

bool topology_synth_close(Topology *topology, const Template *machine, Topology *out, Err *err) {
    topology->machine = (uint32_t)(machine - topology->templates);
    if (!topology_finish(topology, err)) {
        topology_free(topology);
        return false;
    }
    *out = *topology;
    return true;
}
