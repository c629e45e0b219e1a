// State of a running simulation: submissions, members, meetings, events. Internal to sim/.
#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

#include "model/base/wide.h"
#include "model/plan/schedule_index.h"
#include "sim/refine.h"
#include "sim/sim.h"
#include "sim/traffic.h"

typedef enum StreamState { STREAM_BLOCKED, STREAM_RUNNING, STREAM_ENDED } StreamState;

typedef struct Stream {
    ScheduleCursor cursor; // at the operation that runs or is next
    StreamState state;
    Time started;         // of the running operation
    uint32_t participant; // in the meeting of a running communication
    Wide work_left;       // of running compute at `paced`, 2^-20 ps of the unhindered kernel
    Time paced, duration; // since when all of it would take `duration`
    uint32_t version;     // of the event of its end; those of older versions are dropped
} Stream;

// One role (folded), one class of ranks (refined) or one rank (expanded).
typedef struct Member {
    RoleId role;
    uint32_t first_rank, ranks; // that it stands for
    OpId first_op, end_op;      // those of its role lie in [first_op, end_op)
    uint32_t first_total;       // of first_op, in the submission's totals
    Stream streams[SCHEDULE_STREAMS_MAX];
    uint32_t *done; // instances ended, [op_count]
    uint32_t sms;   // that running communication occupies
    Time accounted, end;
    TimeShare share;
} Member;

typedef struct Participant {
    uint32_t member;
    OpId op;
    Time exposed_ps;      // time of the present step in which nothing else of the member ran
    Time *exposed_before; // the same when each latency of the step was over
} Participant;

// Where the members of a collective, or a sender and its receiver, come together. Instances follow
// one another.
typedef struct Meeting {
    OpId op; // a collective's of any member, or the SEND
    Traffic traffic;
    Participant *participants;
    uint32_t participant_count, arrived;
    uint32_t step, repeats_left, pending;
    uint32_t first_tag;
    uint32_t delivered, received; // SEND: instances that came, that were taken
    uint64_t ahead;               // SEND: receives that do not wait: lag passes of them
    bool receiver_waits;          // SEND: a receive has begun and its instance has not come
    bool is_running;
    Time fixed_ps;           // fixed time of a collective, before the first of its steps
    const TrafficFlow *last; // of the flows of the step that ended last, see flow_ended
    Time last_end;
    Time began; // of the running instance: all have come
} Meeting;

// What the engine asks of an operation all the time, close together.
typedef struct EngineOp {
    OpKind kind;
    uint32_t first_wait, wait_count;
} EngineOp;

typedef struct Submission {
    const Schedule *schedule; // borrowed
    StepShape shape;
    Load load; // the value, its rows borrowed
    SimOptions options;
    Time when;
    Arena arena;
    TrafficContext traffic;
    ScheduleIndex index;
    Member *members;
    uint32_t member_count;
    Meeting *meetings;
    uint32_t meeting_count;
    uint32_t *meeting_of; // [member_count][op_count], SCHEDULE_NONE where there is none
    Price *prices;        // engine_price
    uint32_t price_stride;
    EngineOp *ops;   // [op_count]
    OpTotal *totals; // by member, its operations: engine_account_total
    Time *rounds;    // end of each pass, of the last member to end it
    uint32_t round_count;
    Span *spans;
    uint64_t span_count, span_capacity;
    Time end;
} Submission;

typedef enum EventKind { EVENT_ENTER, EVENT_ENDED, EVENT_LAUNCH } EventKind;

typedef struct Event {
    Time time;
    uint64_t sequence;
    EventKind kind;
    uint32_t submission, index, detail; // member and stream; LAUNCH: meeting and latency
    uint32_t version;                   // ENDED: of the stream
} Event;

typedef struct TagOwner {
    uint32_t submission, meeting;
} TagOwner;

struct Sim {
    const Fabric *fabric;
    const PriceModel *model;
    Net net;
    Submission **submissions;
    uint32_t submission_count, submission_capacity;
    Event *heap;
    uint32_t heap_count, heap_capacity;
    uint64_t sequence, events;
    TagOwner *tags; // owner of every flow of every meeting
    uint32_t tag_count, tag_capacity;
    Time now;
    struct EngineRepeat *repeat; // one for each level, engine_repeat.h
    SimForm form;                // of all submissions; SIM_AUTO before the first
};

// Builds members and meetings (engine_build.c).
bool engine_build(Sim *sim, Submission *submission, SimForm form, Err *err);
void engine_free(Submission *submission);
// The price of a compute operation on a rank as the GPU is by its device: of the submission only
// schedule, shape and load are read.
Price engine_price_of(const Submission *submission, const PriceModel *model, OpId id,
                      uint32_t rank);
// For a member: the meeting of a communication operation, the price of a compute operation.
Meeting *engine_meeting(Submission *submission, const Member *member, OpId op);
static inline const Price *engine_price(const Submission *submission, uint32_t member, OpId op) {
    return &submission->prices[(size_t)member * submission->price_stride + op];
}
static inline bool engine_is_comm(const Submission *submission, OpId op) {
    return schedule_op_is_comm(submission->ops[op].kind);
}
void engine_push(Sim *sim, const Event *event);
bool engine_pop(Sim *sim, Event *out); // earliest first, then in order of pushing

// False for an end that was put off or brought forward since.
static inline bool engine_is_current(const Sim *sim, const Event *event) {
    const Member *member = &sim->submissions[event->submission]->members[event->index];
    return event->kind != EVENT_ENDED || event->version == member->streams[event->detail].version;
}

// Software time of a step, or fixed time of a collective.
Time engine_param_ps(const Sim *sim, CalibParam param);

#endif
