// Roles and groups as blocks of a uniform machine.
//
// Invariant: a relation that layout_relations counts for one rank of a role holds for all of them:
// groups nest in the blocks of the machine (each size divides the next), or lie inside domains
// whose GPUs are all alike.
#include "sim/layout.h"

#include "model/base/hash.h"
#include "model/plan/schedule_wire.h"

#define INSIDE (UINT32_C(1) << 31)

static uint32_t first_inner_digit(const FabricShape *shape, uint32_t domain_size) {
    uint32_t d = shape->digit_count, block = 1;
    while (d > 0 && block < domain_size) block *= shape->size[--d];
    return block == domain_size ? d : shape->digit_count;
}

// The route from GPU 0 to the GPU that differs from it by 1 in the inner digits of `mask`.
static bool inner_route(const Fabric *fabric, uint32_t first_digit, uint32_t mask, Route *out,
                        Err *err) {
    const FabricShape *shape = &fabric->shape;
    uint32_t gpu = 0;
    for (uint32_t d = 0; d < shape->digit_count; d++) {
        bool differs = d >= first_digit && (mask >> (d - first_digit) & 1) && shape->size[d] > 1;
        gpu = gpu * shape->size[d] + (differs ? 1 : 0);
    }
    return fabric_route(fabric, fabric_gpu(fabric, 0), fabric_gpu(fabric, gpu), out, err);
}

static bool are_alike(const Fabric *fabric, const Route *a, const Route *b) {
    if (a->count != b->count || a->weight_total != b->weight_total ||
        a->latency_ps != b->latency_ps)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->edges[i].weight != b->edges[i].weight ||
            fabric_link(fabric, a->edges[i].link).rule !=
                fabric_link(fabric, b->edges[i].link).rule)
            return false;
    return true;
}

// Whether routes inside a domain cannot tell its digits apart.
static bool can_merge(const Fabric *fabric, uint32_t first_digit, bool *out, Err *err) {
    uint32_t inner = fabric->shape.digit_count - first_digit;
    Route one = {0}, other = {0};
    bool done = true, alike = inner > 1;
    for (uint32_t mask = 1; done && alike && mask < 1U << inner; mask++) {
        Route *route = one.count == 0 ? &one : &other;
        done = inner_route(fabric, first_digit, mask, route, err);
        if (done && other.count > 0) alike = are_alike(fabric, &one, &other);
    }
    fabric_route_free(&one);
    fabric_route_free(&other);
    *out = alike;
    return done;
}

static void open_shape(const Layout *layout, const FabricShape *shape, Arena *arena,
                       LayoutShape *out) {
    const Schedule *schedule = layout->schedule;
    out->shape = *shape;
    out->boxes = arena_alloc(arena, schedule->role_count, sizeof *out->boxes);
    out->is_box = arena_alloc(arena, schedule->role_count, sizeof *out->is_box);
    for (RoleId r = 0; r < schedule->role_count; r++) {
        Err ignored = {0};
        out->is_box[r] =
            fold_box(shape, &schedule->roles[r].ranks, layout->first_gpu, &out->boxes[r], &ignored);
    }
}

// ---- Domains whose GPUs are joined directly

// Below, all pairs are soon refined, with more algorithms to choose from.
#define SPLIT_GPUS_MIN 65

bool layout_is_joined(const Fabric *fabric) {
    if (!fabric->shape.uniform || fabric->shape.digit_count != 1 ||
        fabric->gpu_count < SPLIT_GPUS_MIN)
        return false;
    Route route = {0};
    Err ignored = {0}; // it comes again when the pair is folded
    bool is_direct =
        fabric_route(fabric, fabric_gpu(fabric, 0), fabric_gpu(fabric, 1), &route, &ignored) &&
        route.hops == 1 && route.count == 1;
    fabric_route_free(&route);
    return is_direct;
}

// Adds a block size in order; false when there are too many.
static bool add_block(uint32_t *blocks, uint32_t *count, uint32_t size) {
    uint32_t at = 0;
    while (at < *count && blocks[at] < size) at++;
    if (at < *count && blocks[at] == size) return true;
    if (*count > FABRIC_DIGITS_MAX) return false;
    for (uint32_t k = (*count)++; k > at; k--) blocks[k] = blocks[k - 1];
    blocks[at] = size;
    return true;
}

