// One collective on the memories of a group, by its step list.
//
// Invariant: inputs are copied aside first and never written; in a step every transfer reads what
// outputs and scratch held when the step began; copies go before sums, sums in order of their
// source. Nothing is shared with exec/collective.c but the step lists and the addition.
#include "tests/exec/oracle.h"

#include <string.h>

#include "exec/sum.h"
#include "model/base/wide.h"

typedef struct Range {
    uint64_t first, count;
} Range;

// Item i of each array belongs to member i.
typedef struct Scene {
    const Schedule *schedule;
    const Op *op;
    const StepShape *step;
    uint8_t *const *const *buffers;
    ScheduleSides sides;
    CollectiveShape shape;
    uint32_t n, group;
    uint64_t bytes;
    uint8_t **inputs, **scratches; // copies of the inputs; memory between steps
    uint64_t *scratch_B;
    uint8_t **before[TRANSFER_SPACES]; // copies at the start of the step; of inputs: the inputs
    CollectiveShare *shares;
} Scene;

static uint64_t slice_bytes(const Scene *scene, uint32_t member, TransferSpace space) {
    if (space == TRANSFER_SCRATCH) return scene->scratch_B[member];
    uint32_t slice = space == TRANSFER_INPUT ? scene->sides.input : scene->sides.output;
    return extent_value(&scene->schedule->slices[slice].bytes, scene->step);
}

static uint8_t *slice_of(const Scene *scene, uint32_t member, uint32_t slice) {
    const Slice *s = &scene->schedule->slices[slice];
    uint32_t rank = schedule_group_member(&scene->schedule->groups[scene->op->comm.group],
                                          scene->group, member);
    return scene->buffers[rank][s->buffer] + extent_value(&s->offset, scene->step);
}

static uint8_t *memory_of(const Scene *scene, uint32_t member, TransferSpace space) {
    if (space == TRANSFER_SCRATCH) return scene->scratches[member];
    return slice_of(scene, member, scene->sides.output);
}

static uint64_t split_elements(const Scene *scene, uint32_t source, uint32_t to) {
    uint64_t elements = wide_div_up_u64(scene->bytes, scene->op->comm.element);
    return scene->op->comm.split == SPLIT_BY_DESTINATION
               ? collective_share_count(elements, scene->n, source, &scene->shares[to])
               : collective_share_count(elements, scene->n, to, &scene->shares[source]);
}

// In the source's input by destination, in the destination's output by source.
static Range part_range(const Scene *scene, TransferSpace space, uint32_t source, uint32_t to) {
    const Comm *comm = &scene->op->comm;
    Range range = {0};
    if (comm->split == SPLIT_EVEN) {
        collective_chunk(scene->bytes, comm->element, scene->n, to, &range.first, &range.count);
        if (space == TRANSFER_OUTPUT) range.first = source * range.count;
        return range;
    }
    range.count = split_elements(scene, source, to) * comm->element;
    for (uint32_t i = 0; i < (space == TRANSFER_INPUT ? to : source); i++)
        range.first += comm->element * (space == TRANSFER_INPUT ? split_elements(scene, source, i)
                                                                : split_elements(scene, i, to));
    return range;
}

static uint64_t scratch_start(const Scene *scene, uint32_t member, uint32_t chunk) {
    uint64_t start = 0;
    for (uint32_t i = 0; i < chunk; i++) {
        if (i / scene->shape.inner == member / scene->shape.inner) continue;
        CollectivePart part = collective_scratch_part(scene->shape, member, i);
        start += part_range(scene, TRANSFER_INPUT, part.source, part.target).count;
    }
    return start;
}

static Range chunk_range(const Scene *scene, TransferSpace space, uint32_t chunk, uint32_t chunks) {
    const Comm *comm = &scene->op->comm;
    Range range, last;
    collective_chunk(scene->bytes, comm->element, scene->n, chunk, &range.first, &range.count);
    collective_chunk(scene->bytes, comm->element, scene->n, chunk + chunks - 1, &last.first,
                     &last.count);
    range.count = last.first + last.count - range.first;
    if ((comm->collective == COLLECTIVE_ALL_GATHER && space == TRANSFER_INPUT) ||
        (comm->collective == COLLECTIVE_REDUCE_SCATTER && space == TRANSFER_OUTPUT))
        range.first = 0;
    return range;
}

static Range end_range(const Scene *scene, const Transfer *transfer, TransferSpace space,
                       uint32_t member, uint32_t chunk) {
    if (scene->shape.kind != COLLECTIVE_ALL_TO_ALL)
        return chunk_range(scene, space, chunk, transfer->chunks);
    CollectivePart part = collective_part(transfer);
    Range range = part_range(scene, space, part.source, part.target);
    if (space == TRANSFER_SCRATCH) range.first = scratch_start(scene, member, chunk);
    return range;
}

static uint64_t clip(uint64_t count, Range range, uint64_t bytes) {
    uint64_t room = range.first < bytes ? bytes - range.first : 0;
    return count < room ? count : room;
}

