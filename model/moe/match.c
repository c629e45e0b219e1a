// A matcher without backtracking: the set of positions that the items so far can end at is carried
// along.
//
// Invariant: time is (items x length of the name x length of a group), whatever the pattern;
// nothing recurses. Source: the method is Thompson's, "Regular expression search algorithm", CACM
// 11 (1968), reduced to a sequence of items.
#include "model/moe/match.h"

#include <string.h>

#include "model/base/text.h"

// Positions in the name that a prefix of the pattern can end at.
typedef struct Ends {
    bool at[MATCH_NAME_MAX + 1];
} Ends;

static void set_add(uint8_t *set, unsigned char c) {
    set[c / 8] |= (uint8_t)(1u << c % 8);
}

static bool set_has(const uint8_t *set, unsigned char c) {
    return (set[c / 8] >> c % 8 & 1) != 0;
}

static void set_add_range(uint8_t *set, unsigned char from, unsigned char to) {
    for (unsigned c = from; c <= to; c++) set_add(set, (unsigned char)c);
}

static bool unsupported(const char *pattern, const char *at, Err *err) {
    char quote[TEXT_QUOTE_MAX], part[TEXT_QUOTE_MAX];
    text_quote(at, part);
    return err_set(err, "pattern %s: %s is not supported", text_quote(pattern, quote),
                   *at == '\0' ? "its end" : part);
}

// \d, or an escaped character that is not a letter or a digit.
static bool read_escape(const char *pattern, const char **at, uint8_t *set, Err *err) {
    unsigned char c = (unsigned char)(*at)[1];
    bool alphanumeric = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    if (c == 'd') {
        set_add_range(set, '0', '9');
    } else if (c == '\0' || alphanumeric) {
        return unsupported(pattern, *at, err);
    } else {
        set_add(set, c);
    }
    *at += 2;
    return true;
}

// [abc] and [0-9]; no negation.
static bool read_set(const char *pattern, const char **at, uint8_t *set, Err *err) {
    const char *p = *at + 1;
    if (*p == '^' || *p == ']') return unsupported(pattern, *at, err);
    while (*p != ']') {
        if (*p == '\0' || *p == '\\' || *p == '[') return unsupported(pattern, *at, err);
        unsigned char from = (unsigned char)p[0], to = from;
        if (p[1] == '-' && p[2] != ']' && p[2] != '\0') to = (unsigned char)p[2];
        if (to < from) return unsupported(pattern, *at, err);
        p += to != from || p[1] == '-' ? 3 : 1;
        set_add_range(set, from, to);
    }
    *at = p + 1;
    return true;
}

// (word|word), also (?:word|word).
static bool read_words(const char *pattern, const char **at, Arena *arena, MatchItem *item,
                       Err *err) {
    const char *start = *at + 1;
    if (strncmp(start, "?:", 2) == 0) start += 2;
    size_t length = strcspn(start, "()[]\\.*+?{}^$");
    if (start[length] != ')') return unsupported(pattern, *at, err);
    item->kind = MATCH_WORDS;
    item->words = arena_printf(arena, "%.*s", (int)length, start);
    *at = start + length + 1;
    return true;
}

static bool read_item(const char *pattern, const char **at, Arena *arena, MatchItem *item,
                      Err *err) {
    char c = **at;
    if (c == '\\') return read_escape(pattern, at, item->set, err);
    if (c == '[') return read_set(pattern, at, item->set, err);
    if (c == '(') return read_words(pattern, at, arena, item, err);
    if (strchr(")]{}*+?|^$", c) != NULL) return unsupported(pattern, *at, err);
    if (c == '.') {
        memset(item->set, 0xff, sizeof item->set);
    } else {
        set_add(item->set, (unsigned char)c);
    }
    *at += 1;
    return true;
}

static MatchTimes read_times(const char **at) {
    MatchTimes times = **at == '*'   ? MATCH_ANY_TIMES
                       : **at == '+' ? MATCH_AT_LEAST_ONCE
                       : **at == '?' ? MATCH_OPTIONAL
                                     : MATCH_ONCE;
    if (times != MATCH_ONCE) *at += 1;
    return times;
}

