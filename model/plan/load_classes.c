// Loads with few different ranks.
//
// Invariant: the hottest rank of a layer stays the hottest and keeps its share to rounding (of
// layers that become one: their mean): it is what the others wait for. What is lost is how the rest
// differ among themselves, and how alike layers do.
#include "model/plan/load_classes.h"

#include <stdlib.h>

#include "model/base/wide.h"

// Means are whole to 2^-20 of a token where the counts leave room below 2^53, which files hold.
#define SCALE_MAX (UINT64_C(1) << 20)
#define COUNT_MAX (UINT64_C(1) << 53)

// Layers of different totals are brought to one of at most this before they are added: as many as
// LOAD_COUNTS_MAX layers then fit 64 bits.
#define TOTAL_MAX (UINT64_C(1) << 40)

// A rank and its tokens, for sorting.
typedef struct RankLoad {
    uint64_t tokens;
    uint32_t rank;
} RankLoad;

// One row: tokens and experts of each rank, and whether it keeps its own.
typedef struct Ranks {
    uint32_t count;
    uint64_t *tokens;
    uint32_t *first, *experts;
    bool *keeps;
    RankLoad *sorted, *order; // of a layer; of the first of alike ones
} Ranks;

static Ranks open_ranks(const Load *load, uint32_t count, Arena *arena) {
    Ranks ranks = {.count = count,
                   .tokens = arena_alloc(arena, count, sizeof *ranks.tokens),
                   .first = arena_alloc(arena, count, sizeof *ranks.first),
                   .experts = arena_alloc(arena, count, sizeof *ranks.experts),
                   .keeps = arena_alloc(arena, count, sizeof *ranks.keeps),
                   .sorted = arena_alloc(arena, count, sizeof *ranks.sorted),
                   .order = arena_alloc(arena, count, sizeof *ranks.order)};
    for (uint32_t r = 0; r < count; r++)
        pool_cut(load->experts, count, r, &ranks.first[r], &ranks.experts[r]);
    return ranks;
}

static uint64_t rank_tokens(const Load *load, uint32_t layer, const Ranks *ranks, uint32_t rank,
                            uint64_t *whole) {
    uint64_t part;
    load_share(load, layer, load->experts, ranks->first[rank], ranks->experts[rank], &part, whole);
    return part;
}

// ---- Alike layers.

