// Places of tensors in files, and the ranges that one rank reads.
//
// Invariant: places are of the tensors that some rank reads, each found in the checkpoint with the
// model's shape and type, or laid out one behind the other in virtual files in the order of the
// inventory. Work that concerns all ranks is done by class of tensors; single tensors are looked at
// for one rank only, and once when they are searched in a checkpoint.
#include "model/plan/shard_plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/base/text.h"
#include "model/moe/count.h"
#include "model/moe/inventory.h"
#include "model/plan/eplb.h"
#include "model/plan/shard.h"

#define NONE UINT32_MAX

// ---- Classes.

static uint64_t kept_B(const TensorClass *tensor, uint32_t ways, uint32_t index) {
    ShardBytes pieces[TENSOR_SEGMENTS_MAX];
    uint32_t count = shard_slice_bytes(tensor, ways, index, pieces);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++) sum += pieces[i].length * pieces[i].count;
    return sum;
}

static void set_classes(ShardPlan *plan) {
    const Arch *arch = plan->arch;
    const Pool *pool = &plan->pool;
    plan->classes = arena_alloc(&plan->arena, arch->tensor_count, sizeof *plan->classes);
    for (uint32_t i = 0; i < arch->tensor_count; i++) {
        const TensorClass *tensor = &arch->tensors[i];
        bool is_routed = shard_slice_is_routed(tensor);
        uint32_t ways = is_routed ? pool->moe_tp : pool->tp;
        uint64_t *held_B = arena_alloc(&plan->arena, ways, sizeof *held_B);
        bool is_read = tensor->component != COMPONENT_MTP && tensor->component != COMPONENT_VISION;
        for (uint32_t w = 0; is_read && w < ways; w++) held_B[w] = kept_B(tensor, ways, w);
        plan->classes[i] = (ShardClass){.tensor = tensor,
                                        .is_read = is_read,
                                        .is_routed = is_routed,
                                        .ways = ways,
                                        .held_B = held_B};
    }
}

static void set_layers(ShardPlan *plan) {
    const Arch *arch = plan->arch;
    uint32_t *in_kind = arena_alloc(&plan->arena, arch->layers, sizeof *in_kind);
    uint32_t *moe_layer = arena_alloc(&plan->arena, arch->layers, sizeof *moe_layer);
    uint32_t *seen = arena_alloc(&plan->arena, arch->kind_count, sizeof *seen), moe = 0;
    for (uint32_t layer = 0; layer < arch->layers; layer++) {
        uint32_t kind = arch->kind_of_layer[layer];
        in_kind[layer] = seen[kind]++;
        moe_layer[layer] = moe;
        moe += arch->mlps[arch->kinds[kind].mlp].experts > 0;
    }
    plan->in_kind = in_kind;
    plan->moe_layer = moe_layer;
    plan->kind_layers = arena_alloc(&plan->arena, (size_t)plan->pool.pp * arch->kind_count,
                                    sizeof *plan->kind_layers);
    for (uint32_t stage = 0; stage < plan->pool.pp; stage++)
        shard_stage_kinds(&plan->pool, arch, stage,
                          plan->kind_layers + (size_t)stage * arch->kind_count);
}

static bool is_outside(const ShardClass *class) {
    return class->tensor->layer_kind == NONE;
}

// Classes before this one stand before the layers, in the list and in the inventory.
static uint32_t first_in_layers(const ShardPlan *plan) {
    uint32_t i = 0;
    while (i < plan->arch->tensor_count && is_outside(&plan->classes[i])) i++;
    return i;
}

// ---- Experts that are not in order.

