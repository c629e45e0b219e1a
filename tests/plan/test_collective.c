// Step lists of collectives: what is counted about them agrees with the transfers themselves. That
// the transfers are right is shown on real bytes in tests/exec/test_host_collective.c.
#include "tests/check.h"

#include "model/plan/collective.h"

#define RANKS_MAX 17

typedef void (*Visit)(CollectiveShape shape);

// Every collective and algorithm, 1 to 17 ranks, in nodes of every size that divides them, in both
// orders.
static void visit_all(Visit visit) {
    for (uint32_t i = 0; i < COLLECTIVE_COUNT * ALGORITHM_COUNT * RANKS_MAX * RANKS_MAX * 2; i++) {
        CollectiveShape shape = {.order = i % 2 == 0 ? RAIL_FIRST : NODE_FIRST,
                                 .inner = i / 2 % RANKS_MAX + 1,
                                 .n = i / 2 / RANKS_MAX % RANKS_MAX + 1};
        shape.kind = (Collective)(i / 2 / RANKS_MAX / RANKS_MAX / ALGORITHM_COUNT);
        shape.algorithm = (Algorithm)(i / 2 / RANKS_MAX / RANKS_MAX % ALGORITHM_COUNT);
        bool reads_inner = shape.algorithm == ALGORITHM_HIERARCHICAL && shape.n > 1;
        bool is_new = reads_inner || (shape.inner == 1 && shape.order == RAIL_FIRST);
        Err err = {0};
        if (is_new && collective_check(shape, &err)) visit(shape);
    }
}

// Chunks that every pair of ranks exchanges in one step, local transfers left out.
static void count_chunks(CollectiveShape shape, uint32_t step,
                         uint64_t chunks[RANKS_MAX][RANKS_MAX]) {
    memset(chunks, 0, RANKS_MAX * sizeof chunks[0]);
    for (uint32_t from = 0; from < shape.n; from++) {
        uint32_t count = collective_transfer_count(shape, step, from);
        for (uint32_t i = 0; i < count; i++) {
            Transfer t = collective_transfer(shape, step, from, i);
            assert_int_equal(t.from, from);
            assert_true(t.to < shape.n && t.chunks > 0);
            if (t.to != from) chunks[from][t.to] += t.chunks;
        }
    }
}

static bool is_in_scope(CollectiveShape shape, StepScope scope, uint32_t a, uint32_t b) {
    if (scope == SCOPE_NODE) return a / shape.inner == b / shape.inner;
    return scope == SCOPE_GROUP || a % shape.inner == b % shape.inner;
}

// The same from collective_traffic.
static void expect_chunks(CollectiveShape shape, const StepTraffic *traffic,
                          uint64_t chunks[RANKS_MAX][RANKS_MAX]) {
    memset(chunks, 0, RANKS_MAX * sizeof chunks[0]);
    for (uint32_t from = 0; from < shape.n; from++) {
        for (uint32_t to = 0; to < shape.n; to++) {
            bool meets = traffic->pattern == PATTERN_ALL_PAIRS
                             ? to != from && is_in_scope(shape, traffic->scope, from, to)
                             : to == (from + traffic->shift) % shape.n;
            if (meets) chunks[from][to] = traffic->chunks;
        }
    }
}

// Chunks that a rank sends through the switch, each place of origin once, and that it gets, each
// place of arrival once; a rank of an all-reduce also gets the sum of its chunk, which it sends to
// all.
static void check_in_switch(CollectiveShape shape, uint32_t step, const StepTraffic *traffic) {
    for (uint32_t rank = 0; rank < shape.n; rank++) {
        bool sent[RANKS_MAX] = {0}, got[RANKS_MAX] = {0};
        for (uint32_t from = 0; from < shape.n; from++) {
            for (uint32_t i = 0; i < collective_transfer_count(shape, step, from); i++) {
                Transfer t = collective_transfer(shape, step, from, i);
                for (uint32_t c = 0; c < t.chunks; c++) {
                    if (from == rank) sent[t.from_chunk + c] = true;
                    if (t.to == rank) got[t.to_chunk + c] = true;
                }
            }
        }
        uint32_t up = shape.kind == COLLECTIVE_ALL_REDUCE, down = up;
        for (uint32_t c = 0; c < shape.n; c++) {
            up += sent[c];
            down += got[c];
        }
        assert_int_equal(up, traffic->chunks);
        assert_int_equal(down, traffic->down);
    }
}

