// Small schedules written by hand.
//
// Invariant: all pass schedule_check as they are; tests of refusals change one thing.
#include "tests/plan/hand_schedule.h"

void hand_slice(Schedule *schedule, BufferId buffer, SliceAccess access, uint64_t offset,
                uint64_t bytes) {
    Slice slice = {.buffer = buffer,
                   .access = access,
                   .offset = extent_fixed(offset),
                   .bytes = extent_fixed(bytes)};
    schedule_add_slice(schedule, &slice);
}

BufferId hand_buffer(Schedule *schedule, RoleId role, const char *name, uint64_t bytes) {
    Buffer buffer = {.name = name,
                     .role = role,
                     .format = NUMFMT_F32,
                     .life = BUFFER_STEP,
                     .bytes = extent_fixed(bytes)};
    return schedule_add_buffer(schedule, &buffer);
}

OpId hand_memory(Schedule *schedule, const char *name, uint32_t stream) {
    Op op = {.kind = OP_MEMORY, .op_class = OP_CLASS_OTHER, .name = name, .stream = stream};
    return schedule_add_op(schedule, &op);
}

OpId hand_message(Schedule *schedule, OpKind kind, const char *name, RoleId peer, uint32_t channel,
                  uint64_t bytes) {
    Op op = {.kind = kind, .op_class = OP_CLASS_PIPELINE, .name = name};
    op.comm.peer = peer;
    op.comm.channel = channel;
    op.comm.bytes = extent_fixed(bytes);
    return schedule_add_op(schedule, &op);
}

void hand_collective(const HandCollective *hand, Schedule *out) {
    schedule_init(out, collective_names[hand->collective], hand->n);
    RankSet ranks = {.count = hand->n, .repeat = 1};
    RoleId role = schedule_add_role(out, "all", ranks, 1);
    GroupFamily family = {.name = "all", .size = hand->n, .stride = 1, .count = 1};
    GroupId group = schedule_add_group(out, &family);
    BufferId in = hand_buffer(out, role, "in", hand->room_B);
    BufferId result = hand_buffer(out, role, "out", hand->room_B);
    BlockId block = schedule_add_block(out, role, "block");
    Op op = {.kind = OP_COLLECTIVE, .op_class = OP_CLASS_TP_COMM, .name = "comm"};
    op.comm = (Comm){.collective = hand->collective,
                     .algorithm = hand->algorithm,
                     .inner = hand->inner,
                     .group = group,
                     .bytes = extent_fixed(hand->bytes),
                     .element = hand->element,
                     .format = hand->format};
    schedule_add_op(out, &op);
    hand_slice(out, in, SLICE_READ, 0, hand->room_B);
    hand_slice(out, result, SLICE_WRITE, 0, hand->room_B);
    schedule_add_segment(out, role, block, 1);
    schedule_finish(out);
}

void hand_ring(uint32_t passes, uint32_t lag, Schedule *out) {
    static const char *const names[] = {"stage 0", "stage 1", "stage 2", "stage 3"};
    schedule_init(out, "ring of four", 4);
    for (RoleId role = 0; role < 4; role++) {
        RankSet ranks = {.first = role, .count = 1, .repeat = 1};
        schedule_add_role(out, names[role], ranks, passes);
        hand_buffer(out, role, "token", 4);
        hand_buffer(out, role, "number", 4);
    }
    for (RoleId role = 0; role < 4; role++) {
        BlockId block = schedule_add_block(out, role, "turn");
        OpId receive = hand_message(out, OP_RECV, "receive", (role + 3) % 4, 0, 4);
        if (role == 0) out->ops[receive].comm.lag = lag;
        hand_slice(out, 2 * role, SLICE_WRITE, 0, 4);
        Op add = {.kind = OP_COPY, .op_class = OP_CLASS_OTHER, .name = "add"};
        add.compute.bytes = extent_fixed(4);
        schedule_add_op(out, &add);
        hand_slice(out, 2 * role + 1, SLICE_READ, 0, 4);
        hand_slice(out, 2 * role, SLICE_ADD, 0, 4);
        hand_message(out, OP_SEND, "send", (role + 1) % 4, 0, 4);
        hand_slice(out, 2 * role, SLICE_READ, 0, 4);
        schedule_add_segment(out, role, block, 1);
    }
    schedule_finish(out);
}

static void add_routed(Schedule *schedule, RoleId role, Split split, uint64_t pairs) {
    BufferId first = 3 * role;
    uint64_t room = schedule->buffers[first + 1].bytes.fixed;
    Op op = {.kind = OP_COLLECTIVE, .op_class = OP_CLASS_DISPATCH, .name = "dispatch"};
    op.comm = (Comm){.collective = COLLECTIVE_ALL_TO_ALL,
                     .algorithm = ALGORITHM_DIRECT,
                     .bytes = extent_fixed(4 * pairs),
                     .split = split,
                     .experts = role == 0 ? 13 : 12,
                     .experts_total = 100,
                     .first_expert = role == 0 ? 0 : 52,
                     .element = 4,
                     .format = NUMFMT_F32};
    if (split == SPLIT_BY_SOURCE) {
        op.op_class = OP_CLASS_COMBINE;
        op.name = "combine";
        op.comm.channel = 1;
    }
    schedule_add_op(schedule, &op);
    bool out = split == SPLIT_BY_DESTINATION;
    hand_slice(schedule, first + (out ? 0 : 1), SLICE_READ, 0, out ? 4 * pairs : room);
    hand_slice(schedule, first + (out ? 1 : 2), SLICE_WRITE, 0, out ? room : 4 * pairs);
}

void hand_experts(uint64_t pairs, Schedule *out) {
    schedule_init(out, "experts", 8);
    for (RoleId role = 0; role < 2; role++) {
        RankSet ranks = {.first = 4 * role, .count = 4, .repeat = 1};
        uint64_t experts = role == 0 ? 13 : 12;
        schedule_add_role(out, role == 0 ? "13 experts" : "12 experts", ranks, 1);
        hand_buffer(out, role, "tokens", 4 * pairs);
        hand_buffer(out, role, "received", 4 * ((8 * pairs * experts + 99) / 100));
        hand_buffer(out, role, "results", 4 * pairs);
    }
    GroupFamily family = {.name = "ep", .size = 8, .stride = 1, .count = 1};
    schedule_add_group(out, &family);
    for (RoleId role = 0; role < 2; role++) {
        BlockId block = schedule_add_block(out, role, "experts");
        add_routed(out, role, SPLIT_BY_DESTINATION, pairs);
        add_routed(out, role, SPLIT_BY_SOURCE, pairs);
        schedule_add_segment(out, role, block, 1);
    }
    schedule_finish(out);
}
