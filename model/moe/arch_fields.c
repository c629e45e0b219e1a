// Reads a config whose model_type is absent or new: as the family whose rows understand every
// field.
//
// Invariant: a family is only taken when the choice among those that fit hardly matters: their
// parameters within half a percent, their caches equal.
#include "model/moe/arch_build.h"

#include <string.h>

#include "model/base/wide.h"

// Norms and biases of a few families differ by less: qwen3_moe and glm4_moe by 1e-5.
#define ALIKE_PERMILLE 5
#define FITTING_MAX    64

typedef struct Attempt {
    const Family *family;
    Arch arch;
    ArchProgress progress;
    uint32_t unknown; // keys
    Err err;
} Attempt;

static bool attempt(const ArchInput *input, const Family *family, Attempt *out) {
    Reader reader = {0};
    *out = (Attempt){.family = family};
    bool good = reader_open(&reader, input, &out->arch.arena, &out->err) &&
                arch_build(&reader, family, &out->arch, &out->progress, &out->err);
    if (!good) {
        // a field that nobody knows says more than one that is missing
        Err reason = {0};
        if (out->progress == ARCH_READ_NOTHING && json_kind(reader.text) == JSON_OBJECT &&
            !reader_finish(&reader, &reason))
            out->err = reason;
        out->unknown = reader_count_unknown(&reader);
        arch_free(&out->arch);
    }
    reader_close(&reader);
    return good;
}

static bool is_nearer(const Attempt *a, const Attempt *b) {
    if (b->family == NULL) return true;
    if (a->unknown != b->unknown) return a->unknown < b->unknown;
    return a->progress > b->progress;
}

// The model_type as written; "" when there is none.
static const char *type_of(const Reader *reader) {
    const char *type = "";
    Err ignored = {0};
    (void)json_as_string(json_find(reader->root, "model_type"), &type, &ignored);
    return type;
}

static bool refuse(const Reader *reader, const Attempt *nearest, Err *err) {
    char quote[TEXT_QUOTE_MAX];
    const char *type = type_of(reader);
    return err_set(err, "%s (model_type %s is not known; read as %s, the nearest family)",
                   nearest->err.text, *type == '\0' ? "(absent)" : text_quote(type, quote),
                   family_name(nearest->family, reader->arena));
}

// Whether it hardly matters which of them is taken.
static bool count_alike(const Attempt *fitting, uint32_t count) {
    uint64_t least = UINT64_MAX, most = 0;
    for (uint32_t i = 0; i < count; i++) {
        const ArchTotals *totals = &fitting[i].arch.totals, *first = &fitting[0].arch.totals;
        if (totals->parameters < least) least = totals->parameters;
        if (totals->parameters > most) most = totals->parameters;
        if (totals->kv_B_per_token != first->kv_B_per_token ||
            totals->window_B_per_sequence != first->window_B_per_sequence ||
            totals->state_B_per_sequence != first->state_B_per_sequence)
            return false;
    }
    return most - least <= wide_mul_div(most, ALIKE_PERMILLE, 1000);
}

// The one with the nearest of its names, or the first.
static uint32_t nearest_name(const Reader *reader, const Attempt *fitting, uint32_t count) {
    const char *names[2 * FITTING_MAX];
    uint32_t owners[2 * FITTING_MAX], name_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const char *rest = fitting[i].family->model_types;
        while (*rest != '\0' && name_count < 2 * FITTING_MAX) {
            size_t length = strcspn(rest, "|");
            owners[name_count] = i;
            names[name_count++] = arena_printf(reader->arena, "%.*s", (int)length, rest);
            rest += length + (rest[length] == '|');
        }
    }
    uint32_t nearest = text_nearest(type_of(reader), names, name_count);
    return nearest == UINT32_MAX ? 0 : owners[nearest];
}

static void take(const Reader *reader, Attempt *fitting, uint32_t chosen, const char *names,
                 Arch *out) {
    char quote[TEXT_QUOTE_MAX];
    const char *type = type_of(reader);
    *out = fitting[chosen].arch;
    const char **notes = arena_alloc(&out->arena, out->note_count + 1, sizeof *notes);
    if (out->note_count > 0) memcpy(notes, out->notes, out->note_count * sizeof *notes);
    out->notes = notes;
    notes[out->note_count++] = arena_printf(
        &out->arena, "model_type %s is not known: read as %s; every field is understood by %s",
        *type == '\0' ? "(absent)" : text_quote(type, quote), out->family, names);
}

static bool choose(Reader *reader, Attempt *fitting, uint32_t count, Arch *out, Err *err) {
    Text names = {0};
    for (uint32_t i = 0; i < count; i++)
        text_addf(&names, "%s%s", i > 0 ? ", " : "", family_name(fitting[i].family, reader->arena));
    bool good = count_alike(fitting, count);
    uint32_t chosen = good ? nearest_name(reader, fitting, count) : UINT32_MAX;
    if (good) {
        take(reader, fitting, chosen, text_string(&names), out);
    } else {
        JsonNode node = json_find(reader->root, "model_type");
        json_error(json_is_absent(node) ? reader->root : node, err,
                   "%s, and the fields fit families that count differently (%s); name one with "
                   "--assume model_type=NAME",
                   json_is_absent(node) ? "no model_type" : "not known", text_string(&names));
    }
    for (uint32_t i = 0; i < count; i++)
        if (i != chosen) arch_free(&fitting[i].arch);
    text_free(&names);
    return good;
}

bool arch_build_by_fields(const ArchInput *input, Reader *reader, Arch *out, Err *err) {
    Attempt *fitting = arena_alloc(reader->arena, FITTING_MAX, sizeof *fitting), nearest = {0}, now;
    const Family *family;
    uint32_t count = 0;
    for (uint32_t i = 0; (family = family_at(i)) != NULL && count < FITTING_MAX; i++) {
        if (attempt(input, family, &now))
            fitting[count++] = now;
        else if (is_nearer(&now, &nearest))
            nearest = now;
    }
    return count > 0 ? choose(reader, fitting, count, out, err) : refuse(reader, &nearest, err);
}
