// Cells: runs of ranks that are alike by translation, so that one of them is listed for all.
//
// On a uniform fabric the values of any one digit may be permuted for all GPUs together (fabric.h).
// When roles, groups and messages repeat every `size` ranks and stay inside such runs, and a run is
// a range of values of one digit with all inner digits, exchanging two ranges, or two values of an
// outer digit, maps the transfers to themselves: cells are an orbit. Faults, and cells that are not
// used, leave those exchanges that map them to themselves. So values of a digit are compared by all
// that is not symmetric about them; those that compare equal are a class, and cells are alike when
// all their digits are of the same classes.
//
// Invariant: the cells of a kind are all combinations of the values of their classes, and the one
// that is looked at has the lowest of each: so cells of two kinds that share a link meet at it.
#include "sim/refine_list.h"

#include "model/base/wide.h"
#include "model/plan/schedule_wire.h"

typedef struct Finder {
    const RefineInput *input;
    const RefineRoutes *routes;
    const FabricShape *shape;
    RoleId *owners;
    uint32_t size; // of a cell
    uint32_t digit_count, divisor;
    uint32_t values[FABRIC_DIGITS_MAX];
    uint64_t *marks[FABRIC_DIGITS_MAX]; // [values]: what is not symmetric about a value
} Finder;

// ---- The size of a cell

static uint64_t common_multiple(uint64_t a, uint64_t b) {
    return b == 0 ? a : a / wide_gcd(a, b) * b;
}

static uint64_t role_period(const RankSet *ranks, uint32_t rank_count) {
    if (schedule_set_size(ranks) == rank_count) return 1;
    return ranks->repeat > 1 ? ranks->period : rank_count;
}

static uint64_t family_period(const GroupFamily *family) {
    bool repeats = family->per_period > 0 && family->count > family->per_period;
    uint32_t stride = family->stride > 0 ? family->stride : 1;
    return repeats ? family->period : (uint64_t)stride * family->size;
}

// The least size that roles and groups repeat after and that nests with the digits of the shape.
static uint32_t nested_size(const Finder *finder) {
    const Schedule *schedule = finder->input->schedule;
    uint64_t size = 1, block = 1, most = schedule->rank_count;
    for (RoleId r = 0; r < schedule->role_count && size <= most; r++)
        size = common_multiple(size, role_period(&schedule->roles[r].ranks, schedule->rank_count));
    for (GroupId g = 0; g < schedule->group_count && size <= most; g++)
        size = common_multiple(size, family_period(&schedule->groups[g]));
    for (uint32_t d = finder->shape->digit_count; d-- > 0 && size <= most;) {
        block *= finder->shape->size[d];
        if (size % block != 0 && block % size != 0) size = common_multiple(size, block);
    }
    return size < most ? (uint32_t)size : (uint32_t)most;
}

static bool groups_repeat(const Finder *finder, const GroupFamily *family, uint32_t rank) {
    uint32_t group, position, next_group, next_position, size = finder->size;
    bool is_in = schedule_group_of(family, rank, &group, &position);
    if (is_in && schedule_group_member(family, group, 0) / size !=
                     schedule_group_member(family, group, family->size - 1) / size)
        return false;
    if (rank + size >= finder->input->schedule->rank_count) return true;
    bool next_is_in = schedule_group_of(family, rank + size, &next_group, &next_position);
    if (is_in != next_is_in) return false;
    return !is_in ||
           (position == next_position && schedule_group_member(family, next_group, 0) ==
                                             schedule_group_member(family, group, 0) + size);
}

static bool messages_repeat(const Finder *finder, const Op *op, uint32_t rank) {
    const Schedule *schedule = finder->input->schedule;
    const RankSet *from = &schedule->roles[finder->owners[rank]].ranks;
    const RankSet *to = &schedule->roles[op->comm.peer].ranks;
    uint32_t index, next;
    if (!schedule_set_index(from, rank, &index)) return false;
    uint32_t target = schedule_rank_at(to, index);
    if (target / finder->size != rank / finder->size) return false;
    if (rank + finder->size >= schedule->rank_count) return true;
    return schedule_set_index(from, rank + finder->size, &next) &&
           schedule_rank_at(to, next) == target + finder->size;
}

// Under a recorded load ranks differ by their experts.
static bool experts_repeat(const Finder *finder, OpId op, uint32_t rank) {
    const Schedule *schedule = finder->input->schedule;
    if (finder->input->load->kind == LOAD_UNIFORM || !load_sizes_op(&schedule->ops[op]) ||
        rank + finder->size >= schedule->rank_count)
        return true;
    uint32_t first, count, next_first, next_count;
    load_rank_experts(schedule, op, rank, &first, &count);
    load_rank_experts(schedule, op, rank + finder->size, &next_first, &next_count);
    return first == next_first && count == next_count;
}