static int compare_numbers(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

// Sorts what each position holds and drops what it holds twice.
static void sort_slots(ShardPlan *plan, const Eplb *eplb) {
    uint32_t ep = plan->pool.ep, held = eplb->slots / ep;
    size_t count = (size_t)eplb->layers * eplb->slots;
    uint32_t *experts = arena_copy(&plan->arena, eplb->expert_of_slot, count, sizeof *experts);
    uint32_t *counts = arena_alloc(&plan->arena, (size_t)eplb->layers * ep, sizeof *counts);
    for (size_t p = 0; p < (size_t)eplb->layers * ep; p++) {
        uint32_t *slots = experts + p * held, kept = 0;
        qsort(slots, held, sizeof *slots, compare_numbers);
        for (uint32_t i = 0; i < held; i++)
            if (i == 0 || slots[i] != slots[kept - 1]) slots[kept++] = slots[i];
        counts[p] = kept;
    }
    plan->experts = (ShardExperts){eplb->layers, eplb->slots, experts, counts};
}

static bool even_load(uint32_t experts, Load *out, Err *err) {
    uint64_t *tokens = mem_alloc(experts, sizeof *tokens);
    for (uint32_t i = 0; i < experts; i++) tokens[i] = 1;
    bool done = load_of_counts(1, 1, experts, tokens, "", out, err);
    mem_free(tokens);
    return done;
}

static bool place_experts(const ShardInput *input, ShardPlan *plan, Err *err) {
    const MlpSpec *mlp = NULL;
    if (plan->pool.expert_placement != EXPERT_PLACEMENT_EPLB) return true;
    for (uint32_t i = 0; i < plan->arch->mlp_count; i++)
        if (plan->arch->mlps[i].experts > 0) mlp = &plan->arch->mlps[i];
    if (mlp == NULL) return true;
    EplbSpec spec = {.gpus = plan->pool.ep,
                     .nodes = 1,
                     .groups = mlp->groups,
                     .redundant = plan->pool.redundant_experts};
    Load even = {0};
    Eplb eplb = {0};
    const Load *load = input->load;
    bool is_even = load == NULL || load->kind == LOAD_UNIFORM;
    bool done = (!is_even || even_load(mlp->experts, &even, err)) &&
                eplb_place(is_even ? &even : load, &spec, &eplb, err);
    if (done) sort_slots(plan, &eplb);
    eplb_free(&eplb);
    load_free(&even);
    return done;
}

const uint32_t *shard_plan_experts(const ShardPlan *plan, const ShardClass *class, uint32_t layer,
                                   uint32_t position, uint32_t *first, uint32_t *out_count) {
    const ShardExperts *placed = &plan->experts;
    uint32_t ep = plan->pool.ep;
    if (placed->layers == 0 || layer == NONE) {
        pool_experts(&plan->pool, shard_slice_experts(class->tensor), position, first, out_count);
        return NULL;
    }
    size_t row = placed->layers == 1 ? 0 : plan->moe_layer[layer];
    *first = 0;
    *out_count = placed->counts[row * ep + position];
    return placed->experts + row * placed->slots + (size_t)position * (placed->slots / ep);
}

// ---- Places.

ShardPlace shard_plan_place(const ShardPlan *plan, const ShardClass *class, uint32_t layer,
                            uint32_t member) {
    const TensorClass *tensor = class->tensor;
    if (!plan->is_virtual) {
        uint64_t layers = layer == NONE ? 0 : plan->in_kind[layer];
        return plan->places[class->place + layers * tensor->per_layer + member];
    }
    ShardPlace place = {.begin = class->place + (uint64_t)member * tensor->bytes};
    bool is_before = class < plan->classes + first_in_layers(plan);
    place.file = layer != NONE ? layer + 1 : is_before ? 0 : plan->arch->layers + 1;
    return place;
}

static void lay_out(ShardPlan *plan) {
    const Arch *arch = plan->arch;
    uint32_t first = first_in_layers(plan);
    uint64_t *used = arena_alloc(&plan->arena, arch->kind_count, sizeof *used);
    uint64_t before = 0, after = 0;
    for (uint32_t i = 0; i < arch->tensor_count; i++) {
        ShardClass *class = &plan->classes[i];
        uint64_t *at = &used[0];
        if (is_outside(class))
            at = i < first ? &before : &after;
        else
            at = &used[class->tensor->layer_kind];
        class->place = *at;
        *at += class->tensor->bytes * class->tensor->per_layer;
    }
    plan->is_virtual = true;
    plan->file_count = arch->layers + 2;
    plan->files = arena_alloc(&plan->arena, plan->file_count, sizeof *plan->files);
    plan->files[0] = (ShardFile){"before-layers", before};
    plan->files[arch->layers + 1] = (ShardFile){"after-layers", after};
    for (uint32_t layer = 0; layer < arch->layers; layer++)
        plan->files[layer + 1] = (ShardFile){arena_printf(&plan->arena, "layer-%" PRIu32, layer),
                                             used[arch->kind_of_layer[layer]]};
}

static void add_dims(const uint64_t *dims, uint32_t count, Text *out) {
    text_add(out, "[");
    for (uint32_t i = 0; i < count; i++) text_addf(out, "%s%" PRIu64, i > 0 ? ", " : "", dims[i]);
    text_add(out, "]");
}

// A checkpoint that was cut before has other shapes than the model.
static bool is_alike(const TensorClass *tensor, const CheckpointTensor *found, Err *err) {
    uint64_t dims[TENSOR_DIMS_MAX];
    bool same = found->rank == tensor->dim_count && found->type != NULL &&
                strcmp(found->type, tensor->type) == 0;
    for (uint32_t i = 0; i < tensor->dim_count; i++) {
        dims[i] = tensor->dims[i];
        same = same && found->dims[i] == dims[i];
    }
    if (same && found->end - found->begin == tensor->bytes) return true;
    Text have = {0}, want = {0};
    add_dims(found->dims, found->rank, &have);
    add_dims(dims, tensor->dim_count, &want);
    err_set(err, "%s is %s %s in the checkpoint, the model says %s %s", found->name,
            found->type != NULL ? found->type : "unknown", text_string(&have), tensor->type,
            text_string(&want));
    text_free(&have);
    text_free(&want);
    return false;
}

// Finds the tensors of one class in one layer; of those that are not read only their number counts.
typedef struct Search {
    const Checkpoint *checkpoint;
    ShardPlan *plan;
    ShardPlace *places;
    uint64_t next, found;
} Search;

static bool find_in_layer(Search *search, const ShardClass *class, uint32_t layer, Err *err) {
    const TensorClass *tensor = class->tensor;
    for (uint32_t member = 0; member < tensor->per_layer; member++) {
        char name[INVENTORY_NAME_MAX];
        inventory_name(tensor, layer, member, name);
        uint32_t at = checkpoint_find(search->checkpoint, name);
        search->found += at != CHECKPOINT_NONE;
        if (!class->is_read) continue;
        if (at == CHECKPOINT_NONE) return err_set(err, "%s is not in the checkpoint", name);
        const CheckpointTensor *found = &search->checkpoint->tensors[at];
        if (!is_alike(tensor, found, err)) return false;
        search->places[search->next++] = (ShardPlace){found->begin, found->file};
    }
    return true;
}

static bool find_all(Search *search, Err *err) {
    const Arch *arch = search->plan->arch;
    for (uint32_t i = 0; i < arch->tensor_count; i++) {
        ShardClass *class = &search->plan->classes[i];
        class->place = search->next;
        if (is_outside(class) && !find_in_layer(search, class, 0, err)) return false;
        for (uint32_t layer = 0; !is_outside(class) && layer < arch->layers; layer++)
            if (arch->kind_of_layer[layer] == class->tensor->layer_kind &&
                !find_in_layer(search, class, layer, err))
                return false;
    }
    return true;
}

static uint64_t tensors_read(const ShardPlan *plan) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < plan->arch->tensor_count; i++)
        if (plan->classes[i].is_read) sum += count_tensors(plan->arch, plan->classes[i].tensor);
    return sum;
}

