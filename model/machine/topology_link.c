// Resolves the patterns of a link rule and proves that it names each pair of parts once.
//
// Invariant: after success every index of both patterns is a set or an expression whose values
// exist. Expressions are checked by trying all combinations of their letters, at most
// TOPOLOGY_COMBINATIONS_MAX; nothing depends on how often the template occurs.
#include "model/machine/topology_link.h"

#include <string.h>

#include "model/base/text.h"

#define NO_LEVEL UINT32_MAX

static bool unknown_part(const Template *in, const char *name, Err *err) {
    const char *names[64] = {NULL};
    uint32_t count = in->part_count < 64 ? in->part_count : 64;
    for (uint32_t i = 0; i < count; i++) names[i] = in->parts[i].name;
    uint32_t near = text_nearest(name, names, count);
    if (near != UINT32_MAX) {
        return err_set(err, "no part \"%s\" in template \"%s\", did you mean \"%s\"?", name,
                       in->name, names[near]);
    }
    Text parts = {0};
    for (uint32_t i = 0; i < count; i++)
        text_addf(&parts, "%s%s", i == 0 ? "" : ", ", in->parts[i].name);
    err_set(err, "no part \"%s\" in template \"%s\", it has %s", name, in->name,
            text_string(&parts));
    text_free(&parts);
    return false;
}

static bool check_set(const PatternIndex *index, const Part *part, Err *err) {
    uint32_t last = index->ranges[index->range_count - 1].last;
    if (last < part->count) return true;
    return err_set(err, "%s[%u] does not exist, %s has indices 0 to %u", part->name, last,
                   part->name, part->count - 1);
}

static bool resolve_index(PatternIndex *index, const Part *part, Err *err) {
    if (index->kind == PATTERN_NONE && part->count != 1) {
        return err_set(err, "there are %u of %s: write %s[*] for all", part->count, part->name,
                       part->name);
    }
    if (index->kind == PATTERN_NONE || index->kind == PATTERN_ALL) {
        index->kind = PATTERN_ALL;
        index->range_count = 1;
        index->ranges[0] = (PatternRange){0, part->count - 1};
    }
    return index->kind != PATTERN_SET || check_set(index, part, err);
}

// What a pattern may end at.
typedef enum EndKind { END_LEAF, END_ANY } EndKind;

static bool resolve_end(const Topology *topology, uint32_t template_id, const char *text,
                        PatternSide side, EndKind kind, TopologyEnd *out, Err *err) {
    if (!pattern_parse(text, side, &out->pattern, err)) return false;
    for (uint32_t level = 0; level < out->pattern.count; level++) {
        PatternSegment *segment = &out->pattern.segments[level];
        const Template *in = &topology->templates[template_id];
        uint32_t found = topology_find_part(in, segment->name);
        if (found == UINT32_MAX) return unknown_part(in, segment->name, err);
        const Part *part = &in->parts[found];
        if (!resolve_index(&segment->index, part, err)) return false;
        out->part[level] = found;
        out->size[level] = part->count;
        template_id = part->template_id;
        bool is_last = level + 1 == out->pattern.count;
        if (part->kind == PART_GROUP && is_last && kind == END_LEAF) {
            return err_set(err, "%s stands for template \"%s\": name a part inside it", part->name,
                           topology->templates[template_id].name);
        }
        if (part->kind != PART_GROUP && !is_last)
            return err_set(err, "%s has no parts inside", part->name);
    }
    return true;
}

static bool bind_letters(TopologyLink *link, Err *err) {
    for (uint32_t i = 0; i < PATTERN_LETTERS; i++) link->level_of_letter[i] = NO_LEVEL;
    for (uint32_t level = 0; level < link->from.pattern.count; level++) {
        char letter = link->from.pattern.segments[level].index.letter;
        if (letter == 0) continue;
        uint32_t *slot = &link->level_of_letter[letter - 'a'];
        if (*slot != NO_LEVEL) return err_set(err, "letter %c is bound twice", letter);
        *slot = level;
    }
    return true;
}

static bool check_letters(const TopologyLink *link, Err *err) {
    for (uint32_t level = 0; level < link->to.pattern.count; level++) {
        const PatternIndex *index = &link->to.pattern.segments[level].index;
        for (uint32_t i = 0; i < index->step_count; i++) {
            if (index->steps[i].op != PATTERN_LETTER) continue;
            if (link->level_of_letter[index->steps[i].value] == NO_LEVEL) {
                return err_set(err, "letter %c is not bound in \"from\"",
                               (int)('a' + index->steps[i].value));
            }
        }
    }
    return true;
}

