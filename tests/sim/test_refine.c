// Runs of classes of ranks are those of every rank, to the picosecond, on random machines,
// schedules, loads and faults; what the classes are in worked cases, and what is refused.
// MOESIM_CASES in the environment says how many random ones; MOESIM_SEED where to begin. A failure
// prints the seed and what was drawn.
#include "tests/check.h"

#include "model/base/hash.h"
#include "model/machine/topology_degrade.h"
#include "sim/refine_class.h"
#include "sim/refine_memory.h"
#include "tests/sim/random_case.h"

#define CASES 300

static uint64_t number_of(const char *name, uint64_t otherwise) {
    const char *text = getenv(name);
    return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

static bool run_form(RandomCase *drawn, SimForm form, Timeline *out, Err *err) {
    SimOptions options = {.form = form, .first_gpu = drawn->first_gpu, .keep_spans = true};
    *out = (Timeline){0};
    return sim_run(&drawn->bench.fabric, &drawn->bench.model, &drawn->schedule, &drawn->shape,
                   &drawn->load, &options, out, err);
}

// What one rank of a member did: sums of all operations and every span. Lower bounds are left out:
// they are those of the groups that run together, which differ by form.
static uint64_t doings_of(const Timeline *timeline, uint32_t member) {
    Digest digest = hash_u64(HASH_START, timeline->members[member].role);
    for (OpId op = 0; op < timeline->op_count; op++) {
        const OpTotal *total = &timeline->totals[(size_t)member * timeline->op_count + op];
        digest = hash_u64(digest, total->instances);
        digest = hash_u64(digest, (uint64_t)total->busy_ps);
        digest = hash_u64(digest, (uint64_t)total->transfer_ps);
        digest = hash_u64(digest, (uint64_t)total->exposed_ps);
        digest = hash_u64(digest, (uint64_t)total->price.time_ps);
    }
    uint64_t spans = 0; // in any order
    for (uint64_t i = 0; i < timeline->span_count; i++) {
        const Span *span = &timeline->spans[i];
        if (span->member != member) continue;
        Digest one = hash_u64(HASH_START, ((uint64_t)span->op << 32) | span->pass);
        one = hash_u64(hash_u64(one, span->iteration), (uint64_t)span->start_ps);
        spans += refine_mix(hash_u64(one, (uint64_t)span->end_ps));
    }
    return refine_mix2(digest, spans);
}

// The same for all ranks together.
static uint64_t doings_of_all(const Timeline *timeline) {
    uint64_t sum = 0;
    for (uint32_t m = 0; m < timeline->member_count; m++)
        sum += timeline->members[m].ranks * doings_of(timeline, m);
    return sum;
}

#define check_same(a, b, what)                                                                     \
    if ((a) != (b))                                                                                \
    fail_msg("%s: %s of %s: %lld, expanded %lld", text_string(&drawn->text), (what),               \
             timeline_form_names[some->form], (long long)(a), (long long)(b))

static void compare(const RandomCase *drawn, const Timeline *some, const Timeline *all) {
    uint32_t ranks = 0;
    check_same(some->end_ps, all->end_ps, "end");
    for (uint32_t m = 0; m < some->member_count; m++) ranks += some->members[m].ranks;
    check_same(ranks, drawn->schedule.rank_count, "ranks");
    check_same(doings_of_all(some), doings_of_all(all), "doings");
    for (uint32_t i = 0; i < some->round_count; i++)
        check_same(some->round_ps[i], all->round_ps[i], "pass");
    for (uint32_t p = 0; p < CALIB_COUNT; p++)
        check_same(some->share.param_ps[p], all->share.param_ps[p], calib_param_names[p]);
    check_same(some->share.wait_ps, all->share.wait_ps, "wait");
    check_same(some->share.latency_ps, all->share.latency_ps, "latency");
    for (uint32_t c = 0; c < LINK_CLASS_COUNT; c++) {
        check_same(some->links[c].bytes, all->links[c].bytes, "bytes");
        check_same(some->links[c].busiest_B, all->links[c].busiest_B, "busiest link");
        if (some->form == TIMELINE_REFINED)
            check_same(strcmp(some->links[c].busiest_name, all->links[c].busiest_name), 0, "name");
    }
}

// What the cases were like.
typedef struct Counts {
    uint64_t folded, merged, in_cells, refused;
} Counts;

static bool is_in_cells(const RandomCase *drawn) {
    const RefineInput input = {.fabric = &drawn->bench.fabric,
                               .schedule = &drawn->schedule,
                               .shape = &drawn->shape,
                               .load = &drawn->load,
                               .first_gpu = drawn->first_gpu};
    Refined refined;
    Err err = {0};
    check_ok(refine_run(&input, &refined, &err), &err);
    bool is_smaller = refined.cell_ranks < drawn->schedule.rank_count;
    refine_free(&refined);
    return is_smaller;
}

// Every rank computes and communicates as it does when all are simulated. Where roles fold, they do
// the same. What is refused is refused with the same words.
static void check_case(uint64_t seed, Counts *counts) {
    RandomCase drawn;
    Timeline all, some;
    Err err = {0}, refused = {0};
    random_case_open(&drawn, seed);
    bool done = run_form(&drawn, SIM_EXPANDED, &all, &err);
    // one class may have coefficients that the arithmetic holds where those of single links do not
    bool is_uneven = strstr(err.text, "is too uneven to simulate") != NULL;
    run_form(&drawn, SIM_REFINED, &some, &refused);
    if (strcmp(refused.text, err.text) != 0 && !is_uneven)
        fail_msg("%s: refined \"%s\", expanded \"%s\"", text_string(&drawn.text), refused.text,
                 err.text);
    if (done) compare(&drawn, &some, &all);
    if (done) counts->merged += some.member_count < drawn.schedule.rank_count;
    if (done) counts->in_cells += is_in_cells(&drawn);
    counts->refused += !done;
    timeline_free(&some);
    if (done && run_form(&drawn, SIM_FOLDED, &some, &err)) {
        compare(&drawn, &some, &all);
        counts->folded++;
    }
    timeline_free(&some);
    timeline_free(&all);
    random_case_close(&drawn);
}

static void test_refine_equals_expanded_on_random_cases(void **state) {
    (void)state;
    uint64_t first = number_of("MOESIM_SEED", 1), count = number_of("MOESIM_CASES", CASES);
    Counts counts = {0};
    for (uint64_t i = 0; i < count; i++) check_case(first + i, &counts);
    if (count < CASES) return;
    // the cases are not all of the hard kind, nor all of the easy one
    assert_true(counts.folded > count / 10);
    assert_true(counts.merged > count / 4 && counts.merged < count);
    assert_true(counts.in_cells > count / 20);
    assert_true(counts.refused < count / 5);
}

// ---- What is found

static void open_line(SimMachine *bench, const char *line, const char *faults) {
    Err err = {0};
    sim_machine_init(bench);
    check_ok(device_load(&bench->catalogue, &err), &err);
    check_ok(topology_load(line, &bench->topology, &err), &err);
    if (faults != NULL)
        check_ok(topology_degrade_add(&bench->topology, "FAULTS", faults, &err), &err);
    check_ok(fabric_build(&bench->topology, &bench->catalogue, &bench->fabric, &err), &err);
}

static void refine(SimMachine *bench, const Schedule *schedule, const Load *load, Refined *out) {
    const StepShape shape = {1, 1, 1, 1};
    const RefineInput input = {
        .fabric = &bench->fabric, .schedule = schedule, .shape = &shape, .load = load};
    Err err = {0};
    *out = (Refined){0};
    check_ok(refine_run(&input, out, &err), &err);
}

// 576 GPUs in 8 racks, groups of 64 that follow each other: 9 groups lie differently over the racks
// (64 + 8 of the next rack, 56 + 16, ...), and 8 racks are what they repeat after. 2 x 8 racks or
// 18 x 8 are looked at as one.
static void test_refine_looks_at_one_cell_of_alike_ones(void **state) {
    (void)state;
    const char *machines[] = {"nvl72:8", "nvl72:16", "nvl72:144"};
    uint32_t members = 0;
    for (uint32_t i = 0; i < 3; i++) {
        SimMachine bench;
        Schedule schedule = {0};
        Refined refined;
        Load load = load_uniform();
        open_line(&bench, machines[i], NULL);
        Collect collect = {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 64000000, 64, 1, 1};
        sim_machine_collect(&schedule, bench.fabric.gpu_count, &collect);
        refine(&bench, &schedule, &load, &refined);
        assert_int_equal(refined.transfers, 9 * 64 * 63);
        assert_int_equal(refined.cell_ranks, 576);
        assert_int_equal(refined.cell_kinds, 1);
        if (i == 0) members = refined.member_count;
        assert_int_equal(refined.member_count, members);
        refine_free(&refined);
        schedule_free(&schedule);
        sim_machine_close(&bench);
    }
}

// Groups of two racks of four: two cells, and the links between leaves and spines carry both. With
// half of the load they would not be the bottleneck.
static void test_refine_cells_share_links_outside(void **state) {
    (void)state;
    Arena arena = {0};
    SimMachine bench;
    Schedule schedule = {0};
    Refined refined;
    Timeline some = {0}, all = {0};
    Load load = load_uniform();
    sim_machine_open(&bench, sim_machine_racks(&arena, 4, 4));
    Collect collect = {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 16000000, 16, 1, 1};
    sim_machine_collect(&schedule, 32, &collect);
    refine(&bench, &schedule, &load, &refined);
    assert_int_equal(refined.cell_ranks, 16);
    sim_machine_run(&bench, &schedule, SIM_REFINED, &some);
    sim_machine_run(&bench, &schedule, SIM_EXPANDED, &all);
    assert_int_equal(some.end_ps, all.end_ps);
    assert_int_equal(some.links[LINK_IB].bytes, all.links[LINK_IB].bytes);
    assert_int_equal(some.links[LINK_IB].busiest_B, all.links[LINK_IB].busiest_B);
    timeline_free(&some);
    timeline_free(&all);
    refine_free(&refined);
    schedule_free(&schedule);
    sim_machine_close(&bench);
    arena_free(&arena);
}

// A plane of one rack is down: the cell of its 8 racks is one kind, the other 17 are another.
static void test_refine_a_fault_makes_a_kind_of_cell(void **state) {
    (void)state;
    SimMachine bench;
    Schedule schedule = {0};
    Refined refined;
    Load load = load_uniform();
    open_line(&bench, "nvl72:144", "unit[2].rack[3].nvswitch[4]:down");
    Collect collect = {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 64000000, 64, 1, 1};
    sim_machine_collect(&schedule, bench.fabric.gpu_count, &collect);
    refine(&bench, &schedule, &load, &refined);
    assert_int_equal(refined.cell_kinds, 2);
    assert_int_equal(refined.transfers, 2 * 9 * 64 * 63);
    uint32_t ranks = 0;
    for (uint32_t m = 0; m < refined.member_count; m++) ranks += refined.members[m].ranks;
    assert_int_equal(ranks, 10368);
    refine_free(&refined);
    schedule_free(&schedule);
    sim_machine_close(&bench);
}

// A dispatch on an NVL72 to experts of three loads, 24 ranks of each. All ranks start and end
// together: one class. A rank sends to 23 others of its own load and to 24 of each other one, so
// what goes up is one of three, as is what comes down: six classes of 24 x 18 links, and a flow
// from each load to each.
static void test_refine_classes_are_as_many_as_loads_differ(void **state) {
    (void)state;
    SimMachine bench;
    Schedule schedule = {0};
    Refined refined;
    Load load;
    Err err = {0};
    uint64_t tokens[72];
    for (uint32_t i = 0; i < 72; i++) tokens[i] = 100 + i % 3;
    check_ok(load_of_counts(1, 1, 72, tokens, "test", &load, &err), &err);
    open_line(&bench, "nvl72:1", NULL);
    Collect collect = {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 72000000, 72, 1, 1};
    sim_machine_collect(&schedule, 72, &collect);
    Comm *comm = &schedule.ops[0].comm;
    comm->split = SPLIT_BY_DESTINATION;
    comm->experts = 1;
    comm->experts_total = 72;
    schedule_finish(&schedule);
    refine(&bench, &schedule, &load, &refined);
    assert_int_equal(refined.member_count, 1);
    assert_int_equal(refined.flow_count, 9);
    assert_int_equal(refined.link_count, 6);
    for (uint32_t i = 0; i < 6; i++) assert_int_equal(refined.links[i].links, 24 * 18);
    refine_free(&refined);
    load_free(&load);
    schedule_free(&schedule);
    sim_machine_close(&bench);
}

// ---- Routes by formula

static void check_pair(const Fabric *fabric, RefineRoutes *routes, uint32_t from, uint32_t to) {
    Route route = {0};
    Err err = {0};
    uint32_t id;
    check_ok(fabric_route(fabric, fabric_gpu(fabric, from), fabric_gpu(fabric, to), &route, &err),
             &err);
    check_ok(refine_route_form(routes, from, to, REFINE_WHOLE, &id, &err), &err);
    const RefineForm *form = &routes->forms[id];
    RefineDigits a = {0}, b = {0};
    if (!form->is_explicit) {
        a = refine_route_digits(fabric, from);
        b = refine_route_digits(fabric, to);
    }
    assert_int_equal(form->edge_count, route.count);
    assert_int_equal(form->latency_ps, route.latency_ps);
    for (uint32_t i = 0; i < route.count; i++) {
        RouteEdge edge = refine_route_link(form, i, &a, &b, fabric->shape.digit_count);
        assert_int_equal(edge.link, route.edges[i].link);
        // equal shares: weight / scale, in lowest terms on our side
        assert_true((uint64_t)edge.weight * route.weight_total ==
                    (uint64_t)route.edges[i].weight * form->scale);
    }
    fabric_route_free(&route);
}

// What the forms say of any pair is what a search finds.
static void test_refine_routes_are_those_of_the_fabric(void **state) {
    (void)state;
    static const struct {
        const char *machine, *faults;
    } cases[] = {{"nvl72:16", NULL},
                 {"nvl72:8", "rack[3].nvswitch[4]:down"},
                 {"nvl72:8", "rack[1].tray[2].superchip[0].gpu[1]:down"},
                 {"nvl72:8", "rack[1].tray[2].superchip[0].nic[0]:50%"},
                 {"hgx-h100:16", NULL},
                 {"superpod-b200:2su", NULL},
                 {"fattree:k=4,50GB/s", NULL},
                 {"dragonfly:p=2,a=4,h=2,50GB/s", NULL},
                 {"torus:4x4x4,50GB/s", NULL},
                 {"ring:12,50GB/s", NULL},
                 {"mesh:9,50GB/s", NULL}};
    Rng rng;
    rng_seed(&rng, 11);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        SimMachine bench;
        RefineRoutes routes;
        open_line(&bench, cases[c].machine, cases[c].faults);
        // without a memory, with one that is empty, with one that knows some of the pairs
        RefineMemory *memory = refine_memory_open();
        uint32_t gpus = fabric_live_gpu_count(&bench.fabric);
        for (uint32_t i = 0; i < 300; i++) {
            if (i % 100 == 0) {
                if (i > 0) refine_route_close(&routes);
                refine_route_open(&routes, &bench.fabric, i == 0 ? NULL : memory);
            }
            uint32_t from = (uint32_t)rng_below(&rng, gpus), to = (uint32_t)rng_below(&rng, gpus);
            if (i % 2 == 0) to = from / 72 * 72 + to % 72; // in one rack
            if (from == to || to >= gpus) continue;
            check_pair(&bench.fabric, &routes, fabric_live_gpu(&bench.fabric, from),
                       fabric_live_gpu(&bench.fabric, to));
        }
        refine_route_close(&routes);
        refine_memory_close(memory);
        sim_machine_close(&bench);
    }
}

