// A schedule with an operation for every layer.
//
// Invariant: the instances of a pass are those of the schedule, in the same order, one block each.
// A wait means the latest earlier instance (schedule.h), which is known here: the one before in the
// program, or the last of the program when it is of the pass before. Instance k of a communication
// in one role meets instance k in the others, so instance k of a channel gets a channel of its own.
#include "model/plan/schedule_unroll.h"

#include <assert.h>

#include "model/base/wide.h"

// One instance of a block in the program of a role.
typedef struct Instance {
    BlockId block;
    uint32_t turn;     // among the instances of its block
    uint32_t layer;    // number of its MoE layer, when it has one
    uint32_t previous; // the instance of its block before it, around the end of the program; itself
                       // when it is alone
    OpId first_op;     // of the copy
} Instance;

typedef struct Unroll {
    const Schedule *from;
    Schedule *to;
    Arena arena;
    Instance *instances; // of the role at hand
    uint32_t count;
    uint32_t *last;    // [block]: latest instance so far, around the end of the program
    uint32_t channels; // more than any channel of `from`
} Unroll;

static const uint32_t *layer_of(const Op *op) {
    if (op->kind == OP_GROUPED_GEMM) return &op->compute.moe_layer;
    if (op->kind == OP_COLLECTIVE && op->comm.split != SPLIT_EVEN) return &op->comm.moe_layer;
    return NULL;
}

// The lowest MoE layer that a block names, SCHEDULE_NONE when it has none.
static uint32_t layer_of_block(const Schedule *schedule, BlockId id) {
    const Block *block = &schedule->blocks[id];
    uint32_t lowest = SCHEDULE_NONE;
    for (OpId o = block->first_op; o < block->first_op + block->op_count; o++) {
        const uint32_t *layer = layer_of(&schedule->ops[o]);
        if (layer != NULL && *layer < lowest) lowest = *layer;
    }
    return lowest;
}

// ---- What is refused.

static bool check_channels(const Schedule *schedule, Err *err) {
    for (OpId a = 0; a < schedule->op_count; a++) {
        const Op *op = &schedule->ops[a];
        if (!schedule_op_is_comm(op->kind)) continue;
        for (OpId b = 0; b < a; b++) {
            const Op *other = &schedule->ops[b];
            char text[SCHEDULE_TEXT_MAX];
            if (other->kind == op->kind && other->comm.channel == op->comm.channel &&
                schedule_op_role(schedule, a) == schedule_op_role(schedule, b))
                return err_set(err, "%s shares its channel with another of its role",
                               schedule_op_text(schedule, a, text));
        }
    }
    return true;
}

static bool check_size(const Schedule *schedule, uint32_t channels, Err *err) {
    Wide ops = 0;
    uint64_t most = 0;
    for (uint32_t s = 0; s < schedule->segment_count; s++) {
        const Segment *segment = &schedule->segments[s];
        // an empty block counts as one operation, so that instances are bounded too
        ops += wide_mul(segment->repeat, schedule->blocks[segment->block].op_count + UINT64_C(1));
        most += segment->repeat;
    }
    char text[40];
    return (ops <= SCHEDULE_UNROLL_MAX && wide_mul(most, channels) < SCHEDULE_NONE) ||
           err_set(err, "one by one the layers have %s operations, at most %u",
                   wide_format(ops, text), (unsigned)SCHEDULE_UNROLL_MAX);
}

// ---- One role.

static void list_instances(Unroll *unroll, const Role *role) {
    const Schedule *from = unroll->from;
    uint32_t layer = SCHEDULE_NONE;
    unroll->count = 0;
    for (BlockId b = 0; b < from->block_count; b++) unroll->last[b] = SCHEDULE_NONE;
    for (uint32_t s = 0; s < role->segment_count; s++) {
        const Segment *segment = &from->segments[role->first_segment + s];
        uint32_t named = layer_of_block(from, segment->block);
        if (layer == SCHEDULE_NONE) layer = named;
        for (uint32_t i = 0; i < segment->repeat; i++) {
            Instance *instance = &unroll->instances[unroll->count];
            uint32_t before = unroll->last[segment->block];
            *instance = (Instance){.block = segment->block, .layer = layer, .previous = before};
            if (before != SCHEDULE_NONE) instance->turn = unroll->instances[before].turn + 1;
            unroll->last[segment->block] = unroll->count++;
            if (named != SCHEDULE_NONE) layer++;
        }
    }
    for (uint32_t i = 0; i < unroll->count; i++)
        if (unroll->instances[i].previous == SCHEDULE_NONE)
            unroll->instances[i].previous = unroll->last[unroll->instances[i].block];
}