static void check_step(CollectiveShape shape, uint32_t step, const StepTraffic *traffic) {
    uint64_t got[RANKS_MAX][RANKS_MAX], want[RANKS_MAX][RANKS_MAX];
    switch (traffic->pattern) {
    case PATTERN_ALL_PAIRS:
    case PATTERN_SHIFT:
        expect_chunks(shape, traffic, want);
        count_chunks(shape, step, got);
        assert_memory_equal(got, want, sizeof got);
        break;
    case PATTERN_IN_SWITCH: check_in_switch(shape, step, traffic); break;
    case PATTERN_IRREGULAR: assert_int_equal(traffic->repeat, 1); break;
    }
}

static void check_traffic(CollectiveShape shape) {
    uint32_t steps = collective_steps(shape);
    assert_true(shape.n > 1 || steps == 0);
    for (uint32_t step = 0; step < steps; step++) {
        StepTraffic traffic = collective_traffic(shape, step);
        assert_true(traffic.repeat >= 1 && step + traffic.repeat <= steps);
        for (uint32_t i = 0; i < traffic.repeat; i++) check_step(shape, step + i, &traffic);
    }
}

// The traffic that is priced is that of the transfers that are run.
static void test_collective_traffic_is_that_of_the_transfers(void **state) {
    (void)state;
    visit_all(check_traffic);
}

static CollectiveShape shape_of(Collective kind, Algorithm algorithm, uint32_t n, uint32_t inner) {
    return (CollectiveShape){.kind = kind, .algorithm = algorithm, .n = n, .inner = inner};
}

// A step may be priced once for all its repeats because the one before it was different: the last
// step of a run of equal ones has repeat 1, and a ring of 4 has 3 equal steps, its all-reduce 6.
static void test_collective_ring_of_four_repeats_one_step(void **state) {
    (void)state;
    CollectiveShape reduce = shape_of(COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, 4, 0);
    CollectiveShape gather = shape_of(COLLECTIVE_ALL_GATHER, ALGORITHM_RING, 4, 0);
    assert_int_equal(collective_traffic(gather, 0).repeat, 3);
    assert_int_equal(collective_traffic(reduce, 0).repeat, 6);
    assert_int_equal(collective_traffic(reduce, 0).shift, 1);
    assert_int_equal(collective_traffic(reduce, 5).repeat, 1);
}

// Four nodes of 8 ranks sum 32 chunks. Inside the node a rank sends 4 chunks to each of 7 others;
// then one chunk to each of the 3 others on its rail, and one back; then 4 chunks to each of 7.
static void test_collective_hierarchical_all_reduce_of_four_nodes(void **state) {
    (void)state;
    CollectiveShape shape = shape_of(COLLECTIVE_ALL_REDUCE, ALGORITHM_HIERARCHICAL, 32, 8);
    assert_int_equal(collective_steps(shape), 4);
    StepTraffic inside = collective_traffic(shape, 0), across = collective_traffic(shape, 1);
    assert_int_equal(inside.scope, SCOPE_NODE);
    assert_int_equal(inside.chunks, 4);
    assert_int_equal(across.scope, SCOPE_RAIL);
    assert_int_equal(across.chunks, 1);
    assert_int_equal(across.repeat, 2);
}

