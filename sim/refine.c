// From a schedule on a machine to one member, meeting, flow and link for each class.
//
// The parts: refine_cell.c (which cells are alike), refine_list.c (the transfers), refine_route.c
// and refine_form.c (their routes), refine_link.c (their links), refine_colour.c (the classes),
// refine_check.c (the proof and the loads). Here they follow each other, and what they found is
// written down by class.
//
// Invariant: a class is what its first item is; the load of a transfer on a class of links is that
// of all transfers of its class on one link of the class.
#include "sim/refine.h"

#include "sim/refine_class.h"

typedef struct Builder {
    const RefineInput *input;
    const RefineCells *cells;
    const RefineRoutes *routes;
    const RefineList *list;
    const RefinePartition *partition;
    const RefineLoads *loads;
    Refined *out;
    KeyMap paths;
} Builder;

// ---- By class

static void write_members(Builder *builder) {
    const RefineList *list = builder->list;
    const RefineClasses *classes = &builder->partition->ranks;
    Refined *out = builder->out;
    out->member_count = classes->count;
    out->members = arena_alloc(&out->arena, classes->count, sizeof *out->members);
    for (uint32_t c = 0; c < classes->count; c++) {
        const RefineRank *rank = &list->ranks[classes->first[c]];
        out->members[c] = (RefineMember){.role = rank->role, .rank = rank->rank};
    }
    for (uint32_t i = 0; i < list->rank_count; i++)
        out->members[classes->of[i]].ranks += builder->cells->kinds[list->ranks[i].kind].cells;
}

// The lowest comes first.
static void add_id(LinkId *ids, uint32_t count, LinkId id) {
    ids[count] = id;
    if (id >= ids[0]) return;
    ids[count] = ids[0];
    ids[0] = id;
}

static void write_links(Builder *builder) {
    const RefineList *list = builder->list;
    const RefineClasses *classes = &builder->partition->links;
    Refined *out = builder->out;
    uint64_t ids = 0;
    out->link_count = classes->count;
    out->links = arena_alloc(&out->arena, classes->count, sizeof *out->links);
    for (uint32_t i = 0; i < list->link_count; i++) {
        RefineLink *link = &out->links[classes->of[i]];
        link->links += list->links[i].copies * list->links[i].planes;
        link->id_count += list->links[i].planes;
        ids += list->links[i].planes;
    }
    out->link_ids = arena_alloc(&out->arena, ids, sizeof *out->link_ids);
    for (uint32_t c = 0, first = 0; c < classes->count; c++) {
        out->links[c].first_id = first;
        first += out->links[c].id_count;
        out->links[c].id_count = 0;
    }
    for (uint32_t i = 0; i < list->link_count; i++) {
        const RefineLinkNode *item = &list->links[i];
        RefineLink *link = &out->links[classes->of[i]];
        for (uint32_t p = 0; p < item->planes; p++)
            add_id(&out->link_ids[link->first_id], link->id_count++,
                   p == 0 ? item->link : item->link + item->others[p - 1]);
    }
}

// Edges of one class of transfers, and its path: equal ones are one.
static uint32_t path_of(Builder *builder, uint32_t class_id, const RefineEdge *edges,
                        uint32_t first, uint32_t count) {
    const RefineList *list = builder->list;
    uint32_t transfer = builder->partition->transfers.first[class_id];
    const RefineForm *form =
        &builder->routes->forms[list->pairs[list->transfers[transfer].pair].form];
    Refined *out = builder->out;
    uint64_t key = refine_mix2(form->scale, (uint64_t)form->latency_ps);
    key = refine_mix2(key, (uint64_t)form->step_param);
    key = refine_mix2(key, form->tier_key);
    for (uint32_t i = first; i < first + count; i++)
        key = refine_mix2(refine_mix2(key, edges[i].link), edges[i].coefficient);
    uint32_t found = keymap_find(&builder->paths, key);
    if (found != KEYMAP_NONE) return found;
    keymap_add(&builder->paths, key, out->path_count);
    out->paths[out->path_count] = (RefinePath){.first_edge = first,
                                               .edge_count = count,
                                               .scale = form->scale,
                                               .latency_ps = form->latency_ps,
                                               .step_param = form->step_param,
                                               .tier = form->tier};
    return out->path_count++;
}

// The path of each class of transfers.
static uint32_t *write_paths(Builder *builder) {
    Refined *out = builder->out;
    uint32_t classes = builder->partition->transfers.count;
    const RefineLoads *loads = builder->loads;
    uint32_t *path_by_class = mem_alloc(classes, sizeof *path_by_class);
    out->edges = loads->edges;
    out->paths = arena_alloc(&out->arena, classes, sizeof *out->paths);
    for (uint32_t c = 0; c < classes; c++)
        path_by_class[c] = path_of(builder, c, loads->edges, loads->first[c],
                                   loads->first[c + 1] - loads->first[c]);
    keymap_free(&builder->paths);
    return path_by_class;
}

