// The transfers of all ranks, listed without simulating: who sends how much to whom in which step
// of which channel, and over which links.
//
// Ranks of one cell of each kind are listed. What one rank sends to another in one step is one
// transfer, whatever it is made of. Bytes are whole: a part of a message is rounded up.
//
// Invariant: gatherings of a channel and transfers of a gathering are neighbours, transfers in
// order of step; every pair of ranks occurs once for each half of a route.
#include "sim/refine_list.h"

#include "model/base/wide.h"
#include "model/plan/schedule_comm.h"
#include "model/plan/schedule_wire.h"

#define LISTED_MAX      4000000 // about 1 GB with their links
#define TABLE_RANKS_MAX 1100    // with a table of all pairs, 5 MB
#define SAMPLES_MAX     64      // pairs that are searched before all are

typedef struct Lister {
    const RefineInput *input;
    const RefineCells *cells;
    RefineRoutes *routes;
    Arena *arena;
    RefineList *list;
    RoleId *owners; // role of each rank
    KeyMap pairs;
    uint32_t *whole_pairs; // [from][to]: pair of whole routes + 1; NULL: too many ranks
    // of the channel at hand
    uint32_t channel;
    const Op *op;
    const GroupFamily *family;
    uint32_t group;
    CollectiveShape shape;
    uint64_t *parts, *wholes; // [position][source]: shares of the experts of the group's ranks
    uint32_t share_sources;
    uint32_t *stamp;       // [position]: the last step of sender in which it was sent to
    uint32_t *transfer_at; // [position]: and the transfer
    uint32_t stamps;
    struct {
        uint64_t bytes, part, whole, share; // of what was divided last
    } last;
} Lister;

// ---- Channels

static void list_channels(Lister *lister) {
    const Schedule *schedule = lister->input->schedule;
    RefineList *list = lister->list;
    list->channels = arena_alloc(lister->arena, schedule->op_count, sizeof *list->channels);
    OpId *scratch = mem_alloc(schedule->op_count, sizeof *scratch);
    bool *is_done = mem_alloc(schedule->op_count, sizeof *is_done);
    RefineChannelIndex index;
    refine_channel_index(schedule, lister->arena, &index);
    for (OpId id = 0; id < schedule->op_count; id++) {
        OpKind kind = schedule->ops[id].kind;
        if (is_done[id] || (kind != OP_COLLECTIVE && kind != OP_SEND)) continue;
        uint32_t count = refine_channel_ops(schedule, &index, lister->input->shape, id, scratch);
        for (uint32_t i = 0; i < count; i++) is_done[scratch[i]] = true;
        RefineChannel *channel = &list->channels[list->channel_count++];
        *channel = (RefineChannel){.op_count = count};
        channel->ops = arena_copy(lister->arena, scratch, count, sizeof *scratch);
        OpId *of_role = arena_alloc(lister->arena, schedule->role_count, sizeof *of_role);
        for (RoleId r = 0; r < schedule->role_count; r++) of_role[r] = SCHEDULE_NONE;
        for (uint32_t i = count; i-- > 0;)
            of_role[schedule_op_role(schedule, scratch[i])] = scratch[i];
        channel->op_of_role = of_role;
    }
    mem_free(scratch);
    mem_free(is_done);
}

// ---- Ranks

uint64_t refine_list_rows(const RefineInput *input, OpId op, uint32_t rank) {
    uint64_t part, whole;
    load_rank_share(input->load, input->schedule, op, rank, &part, &whole);
    return wide_mul_div_up(extent_value(&input->schedule->ops[op].compute.m, input->shape), part,
                           whole);
}

// What the ranks of a role may differ in by themselves: the rate of their GPUs, and the tokens that
// their experts get.
static uint64_t colour_of_rank(const Lister *lister, uint32_t rank, uint32_t gpu, RoleId role) {
    const Schedule *schedule = lister->input->schedule;
    uint32_t part, whole;
    fabric_gpu_rate(lister->input->fabric, gpu, &part, &whole);
    uint64_t colour = refine_mix2(refine_mix2(refine_mix2(1, role), part), whole);
    if (lister->input->load->kind == LOAD_UNIFORM) return colour;
    for (OpId id = 0; id < schedule->op_count; id++)
        if (schedule->ops[id].kind == OP_GROUPED_GEMM && schedule_op_role(schedule, id) == role)
            colour = refine_mix2(colour, refine_list_rows(lister->input, id, rank));
    return colour;
}

