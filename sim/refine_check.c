// Counts what is around every item, and proves that the items of a class are alike.
//
// Invariant: nothing here relies on the colours: amounts are added up and compared exactly, so a
// partition that passes is equitable, whoever made it.
#include "sim/refine_class.h"

#include <assert.h>

#include "model/base/wide.h"

// Amounts by class of what is around one item.
typedef struct Bag {
    uint64_t *amounts; // by class, valid when the stamp is that of the bag
    uint32_t *stamps, *keys;
    uint32_t stamp, count;
    bool is_beyond; // an amount did not fit
} Bag;

// Lists of items, by what they belong to.
typedef struct Index {
    uint32_t *first, *items;
} Index;

typedef struct Checker {
    const RefineInput *input;
    const RefineList *list;
    const RefineRoutes *routes;
    const RefinePartition *partition;
    Arena scratch;
    Index uses_of_link;      // uses
    uint32_t *pair_of_use;   // by use
    Index transfers_of_pair; // transfers
    Index gatherings_of_rank;
    Bag wanted, found;
} Checker;

typedef void Fill(const Checker *checker, uint32_t item, Bag *bag);
typedef bool Alike(const Checker *checker, uint32_t a, uint32_t b);

static void open_bag(Checker *checker, Bag *bag, uint32_t classes) {
    bag->amounts = arena_alloc(&checker->scratch, classes, sizeof *bag->amounts);
    bag->stamps = arena_alloc(&checker->scratch, classes, sizeof *bag->stamps);
    bag->keys = arena_alloc(&checker->scratch, classes, sizeof *bag->keys);
}

static void empty(Bag *bag) {
    bag->stamp++;
    bag->count = 0;
}

static void add(Bag *bag, uint32_t key, uint64_t amount) {
    if (bag->stamps[key] != bag->stamp) {
        bag->stamps[key] = bag->stamp;
        bag->amounts[key] = 0;
        bag->keys[bag->count++] = key;
    }
    if (!wide_add_u64(bag->amounts[key], amount, &bag->amounts[key])) bag->is_beyond = true;
}

static bool bags_equal(const Bag *a, const Bag *b) {
    if (a->count != b->count) return false;
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t key = a->keys[i];
        if (b->stamps[key] != b->stamp || b->amounts[key] != a->amounts[key]) return false;
    }
    return true;
}

// From counts to positions: first[i + 1] holds the count of i.
static void sum_up(Index *index, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) index->first[i + 1] += index->first[i];
}

static Index open_index(Checker *checker, uint32_t owners, uint32_t items) {
    return (Index){arena_alloc(&checker->scratch, (size_t)owners + 2, sizeof(uint32_t)),
                   arena_alloc(&checker->scratch, items, sizeof(uint32_t))};
}

// The counts stand one place further on, so that dealing the items out leaves the starts.
static void index_uses(Checker *checker) {
    const RefineList *list = checker->list;
    Index index = open_index(checker, list->link_count, list->use_count);
    checker->pair_of_use = arena_alloc(&checker->scratch, list->use_count, sizeof(uint32_t));
    for (uint32_t u = 0; u < list->use_count; u++) index.first[list->uses[u].link + 2]++;
    sum_up(&index, list->link_count + 1);
    for (uint32_t p = 0; p < list->pair_count; p++)
        for (uint32_t i = 0; i < list->pairs[p].use_count; i++) {
            uint32_t u = list->pairs[p].first_use + i;
            checker->pair_of_use[u] = p;
            index.items[index.first[list->uses[u].link + 1]++] = u;
        }
    checker->uses_of_link = index;
}

static void index_transfers(Checker *checker) {
    const RefineList *list = checker->list;
    Index index = open_index(checker, list->pair_count, list->transfer_count);
    for (uint32_t t = 0; t < list->transfer_count; t++) index.first[list->transfers[t].pair + 2]++;
    sum_up(&index, list->pair_count + 1);
    for (uint32_t t = 0; t < list->transfer_count; t++)
        index.items[index.first[list->transfers[t].pair + 1]++] = t;
    checker->transfers_of_pair = index;
}

