// Collectives from the view of one rank: the same bytes as one thread that sees all ranks, on
// random shapes; routed traffic of several sources, and of free runs.
#include "tests/check.h"

#include "exec/host/host.h"
#include "model/base/rng.h"
#include "tests/exec/oracle.h"
#include "tests/plan/hand_schedule.h"

static const StepShape one_token = {1, 1, 1, 1};

// ---- Against one thread

#define CASES     600
#define RANKS_MAX 9
#define EXPERTS   3 // of a rank
#define ELEMENT_B 12

typedef struct Case {
    Rng rng;
    Schedule schedule;
    Load load;
    Comm comm;
    uint32_t n;
    bool in_place;
    uint32_t shift; // above 0: the output lies that much behind the input, in the same buffer
    uint64_t seed, bytes;
} Case;

// Random numbers of every size, so that sums round; random bytes where nothing is added.
static void fill_random(void *context, BufferId buffer, uint32_t rank, uint8_t *bytes,
                        uint64_t count) {
    const Case *c = context;
    uint32_t element = numfmt_bits(c->comm.format) / 8;
    Rng rng;
    rng_seed(&rng, hash_u64(hash_u64(hash_u64(HASH_START, c->seed), buffer), rank));
    for (uint64_t i = 0; i + element <= count; i += element) {
        float value = (float)((rng_unit(&rng) - 0.5) * (double)(1U << rng_below(&rng, 20)));
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        if (element == 2) bits >>= 16;
        memcpy(bytes + i, &bits, element);
    }
}

static CollectiveShape random_shape(Rng *rng) {
    for (;;) {
        CollectiveShape shape = {.kind = (Collective)rng_below(rng, COLLECTIVE_COUNT),
                                 .algorithm = (Algorithm)rng_below(rng, ALGORITHM_COUNT),
                                 .n = 1 + (uint32_t)rng_below(rng, RANKS_MAX)};
        Err err = {0};
        shape.inner = 1 + (uint32_t)rng_below(rng, shape.n);
        if (collective_has(shape.kind, shape.algorithm) && collective_check(shape, &err))
            return shape;
    }
}

// Some experts get nothing.
static void random_load(Case *c) {
    uint64_t tokens[EXPERTS * RANKS_MAX];
    Err err = {0};
    for (uint32_t i = 0; i < EXPERTS * c->n; i++)
        tokens[i] = rng_below(&c->rng, 3) == 0 ? 0 : rng_below(&c->rng, 100);
    tokens[rng_below(&c->rng, EXPERTS * c->n)] += 1;
    check_ok(load_of_counts(1, 1, EXPERTS * c->n, tokens, "", &c->load, &err), &err);
}

// Elements of up to 12 bytes, which the bytes need not be whole of, unless they are summed.
static void random_comm(Case *c) {
    CollectiveShape shape = random_shape(&c->rng);
    bool sums = shape.kind == COLLECTIVE_ALL_REDUCE || shape.kind == COLLECTIVE_REDUCE_SCATTER;
    NumFmt format = !sums ? NUMFMT_FP8 : rng_below(&c->rng, 2) == 0 ? NUMFMT_F32 : NUMFMT_BF16;
    uint32_t unit = numfmt_bits(format) / 8;
    c->n = shape.n;
    c->bytes = rng_below(&c->rng, 60) * unit;
    c->comm = (Comm){.collective = shape.kind,
                     .algorithm = shape.algorithm,
                     .inner = shape.inner,
                     .bytes = extent_fixed(c->bytes),
                     .element = unit * (1 + (uint32_t)rng_below(&c->rng, ELEMENT_B / unit)),
                     .format = format};
    c->in_place = shape.kind == COLLECTIVE_ALL_REDUCE && rng_below(&c->rng, 2) == 0;
    if (!c->in_place && rng_below(&c->rng, 3) == 0)
        c->shift = unit * (1 + (uint32_t)rng_below(&c->rng, 20));
    c->load = load_uniform();
    if (shape.kind != COLLECTIVE_ALL_TO_ALL || rng_below(&c->rng, 4) == 0) return;
    c->comm.split = rng_below(&c->rng, 2) == 0 ? SPLIT_BY_DESTINATION : SPLIT_BY_SOURCE;
    c->comm.experts = EXPERTS;
    c->comm.experts_total = EXPERTS * c->n;
    random_load(c);
}