static uint32_t live_of(const RefineInput *input, uint32_t rank) {
    return input->places != NULL ? input->places[rank] : input->first_gpu + rank;
}

static void list_ranks(Lister *lister) {
    const RefineInput *input = lister->input;
    const RefineCells *cells = lister->cells;
    RefineList *list = lister->list;
    uint32_t ranks = input->schedule->rank_count;
    list->ranks =
        arena_alloc(lister->arena, (size_t)cells->kind_count * cells->size, sizeof *list->ranks);
    list->index_of = arena_alloc(lister->arena, ranks, sizeof *list->index_of);
    for (uint32_t r = 0; r < ranks; r++) list->index_of[r] = SCHEDULE_NONE;
    for (uint32_t k = 0; k < cells->kind_count; k++)
        for (uint32_t i = 0; i < cells->size; i++) {
            uint32_t rank = cells->kinds[k].first_rank + i;
            RefineRank *item = &list->ranks[list->rank_count];
            *item = (RefineRank){.rank = rank,
                                 .gpu = fabric_live_gpu(input->fabric, live_of(input, rank)),
                                 .kind = k,
                                 .role = lister->owners[rank]};
            item->fixed = colour_of_rank(lister, rank, item->gpu, item->role);
            list->index_of[rank] = list->rank_count++;
        }
}

// ---- Transfers

// Whole routes of few ranks are looked up in a table, all else in a map.
static uint32_t find_pair(const Lister *lister, uint64_t key, uint32_t from, uint32_t to,
                          RefineHalf half) {
    if (half != REFINE_WHOLE || lister->whole_pairs == NULL)
        return keymap_find(&lister->pairs, key);
    return lister->whole_pairs[(size_t)from * lister->list->rank_count + to] - 1;
}

static void keep_pair(Lister *lister, uint64_t key, uint32_t from, uint32_t to, RefineHalf half,
                      uint32_t pair) {
    if (half != REFINE_WHOLE || lister->whole_pairs == NULL)
        keymap_add(&lister->pairs, key, pair);
    else
        lister->whole_pairs[(size_t)from * lister->list->rank_count + to] = pair + 1;
}

static bool pair_of(Lister *lister, uint32_t from, uint32_t to, RefineHalf half, uint32_t *out,
                    Err *err) {
    RefineList *list = lister->list;
    uint64_t key = refine_mix2(half, ((uint64_t)from << 32) | to);
    *out = find_pair(lister, key, from, to, half);
    if (*out != KEYMAP_NONE) return true;
    RefinePair pair = {.from = from, .to = to};
    if (!refine_route_form(lister->routes, list->ranks[from].gpu, list->ranks[to].gpu, half,
                           &pair.form, err))
        return false;
    list->pairs =
        mem_grow(list->pairs, &list->pair_capacity, list->pair_count + 1, sizeof *list->pairs);
    *out = list->pair_count;
    list->pairs[list->pair_count] = pair;
    keep_pair(lister, key, from, to, half, list->pair_count++);
    return true;
}

static bool refuse_transfers(Err *err) {
    return err_set(err, "more than %d transfers to tell apart: expected fewer ranks", LISTED_MAX);
}

static bool add_transfer(Lister *lister, uint32_t step, uint32_t pair, uint64_t bytes, Err *err) {
    RefineList *list = lister->list;
    if (list->transfer_count == LISTED_MAX) return refuse_transfers(err);
    list->transfers = mem_grow(list->transfers, &list->transfer_capacity, list->transfer_count + 1,
                               sizeof *list->transfers);
    list->transfers[list->transfer_count++] = (RefineTransfer){
        .gathering = list->gathering_count - 1, .step = step, .pair = pair, .bytes = bytes};
    list->gatherings[list->gathering_count - 1].transfer_count++;
    return true;
}