static void index_gatherings(Checker *checker) {
    const RefineList *list = checker->list;
    Index index = open_index(checker, list->rank_count, list->member_count);
    for (uint32_t i = 0; i < list->member_count; i++) index.first[list->members[i] + 2]++;
    sum_up(&index, list->rank_count + 1);
    for (uint32_t g = 0; g < list->gathering_count; g++)
        for (uint32_t i = 0; i < list->gatherings[g].member_count; i++) {
            uint32_t rank = list->members[list->gatherings[g].first_member + i];
            index.items[index.first[rank + 1]++] = g;
        }
    checker->gatherings_of_rank = index;
}

// ---- What is around an item, and what an item is by itself

static void fill_link(const Checker *checker, uint32_t item, Bag *bag) {
    const RefineList *list = checker->list;
    const Index *uses = &checker->uses_of_link, *transfers = &checker->transfers_of_pair;
    for (uint32_t i = uses->first[item]; i < uses->first[item + 1]; i++) {
        const RefineUse *use = &list->uses[uses->items[i]];
        uint32_t pair = checker->pair_of_use[uses->items[i]];
        for (uint32_t j = transfers->first[pair]; j < transfers->first[pair + 1]; j++)
            add(bag, checker->partition->transfers.of[transfers->items[j]],
                (uint64_t)use->weight * use->many);
    }
}

static bool links_alike(const Checker *checker, uint32_t a, uint32_t b) {
    const FabricLink *x = &checker->list->links[a].of, *y = &checker->list->links[b].of;
    return x->capacity_Bps == y->capacity_Bps && x->link_class == y->link_class;
}

static void fill_transfer(const Checker *checker, uint32_t item, Bag *bag) {
    const RefineList *list = checker->list;
    const RefinePair *pair = &list->pairs[list->transfers[item].pair];
    for (uint32_t u = pair->first_use; u < pair->first_use + pair->use_count; u++) {
        const RefineUse *use = &list->uses[u];
        add(bag, checker->partition->links.of[use->link],
            (uint64_t)use->weight * list->links[use->link].planes);
    }
}

static bool transfers_alike(const Checker *checker, uint32_t a, uint32_t b) {
    const RefineTransfer *x = &checker->list->transfers[a], *y = &checker->list->transfers[b];
    const RefineForm *f = &checker->routes->forms[checker->list->pairs[x->pair].form];
    const RefineForm *g = &checker->routes->forms[checker->list->pairs[y->pair].form];
    const uint32_t *gathering = checker->partition->gatherings.of;
    return gathering[x->gathering] == gathering[y->gathering] && x->step == y->step &&
           x->bytes == y->bytes && f->latency_ps == g->latency_ps &&
           f->step_param == g->step_param && f->scale == g->scale &&
           tier_shape_equal(&f->tier, &g->tier);
}

// Ranks and transfers have keys of their own: first the classes of ranks.
static void fill_gathering(const Checker *checker, uint32_t item, Bag *bag) {
    const RefineList *list = checker->list;
    const RefineGathering *gathering = &list->gatherings[item];
    uint32_t rank_classes = checker->partition->ranks.count;
    for (uint32_t i = 0; i < gathering->member_count; i++)
        add(bag, checker->partition->ranks.of[list->members[gathering->first_member + i]], 1);
    for (uint32_t i = 0; i < gathering->transfer_count; i++)
        add(bag, rank_classes + checker->partition->transfers.of[gathering->first_transfer + i], 1);
}

static bool gatherings_alike(const Checker *checker, uint32_t a, uint32_t b) {
    return checker->list->gatherings[a].channel == checker->list->gatherings[b].channel;
}

static void fill_rank(const Checker *checker, uint32_t item, Bag *bag) {
    const Index *gatherings = &checker->gatherings_of_rank;
    for (uint32_t i = gatherings->first[item]; i < gatherings->first[item + 1]; i++)
        add(bag, checker->partition->gatherings.of[gatherings->items[i]], 1);
}

static bool ranks_alike(const Checker *checker, uint32_t a, uint32_t b) {
    const RefineRank *x = &checker->list->ranks[a], *y = &checker->list->ranks[b];
    const Schedule *schedule = checker->input->schedule;
    uint32_t x_part, x_whole, y_part, y_whole;
    fabric_gpu_rate(checker->input->fabric, x->gpu, &x_part, &x_whole);
    fabric_gpu_rate(checker->input->fabric, y->gpu, &y_part, &y_whole);
    if (x->role != y->role || x_part != y_part || x_whole != y_whole) return false;
    if (checker->input->load->kind == LOAD_UNIFORM) return true;
    for (OpId id = 0; id < schedule->op_count; id++)
        if (schedule->ops[id].kind == OP_GROUPED_GEMM &&
            schedule_op_role(schedule, id) == x->role &&
            refine_list_rows(checker->input, id, x->rank) !=
                refine_list_rows(checker->input, id, y->rank))
            return false;
    return true;
}

