// Reads the constants of the price model and draws from their intervals.
//
// A file is a list of rows, one per (param, generation), each with its value, the interval that its
// source states, its provenance and its source. Invariant: a Calib that was read has a value for
// every parameter, low <= value <= high, every efficiency within (0, 1] and every time above 0, so
// that no price is below its roofline and no drawn factor is infinite. Method of the draws: one
// uniform number per (seed, draw, param), log-uniform over the interval; the same for every plan
// (common random numbers), so that ratios of plans vary less than the plans themselves.
#include "model/cost/calib.h"

#include <assert.h>
#include <string.h>

#include "model/base/file.h"
#include "model/base/json.h"
#include "model/base/jsonw.h"
#include "model/base/num.h"
#include "model/base/rng.h"

#define CALIB_VERSION  1
#define CALIB_ROWS_MAX 4096
#define SPREAD         1.5 // default interval: value / 1.5 .. value * 1.5 (DESIGN section 4, issue 2)
#define SECONDS_PER_PS 1e-12
#define PLAIN_MAX      1e6 // of packets or parts: beyond it nothing would be left of a link

const char *const calib_provenance_names[PROVENANCE_COUNT] = {
#define X(name, text) text,
    PROVENANCE_LIST(X)
#undef X
};

const char *const calib_param_names[CALIB_COUNT] = {
#define X(name, text) text,
    CALIB_LIST(X)
#undef X
};

CalibKind calib_kind(CalibParam param) {
    switch (param) {
    case CALIB_KERNEL:
    case CALIB_NVLINK_STEP:
    case CALIB_PCIE_STEP:
    case CALIB_NET_STEP:
    case CALIB_COLLECTIVE:
    case CALIB_STEP_OVERHEAD: return CALIB_IS_TIME;
    case CALIB_TIER_COLLISIONS:
    case CALIB_TIER_BUFFERS:
    case CALIB_TIER_PACKETS: return CALIB_IS_PLAIN;
    case CALIB_GEMM_BF16:
    case CALIB_GEMM_FP8:
    case CALIB_GEMM_FP4:
    case CALIB_ATTENTION:
    case CALIB_MEMORY:
    case CALIB_NVLINK:
    case CALIB_C2C:
    case CALIB_PCIE:
    case CALIB_IB:
    case CALIB_ETH:
    case CALIB_NVLINK_COPY:
    case CALIB_IN_SWITCH:
    case CALIB_COUNT: break;
    }
    return CALIB_IS_EFFICIENCY;
}

static bool read_seconds(JsonNode row, const char *key, double *out, Err *err) {
    Time ps;
    if (!json_time(row, key, &ps, err)) return false;
    if (ps == 0) return json_error(json_find(row, key), err, "expected a time above 0, found 0");
    *out = (double)ps * SECONDS_PER_PS;
    return true;
}

static bool read_plain(JsonNode row, const char *key, double *out, Err *err) {
    double number;
    if (!json_double(row, key, &number, err)) return false;
    if (!(number >= 0 && number <= PLAIN_MAX))
        return json_error(json_find(row, key), err, "expected 0 to %g, found %g", PLAIN_MAX,
                          number);
    *out = number;
    return true;
}

static bool read_part(JsonNode row, const char *key, double *out, Err *err) {
    double part;
    if (!json_double(row, key, &part, err)) return false;
    if (!(part > 0 && part <= 1)) {
        return json_error(json_find(row, key), err,
                          "expected a part of the nominal rate above 0 and at most 1, found %g",
                          part);
    }
    *out = part;
    return true;
}

// One of "value", "low" and "high": seconds of a time, part of the nominal rate of an efficiency.
static bool read_number(JsonNode row, const char *key, CalibParam param, double *out, Err *err) {
    switch (calib_kind(param)) {
    case CALIB_IS_EFFICIENCY: return read_part(row, key, out, err);
    case CALIB_IS_TIME: return read_seconds(row, key, out, err);
    case CALIB_IS_PLAIN: break;
    }
    return read_plain(row, key, out, err);
}

// No efficiency is drawn above 1: a price below the roofline would contradict the nominal rate.
static void default_interval(CalibParam param, CalibValue *value) {
    value->is_default_interval = true;
    value->low = value->value / SPREAD;
    value->high = value->value * SPREAD;
    if (calib_kind(param) == CALIB_IS_EFFICIENCY && value->high > 1) value->high = 1;
}

