// Faults resolved on a compiled machine.
//
// Each fault is unfolded to the parts or bundles that it names and to nothing else: parts by the
// digits of their classes, bundles by walking the links of the parts that `from` names. The effects
// are sorted by link and merged; lookups are binary searches.
//
// Invariant: every live GPU reaches every other one; links and dead parts are ascending, each once;
// a link in the list has less than its rule says.
#include "model/machine/fabric_fault.h"

#include <stdlib.h>
#include <string.h>

#include "model/base/wide.h"
#include "model/machine/fabric_rule.h"
#include "model/machine/topology_link.h"

#define FAULTY_MAX (UINT32_C(1) << 22) // parts and bundles that all faults name together
#define WORK_MAX   (UINT64_C(1) << 27) // links that are looked at for them

const FabricFaultLink *fabric_fault_find(const Fabric *fabric, LinkId link) {
    const FabricFaults *faults = fabric->faults;
    LinkId bundle = link & ~UINT32_C(1);
    if (faults == NULL) return NULL;
    uint32_t low = 0, high = faults->link_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (faults->links[middle].link < bundle)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < faults->link_count && faults->links[low].link == bundle;
    return found ? &faults->links[low] : NULL;
}

uint64_t fabric_fault_capacity_Bps(const Fabric *fabric, const LinkRule *rule, LinkId link) {
    const FabricFaultLink *found = fabric_fault_find(fabric, link);
    return found == NULL ? rule->bandwidth_Bps * rule->cables : found->capacity_Bps;
}

bool fabric_fault_stops(const Fabric *fabric, LinkId link, VertexId partner) {
    const FabricFaultLink *found = fabric_fault_find(fabric, link);
    return (found != NULL && found->capacity_Bps == 0) || fabric_is_dead(fabric, partner);
}

// ---- Unfolding

// What one fault does to one bundle.
typedef struct Effect {
    LinkId link;
    uint32_t cables_down;
    uint64_t limit_Bps;
} Effect;

typedef struct Unfold {
    const Fabric *fabric; // as built
    const Fault *fault;
    TopologyLink ends;
    Effect *effects;
    uint32_t effect_count, effect_capacity;
    uint32_t first_effect; // of the current fault
    VertexId *dead;
    uint32_t dead_count, dead_capacity;
    FabricSlowGpu *slow;
    uint32_t slow_count, slow_capacity;
    uint32_t hits; // links that the current fault names
    uint64_t work;
    bool changes; // one of them has less by it
    Err *err;
} Unfold;

static bool too_many(const Unfold *unfold) {
    return err_set(unfold->err, "%s: the faults name more than %u parts and links",
                   unfold->fault->place, FAULTY_MAX);
}

static bool too_few_cables(const Unfold *unfold, LinkId link, uint32_t cables) {
    FabricLink ends = fabric_link(unfold->fabric, link);
    Text text = {0};
    fabric_vertex_name(unfold->fabric, ends.from, &text);
    text_add(&text, " to ");
    fabric_vertex_name(unfold->fabric, ends.to, &text);
    err_set(unfold->err, "%s: %s has %u cable%s: take fewer, or write down for all of it",
            unfold->fault->place, text_string(&text), cables, cables == 1 ? "" : "s");
    text_free(&text);
    return false;
}

static bool add_link(Unfold *unfold, LinkId link) {
    const Fault *fault = unfold->fault;
    const LinkRule *rule = fabric_rule_of(unfold->fabric, link)->link;
    uint64_t full_Bps = rule->bandwidth_Bps * rule->cables;
    Effect effect = {.link = link & ~UINT32_C(1), .limit_Bps = full_Bps};
    unfold->hits++;
    switch (fault->kind) {
    case FAULT_DOWN: effect.limit_Bps = 0; break;
    case FAULT_SHARE:
        effect.limit_Bps = wide_mul_div(full_Bps, fault->part, fault->whole);
        if (effect.limit_Bps == 0) effect.limit_Bps = 1; // a share is not down
        break;
    case FAULT_RATE:
        if (fault->rate_Bps >= full_Bps) return true;
        effect.limit_Bps = fault->rate_Bps;
        break;
    case FAULT_CABLES:
        if (fault->cables >= rule->cables) return too_few_cables(unfold, link, rule->cables);
        effect.cables_down = fault->cables;
        break;
    }
    unfold->changes = true;
    if (unfold->effect_count + unfold->dead_count == FAULTY_MAX) return too_many(unfold);
    unfold->effects = mem_grow(unfold->effects, &unfold->effect_capacity, unfold->effect_count + 1,
                               sizeof effect);
    unfold->effects[unfold->effect_count++] = effect;
    return true;
}