// ---- Several schedules in one simulation

// The end of the second of two schedules, submitted 10 us after the first.
static Time run_two(SimMachine *bench, const Schedule *first, const Schedule *second,
                    SimForm form) {
    const StepShape shape = {1, 1, 1, 1};
    Load load = load_uniform();
    SimOptions options = {.form = form};
    Err err = {0};
    uint32_t a, b;
    Timeline timeline;
    Sim *sim = sim_open(&bench->fabric, &bench->model);
    check_ok(sim_submit(sim, first, &shape, &load, &options, 0, &a, &err), &err);
    check_ok(sim_submit(sim, second, &shape, &load, &options, 10 * PS_PER_US, &b, &err), &err);
    check_ok(sim_advance(sim, &err), &err);
    sim_timeline(sim, b, &timeline);
    Time end = timeline.end_ps;
    timeline_free(&timeline);
    sim_close(sim);
    return end;
}

// Two collectives on the same ranks: refined as expanded.
static void test_refine_submissions_share_classes_of_links(void **state) {
    (void)state;
    Arena arena = {0};
    SimMachine bench;
    Schedule all = {0}, again = {0};
    sim_machine_open(&bench, sim_machine_racks(&arena, 3, 3));
    Collect whole = {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 9000000, 18, 1, 2};
    Collect other = {COLLECTIVE_ALL_REDUCE, ALGORITHM_DIRECT, 5000000, 18, 1, 1};
    sim_machine_collect(&all, 18, &whole);
    sim_machine_collect(&again, 18, &other);
    assert_int_equal(run_two(&bench, &all, &again, SIM_REFINED),
                     run_two(&bench, &all, &again, SIM_EXPANDED));
    schedule_free(&all);
    schedule_free(&again);
    sim_machine_close(&bench);
    arena_free(&arena);
}