static void write_participants(Builder *builder, const RefineGathering *gathering, uint32_t *next,
                               uint32_t *stamps, RefineMeeting *meeting) {
    const RefineList *list = builder->list;
    const RefineChannel *channel = &list->channels[gathering->channel];
    Refined *out = builder->out;
    meeting->first_participant = *next;
    for (uint32_t i = 0; i < gathering->member_count; i++) {
        uint32_t rank = list->members[gathering->first_member + i];
        uint32_t member = builder->partition->ranks.of[rank];
        if (stamps[member] == *next + 1) continue;
        out->participants[*next + meeting->participant_count++] =
            (RefineParticipant){member, channel->op_of_role[list->ranks[rank].role]};
        stamps[member] = *next + 1;
    }
    *next += meeting->participant_count;
}

// Flows of one gathering, each class once, by step. `numbers`: of the flow of a class, from 1 on.
static void write_flows(Builder *builder, const RefineGathering *gathering,
                        const uint32_t *path_by_class, RefineMeeting *meeting, uint32_t *numbers) {
    const RefineList *list = builder->list;
    const RefineChannel *channel = &list->channels[gathering->channel];
    const uint32_t *class_of = builder->partition->transfers.of;
    Refined *out = builder->out;
    uint32_t t = gathering->first_transfer, end = t + gathering->transfer_count;
    for (uint32_t s = 0; s < channel->step_count; s++) {
        RefineStep *step = &out->steps[meeting->first_step + s];
        *step = (RefineStep){.repeat = list->repeats[channel->first_step + s],
                             .first_flow = out->flow_count};
        for (; t < end && list->transfers[t].step == s; t++) {
            uint32_t *number = &numbers[class_of[t]];
            if (*number == 0) {
                out->flows[out->flow_count++] =
                    (RefineFlow){path_by_class[class_of[t]], list->transfers[t].bytes, 0};
                *number = out->flow_count;
            }
            out->flows[*number - 1].transfers++;
        }
        step->flow_count = out->flow_count - step->first_flow;
    }
    meeting->step_count = channel->step_count;
}

static void write_meetings(Builder *builder, const uint32_t *path_by_class) {
    const RefineList *list = builder->list;
    const RefineClasses *classes = &builder->partition->gatherings;
    Refined *out = builder->out;
    size_t participants = 0, steps = 0;
    for (uint32_t c = 0; c < classes->count; c++) {
        participants += list->gatherings[classes->first[c]].member_count;
        steps += list->channels[list->gatherings[classes->first[c]].channel].step_count;
    }
    out->meeting_count = classes->count;
    out->meetings = arena_alloc(&out->arena, classes->count, sizeof *out->meetings);
    out->participants = arena_alloc(&out->arena, participants, sizeof *out->participants);
    out->steps = arena_alloc(&out->arena, steps, sizeof *out->steps);
    out->flows = arena_alloc(&out->arena, builder->partition->transfers.count, sizeof *out->flows);
    uint32_t *stamps = mem_alloc(out->member_count, sizeof *stamps);
    uint32_t *numbers = mem_alloc(builder->partition->transfers.count, sizeof *numbers);
    uint32_t next_participant = 0, next_step = 0;
    for (uint32_t c = 0; c < classes->count; c++) {
        const RefineGathering *gathering = &list->gatherings[classes->first[c]];
        RefineMeeting *meeting = &out->meetings[c];
        const RefineChannel *channel = &list->channels[gathering->channel];
        bool is_send = builder->input->schedule->ops[channel->ops[0]].kind == OP_SEND;
        *meeting = (RefineMeeting){.channel = gathering->channel,
                                   .first_step = next_step,
                                   .senders = is_send ? 1 : gathering->member_count};
        write_participants(builder, gathering, &next_participant, stamps, meeting);
        write_flows(builder, gathering, path_by_class, meeting, numbers);
        next_step += meeting->step_count;
    }
    mem_free(stamps);
    mem_free(numbers);
}

static void write_meeting_of(Builder *builder) {
    const RefineList *list = builder->list;
    const RefinePartition *partition = builder->partition;
    const Schedule *schedule = builder->input->schedule;
    Refined *out = builder->out;
    size_t cells = (size_t)out->member_count * schedule->op_count;
    out->meeting_of = arena_alloc(&out->arena, cells, sizeof *out->meeting_of);
    for (size_t i = 0; i < cells; i++) out->meeting_of[i] = SCHEDULE_NONE;
    for (uint32_t g = 0; g < list->gathering_count; g++) {
        const RefineGathering *gathering = &list->gatherings[g];
        const RefineChannel *channel = &list->channels[gathering->channel];
        for (uint32_t i = 0; i < gathering->member_count; i++) {
            uint32_t rank = list->members[gathering->first_member + i];
            uint32_t member = partition->ranks.of[rank];
            if (partition->ranks.first[member] != rank) continue;
            for (uint32_t k = 0; k < channel->op_count; k++)
                if (schedule_op_role(schedule, channel->ops[k]) == list->ranks[rank].role)
                    out->meeting_of[(size_t)member * schedule->op_count + channel->ops[k]] =
                        partition->gatherings.of[g];
        }
    }
}

