// Where the time of members goes, and what is hidden of communication. Internal to the engine.
#ifndef SIM_ENGINE_ACCOUNT_H
#define SIM_ENGINE_ACCOUNT_H

#include "sim/engine.h"

// The sums of an operation of the member's role.
static inline OpTotal *engine_account_total(Submission *submission, uint32_t member, OpId op) {
    const Member *m = &submission->members[member];
    return &submission->totals[m->first_total + (op - m->first_op)];
}

// Charges the time since the last call to what the member was doing.
void engine_account_member(Submission *submission, uint32_t member, Time now);
// For all participants of a meeting.
void engine_account_meeting(Submission *submission, const Meeting *meeting, Time now);
// At the end of an instance of communication on a member, which began at `since`: what it moved.
void engine_account_transfer(Submission *submission, uint32_t member, OpId op, Time since,
                             Time now);
// At the end of a step: what was exposed of it goes to latency and bandwidth of the flow that ended
// last.
void engine_account_settle(Sim *sim, Submission *submission, Meeting *meeting,
                           const TrafficFlow *last);

#endif
