// How the bytes of a collective are cut: chunks, and the parts of an all-to-all.
//
// Invariant: both ends of a transfer come to the same count from what all ranks know; where a part
// lies is looked up only on the rank that has it. An element at the end of a rank's tokens may be
// cut short: what is missing of it does not move.
// Source: counts before rows, as NCCL programs do that have no all-to-all(v) (nccl-tests,
// src/alltoall.cu; DeepEP's dispatch counts by expert first).
#include "exec/collective_internal.h"

#include <string.h>

#include "model/base/wide.h"

// ---- Elements of the token owner for the experts of the holder

static bool is_dispatch(const Scene *scene) {
    return scene->op->comm.split == SPLIT_BY_DESTINATION;
}

static uint64_t part_elements(const Scene *scene, uint32_t source, uint32_t target) {
    uint32_t owner = is_dispatch(scene) ? source : target;
    uint32_t holder = is_dispatch(scene) ? target : source;
    return scene->parts.dealt != NULL ? scene->parts.dealt[(size_t)owner * scene->n + holder]
                                      : share_elements(&scene->parts.shares, owner, holder);
}

// Bytes from the input of `source` for `target`.
static uint64_t part_bytes(const Scene *scene, uint32_t source, uint32_t target) {
    const Comm *comm = &scene->op->comm;
    uint64_t first, count, row_B = comm->element;
    if (scene->routing != NULL && scene->routing->row_B > 0) row_B = scene->routing->row_B;
    if (collective_is_routed(scene)) return part_elements(scene, source, target) * row_B;
    collective_chunk(scene->bytes, comm->element, scene->n, target, &first, &count);
    return count;
}

static uint64_t slice_bytes(const Scene *scene, uint32_t position, TransferSpace space) {
    const Job *job = scene->instance->job;
    uint32_t rank = collective_rank(scene, position);
    const ScheduleSides *sides = &job->sides[job_peer_op(scene->instance, job->roles[rank])];
    return job->slices[space == TRANSFER_INPUT ? sides->input : sides->output].count;
}

// What is left of a part whose rank has less than whole elements: one rank's own tokens.
static uint64_t clip_part(const Scene *scene, CollectivePart part, uint64_t count) {
    uint32_t owner = is_dispatch(scene) ? part.source : part.target;
    uint32_t holder = is_dispatch(scene) ? part.target : part.source;
    uint64_t first = 0;
    uint64_t room =
        slice_bytes(scene, owner, is_dispatch(scene) ? TRANSFER_INPUT : TRANSFER_OUTPUT);
    for (uint32_t i = 0; i < holder; i++)
        first += is_dispatch(scene) ? part_bytes(scene, owner, i) : part_bytes(scene, i, owner);
    uint64_t left = first < room ? room - first : 0;
    return count < left ? count : left;
}

static bool touches_tokens(const Scene *scene, const Transfer *transfer) {
    return is_dispatch(scene) ? transfer->from_space == TRANSFER_INPUT
                              : transfer->to_space == TRANSFER_OUTPUT;
}

// ---- Chunks of all other collectives

static JobRange chunk_range(const Scene *scene, TransferSpace space, uint32_t chunk,
                            uint32_t chunks) {
    const Comm *comm = &scene->op->comm;
    JobRange range, last;
    if (scene->cuts != NULL) {
        range.first = scene->cuts[chunk];
        range.count = scene->cuts[chunk + chunks] - range.first;
    } else {
        collective_chunk(scene->bytes, comm->element, scene->n, chunk, &range.first, &range.count);
        collective_chunk(scene->bytes, comm->element, scene->n, chunk + chunks - 1, &last.first,
                         &last.count);
        range.count = last.first + last.count - range.first;
    }
    bool single = (comm->collective == COLLECTIVE_ALL_GATHER && space == TRANSFER_INPUT) ||
                  (comm->collective == COLLECTIVE_REDUCE_SCATTER && space == TRANSFER_OUTPUT);
    if (single) range.first = 0;
    return range;
}

// ---- Transfers

uint64_t collective_parts_count(const Scene *scene, const Transfer *transfer) {
    if (scene->shape.kind != COLLECTIVE_ALL_TO_ALL)
        return chunk_range(scene, transfer->from_space, transfer->from_chunk, transfer->chunks)
            .count;
    CollectivePart part = collective_part(transfer);
    uint64_t count = part_bytes(scene, part.source, part.target);
    bool whole = !collective_is_routed(scene) || scene->parts.dealt != NULL ||
                 scene->bytes % scene->op->comm.element == 0;
    return whole || count == 0 || !touches_tokens(scene, transfer) ? count
                                                                   : clip_part(scene, part, count);
}