static uint32_t rank_index(const Lister *lister, uint32_t position) {
    return lister->list->index_of[schedule_group_member(lister->family, lister->group, position)];
}

// The operation of the rank at a position.
static OpId op_at(const Lister *lister, uint32_t position) {
    uint32_t rank = schedule_group_member(lister->family, lister->group, position);
    return lister->list->channels[lister->channel].op_of_role[lister->owners[rank]];
}

// Shares of the experts of each rank in what each source sends (sources: runs of positions).
static void find_shares(Lister *lister) {
    const RefineInput *input = lister->input;
    if (lister->op->comm.split == SPLIT_EVEN) return;
    uint32_t n = lister->shape.n;
    for (uint32_t j = 0; j < n; j++) {
        uint32_t rank = schedule_group_member(lister->family, lister->group, j);
        for (uint32_t s = 0; s < lister->share_sources; s++) {
            uint32_t position = (uint32_t)((uint64_t)s * n / lister->share_sources);
            size_t at = (size_t)j * lister->share_sources + s;
            load_pair_share(input->load, input->schedule, op_at(lister, j), position, rank,
                            &lister->parts[at], &lister->wholes[at]);
        }
    }
}

// Entries that follow each other are mostly of one size.
static uint64_t share_of(Lister *lister, uint64_t bytes, uint64_t part, uint64_t whole) {
    if (lister->last.whole != whole || lister->last.part != part || lister->last.bytes != bytes) {
        lister->last.share = wide_mul_div_up(bytes, part, whole);
        lister->last.bytes = bytes;
        lister->last.part = part;
        lister->last.whole = whole;
    }
    return lister->last.share;
}

// Bytes of one entry of the step list.
static uint64_t entry_bytes(Lister *lister, uint64_t bytes, const Transfer *entry) {
    if (lister->op->comm.split == SPLIT_EVEN)
        return share_of(lister, bytes, entry->chunks, lister->shape.n);
    CollectivePart part = collective_part(entry);
    bool by_source = lister->op->comm.split == SPLIT_BY_SOURCE;
    uint32_t owner = by_source ? part.source : part.target;
    uint32_t other = by_source ? part.target : part.source;
    uint64_t source = (uint64_t)other * lister->share_sources / lister->shape.n;
    size_t at = (size_t)owner * lister->share_sources + (size_t)source;
    return share_of(lister, bytes, lister->parts[at], lister->wholes[at]);
}

// Adds an entry of the step list to what its rank sends to the same other one.
static bool list_entry(Lister *lister, uint32_t step, const Transfer *entry, uint64_t bytes,
                       Err *err) {
    RefineList *list = lister->list;
    uint32_t pair;
    if (lister->stamp[entry->to] == lister->stamps) {
        RefineTransfer *known = &list->transfers[lister->transfer_at[entry->to]];
        known->bytes = wide_add_saturate(known->bytes, bytes);
        return true;
    }
    if (!pair_of(lister, rank_index(lister, entry->from), rank_index(lister, entry->to),
                 REFINE_WHOLE, &pair, err))
        return false;
    lister->stamp[entry->to] = lister->stamps;
    lister->transfer_at[entry->to] = list->transfer_count;
    return add_transfer(lister, step, pair, bytes, err);
}

// A token crosses nodes once for each node, not once for each expert there.
static void leave_out_copies(const Lister *lister, uint32_t from, uint32_t first) {
    RefineList *list = lister->list;
    const Comm *comm = &lister->op->comm;
    if (comm->algorithm != ALGORITHM_HIERARCHICAL || comm->split == SPLIT_EVEN ||
        comm->rail_ppm == 0)
        return;
    for (uint32_t t = first; t < list->transfer_count; t++) {
        RefineTransfer *transfer = &list->transfers[t];
        uint32_t to = list->ranks[list->pairs[transfer->pair].to].rank, group, position;
        schedule_group_of(lister->family, to, &group, &position);
        if (from / comm->inner == position / comm->inner) continue;
        transfer->bytes = wide_mul_div_up(transfer->bytes, comm->rail_ppm, SCHEDULE_RAIL_WHOLE);
    }
}

