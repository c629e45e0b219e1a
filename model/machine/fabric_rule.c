// Link rules as arithmetic on digits.
//
// Invariant: for every instance k of a rule, walking from either end of fabric_rule_ends(k) finds
// the other end exactly once, by the links first + 2k and first + 2k + 1; every partner that a walk
// gives has such an instance.
#include "model/machine/fabric_rule.h"

#include <assert.h>
#include <string.h>

void fabric_rule_digits(const VertexClass *in, VertexId vertex, uint32_t *digits) {
    uint32_t rest = vertex - in->first;
    for (uint32_t i = in->digit_count; i-- > 1;) {
        digits[i] = rest % in->shape[i];
        rest /= in->shape[i];
    }
    digits[0] = rest;
}

VertexId fabric_rule_vertex(const VertexClass *in, const uint32_t *digits) {
    uint32_t index = digits[0];
    for (uint32_t i = 1; i < in->digit_count; i++) index = index * in->shape[i] + digits[i];
    return in->first + index;
}

static uint32_t number_at(const FabricSet *set, uint32_t rank) {
    uint32_t i = 0;
    while (rank > set->ranges[i].last - set->ranges[i].first) {
        rank -= set->ranges[i].last - set->ranges[i].first + 1;
        i++;
    }
    return set->ranges[i].first + rank;
}

// The rank of a number, or UINT32_MAX.
static uint32_t rank_in(const FabricSet *set, uint32_t number) {
    uint32_t before = 0;
    for (uint32_t i = 0; i < set->range_count; i++) {
        if (number < set->ranges[i].first) return UINT32_MAX;
        if (number <= set->ranges[i].last) return before + number - set->ranges[i].first;
        before += set->ranges[i].last - set->ranges[i].first + 1;
    }
    return UINT32_MAX;
}

static FabricSet full_set(uint32_t count) {
    return (FabricSet){.count = count, .range_count = 1, .ranges = {{0, count - 1}}};
}

static FabricSet set_of(const PatternIndex *index) {
    FabricSet set = {.range_count = index->range_count};
    memcpy(set.ranges, index->ranges, sizeof set.ranges);
    for (uint32_t i = 0; i < set.range_count; i++)
        set.count += set.ranges[i].last - set.ranges[i].first + 1;
    return set;
}

static FabricDigit digit_of(const TopologyLink *link, uint32_t level, uint32_t base) {
    const PatternIndex *index = &link->to.pattern.segments[level].index;
    uint32_t copied = topology_link_copied(link, level);
    FabricDigit digit = {.kind = FABRIC_FREE};
    if (index->kind != PATTERN_EXPRESSION) {
        digit.set = set_of(index);
    } else if (copied != UINT32_MAX) {
        digit.kind = FABRIC_COPY;
        digit.copied = base + copied;
    } else {
        digit.kind = FABRIC_COMPUTED;
        digit.step_count = index->step_count;
        memcpy(digit.steps, index->steps, sizeof digit.steps);
        for (uint32_t i = 0; i < digit.step_count; i++) {
            if (digit.steps[i].op != PATTERN_LETTER) continue;
            digit.steps[i].value = base + link->level_of_letter[digit.steps[i].value];
        }
    }
    return digit;
}

// Recognises x + c, x - c, (x + c) % m, (x - c) % m, x / c and x % c, in which each value comes
// from few x.
static void invert_computed(const FabricDigit *digit, uint32_t level, FabricRule *rule) {
    const PatternStep *steps = digit->steps;
    uint32_t count = digit->step_count;
    if (count != 3 && count != 5) return;
    if (steps[0].op != PATTERN_LETTER || steps[1].op != PATTERN_CONST) return;
    FabricInverse *inverse = &rule->inverse[steps[0].value];
    FabricInverse found = {.level = level, .constant = steps[1].value};
    bool is_sum = steps[2].op == PATTERN_ADD || steps[2].op == PATTERN_SUB;
    if (steps[2].op == PATTERN_SUB) found.constant = -found.constant;
    if (count == 3 && is_sum) {
        found.kind = FABRIC_SHIFT;
    } else if (count == 3 && found.constant > 0 && steps[2].op == PATTERN_DIV) {
        found.kind = FABRIC_QUOTIENT;
    } else if (count == 3 && found.constant > 0 && steps[2].op == PATTERN_MOD) {
        found.kind = FABRIC_REMAINDER;
    } else if (count == 5 && is_sum && steps[3].op == PATTERN_CONST && steps[3].value > 0 &&
               steps[4].op == PATTERN_MOD) {
        found.kind = FABRIC_SHIFT;
        found.modulus = steps[3].value;
    } else {
        return;
    }
    if (inverse->kind == FABRIC_TRY) *inverse = found;
}

