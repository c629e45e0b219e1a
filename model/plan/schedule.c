// Building a schedule: arrays that grow, then a digest.
//
// Invariant: after schedule_finish nothing changes; operations of a block, waits and slices of an
// operation, and segments of a role are consecutive. Indices given by the caller are stored as they
// are; schedule_check judges them.
#include "model/plan/schedule.h"

#include "model/plan/schedule_fields.h"

#include <assert.h>

const char *const schedule_op_names[OP_KIND_COUNT] = {
#define X(name, text) text,
    OP_LIST(X)
#undef X
};

const char *const schedule_class_names[OP_CLASS_COUNT] = {
#define X(name, text) text,
    OP_CLASS_LIST(X)
#undef X
};

const char *const schedule_work_names[OP_WORK_COUNT] = {
#define X(name, text) text,
    OP_WORK_LIST(X)
#undef X
};

const char *const schedule_access_names[SLICE_ACCESS_COUNT] = {
#define X(name, text) text,
    SLICE_LIST(X)
#undef X
};

const char *const schedule_split_names[SPLIT_COUNT] = {
#define X(name, text) text,
    SPLIT_LIST(X)
#undef X
};

const char *const schedule_life_names[BUFFER_LIFE_COUNT] = {
#define X(name, text) text,
    BUFFER_LIFE_LIST(X)
#undef X
};

void schedule_init(Schedule *schedule, const char *name, uint32_t rank_count) {
    *schedule = (Schedule){.rank_count = rank_count};
    schedule->name = arena_string(&schedule->arena, name);
}

void schedule_set_passes(Schedule *schedule, uint32_t passes) {
    for (RoleId r = 0; r < schedule->role_count; r++) schedule->roles[r].passes = passes;
    schedule_finish(schedule);
}

void schedule_free(Schedule *schedule) {
    arena_free(&schedule->arena);
    mem_free(schedule->roles);
    mem_free(schedule->groups);
    mem_free(schedule->buffers);
    mem_free(schedule->blocks);
    mem_free(schedule->segments);
    mem_free(schedule->ops);
    mem_free(schedule->waits);
    mem_free(schedule->slices);
    *schedule = (Schedule){0};
}

RoleId schedule_add_role(Schedule *schedule, const char *name, RankSet ranks, uint32_t passes) {
    RoleId id = schedule->role_count;
    schedule->roles = mem_grow(schedule->roles, &schedule->role_capacity, id + 1, sizeof(Role));
    schedule->roles[id] =
        (Role){.name = arena_string(&schedule->arena, name), .ranks = ranks, .passes = passes};
    schedule->role_count++;
    return id;
}

GroupId schedule_add_group(Schedule *schedule, const GroupFamily *family) {
    GroupId id = schedule->group_count;
    schedule->groups =
        mem_grow(schedule->groups, &schedule->group_capacity, id + 1, sizeof(GroupFamily));
    schedule->groups[id] = *family;
    schedule->groups[id].name = arena_string(&schedule->arena, family->name);
    schedule->group_count++;
    return id;
}

BufferId schedule_add_buffer(Schedule *schedule, const Buffer *buffer) {
    BufferId id = schedule->buffer_count;
    schedule->buffers =
        mem_grow(schedule->buffers, &schedule->buffer_capacity, id + 1, sizeof(Buffer));
    schedule->buffers[id] = *buffer;
    schedule->buffers[id].name = arena_string(&schedule->arena, buffer->name);
    schedule->buffer_count++;
    return id;
}

BlockId schedule_add_block(Schedule *schedule, RoleId role, const char *name) {
    BlockId id = schedule->block_count;
    schedule->blocks = mem_grow(schedule->blocks, &schedule->block_capacity, id + 1, sizeof(Block));
    schedule->blocks[id] = (Block){
        .name = arena_string(&schedule->arena, name), .role = role, .first_op = schedule->op_count};
    schedule->block_count++;
    return id;
}

OpId schedule_add_op(Schedule *schedule, const Op *op) {
    assert(schedule->block_count > 0);
    OpId id = schedule->op_count;
    BlockId block = schedule->block_count - 1;
    schedule->ops = mem_grow(schedule->ops, &schedule->op_capacity, id + 1, sizeof(Op));
    Op *added = &schedule->ops[id];
    *added = *op;
    added->name = arena_string(&schedule->arena, op->name);
    added->block = block;
    added->first_wait = schedule->wait_count;
    added->first_slice = schedule->slice_count;
    added->wait_count = added->slice_count = 0;
    if (schedule_op_is_comm(op->kind))
        added->compute = (Compute){0};
    else
        added->comm = (Comm){0};
    if (op->stream >= schedule->stream_count && op->stream < SCHEDULE_STREAMS_MAX)
        schedule->stream_count = op->stream + 1;
    schedule->blocks[block].op_count++;
    schedule->op_count++;
    return id;
}

void schedule_add_wait(Schedule *schedule, OpId on) {
    assert(schedule->op_count > 0);
    uint32_t count = schedule->wait_count;
    schedule->waits = mem_grow(schedule->waits, &schedule->wait_capacity, count + 1, sizeof(OpId));
    schedule->waits[count] = on;
    schedule->ops[schedule->op_count - 1].wait_count++;
    schedule->wait_count++;
}

