// Reads the device catalogue.
//
// Invariant: devices are ordered by name, no name or alias stands for two devices (ignoring case),
// and every range has low <= high.
#include "model/machine/device.h"

#include <stdlib.h>
#include <string.h>

#include "model/base/file.h"
#include "model/base/json.h"
#include "model/base/num.h"
#include "model/base/text.h"

#define DEVICE_VERSION 1
#define DEVICES_MAX    1024 // of a file
#define ALIASES_MAX    16   // of a device
#define MICRO          1000000.0
#define PRICE_MAX_USD  1000000.0 // per hour

static const char *const kind_names[] = {"gpu", "cpu", "nic", "switch"};

// The catalogue while it grows.
typedef struct List {
    DeviceCatalogue *catalogue; // whose arena owns the strings
    Device *devices;
    uint32_t count, capacity;
} List;

// One end of a range: a string with a unit, or a plain number, by what is measured.
typedef enum Measure {
    MEASURE_BYTES,
    MEASURE_RATE,
    MEASURE_FLOPS,
    MEASURE_COUNT,
    MEASURE_WATT,
    MEASURE_USD
} Measure;

static bool read_end(JsonNode node, Measure measure, uint64_t *out, Err *err) {
    const char *text;
    Err what = {0};
    bool done = false;
    double number;
    switch (measure) {
    case MEASURE_BYTES:
        if (!json_as_string(node, &text, err)) return false;
        done = units_parse_bytes_down(text, out, &what);
        break;
    case MEASURE_RATE:
        if (!json_as_string(node, &text, err)) return false;
        done = units_parse_rate(text, out, &what);
        break;
    case MEASURE_FLOPS:
        if (!json_as_string(node, &text, err)) return false;
        done = units_parse_flops(text, out, &what);
        break;
    case MEASURE_COUNT:
        if (!json_as_u64(node, out, err)) return false;
        if (*out <= UINT32_MAX) return true;
        return json_error(node, err, "expected at most %u", UINT32_MAX);
    case MEASURE_WATT:
        if (!json_as_u64(node, out, err)) return false;
        if (*out > UINT32_MAX) return json_error(node, err, "expected watts up to %u", UINT32_MAX);
        *out *= 1000;
        return true;
    case MEASURE_USD:
        if (!json_as_double(node, &number, err)) return false;
        if (!(number >= 0 && number <= PRICE_MAX_USD))
            return json_error(node, err, "expected dollars per hour, 0 to 1000000");
        *out = (uint64_t)num_round(number * MICRO);
        return true;
    }
    return done || json_error(node, err, "%s", what.text);
}

// "80 GB" or ["270 GB", "288 GB"]; absent gives 0, 0.
static bool read_range(JsonNode object, const char *key, Measure measure, Range *out, Err *err) {
    Range range = {0};
    if (!json_has(object, key)) return true;
    JsonNode node = json_find(object, key);
    if (json_kind(node) != JSON_ARRAY) {
        if (!read_end(node, measure, &range.low, err)) return false;
        range.high = range.low;
    } else {
        if (json_count(node) != 2)
            return json_error(node, err, "expected [low, high], found %u values", json_count(node));
        if (!read_end(json_at(node, 0), measure, &range.low, err)) return false;
        if (!read_end(json_at(node, 1), measure, &range.high, err)) return false;
        if (range.low > range.high)
            return json_error(node, err, "expected [low, high], found low above high");
    }
    *out = range;
    return true;
}

static bool read_text(JsonNode object, const char *key, Arena *arena, const char **out, Err *err) {
    const char *text = "";
    if (json_has(object, key) && !json_string(object, key, &text, err)) return false;
    *out = arena_string(arena, text);
    return true;
}

static bool read_rates(JsonNode object, Device *device, Err *err) {
    JsonNode rates;
    if (!json_has(object, "rates")) return true;
    if (!json_object(object, "rates", &rates, err)) return false;
    for (uint32_t i = 0; i < NUMFMT_COUNT; i++) {
        if (!read_range(rates, numfmt_names[i], MEASURE_FLOPS, &device->rate_flops[i], err))
            return false;
    }
    return json_finish(rates, err);
}