static void invert(FabricRule *rule) {
    for (uint32_t level = 0; level < rule->to_levels; level++) {
        const FabricDigit *digit = &rule->to[level];
        if (digit->kind == FABRIC_COPY) {
            rule->inverse[digit->copied] = (FabricInverse){.kind = FABRIC_SAME, .level = level};
        } else if (digit->kind == FABRIC_COMPUTED) {
            invert_computed(digit, level, rule);
        }
    }
}

// The first computed level with a letter that nothing else tells, or FABRIC_NONE.
static uint32_t level_to_list(const FabricRule *rule) {
    for (uint32_t level = 0; level < rule->to_levels; level++) {
        const FabricDigit *digit = &rule->to[level];
        for (uint32_t i = 0; digit->kind == FABRIC_COMPUTED && i < digit->step_count; i++) {
            if (digit->steps[i].op != PATTERN_LETTER) continue;
            if (rule->inverse[digit->steps[i].value].kind == FABRIC_TRY) return level;
        }
    }
    return FABRIC_NONE;
}

static void add_level(FabricTable *table, uint32_t level) {
    for (uint32_t i = 0; i < table->level_count; i++) {
        if (table->levels[i] == level) return;
    }
    table->levels[table->level_count++] = level;
}

// Digits of the table's levels at a rank over their sets.
static void set_listed(const FabricRule *rule, const FabricTable *table, uint32_t rank,
                       uint32_t *digits) {
    for (uint32_t i = table->level_count; i-- > 0;) {
        const FabricSet *set = &rule->from[table->levels[i]];
        digits[table->levels[i]] = number_at(set, rank % set->count);
        rank /= set->count;
    }
}

static uint32_t value_at(const FabricRule *rule, const FabricTable *table, uint32_t rank) {
    const FabricDigit *digit = &rule->to[table->to_level];
    uint32_t digits[FABRIC_DIGITS_MAX] = {0};
    int64_t value = 0;
    set_listed(rule, table, rank, digits);
    bool known = pattern_evaluate(digit->steps, digit->step_count, digits, &value);
    assert(known && value >= 0);
    (void)known;
    return (uint32_t)value;
}

// Sorts the ranks by the value that they give, by counting.
static void list_ranks(Arena *arena, uint32_t values, FabricRule *rule) {
    uint32_t level = level_to_list(rule), total = 1;
    FabricTable *table = arena_alloc(arena, 1, sizeof *table);
    table->to_level = level;
    for (uint32_t i = 0; i < rule->to[level].step_count; i++) {
        if (rule->to[level].steps[i].op == PATTERN_LETTER)
            add_level(table, rule->to[level].steps[i].value);
    }
    for (uint32_t i = 0; i < table->level_count; i++) {
        total *= rule->from[table->levels[i]].count; // at most TOPOLOGY_COMBINATIONS_MAX
        rule->inverse[table->levels[i]] = (FabricInverse){.kind = FABRIC_LISTED};
    }
    table->start = arena_alloc(arena, (size_t)values + 1, sizeof *table->start);
    table->ranks = arena_alloc(arena, total, sizeof *table->ranks);
    for (uint32_t rank = 0; rank < total; rank++) table->start[value_at(rule, table, rank) + 1]++;
    for (uint32_t i = 0; i < values; i++) table->start[i + 1] += table->start[i];
    for (uint32_t rank = total; rank-- > 0;) {
        uint32_t end = table->start[value_at(rule, table, rank) + 1];
        table->ranks[--end] = rank;
        table->start[value_at(rule, table, rank) + 1] = end;
    }
    memmove(table->start, table->start + 1, values * sizeof *table->start);
    table->start[values] = total;
    rule->table = table;
}