static void number_op(const Unroll *unroll, const Instance *instance, Op *op) {
    uint32_t lowest = layer_of_block(unroll->from, instance->block);
    if (layer_of(op) != NULL && op->kind == OP_COLLECTIVE)
        op->comm.moe_layer += instance->layer - lowest;
    if (op->kind == OP_GROUPED_GEMM) op->compute.moe_layer += instance->layer - lowest;
    if (schedule_op_is_comm(op->kind)) op->comm.channel += instance->turn * unroll->channels;
}

// The copy that an operation of instance `index` waits for when it waits for `on`; SCHEDULE_NONE
// when the program never gets there.
static OpId copy_of(const Unroll *unroll, uint32_t index, OpId waiting, OpId on) {
    BlockId block = unroll->from->ops[on].block;
    uint32_t source;
    if (block != unroll->instances[index].block)
        source = unroll->last[block];
    else
        source = on < waiting ? index : unroll->instances[index].previous;
    if (source == SCHEDULE_NONE) return SCHEDULE_NONE;
    return unroll->instances[source].first_op + (on - unroll->from->blocks[block].first_op);
}

static void copy_instance(Unroll *unroll, uint32_t index) {
    const Schedule *from = unroll->from;
    const Instance *instance = &unroll->instances[index];
    const Block *block = &from->blocks[instance->block];
    RoleId role = block->role;
    Arena scratch = {0};
    schedule_add_block(unroll->to, role,
                       arena_printf(&scratch, "%s, %u", block->name, instance->turn));
    for (OpId o = block->first_op; o < block->first_op + block->op_count; o++) {
        Op op = from->ops[o];
        number_op(unroll, instance, &op);
        OpId id = schedule_add_op(unroll->to, &op);
        assert(id == instance->first_op + (o - block->first_op));
        (void)id;
        for (uint32_t w = 0; w < op.wait_count; w++) {
            OpId on = copy_of(unroll, index, o, from->waits[op.first_wait + w]);
            if (on != SCHEDULE_NONE) schedule_add_wait(unroll->to, on);
        }
        for (uint32_t s = 0; s < op.slice_count; s++)
            schedule_add_slice(unroll->to, &from->slices[op.first_slice + s]);
    }
    unroll->last[instance->block] = index;
    arena_free(&scratch);
}

static void copy_role(Unroll *unroll, RoleId id) {
    const Role *role = &unroll->from->roles[id];
    BlockId first_block = unroll->to->block_count;
    OpId next = unroll->to->op_count;
    list_instances(unroll, role);
    for (uint32_t i = 0; i < unroll->count; i++) {
        unroll->instances[i].first_op = next;
        next += unroll->from->blocks[unroll->instances[i].block].op_count;
    }
    // `last` holds the last instances of the program: what comes before the first ones of a pass
    for (uint32_t i = 0; i < unroll->count; i++) copy_instance(unroll, i);
    for (uint32_t i = 0; i < unroll->count; i++)
        schedule_add_segment(unroll->to, id, first_block + i, 1);
}

bool schedule_unroll_layers(const Schedule *schedule, Schedule *out, Err *err) {
    Unroll unroll = {.from = schedule, .to = out, .channels = 1};
    uint64_t instances = 0;
    for (OpId o = 0; o < schedule->op_count; o++)
        if (schedule_op_is_comm(schedule->ops[o].kind) &&
            schedule->ops[o].comm.channel >= unroll.channels)
            unroll.channels = schedule->ops[o].comm.channel + 1;
    if (!check_channels(schedule, err) || !check_size(schedule, unroll.channels, err)) return false;
    for (uint32_t s = 0; s < schedule->segment_count; s++)
        instances += schedule->segments[s].repeat;
    unroll.instances = arena_alloc(&unroll.arena, instances, sizeof *unroll.instances);
    unroll.last = arena_alloc(&unroll.arena, schedule->block_count, sizeof *unroll.last);
    schedule_init(out, schedule->name, schedule->rank_count);
    for (RoleId r = 0; r < schedule->role_count; r++)
        schedule_add_role(out, schedule->roles[r].name, schedule->roles[r].ranks,
                          schedule->roles[r].passes);
    for (GroupId g = 0; g < schedule->group_count; g++)
        schedule_add_group(out, &schedule->groups[g]);
    for (BufferId b = 0; b < schedule->buffer_count; b++)
        schedule_add_buffer(out, &schedule->buffers[b]);
    for (RoleId r = 0; r < schedule->role_count; r++) copy_role(&unroll, r);
    schedule_finish(out);
    arena_free(&unroll.arena);
    return true;
}