static bool compile_expression(const char *pattern, Arena *arena, Match *match, Err *err) {
    const char *at = pattern + (pattern[0] == '^');
    while (*at != '\0') {
        if (strcmp(at, "$") == 0) {
            match->end = MATCH_AT_END;
            return true;
        }
        MatchItem *item = &match->items[match->count++];
        if (!read_item(pattern, &at, arena, item, err)) return false;
        item->times = read_times(&at);
    }
    return true;
}

static void compile_glob(const char *pattern, Match *match) {
    match->end = MATCH_AT_DOT;
    for (const char *p = pattern; *p != '\0'; p++) {
        MatchItem *item = &match->items[match->count++];
        if (*p == '*') {
            memset(item->set, 0xff, sizeof item->set);
            item->times = MATCH_ANY_TIMES;
        } else {
            set_add(item->set, (unsigned char)*p);
        }
    }
}

bool match_compile(const char *pattern, Arena *arena, Match *out, Err *err) {
    size_t length = strlen(pattern);
    if (length > MATCH_PATTERN_MAX)
        return err_set(err, "pattern of %zu bytes, at most %d are supported", length,
                       MATCH_PATTERN_MAX);
    Match match = {.items = arena_alloc(arena, length + 1, sizeof(MatchItem))};
    if (strncmp(pattern, "re:", 3) != 0) {
        compile_glob(pattern, &match);
    } else if (!compile_expression(pattern + 3, arena, &match, err)) {
        return false;
    }
    match.has_digits = strpbrk(pattern, "0123456789") != NULL || strstr(pattern, "\\d") != NULL;
    *out = match;
    return true;
}

static bool is_single(const MatchItem *item, const char *name, size_t at, size_t length) {
    return at < length && set_has(item->set, (unsigned char)name[at]);
}

// Marks where the item, once, can end when it starts at `from`.
static void step_once(const MatchItem *item, const char *name, size_t length, size_t from,
                      Ends *out) {
    if (item->kind == MATCH_SET) {
        if (is_single(item, name, from, length)) out->at[from + 1] = true;
        return;
    }
    for (const char *word = item->words;;) {
        size_t size = strcspn(word, "|");
        if (size <= length - from && memcmp(name + from, word, size) == 0)
            out->at[from + size] = true;
        if (word[size] == '\0') return;
        word += size + 1;
    }
}

// Positions only grow, so one pass from left to right also reaches the ends of repetitions. False
// when there is none.
static bool step(const MatchItem *item, const char *name, size_t length, const Ends *starts,
                 Ends *out) {
    bool repeats = item->times == MATCH_ANY_TIMES || item->times == MATCH_AT_LEAST_ONCE;
    bool may_skip = item->times == MATCH_ANY_TIMES || item->times == MATCH_OPTIONAL;
    memset(out->at, 0, length + 1);
    for (size_t from = 0; from <= length; from++) {
        if (starts->at[from] || (repeats && out->at[from]))
            step_once(item, name, length, from, out);
    }
    for (size_t from = 0; may_skip && from <= length; from++)
        if (starts->at[from]) out->at[from] = true;
    return memchr(out->at, true, length + 1) != NULL;
}

bool match_test(const Match *match, const char *name) {
    size_t length = strlen(name);
    if (length > MATCH_NAME_MAX) return false;
    Ends ends[2];
    memset(ends[0].at, 0, length + 1);
    ends[0].at[0] = true;
    for (uint32_t i = 0; i < match->count; i++)
        if (!step(&match->items[i], name, length, &ends[i % 2], &ends[(i + 1) % 2])) return false;
    const Ends *last = &ends[match->count % 2];
    if (last->at[length]) return true;
    for (size_t at = 0; match->end != MATCH_AT_END && at < length; at++)
        if (last->at[at] && (match->end == MATCH_ANYWHERE || name[at] == '.')) return true;
    return false;
}