uint64_t collective_parts_from(const Scene *scene, const Transfer *transfer) {
    if (scene->shape.kind != COLLECTIVE_ALL_TO_ALL)
        return chunk_range(scene, transfer->from_space, transfer->from_chunk, transfer->chunks)
            .first;
    uint32_t at = transfer->from_space == TRANSFER_SCRATCH ? transfer->from_chunk
                                                           : collective_part(transfer).target;
    return scene->parts.ranges[transfer->from_space][at].first;
}

uint64_t collective_parts_to(const Scene *scene, const Transfer *transfer) {
    if (scene->shape.kind != COLLECTIVE_ALL_TO_ALL)
        return chunk_range(scene, transfer->to_space, transfer->to_chunk, transfer->chunks).first;
    uint32_t at = transfer->to_space == TRANSFER_SCRATCH ? transfer->to_chunk
                                                         : collective_part(transfer).source;
    return scene->parts.ranges[transfer->to_space][at].first;
}

// ---- What this rank has

static void fill_ranges(Scene *scene) {
    uint32_t n = scene->n, me = scene->me;
    JobRange *input = mem_alloc(n, sizeof *input), *output = mem_alloc(n, sizeof *output);
    uint64_t in = 0, out = 0;
    for (uint32_t i = 0; i < n; i++) {
        input[i] = (JobRange){.first = in, .count = part_bytes(scene, me, i)};
        output[i] = (JobRange){.first = out, .count = part_bytes(scene, i, me)};
        in += input[i].count;
        out += output[i].count;
    }
    scene->parts.ranges[TRANSFER_INPUT] = input;
    scene->parts.ranges[TRANSFER_OUTPUT] = output;
}

// Between the two phases of a hierarchical all-to-all; its own node's chunks have no room.
static void fill_scratch(Scene *scene) {
    uint32_t n = scene->n, inner = scene->shape.inner;
    JobRange *scratch = mem_alloc(n, sizeof *scratch);
    uint64_t sum = 0;
    for (uint32_t chunk = 0; chunk < n; chunk++) {
        scratch[chunk].first = sum;
        if (chunk / inner == scene->me / inner) continue;
        CollectivePart part = collective_scratch_part(scene->shape, scene->me, chunk);
        scratch[chunk].count = part_bytes(scene, part.source, part.target);
        sum += scratch[chunk].count;
    }
    scene->parts.ranges[TRANSFER_SCRATCH] = scratch;
    scene->room[TRANSFER_SCRATCH] = sum;
}

// What this rank's experts get (dispatch) or give back (combine), and in a free run all of its
// tokens too, fits its memory: of even loads schedule_check has proved it.
static bool parts_fit(const Scene *scene, Err *err) {
    uint32_t rank = scene->instance->rank, element = scene->op->comm.element;
    TransferSpace held = is_dispatch(scene) ? TRANSFER_OUTPUT : TRANSFER_INPUT;
    for (uint32_t space = TRANSFER_INPUT; space <= TRANSFER_OUTPUT; space++) {
        if (space != held && scene->parts.dealt == NULL) continue;
        const JobRange *last = &scene->parts.ranges[space][scene->n - 1];
        uint64_t bytes = last->first + last->count;
        if (bytes > scene->room[space])
            return err_set(err,
                           "the load gives rank %u %llu elements of %u bytes, its slice has %llu "
                           "bytes",
                           rank, (unsigned long long)(bytes / element), element,
                           (unsigned long long)scene->room[space]);
    }
    return true;
}

// ---- Free runs

static uint32_t experts_of(const Scene *scene, uint32_t position) {
    const Job *job = scene->instance->job;
    RoleId role = job->roles[collective_rank(scene, position)];
    return job->schedule->ops[job_peer_op(scene->instance, role)].comm.experts;
}