static bool add_dead(Unfold *unfold, VertexId vertex) {
    if (unfold->effect_count + unfold->dead_count == FAULTY_MAX) return too_many(unfold);
    unfold->dead =
        mem_grow(unfold->dead, &unfold->dead_capacity, unfold->dead_count + 1, sizeof vertex);
    unfold->dead[unfold->dead_count++] = vertex;
    unfold->changes = true;
    return true;
}

// A GPU with a share left computes at that share too.
static void add_slow(Unfold *unfold, VertexId vertex) {
    const Fault *fault = unfold->fault;
    bool is_slow = *fault->to == '\0' && fault->kind == FAULT_SHARE;
    if (!is_slow || vertex >= unfold->fabric->gpu_count) return;
    unfold->slow = mem_grow(unfold->slow, &unfold->slow_capacity, unfold->slow_count + 1,
                            sizeof *unfold->slow);
    unfold->slow[unfold->slow_count++] = (FabricSlowGpu){vertex, fault->part, fault->whole};
}

// True when the class lies at or inside the parts that the pattern names.
static bool is_named_class(const VertexClass *class, const TopologyEnd *end) {
    return class->digit_count >= end->pattern.count &&
           memcmp(class->place.part, end->part, end->pattern.count * sizeof end->part[0]) == 0;
}

// Digits of a part inside the class are named, given those of the other end for its letters.
static bool is_named(const Unfold *unfold, const TopologyEnd *end, const uint32_t *digits,
                     const uint32_t *from) {
    uint32_t letters[PATTERN_LETTERS] = {0};
    for (uint32_t i = 0; i < PATTERN_LETTERS; i++) {
        uint32_t level = unfold->ends.level_of_letter[i];
        if (level != UINT32_MAX && from != NULL) letters[i] = from[level];
    }
    for (uint32_t level = 0; level < end->pattern.count; level++) {
        const PatternIndex *index = &end->pattern.segments[level].index;
        int64_t value = 0;
        if (index->kind != PATTERN_EXPRESSION) {
            if (!pattern_has(index, digits[level])) return false;
        } else if (!pattern_evaluate(index->steps, index->step_count, letters, &value) ||
                   value != digits[level]) {
            return false;
        }
    }
    return true;
}

static bool is_named_partner(const Unfold *unfold, VertexId partner, const uint32_t *from) {
    const VertexClass *class = fabric_class(unfold->fabric, partner);
    uint32_t digits[FABRIC_DIGITS_MAX];
    if (*unfold->fault->to == '\0') return true;
    if (!is_named_class(class, &unfold->ends.to)) return false;
    fabric_rule_digits(class, partner, digits);
    return is_named(unfold, &unfold->ends.to, digits, from);
}

// The part that `from` names, or its links.
static bool unfold_vertex(Unfold *unfold, VertexId vertex, const uint32_t *digits) {
    uint64_t cursor = 0;
    LinkId link;
    if (*unfold->fault->to == '\0' && unfold->fault->kind == FAULT_DOWN)
        return add_dead(unfold, vertex);
    add_slow(unfold, vertex);
    while (fabric_next_link(unfold->fabric, vertex, &cursor, &link)) {
        VertexId partner = fabric_link(unfold->fabric, link).to;
        if (++unfold->work > WORK_MAX) return too_many(unfold);
        if (!is_named_partner(unfold, partner, digits)) continue;
        if (!add_link(unfold, link)) return false;
    }
    return true;
}

static void first_digits(const VertexClass *class, const TopologyEnd *end, uint32_t *digits) {
    for (uint32_t i = 0; i < class->digit_count; i++)
        digits[i] = i < end->pattern.count ? end->pattern.segments[i].index.ranges[0].first : 0;
}

// The next digits that the pattern names, in order; false after the last.
static bool next_digits(const VertexClass *class, const TopologyEnd *end, uint32_t *digits) {
    for (uint32_t i = class->digit_count; i-- > 0;) {
        PatternIndex all = {.range_count = 1, .ranges = {{0, class->shape[i] - 1}}};
        const PatternIndex *index = i < end->pattern.count ? &end->pattern.segments[i].index : &all;
        for (uint32_t k = 0; k < index->range_count; k++) {
            if (digits[i] < index->ranges[k].first) {
                digits[i] = index->ranges[k].first;
                return true;
            }
            if (digits[i] < index->ranges[k].last) {
                digits[i]++;
                return true;
            }
        }
        digits[i] = index->ranges[0].first;
    }
    return false;
}