static void count_instances(FabricRule *rule) {
    rule->from_count = rule->to_count = rule->box_count = 1;
    for (uint32_t i = 0; i < rule->from_levels; i++) rule->from_count *= rule->from[i].count;
    for (uint32_t i = 0; i < rule->to_levels; i++) {
        if (rule->to[i].kind == FABRIC_FREE) rule->to_count *= rule->to[i].set.count;
    }
    rule->instances = rule->from_count * rule->to_count; // both at most TOPOLOGY_PARTS_MAX
    if (rule->form == TOPOLOGY_PLAIN) return;
    rule->box_count = rule->to_count;
    rule->instances =
        rule->from_count / rule->box_count * (rule->box_count * (rule->box_count - 1) / 2);
}

bool fabric_rule_compile(Fabric *fabric, const TopologyLink *link, uint32_t base, FabricRule *rule,
                         Err *err) {
    const VertexClass *from = &fabric->classes[rule->from_class],
                      *to = &fabric->classes[rule->to_class];
    rule->form = link->form;
    rule->from_levels = from->digit_count;
    rule->to_levels = to->digit_count;
    for (uint32_t i = 0; i < base; i++) {
        rule->from[i] = full_set(from->shape[i]);
        rule->to[i] = (FabricDigit){.kind = FABRIC_COPY, .copied = i};
    }
    for (uint32_t i = base; i < from->digit_count; i++) {
        rule->from[i] = set_of(&link->from.pattern.segments[i - base].index);
    }
    for (uint32_t i = base; i < to->digit_count; i++) rule->to[i] = digit_of(link, i - base, base);
    invert(rule);
    count_instances(rule);
    uint32_t listed = level_to_list(rule);
    if (listed != FABRIC_NONE) list_ranks(&fabric->arena, to->shape[listed], rule);
    if (rule->instances >= (uint64_t)(FABRIC_NONE / 2 - rule->first / 2)) {
        return err_set(err, "the machine has more than %u links", FABRIC_NONE / 2);
    }
    return true;
}

// Levels of a rule of pairs that differ between the ends.
static bool is_box_level(const FabricRule *rule, uint32_t level) {
    return rule->to[level].kind == FABRIC_FREE;
}

// Digits of the vertex at a rank of the box; the other digits stay.
static void set_box(const FabricRule *rule, uint64_t rank, uint32_t *digits) {
    for (uint32_t i = rule->from_levels; i-- > 0;) {
        if (!is_box_level(rule, i)) continue;
        digits[i] = number_at(&rule->from[i], (uint32_t)(rank % rule->from[i].count));
        rank /= rule->from[i].count;
    }
}

// Rank of the digits over the box levels, or over the others; UINT64_MAX when a digit is not in its
// set.
typedef enum Levels { LEVELS_ALL, LEVELS_BOX, LEVELS_EQUAL } Levels;
static uint64_t from_rank(const FabricRule *rule, Levels levels, const uint32_t *digits) {
    uint64_t rank = 0;
    for (uint32_t i = 0; i < rule->from_levels; i++) {
        if (levels == LEVELS_BOX && !is_box_level(rule, i)) continue;
        if (levels == LEVELS_EQUAL && is_box_level(rule, i)) continue;
        uint32_t one = rank_in(&rule->from[i], digits[i]);
        if (one == UINT32_MAX) return UINT64_MAX;
        rank = rank * rule->from[i].count + one;
    }
    return rank;
}

// Number of the pair (low, high) of n: rows of n - 1, n - 2, ... pairs.
static uint64_t pair_number(uint64_t n, uint64_t low, uint64_t high) {
    return low * (2 * n - low - 1) / 2 + (high - low - 1);
}

static void pair_of(uint64_t n, uint64_t number, uint64_t *low, uint64_t *high) {
    uint64_t least = 0, most = n - 2;
    while (least < most) {
        uint64_t middle = (least + most + 1) / 2;
        if (pair_number(n, middle, middle + 1) <= number) {
            least = middle;
        } else {
            most = middle - 1;
        }
    }
    *low = least;
    *high = number - pair_number(n, least, least + 1) + least + 1;
}