// Eight ranks in two trees: 3 heights, so 6 steps with halves as they are; in pieces of one chunk,
// 4 of them, 3 steps more. For 72 ranks: 7 heights, 14 steps, and 35 more.
static void test_collective_trees_take_two_steps_a_height(void **state) {
    (void)state;
    CollectiveShape tree = shape_of(COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE, 8, 0);
    CollectiveShape pieces = shape_of(COLLECTIVE_ALL_REDUCE, ALGORITHM_PIPELINED_TREE, 8, 0);
    assert_int_equal(collective_steps(tree), 6);
    assert_int_equal(collective_steps(pieces), 9);
    tree.n = pieces.n = 72;
    assert_int_equal(collective_steps(tree), 14);
    assert_int_equal(collective_steps(pieces), 49);
}

// Chunks that one rank sends over links in all steps.
static uint64_t chunks_sent(CollectiveShape shape, uint32_t from) {
    uint64_t sum = 0;
    for (uint32_t step = 0; step < collective_steps(shape); step++) {
        for (uint32_t i = 0; i < collective_transfer_count(shape, step, from); i++) {
            Transfer t = collective_transfer(shape, step, from, i);
            if (t.to != from) sum += t.chunks;
        }
    }
    return sum;
}

// Patarasuk and Yuan's bound: all-reduce moves 2 (n - 1) / n of the buffer per rank, all others
// (n - 1) / n. One-shot sends the whole buffer n - 1 times, as data goes in the switch. With
// hierarchy, what crosses nodes passes one more link inside them, unless source and destination
// have the same position: an all-to-all sends n - inner chunks over the rail and (inner - 1) nodes
// chunks inside the node. Trees move the buffer once up and once down for each of n - 1 ranks
// together.
static void check_volume(CollectiveShape shape) {
    uint64_t n = shape.n, all = 0;
    uint64_t want = shape.kind == COLLECTIVE_ALL_REDUCE ? 2 * (n - 1) : n - 1;
    bool is_whole = shape.algorithm == ALGORITHM_ONE_SHOT ||
                    (shape.algorithm == ALGORITHM_IN_SWITCH && shape.kind == COLLECTIVE_ALL_REDUCE);
    if (is_whole) want = n * (n - 1);
    if (shape.algorithm == ALGORITHM_HIERARCHICAL && shape.kind == COLLECTIVE_ALL_TO_ALL && n > 1)
        want = n - shape.inner + (shape.inner - 1) * (n / shape.inner);
    bool is_tree = shape.algorithm == ALGORITHM_TREE || shape.algorithm == ALGORITHM_PIPELINED_TREE;
    bool is_even = !is_tree && shape.kind != COLLECTIVE_BROADCAST;
    for (uint32_t from = 0; from < n; from++) {
        uint64_t sent = chunks_sent(shape, from);
        if (is_even) assert_int_equal(sent, want);
        all += sent;
    }
    assert_int_equal(all, shape.kind == COLLECTIVE_BROADCAST ? n * (n - 1) : n * want);
}

static void test_collective_sends_no_more_than_the_bound(void **state) {
    (void)state;
    visit_all(check_volume);
}

// No rank of two trees sends or receives more than twice its even share, 2 (n - 1) chunks: a rank
// inside one tree is a leaf of the other.
static void test_collective_trees_share_the_work(void **state) {
    (void)state;
    for (uint32_t n = 2; n <= 72; n++) {
        CollectiveShape shape = shape_of(COLLECTIVE_ALL_REDUCE, ALGORITHM_PIPELINED_TREE, n, 0);
        for (uint32_t from = 0; from < n; from++)
            assert_true(chunks_sent(shape, from) <= 4 * (n - 1));
    }
}

static void check_input_intact(CollectiveShape shape) {
    uint32_t steps = collective_steps(shape);
    for (uint32_t step = 0; step == 0 || step < steps; step++) {
        for (uint32_t from = 0; from < shape.n; from++) {
            for (uint32_t i = 0; i < collective_transfer_count(shape, step, from); i++) {
                Transfer t = collective_transfer(shape, step, from, i);
                // nothing is in OUTPUT and SCRATCH before step 0
                assert_true(step > 0 || t.from_space == TRANSFER_INPUT);
                assert_true(t.to_space != TRANSFER_INPUT);
                assert_true(t.from_chunk + t.chunks <= shape.n);
                assert_true(t.to_chunk + t.chunks <= shape.n);
            }
        }
    }
}