static bool unfold_class(Unfold *unfold, const VertexClass *class) {
    uint32_t digits[FABRIC_DIGITS_MAX];
    if (!is_named_class(class, &unfold->ends.from)) return true;
    first_digits(class, &unfold->ends.from, digits);
    do {
        if (!unfold_vertex(unfold, fabric_rule_vertex(class, digits), digits)) return false;
    } while (next_digits(class, &unfold->ends.from, digits));
    return true;
}

static int compare_effects(const void *left, const void *right) {
    const Effect *a = left, *b = right;
    if (a->link != b->link) return a->link < b->link ? -1 : 1;
    return 0;
}

// A pattern may meet a bundle from both of its ends; it counts once.
static void drop_doubles(Unfold *unfold) {
    uint32_t count = unfold->effect_count - unfold->first_effect, kept = 0;
    if (count == 0) return;
    Effect *effects = unfold->effects + unfold->first_effect;
    qsort(effects, count, sizeof *effects, compare_effects);
    for (uint32_t i = 0; i < count; i++) {
        if (kept == 0 || effects[kept - 1].link != effects[i].link) effects[kept++] = effects[i];
    }
    unfold->effect_count = unfold->first_effect + kept;
}

static bool unfold_fault(Unfold *unfold, const Fault *fault) {
    const char *field;
    unfold->fault = fault;
    unfold->hits = 0;
    unfold->changes = false;
    unfold->first_effect = unfold->effect_count;
    if (!topology_link_fault(unfold->fabric->topology, fault, &unfold->ends, &field, unfold->err))
        return err_prefix(unfold->err, "%s", fault->place);
    for (uint32_t i = 0; i < unfold->fabric->class_count; i++) {
        if (!unfold_class(unfold, &unfold->fabric->classes[i])) return false;
    }
    drop_doubles(unfold);
    if (unfold->changes) return true;
    if (unfold->hits > 0)
        return err_set(unfold->err, "%s: no link that it names is faster as built", fault->place);
    return err_set(unfold->err, "%s: no link joins %s to %s", fault->place, fault->from, fault->to);
}

// ---- Merging

static int compare_vertices(const void *left, const void *right) {
    VertexId a = *(const VertexId *)left, b = *(const VertexId *)right;
    return a < b ? -1 : a > b;
}

static void merge_dead(Unfold *unfold, Fabric *fabric, FabricFaults *out) {
    uint32_t kept = 0;
    if (unfold->dead_count == 0) return;
    qsort(unfold->dead, unfold->dead_count, sizeof *unfold->dead, compare_vertices);
    for (uint32_t i = 0; i < unfold->dead_count; i++) {
        if (kept == 0 || unfold->dead[kept - 1] != unfold->dead[i])
            unfold->dead[kept++] = unfold->dead[i];
    }
    out->dead = arena_copy(&fabric->arena, unfold->dead, kept, sizeof *out->dead);
    out->dead_count = kept;
    while (out->dead_gpus < kept && out->dead[out->dead_gpus] < fabric->gpu_count) out->dead_gpus++;
}

// Of a GPU that several faults name, the lowest share holds.
static int compare_slow(const void *left, const void *right) {
    const FabricSlowGpu *a = left, *b = right;
    if (a->gpu != b->gpu) return a->gpu < b->gpu ? -1 : 1;
    return wide_compare_ratio(a->part, a->whole, b->part, b->whole);
}

static void merge_slow(Unfold *unfold, Fabric *fabric, FabricFaults *out) {
    uint32_t kept = 0;
    if (unfold->slow_count == 0) return;
    qsort(unfold->slow, unfold->slow_count, sizeof *unfold->slow, compare_slow);
    for (uint32_t i = 0; i < unfold->slow_count; i++) {
        if (kept == 0 || unfold->slow[kept - 1].gpu != unfold->slow[i].gpu)
            unfold->slow[kept++] = unfold->slow[i];
    }
    out->slow = arena_copy(&fabric->arena, unfold->slow, kept, sizeof *out->slow);
    out->slow_count = kept;
}

// Domains are runs of GPUs where all are of one size.
static void find_broken(Fabric *fabric, FabricFaults *out) {
    uint32_t size = fabric->domain_size > 1 ? fabric->domain_size : fabric->node_size, live = 0;
    if (size == 0 || fabric->gpu_count % size != 0) size = fabric->gpu_count;
    out->domain_gpus = size;
    out->broken = arena_alloc(&fabric->arena, out->dead_gpus, sizeof *out->broken);
    for (uint32_t i = 0; i < out->dead_gpus; i++) {
        uint32_t domain = out->dead[i] / size;
        FabricBrokenDomain *last = &out->broken[out->broken_count - (out->broken_count > 0)];
        if (out->broken_count > 0 && last->domain == domain) {
            last->dead_count++;
            live--;
            continue;
        }
        out->broken[out->broken_count++] = (FabricBrokenDomain){domain, i, 1, live};
        live += size - 1;
    }
}