static bool repeats(const Finder *finder) {
    const Schedule *schedule = finder->input->schedule;
    uint32_t ranks = schedule->rank_count;
    for (uint32_t r = 0; r + finder->size < ranks; r++)
        if (finder->owners[r] != finder->owners[r + finder->size]) return false;
    for (GroupId g = 0; g < schedule->group_count; g++)
        for (uint32_t r = 0; r < ranks; r++)
            if (!groups_repeat(finder, &schedule->groups[g], r)) return false;
    for (OpId id = 0; id < schedule->op_count; id++) {
        RoleId role = schedule_op_role(schedule, id);
        bool sends = schedule->ops[id].kind == OP_SEND;
        for (uint32_t r = 0; r < ranks; r++) {
            if (finder->owners[r] != role) continue;
            if (sends && !messages_repeat(finder, &schedule->ops[id], r)) return false;
            if (!experts_repeat(finder, id, r)) return false;
        }
    }
    return true;
}

// ---- Digits of cells

static void find_digits(Finder *finder) {
    uint32_t block = 1, d = finder->shape->digit_count;
    while (d > 0 && block * finder->shape->size[d - 1] <= finder->size)
        block *= finder->shape->size[--d];
    // the digit d - 1 is cut into ranges
    finder->digit_count = d;
    finder->divisor = finder->size / block;
    for (uint32_t i = 0; i < d; i++) finder->values[i] = finder->shape->size[i];
    finder->values[d - 1] /= finder->divisor;
}

static uint32_t value_of(const Finder *finder, const RefineDigits *digits, uint32_t i) {
    return i + 1 == finder->digit_count ? digits->at[i] / finder->divisor : digits->at[i];
}

static void mark_used(Finder *finder, uint32_t first_rank) {
    RefineDigits digits =
        refine_route_digits(finder->input->fabric, finder->input->first_gpu + first_rank);
    for (uint32_t i = 0; i < finder->digit_count; i++) {
        uint64_t others = 0;
        for (uint32_t j = 0; j < finder->digit_count; j++)
            others = refine_mix2(others, j == i ? 0 : value_of(finder, &digits, j) + 1);
        finder->marks[i][value_of(finder, &digits, i)] += refine_mix(others);
    }
}

// A faulty link on an edge: values of the digits that it follows are told apart by it.
static void mark_fault(Finder *finder, const RefineFormEdge *edge, LinkId link) {
    RefineDigits digits;
    if (!refine_route_edge_find(edge, finder->shape, link, &digits)) return;
    uint64_t capacity = fabric_link(finder->input->fabric, link).capacity_Bps;
    uint64_t own = refine_mix2(refine_mix2((uint64_t)edge->base, edge->follows), capacity);
    uint32_t last = finder->digit_count - 1;
    for (uint32_t d = finder->digit_count; d < finder->shape->digit_count; d++)
        own = refine_mix2(own, digits.at[d]);
    if (edge->follows >> last & 1) own = refine_mix2(own, digits.at[last] % finder->divisor);
    for (uint32_t i = 0; i < finder->digit_count; i++) {
        uint64_t others = own;
        if ((edge->follows >> i & 1) == 0) continue;
        for (uint32_t j = 0; j < finder->digit_count; j++) {
            bool is_told = j != i && (edge->follows >> j & 1) != 0;
            others = refine_mix2(others, is_told ? value_of(finder, &digits, j) + 1 : 0);
        }
        finder->marks[i][value_of(finder, &digits, i)] += refine_mix(others);
    }
}

// False when an edge follows both ends in one digit: then links do not tell their digits.
static bool mark_faults(Finder *finder) {
    const RefineRoutes *routes = finder->routes;
    for (uint32_t f = 0; f < routes->form_count; f++) {
        const RefineForm *form = &routes->forms[f];
        for (uint32_t i = 0; i < form->edge_count; i++) {
            const RefineFormEdge *edge = &form->edges[i];
            if (!edge->is_suspect) continue;
            for (uint32_t d = 0; d < finder->shape->digit_count; d++)
                if (edge->from[d] != 0 && edge->to[d] != 0) return false;
            for (uint32_t k = 0; k < routes->faulty_count; k++)
                mark_fault(finder, edge, routes->faulty[k]);
        }
    }
    return true;
}