static void computed_digits(const FabricRule *rule, const uint32_t *from, uint32_t *to) {
    for (uint32_t i = 0; i < rule->to_levels; i++) {
        const FabricDigit *digit = &rule->to[i];
        int64_t value = 0;
        if (digit->kind == FABRIC_COPY) to[i] = from[digit->copied];
        if (digit->kind != FABRIC_COMPUTED) continue;
        bool known = pattern_evaluate(digit->steps, digit->step_count, from, &value);
        assert(known && value >= 0);
        (void)known;
        to[i] = (uint32_t)value;
    }
}

static void set_free(const FabricRule *rule, uint64_t rank, uint32_t *digits) {
    for (uint32_t i = rule->to_levels; i-- > 0;) {
        const FabricDigit *digit = &rule->to[i];
        if (digit->kind != FABRIC_FREE) continue;
        digits[i] = number_at(&digit->set, (uint32_t)(rank % digit->set.count));
        rank /= digit->set.count;
    }
}

static void from_digits(const FabricRule *rule, uint64_t rank, uint32_t *digits) {
    for (uint32_t i = rule->from_levels; i-- > 0;) {
        digits[i] = number_at(&rule->from[i], (uint32_t)(rank % rule->from[i].count));
        rank /= rule->from[i].count;
    }
}

static void equal_digits(const FabricRule *rule, uint64_t rank, uint32_t *digits) {
    for (uint32_t i = rule->from_levels; i-- > 0;) {
        if (is_box_level(rule, i)) continue;
        digits[i] = number_at(&rule->from[i], (uint32_t)(rank % rule->from[i].count));
        rank /= rule->from[i].count;
    }
}

const FabricRule *fabric_rule_of(const Fabric *fabric, LinkId link) {
    assert(link < fabric->link_count);
    uint32_t low = 0, high = fabric->rule_count - 1;
    while (low < high) {
        uint32_t middle = (low + high + 1) / 2;
        if (fabric->rules[middle].first <= link)
            low = middle;
        else
            high = middle - 1;
    }
    return &fabric->rules[low];
}

void fabric_rule_ends(const Fabric *fabric, const FabricRule *rule, uint64_t instance,
                      VertexId *from, VertexId *to) {
    uint32_t a[FABRIC_DIGITS_MAX] = {0}, b[FABRIC_DIGITS_MAX] = {0};
    if (rule->form == TOPOLOGY_PAIRS) {
        uint64_t pairs = rule->box_count * (rule->box_count - 1) / 2, low, high;
        pair_of(rule->box_count, instance % pairs, &low, &high);
        equal_digits(rule, instance / pairs, a);
        memcpy(b, a, sizeof b);
        set_box(rule, low, a);
        set_box(rule, high, b);
    } else {
        from_digits(rule, instance / rule->to_count, a);
        computed_digits(rule, a, b);
        set_free(rule, instance % rule->to_count, b);
    }
    *from = fabric_rule_vertex(&fabric->classes[rule->from_class], a);
    *to = fabric_rule_vertex(&fabric->classes[rule->to_class], b);
}

static void start_from(FabricWalk *walk) {
    walk->rank = from_rank(walk->rule, LEVELS_ALL, walk->here);
    if (walk->rank == UINT64_MAX) return;
    computed_digits(walk->rule, walk->here, walk->partner);
    walk->end = walk->rule->to_count;
}

static void start_both(FabricWalk *walk) {
    if (from_rank(walk->rule, LEVELS_ALL, walk->here) == UINT64_MAX) return;
    walk->rank = from_rank(walk->rule, LEVELS_BOX, walk->here);
    memcpy(walk->partner, walk->here, sizeof walk->partner);
    walk->end = walk->rule->box_count;
}

