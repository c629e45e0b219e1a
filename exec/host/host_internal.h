// What the parts of the host back end share: one run.
#ifndef EXEC_HOST_HOST_INTERNAL_H
#define EXEC_HOST_HOST_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "exec/host/host.h"
#include "model/plan/schedule_comm.h"
#include "model/plan/schedule_index.h"
#include "model/plan/schedule_wire.h"

typedef struct HostRange {
    uint64_t first, count; // bytes of a buffer
} HostRange;

// Messages of one sending port on their way, slot by slot: message k of member i is in slot
// k % slots.
typedef struct HostMail {
    uint8_t *bytes; // [member][slots][slot_B], NULL for ports that do not send
    uint64_t slots, slot_B;
} HostMail;

typedef struct HostRun {
    Arena arena;
    const Schedule *schedule;
    const StepShape *shape;
    const Load *load;
    const HostInit *init;
    HostResult *result;
    ScheduleIndex index;
    ScheduleWiring wiring;
    RoleId *roles;           // [rank_count], heap
    uint32_t *members;       // [rank_count] position of the rank in its role
    ScheduleSides *sides;    // [op_count]
    HostRange *slices;       // [slice_count] for the shape
    uint64_t *first_ended;   // [rank_count] into `ended`
    uint32_t *place;         // [op_count] of the operation among those of its role
    uint64_t *ended;         // instances by rank and operation
    uint64_t *first_arrived; // [port_count] into `arrived`
    uint64_t *arrived;       // instances that were reached, by port and member
    HostMail *mails;         // [port_count]
    ScheduleCursor *cursors; // [rank_count][SCHEDULE_STREAMS_MAX]
    bool *reached;           // the same
    uint32_t *queue;         // ranks that may go on, a ring of rank_count
    bool *queued;            // [rank_count]
    uint32_t queue_first, queue_count;
} HostRun;

// Everything that can be refused is refused here, before memory is taken (host_prepare.c).
bool host_prepare(HostRun *run, Err *err);

// Where a slice lies on a rank.
uint8_t *host_slice(const HostRun *run, uint32_t slice, uint32_t rank);

// Bytes of one instance (host_move.c).
void host_copy(HostRun *run, OpId op, uint32_t rank);
void host_post(HostRun *run, OpId op, uint32_t rank, uint64_t number);   // send
void host_accept(HostRun *run, OpId op, uint32_t rank, uint64_t number); // receive

// One collective of one group, all of whose ranks have reached it (host_collective.c). ops[i] is
// the operation of member i. False when a recorded load gives a rank more than its slice holds.
bool host_collective(HostRun *run, uint32_t group, const OpId *ops, Err *err);

#endif
