// The fields of an operation that mean something for its kind: one list for the digest, the file
// form and the text form.
#ifndef MODEL_PLAN_SCHEDULE_FIELDS_H
#define MODEL_PLAN_SCHEDULE_FIELDS_H

#include <stdint.h>

#include "model/plan/schedule_op.h"

typedef enum ScheduleFieldKind { FIELD_COUNT, FIELD_NAME, FIELD_EXTENT } ScheduleFieldKind;

// A file need not have a field that is not required: it is then zero (the first of its names).
// NEWER: optional, and nothing to the digest while it is zero, so that schedules from before there
// was such a field keep theirs.
typedef enum ScheduleFieldNeed { FIELD_OPTIONAL, FIELD_NEWER, FIELD_REQUIRED } ScheduleFieldNeed;

typedef struct ScheduleField {
    const char *key;
    ScheduleFieldKind kind;
    ScheduleFieldNeed need;
    uint32_t *number; // COUNT: the value; NAME: its position among `names`
    const char *const *names;
    uint32_t name_count;
    Extent *extent; // EXTENT
} ScheduleField;

#define SCHEDULE_FIELDS_MAX 24

// Fills `fields` with pointers into *op, by op->kind; returns how many.
uint32_t schedule_fields_of(Op *op, ScheduleField fields[SCHEDULE_FIELDS_MAX]);

#endif
