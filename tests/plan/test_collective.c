// Step lists of collectives: what is counted about them agrees with the transfers themselves. That
// the transfers are right is shown on real bytes in tests/exec/test_host_collective.c.
#include "tests/check.h"

#include "model/plan/collective.h"

#define RANKS_MAX 9

typedef void (*Visit)(Collective kind, Algorithm algorithm, uint32_t n);

static void visit_all(Visit visit) {
    for (uint32_t kind = 0; kind < COLLECTIVE_COUNT; kind++) {
        for (uint32_t algorithm = 0; algorithm < ALGORITHM_COUNT; algorithm++) {
            if (!collective_has((Collective)kind, (Algorithm)algorithm)) continue;
            for (uint32_t n = 1; n <= RANKS_MAX; n++)
                visit((Collective)kind, (Algorithm)algorithm, n);
        }
    }
}

// Chunks that every pair of ranks exchanges in one step, local transfers left out.
static void count_chunks(Collective kind, Algorithm algorithm, uint32_t n, uint32_t step,
                         uint64_t chunks[RANKS_MAX][RANKS_MAX]) {
    memset(chunks, 0, RANKS_MAX * sizeof chunks[0]);
    for (uint32_t from = 0; from < n; from++) {
        uint32_t count = collective_transfer_count(kind, algorithm, n, step, from);
        for (uint32_t i = 0; i < count; i++) {
            Transfer t = collective_transfer(kind, algorithm, n, step, from, i);
            assert_int_equal(t.from, from);
            assert_true(t.to < n);
            if (t.to != from) chunks[from][t.to] += t.from_chunk == CHUNK_ALL ? CHUNK_ALL : 1;
        }
    }
}

// The same from collective_traffic.
static void expect_chunks(const StepTraffic *traffic, uint32_t n,
                          uint64_t chunks[RANKS_MAX][RANKS_MAX]) {
    memset(chunks, 0, RANKS_MAX * sizeof chunks[0]);
    for (uint32_t from = 0; from < n; from++) {
        for (uint32_t to = 0; to < n; to++) {
            bool meets = traffic->pattern == PATTERN_ALL_PAIRS ? to != from
                                                               : to == (from + traffic->shift) % n;
            if (meets) chunks[from][to] = traffic->chunks;
        }
    }
}

static void check_traffic(Collective kind, Algorithm algorithm, uint32_t n) {
    uint32_t steps = collective_steps(kind, algorithm, n);
    assert_true(n > 1 || steps == 0);
    for (uint32_t step = 0; step < steps; step++) {
        StepTraffic traffic = collective_traffic(kind, algorithm, n, step);
        uint64_t got[RANKS_MAX][RANKS_MAX], want[RANKS_MAX][RANKS_MAX];
        assert_true(traffic.repeat >= 1 && step + traffic.repeat <= steps);
        expect_chunks(&traffic, n, want);
        for (uint32_t i = 0; i < traffic.repeat; i++) {
            count_chunks(kind, algorithm, n, step + i, got);
            assert_memory_equal(got, want, sizeof got);
        }
    }
}

// The traffic that is priced is that of the transfers that are run, for 1 to 9 ranks.
static void test_collective_traffic_is_that_of_the_transfers(void **state) {
    (void)state;
    visit_all(check_traffic);
}

// A step may be priced once for all its repeats because the one before it was different: the last
// step of a run of equal ones has repeat 1, and a ring of 4 has 3 equal steps, its all-reduce 6.
static void test_collective_ring_of_four_repeats_one_step(void **state) {
    (void)state;
    StepTraffic gather = collective_traffic(COLLECTIVE_ALL_GATHER, ALGORITHM_RING, 4, 0);
    StepTraffic reduce = collective_traffic(COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, 4, 0);
    assert_int_equal(gather.repeat, 3);
    assert_int_equal(reduce.repeat, 6);
    assert_int_equal(reduce.shift, 1);
    assert_int_equal(collective_traffic(COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, 4, 5).repeat, 1);
}

// Chunks that one rank sends over links in all steps; CHUNK_ALL counts as n.
static uint64_t chunks_sent(Collective kind, Algorithm algorithm, uint32_t n, uint32_t from) {
    uint64_t sum = 0;
    for (uint32_t step = 0; step < collective_steps(kind, algorithm, n); step++) {
        uint32_t count = collective_transfer_count(kind, algorithm, n, step, from);
        for (uint32_t i = 0; i < count; i++) {
            Transfer t = collective_transfer(kind, algorithm, n, step, from, i);
            if (t.to != from) sum += t.from_chunk == CHUNK_ALL ? n : 1;
        }
    }
    return sum;
}

// Patarasuk and Yuan's bound: all-reduce moves 2 (n - 1) / n of the buffer per rank, all others
// (n - 1) / n; one-shot sends the whole buffer n - 1 times.
static void check_volume(Collective kind, Algorithm algorithm, uint32_t n) {
    uint64_t want = kind == COLLECTIVE_ALL_REDUCE ? 2 * (n - 1) : n - 1;
    if (algorithm == ALGORITHM_ONE_SHOT) want = (uint64_t)n * (n - 1);
    for (uint32_t from = 0; from < n; from++)
        assert_int_equal(chunks_sent(kind, algorithm, n, from), want);
}

static void test_collective_sends_no_more_than_the_bound(void **state) {
    (void)state;
    visit_all(check_volume);
}

static void check_input_intact(Collective kind, Algorithm algorithm, uint32_t n) {
    uint32_t steps = collective_steps(kind, algorithm, n);
    for (uint32_t step = 0; step == 0 || step < steps; step++) {
        for (uint32_t from = 0; from < n; from++) {
            uint32_t count = collective_transfer_count(kind, algorithm, n, step, from);
            for (uint32_t i = 0; i < count; i++) {
                Transfer t = collective_transfer(kind, algorithm, n, step, from, i);
                // nothing is in OUTPUT before step 0
                assert_true(step > 0 || t.from_space == TRANSFER_INPUT);
                assert_true((t.from_chunk == CHUNK_ALL) == (t.to_chunk == CHUNK_ALL));
            }
        }
    }
}

static void test_collective_first_step_reads_inputs_only(void **state) {
    (void)state;
    visit_all(check_input_intact);
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
}

// nccl-tests: an all-reduce of 8 ranks moves 2 x 7 / 8 of the buffer over each link, the others 7
// / 8.
static void test_collective_bus_factors_of_nccl_tests(void **state) {
    (void)state;
    uint32_t num, den;
    collective_bus_factor(COLLECTIVE_ALL_REDUCE, 8, &num, &den);
    assert_int_equal(num, 14);
    assert_int_equal(den, 8);
    collective_bus_factor(COLLECTIVE_ALL_TO_ALL, 8, &num, &den);
    assert_int_equal(num, 7);
    assert_int_equal(den, 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collective_traffic_is_that_of_the_transfers),
        cmocka_unit_test(test_collective_ring_of_four_repeats_one_step),
        cmocka_unit_test(test_collective_sends_no_more_than_the_bound),
        cmocka_unit_test(test_collective_first_step_reads_inputs_only),
        cmocka_unit_test(test_collective_chunk_cuts_whole_elements),
        cmocka_unit_test(test_collective_chunks_cover_the_data),
        cmocka_unit_test(test_collective_shares_are_whole_and_exact),
        cmocka_unit_test(test_collective_shares_at_the_extremes),
        cmocka_unit_test(test_collective_knows_its_algorithms),
        cmocka_unit_test(test_collective_bus_factors_of_nccl_tests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