// What one rank sends in one step of the list.
static bool list_sender(Lister *lister, uint32_t step, uint32_t at, uint32_t from, Err *err) {
    uint32_t count = collective_transfer_count(lister->shape, at, from);
    uint64_t bytes = extent_value(&lister->op->comm.bytes, lister->input->shape);
    uint32_t first = lister->list->transfer_count;
    lister->stamps++;
    for (uint32_t i = 0; i < count; i++) {
        Transfer entry = collective_transfer(lister->shape, at, from, i);
        if (entry.to == from) continue;
        if (!list_entry(lister, step, &entry, entry_bytes(lister, bytes, &entry), err))
            return false;
    }
    leave_out_copies(lister, from, first);
    return true;
}

// In-switch: what a rank sends to the switches of its domain is on the first link of its way to the
// next rank, what that one gets from them on the last.
static bool list_in_switch(Lister *lister, uint32_t step, const StepTraffic *traffic, Err *err) {
    uint32_t n = lister->shape.n;
    uint64_t bytes = extent_value(&lister->op->comm.bytes, lister->input->shape);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t rank = rank_index(lister, i), next = rank_index(lister, (i + 1) % n), pair;
        uint64_t up = wide_mul_div_up(bytes, traffic->chunks, n);
        uint64_t down = wide_mul_div_up(bytes, traffic->down, n);
        if (traffic->chunks > 0 && (!pair_of(lister, rank, next, REFINE_UP, &pair, err) ||
                                    !add_transfer(lister, step, pair, up, err)))
            return false;
        if (traffic->down > 0 && (!pair_of(lister, rank, next, REFINE_DOWN, &pair, err) ||
                                  !add_transfer(lister, step, pair, down, err)))
            return false;
    }
    return true;
}

static bool list_steps(Lister *lister, Err *err) {
    const RefineChannel *channel = &lister->list->channels[lister->channel];
    uint32_t at = 0;
    for (uint32_t s = 0; s < channel->step_count; s++) {
        StepTraffic traffic = collective_traffic(lister->shape, at);
        if (traffic.pattern == PATTERN_IN_SWITCH) {
            if (!list_in_switch(lister, s, &traffic, err)) return false;
        } else {
            for (uint32_t from = 0; from < lister->shape.n; from++)
                if (!list_sender(lister, s, at, from, err)) return false;
        }
        at += traffic.repeat;
    }
    return true;
}

static void add_gathering(Lister *lister, uint32_t member_count, uint32_t kind) {
    RefineList *list = lister->list;
    list->gatherings = mem_grow(list->gatherings, &list->gathering_capacity,
                                list->gathering_count + 1, sizeof *list->gatherings);
    list->gatherings[list->gathering_count++] =
        (RefineGathering){.channel = lister->channel,
                          .first_member = list->member_count,
                          .member_count = member_count,
                          .first_transfer = list->transfer_count,
                          .kind = kind};
    list->members = mem_grow(list->members, &list->member_capacity,
                             list->member_count + member_count, sizeof *list->members);
}

static bool list_group(Lister *lister, uint32_t kind, Err *err) {
    RefineList *list = lister->list;
    uint32_t n = lister->family->size;
    add_gathering(lister, n, kind);
    for (uint32_t j = 0; j < n; j++) list->members[list->member_count++] = rank_index(lister, j);
    find_shares(lister);
    return list_steps(lister, err);
}

// Steps of the step list, runs of equal ones as one.
static void list_channel_steps(Lister *lister) {
    RefineList *list = lister->list;
    RefineChannel *channel = &list->channels[lister->channel];
    uint32_t steps = collective_steps(lister->shape);
    for (uint32_t at = 0; at < steps;) {
        uint32_t repeat = collective_traffic(lister->shape, at).repeat;
        list->repeats =
            mem_grow(list->repeats, &list->step_capacity, list->step_count + 1, sizeof(uint32_t));
        list->repeats[list->step_count++] = repeat;
        channel->step_count++;
        at += repeat;
    }
}