// The first tensor of the checkpoint that the model does not have.
static const char *find_extra(const ShardPlan *plan, const Checkpoint *checkpoint, Arena *arena) {
    Inventory inventory = {.arch = plan->arch};
    InventoryTensor tensor;
    bool *known = arena_alloc(arena, checkpoint->tensor_count, sizeof *known);
    while (inventory_next(&inventory, &tensor)) {
        uint32_t at = checkpoint_find(checkpoint, tensor.name);
        if (at != CHECKPOINT_NONE) known[at] = true;
    }
    uint32_t i = 0;
    while (i < checkpoint->tensor_count && known[i]) i++;
    return i < checkpoint->tensor_count ? checkpoint->tensors[i].name
                                        : "a name that is there twice";
}

static bool check_checkpoint(const ShardPlan *plan, const Checkpoint *checkpoint, Err *err) {
    uint64_t all = plan->arch->totals.tensors, read = tensors_read(plan);
    if (!checkpoint->has_headers)
        return err_set(err, "%s: none of its files are there, expected their headers",
                       checkpoint->path);
    // what is skipped (drafts, vision) may be missing, and is a small part
    return (read <= checkpoint->tensor_count && all / 4 <= checkpoint->tensor_count) ||
           err_set(err, "%s has %" PRIu32 " tensors, the model has %" PRIu64, checkpoint->path,
                   checkpoint->tensor_count, all);
}