// The second one tells links apart that the first does not: nobody knows what they carry together.
static void test_refine_submissions_that_split_links_are_refused(void **state) {
    (void)state;
    Arena arena = {0};
    SimMachine bench;
    Schedule all = {0}, part = {0};
    const StepShape shape = {1, 1, 1, 1};
    Load load = load_uniform();
    SimOptions options = {.form = SIM_REFINED};
    Err err = {0};
    uint32_t handle;
    sim_machine_open(&bench, sim_machine_switch(&arena, 6, 1, "37 GB/s"));
    Collect whole = {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 9000000, 6, 1, 1};
    Collect half = {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 9000000, 3, 1, 1};
    sim_machine_collect(&all, 6, &whole);
    sim_machine_collect(&part, 3, &half);
    Sim *sim = sim_open(&bench.fabric, &bench.model);
    check_ok(sim_submit(sim, &all, &shape, &load, &options, 0, &handle, &err), &err);
    check_fails(sim_submit(sim, &part, &shape, &load, &options, 0, &handle, &err), &err,
                "two schedules of one simulation use links unlike each other: simulate them "
                "expanded");
    sim_close(sim);
    schedule_free(&all);
    schedule_free(&part);
    sim_machine_close(&bench);
    arena_free(&arena);
}

// ---- Bad input: one line

