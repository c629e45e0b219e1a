// One collective on the memories of a group, by its step list.
//
// Invariant: inputs are copied aside first and never written; in a step every transfer reads what
// outputs and scratch held when the step began; copies go before sums, sums in order of their
// source. So the result is that of ranks that really run side by side.
#include "exec/host/host_internal.h"

#include <string.h>

#include "exec/host/sum.h"
#include "model/base/wide.h"

// Aside memory of one collective. Item i of each array belongs to member i.
typedef struct Scene {
    HostRun *run;
    const OpId *ops;
    const Op *op; // of member 0: what all have in common
    CollectiveShape shape;
    uint32_t n;
    uint64_t bytes;
    uint32_t *ranks;
    uint8_t **inputs;    // copies
    uint8_t **scratches; // of this collective alone
    uint64_t *scratch_B;
    uint8_t **before[TRANSFER_SPACES]; // copies at the start of the step; of inputs: the inputs
    CollectiveShare *shares;
} Scene;

static uint64_t slice_bytes(const Scene *scene, uint32_t member, TransferSpace space) {
    if (space == TRANSFER_SCRATCH) return scene->scratch_B[member];
    const ScheduleSides *sides = &scene->run->sides[scene->ops[member]];
    return scene->run->slices[space == TRANSFER_INPUT ? sides->input : sides->output].count;
}

static uint8_t *memory_of(const Scene *scene, uint32_t member, TransferSpace space) {
    if (space == TRANSFER_SCRATCH) return scene->scratches[member];
    return host_slice(scene->run, scene->run->sides[scene->ops[member]].output,
                      scene->ranks[member]);
}

// The experts of the members follow each other in order of position.
static void fill_shares(Scene *scene) {
    const HostRun *run = scene->run;
    uint64_t before = 0;
    uint32_t first = 0;
    for (uint32_t i = 0; i < scene->n; i++) {
        const Comm *comm = &run->schedule->ops[scene->ops[i]].comm;
        uint64_t part, whole;
        load_share(run->load, comm->moe_layer, comm->experts_total, first, comm->experts, &part,
                   &whole);
        scene->shares[i] = (CollectiveShare){.before = before, .part = part, .whole = whole};
        before += part;
        first += comm->experts;
    }
}

// Elements that `source` sends to `to` in a split all-to-all: tokens go from source to destination
// in a dispatch, and their results the other way in a combine.
static uint64_t split_elements(const Scene *scene, uint32_t source, uint32_t to) {
    uint64_t element = scene->op->comm.element;
    uint64_t elements = wide_div_up_u64(scene->bytes, element);
    return scene->op->comm.split == SPLIT_BY_DESTINATION
               ? collective_share_count(elements, scene->n, source, &scene->shares[to])
               : collective_share_count(elements, scene->n, to, &scene->shares[source]);
}

// Where the part from `source` to `to` lies in an all-to-all: in the source's input by destination,
// in the destination's output by source.
static HostRange part_range(const Scene *scene, TransferSpace space, uint32_t source, uint32_t to) {
    const Comm *comm = &scene->op->comm;
    HostRange range = {0};
    if (comm->split == SPLIT_EVEN) {
        collective_chunk(scene->bytes, comm->element, scene->n, to, &range.first, &range.count);
        if (space == TRANSFER_OUTPUT) range.first = source * range.count;
        return range;
    }
    range.count = split_elements(scene, source, to) * comm->element;
    uint32_t others = space == TRANSFER_INPUT ? to : source;
    for (uint32_t i = 0; i < others; i++)
        range.first += comm->element * (space == TRANSFER_INPUT ? split_elements(scene, source, i)
                                                                : split_elements(scene, i, to));
    return range;
}

static uint64_t part_bytes(const Scene *scene, CollectivePart part) {
    return part_range(scene, TRANSFER_INPUT, part.source, part.target).count;
}

// Where chunk `chunk` begins in the scratch of a member; its own node's chunks have no room.
static uint64_t scratch_start(const Scene *scene, uint32_t member, uint32_t chunk) {
    uint64_t start = 0;
    for (uint32_t i = 0; i < chunk; i++) {
        if (i / scene->shape.inner == member / scene->shape.inner) continue;
        start += part_bytes(scene, collective_scratch_part(scene->shape, member, i));
    }
    return start;
}

// An element at the end of a rank's tokens may be cut short; what is missing of it does not move.
static uint64_t clip(uint64_t count, HostRange range, uint64_t bytes) {
    uint64_t room = range.first < bytes ? bytes - range.first : 0;
    return count < room ? count : room;
}

static HostRange chunk_range(const Scene *scene, TransferSpace space, uint32_t chunk,
                             uint32_t chunks) {
    const Comm *comm = &scene->op->comm;
    HostRange range, last;
    collective_chunk(scene->bytes, comm->element, scene->n, chunk, &range.first, &range.count);
    collective_chunk(scene->bytes, comm->element, scene->n, chunk + chunks - 1, &last.first,
                     &last.count);
    range.count = last.first + last.count - range.first;
    bool single = (comm->collective == COLLECTIVE_ALL_GATHER && space == TRANSFER_INPUT) ||
                  (comm->collective == COLLECTIVE_REDUCE_SCATTER && space == TRANSFER_OUTPUT);
    if (single) range.first = 0;
    return range;
}

// Where a transfer takes from, or puts to.
static HostRange end_range(const Scene *scene, const Transfer *transfer, TransferSpace space,
                           uint32_t member, uint32_t chunk) {
    if (scene->shape.kind != COLLECTIVE_ALL_TO_ALL)
        return chunk_range(scene, space, chunk, transfer->chunks);
    CollectivePart part = collective_part(transfer);
    if (space != TRANSFER_SCRATCH) return part_range(scene, space, part.source, part.target);
    return (HostRange){.first = scratch_start(scene, member, chunk),
                       .count = part_bytes(scene, part)};
}

