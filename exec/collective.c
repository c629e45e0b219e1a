// A rank's part in a collective by its step list.
//
// Invariant: in a step every transfer reads what inputs, outputs and scratch held when the step
// began; copies go before sums, sums in order of their source. A received copy goes straight to its
// place unless something is read there in the same step; copies of one step never overlap
// (collective.h), so their order does not matter. Inputs are never written: one that the output
// overlaps is copied aside. So the result is the same bytes on every back end, whichever rank is
// ahead.
#include "exec/collective.h"

#include <string.h>

#include "exec/collective_internal.h"
#include "exec/sum.h"

Message collective_message(Scene *scene, MessageKind kind, uint32_t position, uint8_t *bytes,
                           uint64_t count) {
    const OpInstance *instance = scene->instance;
    uint32_t *number = kind == MESSAGE_RECV ? &scene->taken[position] : &scene->sent[position];
    return (Message){
        .kind = kind,
        .peer = collective_rank(scene, position),
        .tag = job_tag(instance->job->wires[instance->cursor.op], instance->meeting, (*number)++),
        .bytes = bytes,
        .count = count};
}

// ---- One step

// Bytes that change on this rank in a step. `stage` is where they lie aside, or NONE.
typedef struct Move {
    uint8_t *into;
    const uint8_t *from; // of a local one; of one that lies aside, its stage
    uint64_t count, stage;
    TransferAction action;
    uint32_t message; // that brings them there or to the stage, or NONE
} Move;

#define NO_STAGE   UINT64_MAX
#define NO_MESSAGE UINT32_MAX

typedef struct Step {
    Move *moves; // in order of their source
    uint32_t move_count, move_capacity;
    Message *messages;
    uint32_t message_count, message_capacity;
    uint8_t *stage;
    uint64_t stage_B, stage_capacity_B;
} Step;

static void add_message(Step *step, Message message) {
    step->messages = mem_grow(step->messages, &step->message_capacity, step->message_count + 1,
                              sizeof *step->messages);
    step->messages[step->message_count++] = message;
}

static void add_move(Step *step, Move move) {
    step->moves =
        mem_grow(step->moves, &step->move_capacity, step->move_count + 1, sizeof *step->moves);
    step->moves[step->move_count++] = move;
}

static bool overlap(const uint8_t *a, uint64_t a_count, const uint8_t *b, uint64_t b_count) {
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return x < y + b_count && y < x + a_count;
}

static uint8_t *source_of(const Scene *scene, const Transfer *transfer) {
    return scene->memory[transfer->from_space] + collective_parts_from(scene, transfer);
}

static uint8_t *place_of(const Scene *scene, const Transfer *transfer) {
    return scene->memory[transfer->to_space] + collective_parts_to(scene, transfer);
}

// What this rank sends.
static void add_sends(Scene *scene, uint32_t number, Step *step, CollectiveMoved *moved) {
    uint32_t count = collective_transfer_count(scene->shape, number, scene->me);
    for (uint32_t i = 0; i < count; i++) {
        Transfer transfer = collective_transfer(scene->shape, number, scene->me, i);
        uint64_t bytes = collective_parts_count(scene, &transfer);
        if (bytes == 0) continue;
        if (transfer.to == scene->me) {
            moved->local_B += bytes;
            continue;
        }
        moved->linked_B += bytes;
        add_message(step, collective_message(scene, MESSAGE_SEND, transfer.to,
                                             source_of(scene, &transfer), bytes));
    }
}

// What member `from` brings; of this rank itself, what it moves.
static void add_from(Scene *scene, uint32_t number, uint32_t from, Step *step) {
    uint32_t count = collective_transfer_count(scene->shape, number, from);
    for (uint32_t i = 0; i < count; i++) {
        Transfer transfer = collective_transfer(scene->shape, number, from, i);
        if (transfer.to != scene->me) continue;
        uint64_t bytes = collective_parts_count(scene, &transfer);
        if (bytes == 0) continue;
        Move move = {.into = place_of(scene, &transfer),
                     .count = bytes,
                     .stage = NO_STAGE,
                     .action = transfer.action,
                     .message = NO_MESSAGE};
        if (from == scene->me) {
            move.from = source_of(scene, &transfer);
        } else {
            move.message = step->message_count;
            add_message(step, collective_message(scene, MESSAGE_RECV, from, move.into, bytes));
        }
        add_move(step, move);
    }
}

