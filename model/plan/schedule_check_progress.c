// An abstract run of all roles: it ends, or the message names what waits for what.
//
// Each role runs once, whatever the number of its ranks; operations take no time. A collective ends
// when all roles of its meetings have reached it; a send when its receive of the same number was
// reached (the strictest back end: no message is buffered beyond the lag); a receive when the send
// of `lag` passes earlier was reached. Whether the run ends does not depend on the order in which
// roles are looked at, because nothing that may happen is ever undone (a marked graph; Commoner et
// al., "Marked directed graphs", J. Computer and System Sciences 5, 1971).
//
// Invariant: two iterations of a segment and lag + 2 passes stand for all: the first, which waits
// for nothing, and one that follows its like. Where partners cut their programs into different
// segments, so that the shortened runs would not match, all iterations are run.
#include "model/plan/schedule_internal.h"

#include "model/plan/schedule_index.h"

#define CHAIN_MAX 6 // links of a cycle that a message names

typedef struct Run {
    const Schedule *schedule;
    const ScheduleWiring *wiring;
    ScheduleIndex index;
    Arena arena;
    ScheduleCursor *cursors; // [role_count][SCHEDULE_STREAMS_MAX]
    bool *reached;           // the same: the operation at the cursor has what it waits for
    uint64_t *ended;         // [op_count] instances
    uint64_t *arrived;       // [port_count] instances that were reached
    RoleId *queue;           // roles to look at, a ring of role_count
    bool *queued;
    uint32_t queue_first, queue_count;
    uint64_t spent;
} Run;

static void run_push(Run *run, RoleId role) {
    if (run->queued[role]) return;
    run->queued[role] = true;
    uint32_t roles = run->schedule->role_count;
    uint32_t place = run->queue_first + run->queue_count++;
    run->queue[place < roles ? place : place - roles] = role;
}

static RoleId run_pop(Run *run) {
    RoleId role = run->queue[run->queue_first++];
    if (run->queue_first == run->schedule->role_count) run->queue_first = 0;
    run->queue_count--;
    run->queued[role] = false;
    return role;
}

static void run_open(Run *run, const Schedule *schedule, const ScheduleWiring *wiring) {
    uint32_t roles = schedule->role_count, slots = roles * SCHEDULE_STREAMS_MAX;
    run->schedule = schedule;
    run->wiring = wiring;
    run->cursors = arena_alloc(&run->arena, slots, sizeof *run->cursors);
    run->reached = arena_alloc(&run->arena, slots, sizeof *run->reached);
    run->ended = arena_alloc(&run->arena, schedule->op_count, sizeof *run->ended);
    run->arrived = arena_alloc(&run->arena, wiring->port_count, sizeof *run->arrived);
    run->queue = arena_alloc(&run->arena, roles, sizeof *run->queue);
    run->queued = arena_alloc(&run->arena, roles, sizeof *run->queued);
    for (uint32_t i = 0; i < slots; i++)
        run->cursors[i] =
            schedule_index_start(&run->index, i / SCHEDULE_STREAMS_MAX, i % SCHEDULE_STREAMS_MAX);
    for (RoleId role = 0; role < roles; role++) run_push(run, role);
}

static void run_close(Run *run) {
    arena_free(&run->arena);
    schedule_index_free(&run->index);
}

// The first operation that the one at the cursor waits for and that has not ended, or NONE.
static OpId unmet_wait(const Run *run, const ScheduleCursor *cursor) {
    const Op *op = &run->schedule->ops[cursor->op];
    for (uint32_t i = 0; i < op->wait_count; i++) {
        OpId on = run->schedule->waits[op->first_wait + i];
        if (run->ended[on] < schedule_index_earlier(&run->index, cursor, on)) return on;
    }
    return SCHEDULE_NONE;
}

// A port of the same collective in another role that has not come as far as this one, or NONE.
static uint32_t late_member(Run *run, uint32_t port) {
    const SchedulePort *end = &run->wiring->ports[port];
    const ScheduleWiring *wiring = run->wiring;
    for (uint32_t i = wiring->first_meeting[end->role]; i < wiring->first_meeting[end->role + 1];
         i++) {
        const ScheduleMeeting *meeting = &wiring->meetings[wiring->role_meetings[i]];
        run->spent++;
        if (meeting->family != end->with) continue;
        run->spent += meeting->role_count;
        for (uint32_t j = 0; j < meeting->role_count; j++) {
            uint32_t other = schedule_wire_port(run->wiring, OP_COLLECTIVE, end->with, end->channel,
                                                meeting->roles[j]);
            if (run->arrived[other] < run->arrived[port]) return other;
        }
    }
    return SCHEDULE_NONE;
}