static void apply(const Scene *scene, const Transfer *transfer) {
    HostResult *result = scene->run->result;
    HostRange from =
        end_range(scene, transfer, transfer->from_space, transfer->from, transfer->from_chunk);
    HostRange to = end_range(scene, transfer, transfer->to_space, transfer->to, transfer->to_chunk);
    uint64_t count =
        clip(from.count, from, slice_bytes(scene, transfer->from, transfer->from_space));
    count = clip(count, to, slice_bytes(scene, transfer->to, transfer->to_space));
    const uint8_t *source = scene->before[transfer->from_space][transfer->from];
    uint8_t *into = memory_of(scene, transfer->to, transfer->to_space);
    if (count == 0) return;
    if (transfer->action == TRANSFER_COPY)
        memcpy(into + to.first, source + from.first, count);
    else
        sum_add(scene->op->comm.format, into + to.first, source + from.first, count);
    if (transfer->from == transfer->to)
        result->local_B[scene->op->op_class] += count;
    else
        result->linked_B[scene->op->op_class] += count;
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

static void run_steps(const Scene *scene) {
    uint32_t steps = collective_steps(scene->shape);
    for (uint32_t step = 0; step == 0 || step < steps; step++) {
        if (step > 0) keep_before(scene, TRANSFER_OUTPUT);
        if (step > 0) keep_before(scene, TRANSFER_SCRATCH);
        apply_all(scene, step, TRANSFER_COPY);
        apply_all(scene, step, TRANSFER_ADD);
    }
}

// Only hierarchical algorithms have something aside between their steps.
static uint64_t scratch_bytes(const Scene *scene, uint32_t member) {
    if (scene->shape.algorithm != ALGORITHM_HIERARCHICAL || scene->n == 1) return 0;
    if (scene->shape.kind == COLLECTIVE_REDUCE_SCATTER) return scene->bytes;
    if (scene->shape.kind != COLLECTIVE_ALL_TO_ALL) return 0;
    return scratch_start(scene, member, scene->n);
}

static void set_aside(Scene *scene, Arena *arena) {
    const HostRun *run = scene->run;
    for (uint32_t i = 0; i < scene->n; i++) {
        uint64_t input = slice_bytes(scene, i, TRANSFER_INPUT);
        uint64_t output = slice_bytes(scene, i, TRANSFER_OUTPUT);
        uint32_t slice = run->sides[scene->ops[i]].input;
        scene->inputs[i] = arena_copy(arena, host_slice(run, slice, scene->ranks[i]), input, 1);
        scene->before[TRANSFER_OUTPUT][i] = arena_alloc(arena, output, 1);
        scene->scratch_B[i] = scratch_bytes(scene, i);
        scene->scratches[i] = arena_alloc(arena, scene->scratch_B[i], 1);
        scene->before[TRANSFER_SCRATCH][i] = arena_alloc(arena, scene->scratch_B[i], 1);
    }
}

// What a rank's experts get (dispatch) or give back (combine) fits its slice: schedule_check has
// proved it for even loads.
static bool shares_fit(const Scene *scene, Err *err) {
    bool dispatch = scene->op->comm.split == SPLIT_BY_DESTINATION;
    for (uint32_t i = 0; i < scene->n; i++) {
        uint64_t elements = 0,
                 room = slice_bytes(scene, i, dispatch ? TRANSFER_OUTPUT : TRANSFER_INPUT);
        for (uint32_t j = 0; j < scene->n; j++)
            elements += dispatch ? split_elements(scene, j, i) : split_elements(scene, i, j);
        char text[SCHEDULE_TEXT_MAX];
        if (elements > room / scene->op->comm.element)
            return err_set(
                err,
                "%s: the load gives rank %u %llu elements of %u bytes, its slice has %llu bytes",
                schedule_op_text(scene->run->schedule, scene->ops[i], text), scene->ranks[i],
                (unsigned long long)elements, scene->op->comm.element, (unsigned long long)room);
    }
    return true;
}

bool host_collective(HostRun *run, uint32_t group, const OpId *ops, Err *err) {
    const Op *op = &run->schedule->ops[ops[0]];
    const GroupFamily *family = &run->schedule->groups[op->comm.group];
    Arena arena = {0};
    uint32_t n = family->size;
    Scene scene = {.run = run,
                   .ops = ops,
                   .op = op,
                   .shape = schedule_comm_shape(run->schedule, &op->comm),
                   .n = n,
                   .bytes = extent_value(&op->comm.bytes, run->shape),
                   .ranks = arena_alloc(&arena, n, sizeof(uint32_t)),
                   .inputs = arena_alloc(&arena, n, sizeof(uint8_t *)),
                   .scratches = arena_alloc(&arena, n, sizeof(uint8_t *)),
                   .scratch_B = arena_alloc(&arena, n, sizeof(uint64_t)),
                   .shares = arena_alloc(&arena, n, sizeof(CollectiveShare))};
    scene.before[TRANSFER_INPUT] = scene.inputs;
    scene.before[TRANSFER_OUTPUT] = arena_alloc(&arena, n, sizeof(uint8_t *));
    scene.before[TRANSFER_SCRATCH] = arena_alloc(&arena, n, sizeof(uint8_t *));
    bool good = true;
    for (uint32_t i = 0; i < n; i++) scene.ranks[i] = schedule_group_member(family, group, i);
    if (op->comm.split != SPLIT_EVEN) {
        fill_shares(&scene);
        good = shares_fit(&scene, err);
    }
    if (good) {
        set_aside(&scene, &arena);
        run_steps(&scene);
    }
    arena_free(&arena);
    return good;
}