static bool is_expression(const TopologyEnd *end, uint32_t level) {
    return end->pattern.segments[level].index.kind == PATTERN_EXPRESSION;
}

uint32_t topology_link_copied(const TopologyLink *link, uint32_t level) {
    const PatternIndex *index = &link->to.pattern.segments[level].index;
    if (index->kind != PATTERN_EXPRESSION || index->step_count != 1) return NO_LEVEL;
    return link->level_of_letter[index->steps[0].value];
}

// Walks all values of the letters that stand in `to`.
typedef struct Combinations {
    uint32_t levels[PATTERN_LETTERS], count; // of `from`
    uint32_t letters[PATTERN_LETTERS];       // current value of every letter
    uint32_t range[PATTERN_LETTERS];         // current range of each level
    bool is_over;
} Combinations;

static uint64_t set_size(const PatternIndex *index) {
    uint64_t size = 0;
    for (uint32_t i = 0; i < index->range_count; i++)
        size += index->ranges[i].last - index->ranges[i].first + 1;
    return size;
}

static const PatternIndex *from_index(const TopologyLink *link, uint32_t level) {
    return &link->from.pattern.segments[level].index;
}

static bool start_combinations(TopologyLink *link, Combinations *out, Err *err) {
    uint64_t product = 1;
    bool used[PATTERN_LETTERS] = {false};
    *out = (Combinations){0};
    for (uint32_t level = 0; level < link->to.pattern.count; level++) {
        const PatternIndex *index = &link->to.pattern.segments[level].index;
        for (uint32_t i = 0; i < index->step_count; i++) {
            if (index->steps[i].op == PATTERN_LETTER) used[index->steps[i].value] = true;
        }
    }
    for (uint32_t i = 0; i < PATTERN_LETTERS; i++) {
        if (!used[i]) continue;
        const PatternIndex *index = from_index(link, link->level_of_letter[i]);
        product *= set_size(index);
        if (product > TOPOLOGY_COMBINATIONS_MAX) {
            return err_set(err, "the letters have more than %d combinations",
                           TOPOLOGY_COMBINATIONS_MAX);
        }
        out->letters[i] = index->ranges[0].first;
        out->levels[out->count++] = link->level_of_letter[i];
    }
    link->combinations = (uint32_t)product;
    return true;
}

static void next_combination(const TopologyLink *link, Combinations *at) {
    for (uint32_t k = at->count; k-- > 0;) {
        const PatternIndex *index = from_index(link, at->levels[k]);
        uint32_t *value = &at->letters[index->letter - 'a'];
        if (*value < index->ranges[at->range[k]].last) {
            ++*value;
            return;
        }
        if (at->range[k] + 1 < index->range_count) {
            *value = index->ranges[++at->range[k]].first;
            return;
        }
        at->range[k] = 0;
        *value = index->ranges[0].first;
    }
    at->is_over = true;
}

// The expression of a level has no value or one that does not exist: says for which letters.
static bool value_error(const TopologyLink *link, uint32_t level, const Combinations *at,
                        Err *err) {
    const PatternSegment *segment = &link->to.pattern.segments[level];
    Text letters = {0};
    int64_t value;
    for (uint32_t k = 0; k < at->count; k++) {
        char letter = from_index(link, at->levels[k])->letter;
        text_addf(&letters, "%s%c=%u", k == 0 ? "" : ", ", letter, at->letters[letter - 'a']);
    }
    if (pattern_evaluate(segment->index.steps, segment->index.step_count, at->letters, &value)) {
        err_set(err, "%s[%lld] does not exist, %s has indices 0 to %u (for %s)", segment->name,
                (long long)value, segment->name, link->to.size[level] - 1, text_string(&letters));
    } else {
        err_set(err, "the index of %s cannot be computed for %s", segment->name,
                text_string(&letters));
    }
    text_free(&letters);
    return false;
}

// A lone letter needs no trial: its values are those of its set.
static bool check_copy(const TopologyLink *link, uint32_t level, uint32_t from_level, Err *err) {
    const PatternIndex *index = from_index(link, from_level);
    uint32_t last = index->ranges[index->range_count - 1].last;
    const char *name = link->to.pattern.segments[level].name;
    if (last < link->to.size[level]) return true;
    return err_set(err, "%s[%u] does not exist, %s has indices 0 to %u (for %c=%u)", name, last,
                   name, link->to.size[level] - 1, index->letter, last);
}

