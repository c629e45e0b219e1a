// The text form of a schedule, for people.
//
// Invariant: one line for each role, group, buffer and operation, in order of their numbers, which
// are the numbers of the file form.
#include "model/plan/schedule.h"
#include "model/plan/schedule_fields.h"

static void print_ranks(const RankSet *set, Text *out) {
    text_addf(out, "ranks %u", set->first);
    if (set->count > 1) text_addf(out, "-%u", set->first + set->count - 1);
    if (set->repeat > 1)
        text_addf(out, " and %u more times every %u", set->repeat - 1, set->period);
}

static void print_role(const Schedule *schedule, RoleId id, Text *out) {
    const Role *role = &schedule->roles[id];
    text_addf(out, "role %u \"%s\": ", id, role->name);
    print_ranks(&role->ranks, out);
    text_addf(out, "; %u %s of", role->passes, role->passes == 1 ? "pass" : "passes");
    for (uint32_t i = 0; i < role->segment_count; i++) {
        const Segment *segment = &schedule->segments[role->first_segment + i];
        text_addf(out, "%s block %u", i > 0 ? "," : "", segment->block);
        if (segment->repeat > 1) text_addf(out, " x %u", segment->repeat);
    }
    text_add_char(out, '\n');
}

static void print_group(const Schedule *schedule, GroupId id, Text *out) {
    const GroupFamily *family = &schedule->groups[id];
    text_addf(out, "group %u \"%s\": %u of %u ranks, stride %u, from rank %u on", id, family->name,
              family->count, family->size, family->stride, family->first);
    if (family->period > 0)
        text_addf(out, ", %u every %u ranks", family->per_period, family->period);
    text_add_char(out, '\n');
}

static void print_buffer(const Schedule *schedule, BufferId id, Text *out) {
    const Buffer *buffer = &schedule->buffers[id];
    text_addf(out, "buffer %u \"%s\": role %u, %s, lives for a %s, ", id, buffer->name,
              buffer->role, numfmt_name(buffer->format), schedule_life_names[buffer->life]);
    extent_print(&buffer->bytes, out);
    text_add(out, " B\n");
}

static void print_fields(const Op *op, Text *out) {
    Op copy = *op;
    ScheduleField fields[SCHEDULE_FIELDS_MAX];
    uint32_t count = schedule_fields_of(&copy, fields);
    for (uint32_t i = 0; i < count; i++) {
        if (fields[i].need == FIELD_NEWER && *fields[i].number == 0) continue;
        text_addf(out, ", %s ", fields[i].key);
        switch (fields[i].kind) {
        case FIELD_COUNT: text_addf(out, "%u", *fields[i].number); break;
        case FIELD_NAME: text_add(out, fields[i].names[*fields[i].number]); break;
        case FIELD_EXTENT: extent_print(fields[i].extent, out); break;
        }
    }
}

static void print_op(const Schedule *schedule, OpId id, Text *out) {
    const Op *op = &schedule->ops[id];
    const Extent zero = {0};
    text_addf(out, "  op %u %s \"%s\": stream %u", id, schedule_op_names[op->kind], op->name,
              op->stream);
    for (uint32_t i = 0; i < op->wait_count; i++)
        text_addf(out, "%s %u", i == 0 ? ", after" : " and", schedule->waits[op->first_wait + i]);
    print_fields(op, out);
    for (uint32_t i = 0; i < op->slice_count; i++) {
        const Slice *slice = &schedule->slices[op->first_slice + i];
        text_addf(out, "; %s buffer %u, ", schedule_access_names[slice->access], slice->buffer);
        extent_print(&slice->bytes, out);
        text_add(out, " B");
        if (extent_equals(&slice->offset, &zero)) continue;
        text_add(out, " from ");
        extent_print(&slice->offset, out);
    }
    text_add_char(out, '\n');
}

void schedule_print(const Schedule *schedule, Text *out) {
    char digest[17];
    text_addf(out, "schedule \"%s\", %u ranks, digest %s\n", schedule->name, schedule->rank_count,
              hash_format(schedule->digest, digest));
    for (RoleId id = 0; id < schedule->role_count; id++) print_role(schedule, id, out);
    for (GroupId id = 0; id < schedule->group_count; id++) print_group(schedule, id, out);
    for (BufferId id = 0; id < schedule->buffer_count; id++) print_buffer(schedule, id, out);
    for (BlockId id = 0; id < schedule->block_count; id++) {
        const Block *block = &schedule->blocks[id];
        text_addf(out, "block %u \"%s\" of role %u\n", id, block->name, block->role);
        for (uint32_t i = 0; i < block->op_count; i++) print_op(schedule, block->first_op + i, out);
    }
}