// Room for all elements of all ranks, wherever they go; the owner of tokens has no byte too many,
// so that an element that is not whole is cut.
static void make_schedule(Case *c) {
    Schedule *schedule = &c->schedule;
    uint64_t room = (c->bytes + ELEMENT_B) * c->n;
    uint64_t size_B = room + c->shift;
    bool owner_reads = c->comm.split == SPLIT_BY_DESTINATION;
    bool owner_writes = c->comm.split == SPLIT_BY_SOURCE;
    schedule_init(schedule, "random", c->n);
    RankSet ranks = {.count = c->n, .repeat = 1};
    RoleId role = schedule_add_role(schedule, "all", ranks, 1);
    GroupFamily family = {.name = "all", .size = c->n, .stride = 1, .count = 1};
    schedule_add_group(schedule, &family);
    hand_buffer(schedule, role, "in", size_B);
    hand_buffer(schedule, role, "out", size_B);
    BlockId block = schedule_add_block(schedule, role, "block");
    Op op = {.kind = OP_COLLECTIVE, .op_class = OP_CLASS_OTHER, .name = "comm", .comm = c->comm};
    schedule_add_op(schedule, &op);
    if (c->in_place) {
        hand_slice(schedule, 0, SLICE_ADD, 0, c->bytes);
    } else {
        hand_slice(schedule, 0, SLICE_READ, 0, owner_reads ? c->bytes : room);
        hand_slice(schedule, c->shift > 0 ? 0 : 1, SLICE_WRITE, c->shift,
                   owner_writes ? c->bytes : room);
    }
    schedule_add_segment(schedule, role, block, 1);
    schedule_finish(schedule);
}

static void check_case(uint64_t seed) {
    Case c = {.seed = seed};
    InterpResult result = {0};
    HostInit init = {.fill = fill_random, .context = &c};
    Arena arena = {0};
    Err err = {0};
    rng_seed(&c.rng, seed);
    random_comm(&c);
    make_schedule(&c);
    uint64_t size_B = (c.bytes + ELEMENT_B) * c.n + c.shift;
    uint8_t ***want = arena_alloc(&arena, c.n, sizeof *want);
    for (uint32_t rank = 0; rank < c.n; rank++) {
        want[rank] = arena_alloc(&arena, 2, sizeof *want[rank]);
        for (BufferId id = 0; id < 2; id++) {
            want[rank][id] = arena_alloc(&arena, size_B, 1);
            fill_random(&c, id, rank, want[rank][id], size_B);
        }
    }
    oracle_collective(&c.schedule, 0, &one_token, &c.load, 0, (uint8_t *const *const *)want);
    check_ok(host_run(&c.schedule, &one_token, &c.load, &init, &result, &err), &err);
    for (uint32_t rank = 0; rank < c.n; rank++)
        for (BufferId id = 0; id < 2; id++)
            if (memcmp(interp_buffer(&result, id, rank), want[rank][id], size_B) != 0)
                fail_msg("seed %llu: %s %s, %u ranks of %u, %llu bytes in %u: rank %u buffer %u",
                         (unsigned long long)seed, algorithm_names[c.comm.algorithm],
                         collective_names[c.comm.collective], c.n, c.comm.inner,
                         (unsigned long long)c.bytes, c.comm.element, rank, id);
    interp_free(&result);
    schedule_free(&c.schedule);
    load_free(&c.load);
    arena_free(&arena);
}

// Every kind and algorithm, in place, where the output overlaps the input and not, even and split
// by skewed loads with experts of no tokens, elements cut short, sums that round.
static void test_collective_is_what_one_thread_makes_of_it(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) check_case(seed);
}

// ---- Sources

#define MEMBERS 6
#define PAIRS   20

static void fill_numbers(void *context, BufferId buffer, uint32_t rank, uint8_t *bytes,
                         uint64_t count) {
    (void)context;
    for (uint32_t i = 0; buffer == 0 && i < count / 4; i++) {
        uint32_t number = 1000 * rank + i;
        memcpy(bytes + 4 * (size_t)i, &number, 4);
    }
}

static uint32_t number_at(const InterpResult *result, BufferId buffer, uint32_t rank, uint32_t i) {
    uint32_t number;
    memcpy(&number, interp_buffer(result, buffer, rank) + 4 * (size_t)i, 4);
    return number;
}