static void write_all(Builder *builder) {
    Refined *out = builder->out;
    write_members(builder);
    write_links(builder);
    uint32_t *path_by_class = write_paths(builder);
    write_meetings(builder, path_by_class);
    write_meeting_of(builder);
    mem_free(path_by_class);
    out->cells = refine_cells_digest(builder->cells);
    out->cell_kinds = builder->cells->kind_count;
    out->cell_ranks = builder->cells->size;
    out->transfers = builder->list->transfer_count;
    out->rounds = builder->partition->rounds;
}

// ---- One after the other

// The forms of the routes of one cell of the machine as built: without them nobody knows which
// cells a fault is in.
static void learn_forms(const RefineInput *input, RefineRoutes *routes, Arena *arena) {
    RefineCells cells;
    RefineList list = {0};
    Err ignored = {0}; // it comes again, or not, when the faults are looked at
    refine_cells_find(input, routes, arena, &cells);
    if (cells.size == input->schedule->rank_count) return;
    routes->without_faults = true;
    refine_list_fill(input, &cells, routes, arena, &list, &ignored);
    routes->without_faults = false;
    refine_list_free(&list);
}

static bool fill_list(const RefineInput *input, RefineRoutes *routes, Arena *arena,
                      RefineCells *cells, RefineList *list, Err *err) {
    if (input->merge == REFINE_NOTHING) {
        refine_cells_whole(input, arena, cells);
        return refine_list_fill(input, cells, routes, arena, list, err);
    }
    if (fabric_has_faults(input->fabric)) learn_forms(input, routes, arena);
    refine_cells_find(input, routes, arena, cells);
    if (!refine_list_fill(input, cells, routes, arena, list, err)) return false;
    if (routes->explicit_count == 0 || cells->size == input->schedule->rank_count) return true;
    refine_list_free(list); // searched routes do not tell which cells they are alike in
    refine_cells_whole(input, arena, cells);
    return refine_list_fill(input, cells, routes, arena, list, err);
}

static bool classify(const RefineInput *input, const RefineCells *cells, const RefineRoutes *routes,
                     const RefineList *list, Arena *arena, Refined *out, Err *err) {
    RefinePartition partition = {0};
    RefineLoads loads;
    if (input->merge == REFINE_NOTHING)
        refine_colour_nothing(list, arena, &partition);
    else
        refine_colour(list, routes, arena, &partition);
    if (input->most_classes > 0 && partition.transfers.count > input->most_classes)
        return err_set(
            err,
            "%u transfers of which no two are alike, over %u: the ranks lie too unevenly "
            "on the machine",
            partition.transfers.count, input->most_classes);
    if (!refine_check(input, list, routes, &partition, &out->arena, &loads, err)) return false;
    Builder builder = {.input = input,
                       .cells = cells,
                       .routes = routes,
                       .list = list,
                       .partition = &partition,
                       .loads = &loads,
                       .out = out};
    write_all(&builder);
    return true;
}

typedef enum Bundling { BUNDLED, SINGLE } Bundling;

// False in *is_split when bundles of links overlap, and nothing was made.
static bool run(const RefineInput *input, Bundling bundling, Refined *out, bool *is_split,
                Err *err) {
    RefineRoutes routes;
    RefineCells cells;
    RefineList list = {0};
    Arena arena = {0};
    refine_route_open(&routes, input->fabric, input->memory);
    bool done = fill_list(input, &routes, &arena, &cells, &list, err);
    if (done && bundling == BUNDLED) refine_route_bundle(&routes);
    *is_split = false;
    if (done) done = refine_list_links(input, &cells, &routes, &list, is_split, err);
    if (done && !*is_split) done = classify(input, &cells, &routes, &list, &arena, out, err);
    refine_list_free(&list);
    refine_route_close(&routes);
    arena_free(&arena);
    return done;
}

bool refine_run(const RefineInput *input, Refined *out, Err *err) {
    Refined made = {0};
    bool is_split, done;
    uint32_t live = fabric_live_gpu_count(input->fabric), ranks = input->schedule->rank_count;
    if (input->places == NULL && (input->first_gpu > live || ranks > live - input->first_gpu))
        return err_set(err, "the schedule has %u ranks, the machine %u GPUs from GPU %u on", ranks,
                       input->first_gpu > live ? 0 : live - input->first_gpu, input->first_gpu);
    done = run(input, input->merge == REFINE_NOTHING ? SINGLE : BUNDLED, &made, &is_split, err);
    if (done && is_split) done = run(input, SINGLE, &made, &is_split, err);
    if (!done) {
        refine_free(&made);
        return false;
    }
    *out = made;
    return true;
}

void refine_free(Refined *refined) {
    arena_free(&refined->arena);
    *refined = (Refined){0};
}