// Instances of a port in one pass.
static uint64_t port_per_pass(const Run *run, uint32_t port) {
    const SchedulePort *end = &run->wiring->ports[port];
    uint64_t count = 0;
    for (uint32_t i = end->first; i < end->first + end->count; i++)
        count += schedule_index_per_pass(&run->index, run->wiring->ops[i]);
    return count;
}

// The port that the reached communication of `port` still waits for, or NONE.
static uint32_t unmet_partner(Run *run, uint32_t port) {
    const SchedulePort *end = &run->wiring->ports[port];
    if (end->kind == OP_COLLECTIVE) return late_member(run, port);
    OpKind other_kind = end->kind == OP_SEND ? OP_RECV : OP_SEND;
    uint32_t other =
        schedule_wire_port(run->wiring, other_kind, end->role, end->channel, end->with);
    uint64_t need = run->arrived[port], lag = 0;
    if (end->kind == OP_RECV)
        lag = run->schedule->ops[run->wiring->ops[end->first]].comm.lag * port_per_pass(run, port);
    need = need > lag ? need - lag : 0;
    return run->arrived[other] < need ? other : SCHEDULE_NONE;
}

// All roles that may be waiting for this port.
static void wake_partners(Run *run, uint32_t port) {
    const SchedulePort *end = &run->wiring->ports[port];
    if (end->kind != OP_COLLECTIVE) {
        run_push(run, end->with);
        return;
    }
    const ScheduleWiring *wiring = run->wiring;
    for (uint32_t i = wiring->first_meeting[end->role]; i < wiring->first_meeting[end->role + 1];
         i++) {
        const ScheduleMeeting *meeting = &wiring->meetings[wiring->role_meetings[i]];
        run->spent++;
        if (meeting->family != end->with) continue;
        for (uint32_t j = 0; j < meeting->role_count; j++) run_push(run, meeting->roles[j]);
    }
}

// Ends the operation at the cursor when it may; true when something changed.
static bool advance(Run *run, uint32_t slot) {
    ScheduleCursor *cursor = &run->cursors[slot];
    run->spent++;
    if (cursor->op == SCHEDULE_NONE) return false;
    uint32_t port = run->wiring->port_of[cursor->op];
    if (!run->reached[slot]) {
        run->spent += run->schedule->ops[cursor->op].wait_count;
        if (unmet_wait(run, cursor) != SCHEDULE_NONE) return false;
        run->reached[slot] = true;
        if (port != SCHEDULE_NONE) {
            run->arrived[port]++;
            wake_partners(run, port);
        }
    }
    if (port != SCHEDULE_NONE && unmet_partner(run, port) != SCHEDULE_NONE) return false;
    run->ended[cursor->op]++;
    run->reached[slot] = false;
    schedule_index_next(&run->index, cursor);
    return true;
}

// Runs until nothing changes any more.
static bool run_all(Run *run, Err *err) {
    while (run->queue_count > 0) {
        RoleId role = run_pop(run);
        bool changed = true;
        while (changed) {
            changed = false;
            for (uint32_t s = 0; s < run->schedule->stream_count; s++) {
                while (advance(run, role * SCHEDULE_STREAMS_MAX + s)) changed = true;
                if (!schedule_check_spend(&run->spent, 0, err)) return false;
            }
        }
    }
    return true;
}

// ---- The message

// What the stuck stream waits for: an operation, and the slot of the stream that it is on.
typedef struct Hold {
    OpId on;
    uint32_t slot;
} Hold;

static Hold hold_of(Run *run, uint32_t slot) {
    const ScheduleCursor *cursor = &run->cursors[slot];
    OpId on = unmet_wait(run, cursor);
    RoleId role = cursor->role;
    if (on == SCHEDULE_NONE) {
        uint32_t port = unmet_partner(run, run->wiring->port_of[cursor->op]);
        const SchedulePort *end = &run->wiring->ports[port];
        role = end->role;
        on = run->wiring->ops[end->first];
        OpId head = run->cursors[role * SCHEDULE_STREAMS_MAX + end->stream].op;
        if (head != SCHEDULE_NONE && run->wiring->port_of[head] == port) on = head;
    }
    return (Hold){.on = on, .slot = role * SCHEDULE_STREAMS_MAX + run->schedule->ops[on].stream};
}