static void add_routed(Schedule *schedule, Split split, uint32_t experts, Algorithm algorithm,
                       uint32_t inner) {
    bool out = split == SPLIT_BY_DESTINATION;
    Op op = {.kind = OP_COLLECTIVE,
             .op_class = out ? OP_CLASS_DISPATCH : OP_CLASS_COMBINE,
             .name = out ? "dispatch" : "combine",
             .comm = {.collective = COLLECTIVE_ALL_TO_ALL,
                      .algorithm = algorithm,
                      .inner = inner,
                      .channel = out ? 0 : 1,
                      .bytes = extent_fixed(4 * PAIRS),
                      .split = split,
                      .experts = experts,
                      .experts_total = experts * MEMBERS,
                      .element = 4,
                      .format = NUMFMT_F32}};
    schedule_add_op(schedule, &op);
    hand_slice(schedule, out ? 0 : 1, SLICE_READ, 0, 4 * PAIRS);
    hand_slice(schedule, out ? 1 : 2, SLICE_WRITE, 0, 4 * PAIRS);
}

// Buffers: 0 tokens, 1 received, with room for an even load, 2 results; `passes` dispatches and
// combines on one stream.
static void make_routed(uint32_t experts, Algorithm algorithm, uint32_t inner, uint32_t passes,
                        Schedule *out) {
    schedule_init(out, "routed", MEMBERS);
    RankSet ranks = {.count = MEMBERS, .repeat = 1};
    RoleId role = schedule_add_role(out, "all", ranks, passes);
    GroupFamily family = {.name = "ep", .size = MEMBERS, .stride = 1, .count = 1};
    schedule_add_group(out, &family);
    hand_buffer(out, role, "tokens", 4 * PAIRS);
    hand_buffer(out, role, "received", 4 * PAIRS);
    hand_buffer(out, role, "results", 4 * PAIRS);
    BlockId block = schedule_add_block(out, role, "experts");
    add_routed(out, SPLIT_BY_DESTINATION, experts, algorithm, inner);
    add_routed(out, SPLIT_BY_SOURCE, experts, algorithm, inner);
    schedule_add_segment(out, role, block, 1);
    schedule_finish(out);
}

// Rank j has received of each r, in order, the next counts[r][j] of its tokens, and r has them
// back.
static void check_received(const InterpResult *result, uint32_t counts[MEMBERS][MEMBERS]) {
    uint32_t first[MEMBERS] = {0};
    for (uint32_t j = 0; j < MEMBERS; j++) {
        uint32_t got = 0;
        for (uint32_t r = 0; r < MEMBERS; r++)
            for (uint32_t i = 0; i < counts[r][j]; i++)
                assert_int_equal(number_at(result, 1, j, got++), 1000 * r + first[r]++);
    }
    for (uint32_t r = 0; r < MEMBERS; r++) {
        assert_int_equal(first[r], PAIRS);
        for (uint32_t i = 0; i < PAIRS; i++)
            assert_int_equal(number_at(result, 2, r, i), 1000 * r + i);
    }
}

// One expert a rank. Source 0, ranks 0 to 2, sends to ranks 0 and 1 in the ratio 1:3; source 1,
// ranks 3 to 5, all to rank 5. Of the 60 elements of source 0 the first floor(60 x 1/4) = 15 are
// for rank 0: dealt to three ranks they are 5 each; the other 15 of each go to rank 1.
static void test_collective_deals_the_tokens_of_each_source(void **state) {
    (void)state;
    const uint64_t tokens[2 * MEMBERS] = {1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4};
    uint32_t counts[MEMBERS][MEMBERS] = {
        {5, 15}, {5, 15}, {5, 15}, {0, 0, 0, 0, 0, 20}, {0, 0, 0, 0, 0, 20}, {0, 0, 0, 0, 0, 20}};
    const uint32_t inners[] = {0, 2, 3};
    Load load = {0};
    Err err = {0};
    check_ok(load_of_counts(1, 2, MEMBERS, tokens, "", &load, &err), &err);
    for (uint32_t i = 0; i < 3; i++) {
        Schedule schedule;
        HostInit init = {.fill = fill_numbers};
        InterpResult result = {0};
        make_routed(1, i == 0 ? ALGORITHM_PAIRWISE : ALGORITHM_HIERARCHICAL, inners[i], 1,
                    &schedule);
        check_ok(host_run(&schedule, &one_token, &load, &init, &result, &err), &err);
        check_received(&result, counts);
        interp_free(&result);
        schedule_free(&schedule);
    }
    load_free(&load);
}

