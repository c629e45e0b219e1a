// How much a rank reads, from the classes of tensors alone.
//
// Invariant: ShardRead.ranges_B is the sum of the ranges of shard_plan_ranges (the tests compare
// them); what readers of whole tensors and files read on top is what the ranges leave out.
#include <string.h>

#include "model/plan/shard.h"
#include "model/plan/shard_plan.h"

#define NONE UINT32_MAX

// Experts of a class that position `position` holds over the layers of a stage, and the most in one
// of them. `repeats` layers have it.
typedef struct Held {
    uint64_t experts, most;
} Held;

static Held held_experts(const ShardPlan *plan, const ShardClass *class, uint32_t stage,
                         uint32_t position, uint64_t repeats) {
    uint32_t first, count, kind = class->tensor->layer_kind;
    if (plan->experts.layers <= 1 || kind == NONE) {
        uint32_t layer = plan->experts.layers == 0 ? NONE : 0;
        shard_plan_experts(plan, class, kind == NONE ? NONE : layer, position, &first, &count);
        return (Held){repeats * count, count};
    }
    Held held = {0};
    uint32_t begin, layers;
    pool_stage_layers(&plan->pool, plan->arch->layers, stage, &begin, &layers);
    for (uint32_t layer = begin; layer < begin + layers; layer++) {
        if (plan->arch->kind_of_layer[layer] != kind) continue;
        shard_plan_experts(plan, class, layer, position, &first, &count);
        held.experts += count;
        if (count > held.most) held.most = count;
    }
    return held;
}

static void raise(uint64_t *most, uint64_t value) {
    if (value > *most) *most = value;
}

static void add_routed(const ShardPlan *plan, const ShardClass *class, uint32_t stage, uint32_t r,
                       uint64_t repeats, ShardRead *out) {
    const TensorClass *tensor = class->tensor;
    uint32_t position = r / plan->pool.moe_tp, fused = tensor->fused_experts;
    uint64_t each_B = class->held_B[r % plan->pool.moe_tp], stacks = shard_slice_stacks(tensor);
    Held held = held_experts(plan, class, stage, position, repeats);
    if (each_B == 0 || held.experts == 0) return;
    out->ranges_B += held.experts * stacks * each_B;
    out->tensors_B += (fused > 0 ? repeats * stacks : held.experts) * tensor->bytes;
    raise(&out->largest_range_B, fused > 0 ? held.most * each_B : each_B);
    raise(&out->largest_tensor_B, tensor->bytes);
}

static void add_cut(const ShardPlan *plan, const ShardClass *class, uint32_t r, uint64_t repeats,
                    ShardRead *out) {
    const TensorClass *tensor = class->tensor;
    uint64_t count = repeats * tensor->per_layer, each_B = class->held_B[r % plan->pool.tp];
    if (each_B == 0) return;
    out->ranges_B += count * each_B;
    out->tensors_B += count * tensor->bytes;
    raise(&out->largest_range_B, each_B);
    raise(&out->largest_tensor_B, tensor->bytes);
}

void shard_plan_read(const ShardPlan *plan, uint32_t rank, ShardRead *out) {
    const Arch *arch = plan->arch;
    uint32_t ranks = pool_stage_ranks(&plan->pool);
    uint32_t r = rank % ranks, stage = rank / ranks % plan->pool.pp;
    const uint32_t *kinds = plan->kind_layers + (size_t)stage * arch->kind_count;
    size_t seat = (size_t)stage * plan->pool.ep + r / plan->pool.moe_tp;
    *out = (ShardRead){.files_B = plan->files_B[seat],
                       .largest_file_B = plan->largest_file_B[seat],
                       .files = plan->files_read[seat]};
    for (uint32_t i = 0; i < arch->tensor_count; i++) {
        const ShardClass *class = &plan->classes[i];
        uint64_t repeats = shard_stage_repeats(&plan->pool, arch, stage, kinds, class->tensor);
        if (repeats == 0) continue;
        if (class->is_routed)
            add_routed(plan, class, stage, r, repeats, out);
        else
            add_cut(plan, class, r, repeats, out);
    }
}