// From any stuck stream the holds lead into a cycle, or to a stream that has ended.
static uint32_t find_cycle(Run *run, uint32_t slot) {
    uint32_t slots = run->schedule->role_count * SCHEDULE_STREAMS_MAX;
    for (uint32_t i = 0; i < slots && run->cursors[slot].op != SCHEDULE_NONE; i++)
        slot = hold_of(run, slot).slot;
    return slot;
}

static void add_link(Run *run, const Hold *hold, Text *text) {
    char name[SCHEDULE_TEXT_MAX], quoted[TEXT_QUOTE_MAX];
    OpId head = run->cursors[hold->slot].op;
    text_addf(text, " waits for %s", schedule_op_text(run->schedule, hold->on, name));
    if (head == SCHEDULE_NONE)
        text_add(text, ", which has ended");
    else if (head != hold->on)
        text_addf(text, " behind %s %s", schedule_op_names[run->schedule->ops[head].kind],
                  text_quote(run->schedule->ops[head].name, quoted));
}

static bool report_stuck(Run *run, uint32_t slot, Err *err) {
    char name[SCHEDULE_TEXT_MAX];
    Text text = {0};
    uint32_t first = find_cycle(run, slot);
    if (run->cursors[first].op == SCHEDULE_NONE) first = slot;
    slot = first;
    text_add(&text, schedule_op_text(run->schedule, run->cursors[slot].op, name));
    for (uint32_t i = 0; i < CHAIN_MAX && run->cursors[slot].op != SCHEDULE_NONE; i++) {
        Hold hold = hold_of(run, slot);
        if (i > 0) text_add(&text, ", which");
        add_link(run, &hold, &text);
        slot = hold.slot;
        if (slot == first) break;
    }
    if (slot != first && run->cursors[slot].op != SCHEDULE_NONE) text_add(&text, ", and so on");
    err_set(err, "deadlock: %s", text_string(&text));
    text_free(&text);
    return false;
}

// ---- How much to unroll

static uint32_t passes_needed(const Schedule *schedule) {
    uint32_t lag = 0;
    for (OpId id = 0; id < schedule->op_count; id++) {
        const Op *op = &schedule->ops[id];
        if (op->kind == OP_RECV && op->comm.lag > lag) lag = op->comm.lag;
    }
    return lag > UINT32_MAX - 2 ? UINT32_MAX : lag + 2;
}

// Ports that are neighbours in the order of ports and belong to one channel have equal counts, and
// so have sends and their receives.
static bool counts_match(const Run *run) {
    for (uint32_t i = 0; i < run->wiring->port_count; i++) {
        const SchedulePort *end = &run->wiring->ports[i];
        uint32_t other = SCHEDULE_NONE;
        if (end->kind == OP_SEND) {
            other = schedule_wire_port(run->wiring, OP_RECV, end->role, end->channel, end->with);
        } else if (i > 0 && end->kind == OP_COLLECTIVE) {
            const SchedulePort *before = &run->wiring->ports[i - 1];
            if (before->kind == end->kind && before->with == end->with &&
                before->channel == end->channel)
                other = i - 1;
        }
        if (other != SCHEDULE_NONE && port_per_pass(run, i) != port_per_pass(run, other))
            return false;
    }
    return true;
}

bool schedule_check_progress(const Schedule *schedule, const ScheduleWiring *wiring, Err *err) {
    Run run = {.schedule = schedule, .wiring = wiring};
    uint32_t passes = passes_needed(schedule);
    schedule_index_build(&run.index, schedule, passes, 2);
    if (!counts_match(&run)) {
        schedule_index_free(&run.index);
        schedule_index_build(&run.index, schedule, passes, UINT32_MAX);
    }
    uint64_t total = schedule_index_total(&run.index);
    if (total > SCHEDULE_CHECK_RUNS_MAX) {
        run_close(&run);
        return err_set(err, "the abstract run has %llu operation instances, at most %llu",
                       (unsigned long long)total, (unsigned long long)SCHEDULE_CHECK_RUNS_MAX);
    }
    run_open(&run, schedule, wiring);
    bool good = run_all(&run, err);
    for (uint32_t i = 0; good && i < schedule->role_count * SCHEDULE_STREAMS_MAX; i++) {
        if (run.cursors[i].op != SCHEDULE_NONE) good = report_stuck(&run, i, err);
    }
    run_close(&run);
    return good;
}
