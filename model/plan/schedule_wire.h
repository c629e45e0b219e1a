// Who meets whom: the roles that share groups, and the ends of communication of each role. Used by
// the check and by back ends.
#ifndef MODEL_PLAN_SCHEDULE_WIRE_H
#define MODEL_PLAN_SCHEDULE_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"
#include "model/plan/schedule.h"

// Which roles meet in the groups of a family, each combination once: `counts[i]` members of a group
// belong to `roles[i]`; roles ascend.
typedef struct ScheduleMeeting {
    GroupId family;
    uint32_t role_count;
    const RoleId *roles;
    const uint32_t *counts;
} ScheduleMeeting;

// One end of communication: the operations of one role that carry one channel of one family, or
// that send to or receive from one peer on one channel. All are on one stream.
typedef struct SchedulePort {
    OpKind kind; // COLLECTIVE, SEND or RECV
    RoleId role;
    uint32_t with; // the family, or the peer role
    uint32_t channel;
    uint32_t stream;
    uint32_t first, count; // into `ops` of the wiring, in order of id
} SchedulePort;

// A zeroed wiring is empty.
typedef struct ScheduleWiring {
    Arena arena;
    ScheduleMeeting *meetings; // heap
    uint32_t meeting_count, meeting_capacity;
    uint32_t *first_meeting; // [role_count + 1], into role_meetings
    uint32_t *role_meetings; // meetings by role
    SchedulePort *ports;     // by kind, with, channel, role
    uint32_t port_count;
    OpId *ops;
    uint32_t *port_of; // [op_count], SCHEDULE_NONE for an operation that does not communicate
} ScheduleWiring;

// The schedule must pass schedule_check_structure. Refused: operations of one channel and role on
// two streams, or two in one block.
bool schedule_wire_open(const Schedule *schedule, ScheduleWiring *out, Err *err);
void schedule_wire_close(ScheduleWiring *wiring);
// The port of a role, or SCHEDULE_NONE.
uint32_t schedule_wire_port(const ScheduleWiring *wiring, OpKind kind, uint32_t with,
                            uint32_t channel, RoleId role);

// The role of each rank; heap memory of rank_count items.
RoleId *schedule_wire_owners(const Schedule *schedule);

#endif
