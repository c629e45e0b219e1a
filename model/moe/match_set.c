// Lists of module names with globs and expressions, looked up together.
//
// Invariant: a look-up costs (length of the name x log of the names) and one run of every pattern,
// however many names the list has and whatever they are. Names are sorted, and the range of those
// that begin like the module is narrowed character by character.
#include <stdlib.h>
#include <string.h>

#include "model/base/text.h"
#include "model/moe/match.h"

#define PATTERNS_MAX 1024

// What stands before the layers of a text model, depending on who wrote the config.
static const char *const wrappers[] = {"model.", "language_model."};
static const char *const wrapped[] = {"model.", "language_model.", "model.language_model.",
                                      "language_model.model."};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *unwrap(const char *name) {
    for (size_t i = 0; i < COUNT(wrappers);) {
        size_t length = strlen(wrappers[i]);
        bool found = strncmp(name, wrappers[i], length) == 0 && name[length] != '\0';
        if (found) name += length;
        i = found ? 0 : i + 1;
    }
    return name;
}

// Building.

static void *grow(void *items, uint32_t *capacity, uint32_t count, size_t size, Arena *arena) {
    if (count < *capacity) return items;
    uint32_t wanted = *capacity == 0 ? 16 : 2 * *capacity;
    void *larger = arena_alloc(arena, wanted, size);
    if (count > 0) memcpy(larger, items, count * size);
    *capacity = wanted;
    return larger;
}

static bool add_pattern(MatchSet *set, const char *text, Arena *arena, Err *err) {
    if (set->pattern_count == PATTERNS_MAX)
        return err_set(err, "more than %d patterns are not supported", PATTERNS_MAX);
    if (set->pattern_count == 0) {
        set->patterns = arena_alloc(arena, PATTERNS_MAX, sizeof *set->patterns);
        set->pattern_entries = arena_alloc(arena, PATTERNS_MAX, sizeof *set->pattern_entries);
    }
    Match *match = &set->patterns[set->pattern_count];
    if (!match_compile(text, arena, match, err)) return false;
    set->pattern_items += match->count;
    set->pattern_entries[set->pattern_count++] = set->entry_count;
    return true;
}

static void add_literal(MatchSet *set, const char *text, Arena *arena) {
    const char *star = strchr(text, '*'), *name = unwrap(text);
    MatchLiteral literal = {.kind = star != NULL                ? MATCH_HEAD
                                    : strchr(text, '.') == NULL ? MATCH_WORD
                                                                : MATCH_NAME,
                            .entry = set->entry_count};
    literal.length = (uint32_t)(strlen(name) - (star != NULL));
    literal.text = arena_printf(arena, "%.*s", (int)literal.length, name);
    if (literal.kind == MATCH_WORD) {
        set->words = grow(set->words, &set->word_capacity, set->word_count, sizeof literal, arena);
        set->words[set->word_count++] = literal;
    } else {
        set->names = grow(set->names, &set->name_capacity, set->name_count, sizeof literal, arena);
        set->names[set->name_count++] = literal;
    }
}

bool match_set_add(MatchSet *set, const char *text, uint32_t value, Arena *arena, Err *err) {
    const char *star = strchr(text, '*');
    bool is_expression = strncmp(text, "re:", 3) == 0;
    bool is_pattern = is_expression || (star != NULL && star[1] != '\0');
    if (strlen(text) > MATCH_NAME_MAX)
        return err_set(err, "name of %zu bytes, at most %d are supported", strlen(text),
                       MATCH_NAME_MAX);
    if (text[text_plain(text)] != '\0') return err_set(err, "a name must stand on one line");
    if (is_pattern && !add_pattern(set, is_expression ? text : unwrap(text), arena, err))
        return false;
    if (!is_pattern) add_literal(set, text, arena);
    set->entries =
        grow(set->entries, &set->entry_capacity, set->entry_count, sizeof(MatchEntry), arena);
    set->entries[set->entry_count++] =
        (MatchEntry){.text = arena_string(arena, text), .value = value};
    set->has_digits =
        set->has_digits || strpbrk(text, "0123456789") != NULL || strstr(text, "\\d") != NULL;
    return true;
}

// By text, then kind; the earlier entry first.
static int compare_literals(const void *a, const void *b) {
    const MatchLiteral *left = a, *right = b;
    int order = strcmp(left->text, right->text);
    if (order != 0) return order;
    if (left->kind != right->kind) return left->kind < right->kind ? -1 : 1;
    return left->entry < right->entry ? -1 : left->entry > right->entry;
}

