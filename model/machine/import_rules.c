// Many cables, few rules: cables of one kind between the same two parts are grouped by their far
// end; far ends with the same list of near ends share a rule, whose lists are split so that each
// fits a pattern. A quotient (gpu[i] to cpu[i/4]) is tried first.
//
// Invariant: the rules name each cable once. Everything is sorted by numbers, so that the order in
// which an importer found the cables makes no difference.
#include "model/machine/import_rules.h"

#include <stdlib.h>
#include <string.h>

#include "model/base/text.h"
#include "model/machine/pattern.h"

// Characters that an index list may take, with room for one more range.
#define LIST_CHARACTERS (PATTERN_INDEX_MAX - 24)

typedef struct Rules {
    const ImportGraph *graph;
    const ImportTemplate *in;
    Arena *arena;
    LinkRule *rules;
    uint32_t count, capacity;
} Rules;

// The near ends of one far end.
typedef struct Segment {
    const ImportEdge *first;
    uint32_t count;
    uint32_t far; // index of the far end
} Segment;

static int compare_u32(uint32_t a, uint32_t b) {
    return (a > b) - (a < b);
}

// All but the indices that a rule lists.
static int compare_group(const ImportEdge *a, const ImportEdge *b) {
    int order = compare_u32(a->a.part, b->a.part);
    if (order == 0) order = compare_u32(a->b.part, b->b.part);
    if (order == 0) order = compare_u32(a->a.inner, b->a.inner);
    if (order == 0) order = compare_u32(a->b.inner, b->b.inner);
    if (order == 0) order = compare_u32(a->a.inner_index, b->a.inner_index);
    if (order == 0) order = compare_u32(a->b.inner_index, b->b.inner_index);
    return order == 0 ? compare_u32(a->kind, b->kind) : order;
}

static int compare_ends(const ImportEdge *a, const ImportEdge *b) {
    int order = compare_u32(a->b.index, b->b.index);
    return order == 0 ? compare_u32(a->a.index, b->a.index) : order;
}

static int by_ends(const void *a, const void *b) {
    int order = compare_group(a, b);
    return order == 0 ? compare_ends(a, b) : order;
}

static int by_group(const void *a, const void *b) {
    const ImportEdge *x = a, *y = b;
    int order = compare_group(x, y);
    if (order == 0) order = compare_u32(x->cables, y->cables);
    return order == 0 ? compare_ends(x, y) : order;
}

// Equal cables become one edge with their number.
static bool merge(ImportTemplate *in, Err *err) {
    uint32_t kept = 0;
    qsort(in->edges, in->edge_count, sizeof *in->edges, by_ends);
    for (uint32_t i = 0; i < in->edge_count; i++) {
        if (kept > 0 && by_ends(&in->edges[kept - 1], &in->edges[i]) == 0)
            in->edges[kept - 1].cables += in->edges[i].cables;
        else
            in->edges[kept++] = in->edges[i];
        if (in->edges[kept - 1].cables > TOPOLOGY_CABLES_MAX)
            return err_set(err, "more than %d cables between two parts", TOPOLOGY_CABLES_MAX);
    }
    in->edge_count = kept;
    qsort(in->edges, in->edge_count, sizeof *in->edges, by_group);
    return true;
}

static int compare_lists(const Segment *a, const Segment *b) {
    int order = compare_u32(a->count, b->count);
    for (uint32_t i = 0; order == 0 && i < a->count; i++)
        order = compare_u32(a->first[i].a.index, b->first[i].a.index);
    return order;
}

static int by_list(const void *a, const void *b) {
    const Segment *x = a, *y = b;
    int order = compare_lists(x, y);
    return order == 0 ? compare_u32(x->far, y->far) : order;
}

// ---- Text of patterns

static void add_index(Text *out, uint32_t index) {
    text_addf(out, "[%u]", index);
}