static bool read_aliases(JsonNode object, Arena *arena, Device *device, Err *err) {
    JsonNode aliases;
    if (!json_has(object, "aliases")) return true;
    if (!json_array(object, "aliases", &aliases, err)) return false;
    uint32_t count = json_count(aliases);
    if (count > ALIASES_MAX)
        return json_error(aliases, err, "expected at most %d aliases, found %u", ALIASES_MAX,
                          count);
    const char **names = arena_alloc(arena, count, sizeof *names);
    for (uint32_t i = 0; i < count; i++) {
        const char *name;
        if (!json_as_string(json_at(aliases, i), &name, err)) return false;
        names[i] = arena_string(arena, name);
    }
    device->aliases = names;
    device->alias_count = count;
    return true;
}

static bool read_kind(JsonNode node, Device *device, Err *err) {
    static const char *const confidences[] = {"A", "B", "C", "M"};
    uint32_t kind, confidence;
    if (!json_enum(node, "kind", kind_names, 4, &kind, err)) return false;
    if (!json_enum(node, "confidence", confidences, 4, &confidence, err)) return false;
    device->kind = kind_names[kind];
    device->confidence = confidences[confidence][0];
    return true;
}

static bool read_counts(JsonNode node, Device *device, Err *err) {
    Range units = {0}, comm = {0}, links = {0}, ports = {0}, l2 = {0}, port = {0}, sums = {0};
    Range rows = {0}, columns = {0};
    bool done = read_range(node, "compute_units", MEASURE_COUNT, &units, err) &&
                read_range(node, "comm_units", MEASURE_COUNT, &comm, err) &&
                read_range(node, "gemm_tile_rows", MEASURE_COUNT, &rows, err) &&
                read_range(node, "gemm_tile_columns", MEASURE_COUNT, &columns, err) &&
                read_range(node, "scale_up_links", MEASURE_COUNT, &links, err) &&
                read_range(node, "ports", MEASURE_COUNT, &ports, err) &&
                read_range(node, "l2", MEASURE_BYTES, &l2, err) &&
                read_range(node, "port", MEASURE_RATE, &port, err) &&
                read_range(node, "in_network", MEASURE_COUNT, &sums, err);
    device->compute_units = (uint32_t)units.low;
    device->compute_units_high = (uint32_t)units.high;
    device->comm_units = (uint32_t)comm.low;
    device->gemm_tile_rows = (uint32_t)rows.low;
    device->gemm_tile_columns = (uint32_t)columns.low;
    device->scale_up_links = (uint32_t)links.low;
    device->ports = (uint32_t)ports.low;
    device->l2_B = l2.low;
    device->port_Bps = port.low;
    device->in_network = (uint32_t)sums.low;
    return done;
}

// "..., May 2026": four digits in a row, of which the first two are 20.
static bool has_year(const char *text) {
    for (const char *at = strstr(text, "20"); at != NULL; at = strstr(at + 1, "20"))
        if (strspn(at, "0123456789") == 4) return true;
    return false;
}

// A price is a dated input.
static bool check_price(JsonNode node, const Device *device, Err *err) {
    return device->price_uusd_per_hour.high == 0 || has_year(device->price_source) ||
           json_error(json_find(node, "price_usd_per_hour"), err,
                      "expected a \"price_source\" with the date, such as \"..., May 2026\"");
}