// A slow GPU is told apart as what follows all digits is.
static void mark_slow(Finder *finder, uint32_t rank) {
    const Fabric *fabric = finder->input->fabric;
    uint32_t gpu = finder->input->first_gpu + rank, last = finder->digit_count - 1, part, whole;
    fabric_gpu_rate(fabric, gpu, &part, &whole);
    if (part == whole) return;
    RefineDigits digits = refine_route_digits(fabric, gpu);
    uint64_t own = refine_mix2(refine_mix2(part, whole), digits.at[last] % finder->divisor);
    for (uint32_t d = finder->digit_count; d < finder->shape->digit_count; d++)
        own = refine_mix2(own, digits.at[d]);
    for (uint32_t i = 0; i < finder->digit_count; i++) {
        uint64_t others = own;
        for (uint32_t j = 0; j < finder->digit_count; j++)
            others = refine_mix2(others, j == i ? 0 : value_of(finder, &digits, j) + 1);
        finder->marks[i][value_of(finder, &digits, i)] += refine_mix(others);
    }
}

// ---- Kinds

static uint32_t lowest_alike(const Finder *finder, uint32_t i, uint32_t value) {
    uint32_t v = 0;
    while (finder->marks[i][v] != finder->marks[i][value]) v++;
    return v;
}

static uint32_t count_alike(const Finder *finder, uint32_t i, uint32_t value) {
    uint32_t count = 0;
    for (uint32_t v = 0; v < finder->values[i]; v++)
        count += finder->marks[i][v] == finder->marks[i][value];
    return count;
}

// Keeps a cell that is the lowest of its kind.
static void add_kind(const Finder *finder, uint32_t first_rank, RefineCells *out) {
    RefineDigits digits =
        refine_route_digits(finder->input->fabric, finder->input->first_gpu + first_rank);
    RefineKind kind = {.first_rank = first_rank, .cells = 1};
    for (uint32_t i = 0; i < finder->digit_count; i++) {
        uint32_t value = value_of(finder, &digits, i);
        if (lowest_alike(finder, i, value) != value) return;
        kind.alike[i] = count_alike(finder, i, value);
        kind.cells *= kind.alike[i];
    }
    out->kinds[out->kind_count++] = kind;
}

static bool find_kinds(Finder *finder, Arena *arena, RefineCells *out) {
    uint32_t ranks = finder->input->schedule->rank_count, covered = 0;
    for (uint32_t i = 0; i < finder->digit_count; i++)
        finder->marks[i] = arena_alloc(arena, finder->values[i], sizeof **finder->marks);
    for (uint32_t r = 0; r < ranks; r += finder->size) mark_used(finder, r);
    if (!mark_faults(finder)) return false;
    for (uint32_t r = 0; fabric_has_slow_gpus(finder->input->fabric) && r < ranks; r++)
        mark_slow(finder, r);
    *out = (RefineCells){
        .size = finder->size, .digit_count = finder->digit_count, .divisor = finder->divisor};
    out->kinds = arena_alloc(arena, ranks / finder->size, sizeof *out->kinds);
    for (uint32_t r = 0; r < ranks; r += finder->size) add_kind(finder, r, out);
    for (uint32_t k = 0; k < out->kind_count; k++) covered += out->kinds[k].cells * finder->size;
    return covered == ranks;
}

void refine_cells_whole(const RefineInput *input, Arena *arena, RefineCells *out) {
    *out = (RefineCells){.size = input->schedule->rank_count, .divisor = 1, .kind_count = 1};
    out->kinds = arena_alloc(arena, 1, sizeof *out->kinds);
    out->kinds[0].cells = 1;
}

void refine_cells_find(const RefineInput *input, const RefineRoutes *routes, Arena *arena,
                       RefineCells *out) {
    Finder finder = {.input = input, .routes = routes, .shape = &input->fabric->shape};
    uint32_t ranks = input->schedule->rank_count;
    refine_cells_whole(input, arena, out);
    if (!finder.shape->uniform || routes->explicit_count > 0 || input->places != NULL ||
        fabric_live_gpu_count(input->fabric) != input->fabric->gpu_count)
        return;
    finder.size = nested_size(&finder);
    if (finder.size >= ranks || ranks % finder.size != 0 || input->first_gpu % finder.size != 0)
        return;
    RefineCells cells;
    finder.owners = schedule_wire_owners(input->schedule);
    find_digits(&finder);
    if (repeats(&finder) && find_kinds(&finder, arena, &cells)) *out = cells;
    mem_free(finder.owners);
}

Digest refine_cells_digest(const RefineCells *cells) {
    if (cells->digit_count == 0) return HASH_START; // all links are listed
    Digest digest = hash_u64(HASH_START, cells->kind_count);
    for (uint32_t k = 0; k < cells->kind_count; k++) {
        digest = hash_u64(digest, cells->kinds[k].first_rank);
        for (uint32_t i = 0; i < cells->digit_count; i++)
            digest = hash_u64(digest, cells->kinds[k].alike[i]);
    }
    return hash_u64(hash_u64(digest, cells->size), cells->divisor);
}
