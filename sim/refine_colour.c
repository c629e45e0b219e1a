// Colour refinement: what looks different is told apart, until nothing more does.
//
// One structure of ranks, gatherings, transfers and links; every item has a colour, and in each
// round a new one made of its old one and of the colours around it: a rank sees its gatherings, a
// gathering its ranks and transfers, a transfer its gathering and, weighted, its links, a link,
// weighted, the transfers on it. Colours are sums of mixed words, so that order has no part. It
// ends when a round finds no more colours: the coarsest equitable partition. Sources: R. Paige, R.
// E. Tarjan, "Three partition refinement algorithms", SIAM J. Comput. 16 (1987) 973-989; C.
// Berkholz, P. Bonsma, M. Grohe, "Tight lower and upper bounds for the complexity of canonical
// colour refinement", Theory Comput. Syst. 60 (2017) 581-614.
//
// Invariant: colours only ever split. Two items that differ get one colour with a probability of
// 2^-64; refine_check then refuses the run, so that a wrong merge cannot reach a result.
#include "sim/refine_class.h"

typedef struct Colours {
    const RefineList *list;
    const RefineRoutes *routes;
    uint64_t *ranks, *gatherings, *transfers, *links;
    uint64_t *rank_sums, *pair_sums, *link_sums; // scratch
    uint32_t counts[4];
} Colours;

static void start(Colours *colours) {
    const RefineList *list = colours->list;
    for (uint32_t i = 0; i < list->rank_count; i++)
        colours->ranks[i] = refine_mix(list->ranks[i].fixed);
    for (uint32_t i = 0; i < list->gathering_count; i++)
        colours->gatherings[i] = refine_mix2(2, list->gatherings[i].channel);
    for (uint32_t i = 0; i < list->transfer_count; i++) {
        const RefineTransfer *transfer = &list->transfers[i];
        const RefineForm *form = &colours->routes->forms[list->pairs[transfer->pair].form];
        uint64_t colour = refine_mix2(3, transfer->step);
        colour = refine_mix2(colour, transfer->bytes);
        colour = refine_mix2(colour, (uint64_t)form->latency_ps);
        colour = refine_mix2(colour, (uint64_t)form->step_param);
        colour = refine_mix2(colour, form->tier_key);
        colours->transfers[i] = refine_mix2(colour, form->scale);
    }
    for (uint32_t i = 0; i < list->link_count; i++) {
        const FabricLink *link = &list->links[i].of;
        colours->links[i] = refine_mix2(refine_mix2(4, link->capacity_Bps), link->link_class);
    }
}

static void clear(uint64_t *sums, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) sums[i] = 0;
}

// A factor for a weight, odd.
static uint64_t factor(uint32_t weight, uint32_t scale) {
    return refine_mix2(weight, scale) | 1;
}

// Links see the transfers on them: those of a pair together.
static void see_transfers(Colours *colours) {
    const RefineList *list = colours->list;
    clear(colours->pair_sums, list->pair_count);
    clear(colours->link_sums, list->link_count);
    for (uint32_t i = 0; i < list->transfer_count; i++)
        colours->pair_sums[list->transfers[i].pair] += refine_mix(colours->transfers[i]);
    for (uint32_t p = 0; p < list->pair_count; p++) {
        const RefinePair *pair = &list->pairs[p];
        uint32_t scale = colours->routes->forms[pair->form].scale;
        for (uint32_t u = pair->first_use; u < pair->first_use + pair->use_count; u++) {
            const RefineUse *use = &list->uses[u];
            colours->link_sums[use->link] +=
                colours->pair_sums[p] * factor(use->weight, scale) * use->many;
        }
    }
    for (uint32_t i = 0; i < list->link_count; i++)
        colours->links[i] = refine_mix2(colours->links[i], colours->link_sums[i]);
}

// Transfers see their links and their gathering.
static void see_links(Colours *colours) {
    const RefineList *list = colours->list;
    for (uint32_t p = 0; p < list->pair_count; p++) {
        const RefinePair *pair = &list->pairs[p];
        uint64_t sum = 0;
        for (uint32_t u = pair->first_use; u < pair->first_use + pair->use_count; u++)
            sum += refine_mix2(colours->links[list->uses[u].link], list->uses[u].weight) *
                   list->links[list->uses[u].link].planes;
        colours->pair_sums[p] = sum;
    }
    for (uint32_t i = 0; i < list->transfer_count; i++) {
        const RefineTransfer *transfer = &list->transfers[i];
        uint64_t around = refine_mix2(colours->gatherings[transfer->gathering],
                                      colours->pair_sums[transfer->pair]);
        colours->transfers[i] = refine_mix2(colours->transfers[i], around);
    }
}