static void test_collective_first_step_reads_inputs_only(void **state) {
    (void)state;
    visit_all(check_input_intact);
}

// A part that is put aside is found again as the same part.
static void check_scratch(CollectiveShape shape) {
    for (uint32_t step = 0; step < collective_steps(shape); step++) {
        for (uint32_t from = 0; from < shape.n; from++) {
            for (uint32_t i = 0; i < collective_transfer_count(shape, step, from); i++) {
                Transfer t = collective_transfer(shape, step, from, i);
                bool puts = t.to_space == TRANSFER_SCRATCH;
                if (shape.kind != COLLECTIVE_ALL_TO_ALL) break;
                if (!puts && t.from_space != TRANSFER_SCRATCH) continue;
                CollectivePart part = collective_part(&t);
                CollectivePart kept = collective_scratch_part(shape, puts ? t.to : t.from,
                                                              puts ? t.to_chunk : t.from_chunk);
                assert_int_equal(part.source, kept.source);
                assert_int_equal(part.target, kept.target);
            }
        }
    }
}

static void test_collective_scratch_keeps_its_parts(void **state) {
    (void)state;
    visit_all(check_scratch);
}

// 10 bytes in 4 chunks of whole 2-byte elements: 5 elements, so chunks of 2, 1, 1 and 1 elements.
static void test_collective_chunk_cuts_whole_elements(void **state) {
    (void)state;
    const uint64_t want_first[] = {0, 4, 6, 8}, want_count[] = {4, 2, 2, 2};
    for (uint32_t c = 0; c < 4; c++) {
        uint64_t first, count;
        collective_chunk(10, 2, 4, c, &first, &count);
        assert_int_equal(first, want_first[c]);
        assert_int_equal(count, want_count[c]);
    }
}

// Chunks follow each other and cover the data, also when it ends inside an element (7 bytes of
// 4-byte elements), when there are more chunks than elements, and at the end of 64 bits.
static void test_collective_chunks_cover_the_data(void **state) {
    (void)state;
    const uint64_t sizes[] = {0, 1, 7, 64, 1000003, UINT64_MAX};
    for (uint32_t s = 0; s < 6; s++) {
        for (uint32_t n = 1; n <= RANKS_MAX; n++) {
            uint64_t end = 0;
            for (uint32_t c = 0; c < n; c++) {
                uint64_t first, count;
                collective_chunk(sizes[s], 4, n, c, &first, &count);
                assert_true(first == end);
                end = first + count;
            }
            assert_true(end == sizes[s]);
        }
    }
}

// 100 experts on 8 ranks: 13 on the first four, 12 on the others. Each rank sends 24 elements, 192
// together: rank 0 is due 192 * 13 / 100 = 24.96, so 24 or 25; each row has exactly 24.
static void test_collective_shares_are_whole_and_exact(void **state) {
    (void)state;
    const uint32_t n = 8;
    const uint64_t elements = 24;
    uint64_t rows[8] = {0}, before = 0;
    for (uint32_t to = 0; to < n; to++) {
        CollectiveShare share = {.before = before, .part = to < 4 ? 13 : 12, .whole = 100};
        uint64_t column = 0, due = n * elements * share.part; // in hundredths
        for (uint32_t from = 0; from < n; from++) {
            uint64_t count = collective_share_count(elements, n, from, &share);
            rows[from] += count;
            column += count;
        }
        assert_true(column == due / 100 || column == due / 100 + 1);
        before += share.part;
    }
    for (uint32_t from = 0; from < n; from++) assert_int_equal(rows[from], elements);
}