// ---- The proof

// Compares every item with the first of its class. Calls come class by class.
static bool check_classes(Checker *checker, const RefineClasses *classes, uint32_t count,
                          Fill *fill, Alike *alike) {
    Index members = open_index(checker, classes->count, count);
    for (uint32_t i = 0; i < count; i++) members.first[classes->of[i] + 2]++;
    sum_up(&members, classes->count + 1);
    for (uint32_t i = 0; i < count; i++) members.items[members.first[classes->of[i] + 1]++] = i;
    for (uint32_t c = 0; c < classes->count; c++) {
        uint32_t first = members.items[members.first[c]];
        assert(first == classes->first[c]);
        if (members.first[c + 1] - members.first[c] == 1) continue;
        empty(&checker->wanted);
        fill(checker, first, &checker->wanted);
        for (uint32_t i = members.first[c] + 1; i < members.first[c + 1]; i++) {
            empty(&checker->found);
            fill(checker, members.items[i], &checker->found);
            if (!alike(checker, first, members.items[i]) ||
                !bags_equal(&checker->wanted, &checker->found))
                return false;
        }
    }
    return true;
}

static bool is_equitable(Checker *checker) {
    const RefineList *list = checker->list;
    const RefinePartition *partition = checker->partition;
    return check_classes(checker, &partition->links, list->link_count, fill_link, links_alike) &&
           check_classes(checker, &partition->transfers, list->transfer_count, fill_transfer,
                         transfers_alike) &&
           check_classes(checker, &partition->gatherings, list->gathering_count, fill_gathering,
                         gatherings_alike) &&
           check_classes(checker, &partition->ranks, list->rank_count, fill_rank, ranks_alike);
}

// What transfers put on the first link of a class.
static void fill_load(Checker *checker, uint32_t class_id) {
    empty(&checker->found);
    fill_link(checker, checker->partition->links.first[class_id], &checker->found);
}

// Counted first and then dealt out, because there may be millions. The counts stand one place
// further on, as in index_uses.
static void count_loads(Checker *checker, Arena *arena, RefineLoads *out) {
    const RefinePartition *partition = checker->partition;
    const Bag *bag = &checker->found;
    uint32_t classes = partition->transfers.count;
    uint32_t *first = arena_alloc(arena, (size_t)classes + 2, sizeof *first);
    for (uint32_t c = 0; c < partition->links.count; c++) {
        fill_load(checker, c);
        for (uint32_t i = 0; i < bag->count; i++) first[bag->keys[i] + 2]++;
    }
    for (uint32_t i = 0; i < classes; i++) first[i + 2] += first[i + 1];
    RefineEdge *edges = arena_alloc(arena, first[classes + 1], sizeof *edges);
    for (uint32_t c = 0; c < partition->links.count; c++) {
        fill_load(checker, c);
        for (uint32_t i = 0; i < bag->count; i++)
            edges[first[bag->keys[i] + 1]++] =
                (RefineEdge){.link = c, .coefficient = bag->amounts[bag->keys[i]]};
    }
    *out = (RefineLoads){edges, first};
}

bool refine_check(const RefineInput *input, const RefineList *list, const RefineRoutes *routes,
                  const RefinePartition *partition, Arena *arena, RefineLoads *out, Err *err) {
    Checker checker = {.input = input, .list = list, .routes = routes, .partition = partition};
    uint32_t keys = partition->ranks.count + partition->transfers.count;
    if (keys < partition->links.count) keys = partition->links.count;
    if (keys < partition->gatherings.count) keys = partition->gatherings.count;
    open_bag(&checker, &checker.wanted, keys);
    open_bag(&checker, &checker.found, keys);
    index_uses(&checker);
    index_transfers(&checker);
    index_gatherings(&checker);
    bool done = is_equitable(&checker) ||
                err_set(err, "two things that differ got one colour; simulate it expanded");
    if (done) count_loads(&checker, arena, out);
    if (done && checker.found.is_beyond)
        done = err_set(err, "a link is in more transfers than can be counted");
    arena_free(&checker.scratch);
    return done;
}