// Block sizes of the groups, the smallest first, from 1 on; the last holds all ranks. False when
// they do not nest, or reach beyond the machine.
static bool find_blocks(const Layout *layout, uint32_t *blocks, uint32_t *count) {
    const Schedule *schedule = layout->schedule;
    uint32_t end = layout->first_gpu + schedule->rank_count;
    blocks[0] = *count = 1;
    for (GroupId g = 0; g < schedule->group_count; g++) {
        const GroupFamily *family = &schedule->groups[g];
        uint32_t stride = family->stride > 0 ? family->stride : 1, span = stride * family->size;
        bool repeats = family->per_period > 0 && family->count > family->per_period;
        if (span == 0 || (layout->first_gpu + family->first) % span != 0) return false;
        if (!add_block(blocks, count, stride) || !add_block(blocks, count, span)) return false;
        if (repeats && !add_block(blocks, count, family->period)) return false;
    }
    uint32_t largest = blocks[*count - 1], all = (end + largest - 1) / largest * largest;
    return all <= layout->fabric->gpu_count && add_block(blocks, count, all) &&
           fold_is_chain(blocks, *count);
}

// Values of any digit may be permuted, because all GPUs may. Roles that do not fill blocks, or
// share some, do not see each other all alike: then the domain stays whole.
static void split_domain(Layout *layout, Arena *arena) {
    uint32_t blocks[FABRIC_DIGITS_MAX + 2], count;
    if (!find_blocks(layout, blocks, &count) || count < 3) return;
    FabricShape shape = {.uniform = true, .digit_count = count - 1};
    for (uint32_t d = 0; d + 1 < count; d++)
        shape.size[d] = blocks[count - 1 - d] / blocks[count - 2 - d];
    LayoutShape split;
    open_shape(layout, &shape, arena, &split);
    for (RoleId a = 0; a < layout->schedule->role_count; a++)
        for (RoleId b = 0; b <= a; b++)
            if (!split.is_box[a] || !fold_boxes_are_apart(&split.boxes[a], &split.boxes[b])) return;
    layout->domain = split;
    layout->is_split = true;
}

bool layout_open(Layout *layout, const Fabric *fabric, const Schedule *schedule, uint32_t first_gpu,
                 Arena *arena, Err *err) {
    if (!fabric->shape.uniform) return err_set(err, "the machine is not uniform");
    if (fabric_has_faults(fabric)) return err_set(err, "the machine has faults");
    *layout = (Layout){.fabric = fabric,
                       .schedule = schedule,
                       .first_gpu = first_gpu,
                       .domain_size = fabric->domain_size};
    FabricShape merged = fabric->shape;
    uint32_t first = first_inner_digit(&merged, fabric->domain_size);
    bool merges;
    if (!can_merge(fabric, first, &merges, err)) return false;
    if (merges) {
        merged.size[first] = fabric->domain_size;
        merged.digit_count = first + 1;
    }
    open_shape(layout, &fabric->shape, arena, &layout->whole);
    open_shape(layout, &merged, arena, &layout->domain);
    if (layout_is_joined(fabric)) split_domain(layout, arena);
    if (schedule->role_count > 1) {
        RoleId *owners = schedule_wire_owners(schedule);
        layout->owners = arena_copy(arena, owners, schedule->rank_count, sizeof *owners);
        mem_free(owners);
    }
    return true;
}

bool layout_is_inside(const Layout *layout, uint32_t a_gpu, uint32_t b_gpu) {
    return a_gpu / layout->domain_size == b_gpu / layout->domain_size;
}

const LayoutShape *layout_shape(const Layout *layout, uint32_t a_gpu, uint32_t b_gpu) {
    return layout_is_inside(layout, a_gpu, b_gpu) ? &layout->domain : &layout->whole;
}

const Box *layout_box(const Layout *layout, const LayoutShape *shape, RoleId role, Err *err) {
    if (shape->is_box[role]) return &shape->boxes[role];
    Box box;
    fold_box(&shape->shape, &layout->schedule->roles[role].ranks, layout->first_gpu, &box, err);
    err_prefix(err, "role \"%s\"", layout->schedule->roles[role].name);
    return NULL;
}

bool layout_roles_are_apart(const Layout *layout, RoleId a, RoleId b, Err *err) {
    const Box *of_a = layout_box(layout, &layout->whole, a, err);
    const Box *of_b = of_a == NULL ? NULL : layout_box(layout, &layout->whole, b, err);
    if (of_b == NULL) return false;
    return fold_boxes_are_apart(of_a, of_b) ||
           err_set(err, "roles \"%s\" and \"%s\" share blocks of the machine in part",
                   layout->schedule->roles[a].name, layout->schedule->roles[b].name);
}