static void add_inner(const Rules *rules, const ImportEnd *end, Text *out) {
    if (end->inner == IMPORT_NONE) return;
    uint32_t template_id = rules->in->parts[end->part].template_id;
    const Part *inner = &rules->graph->templates[template_id].parts[end->inner];
    text_addf(out, ".%s", inner->name);
    if (end->inner_index == IMPORT_ALL)
        text_add(out, "[*]");
    else if (inner->count > 1)
        add_index(out, end->inner_index);
}

static const char *pattern(const Rules *rules, const ImportEnd *end, const char *list) {
    const Part *part = &rules->in->parts[end->part];
    Text text = {0};
    text_add(&text, part->name);
    if (part->count > 1) text_addf(&text, "[%s]", list);
    add_inner(rules, end, &text);
    const char *copy = arena_string(rules->arena, text_string(&text));
    text_free(&text);
    return copy;
}

static bool add_rule(Rules *rules, const ImportEdge *like, const char *from, const char *to,
                     Err *err) {
    if (rules->count == TOPOLOGY_LINKS_MAX)
        return err_set(err,
                       "a machine so irregular that it needs more than %d rules of links, the "
                       "most that a topology can have",
                       TOPOLOGY_LINKS_MAX);
    LinkRule rule = rules->graph->kinds[like->kind];
    rule.from = pattern(rules, &like->a, from);
    rule.to = pattern(rules, &like->b, to);
    rule.source = arena_string(rules->arena, rule.source);
    rule.cables = like->cables;
    rules->rules = mem_grow(rules->rules, &rules->capacity, rules->count + 1, sizeof *rules->rules);
    rules->rules[rules->count++] = rule;
    return true;
}

// Index lists of ascending numbers, each short enough for a pattern. Number i is `numbers` at
// stride bytes.
typedef struct Numbers {
    const uint32_t *first;
    size_t stride;
    uint32_t count;
} Numbers;

static uint32_t number_at(const Numbers *numbers, uint32_t i) {
    return *(const uint32_t *)(const void *)((const char *)numbers->first + i * numbers->stride);
}

static uint32_t list_texts(const Numbers *numbers, uint32_t part_count, Text **texts,
                           uint32_t *capacity) {
    uint32_t lists = 0, ranges = PATTERN_RANGES_MAX;
    for (uint32_t i = 0; i < numbers->count;) {
        uint32_t first = number_at(numbers, i), last = first;
        while (++i < numbers->count && number_at(numbers, i) == last + 1) last++;
        bool is_full = ranges == PATTERN_RANGES_MAX || (*texts)[lists - 1].length > LIST_CHARACTERS;
        if (is_full) {
            *texts = mem_grow(*texts, capacity, lists + 1, sizeof **texts);
            (*texts)[lists++] = (Text){0};
            ranges = 0;
        }
        Text *text = &(*texts)[lists - 1];
        if (ranges++ > 0) text_add_char(text, ',');
        if (first == 0 && last + 1 == part_count)
            text_add_char(text, '*');
        else if (first == last)
            text_addf(text, "%u", first);
        else
            text_addf(text, "%u-%u", first, last);
    }
    return lists;
}

static void free_texts(Text *texts, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) text_free(&texts[i]);
    mem_free(texts);
}

// One rule for each pair of lists.
static bool add_product(Rules *rules, const Segment *segments, uint32_t count, Err *err) {
    const ImportEdge *like = segments[0].first;
    Numbers near = {&like->a.index, sizeof *like, segments[0].count};
    Numbers far = {&segments[0].far, sizeof *segments, count};
    Text *from = NULL, *to = NULL;
    uint32_t from_capacity = 0, to_capacity = 0;
    const Part *parts = rules->in->parts;
    uint32_t from_count = list_texts(&near, parts[like->a.part].count, &from, &from_capacity);
    uint32_t to_count = list_texts(&far, parts[like->b.part].count, &to, &to_capacity);
    bool done = true;
    for (uint32_t i = 0; i < from_count && done; i++) {
        for (uint32_t k = 0; k < to_count && done; k++)
            done = add_rule(rules, like, text_string(&from[i]), text_string(&to[k]), err);
    }
    free_texts(from, from_count);
    free_texts(to, to_count);
    return done;
}

