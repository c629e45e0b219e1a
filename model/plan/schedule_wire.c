// Who meets whom: the roles that share groups, and the ends of communication of each role.
//
// Invariant: ports are sorted by (kind, with, channel, role), so that the ports of one channel are
// neighbours and one is found by bisection; the operations of a port are on one stream and in
// different blocks, so that the n-th instance of the port is defined by the order of issue.
#include "model/plan/schedule_wire.h"

#include <stdlib.h>

#include "model/base/num.h"
#include "model/plan/schedule_internal.h"

// ---- Meetings

RoleId *schedule_wire_owners(const Schedule *schedule) {
    RoleId *owners = mem_alloc(schedule->rank_count, sizeof *owners);
    for (RoleId id = 0; id < schedule->role_count; id++) {
        const RankSet *set = &schedule->roles[id].ranks;
        for (uint32_t i = 0; i < schedule_set_size(set); i++) owners[schedule_rank_at(set, i)] = id;
    }
    return owners;
}

// The members of one group as roles, ascending, with counts; both arrays are of the group's size.
static uint32_t gather_roles(const GroupFamily *family, uint32_t group, const RoleId *owners,
                             RoleId *roles, uint32_t *counts) {
    for (uint32_t j = 0; j < family->size; j++)
        roles[j] = owners[schedule_group_member(family, group, j)];
    qsort(roles, family->size, sizeof *roles, num_compare_u32);
    uint32_t count = 0;
    for (uint32_t j = 0; j < family->size; j++) {
        if (count > 0 && roles[count - 1] == roles[j]) {
            counts[count - 1]++;
            continue;
        }
        roles[count] = roles[j];
        counts[count++] = 1;
    }
    return count;
}

static int compare_meetings(const void *a, const void *b) {
    const ScheduleMeeting *left = a, *right = b;
    if (left->role_count != right->role_count) return left->role_count < right->role_count ? -1 : 1;
    for (uint32_t i = 0; i < left->role_count; i++) {
        if (left->roles[i] != right->roles[i]) return left->roles[i] < right->roles[i] ? -1 : 1;
        if (left->counts[i] != right->counts[i]) return left->counts[i] < right->counts[i] ? -1 : 1;
    }
    return 0;
}

static void add_meeting(ScheduleWiring *wiring, const ScheduleMeeting *meeting) {
    uint32_t count = wiring->meeting_count;
    wiring->meetings =
        mem_grow(wiring->meetings, &wiring->meeting_capacity, count + 1, sizeof *wiring->meetings);
    wiring->meetings[count] = *meeting;
    wiring->meeting_count++;
}

static bool same_as_last(const ScheduleWiring *wiring, const ScheduleMeeting *meeting) {
    if (wiring->meeting_count == 0) return false;
    const ScheduleMeeting *last = &wiring->meetings[wiring->meeting_count - 1];
    return last->family == meeting->family && compare_meetings(last, meeting) == 0;
}

// Neighbouring groups are mostly alike: those are left out at once, the others after sorting.
static void add_family(const Schedule *schedule, GroupId id, const RoleId *owners,
                       ScheduleWiring *wiring) {
    const GroupFamily *family = &schedule->groups[id];
    RoleId *roles = mem_alloc(family->size, sizeof *roles);
    uint32_t *counts = mem_alloc(family->size, sizeof *counts);
    uint32_t first = wiring->meeting_count;
    for (uint32_t group = 0; group < family->count; group++) {
        ScheduleMeeting meeting = {.family = id, .roles = roles, .counts = counts};
        meeting.role_count = gather_roles(family, group, owners, roles, counts);
        if (same_as_last(wiring, &meeting)) continue;
        meeting.roles = arena_copy(&wiring->arena, roles, meeting.role_count, sizeof *roles);
        meeting.counts = arena_copy(&wiring->arena, counts, meeting.role_count, sizeof *counts);
        add_meeting(wiring, &meeting);
    }
    mem_free(roles);
    mem_free(counts);
    uint32_t found = wiring->meeting_count;
    qsort(wiring->meetings + first, found - first, sizeof *wiring->meetings, compare_meetings);
    wiring->meeting_count = first;
    for (uint32_t i = first; i < found; i++) {
        ScheduleMeeting meeting = wiring->meetings[i];
        if (i == first || !same_as_last(wiring, &meeting)) add_meeting(wiring, &meeting);
    }
}

// A list of meetings for each role: counted, summed, filled.
static void list_by_role(const Schedule *schedule, ScheduleWiring *wiring) {
    uint32_t roles = schedule->role_count, sum = 0;
    uint32_t *first = arena_alloc(&wiring->arena, (size_t)roles + 2, sizeof *first);
    for (uint32_t i = 0; i < wiring->meeting_count; i++) {
        const ScheduleMeeting *meeting = &wiring->meetings[i];
        sum += meeting->role_count;
        for (uint32_t j = 0; j < meeting->role_count; j++) first[meeting->roles[j] + 2]++;
    }
    for (uint32_t role = 1; role <= roles; role++) first[role + 1] += first[role];
    wiring->role_meetings = arena_alloc(&wiring->arena, sum, sizeof *wiring->role_meetings);
    for (uint32_t i = 0; i < wiring->meeting_count; i++) {
        const ScheduleMeeting *meeting = &wiring->meetings[i];
        for (uint32_t j = 0; j < meeting->role_count; j++)
            wiring->role_meetings[first[meeting->roles[j] + 1]++] = i;
    }
    wiring->first_meeting = first;
}