// In a step in which all send to one at the same distance, only one sends to this rank.
static void add_moves(Scene *scene, uint32_t number, Step *step) {
    uint32_t n = scene->n, me = scene->me;
    if (number < collective_steps(scene->shape)) {
        StepTraffic traffic = collective_traffic(scene->shape, number);
        if (traffic.pattern == PATTERN_SHIFT && traffic.scope == SCOPE_GROUP) {
            uint32_t from = (uint32_t)(((uint64_t)me + n - traffic.shift % n) % n);
            add_from(scene, number, from < me ? from : me, step);
            if (from != me) add_from(scene, number, from < me ? me : from, step);
            return;
        }
    }
    for (uint32_t from = 0; from < n; from++) add_from(scene, number, from, step);
}

// Whether something is sent from there in this step, or moved by this rank.
static bool is_read(const Step *step, const uint8_t *bytes, uint64_t count) {
    for (uint32_t i = 0; i < step->message_count; i++) {
        const Message *message = &step->messages[i];
        if (message->kind == MESSAGE_SEND && overlap(message->bytes, message->count, bytes, count))
            return true;
    }
    for (uint32_t i = 0; i < step->move_count; i++) {
        const Move *move = &step->moves[i];
        if (move->from != NULL && overlap(move->from, move->count, bytes, count)) return true;
    }
    return false;
}

static bool is_written(const Step *step, const uint8_t *bytes, uint64_t count) {
    for (uint32_t i = 0; i < step->move_count; i++)
        if (overlap(step->moves[i].into, step->moves[i].count, bytes, count)) return true;
    return false;
}

static void stage(Step *step, Move *move) {
    move->stage = step->stage_B;
    step->stage_B += move->count;
}

// What this rank moves inside itself and nothing else of the step needs goes with the messages.
static void add_copies(const Scene *scene, Step *step) {
    for (uint32_t i = 0; i < step->move_count; i++) {
        Move *move = &step->moves[i];
        if (move->message != NO_MESSAGE || move->stage != NO_STAGE ||
            move->action != TRANSFER_COPY || is_read(step, move->into, move->count))
            continue;
        move->message = step->message_count;
        add_message(step, (Message){.kind = MESSAGE_COPY,
                                    .peer = scene->instance->rank,
                                    .bytes = move->into,
                                    .from = move->from,
                                    .count = move->count});
    }
}

// Lays aside what must not reach its place, or change there, before the messages have ended.
static void stage_all(const Scene *scene, Step *step) {
    bool may_meet = scene->shape.kind != COLLECTIVE_ALL_TO_ALL ||
                    scene->shape.algorithm == ALGORITHM_HIERARCHICAL;
    for (uint32_t i = 0; i < step->move_count; i++) {
        Move *move = &step->moves[i];
        if (move->message != NO_MESSAGE) {
            if (move->action == TRANSFER_ADD ||
                (may_meet && is_read(step, move->into, move->count)))
                stage(step, move);
        } else if (may_meet && is_written(step, move->from, move->count)) {
            stage(step, move);
        }
    }
    if (step->stage_B > step->stage_capacity_B) {
        mem_free(step->stage); // not realloc: nothing in it is needed any more
        step->stage = mem_realloc(NULL, step->stage_B, 1);
        step->stage_capacity_B = step->stage_B;
    }
    for (uint32_t i = 0; i < step->move_count; i++) {
        Move *move = &step->moves[i];
        if (move->stage == NO_STAGE) continue;
        uint8_t *bytes = step->stage + move->stage;
        if (move->message != NO_MESSAGE)
            step->messages[move->message].bytes = bytes;
        else
            memcpy(bytes, move->from, move->count);
        move->from = bytes;
    }
}

static void apply(const Scene *scene, const Step *step, TransferAction action) {
    for (uint32_t i = 0; i < step->move_count; i++) {
        const Move *move = &step->moves[i];
        bool is_there = move->message != NO_MESSAGE && move->stage == NO_STAGE;
        if (move->action != action || is_there) continue;
        if (action == TRANSFER_COPY)
            memcpy(move->into, move->from, move->count);
        else
            sum_add(scene->op->comm.format, move->into, move->from, move->count);
    }
}

