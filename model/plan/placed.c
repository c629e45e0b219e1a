// From a load of experts to the load of a pool's slots.
//
// Invariant: where experts lie follows from the pool, the expected load and the number of nodes
// alone, so that a plan file and the load beside it say all; the tokens that arrive only fill the
// slots. Source: vLLM and SGLang, which keep experts in order unless their load balancer is on, and
// then place by counts that were seen before.
#include "model/plan/placed.h"

#include "model/plan/eplb.h"

// Tokens of an expert in a uniform load: divides evenly among up to 16 replicas (the least common
// multiple of 1 to 16), and to 2e-6 among more.
#define EVEN_TOKENS UINT64_C(720720)

// The experts of a layer and the layers that have them; 0 without.
typedef struct Experts {
    uint32_t count, groups, layers;
} Experts;

static Experts experts_of(const Arch *arch) {
    Experts experts = {0};
    for (uint32_t i = 0; i < arch->kind_count; i++) {
        const MlpSpec *mlp = &arch->mlps[arch->kinds[i].mlp];
        if (mlp->experts == 0) continue;
        experts.count = mlp->experts;
        experts.groups = mlp->groups;
        experts.layers += arch->kinds[i].count;
    }
    return experts;
}

static const uint64_t *row_of(const Load *load, uint32_t layer) {
    return load->tokens + (size_t)(load->layers == 1 ? 0 : layer) * load->sources * load->experts;
}

// The load in counts, with rows for so many layers.
static bool count_rows(const Load *load, const Experts *experts, uint32_t layers, Load *out,
                       Err *err) {
    Arena scratch = {0};
    bool is_even = load->kind == LOAD_UNIFORM;
    uint32_t sources = is_even ? 1 : load->sources;
    if ((uint64_t)layers * sources > LOAD_COUNTS_MAX / experts->count)
        return err_set(err, "%u layers of %u experts from %u sources are more than %u counts",
                       layers, experts->count, sources, (unsigned)LOAD_COUNTS_MAX);
    uint32_t row = sources * experts->count;
    uint64_t *tokens = arena_alloc(&scratch, (size_t)layers * row, sizeof *tokens);
    for (uint32_t layer = 0; layer < layers; layer++)
        for (uint32_t i = 0; i < row; i++)
            tokens[(size_t)layer * row + i] = is_even ? EVEN_TOKENS : row_of(load, layer)[i];
    bool done = load_of_counts(layers, sources, experts->count, tokens, load->origin, out, err);
    arena_free(&scratch);
    return done;
}

// Over the first `layers` of a load in counts.
static double mean_balance(const Load *load, uint32_t layers, uint32_t ranks) {
    double sum = 0;
    for (uint32_t layer = 0; layer < layers; layer++) sum += eplb_balance(load, layer, ranks);
    return sum / layers;
}

static double balance_in_order(const Pool *pool, const Experts *experts, const Load *load) {
    uint32_t first, most; // position 0 has the most experts
    pool_experts(pool, experts->count, 0, &first, &most);
    if (load->kind == LOAD_UNIFORM) return (double)experts->count / (double)pool->ep / most;
    return mean_balance(load, load->layers == 1 ? 1 : experts->layers, pool->ep);
}

// Fills the slots that `expected` places with the tokens of `arriving`; both have the same layers.
static bool fill_slots(const Load *expected, const Load *arriving, const EplbSpec *spec, Load *out,
                       Err *err) {
    Eplb eplb = {0};
    bool done = eplb_place(expected, spec, &eplb, err) && eplb_slots(arriving, &eplb, out, err);
    eplb_free(&eplb);
    return done;
}

// Whether all ranks get the same in every layer, as a uniform load of slots gives it.
static bool is_even(const Load *load, uint32_t ranks) {
    uint32_t held = load->experts / ranks;
    for (uint32_t layer = 0; layer < load->layers; layer++) {
        for (uint32_t rank = 0; rank < ranks; rank++) {
            uint64_t part, first, whole;
            load_share(load, layer, load->experts, 0, held, &first, &whole);
            load_share(load, layer, load->experts, rank * held, held, &part, &whole);
            if (part != first) return false;
        }
    }
    return true;
}

typedef struct Loads {
    const Load *load, *expected;
} Loads;

static bool place(const Pool *pool, const Experts *experts, const Loads *given, uint32_t nodes,
                  Placed *out, Err *err) {
    const Load *load = given->load, *expected = given->expected;
    bool is_one = (load->kind == LOAD_UNIFORM || load->layers == 1) &&
                  (expected->kind == LOAD_UNIFORM || expected->layers == 1);
    uint32_t layers = is_one ? 1 : experts->layers;
    EplbSpec spec = {.gpus = pool->ep,
                     .nodes = nodes > 0 && pool->ep % nodes == 0 ? nodes : 1,
                     .groups = experts->groups,
                     .redundant = pool->redundant_experts};
    Load wanted = {0}, arriving = {0}, slots = {0};
    bool done = count_rows(expected, experts, layers, &wanted, err) &&
                count_rows(load, experts, layers, &arriving, err) &&
                fill_slots(&wanted, &arriving, &spec, &slots, err);
    if (done) {
        *out = (Placed){.balance_in_order = balance_in_order(pool, experts, load),
                        .balance = mean_balance(&slots, layers, pool->ep)};
        if (load->kind == LOAD_UNIFORM && is_even(&slots, pool->ep)) {
            load_free(&slots);
            slots = load_uniform();
        }
        out->load = slots;
    }
    load_free(&wanted);
    load_free(&arriving);
    return done;
}

// The load as it is, borrowed.
static Placed borrowed(const Load *load, double balance) {
    Placed placed = {.load = *load, .balance_in_order = balance, .balance = balance};
    placed.load.arena = (Arena){0};
    return placed;
}

bool placed_load(const Pool *pool, const Arch *arch, const PlacedSpec *spec, Placed *out,
                 Err *err) {
    Load even = load_uniform();
    Experts experts = experts_of(arch);
    Loads given = {.load = spec->load == NULL ? &even : spec->load};
    given.expected = spec->expected == NULL ? given.load : spec->expected;
    if (experts.count == 0) {
        *out = borrowed(given.load, 1);
        return true;
    }
    if (!load_check(given.load, experts.layers, experts.count, err) ||
        !load_check(given.expected, experts.layers, experts.count, err))
        return false;
    if (pool->expert_placement == EXPERT_PLACEMENT_EPLB)
        return place(pool, &experts, &given, spec->nodes, out, err);
    *out = borrowed(given.load, balance_in_order(pool, &experts, given.load));
    return true;
}