static bool read_interval(JsonNode row, CalibParam param, CalibValue *value, Err *err) {
    if (!json_has(row, "low") && !json_has(row, "high")) {
        default_interval(param, value);
        return true;
    }
    if (!read_number(row, "low", param, &value->low, err) ||
        !read_number(row, "high", param, &value->high, err)) {
        return false;
    }
    if (value->low > value->value || value->value > value->high) {
        return json_error(json_find(row, "value"), err,
                          "expected a value between low and high, found %g outside %g .. %g",
                          value->value, value->low, value->high);
    }
    return true;
}

static bool read_value(JsonNode row, CalibParam param, Arena *arena, CalibValue *out, Err *err) {
    CalibValue value = {0};
    uint32_t provenance;
    const char *source;
    if (!read_number(row, "value", param, &value.value, err) ||
        !read_interval(row, param, &value, err) ||
        !json_enum(row, "provenance", calib_provenance_names, PROVENANCE_COUNT, &provenance, err) ||
        !json_string(row, "source", &source, err)) {
        return false;
    }
    if (*source == '\0') {
        return json_error(json_find(row, "source"), err,
                          "expected the source of the value, found \"\"");
    }
    value.provenance = (Provenance)provenance;
    value.source = arena_string(arena, source);
    *out = value;
    return true;
}

// How well a row fits: its own generation before "*".
typedef enum Fit { FIT_NONE, FIT_ANY, FIT_OWN } Fit;

static Fit fit_of(const char *row_generation, const char *generation) {
    if (strcmp(row_generation, generation) == 0) return FIT_OWN;
    return strcmp(row_generation, "*") == 0 ? FIT_ANY : FIT_NONE;
}

// Rows seen so far, for the refusal of a second row with the same param and generation.
typedef struct RowKey {
    uint32_t param;
    const char *generation;
} RowKey;

static bool check_first(JsonNode row, const RowKey *keys, uint32_t count, Err *err) {
    for (uint32_t i = 0; i < count; i++) {
        if (keys[i].param == keys[count].param &&
            strcmp(keys[i].generation, keys[count].generation) == 0) {
            return json_error(row, err, "\"%s\" of \"%s\" has a row already: rows[%u]",
                              calib_param_names[keys[i].param], keys[i].generation, i);
        }
    }
    return true;
}

// Every row is checked, also those of other generations.
static bool read_row(JsonNode row, RowKey *keys, uint32_t index, Calib *calib, Fit *fits,
                     Err *err) {
    RowKey *key = &keys[index];
    CalibValue value;
    if (!json_enum(row, "param", calib_param_names, CALIB_COUNT, &key->param, err) ||
        !json_string(row, "generation", &key->generation, err) ||
        !check_first(row, keys, index, err) ||
        !read_value(row, (CalibParam)key->param, &calib->arena, &value, err) ||
        !json_finish(row, err)) {
        return false;
    }
    Fit fit = fit_of(key->generation, calib->generation);
    if (fit > fits[key->param]) {
        fits[key->param] = fit;
        calib->values[key->param] = value;
    }
    return true;
}

static bool read_rows(JsonNode rows, Calib *calib, Err *err) {
    uint32_t count = json_count(rows);
    if (count > CALIB_ROWS_MAX) {
        return json_error(rows, err, "expected at most %d rows, found %u", CALIB_ROWS_MAX, count);
    }
    Arena scratch = {0};
    RowKey *keys = arena_alloc(&scratch, count, sizeof *keys);
    Fit fits[CALIB_COUNT] = {FIT_NONE};
    bool done = true;
    for (uint32_t i = 0; i < count && done; i++) {
        done = read_row(json_at(rows, i), keys, i, calib, fits, err);
    }
    for (uint32_t param = 0; param < CALIB_COUNT && done; param++) {
        if (fits[param] != FIT_NONE) continue;
        done = json_error(rows, err, "no row for \"%s\" of \"%s\" and none of \"*\"",
                          calib_param_names[param], calib->generation);
    }
    arena_free(&scratch);
    return done;
}

static Digest hash_double(Digest hash, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return hash_u64(hash, bits);
}

// Of what prices depend on: the picked values and their standing, not the spelling of the file.
static Digest digest_of(const Calib *calib) {
    Digest hash = hash_string(HASH_START, "calibration");
    hash = hash_string(hash, calib->generation);
    for (uint32_t param = 0; param < CALIB_COUNT; param++) {
        const CalibValue *value = &calib->values[param];
        hash = hash_double(hash, value->value);
        hash = hash_double(hash, value->low);
        hash = hash_double(hash, value->high);
        hash = hash_u64(hash, value->provenance);
    }
    return hash;
}