static bool find_places(const Checkpoint *checkpoint, ShardPlan *plan, Err *err) {
    if (!check_checkpoint(plan, checkpoint, err)) return false;
    Search search = {.checkpoint = checkpoint, .plan = plan};
    search.places = arena_alloc(&plan->arena, tensors_read(plan), sizeof *search.places);
    if (!find_all(&search, err)) return err_prefix(err, "%s", checkpoint->path);
    if (search.found != checkpoint->tensor_count)
        return err_set(err, "%s: %" PRIu64 " tensors are not the model's, such as %s",
                       checkpoint->path, checkpoint->tensor_count - search.found,
                       find_extra(plan, checkpoint, &plan->arena));
    plan->places = search.places;
    plan->file_count = checkpoint->file_count;
    plan->files = arena_alloc(&plan->arena, plan->file_count, sizeof *plan->files);
    for (uint32_t i = 0; i < plan->file_count; i++)
        plan->files[i] = (ShardFile){arena_string(&plan->arena, checkpoint->files[i].name),
                                     checkpoint->files[i].size_B};
    return true;
}

bool shard_plan_build(const ShardInput *input, ShardPlan *out, Err *err) {
    ShardPlan plan = {.arch = input->arch, .pool = *input->pool};
    if (input->arch->totals.tensors > SHARD_PLAN_TENSORS_MAX)
        return err_set(err, "%" PRIu64 " tensors, expected at most %" PRIu64,
                       input->arch->totals.tensors, SHARD_PLAN_TENSORS_MAX);
    set_classes(&plan);
    set_layers(&plan);
    bool done = place_experts(input, &plan, err);
    if (done && input->checkpoint != NULL)
        done = find_places(input->checkpoint, &plan, err);
    else if (done)
        lay_out(&plan);
    if (done) {
        shard_plan_measure_files(&plan);
        *out = plan;
    } else {
        shard_plan_free(&plan);
    }
    return done;
}

void shard_plan_free(ShardPlan *plan) {
    arena_free(&plan->arena);
    *plan = (ShardPlan){0};
}

// ---- Ranges of one rank.

// Appends, or makes the last range longer when the piece continues it.
static void add_range(ShardRanges *ranges, ShardRange range) {
    ShardRange *last = ranges->count > 0 ? &ranges->items[ranges->count - 1] : NULL;
    bool follows = last != NULL && last->file == range.file;
    if (follows && last->count == 1 && range.count == 1 &&
        last->offset + last->length == range.offset) {
        last->length += range.length;
        last->stride = last->length;
        return;
    }
    if (follows && last->count > 1 && range.count > 1 && last->length == range.length &&
        last->stride == range.stride && last->offset + last->count * last->stride == range.offset) {
        last->count += range.count;
        return;
    }
    ranges->items =
        mem_grow(ranges->items, &ranges->capacity, ranges->count + 1, sizeof *ranges->items);
    ranges->items[ranges->count++] = range;
}