// ---- Whole files.

// The files of one seat (stage and EP position): a mark for each file, the number of the seat.
typedef struct Files {
    ShardPlan *plan;
    size_t *marks;                  // [file_count]
    uint32_t *common, common_count; // of the stage, whatever the position
    size_t seat;                    // counted from 1
} Files;

static void add_file(Files *files, uint32_t file) {
    ShardPlan *plan = files->plan;
    size_t seat = files->seat - 1;
    if (files->marks[file] == files->seat) return;
    files->marks[file] = files->seat;
    plan->files_B[seat] += plan->files[file].size_B;
    plan->files_read[seat]++;
    raise(&plan->largest_file_B[seat], plan->files[file].size_B);
}

// All tensors of a class in one layer that a position (NONE: any) has a part of. In a virtual file
// they all are together.
static void add_class_files(Files *files, const ShardClass *class, uint32_t layer,
                            uint32_t position) {
    const ShardPlan *plan = files->plan;
    const TensorClass *tensor = class->tensor;
    const uint32_t *list = NULL;
    uint32_t first = 0, count = tensor->per_layer;
    if (position != NONE && tensor->fused_experts == 0)
        list = shard_plan_experts(plan, class, layer, position, &first, &count);
    if (plan->is_virtual && count > 1) count = 1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t member = list != NULL ? list[i] : first + i;
        uint32_t file = shard_plan_place(plan, class, layer, member).file;
        if (position == NONE && files->marks[file] != files->seat) {
            files->marks[file] = files->seat;
            files->common[files->common_count++] = file;
        } else if (position != NONE) {
            add_file(files, file);
        }
    }
}

static void add_stage_files(Files *files, uint32_t stage, uint32_t position) {
    const ShardPlan *plan = files->plan;
    const Arch *arch = plan->arch;
    const uint32_t *kinds = plan->kind_layers + (size_t)stage * arch->kind_count;
    uint32_t first, layers;
    pool_stage_layers(&plan->pool, arch->layers, stage, &first, &layers);
    for (uint32_t i = 0; i < arch->tensor_count; i++) {
        const ShardClass *class = &plan->classes[i];
        uint32_t kind = class->tensor->layer_kind;
        if (class->is_routed != (position != NONE) ||
            shard_stage_repeats(&plan->pool, arch, stage, kinds, class->tensor) == 0)
            continue;
        if (kind == NONE) add_class_files(files, class, NONE, position);
        for (uint32_t layer = first; kind != NONE && layer < first + layers; layer++)
            if (arch->kind_of_layer[layer] == kind) add_class_files(files, class, layer, position);
    }
}

void shard_plan_measure_files(ShardPlan *plan) {
    uint32_t pp = plan->pool.pp, ep = plan->pool.ep;
    size_t seats = (size_t)pp * ep;
    plan->files_B = arena_alloc(&plan->arena, seats, sizeof *plan->files_B);
    plan->largest_file_B = arena_alloc(&plan->arena, seats, sizeof *plan->largest_file_B);
    plan->files_read = arena_alloc(&plan->arena, seats, sizeof *plan->files_read);
    Files files = {.plan = plan,
                   .marks = mem_alloc(plan->file_count, sizeof *files.marks),
                   .common = mem_alloc(plan->file_count, sizeof *files.common)};
    memset(files.marks, 0, plan->file_count * sizeof *files.marks);
    for (uint32_t stage = 0; stage < pp; stage++) {
        files.common_count = 0;
        files.seat = seats + 1 + stage; // marks of its own
        add_stage_files(&files, stage, NONE);
        for (uint32_t position = 0; position < ep; position++) {
            files.seat = (size_t)stage * ep + position + 1;
            for (uint32_t i = 0; i < files.common_count; i++) add_file(&files, files.common[i]);
            add_stage_files(&files, stage, position);
        }
    }
    mem_free(files.marks);
    mem_free(files.common);
}