static bool read_root(JsonNode root, Calib *calib, Err *err) {
    const char *name, *source;
    JsonNode rows;
    if (!json_header(root, "calibration", CALIB_VERSION, err) ||
        !json_string(root, "name", &name, err) || !json_string(root, "source", &source, err) ||
        !json_array(root, "rows", &rows, err) || !read_rows(rows, calib, err) ||
        !json_finish(root, err)) {
        return false;
    }
    calib->name = arena_string(&calib->arena, name);
    calib->digest = digest_of(calib);
    return true;
}

// Consumes the document.
static bool read_document(Json *json, const char *generation, Calib *out, Err *err) {
    Calib calib = {0};
    calib.generation = arena_string(&calib.arena, generation);
    bool done = read_root(json_root(json), &calib, err);
    json_free(json);
    if (!done) {
        calib_free(&calib);
        return false;
    }
    *out = calib;
    return true;
}

bool calib_parse(const char *name, const char *bytes, size_t count, const char *generation,
                 Calib *out, Err *err) {
    Json json = {0};
    return json_parse(name, bytes, count, &json, err) && read_document(&json, generation, out, err);
}

static bool find(const char *name, Arena *arena, const char **out_path, Err *err) {
    if (name == NULL || *name == '\0')
        return file_data("topologies/calibrations/default.json", arena, out_path, err);
    return file_find(name, arena, out_path, err);
}

bool calib_load(const char *name, const char *generation, Calib *out, Err *err) {
    Arena scratch = {0};
    Json json = {0};
    const char *path;
    bool done = find(name, &scratch, &path, err) && json_read(path, &json, err) &&
                read_document(&json, generation, out, err);
    arena_free(&scratch);
    return done;
}

// Times are whole picoseconds, at least one.
static void write_number(JsonWriter *writer, const char *key, CalibParam param, double value) {
    Time ps = num_round(value / SECONDS_PER_PS);
    if (calib_kind(param) == CALIB_IS_TIME)
        jsonw_time(writer, key, ps > 0 ? ps : 1);
    else
        jsonw_double(writer, key, value);
}

static void write_row(JsonWriter *writer, const Calib *calib, CalibParam param) {
    const CalibValue *value = &calib->values[param];
    jsonw_inline_next(writer);
    jsonw_open_object(writer, NULL);
    jsonw_string(writer, "param", calib_param_names[param]);
    jsonw_string(writer, "generation", *calib->generation == '\0' ? "*" : calib->generation);
    write_number(writer, "value", param, value->value);
    if (!value->is_default_interval) {
        write_number(writer, "low", param, value->low);
        write_number(writer, "high", param, value->high);
    }
    jsonw_string(writer, "provenance", calib_provenance_names[value->provenance]);
    jsonw_string(writer, "source", value->source);
    jsonw_close_object(writer);
}

void calib_write(const Calib *calib, const char *name, const char *source, Text *out) {
    JsonWriter writer = {.text = out};
    jsonw_open_object(&writer, NULL);
    jsonw_string(&writer, "moesim", "calibration");
    jsonw_u64(&writer, "version", CALIB_VERSION);
    jsonw_string(&writer, "name", name);
    jsonw_string(&writer, "source", source);
    jsonw_open_array(&writer, "rows");
    for (uint32_t param = 0; param < CALIB_COUNT; param++)
        write_row(&writer, calib, (CalibParam)param);
    jsonw_close_array(&writer);
    jsonw_close_object(&writer);
    jsonw_finish(&writer);
}

void calib_free(Calib *calib) {
    arena_free(&calib->arena);
    *calib = (Calib){0};
}

double calib_draw(const Calib *calib, CalibParam param, uint64_t seed, uint32_t draw) {
    assert(param < CALIB_COUNT);
    const CalibValue *value = &calib->values[param];
    CalibKind kind = calib_kind(param);
    if (kind == CALIB_IS_PLAIN) return 1;
    Rng rng;
    rng_seed(&rng, hash_u64(hash_u64(hash_u64(HASH_START, seed), draw), param));
    double drawn = value->low * num_exp(rng_unit(&rng) * num_log(value->high / value->low));
    return kind == CALIB_IS_TIME ? drawn / value->value : value->value / drawn;
}