// The rank's part of a tensor, or of an expert in it, that begins at `place`.
static void add_part(ShardRanges *ranges, const ShardClass *class, uint32_t index,
                     ShardPlace place) {
    ShardBytes pieces[TENSOR_SEGMENTS_MAX];
    uint32_t count = shard_slice_bytes(class->tensor, class->ways, index, pieces);
    for (uint32_t i = 0; i < count; i++)
        add_range(ranges, (ShardRange){.offset = place.begin + pieces[i].offset,
                                       .length = pieces[i].length,
                                       .stride = pieces[i].stride,
                                       .count = pieces[i].count,
                                       .file = place.file});
}

// Where a rank stands: r is its number in the stage.
typedef struct Seat {
    uint32_t stage, t, position, cut;
} Seat;

static Seat seat_of(const Pool *pool, uint32_t rank) {
    uint32_t ranks = pool_stage_ranks(pool), r = rank % ranks;
    return (Seat){rank / ranks % pool->pp, r % pool->tp, r / pool->moe_tp, r % pool->moe_tp};
}

static void add_routed(const ShardPlan *plan, const ShardClass *class, uint32_t layer, Seat seat,
                       ShardRanges *out) {
    const TensorClass *tensor = class->tensor;
    uint32_t first, count, fused = tensor->fused_experts;
    const uint32_t *list = shard_plan_experts(plan, class, layer, seat.position, &first, &count);
    for (uint32_t k = 0; k < shard_slice_stacks(tensor); k++) {
        for (uint32_t i = 0; i < count; i++) {
            uint32_t expert = list != NULL ? list[i] : first + i;
            ShardPlace place = shard_plan_place(plan, class, layer, fused > 0 ? k : expert);
            if (fused > 0) place.begin += expert * shard_slice_whole_B(tensor);
            add_part(out, class, seat.cut, place);
        }
    }
}

static void add_class(const ShardPlan *plan, const ShardClass *class, uint32_t layer, Seat seat,
                      ShardRanges *out) {
    if (class->is_routed) {
        add_routed(plan, class, layer, seat, out);
        return;
    }
    for (uint32_t member = 0; member < class->tensor->per_layer; member++)
        add_part(out, class, seat.t, shard_plan_place(plan, class, layer, member));
}

// Classes [from, end) outside of the layers that the stage has.
static void add_outside(const ShardPlan *plan, uint32_t from, uint32_t end, Seat seat,
                        ShardRanges *out) {
    const uint32_t *kinds = plan->kind_layers + (size_t)seat.stage * plan->arch->kind_count;
    for (uint32_t i = from; i < end; i++) {
        const ShardClass *class = &plan->classes[i];
        if (!class->is_read || !is_outside(class)) continue;
        if (shard_stage_repeats(&plan->pool, plan->arch, seat.stage, kinds, class->tensor) > 0)
            add_class(plan, class, NONE, seat, out);
    }
}

static int compare_ranges(const void *left, const void *right) {
    const ShardRange *a = left, *b = right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static void sort_ranges(ShardRanges *ranges) {
    uint32_t count = ranges->count;
    if (count == 0) return;
    qsort(ranges->items, count, sizeof *ranges->items, compare_ranges);
    ranges->count = 0;
    for (uint32_t i = 0; i < count; i++) add_range(ranges, ranges->items[i]);
}

void shard_plan_ranges(const ShardPlan *plan, uint32_t rank, ShardRanges *out) {
    const Arch *arch = plan->arch;
    Seat seat = seat_of(&plan->pool, rank);
    ShardRanges ranges = {0};
    uint32_t first, count, inside = first_in_layers(plan);
    pool_stage_layers(&plan->pool, arch->layers, seat.stage, &first, &count);
    add_outside(plan, 0, inside, seat, &ranges);
    for (uint32_t layer = first; layer < first + count; layer++) {
        for (uint32_t i = inside; i < arch->tensor_count; i++) {
            const ShardClass *class = &plan->classes[i];
            if (class->is_read && class->tensor->layer_kind == arch->kind_of_layer[layer])
                add_class(plan, class, layer, seat, &ranges);
        }
    }
    add_outside(plan, inside, arch->tensor_count, seat, &ranges);
    sort_ranges(&ranges);
    *out = ranges;
}

void shard_plan_ranges_free(ShardRanges *ranges) {
    mem_free(ranges->items);
    *ranges = (ShardRanges){0};
}