static bool check_values(TopologyLink *link, Err *err) {
    bool needs_trial = false;
    for (uint32_t level = 0; level < link->to.pattern.count; level++) {
        uint32_t copied = topology_link_copied(link, level);
        if (copied != NO_LEVEL && !check_copy(link, level, copied, err)) return false;
        if (is_expression(&link->to, level) && copied == NO_LEVEL) needs_trial = true;
    }
    Combinations at;
    if (!needs_trial) return true;
    if (!start_combinations(link, &at, err)) return false;
    for (; !at.is_over; next_combination(link, &at)) {
        for (uint32_t level = 0; level < link->to.pattern.count; level++) {
            const PatternIndex *index = &link->to.pattern.segments[level].index;
            int64_t value;
            if (index->kind != PATTERN_EXPRESSION) continue;
            if (!pattern_evaluate(index->steps, index->step_count, at.letters, &value) ||
                value < 0 || value >= link->to.size[level]) {
                return value_error(link, level, &at, err);
            }
        }
    }
    return true;
}

static bool same_part(const TopologyLink *link) {
    uint32_t count = link->from.pattern.count;
    return count == link->to.pattern.count &&
           memcmp(link->from.part, link->to.part, count * sizeof link->from.part[0]) == 0;
}

// How the plain sets of both ends relate, over all levels without an expression.
typedef enum Overlap { OVERLAP_NONE, OVERLAP_PART, OVERLAP_EQUAL } Overlap;

static Overlap set_overlap(const PatternIndex *a, const PatternIndex *b) {
    bool equal = a->range_count == b->range_count &&
                 memcmp(a->ranges, b->ranges, a->range_count * sizeof a->ranges[0]) == 0;
    if (equal) return OVERLAP_EQUAL;
    for (uint32_t i = 0; i < a->range_count; i++) {
        for (uint32_t k = 0; k < b->range_count; k++) {
            if (a->ranges[i].first <= b->ranges[k].last && b->ranges[k].first <= a->ranges[i].last)
                return OVERLAP_PART;
        }
    }
    return OVERLAP_NONE;
}

static Overlap sets_overlap(const TopologyLink *link) {
    Overlap all = OVERLAP_EQUAL;
    for (uint32_t level = 0; level < link->to.pattern.count; level++) {
        if (is_expression(&link->to, level)) continue;
        Overlap one = set_overlap(from_index(link, level), &link->to.pattern.segments[level].index);
        if (one < all) all = one;
    }
    return all;
}

static uint32_t letter_at(const TopologyLink *link, uint32_t level) {
    return (uint32_t)(from_index(link, level)->letter - 'a');
}

// The letters of the part that the expressions make of a part. False when `from` does not name that
// part.
static bool letters_there(const TopologyLink *link, const Combinations *at, const uint32_t *here,
                          uint32_t *there) {
    bool is_named = true;
    for (uint32_t k = 0; k < at->count; k++) {
        const PatternIndex *index = &link->to.pattern.segments[at->levels[k]].index;
        int64_t value = 0;
        pattern_evaluate(index->steps, index->step_count, here, &value); // exists: check_values
        there[letter_at(link, at->levels[k])] = (uint32_t)value;
        if (!pattern_has(from_index(link, at->levels[k]), value)) is_named = false;
    }
    return is_named;
}

static bool same_letters(const TopologyLink *link, const Combinations *at, const uint32_t *a,
                         const uint32_t *b) {
    for (uint32_t k = 0; k < at->count; k++) {
        uint32_t letter = letter_at(link, at->levels[k]);
        if (a[letter] != b[letter]) return false;
    }
    return true;
}

// Neither may a part be linked to itself, nor may the expressions lead from the other part back to
// the first.
static bool try_both_ends(TopologyLink *link, Err *err) {
    Combinations at;
    if (!start_combinations(link, &at, err)) return false;
    uint32_t last = at.levels[at.count - 1];
    const char *name = link->to.pattern.segments[last].name;
    for (; !at.is_over; next_combination(link, &at)) {
        uint32_t there[PATTERN_LETTERS] = {0}, back[PATTERN_LETTERS] = {0};
        uint32_t here = at.letters[letter_at(link, last)];
        bool is_named = letters_there(link, &at, at.letters, there);
        if (same_letters(link, &at, at.letters, there)) {
            return err_set(err, "links %s[%u] to itself", name, here);
        }
        if (!is_named) continue;
        letters_there(link, &at, there, back);
        if (same_letters(link, &at, at.letters, back)) {
            return err_set(err,
                           "names the pair of %s[%u] from both ends: bind the letter to one of "
                           "them, such as i=%u",
                           name, here, here);
        }
    }
    return true;
}