static void merge_links(Unfold *unfold, Fabric *fabric, FabricFaults *out) {
    if (unfold->effect_count == 0) return;
    qsort(unfold->effects, unfold->effect_count, sizeof *unfold->effects, compare_effects);
    out->links = arena_alloc(&fabric->arena, unfold->effect_count, sizeof *out->links);
    for (uint32_t i = 0; i < unfold->effect_count;) {
        LinkId link = unfold->effects[i].link;
        const LinkRule *rule = fabric_rule_of(fabric, link)->link;
        uint64_t down = 0, limit_Bps = UINT64_MAX;
        for (; i < unfold->effect_count && unfold->effects[i].link == link; i++) {
            down += unfold->effects[i].cables_down;
            if (unfold->effects[i].limit_Bps < limit_Bps) limit_Bps = unfold->effects[i].limit_Bps;
        }
        uint32_t cables = down >= rule->cables ? 0 : rule->cables - (uint32_t)down;
        uint64_t left_Bps = rule->bandwidth_Bps * cables;
        if (limit_Bps < left_Bps) left_Bps = limit_Bps;
        out->links[out->link_count++] =
            (FabricFaultLink){link, left_Bps == 0 ? 0 : cables, left_Bps};
    }
}

// ---- Whether what is alive is still one machine

static bool forwards(PartKind kind) {
    return kind != PART_MEMORY && kind != PART_STORAGE;
}

static void mark_live(const Fabric *fabric, VertexId start, unsigned char *marks, VertexId *queue) {
    uint32_t count = 1;
    queue[0] = start;
    marks[start] = 1;
    for (uint32_t next = 0; next < count; next++) {
        uint32_t class_id = (uint32_t)(fabric_class(fabric, queue[next]) - fabric->classes);
        if (!forwards(fabric->classes[class_id].kind)) continue;
        for (uint32_t i = fabric->adjacent_start[class_id];
             i < fabric->adjacent_start[class_id + 1]; i++) {
            FabricWalk walk;
            VertexId partner;
            LinkId link;
            fabric_rule_walk(fabric, &fabric->rules[fabric->adjacent[i].rule],
                             (FabricSide)fabric->adjacent[i].side, queue[next], &walk);
            while (fabric_rule_next(&walk, &partner, &link)) {
                if (marks[partner] != 0 || fabric_fault_stops(fabric, link, partner)) continue;
                marks[partner] = 1;
                queue[count++] = partner;
            }
        }
    }
}

static bool check_alive(const Fabric *fabric, Err *err) {
    uint32_t live = fabric_live_gpu_count(fabric);
    if (live == 0) return err_set(err, "%s: its faults leave no GPU", fabric->topology->origin);
    unsigned char *marks = mem_alloc(fabric->vertex_count, 1);
    VertexId *queue = mem_alloc(fabric->vertex_count, sizeof *queue);
    VertexId first = fabric_live_gpu(fabric, 0), lost = FABRIC_NONE;
    mark_live(fabric, first, marks, queue);
    for (uint32_t i = 1; i < live && lost == FABRIC_NONE; i++) {
        VertexId gpu = fabric_live_gpu(fabric, i);
        if (marks[gpu] == 0) lost = gpu;
    }
    mem_free(marks);
    mem_free(queue);
    if (lost == FABRIC_NONE) return true;
    Text text = {0};
    fabric_vertex_name(fabric, first, &text);
    text_add(&text, " cannot reach ");
    fabric_vertex_name(fabric, lost, &text);
    err_set(err, "%s: with its faults %s", fabric->topology->origin, text_string(&text));
    text_free(&text);
    return false;
}

bool fabric_fault_apply(Fabric *fabric, Err *err) {
    Unfold unfold = {.fabric = fabric, .err = err};
    bool done = true;
    if (fabric->topology->fault_count == 0) return true;
    for (uint32_t i = 0; done && i < fabric->topology->fault_count; i++)
        done = unfold_fault(&unfold, &fabric->topology->faults[i]);
    if (done) {
        FabricFaults *faults = arena_alloc(&fabric->arena, 1, sizeof *faults);
        merge_dead(&unfold, fabric, faults);
        merge_links(&unfold, fabric, faults);
        merge_slow(&unfold, fabric, faults);
        find_broken(fabric, faults);
        fabric->faults = faults;
        done = check_alive(fabric, err);
    }
    mem_free(unfold.effects);
    mem_free(unfold.dead);
    mem_free(unfold.slow);
    return done;
}