static void check_refused(SimMachine *bench, const Schedule *schedule, const char *message) {
    const StepShape shape = {1, 1, 1, 1};
    Load load = load_uniform();
    const SimForm forms[] = {SIM_REFINED, SIM_EXPANDED};
    for (uint32_t i = 0; i < 2; i++) {
        SimOptions options = {.form = forms[i]};
        Timeline timeline;
        Err err = {0};
        check_fails(sim_run(&bench->fabric, &bench->model, schedule, &shape, &load, &options,
                            &timeline, &err),
                    &err, message);
    }
}

// Role "a" receives what nobody sends.
static void test_refine_refuses_a_receive_without_a_send(void **state) {
    (void)state;
    Arena arena = {0};
    SimMachine bench;
    Schedule schedule = {0};
    sim_machine_open(&bench, sim_machine_switch(&arena, 2, 1, "37 GB/s"));
    schedule_init(&schedule, "test", 2);
    RoleId a = schedule_add_role(&schedule, "a", (RankSet){0, 1, 1, 1}, 1);
    RoleId b = schedule_add_role(&schedule, "b", (RankSet){1, 1, 1, 1}, 1);
    BlockId block = schedule_add_block(&schedule, a, "block");
    Op op = {.kind = OP_RECV, .name = "wanted", .comm = {.peer = b, .bytes = extent_fixed(1)}};
    schedule_add_op(&schedule, &op);
    schedule_add_segment(&schedule, a, block, 1);
    schedule_finish(&schedule);
    check_refused(&bench, &schedule, "operation \"wanted\" has no partner");
    schedule_free(&schedule);
    sim_machine_close(&bench);
    arena_free(&arena);
}