// Gatherings see their ranks, of a message in order, and their transfers.
static void see_members(Colours *colours) {
    const RefineList *list = colours->list;
    for (uint32_t g = 0; g < list->gathering_count; g++) {
        const RefineGathering *gathering = &list->gatherings[g];
        uint64_t sum = 0;
        for (uint32_t i = 0; i < gathering->member_count; i++)
            sum += refine_mix(colours->ranks[list->members[gathering->first_member + i]]);
        for (uint32_t i = 0; i < gathering->transfer_count; i++)
            sum += refine_mix2(5, colours->transfers[gathering->first_transfer + i]);
        colours->gatherings[g] = refine_mix2(colours->gatherings[g], sum);
    }
}

// Ranks see their gatherings.
static void see_gatherings(Colours *colours) {
    const RefineList *list = colours->list;
    clear(colours->rank_sums, list->rank_count);
    for (uint32_t g = 0; g < list->gathering_count; g++) {
        const RefineGathering *gathering = &list->gatherings[g];
        for (uint32_t i = 0; i < gathering->member_count; i++)
            colours->rank_sums[list->members[gathering->first_member + i]] +=
                refine_mix(colours->gatherings[g]);
    }
    for (uint32_t i = 0; i < list->rank_count; i++)
        colours->ranks[i] = refine_mix2(colours->ranks[i], colours->rank_sums[i]);
}

// Numbers the colours in order of their first items.
static void number(const uint64_t *colours, uint32_t count, uint32_t *of, uint32_t *first,
                   uint32_t *out_count) {
    KeyMap map = {0};
    uint32_t classes = 0, class_id = KEYMAP_NONE;
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 || colours[i] != colours[i - 1]) class_id = keymap_find(&map, colours[i]);
        if (class_id == KEYMAP_NONE) {
            class_id = classes++;
            keymap_add(&map, colours[i], class_id);
            if (first != NULL) first[class_id] = i;
        }
        if (of != NULL) of[i] = class_id;
    }
    *out_count = classes;
    keymap_free(&map);
}

static bool has_split(Colours *colours) {
    const RefineList *list = colours->list;
    const uint64_t *items[] = {colours->ranks, colours->gatherings, colours->transfers,
                               colours->links};
    const uint32_t counts[] = {list->rank_count, list->gathering_count, list->transfer_count,
                               list->link_count};
    bool more = false;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t count;
        number(items[i], counts[i], NULL, NULL, &count);
        more = more || count > colours->counts[i];
        colours->counts[i] = count;
    }
    return more;
}

static void keep(const uint64_t *colours, uint32_t count, uint32_t classes, Arena *arena,
                 RefineClasses *out) {
    out->of = arena_alloc(arena, count, sizeof *out->of);
    out->first = arena_alloc(arena, classes, sizeof *out->first);
    number(colours, count, out->of, out->first, &out->count);
}

void refine_colour(const RefineList *list, const RefineRoutes *routes, Arena *arena,
                   RefinePartition *out) {
    Arena scratch = {0};
    Colours colours = {.list = list, .routes = routes};
    colours.ranks = arena_alloc(&scratch, list->rank_count, sizeof(uint64_t));
    colours.gatherings = arena_alloc(&scratch, list->gathering_count, sizeof(uint64_t));
    colours.transfers = arena_alloc(&scratch, list->transfer_count, sizeof(uint64_t));
    colours.links = arena_alloc(&scratch, list->link_count, sizeof(uint64_t));
    colours.rank_sums = arena_alloc(&scratch, list->rank_count, sizeof(uint64_t));
    colours.pair_sums = arena_alloc(&scratch, list->pair_count, sizeof(uint64_t));
    colours.link_sums = arena_alloc(&scratch, list->link_count, sizeof(uint64_t));
    start(&colours);
    out->rounds = 0;
    do {
        see_transfers(&colours);
        see_links(&colours);
        see_members(&colours);
        see_gatherings(&colours);
        out->rounds++;
    } while (has_split(&colours));
    keep(colours.ranks, list->rank_count, colours.counts[0], arena, &out->ranks);
    keep(colours.gatherings, list->gathering_count, colours.counts[1], arena, &out->gatherings);
    keep(colours.transfers, list->transfer_count, colours.counts[2], arena, &out->transfers);
    keep(colours.links, list->link_count, colours.counts[3], arena, &out->links);
    arena_free(&scratch);
}

static void keep_all(uint32_t count, Arena *arena, RefineClasses *out) {
    *out = (RefineClasses){.of = arena_alloc(arena, count, sizeof *out->of), .count = count};
    for (uint32_t i = 0; i < count; i++) out->of[i] = i;
    out->first = out->of;
}

void refine_colour_nothing(const RefineList *list, Arena *arena, RefinePartition *out) {
    keep_all(list->rank_count, arena, &out->ranks);
    keep_all(list->gathering_count, arena, &out->gatherings);
    keep_all(list->transfer_count, arena, &out->transfers);
    keep_all(list->link_count, arena, &out->links);
    out->rounds = 0;
}