// ---- Groups

// Every near end i of a range has the far end i / divisor, and there is more than one far end.
static bool find_quotient(const ImportEdge *edges, uint32_t count, uint32_t *out) {
    uint32_t last = edges[count - 1].b.index, change = 0;
    if (edges[0].b.index == last || edges[0].a.part == edges[0].b.part) return false;
    while (edges[change].b.index == edges[0].b.index) change++;
    if (edges[change].b.index == 0) return false;
    uint32_t divisor = edges[change].a.index / edges[change].b.index;
    if (divisor == 0) return false;
    for (uint32_t i = 0; i < count; i++) {
        if (edges[i].a.index != edges[0].a.index + i) return false;
        if (edges[i].a.index / divisor != edges[i].b.index) return false;
    }
    *out = divisor;
    return true;
}

static bool add_quotient(Rules *rules, const ImportEdge *edges, uint32_t count, uint32_t divisor,
                         Err *err) {
    Text from = {0}, to = {0};
    uint32_t first = edges[0].a.index, last = edges[count - 1].a.index;
    text_add_char(&from, 'i');
    if (first != 0 || last + 1 != rules->in->parts[edges[0].a.part].count)
        text_addf(&from, "=%u-%u", first, last);
    text_add_char(&to, 'i');
    if (divisor > 1) text_addf(&to, "/%u", divisor);
    bool done = add_rule(rules, edges, text_string(&from), text_string(&to), err);
    text_free(&from);
    text_free(&to);
    return done;
}

// All pairs of all copies of one part.
static bool is_complete(const Rules *rules, const ImportEdge *edges, uint32_t count) {
    uint64_t copies = rules->in->parts[edges[0].a.part].count;
    return edges[0].a.part == edges[0].b.part && edges[0].a.inner == IMPORT_NONE &&
           edges[0].b.inner == IMPORT_NONE && copies > 2 && count == copies * (copies - 1) / 2;
}

static bool add_lists(Rules *rules, const ImportEdge *edges, uint32_t count, Err *err) {
    Segment *segments = mem_alloc(count, sizeof *segments);
    uint32_t segment_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || edges[i].b.index != edges[i - 1].b.index)
            segments[segment_count++] = (Segment){&edges[i], 0, edges[i].b.index};
        segments[segment_count - 1].count++;
    }
    qsort(segments, segment_count, sizeof *segments, by_list);
    bool done = true;
    for (uint32_t i = 0, end; i < segment_count && done; i = end) {
        end = i + 1;
        while (end < segment_count && compare_lists(&segments[i], &segments[end]) == 0) end++;
        done = add_product(rules, &segments[i], end - i, err);
    }
    mem_free(segments);
    return done;
}

static bool add_group(Rules *rules, const ImportEdge *edges, uint32_t count, Err *err) {
    uint32_t divisor;
    if (is_complete(rules, edges, count)) return add_rule(rules, edges, "*", "*", err);
    if (find_quotient(edges, count, &divisor))
        return add_quotient(rules, edges, count, divisor, err);
    return add_lists(rules, edges, count, err);
}

bool import_rules_make(ImportGraph *graph, uint32_t in, Arena *arena, LinkRule **out,
                       uint32_t *out_count, Err *err) {
    ImportTemplate *t = &graph->templates[in];
    Rules rules = {.graph = graph, .in = t, .arena = arena};
    bool done = t->edge_count == 0 || merge(t, err);
    for (uint32_t i = 0, end; done && i < t->edge_count; i = end) {
        end = i + 1;
        while (end < t->edge_count && compare_group(&t->edges[i], &t->edges[end]) == 0 &&
               t->edges[i].cables == t->edges[end].cables)
            end++;
        done = add_group(&rules, &t->edges[i], end - i, err);
    }
    if (done) {
        *out = arena_copy(arena, rules.rules, rules.count, sizeof *rules.rules);
        *out_count = rules.count;
    }
    mem_free(rules.rules);
    return done;
}