// ---- Free runs

#define FREE_EXPERTS 2 // of a rank

// Rank r gives its tokens to experts in a row from its own number on: in pass p, (r + i + p) % 12
// for token i. What arrived is kept for the last pass.
typedef struct Router {
    uint32_t arrived[MEMBERS][MEMBERS][FREE_EXPERTS];
} Router;

static uint32_t rows_of(uint32_t rank, uint64_t pass, uint32_t expert) {
    uint32_t rows = 0;
    for (uint32_t i = 0; i < PAIRS; i++)
        rows += (rank + i + pass) % (MEMBERS * FREE_EXPERTS) == expert;
    return rows;
}

static bool route_rows(void *self, const OpInstance *dispatch, uint32_t *rows, Err *err) {
    (void)self;
    (void)err;
    for (uint32_t e = 0; e < MEMBERS * FREE_EXPERTS; e++)
        rows[e] = rows_of(dispatch->rank, dispatch->number, e);
    return true;
}

static bool route_arrives(void *self, const OpInstance *dispatch, uint32_t source,
                          const uint32_t *rows, uint32_t count, Err *err) {
    Router *router = self;
    (void)err;
    memcpy(router->arrived[dispatch->rank][source], rows, count * sizeof *rows);
    return count == FREE_EXPERTS;
}

static uint64_t route_room(void *self, const Job *job, BufferId buffer, uint64_t scheduled_B) {
    (void)self;
    (void)job;
    return buffer == 1 ? 4 * PAIRS * MEMBERS : scheduled_B;
}

// The tokens of pass 2 of 3 go where the router sends them, and come back; in nodes of 1, 2 and 3.
static void test_collective_follows_the_router(void **state) {
    (void)state;
    const uint32_t inners[] = {0, 2, 3};
    for (uint32_t i = 0; i < 3; i++) {
        Router router;
        const Routing routing = {
            .self = &router, .rows = route_rows, .arrives = route_arrives, .room_B = route_room};
        const ComputeUnit unit = {.name = "router", .routing = &routing};
        const InterpOptions options = {.fill = fill_numbers};
        uint32_t counts[MEMBERS][MEMBERS];
        Load load = load_uniform();
        Schedule schedule;
        Job job;
        BackEnd host;
        InterpResult result;
        Err err = {0};
        make_routed(FREE_EXPERTS, i == 0 ? ALGORITHM_DIRECT : ALGORITHM_HIERARCHICAL, inners[i], 3,
                    &schedule);
        check_ok(job_open(&schedule, &one_token, &load, &job, &err), &err);
        host_open(MEMBERS, HOST_TIME_OUT_PS, &host);
        check_ok(interp_run(&job, &host, &unit, &options, &result, &err), &err);
        for (uint32_t r = 0; r < MEMBERS; r++)
            for (uint32_t j = 0; j < MEMBERS; j++) {
                counts[r][j] = rows_of(r, 2, 2 * j) + rows_of(r, 2, 2 * j + 1);
                for (uint32_t e = 0; e < FREE_EXPERTS; e++)
                    assert_int_equal(router.arrived[j][r][e], rows_of(r, 2, 2 * j + e));
            }
        check_received(&result, counts);
        interp_free(&result);
        host_close(&host);
        job_close(&job);
        schedule_free(&schedule);
    }
}

// ---- Uneven shares

// Of 9 numbers rank r has so many; the schedule says one and a half.
static const uint32_t shares[MEMBERS] = {2, 0, 1, 4, 2, 0};
#define SHARED 9

static uint64_t share_of(void *self, const OpInstance *instance, uint32_t rank) {
    (void)self;
    (void)instance;
    return 4 * shares[rank];
}

// Whole numbers below 1,000 as floats, whose sums are exact.
static void fill_floats(void *context, BufferId buffer, uint32_t rank, uint8_t *bytes,
                        uint64_t count) {
    (void)context;
    for (uint32_t i = 0; buffer == 0 && i < count / 4; i++) {
        float number = (float)(100 * rank + i);
        memcpy(bytes + 4 * (size_t)i, &number, 4);
    }
}