// Sorts, and keeps the first of equal ones.
static bool sort_literals(MatchSet *set, MatchLiteral *list, uint32_t *count, Err *err) {
    char quote[TEXT_QUOTE_MAX];
    uint32_t kept = 0;
    if (*count == 0) return true;
    qsort(list, *count, sizeof *list, compare_literals);
    for (uint32_t i = 1; i < *count; i++) {
        MatchLiteral *last = &list[kept];
        bool same = list[i].kind == last->kind && strcmp(list[i].text, last->text) == 0;
        if (!same) list[++kept] = list[i];
        if (!same) continue;
        MatchEntry *entry = &set->entries[list[i].entry];
        if (entry->value != set->entries[last->entry].value)
            return err_set(err, "%s is listed in two ways", text_quote(entry->text, quote));
        entry->is_used = true;
    }
    *count = kept + 1;
    return true;
}

bool match_set_finish(MatchSet *set, Err *err) {
    return sort_literals(set, set->names, &set->name_count, err) &&
           sort_literals(set, set->words, &set->word_count, err);
}

// Looking up.

typedef struct Found {
    MatchHow how;
    uint32_t length, entry;
} Found;

static void take(MatchSet *set, const MatchLiteral *literal, size_t module_length, Found *found) {
    bool exact = literal->kind != MATCH_HEAD && literal->length == module_length;
    set->entries[literal->entry].is_used = true;
    if (found->how != MATCH_NOT && !exact && literal->length <= found->length) return;
    *found = (Found){exact ? MATCH_EXACTLY : MATCH_BY_PART, literal->length, literal->entry};
}

// The first name in [low, high) whose character at `at` is not below `c`; all share what is before.
static uint32_t lower_bound(const MatchSet *set, uint32_t low, uint32_t high, size_t at, int c) {
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if ((unsigned char)set->names[middle].text[at] < c)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void find_names(MatchSet *set, const char *module, Found *found) {
    size_t length = strlen(module);
    uint32_t low = 0, high = set->name_count;
    for (size_t at = 0; low < high; at++) {
        for (; low < high && set->names[low].length == at; low++) {
            bool ends = module[at] == '\0' || module[at] == '.';
            if (ends || set->names[low].kind == MATCH_HEAD)
                take(set, &set->names[low], length, found);
        }
        if (module[at] == '\0') return;
        unsigned char c = (unsigned char)module[at];
        low = lower_bound(set, low, high, at, c);
        high = lower_bound(set, low, high, at, c + 1);
    }
}

static int compare_word(const char *word, size_t length, const MatchLiteral *literal) {
    int order = strncmp(word, literal->text, length);
    if (order != 0) return order;
    return literal->length > length ? -1 : 0;
}

static void find_words(MatchSet *set, const char *module, Found *found) {
    size_t whole = strlen(module);
    for (const char *word = module; set->word_count > 0;) {
        size_t length = strcspn(word, ".");
        uint32_t low = 0, high = set->word_count;
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            int order = compare_word(word, length, &set->words[middle]);
            if (order == 0) take(set, &set->words[middle], whole, found);
            if (order == 0) break;
            if (order < 0)
                high = middle;
            else
                low = middle + 1;
        }
        if (word[length] == '\0') return;
        word += length + 1;
    }
}

// Expressions start where the name does, so each way to wrap it is tried.
static bool pattern_fits(const Match *match, const char *module, const char *bare) {
    char name[MATCH_NAME_MAX + 32];
    if (match_test(match, module) || match_test(match, bare)) return true;
    if (match->count > 0 && match->items[0].times == MATCH_ANY_TIMES) return false;
    for (size_t i = 0; i < COUNT(wrapped); i++) {
        size_t length = strlen(wrapped[i]);
        memcpy(name, wrapped[i], length);
        memcpy(name + length, bare, strlen(bare) + 1);
        if (match_test(match, name)) return true;
    }
    return false;
}

MatchHow match_set_find(MatchSet *set, const char *module, uint32_t *value) {
    Found found = {.how = MATCH_NOT};
    const char *bare = unwrap(module);
    if (strlen(module) > MATCH_NAME_MAX) return MATCH_NOT;
    find_names(set, bare, &found);
    find_words(set, bare, &found);
    for (uint32_t i = 0; i < set->pattern_count; i++) {
        if (!pattern_fits(&set->patterns[i], module, bare)) continue;
        uint32_t entry = set->pattern_entries[i];
        set->entries[entry].is_used = true;
        if (found.how == MATCH_NOT) found = (Found){MATCH_BY_PATTERN, 0, entry};
    }
    if (found.how != MATCH_NOT) *value = set->entries[found.entry].value;
    return found.how;
}

const char *match_set_unused(const MatchSet *set, uint32_t *count) {
    const char *first = NULL;
    *count = 0;
    for (uint32_t i = 0; i < set->entry_count; i++) {
        if (set->entries[i].is_used) continue;
        if (first == NULL) first = set->entries[i].text;
        *count += 1;
    }
    return first;
}