// Transfers of a rank in a step: what goes to one other is one.
static uint32_t count_sender(Lister *lister, uint32_t at, uint32_t from) {
    uint32_t entries = collective_transfer_count(lister->shape, at, from), count = 0;
    lister->stamps++;
    for (uint32_t i = 0; i < entries; i++) {
        uint32_t to = collective_transfer(lister->shape, at, from, i).to;
        if (to == from || lister->stamp[to] == lister->stamps) continue;
        lister->stamp[to] = lister->stamps;
        count++;
    }
    return count;
}

// What one group has, without listing it: transfers of all steps, and the step with the most.
typedef struct GroupCount {
    uint64_t transfers, most;
    uint32_t most_at;
} GroupCount;

// Stops when there are more transfers than can be listed.
static GroupCount count_group(Lister *lister) {
    GroupCount group = {0};
    uint32_t n = lister->shape.n, steps = collective_steps(lister->shape);
    for (uint32_t at = 0; at < steps && group.transfers <= LISTED_MAX;) {
        StepTraffic traffic = collective_traffic(lister->shape, at);
        uint64_t count = 0;
        if (traffic.pattern == PATTERN_IN_SWITCH)
            group.transfers += (traffic.chunks > 0 ? n : 0) + (traffic.down > 0 ? n : 0);
        else
            for (uint32_t from = 0; from < n && count <= LISTED_MAX; from++)
                count += count_sender(lister, at, from);
        group.transfers += count;
        if (count > group.most) {
            group.most = count;
            group.most_at = at;
        }
        at += traffic.repeat;
    }
    return group;
}

// Pairs of the group at hand that exchange something in a step.
static uint32_t take_sample(const Lister *lister, uint32_t at, RefineSample *out) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < SAMPLES_MAX; i++) {
        uint32_t from = (uint32_t)(refine_mix(i) % lister->shape.n);
        uint32_t entries = collective_transfer_count(lister->shape, at, from);
        if (entries == 0) continue;
        uint32_t entry = (uint32_t)(refine_mix2(i, from) % entries);
        uint32_t to = collective_transfer(lister->shape, at, from, entry).to;
        if (to == from) continue;
        out[count++] = (RefineSample){lister->list->ranks[rank_index(lister, from)].gpu,
                                      lister->list->ranks[rank_index(lister, to)].gpu};
    }
    return count;
}

static bool is_first_of_group(Lister *lister, uint32_t rank) {
    uint32_t position;
    return schedule_group_of(lister->family, lister->list->ranks[rank].rank, &lister->group,
                             &position) &&
           position == 0 && op_at(lister, 0) != SCHEDULE_NONE;
}

// True when no transfer has to be counted: where routes have forms, and the members of the groups
// cannot exchange more than can be listed even when all send to all in every step.
static bool cannot_be_many(const Lister *lister) {
    const RefineList *list = lister->list;
    uint64_t steps = list->channels[lister->channel].step_count;
    return lister->input->fabric->shape.uniform &&
           wide_mul_saturate(wide_mul_saturate(list->rank_count, lister->shape.n), steps) <=
               LISTED_MAX - list->transfer_count;
}

// Refuses the groups of a channel before they take time and memory. Pairs of one step of all groups
// are different ones, so there are no fewer.
static bool check_groups(Lister *lister, Err *err) {
    RefineSample sample[SAMPLES_MAX];
    uint64_t groups = 0, listed = lister->list->transfer_count;
    uint32_t samples = 0;
    if (cannot_be_many(lister)) return true;
    GroupCount group = count_group(lister);
    for (uint32_t i = 0; i < lister->list->rank_count; i++) {
        if (!is_first_of_group(lister, i)) continue;
        if (groups++ == 0 && group.most > 0) samples = take_sample(lister, group.most_at, sample);
    }
    if (groups * group.transfers > LISTED_MAX - listed) return refuse_transfers(err);
    return refine_route_can_search(lister->routes, sample, samples, groups * group.most, err);
}