static bool read_device(JsonNode node, Arena *arena, Device *device, Err *err) {
    if (json_kind(node) != JSON_OBJECT)
        return json_error(node, err, "expected an object with \"kind\" and \"source\"");
    if (json_key(node)[0] == '\0') return json_error(node, err, "expected a name");
    device->name = arena_string(arena, json_key(node));
    const char *source;
    return read_kind(node, device, err) && read_aliases(node, arena, device, err) &&
           read_rates(node, device, err) && read_counts(node, device, err) &&
           read_range(node, "memory", MEASURE_BYTES, &device->memory_B, err) &&
           read_range(node, "memory_bandwidth", MEASURE_RATE, &device->memory_Bps, err) &&
           read_range(node, "scale_up", MEASURE_RATE, &device->scale_up_Bps, err) &&
           read_range(node, "power_W", MEASURE_WATT, &device->power_mW, err) &&
           read_range(node, "price_usd_per_hour", MEASURE_USD, &device->price_uusd_per_hour, err) &&
           json_string(node, "source", &source, err) &&
           read_text(node, "source", arena, &device->source, err) &&
           read_text(node, "price_source", arena, &device->price_source, err) &&
           read_text(node, "generation", arena, &device->generation, err) &&
           read_text(node, "host", arena, &device->host, err) &&
           read_text(node, "note", arena, &device->note, err) && check_price(node, device, err) &&
           json_finish(node, err);
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_name(const char *a, const char *b) {
    while (*a != '\0' && lower(*a) == lower(*b)) {
        a++;
        b++;
    }
    return *a == '\0' && *b == '\0';
}

static bool has_name(const Device *device, const char *name) {
    if (same_name(device->name, name)) return true;
    for (uint32_t i = 0; i < device->alias_count; i++) {
        if (same_name(device->aliases[i], name)) return true;
    }
    return false;
}

static bool check_names(const List *list, const Device *device, JsonNode node, Err *err) {
    for (uint32_t i = 0; i < list->count; i++) {
        const Device *other = &list->devices[i];
        const char *shared = has_name(other, device->name) ? device->name : NULL;
        for (uint32_t k = 0; k < device->alias_count; k++) {
            if (has_name(other, device->aliases[k])) shared = device->aliases[k];
        }
        if (shared != NULL)
            return json_error(node, err, "\"%s\" is a name of \"%s\" already", shared, other->name);
    }
    return true;
}

static bool read_root(JsonNode root, List *list, Err *err) {
    JsonNode devices;
    if (!json_header(root, "devices", DEVICE_VERSION, err)) return false;
    if (!json_object(root, "devices", &devices, err)) return false;
    if (json_count(devices) > DEVICES_MAX)
        return json_error(devices, err, "expected at most %d devices", DEVICES_MAX);
    for (uint32_t i = 0; i < json_count(devices); i++) {
        JsonNode node = json_at(devices, i);
        Device device = {0};
        if (!read_device(node, &list->catalogue->arena, &device, err) ||
            !check_names(list, &device, node, err))
            return false;
        list->devices = mem_grow(list->devices, &list->capacity, list->count + 1, sizeof device);
        list->devices[list->count++] = device;
    }
    json_ignore(root, "note");
    return json_finish(root, err);
}

static bool add_file(List *list, const char *path, Err *err) {
    Json json = {0};
    bool done = json_read(path, &json, err) && read_root(json_root(&json), list, err);
    json_free(&json);
    return done;
}

static int compare_devices(const void *left, const void *right) {
    const Device *a = left, *b = right;
    return strcmp(a->name, b->name);
}

static Digest hash_range(Digest digest, Range range) {
    return hash_u64(hash_u64(digest, range.low), range.high);
}

// Everything that can change a result: figures and names, not sources and notes.
static Digest hash_device(Digest digest, const Device *device) {
    digest = hash_string(hash_string(digest, device->name), device->kind);
    for (uint32_t i = 0; i < device->alias_count; i++)
        digest = hash_string(digest, device->aliases[i]);
    for (uint32_t i = 0; i < NUMFMT_COUNT; i++) digest = hash_range(digest, device->rate_flops[i]);
    digest = hash_range(hash_range(digest, device->memory_B), device->memory_Bps);
    digest = hash_range(hash_range(digest, device->scale_up_Bps), device->power_mW);
    digest = hash_range(digest, device->price_uusd_per_hour);
    digest = hash_u64(hash_u64(digest, device->compute_units), device->compute_units_high);
    digest = hash_u64(digest, device->comm_units);
    digest = hash_u64(digest, device->in_network);
    if (device->gemm_tile_rows > 0) digest = hash_u64(digest, device->gemm_tile_rows);
    if (device->gemm_tile_columns > 0) digest = hash_u64(digest, device->gemm_tile_columns);
    digest = hash_u64(hash_u64(digest, device->l2_B), device->scale_up_links);
    digest = hash_u64(hash_u64(digest, device->ports), device->port_Bps);
    return hash_string(hash_string(digest, device->generation), device->host);
}

static void finish(List *list) {
    DeviceCatalogue *catalogue = list->catalogue;
    if (list->count > 0) qsort(list->devices, list->count, sizeof *list->devices, compare_devices);
    catalogue->devices =
        arena_copy(&catalogue->arena, list->devices, list->count, sizeof *list->devices);
    catalogue->count = list->count;
    catalogue->digest = hash_u64(hash_string(HASH_START, "devices"), DEVICE_VERSION);
    for (uint32_t i = 0; i < list->count; i++)
        catalogue->digest = hash_device(catalogue->digest, &catalogue->devices[i]);
    mem_free(list->devices);
}

static void drop(List *list) {
    device_free(list->catalogue);
    mem_free(list->devices);
}

bool device_parse(const char *name, const char *bytes, size_t count, DeviceCatalogue *out,
                  Err *err) {
    DeviceCatalogue catalogue = {0};
    List list = {.catalogue = &catalogue};
    Json json = {0};
    bool done =
        json_parse(name, bytes, count, &json, err) && read_root(json_root(&json), &list, err);
    json_free(&json);
    if (!done) {
        drop(&list);
        return false;
    }
    finish(&list);
    *out = catalogue;
    return true;
}

bool device_read(const char *path, DeviceCatalogue *out, Err *err) {
    DeviceCatalogue catalogue = {0};
    List list = {.catalogue = &catalogue};
    if (!add_file(&list, path, err)) {
        drop(&list);
        return false;
    }
    finish(&list);
    *out = catalogue;
    return true;
}

bool device_load(DeviceCatalogue *out, Err *err) {
    static const char *const files[] = {"topologies/devices/gpus.json",
                                        "topologies/devices/parts.json",
                                        "topologies/devices/cpus.json"};
    DeviceCatalogue catalogue = {0};
    List list = {.catalogue = &catalogue};
    for (uint32_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        const char *path;
        if (file_data(files[i], &catalogue.arena, &path, err) && add_file(&list, path, err))
            continue;
        drop(&list);
        return false;
    }
    finish(&list);
    *out = catalogue;
    return true;
}

void device_free(DeviceCatalogue *catalogue) {
    arena_free(&catalogue->arena);
    *catalogue = (DeviceCatalogue){0};
}

const Device *device_find(const DeviceCatalogue *catalogue, const char *name) {
    for (uint32_t i = 0; i < catalogue->count; i++) {
        if (has_name(&catalogue->devices[i], name)) return &catalogue->devices[i];
    }
    return NULL;
}

// Names and aliases of all devices, and to which device each belongs.
static uint32_t list_names(const DeviceCatalogue *catalogue, const char **names, uint32_t *owners) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < catalogue->count; i++) {
        const Device *device = &catalogue->devices[i];
        owners[count] = i;
        names[count++] = device->name;
        for (uint32_t k = 0; k < device->alias_count; k++) {
            owners[count] = i;
            names[count++] = device->aliases[k];
        }
    }
    return count;
}

bool device_unknown(const DeviceCatalogue *catalogue, const char *name, Err *err) {
    Arena arena = {0};
    size_t most = (size_t)catalogue->count * (ALIASES_MAX + 1);
    const char **names = arena_alloc(&arena, most, sizeof *names);
    uint32_t *owners = arena_alloc(&arena, most, sizeof *owners);
    uint32_t near = text_nearest(name, names, list_names(catalogue, names, owners));
    if (near == UINT32_MAX) {
        err_set(err, "unknown device \"%s\"", name);
    } else {
        err_set(err, "unknown device \"%s\", did you mean \"%s\"?", name,
                catalogue->devices[owners[near]].name);
    }
    arena_free(&arena);
    return false;
}

uint64_t device_low(Range range) {
    return range.low;
}