// Everyone's rows by expert to everyone: a rank between two nodes needs those of others too.
static bool gather_rows(Scene *scene, uint32_t *rows, Err *err) {
    uint32_t n = scene->n, experts = scene->op->comm.experts_total, count = 0;
    size_t bytes = experts * sizeof *rows;
    Message *messages = mem_alloc(n, 2 * sizeof *messages);
    for (uint32_t i = 0; i < n; i++) {
        if (i == scene->me) continue;
        messages[count++] = collective_message(
            scene, MESSAGE_SEND, i, (uint8_t *)(rows + (size_t)scene->me * experts), bytes);
        messages[count++] = collective_message(scene, MESSAGE_RECV, i,
                                               (uint8_t *)(rows + (size_t)i * experts), bytes);
    }
    bool good =
        count == 0 || scene->back_end->exchange(scene->back_end->self, scene->instance->rank,
                                                messages, count, err);
    mem_free(messages);
    return good;
}

// Sums of rows by member, and what arrives here by expert.
static bool deal(Scene *scene, const uint32_t *rows, uint32_t *dealt, Err *err) {
    uint32_t n = scene->n, total = scene->op->comm.experts_total, first = 0;
    const Routing *routing = scene->routing;
    for (uint32_t holder = 0; holder < n; holder++) {
        uint32_t experts = experts_of(scene, holder);
        for (uint32_t owner = 0; owner < n; owner++) {
            const uint32_t *own = rows + (size_t)owner * total + first;
            uint64_t sum = 0;
            for (uint32_t i = 0; i < experts; i++) sum += own[i];
            if (sum > UINT32_MAX)
                return err_set(err, "rank %u sends too many rows", collective_rank(scene, owner));
            dealt[(size_t)owner * n + holder] = (uint32_t)sum;
            if (holder == scene->me &&
                !routing->arrives(routing->self, scene->instance, owner, own, experts, err))
                return false;
        }
        first += experts;
    }
    return true;
}

static bool route(Scene *scene, Err *err) {
    const OpInstance *instance = scene->instance;
    uint32_t n = scene->n, total = scene->op->comm.experts_total;
    uint32_t **kept = &instance->dealt[instance->cursor.op];
    if (*kept == NULL) *kept = mem_alloc((size_t)n * n, sizeof **kept);
    uint32_t *rows = mem_alloc((size_t)n * total, sizeof *rows);
    bool good = scene->routing->rows(scene->routing->self, instance,
                                     rows + (size_t)scene->me * total, err) &&
                gather_rows(scene, rows, err) && deal(scene, rows, *kept, err);
    mem_free(rows);
    scene->parts.dealt = *kept;
    return good;
}

static bool find_dealt(Scene *scene, Err *err) {
    const OpInstance *instance = scene->instance;
    OpId dispatch = instance->job->undoes[instance->cursor.op];
    scene->parts.dealt = dispatch == SCHEDULE_NONE ? NULL : instance->dealt[dispatch];
    return scene->parts.dealt != NULL ||
           err_set(err, "a combine without a dispatch before it, whose rows it would bring back");
}

// Uneven parts of a gather or a scatter.
static void open_cuts(Scene *scene) {
    const ComputeUnit *compute = scene->compute;
    if (compute == NULL || compute->share_B == NULL ||
        (scene->shape.kind != COLLECTIVE_ALL_GATHER &&
         scene->shape.kind != COLLECTIVE_REDUCE_SCATTER) ||
        compute->share_B(compute->self, scene->instance, scene->instance->rank) ==
            COMPUTE_AS_SCHEDULED)
        return;
    scene->cuts = mem_alloc((size_t)scene->n + 1, sizeof *scene->cuts);
    for (uint32_t i = 0; i < scene->n; i++)
        scene->cuts[i + 1] = scene->cuts[i] + compute->share_B(compute->self, scene->instance,
                                                               collective_rank(scene, i));
    scene->bytes = scene->cuts[scene->n];
}

bool collective_parts_open(Scene *scene, Err *err) {
    open_cuts(scene);
    if (scene->shape.kind != COLLECTIVE_ALL_TO_ALL) return true;
    if (collective_is_routed(scene)) {
        if (scene->routing == NULL)
            share_open(scene->instance, scene->group, &scene->parts.shares);
        else if (!(is_dispatch(scene) ? route(scene, err) : find_dealt(scene, err)))
            return false;
    }
    fill_ranges(scene);
    if (scene->shape.algorithm == ALGORITHM_HIERARCHICAL && scene->n > 1) fill_scratch(scene);
    return !collective_is_routed(scene) || parts_fit(scene, err);
}

void collective_parts_close(Scene *scene) {
    for (uint32_t i = 0; i < TRANSFER_SPACES; i++) mem_free(scene->parts.ranges[i]);
    share_close(&scene->parts.shares);
}