// Each of two roles waits for the other one's message before it sends its own.
static void test_refine_names_what_waits_in_a_cycle(void **state) {
    (void)state;
    Arena arena = {0};
    SimMachine bench;
    Schedule schedule = {0};
    sim_machine_open(&bench, sim_machine_switch(&arena, 2, 1, "37 GB/s"));
    schedule_init(&schedule, "test", 2);
    for (RoleId r = 0; r < 2; r++)
        schedule_add_role(&schedule, r == 0 ? "a" : "b", (RankSet){r, 1, 1, 1}, 1);
    for (RoleId r = 0; r < 2; r++) {
        BlockId block = schedule_add_block(&schedule, r, "block");
        Op op = {.kind = OP_RECV, .name = "get", .comm = {.peer = 1 - r}};
        op.comm.channel = 1 - r;
        op.comm.bytes = extent_fixed(8);
        schedule_add_op(&schedule, &op);
        op.kind = OP_SEND;
        op.name = "put";
        op.comm.channel = r;
        schedule_add_op(&schedule, &op);
        schedule_add_segment(&schedule, r, block, 1);
    }
    schedule_finish(&schedule);
    check_refused(&bench, &schedule, "no progress: \"get\" of role \"a\" waits for its partners");
    schedule_free(&schedule);
    sim_machine_close(&bench);
    arena_free(&arena);
}

