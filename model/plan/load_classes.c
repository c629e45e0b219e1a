// Loads with few different ranks.
//
// Invariant: the hottest rank of a layer stays the hottest and keeps its share to rounding: it is
// what the others wait for. What is lost is how the rest differ among themselves.
#include "model/plan/load_classes.h"

#include "model/base/wide.h"

// Means are whole to 2^-20 of a token where the counts leave room below 2^53, which files hold.
#define SCALE_MAX (UINT64_C(1) << 20)
#define COUNT_MAX (UINT64_C(1) << 53)

// One layer: tokens and experts of each rank, and whether it keeps its own.
typedef struct Ranks {
    uint32_t count;
    uint64_t *tokens;
    uint32_t *first, *experts;
    bool *keeps;
} Ranks;

static void fill_ranks(const Load *load, uint32_t layer, Ranks *ranks) {
    uint32_t base = load->experts / ranks->count, longer = load->experts % ranks->count, next = 0;
    for (uint32_t r = 0; r < ranks->count; r++) {
        uint64_t whole;
        ranks->first[r] = next;
        ranks->experts[r] = base + (r < longer);
        ranks->keeps[r] = false;
        load_share(load, layer, load->experts, next, ranks->experts[r], &ranks->tokens[r], &whole);
        next += ranks->experts[r];
    }
}

static void keep_hottest(Ranks *ranks, uint32_t count) {
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

static void write_row(const Ranks *ranks, uint64_t scale, uint64_t *row) {
    uint64_t rest = 0, rest_experts = 0;
    for (uint32_t r = 0; r < ranks->count; r++) {
        if (ranks->keeps[r]) continue;
        rest += ranks->tokens[r];
        rest_experts += ranks->experts[r];
    }
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

bool load_classes_reduce(const Load *load, uint32_t ranks, uint32_t classes, Load *out,
                         double *error, Err *err) {
    if (load->kind == LOAD_UNIFORM || ranks == 0 || ranks > load->experts || classes == 0)
        return err_set(err, "a load of %u experts has no %u classes of %u ranks", load->experts,
                       classes, ranks);
    Arena scratch = {0};
    Ranks all = {.count = ranks,
                 .tokens = arena_alloc(&scratch, ranks, sizeof(uint64_t)),
                 .first = arena_alloc(&scratch, ranks, sizeof(uint32_t)),
                 .experts = arena_alloc(&scratch, ranks, sizeof(uint32_t)),
                 .keeps = arena_alloc(&scratch, ranks, sizeof(bool))};
    uint64_t *rows = arena_alloc(&scratch, (size_t)load->layers * load->experts, sizeof *rows);
    double worst = 0;
    for (uint32_t layer = 0; layer < load->layers; layer++) {
        uint64_t part, whole, scale = SCALE_MAX;
        uint64_t *row = rows + (size_t)layer * load->experts;
        load_share(load, layer, load->experts, 0, 0, &part, &whole);
        while (scale > 1 && wide_mul(whole, scale) > COUNT_MAX) scale /= 2;
        fill_ranks(load, layer, &all);
        keep_hottest(&all, classes <= ranks ? classes - 1 : ranks);
        write_row(&all, scale, row);
        double here = error_of(&all, row, load->experts);
        if (here > worst) worst = here;
    }
    char *origin =
        arena_printf(&scratch, "%s, %u classes of %u ranks", load->origin, classes, ranks);
    bool done = load_of_counts(load->layers, 1, load->experts, rows, origin, out, err);
    if (done) *error = worst;
    arena_free(&scratch);
    return done;
}
