// Faults as text.
//
// Invariant: what fault_write prints is read back to the same digest; a share is kept as an exact
// fraction in lowest terms, so that "50%" and "1/2" are the same fault.
#include "model/machine/fault.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/units.h"
#include "model/base/wide.h"
#include "model/machine/pattern.h"

#define SPEC_MAX  512                  // characters of one fault
#define SHARE_MAX UINT64_C(1000000000) // of a numerator or denominator

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool expected_left(const char *text, Err *err) {
    char quoted[TEXT_QUOTE_MAX];
    return err_set(err,
                   "expected what is left: down, a share such as 50%% or 17/18, a rate such as "
                   "25GB/s, or cables-1, found %s",
                   text_quote(text, quoted));
}

static void skip_blanks(const char **at) {
    while (**at == ' ') ++*at;
}

// Digits up to SHARE_MAX; false without any.
static bool read_whole(const char **at, uint64_t *out) {
    uint64_t value = 0;
    if (!is_digit(**at)) return false;
    while (is_digit(**at)) {
        value = value * 10 + (uint64_t)(*(*at)++ - '0');
        if (value > SHARE_MAX) return false;
    }
    *out = value;
    return true;
}

// "17/18", "50 %" or "12.5%" as a fraction; false when it is neither.
static bool read_share(const char *text, uint64_t *part, uint64_t *whole) {
    const char *at = text;
    uint64_t scale = 1, fraction = 0;
    if (!read_whole(&at, part)) return false;
    if (*at == '.') {
        const char *start = ++at;
        if (!read_whole(&at, &fraction)) return false;
        for (const char *digit = start; digit < at; digit++) scale *= 10;
        if (scale > SHARE_MAX / 100 || *part > SHARE_MAX / scale) return false;
        *part = *part * scale + fraction;
    }
    skip_blanks(&at);
    if (*at == '%') {
        *whole = 100 * scale;
        at++;
    } else if (*at == '/' && scale == 1) {
        at++;
        skip_blanks(&at);
        if (!read_whole(&at, whole)) return false;
    } else {
        return false;
    }
    skip_blanks(&at);
    return *at == '\0';
}

bool fault_parse_capacity(const char *text, Fault *out, Err *err) {
    uint64_t part, whole, rate_Bps;
    Err ignored = {{0}};
    char quoted[TEXT_QUOTE_MAX];
    if (read_share(text, &part, &whole)) {
        if (part == 0 || part >= whole)
            return err_set(err, "expected a share above 0 and below 1, found %s",
                           text_quote(text, quoted));
        uint64_t divisor = wide_gcd(part, whole);
        out->kind = FAULT_SHARE;
        out->part = (uint32_t)(part / divisor);
        out->whole = (uint32_t)(whole / divisor);
        return true;
    }
    if (!units_parse_rate(text, &rate_Bps, &ignored)) {
        return err_set(err,
                       "expected a share such as \"50 %%\" or \"17/18\", or a rate such as "
                       "\"25 GB/s\", found %s",
                       text_quote(text, quoted));
    }
    if (rate_Bps == 0) return err_set(err, "expected a rate above 0, or down");
    out->kind = FAULT_RATE;
    out->rate_Bps = rate_Bps;
    return true;
}

static bool parse_left(const char *text, Fault *out, Err *err) {
    static const char cables[] = "cables-";
    Err ignored = {{0}};
    if (strcmp(text, "down") == 0) {
        out->kind = FAULT_DOWN;
        return true;
    }
    if (strncmp(text, cables, sizeof cables - 1) == 0) {
        uint64_t count;
        if (!text_parse_u64(text + sizeof cables - 1, &count) || count == 0 || count > UINT32_MAX)
            return expected_left(text, err);
        out->kind = FAULT_CABLES;
        out->cables = (uint32_t)count;
        return true;
    }
    if (fault_parse_capacity(text, out, &ignored)) return true;
    uint64_t part, whole;
    if (read_share(text, &part, &whole)) return fault_parse_capacity(text, out, err);
    return expected_left(text, err);
}

// The text between two characters without the blanks at its ends.
static char *trimmed(Arena *arena, const char *from, const char *end) {
    while (from < end && *from == ' ') from++;
    while (end > from && end[-1] == ' ') end--;
    char *out = arena_alloc(arena, (size_t)(end - from) + 1, 1);
    memcpy(out, from, (size_t)(end - from));
    return out;
}