static void apply(const Scene *scene, const Transfer *transfer) {
    Range from =
        end_range(scene, transfer, transfer->from_space, transfer->from, transfer->from_chunk);
    Range to = end_range(scene, transfer, transfer->to_space, transfer->to, transfer->to_chunk);
    uint64_t count =
        clip(from.count, from, slice_bytes(scene, transfer->from, transfer->from_space));
    count = clip(count, to, slice_bytes(scene, transfer->to, transfer->to_space));
    const uint8_t *source = scene->before[transfer->from_space][transfer->from] + from.first;
    uint8_t *into = memory_of(scene, transfer->to, transfer->to_space) + to.first;
    if (count > 0 && transfer->action == TRANSFER_COPY) memcpy(into, source, count);
    if (count > 0 && transfer->action == TRANSFER_ADD)
        sum_add(scene->op->comm.format, into, source, count);
}

static void apply_all(const Scene *scene, uint32_t step, TransferAction action) {
    for (uint32_t from = 0; from < scene->n; from++) {
        uint32_t count = collective_transfer_count(scene->shape, step, from);
        for (uint32_t i = 0; i < count; i++) {
            Transfer transfer = collective_transfer(scene->shape, step, from, i);
            if (transfer.action == action) apply(scene, &transfer);
        }
    }
}

static void keep_before(const Scene *scene, TransferSpace space) {
    for (uint32_t i = 0; i < scene->n; i++) {
        uint64_t bytes = slice_bytes(scene, i, space);
        if (bytes > 0) memcpy(scene->before[space][i], memory_of(scene, i, space), bytes);
    }
}

static uint64_t scratch_bytes(const Scene *scene, uint32_t member) {
    if (scene->shape.algorithm != ALGORITHM_HIERARCHICAL || scene->n == 1) return 0;
    if (scene->shape.kind == COLLECTIVE_REDUCE_SCATTER) return scene->bytes;
    return scene->shape.kind == COLLECTIVE_ALL_TO_ALL ? scratch_start(scene, member, scene->n) : 0;
}

static void set_aside(Scene *scene, const Load *load, Arena *arena) {
    const Comm *comm = &scene->op->comm;
    uint64_t before = 0;
    for (uint32_t i = 0; comm->split != SPLIT_EVEN && i < scene->n; i++) {
        CollectiveShare *share = &scene->shares[i];
        load_share(load, comm->moe_layer, comm->experts_total, i * comm->experts, comm->experts,
                   &share->part, &share->whole);
        share->before = before;
        before += share->part;
    }
    for (uint32_t i = 0; i < scene->n; i++) {
        scene->inputs[i] = arena_copy(arena, slice_of(scene, i, scene->sides.input),
                                      slice_bytes(scene, i, TRANSFER_INPUT), 1);
        scene->before[TRANSFER_OUTPUT][i] =
            arena_alloc(arena, slice_bytes(scene, i, TRANSFER_OUTPUT), 1);
        scene->scratch_B[i] = scratch_bytes(scene, i);
        scene->scratches[i] = arena_alloc(arena, scene->scratch_B[i], 1);
        scene->before[TRANSFER_SCRATCH][i] = arena_alloc(arena, scene->scratch_B[i], 1);
    }
}

void oracle_collective(const Schedule *schedule, OpId op, const StepShape *shape, const Load *load,
                       uint32_t group, uint8_t *const *const *buffers) {
    Arena arena = {0};
    const Comm *comm = &schedule->ops[op].comm;
    uint32_t n = schedule->groups[comm->group].size;
    Scene scene = {.schedule = schedule,
                   .op = &schedule->ops[op],
                   .step = shape,
                   .buffers = buffers,
                   .shape = schedule_comm_shape(schedule, comm),
                   .n = n,
                   .group = group,
                   .bytes = extent_value(&comm->bytes, shape),
                   .inputs = arena_alloc(&arena, n, sizeof(uint8_t *)),
                   .scratches = arena_alloc(&arena, n, sizeof(uint8_t *)),
                   .scratch_B = arena_alloc(&arena, n, sizeof(uint64_t)),
                   .shares = arena_alloc(&arena, n, sizeof(CollectiveShare))};
    Err err = {0};
    schedule_comm_sides(schedule, op, &scene.sides, &err);
    scene.before[TRANSFER_INPUT] = scene.inputs;
    scene.before[TRANSFER_OUTPUT] = arena_alloc(&arena, n, sizeof(uint8_t *));
    scene.before[TRANSFER_SCRATCH] = arena_alloc(&arena, n, sizeof(uint8_t *));
    set_aside(&scene, load, &arena);
    uint32_t steps = collective_steps(scene.shape);
    for (uint32_t step = 0; step == 0 || step < steps; step++) {
        if (step > 0) keep_before(&scene, TRANSFER_OUTPUT);
        if (step > 0) keep_before(&scene, TRANSFER_SCRATCH);
        apply_all(&scene, step, TRANSFER_COPY);
        apply_all(&scene, step, TRANSFER_ADD);
    }
    arena_free(&arena);
}