static int hotter_first(const void *a, const void *b) {
    const RankLoad *x = a, *y = b;
    if (x->tokens != y->tokens) return x->tokens > y->tokens ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void sort_ranks(const Load *load, uint32_t layer, const Ranks *ranks, RankLoad *out) {
    uint64_t whole;
    for (uint32_t r = 0; r < ranks->count; r++)
        out[r] = (RankLoad){rank_tokens(load, layer, ranks, r, &whole), r};
    qsort(out, ranks->count, sizeof *out, hotter_first);
}

static bool is_alike(const uint32_t *alike, uint32_t a, uint32_t b) {
    return a == b || (alike != NULL && alike[a] == alike[b]);
}

// The first layer that has the row of this one.
static uint32_t first_alike(const uint32_t *alike, uint32_t layer) {
    uint32_t first = 0;
    while (!is_alike(alike, first, layer)) first++;
    return first;
}

// Tokens of the ranks, summed over the layers that are alike: the hottest with the hottest. A layer
// alone keeps its counts.
static void sum_alike(const Load *load, const uint32_t *alike, uint32_t layer, Ranks *ranks) {
    uint64_t whole, total = TOTAL_MAX;
    uint32_t last = layer;
    rank_tokens(load, layer, ranks, 0, &whole);
    for (uint32_t l = layer; l < load->layers; l++)
        if (is_alike(alike, l, layer)) last = l;
    if (last == layer || whole < total) total = whole;
    sort_ranks(load, layer, ranks, ranks->order);
    for (uint32_t r = 0; r < ranks->count; r++) ranks->tokens[r] = 0;
    for (uint32_t l = layer; l <= last; l++) {
        if (!is_alike(alike, l, layer)) continue;
        rank_tokens(load, l, ranks, 0, &whole);
        sort_ranks(load, l, ranks, ranks->sorted);
        for (uint32_t r = 0; r < ranks->count; r++)
            ranks->tokens[ranks->order[r].rank] +=
                wide_mul_div(ranks->sorted[r].tokens, total, whole);
    }
}

uint32_t *load_classes_alike(const Pool *pool, const Arch *arch, uint32_t layers, Arena *arena) {
    uint32_t *alike = arena_alloc(arena, layers, sizeof *alike), next = 0;
    for (uint32_t stage = 0; stage < pool->pp; stage++) {
        uint32_t first, count;
        pool_stage_layers(pool, arch->layers, stage, &first, &count);
        for (uint32_t layer = first; layer < first + count && next < layers; layer++) {
            uint32_t kind = arch->kind_of_layer[layer];
            if (arch->mlps[arch->kinds[kind].mlp].experts > 0)
                alike[next++] = stage * arch->kind_count + kind;
        }
    }
    uint32_t alone = pool->pp * arch->kind_count;
    for (; next < layers; next++) alike[next] = alone++;
    return alike;
}

// ---- Classes.

static void keep_hottest(Ranks *ranks, uint32_t count) {
    for (uint32_t r = 0; r < ranks->count; r++) ranks->keeps[r] = false;
    for (uint32_t n = 0; n < count; n++) {
        uint32_t best = ranks->count;
        for (uint32_t r = 0; r < ranks->count; r++) {
            if (ranks->keeps[r]) continue;
            if (best == ranks->count || ranks->tokens[r] > ranks->tokens[best]) best = r;
        }
        ranks->keeps[best] = true;
    }
}

// Rounded to the nearest; halves up.
static uint64_t nearest(uint64_t tokens, uint64_t scale, uint64_t experts) {
    return experts == 0 ? 0 : (uint64_t)((wide_mul(tokens, scale) * 2 + experts) / 2 / experts);
}

static void write_row(const Ranks *ranks, uint64_t *row) {
    uint64_t rest = 0, whole = 0, scale = SCALE_MAX;
    uint32_t rest_experts = 0;
    for (uint32_t r = 0; r < ranks->count; r++) {
        whole += ranks->tokens[r];
        if (ranks->keeps[r]) continue;
        rest += ranks->tokens[r];
        rest_experts += ranks->experts[r];
    }
    while (scale > 1 && wide_mul(whole, scale) > COUNT_MAX) scale /= 2;
    for (uint32_t r = 0; r < ranks->count; r++) {
        uint64_t each = ranks->keeps[r] ? nearest(ranks->tokens[r], scale, ranks->experts[r])
                                        : nearest(rest, scale, rest_experts);
        for (uint32_t e = 0; e < ranks->experts[r]; e++) row[ranks->first[r] + e] = each;
    }
}

static double error_of(const Ranks *ranks, const uint64_t *row, uint32_t experts) {
    double before = 0, after = 0;
    for (uint32_t r = 0; r < ranks->count; r++) before += (double)ranks->tokens[r];
    for (uint32_t e = 0; e < experts; e++) after += (double)row[e];
    uint32_t hottest = 0;
    for (uint32_t r = 1; r < ranks->count; r++)
        if (ranks->tokens[r] > ranks->tokens[hottest]) hottest = r;
    double was = (double)ranks->tokens[hottest] / before, most = 0;
    for (uint32_t r = 0; r < ranks->count; r++) {
        double part = (double)row[ranks->first[r]] * ranks->experts[r] / after;
        if (part > most) most = part;
    }
    return most > was ? most / was - 1 : 1 - most / was;
}

bool load_classes_reduce(const Load *load, const LoadClasses *spec, Load *out, double *error,
                         Err *err) {
    uint32_t count = spec->ranks, classes = spec->classes;
    if (load->kind == LOAD_UNIFORM || count == 0 || count > load->experts || classes == 0)
        return err_set(err, "a load of %u experts has no %u classes of %u ranks", load->experts,
                       classes, count);
    Arena scratch = {0};
    Ranks ranks = open_ranks(load, count, &scratch);
    uint64_t *rows = arena_alloc(&scratch, (size_t)load->layers * load->experts, sizeof *rows);
    double worst = 0;
    for (uint32_t layer = 0; layer < load->layers; layer++) {
        uint32_t first = first_alike(spec->alike, layer);
        uint64_t *row = rows + (size_t)layer * load->experts;
        if (first < layer) {
            const uint64_t *same = rows + (size_t)first * load->experts;
            for (uint32_t e = 0; e < load->experts; e++) row[e] = same[e];
            continue;
        }
        sum_alike(load, spec->alike, layer, &ranks);
        keep_hottest(&ranks, classes <= count ? classes - 1 : count);
        write_row(&ranks, row);
        double here = error_of(&ranks, row, load->experts);
        if (here > worst) worst = here;
    }
    char *origin =
        arena_printf(&scratch, "%s, %u classes of %u ranks", load->origin, classes, count);
    bool done = load_of_counts(load->layers, 1, load->experts, rows, origin, out, err);
    if (done) *error = worst;
    arena_free(&scratch);
    return done;
}
