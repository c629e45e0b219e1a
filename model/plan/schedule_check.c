// Proves that a schedule can be priced and run: structure, sizes, partners, progress, races.
//
// Invariant: each part relies on what the parts before it have proved, and none costs more than
// SCHEDULE_CHECK_STEPS_MAX steps.
#include "model/plan/schedule_internal.h"

#include <stdio.h>

bool schedule_check_spend(uint64_t *spent, uint64_t steps, Err *err) {
    *spent += steps;
    return *spent <= SCHEDULE_CHECK_STEPS_MAX ||
           err_set(err, "the schedule is too large to check: more than %llu steps",
                   (unsigned long long)SCHEDULE_CHECK_STEPS_MAX);
}

char *schedule_check_place(const Schedule *schedule, OpId op, char *buffer) {
    char role[TEXT_QUOTE_MAX], block[TEXT_QUOTE_MAX], name[TEXT_QUOTE_MAX];
    const Block *owner = &schedule->blocks[schedule->ops[op].block];
    snprintf(buffer, SCHEDULE_TEXT_MAX, "role %s, block %s, operation %s",
             text_quote(schedule->roles[owner->role].name, role), text_quote(owner->name, block),
             text_quote(schedule->ops[op].name, name));
    return buffer;
}

char *schedule_op_text(const Schedule *schedule, OpId op, char *buffer) {
    char role[TEXT_QUOTE_MAX], name[TEXT_QUOTE_MAX];
    const Block *owner = &schedule->blocks[schedule->ops[op].block];
    snprintf(buffer, SCHEDULE_TEXT_MAX, "%s %s of role %s",
             schedule_op_names[schedule->ops[op].kind], text_quote(schedule->ops[op].name, name),
             text_quote(schedule->roles[owner->role].name, role));
    return buffer;
}

bool schedule_check(const Schedule *schedule, const StepShape *largest, Err *err) {
    if (!schedule_check_structure(schedule, err) || !schedule_check_sizes(schedule, largest, err))
        return false;
    ScheduleWiring wiring = {0};
    bool good = schedule_wire_open(schedule, &wiring, err) &&
                schedule_check_partners(schedule, &wiring, err) &&
                schedule_check_progress(schedule, &wiring, err) &&
                schedule_check_races(schedule, largest, err);
    schedule_wire_close(&wiring);
    return good;
}
