// The fields of an operation that mean something for its kind.
//
// Invariant: a field that is not listed for a kind is read by nobody for that kind, so that two
// operations with equal lists are equal.
#include "model/plan/schedule_fields.h"

#include <assert.h>

// An enum is read and written through its position.
static_assert(sizeof(NumFmt) == sizeof(uint32_t) && sizeof(Collective) == sizeof(uint32_t) &&
                  sizeof(Algorithm) == sizeof(uint32_t) && sizeof(Split) == sizeof(uint32_t) &&
                  sizeof(OpWork) == sizeof(uint32_t),
              "enums are as wide as counts");

typedef struct FieldList {
    ScheduleField *fields;
    uint32_t count;
} FieldList;

static void add(FieldList *list, ScheduleField field) {
    assert(list->count < SCHEDULE_FIELDS_MAX);
    list->fields[list->count++] = field;
}

static void add_count(FieldList *list, const char *key, ScheduleFieldNeed need, uint32_t *value) {
    add(list, (ScheduleField){.key = key, .kind = FIELD_COUNT, .need = need, .number = value});
}

static void add_extent(FieldList *list, const char *key, ScheduleFieldNeed need, Extent *value) {
    add(list, (ScheduleField){.key = key, .kind = FIELD_EXTENT, .need = need, .extent = value});
}

static void add_format(FieldList *list, const char *key, NumFmt *value) {
    add(list, (ScheduleField){.key = key,
                              .kind = FIELD_NAME,
                              .need = FIELD_REQUIRED,
                              .number = (uint32_t *)value,
                              .names = numfmt_names,
                              .name_count = NUMFMT_COUNT});
}

static void add_work(FieldList *list, Compute *compute) {
    add(list, (ScheduleField){.key = "work",
                              .kind = FIELD_NAME,
                              .need = FIELD_NEWER,
                              .number = (uint32_t *)&compute->work,
                              .names = schedule_work_names,
                              .name_count = OP_WORK_COUNT});
    add_count(list, "layers_back", FIELD_NEWER, &compute->layers_back);
}

static void add_gemm(FieldList *list, Compute *compute) {
    add_extent(list, "m", FIELD_REQUIRED, &compute->m);
    add_count(list, "n", FIELD_REQUIRED, &compute->n);
    add_count(list, "k", FIELD_REQUIRED, &compute->k);
    add_count(list, "batch", FIELD_OPTIONAL, &compute->batch);
    add_format(list, "weight_format", &compute->weight_format);
    add_format(list, "math_format", &compute->math_format);
    add_count(list, "scale_B", FIELD_NEWER, &compute->scale_B);
    add_extent(list, "bytes", FIELD_OPTIONAL, &compute->bytes);
}

static void add_compute_experts(FieldList *list, Compute *compute) {
    add_count(list, "experts", FIELD_REQUIRED, &compute->experts);
    add_count(list, "experts_total", FIELD_REQUIRED, &compute->experts_total);
    add_count(list, "first_expert", FIELD_OPTIONAL, &compute->first_expert);
    add_count(list, "expert_sharers", FIELD_NEWER, &compute->expert_sharers);
    add_count(list, "moe_layer", FIELD_OPTIONAL, &compute->moe_layer);
}

static void add_collective(FieldList *list, Comm *comm) {
    add(list, (ScheduleField){.key = "collective",
                              .kind = FIELD_NAME,
                              .need = FIELD_REQUIRED,
                              .number = (uint32_t *)&comm->collective,
                              .names = collective_names,
                              .name_count = COLLECTIVE_COUNT});
    add(list, (ScheduleField){.key = "algorithm",
                              .kind = FIELD_NAME,
                              .need = FIELD_REQUIRED,
                              .number = (uint32_t *)&comm->algorithm,
                              .names = algorithm_names,
                              .name_count = ALGORITHM_COUNT});
    add_count(list, "inner", FIELD_NEWER, &comm->inner);
    add_count(list, "rail_ppm", FIELD_NEWER, &comm->rail_ppm);
    add_count(list, "group", FIELD_REQUIRED, &comm->group);
    add_count(list, "channel", FIELD_REQUIRED, &comm->channel);
    add_extent(list, "bytes", FIELD_REQUIRED, &comm->bytes);
    add_count(list, "element", FIELD_REQUIRED, &comm->element);
    add_format(list, "format", &comm->format);
    add(list, (ScheduleField){.key = "split",
                              .kind = FIELD_NAME,
                              .number = (uint32_t *)&comm->split,
                              .names = schedule_split_names,
                              .name_count = SPLIT_COUNT});
    add_count(list, "experts", FIELD_OPTIONAL, &comm->experts);
    add_count(list, "experts_total", FIELD_OPTIONAL, &comm->experts_total);
    add_count(list, "first_expert", FIELD_OPTIONAL, &comm->first_expert);
    add_count(list, "expert_sharers", FIELD_NEWER, &comm->expert_sharers);
    add_count(list, "moe_layer", FIELD_OPTIONAL, &comm->moe_layer);
    add_count(list, "sms", FIELD_NEWER, &comm->sms);
}

static void add_message(FieldList *list, Comm *comm) {
    add_count(list, "peer", FIELD_REQUIRED, &comm->peer);
    add_count(list, "channel", FIELD_REQUIRED, &comm->channel);
    add_extent(list, "bytes", FIELD_REQUIRED, &comm->bytes);
}

uint32_t schedule_fields_of(Op *op, ScheduleField fields[SCHEDULE_FIELDS_MAX]) {
    FieldList list = {.fields = fields};
    switch (op->kind) {
    case OP_GEMM:
        add_gemm(&list, &op->compute);
        add_work(&list, &op->compute);
        break;
    case OP_GROUPED_GEMM:
        add_gemm(&list, &op->compute);
        add_compute_experts(&list, &op->compute);
        add_work(&list, &op->compute);
        break;
    case OP_ATTENTION:
    case OP_MEMORY:
        add_extent(&list, "flop", FIELD_OPTIONAL, &op->compute.flop);
        add_extent(&list, "bytes", FIELD_REQUIRED, &op->compute.bytes);
        add_work(&list, &op->compute);
        break;
    case OP_COPY: add_extent(&list, "bytes", FIELD_REQUIRED, &op->compute.bytes); break;
    case OP_SEND:
        add_message(&list, &op->comm);
        add_count(&list, "sms", FIELD_NEWER, &op->comm.sms);
        break;
    case OP_RECV:
        add_message(&list, &op->comm);
        add_count(&list, "lag", FIELD_OPTIONAL, &op->comm.lag);
        break;
    case OP_COLLECTIVE: add_collective(&list, &op->comm); break;
    case OP_KIND_COUNT: break;
    }
    return list.count;
}