uint32_t layout_difference(const Layout *layout, uint32_t a_gpu, uint32_t b_gpu) {
    const FabricShape *shape = &layout_shape(layout, a_gpu, b_gpu)->shape;
    uint32_t x[FABRIC_DIGITS_MAX], y[FABRIC_DIGITS_MAX];
    uint32_t difference = layout_is_inside(layout, a_gpu, b_gpu) ? INSIDE : 0;
    fold_digits(shape, a_gpu, x);
    fold_digits(shape, b_gpu, y);
    for (uint32_t d = 0; d < shape->digit_count; d++)
        if (x[d] != y[d]) difference |= UINT32_C(1) << d;
    return difference;
}

// Groups that lie inside domains, where all GPUs are alike.
static bool is_inside_domains(const Layout *layout, const GroupFamily *family, uint32_t span) {
    uint32_t first = family->first + layout->first_gpu;
    if (layout->domain.shape.digit_count == 1 || layout->is_split) return true;
    return layout->domain_size % span == 0 && first % span == 0 && family->period % span == 0;
}

// Whether all groups in which a role has ranks have as many ranks of each role.
static bool roles_mix_evenly(const Layout *layout, const GroupFamily *family) {
    if (layout->owners == NULL) return true;
    Digest *seen = mem_alloc(layout->schedule->role_count, sizeof *seen);
    bool is_even = true;
    for (uint32_t g = 0; is_even && g < family->count; g++) {
        Digest sum = 0;
        for (uint32_t j = 0; j < family->size; j++)
            sum += hash_u64(HASH_START, layout->owners[schedule_group_member(family, g, j)]);
        for (uint32_t j = 0; j < family->size; j++) {
            Digest *of_role = &seen[layout->owners[schedule_group_member(family, g, j)]];
            if (*of_role != 0 && *of_role != sum) is_even = false;
            *of_role = sum;
        }
    }
    mem_free(seen);
    return is_even;
}

bool layout_groups_are_regular(const Layout *layout, const GroupFamily *family, Err *err) {
    const FabricShape *shape = &layout->whole.shape;
    uint32_t numbers[FABRIC_DIGITS_MAX + 2], count = 0, block = 1;
    uint32_t span = family->stride * family->size, first = family->first + layout->first_gpu;
    if (!roles_mix_evenly(layout, family))
        return err_set(err, "groups of \"%s\" mix roles unevenly", family->name);
    if (is_inside_domains(layout, family, span)) return true;
    numbers[count++] = family->stride;
    numbers[count++] = span;
    for (uint32_t d = shape->digit_count; d-- > 1;) {
        block *= shape->size[d];
        numbers[count++] = block;
        uint32_t align = span % block == 0 ? block : span;
        if (first % align != 0 || family->period % align != 0)
            return err_set(err, "groups of \"%s\" are not aligned with blocks of %u GPUs",
                           family->name, block);
    }
    if (!fold_is_chain(numbers, count))
        return err_set(err, "groups of %u ranks straddle blocks of the machine unevenly",
                       family->size);
    return true;
}

bool layout_relations(const Layout *layout, const GroupFamily *family, uint32_t rank,
                      LayoutRelation *relations, uint32_t *out_count, Err *err) {
    uint32_t group, position, count = 0;
    if (!schedule_group_of(family, rank, &group, &position))
        return err_set(err, "rank %u is in no group of \"%s\"", rank, family->name);
    for (uint32_t j = 0; j < family->size; j++) {
        if (j == position) continue;
        uint32_t peer = schedule_group_member(family, group, j), gpu = layout->first_gpu + peer;
        RoleId role = schedule_role_of(layout->schedule, peer);
        uint32_t difference = layout_difference(layout, layout->first_gpu + rank, gpu), r = 0;
        while (r < count && (relations[r].role != role || relations[r].difference != difference))
            r++;
        if (r == LAYOUT_RELATIONS_MAX) return err_set(err, "too many kinds of peers to fold");
        if (r == count) relations[count++] = (LayoutRelation){role, difference, gpu, 0};
        relations[r].count++;
    }
    *out_count = count;
    return true;
}