// One fault: `spec` is "FROM>TO:LEFT" or "PART:LEFT".
static bool parse_one(const char *spec, Arena *arena, Fault *out, Err *err) {
    const char *colon = strrchr(spec, ':'), *end = spec + strlen(spec);
    const char *arrow = strchr(spec, '>');
    if (colon == NULL)
        return err_set(err, "expected PART:LEFT or FROM>TO:LEFT, such as tray[0].nic[1]:down");
    if (arrow != NULL && arrow > colon) return err_set(err, "expected FROM>TO before the colon");
    Fault fault = {.source = "", .to = ""};
    fault.from = trimmed(arena, spec, arrow == NULL ? colon : arrow);
    if (arrow != NULL) fault.to = trimmed(arena, arrow + 1, colon);
    if (*fault.from == '\0' || (arrow != NULL && *fault.to == '\0'))
        return err_set(err, "expected the name of a part on %s",
                       arrow == NULL ? "the left of the colon" : "both sides of >");
    if (!parse_left(trimmed(arena, colon + 1, end), &fault, err)) return false;
    *out = fault;
    return true;
}

// The end of the fault that starts here: a comma outside of brackets, or the end of the text.
static const char *end_of(const char *at) {
    uint32_t open = 0;
    for (; *at != '\0'; at++) {
        if (*at == '[') open++;
        if (*at == ']' && open > 0) open--;
        if (*at == ',' && open == 0) break;
    }
    return at;
}

bool fault_parse_list(const char *text, const char *label, Arena *arena, Fault **out,
                      uint32_t *out_count, Err *err) {
    uint32_t count = 1, found = 0;
    for (const char *at = end_of(text); *at != '\0'; at = end_of(at + 1)) count++;
    if (count > FAULT_LIST_MAX)
        return err_set(err, "%s: expected at most %d faults, found %u", label, FAULT_LIST_MAX,
                       count);
    Fault *faults = arena_alloc(arena, count, sizeof *faults);
    for (const char *at = text; found < count; at++) {
        const char *end = end_of(at), *spec = trimmed(arena, at, end);
        char quoted[TEXT_QUOTE_MAX];
        if (*spec == '\0')
            return err_set(err, "%s: expected a fault on both sides of each comma, found %s", label,
                           text_quote(text, quoted));
        if (strlen(spec) > SPEC_MAX)
            return err_set(err, "%s: a fault longer than %d characters", label, SPEC_MAX);
        Fault *fault = &faults[found++];
        if (!parse_one(spec, arena, fault, err))
            return err_prefix(err, "%s %s", label, text_quote(spec, quoted));
        fault->place = arena_printf(arena, "%s %s", label, text_quote(spec, quoted));
        at = end;
    }
    *out = faults;
    *out_count = count;
    return true;
}

// Shares whose hundredths are whole are written in percent.
void fault_write_capacity(const Fault *fault, Text *out) {
    char rate[UNITS_TEXT_MAX];
    if (fault->kind == FAULT_RATE) {
        text_add(out, units_write_rate(fault->rate_Bps, rate));
    } else if (100 % fault->whole == 0) {
        text_addf(out, "%" PRIu32 " %%", fault->part * (100 / fault->whole));
    } else {
        text_addf(out, "%" PRIu32 "/%" PRIu32, fault->part, fault->whole);
    }
}

void fault_write(const Fault *fault, Text *out) {
    text_add(out, fault->from);
    if (*fault->to != '\0') text_addf(out, ">%s", fault->to);
    text_add_char(out, ':');
    switch (fault->kind) {
    case FAULT_DOWN: text_add(out, "down"); break;
    case FAULT_SHARE:
    case FAULT_RATE: fault_write_capacity(fault, out); break;
    case FAULT_CABLES: text_addf(out, "cables-%" PRIu32, fault->cables); break;
    }
}

Digest fault_digest(const Fault *fault) {
    Digest digest = pattern_hash(pattern_hash(HASH_START, fault->from), fault->to);
    digest = hash_u64(digest, (uint64_t)fault->kind);
    digest = hash_u64(hash_u64(digest, fault->part), fault->whole);
    return hash_u64(hash_u64(digest, fault->rate_Bps), fault->cables);
}