// All elements to one rank of three, and none: the extremes of a skewed load; and numbers whose
// products need more than 128 bits.
static void test_collective_shares_at_the_extremes(void **state) {
    (void)state;
    CollectiveShare all = {.before = 0, .part = 5, .whole = 5};
    CollectiveShare none = {.before = 5, .part = 0, .whole = 5};
    CollectiveShare half = {
        .before = UINT64_MAX / 2, .part = UINT64_MAX - UINT64_MAX / 2, .whole = UINT64_MAX};
    assert_int_equal(collective_share_count(7, 3, 2, &all), 7);
    assert_int_equal(collective_share_count(7, 3, 2, &none), 0);
    // (2^63) / (2^64 - 1) of 4 * (2^64 - 1), dealt to 4: 2^63 each
    assert_true(collective_share_count(UINT64_MAX, 4, 0, &half) == UINT64_C(1) << 63);
}

static void test_collective_knows_its_algorithms(void **state) {
    (void)state;
    assert_true(collective_has(COLLECTIVE_ALL_REDUCE, ALGORITHM_ONE_SHOT));
    assert_false(collective_has(COLLECTIVE_ALL_GATHER, ALGORITHM_ONE_SHOT));
    assert_true(collective_has(COLLECTIVE_ALL_TO_ALL, ALGORITHM_PAIRWISE));
    assert_false(collective_has(COLLECTIVE_ALL_TO_ALL, ALGORITHM_RING));
    assert_true(collective_has(COLLECTIVE_ALL_REDUCE, ALGORITHM_IN_SWITCH));
    assert_false(collective_has(COLLECTIVE_BROADCAST, ALGORITHM_HIERARCHICAL));
}

// Nodes of 8 do not divide 12 ranks, and a node of one rank has nothing inside.
static void test_collective_refuses_uneven_nodes(void **state) {
    (void)state;
    Err err = {0};
    assert_false(
        collective_check(shape_of(COLLECTIVE_ALL_REDUCE, ALGORITHM_HIERARCHICAL, 12, 8), &err));
    assert_string_equal(err.text, "hierarchical all-reduce of 12 ranks: expected nodes of 2 to 12 "
                                  "ranks that divide them, found 8");
    assert_false(
        collective_check(shape_of(COLLECTIVE_ALL_TO_ALL, ALGORITHM_HIERARCHICAL, 12, 1), &err));
    assert_true(
        collective_check(shape_of(COLLECTIVE_ALL_TO_ALL, ALGORITHM_HIERARCHICAL, 12, 12), &err));
}

// nccl-tests: an all-reduce of 8 ranks moves 2 x 7 / 8 of the buffer over each link, a broadcast
// all of it, the others 7 / 8.
static void test_collective_bus_factors_of_nccl_tests(void **state) {
    (void)state;
    uint32_t num, den;
    collective_bus_factor(COLLECTIVE_ALL_REDUCE, 8, &num, &den);
    assert_int_equal(num, 14);
    assert_int_equal(den, 8);
    collective_bus_factor(COLLECTIVE_ALL_TO_ALL, 8, &num, &den);
    assert_int_equal(num, 7);
    assert_int_equal(den, 8);
    collective_bus_factor(COLLECTIVE_BROADCAST, 8, &num, &den);
    assert_int_equal(num, den);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collective_traffic_is_that_of_the_transfers),
        cmocka_unit_test(test_collective_ring_of_four_repeats_one_step),
        cmocka_unit_test(test_collective_hierarchical_all_reduce_of_four_nodes),
        cmocka_unit_test(test_collective_trees_take_two_steps_a_height),
        cmocka_unit_test(test_collective_sends_no_more_than_the_bound),
        cmocka_unit_test(test_collective_trees_share_the_work),
        cmocka_unit_test(test_collective_first_step_reads_inputs_only),
        cmocka_unit_test(test_collective_scratch_keeps_its_parts),
        cmocka_unit_test(test_collective_chunk_cuts_whole_elements),
        cmocka_unit_test(test_collective_chunks_cover_the_data),
        cmocka_unit_test(test_collective_shares_are_whole_and_exact),
        cmocka_unit_test(test_collective_shares_at_the_extremes),
        cmocka_unit_test(test_collective_knows_its_algorithms),
        cmocka_unit_test(test_collective_refuses_uneven_nodes),
        cmocka_unit_test(test_collective_bus_factors_of_nccl_tests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