static bool run_step(Scene *scene, uint32_t number, Step *step, CollectiveMoved *moved, Err *err) {
    const BackEnd *back_end = scene->back_end;
    step->move_count = step->message_count = 0;
    step->stage_B = 0;
    add_sends(scene, number, step, moved);
    add_moves(scene, number, step);
    stage_all(scene, step);
    add_copies(scene, step);
    if (step->message_count > 0 && !back_end->exchange(back_end->self, scene->instance->rank,
                                                       step->messages, step->message_count, err))
        return false;
    apply(scene, step, TRANSFER_COPY);
    apply(scene, step, TRANSFER_ADD);
    return true;
}

// ---- The whole

static uint64_t room_of(const Scene *scene, uint32_t slice) {
    const OpInstance *instance = scene->instance;
    const Job *job = instance->job;
    if (scene->routing == NULL) return job->slices[slice].count;
    return instance->size_B[job->schedule->slices[slice].buffer] - job->slices[slice].first;
}

static void take_memory(Scene *scene) {
    const OpInstance *instance = scene->instance;
    const ScheduleSides *sides = &instance->job->sides[instance->cursor.op];
    scene->memory[TRANSFER_INPUT] = job_slice(instance, sides->input);
    scene->memory[TRANSFER_OUTPUT] = job_slice(instance, sides->output);
    scene->room[TRANSFER_INPUT] = room_of(scene, sides->input);
    scene->room[TRANSFER_OUTPUT] = room_of(scene, sides->output);
    scene->sent = mem_alloc(scene->n, sizeof *scene->sent);
    scene->taken = mem_alloc(scene->n, sizeof *scene->taken);
}

// After the parts are known. Only hierarchical algorithms have something aside between steps.
static void take_aside(Scene *scene) {
    uint8_t *input = scene->memory[TRANSFER_INPUT];
    if (overlap(input, scene->room[TRANSFER_INPUT], scene->memory[TRANSFER_OUTPUT],
                scene->room[TRANSFER_OUTPUT])) {
        scene->aside = mem_realloc(NULL, scene->room[TRANSFER_INPUT], 1);
        memcpy(scene->aside, input, scene->room[TRANSFER_INPUT]);
        scene->memory[TRANSFER_INPUT] = scene->aside;
    }
    if (scene->shape.algorithm != ALGORITHM_HIERARCHICAL || scene->n == 1) return;
    if (scene->shape.kind == COLLECTIVE_REDUCE_SCATTER)
        scene->room[TRANSFER_SCRATCH] = scene->bytes;
    scene->memory[TRANSFER_SCRATCH] = mem_alloc(scene->room[TRANSFER_SCRATCH], 1);
}

static bool run_steps(Scene *scene, CollectiveMoved *moved, Err *err) {
    uint32_t steps = collective_steps(scene->shape);
    Step step = {0};
    bool good = true;
    for (uint32_t i = 0; good && (i == 0 || i < steps); i++)
        good = run_step(scene, i, &step, moved, err);
    mem_free(step.moves);
    mem_free(step.messages);
    mem_free(step.stage);
    return good;
}

bool collective_run(const BackEnd *back_end, const OpInstance *instance, const ComputeUnit *compute,
                    CollectiveMoved *moved, Err *err) {
    const Job *job = instance->job;
    const Op *op = job_op(instance);
    const GroupFamily *family = &job->schedule->groups[op->comm.group];
    Scene scene = {.back_end = back_end,
                   .instance = instance,
                   .compute = compute,
                   .op = op,
                   .shape = schedule_comm_shape(job->schedule, &op->comm),
                   .n = family->size,
                   .bytes = extent_value(&op->comm.bytes, &job->shape)};
    *moved = (CollectiveMoved){0};
    if (compute != NULL && collective_is_routed(&scene)) scene.routing = compute->routing;
    if (!schedule_group_of(family, instance->rank, &scene.group, &scene.me))
        return err_set(err, "rank %u is in no group", instance->rank);
    take_memory(&scene);
    bool good = collective_parts_open(&scene, err);
    if (good) {
        take_aside(&scene);
        good = run_steps(&scene, moved, err);
    }
    collective_parts_close(&scene);
    mem_free(scene.memory[TRANSFER_SCRATCH]);
    mem_free(scene.aside);
    mem_free(scene.sent);
    mem_free(scene.taken);
    mem_free(scene.cuts);
    return good;
}