static bool list_collective(Lister *lister, Err *err) {
    RefineList *list = lister->list;
    const Schedule *schedule = lister->input->schedule;
    uint32_t n;
    lister->family = &schedule->groups[lister->op->comm.group];
    lister->shape = schedule_comm_shape(schedule, &lister->op->comm);
    lister->share_sources =
        lister->input->load->kind == LOAD_UNIFORM ? 1 : lister->input->load->sources;
    n = lister->shape.n;
    size_t shares = (size_t)n * lister->share_sources;
    lister->parts = mem_alloc(shares, sizeof *lister->parts);
    lister->wholes = mem_alloc(shares, sizeof *lister->wholes);
    lister->stamp = mem_alloc(n, sizeof *lister->stamp);
    lister->transfer_at = mem_alloc(n, sizeof *lister->transfer_at);
    lister->stamps = 0;
    list_channel_steps(lister);
    bool done = check_groups(lister, err);
    for (uint32_t i = 0; done && i < list->rank_count; i++)
        if (is_first_of_group(lister, i)) done = list_group(lister, list->ranks[i].kind, err);
    mem_free(lister->parts);
    mem_free(lister->wholes);
    mem_free(lister->stamp);
    mem_free(lister->transfer_at);
    return done;
}

static bool list_messages(Lister *lister, Err *err) {
    RefineList *list = lister->list;
    const Schedule *schedule = lister->input->schedule;
    RefineChannel *channel = &list->channels[lister->channel];
    RoleId a = schedule_op_role(schedule, channel->ops[0]), b = lister->op->comm.peer;
    const RankSet *from = &schedule->roles[a].ranks, *to = &schedule->roles[b].ranks;
    uint64_t bytes = extent_value(&lister->op->comm.bytes, lister->input->shape);
    list->repeats =
        mem_grow(list->repeats, &list->step_capacity, list->step_count + 1, sizeof(uint32_t));
    list->repeats[list->step_count++] = 1;
    channel->step_count = 1;
    for (uint32_t i = 0; i < schedule_set_size(from); i++) {
        uint32_t source = list->index_of[schedule_rank_at(from, i)], pair;
        if (source == SCHEDULE_NONE) continue;
        uint32_t target = list->index_of[schedule_rank_at(to, i)];
        add_gathering(lister, 2, list->ranks[source].kind);
        list->members[list->member_count++] = source;
        list->members[list->member_count++] = target;
        if (!pair_of(lister, source, target, REFINE_WHOLE, &pair, err) ||
            !add_transfer(lister, 0, pair, bytes, err))
            return false;
    }
    return true;
}

static bool list_channel(Lister *lister, Err *err) {
    RefineChannel *channel = &lister->list->channels[lister->channel];
    OpId first = channel->ops[0];
    lister->op = &lister->input->schedule->ops[first];
    channel->first_step = lister->list->step_count;
    bool done =
        lister->op->kind == OP_SEND ? list_messages(lister, err) : list_collective(lister, err);
    return done || err_prefix(err, "operation \"%s\"", lister->op->name);
}

bool refine_list_fill(const RefineInput *input, const RefineCells *cells, RefineRoutes *routes,
                      Arena *arena, RefineList *out, Err *err) {
    RefineList list = {0};
    Lister lister = {
        .input = input, .cells = cells, .routes = routes, .arena = arena, .list = &list};
    lister.owners = schedule_wire_owners(input->schedule);
    list_channels(&lister);
    list_ranks(&lister);
    if (list.rank_count <= TABLE_RANKS_MAX)
        lister.whole_pairs =
            mem_alloc((size_t)list.rank_count * list.rank_count, sizeof *lister.whole_pairs);
    bool done = true;
    for (uint32_t c = 0; done && c < list.channel_count; c++) {
        lister.channel = c;
        done = list_channel(&lister, err);
    }
    mem_free(lister.owners);
    keymap_free(&lister.pairs);
    mem_free(lister.whole_pairs);
    if (done)
        *out = list;
    else
        refine_list_free(&list);
    return done;
}

void refine_list_free(RefineList *list) {
    mem_free(list->repeats);
    mem_free(list->gatherings);
    mem_free(list->members);
    mem_free(list->transfers);
    mem_free(list->pairs);
    mem_free(list->uses);
    mem_free(list->links);
    *list = (RefineList){0};
}