// The candidates for one level of `from`, given the digits of a `to` vertex.
static void start_level(FabricWalk *walk, uint32_t level) {
    const FabricInverse *inverse = &walk->rule->inverse[level];
    const FabricSet *set = &walk->rule->from[level];
    int64_t first = walk->here[inverse->level], last = set->ranges[set->range_count - 1].last,
            step = 1, end = first;
    walk->is_free[level] = false;
    switch (inverse->kind) {
    case FABRIC_TRY:
        walk->is_free[level] = true;
        walk->count[level] = set->count;
        return;
    case FABRIC_LISTED: walk->count[level] = 1; return;
    case FABRIC_SAME: break;
    case FABRIC_SHIFT:
        first -= inverse->constant;
        end = first;
        if (inverse->modulus == 0) break;
        step = inverse->modulus;
        first = (first % step + step) % step;
        end = last;
        break;
    case FABRIC_QUOTIENT:
        first *= inverse->constant;
        end = first + inverse->constant - 1;
        break;
    case FABRIC_REMAINDER:
        step = inverse->constant;
        end = last;
        break;
    }
    if (end > last) end = last;
    walk->start[level] = (uint32_t)first;
    walk->step[level] = (uint32_t)step;
    walk->count[level] = first < 0 || end < first ? 0 : (uint32_t)((end - first) / step) + 1;
}

static void start_to(FabricWalk *walk) {
    const FabricRule *rule = walk->rule;
    walk->rank = 0;
    for (uint32_t i = 0; i < rule->to_levels; i++) {
        if (rule->to[i].kind != FABRIC_FREE) continue;
        uint32_t one = rank_in(&rule->to[i].set, walk->here[i]);
        if (one == UINT32_MAX) return;
        walk->rank = walk->rank * rule->to[i].set.count + one;
    }
    walk->listed_count = 1;
    if (rule->table != NULL) {
        uint32_t value = walk->here[rule->table->to_level];
        walk->listed = rule->table->start[value];
        walk->listed_count = rule->table->start[value + 1] - walk->listed;
    }
    walk->end = walk->listed_count;
    for (uint32_t level = 0; level < rule->from_levels; level++) {
        start_level(walk, level);
        walk->end *= walk->count[level];
    }
}

void fabric_rule_walk(const Fabric *fabric, const FabricRule *rule, FabricSide side,
                      VertexId vertex, FabricWalk *walk) {
    walk->fabric = fabric;
    walk->rule = rule;
    walk->side = side;
    walk->position = walk->end = 0;
    fabric_rule_digits(&fabric->classes[side == FABRIC_TO ? rule->to_class : rule->from_class],
                       vertex, walk->here);
    switch (side) {
    case FABRIC_FROM: start_from(walk); break;
    case FABRIC_TO: start_to(walk); break;
    case FABRIC_BOTH: start_both(walk); break;
    }
}

static void next_from(FabricWalk *walk, uint64_t position, VertexId *partner, LinkId *link) {
    const FabricRule *rule = walk->rule;
    set_free(rule, position, walk->partner);
    *partner = fabric_rule_vertex(&walk->fabric->classes[rule->to_class], walk->partner);
    *link = rule->first + 2 * (LinkId)(walk->rank * rule->to_count + position);
}

static bool next_both(FabricWalk *walk, uint64_t position, VertexId *partner, LinkId *link) {
    const FabricRule *rule = walk->rule;
    if (position == walk->rank) return false;
    set_box(rule, position, walk->partner);
    *partner = fabric_rule_vertex(&walk->fabric->classes[rule->from_class], walk->partner);
    uint64_t pairs = rule->box_count * (rule->box_count - 1) / 2;
    uint64_t low = position < walk->rank ? position : walk->rank;
    uint64_t high = position < walk->rank ? walk->rank : position;
    uint64_t instance =
        from_rank(rule, LEVELS_EQUAL, walk->here) * pairs + pair_number(rule->box_count, low, high);
    *link = rule->first + 2 * (LinkId)instance + (position < walk->rank);
    return true;
}