static void test_refine_refuses_more_ranks_than_gpus(void **state) {
    (void)state;
    Arena arena = {0};
    SimMachine bench;
    Schedule schedule = {0};
    Collect collect = {COLLECTIVE_ALL_TO_ALL, ALGORITHM_DIRECT, 1000, 4, 1, 1};
    sim_machine_open(&bench, sim_machine_switch(&arena, 3, 1, "37 GB/s"));
    sim_machine_collect(&schedule, 4, &collect);
    check_refused(&bench, &schedule, "the schedule has 4 ranks, the machine 3 GPUs from GPU 0 on");
    schedule_free(&schedule);
    sim_machine_close(&bench);
    arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refine_equals_expanded_on_random_cases),
        cmocka_unit_test(test_refine_looks_at_one_cell_of_alike_ones),
        cmocka_unit_test(test_refine_cells_share_links_outside),
        cmocka_unit_test(test_refine_a_fault_makes_a_kind_of_cell),
        cmocka_unit_test(test_refine_classes_are_as_many_as_loads_differ),
        cmocka_unit_test(test_refine_routes_are_those_of_the_fabric),
        cmocka_unit_test(test_refine_submissions_share_classes_of_links),
        cmocka_unit_test(test_refine_submissions_that_split_links_are_refused),
        cmocka_unit_test(test_refine_refuses_a_receive_without_a_send),
        cmocka_unit_test(test_refine_names_what_waits_in_a_cycle),
        cmocka_unit_test(test_refine_refuses_more_ranks_than_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