static bool uses_letter(const PatternIndex *index, uint32_t letter) {
    for (uint32_t i = 0; i < index->step_count; i++) {
        if (index->steps[i].op == PATTERN_LETTER && index->steps[i].value == letter) return true;
    }
    return false;
}

// Letters that `to` uses must stand at the levels where `to` has expressions, so that trying them
// decides about pairs.
static bool check_levels(const TopologyLink *link, Err *err) {
    for (uint32_t level = 0; level < link->to.pattern.count; level++) {
        bool has_letter = from_index(link, level)->letter != 0, is_used = false;
        for (uint32_t i = 0; has_letter && i < link->to.pattern.count; i++) {
            const PatternIndex *index = &link->to.pattern.segments[i].index;
            if (uses_letter(index, letter_at(link, level))) is_used = true;
        }
        if (is_expression(&link->to, level) && !has_letter) {
            return err_set(err,
                           "both ends are the same part: its level %u needs a letter in \"from\"",
                           level + 1);
        }
        if (is_used && !is_expression(&link->to, level)) {
            return err_set(
                err, "both ends are the same part: its level %u needs an expression in \"to\"",
                level + 1);
        }
    }
    return true;
}

// When both ends name the same part: decides between pairs and plain, and refuses what is neither.
static bool decide_form(TopologyLink *link, Err *err) {
    bool all_copies = true;
    link->form = TOPOLOGY_PLAIN;
    if (!same_part(link)) return true;
    if (!check_levels(link, err)) return false;
    for (uint32_t level = 0; level < link->to.pattern.count; level++) {
        if (is_expression(&link->to, level) && topology_link_copied(link, level) != level) {
            all_copies = false;
        }
    }
    Overlap overlap = sets_overlap(link);
    if (overlap == OVERLAP_NONE) return true;
    if (!all_copies) return try_both_ends(link, err);
    if (overlap == OVERLAP_PART) {
        return err_set(err, "both ends name some of the same parts: write a rule for each set");
    }
    link->form = TOPOLOGY_PAIRS;
    return true;
}

static bool has_pair(const TopologyLink *link, Err *err) {
    uint64_t size = 1;
    if (link->form == TOPOLOGY_PLAIN) return true;
    for (uint32_t level = 0; level < link->to.pattern.count; level++) {
        if (!is_expression(&link->to, level)) size *= set_size(from_index(link, level));
    }
    return size > 1 || err_set(err, "links a part to itself");
}

bool topology_link_resolve(const Topology *topology, uint32_t template_id, uint32_t link,
                           TopologyLink *out, const char **out_field, Err *err) {
    const LinkRule *rule = &topology->templates[template_id].links[link];
    TopologyLink resolved = {0};
    *out_field = "from";
    if (!resolve_end(topology, template_id, rule->from, PATTERN_FROM, END_LEAF, &resolved.from,
                     err))
        return false;
    if (!bind_letters(&resolved, err)) return false;
    *out_field = "to";
    if (!resolve_end(topology, template_id, rule->to, PATTERN_TO, END_LEAF, &resolved.to, err))
        return false;
    if (!check_letters(&resolved, err) || !check_values(&resolved, err)) return false;
    if (!decide_form(&resolved, err) || !has_pair(&resolved, err)) return false;
    *out = resolved;
    return true;
}

bool topology_link_fault(const Topology *topology, const Fault *fault, TopologyLink *out,
                         const char **out_field, Err *err) {
    TopologyLink resolved = {0};
    bool is_part = *fault->to == '\0';
    *out_field = is_part ? "part" : "from";
    if (!resolve_end(topology, topology->machine, fault->from, PATTERN_FROM, END_ANY,
                     &resolved.from, err))
        return false;
    if (!bind_letters(&resolved, err)) return false;
    if (!is_part) {
        *out_field = "to";
        if (!resolve_end(topology, topology->machine, fault->to, PATTERN_TO, END_ANY, &resolved.to,
                         err))
            return false;
        if (!check_letters(&resolved, err) || !check_values(&resolved, err)) return false;
    }
    *out = resolved;
    return true;
}