// A candidate counts when its digits are in the sets of `from` and its computed digits are those of
// the vertex.
static bool next_to(FabricWalk *walk, uint64_t position, VertexId *partner, LinkId *link) {
    const FabricRule *rule = walk->rule;
    uint32_t back[FABRIC_DIGITS_MAX];
    if (rule->table != NULL) {
        uint32_t listed = walk->listed + (uint32_t)(position % walk->listed_count);
        position /= walk->listed_count;
        set_listed(rule, rule->table, rule->table->ranks[listed], walk->partner);
    }
    for (uint32_t i = rule->from_levels; i-- > 0;) {
        if (rule->inverse[i].kind == FABRIC_LISTED) continue;
        uint32_t k = (uint32_t)(position % walk->count[i]);
        position /= walk->count[i];
        walk->partner[i] =
            walk->is_free[i] ? number_at(&rule->from[i], k) : walk->start[i] + k * walk->step[i];
    }
    uint64_t rank = from_rank(rule, LEVELS_ALL, walk->partner);
    if (rank == UINT64_MAX) return false;
    computed_digits(rule, walk->partner, back);
    for (uint32_t i = 0; i < rule->to_levels; i++) {
        if (rule->to[i].kind != FABRIC_FREE && back[i] != walk->here[i]) return false;
    }
    *partner = fabric_rule_vertex(&walk->fabric->classes[rule->from_class], walk->partner);
    *link = rule->first + 2 * (LinkId)(rank * rule->to_count + walk->rank) + 1;
    return true;
}

bool fabric_rule_next(FabricWalk *walk, VertexId *partner, LinkId *link) {
    while (walk->position < walk->end) {
        uint64_t position = walk->position++;
        bool found = true;
        switch (walk->side) {
        case FABRIC_FROM: next_from(walk, position, partner, link); break;
        case FABRIC_TO: found = next_to(walk, position, partner, link); break;
        case FABRIC_BOTH: found = next_both(walk, position, partner, link); break;
        }
        if (found) return true;
    }
    return false;
}

// The instance that joins these digits, or UINT64_MAX.
static uint64_t plain_instance(const FabricRule *rule, const uint32_t *from, const uint32_t *to) {
    uint32_t computed[FABRIC_DIGITS_MAX];
    uint64_t rank = from_rank(rule, LEVELS_ALL, from), free_rank = 0;
    if (rank == UINT64_MAX) return UINT64_MAX;
    computed_digits(rule, from, computed);
    for (uint32_t i = 0; i < rule->to_levels; i++) {
        const FabricDigit *digit = &rule->to[i];
        if (digit->kind != FABRIC_FREE && computed[i] != to[i]) return UINT64_MAX;
        if (digit->kind != FABRIC_FREE) continue;
        uint32_t one = rank_in(&digit->set, to[i]);
        if (one == UINT32_MAX) return UINT64_MAX;
        free_rank = free_rank * digit->set.count + one;
    }
    return rank * rule->to_count + free_rank;
}

static bool pair_between(const FabricRule *rule, const uint32_t *a, const uint32_t *b,
                         LinkId *link) {
    if (from_rank(rule, LEVELS_ALL, a) == UINT64_MAX ||
        from_rank(rule, LEVELS_ALL, b) == UINT64_MAX)
        return false;
    uint64_t equal = from_rank(rule, LEVELS_EQUAL, a),
             pairs = rule->box_count * (rule->box_count - 1) / 2;
    uint64_t here = from_rank(rule, LEVELS_BOX, a), there = from_rank(rule, LEVELS_BOX, b);
    if (equal != from_rank(rule, LEVELS_EQUAL, b) || here == there) return false;
    uint64_t number = here < there ? pair_number(rule->box_count, here, there)
                                   : pair_number(rule->box_count, there, here);
    *link = rule->first + 2 * (LinkId)(equal * pairs + number) + (there < here);
    return true;
}

bool fabric_rule_between(const Fabric *fabric, const FabricRule *rule, FabricSide side,
                         VertexId vertex, VertexId partner, LinkId *link) {
    uint32_t here[FABRIC_DIGITS_MAX], there[FABRIC_DIGITS_MAX];
    const VertexClass *from = &fabric->classes[rule->from_class],
                      *to = &fabric->classes[rule->to_class];
    fabric_rule_digits(side == FABRIC_TO ? to : from, vertex, here);
    fabric_rule_digits(side == FABRIC_TO ? from : to, partner, there);
    if (side == FABRIC_BOTH) return pair_between(rule, here, there, link);
    uint64_t instance =
        side == FABRIC_FROM ? plain_instance(rule, here, there) : plain_instance(rule, there, here);
    if (instance == UINT64_MAX) return false;
    *link = rule->first + 2 * (LinkId)instance + (side == FABRIC_TO);
    return true;
}