// ---- Ports

typedef struct Entry {
    OpKind kind;
    uint32_t with, channel;
    RoleId role;
    OpId op;
} Entry;

static int compare_keys(const Entry *a, const Entry *b) {
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->with != b->with) return a->with < b->with ? -1 : 1;
    if (a->channel != b->channel) return a->channel < b->channel ? -1 : 1;
    if (a->role != b->role) return a->role < b->role ? -1 : 1;
    return 0;
}

static int compare_entries(const void *a, const void *b) {
    const Entry *left = a, *right = b;
    int order = compare_keys(left, right);
    if (order != 0) return order;
    return left->op < right->op ? -1 : left->op > right->op;
}

static uint32_t list_entries(const Schedule *schedule, Entry *entries) {
    uint32_t count = 0;
    for (OpId id = 0; id < schedule->op_count; id++) {
        const Op *op = &schedule->ops[id];
        if (!schedule_op_is_comm(op->kind)) continue;
        entries[count++] =
            (Entry){.kind = op->kind,
                    .with = op->kind == OP_COLLECTIVE ? op->comm.group : op->comm.peer,
                    .channel = op->comm.channel,
                    .role = schedule_op_role(schedule, id),
                    .op = id};
    }
    qsort(entries, count, sizeof *entries, compare_entries);
    return count;
}

// The operation `id` joins a port whose last operation is `last`.
static bool check_join(const Schedule *schedule, OpId last, OpId id, Err *err) {
    const Op *op = &schedule->ops[id], *before = &schedule->ops[last];
    char place[SCHEDULE_TEXT_MAX], quoted[TEXT_QUOTE_MAX];
    if (op->block == before->block)
        return err_set(err, "%s: carries channel %u as operation %s of the same block does",
                       schedule_check_place(schedule, id, place), op->comm.channel,
                       text_quote(before->name, quoted));
    if (op->stream != before->stream)
        return err_set(err,
                       "%s: carries channel %u on stream %u, operation %s does on stream %u: their "
                       "order is not defined",
                       schedule_check_place(schedule, id, place), op->comm.channel, op->stream,
                       text_quote(before->name, quoted), before->stream);
    return true;
}

static bool add_ports(const Schedule *schedule, const Entry *entries, uint32_t count,
                      ScheduleWiring *wiring, Err *err) {
    for (uint32_t i = 0; i < count; i++) {
        OpId id = entries[i].op;
        bool joins = i > 0 && compare_keys(&entries[i - 1], &entries[i]) == 0;
        if (joins && !check_join(schedule, entries[i - 1].op, id, err)) return false;
        if (!joins)
            wiring->ports[wiring->port_count++] = (SchedulePort){.kind = entries[i].kind,
                                                                 .role = entries[i].role,
                                                                 .with = entries[i].with,
                                                                 .channel = entries[i].channel,
                                                                 .stream = schedule->ops[id].stream,
                                                                 .first = i};
        wiring->ports[wiring->port_count - 1].count++;
        wiring->ops[i] = id;
        wiring->port_of[id] = wiring->port_count - 1;
    }
    return true;
}

bool schedule_wire_open(const Schedule *schedule, ScheduleWiring *out, Err *err) {
    ScheduleWiring wiring = {0};
    uint32_t ops = schedule->op_count;
    wiring.ports = arena_alloc(&wiring.arena, ops, sizeof *wiring.ports);
    wiring.ops = arena_alloc(&wiring.arena, ops, sizeof *wiring.ops);
    wiring.port_of = arena_alloc(&wiring.arena, ops, sizeof *wiring.port_of);
    for (OpId id = 0; id < ops; id++) wiring.port_of[id] = SCHEDULE_NONE;
    Entry *entries = mem_alloc(ops, sizeof *entries);
    uint32_t count = list_entries(schedule, entries);
    bool good = add_ports(schedule, entries, count, &wiring, err);
    mem_free(entries);
    if (!good) {
        schedule_wire_close(&wiring);
        return false;
    }
    RoleId *owners = schedule_wire_owners(schedule);
    for (GroupId id = 0; id < schedule->group_count; id++)
        add_family(schedule, id, owners, &wiring);
    mem_free(owners);
    list_by_role(schedule, &wiring);
    *out = wiring;
    return true;
}

void schedule_wire_close(ScheduleWiring *wiring) {
    arena_free(&wiring->arena);
    mem_free(wiring->meetings);
    *wiring = (ScheduleWiring){0};
}

uint32_t schedule_wire_port(const ScheduleWiring *wiring, OpKind kind, uint32_t with,
                            uint32_t channel, RoleId role) {
    Entry key = {.kind = kind, .with = with, .channel = channel, .role = role};
    uint32_t low = 0, high = wiring->port_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const SchedulePort *port = &wiring->ports[middle];
        Entry at = {
            .kind = port->kind, .with = port->with, .channel = port->channel, .role = port->role};
        int order = compare_keys(&at, &key);
        if (order == 0) return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return SCHEDULE_NONE;
}