void schedule_add_slice(Schedule *schedule, const Slice *slice) {
    assert(schedule->op_count > 0);
    uint32_t count = schedule->slice_count;
    schedule->slices =
        mem_grow(schedule->slices, &schedule->slice_capacity, count + 1, sizeof(Slice));
    schedule->slices[count] = *slice;
    schedule->ops[schedule->op_count - 1].slice_count++;
    schedule->slice_count++;
}

void schedule_add_segment(Schedule *schedule, RoleId role, BlockId block, uint32_t repeat) {
    assert(role < schedule->role_count);
    uint32_t count = schedule->segment_count;
    Role *owner = &schedule->roles[role];
    if (owner->segment_count == 0) owner->first_segment = count;
    assert(owner->first_segment + owner->segment_count == count);
    schedule->segments =
        mem_grow(schedule->segments, &schedule->segment_capacity, count + 1, sizeof(Segment));
    schedule->segments[count] = (Segment){.block = block, .repeat = repeat};
    owner->segment_count++;
    schedule->segment_count++;
}

// ---- The digest: every field that means something, in the order of the file form; segments by
// role, so that the order in which programs were added does not matter.

static Digest hash_role(Digest hash, const Schedule *schedule, const Role *role) {
    hash = hash_string(hash, role->name);
    hash = hash_u64(hash, role->ranks.first);
    hash = hash_u64(hash, role->ranks.count);
    hash = hash_u64(hash, role->ranks.period);
    hash = hash_u64(hash, role->ranks.repeat);
    hash = hash_u64(hash, role->passes);
    hash = hash_u64(hash, role->segment_count);
    for (uint32_t i = 0; i < role->segment_count; i++) {
        hash = hash_u64(hash, schedule->segments[role->first_segment + i].block);
        hash = hash_u64(hash, schedule->segments[role->first_segment + i].repeat);
    }
    return hash;
}

static Digest hash_group(Digest hash, const GroupFamily *family) {
    hash = hash_string(hash, family->name);
    hash = hash_u64(hash, family->size);
    hash = hash_u64(hash, family->stride);
    hash = hash_u64(hash, family->count);
    hash = hash_u64(hash, family->first);
    hash = hash_u64(hash, family->period);
    return hash_u64(hash, family->per_period);
}

static Digest hash_buffer(Digest hash, const Buffer *buffer) {
    hash = hash_string(hash, buffer->name);
    hash = hash_u64(hash, buffer->role);
    hash = hash_u64(hash, buffer->format);
    hash = hash_u64(hash, buffer->life);
    return extent_hash(hash, &buffer->bytes);
}

static Digest hash_fields(Digest hash, const Op *op) {
    Op copy = *op;
    ScheduleField fields[SCHEDULE_FIELDS_MAX];
    uint32_t count = schedule_fields_of(&copy, fields);
    for (uint32_t i = 0; i < count; i++) {
        if (fields[i].need == FIELD_NEWER) {
            if (*fields[i].number == 0) continue;
            hash = hash_string(hash, fields[i].key);
        }
        hash = fields[i].kind == FIELD_EXTENT ? extent_hash(hash, fields[i].extent)
                                              : hash_u64(hash, *fields[i].number);
    }
    return hash;
}

static Digest hash_op(Digest hash, const Schedule *schedule, const Op *op) {
    hash = hash_u64(hash, op->kind);
    hash = hash_u64(hash, op->op_class);
    hash = hash_string(hash, op->name);
    hash = hash_u64(hash, op->stream);
    hash = hash_u64(hash, op->wait_count);
    for (uint32_t i = 0; i < op->wait_count; i++)
        hash = hash_u64(hash, schedule->waits[op->first_wait + i]);
    hash = hash_u64(hash, op->slice_count);
    for (uint32_t i = 0; i < op->slice_count; i++) {
        const Slice *slice = &schedule->slices[op->first_slice + i];
        hash = hash_u64(hash, slice->buffer);
        hash = hash_u64(hash, slice->access);
        hash = extent_hash(hash, &slice->offset);
        hash = extent_hash(hash, &slice->bytes);
    }
    return hash_fields(hash, op);
}

void schedule_finish(Schedule *schedule) {
    Digest hash = hash_string(HASH_START, "schedule");
    hash = hash_string(hash, schedule->name);
    hash = hash_u64(hash, schedule->rank_count);
    hash = hash_u64(hash, schedule->role_count);
    for (uint32_t i = 0; i < schedule->role_count; i++)
        hash = hash_role(hash, schedule, &schedule->roles[i]);
    hash = hash_u64(hash, schedule->group_count);
    for (uint32_t i = 0; i < schedule->group_count; i++)
        hash = hash_group(hash, &schedule->groups[i]);
    hash = hash_u64(hash, schedule->buffer_count);
    for (uint32_t i = 0; i < schedule->buffer_count; i++)
        hash = hash_buffer(hash, &schedule->buffers[i]);
    hash = hash_u64(hash, schedule->block_count);
    for (uint32_t i = 0; i < schedule->block_count; i++) {
        const Block *block = &schedule->blocks[i];
        hash = hash_string(hash, block->name);
        hash = hash_u64(hash, block->role);
        hash = hash_u64(hash, block->op_count);
        for (uint32_t j = 0; j < block->op_count; j++)
            hash = hash_op(hash, schedule, &schedule->ops[block->first_op + j]);
    }
    schedule->digest = hash;
}