static float float_at(const InterpResult *result, uint32_t rank, uint32_t i) {
    float number;
    memcpy(&number, interp_buffer(result, 1, rank) + 4 * (size_t)i, 4);
    return number;
}

// Gathered: the first numbers of all ranks in a row. Scattered: number i of all ranks is
// 100 (0 + 1 + ... + 5) + 6 i, and each rank has the sums that are its own.
static void check_shares(const InterpResult *result, Collective kind) {
    for (uint32_t rank = 0; rank < MEMBERS; rank++) {
        uint32_t at = 0;
        for (uint32_t from = 0; from < MEMBERS; from++)
            for (uint32_t i = 0; i < shares[from]; i++, at++) {
                if (kind == COLLECTIVE_ALL_GATHER)
                    assert_true(float_at(result, rank, at) == (float)(100 * from + i));
                else if (from == rank)
                    assert_true(float_at(result, rank, i) == (float)(1500 + 6 * at));
            }
        assert_int_equal(at, SHARED);
    }
}

static void run_shares(Collective kind, Algorithm algorithm, uint32_t inner) {
    const ComputeUnit unit = {.name = "shares", .share_B = share_of};
    const InterpOptions options = {.fill = fill_floats};
    Load load = load_uniform();
    Schedule schedule;
    Job job;
    BackEnd host;
    InterpResult result;
    Err err = {0};
    schedule_init(&schedule, "shares", MEMBERS);
    RankSet ranks = {.count = MEMBERS, .repeat = 1};
    RoleId role = schedule_add_role(&schedule, "all", ranks, 1);
    GroupFamily family = {.name = "all", .size = MEMBERS, .stride = 1, .count = 1};
    schedule_add_group(&schedule, &family);
    hand_buffer(&schedule, role, "in", 4 * SHARED);
    hand_buffer(&schedule, role, "out", 4 * SHARED);
    BlockId block = schedule_add_block(&schedule, role, "block");
    Op op = {.kind = OP_COLLECTIVE, .op_class = OP_CLASS_OTHER, .name = "comm"};
    op.comm = (Comm){.collective = kind,
                     .algorithm = algorithm,
                     .inner = inner,
                     .bytes = extent_fixed(4 * SHARED),
                     .element = 4,
                     .format = NUMFMT_F32};
    schedule_add_op(&schedule, &op);
    hand_slice(&schedule, 0, SLICE_READ, 0, 4 * SHARED);
    hand_slice(&schedule, 1, SLICE_WRITE, 0, 4 * SHARED);
    schedule_add_segment(&schedule, role, block, 1);
    schedule_finish(&schedule);
    check_ok(job_open(&schedule, &one_token, &load, &job, &err), &err);
    host_open(MEMBERS, HOST_TIME_OUT_PS, &host);
    check_ok(interp_run(&job, &host, &unit, &options, &result, &err), &err);
    check_shares(&result, kind);
    interp_free(&result);
    host_close(&host);
    job_close(&job);
    schedule_free(&schedule);
}

static void test_collective_of_uneven_shares(void **state) {
    (void)state;
    static const Collective kinds[] = {COLLECTIVE_ALL_GATHER, COLLECTIVE_REDUCE_SCATTER};
    uint32_t runs = 0;
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t algorithm = 0; algorithm < ALGORITHM_COUNT; algorithm++)
            for (uint32_t inner = 2; inner <= 3; inner++) {
                CollectiveShape shape = {.kind = kinds[i],
                                         .algorithm = (Algorithm)algorithm,
                                         .n = MEMBERS,
                                         .inner = inner};
                Err err = {0};
                if (!collective_has(kinds[i], (Algorithm)algorithm) ||
                    !collective_check(shape, &err))
                    continue;
                run_shares(kinds[i], (Algorithm)algorithm, inner);
                runs++;
            }
    assert_true(runs >= 8); // ring, direct and by node of each, in nodes of 2 and 3
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collective_is_what_one_thread_makes_of_it),
        cmocka_unit_test(test_collective_deals_the_tokens_of_each_source),
        cmocka_unit_test(test_collective_follows_the_router),
        cmocka_unit_test(test_collective_of_uneven_shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
