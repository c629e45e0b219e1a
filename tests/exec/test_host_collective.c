// Collectives on real bytes against their definitions, which are written here as plain loops and
// know nothing of step lists.
#include "tests/check.h"

#include "tests/exec/run_host.h"
#include "tests/plan/hand_schedule.h"

#define RANKS_MAX    17
#define ELEMENTS_MAX 120

// Element i of rank r's input: whole numbers, so that all sums are exact in any order.
static float input_value(uint32_t rank, uint32_t i) {
    return (float)(100 * rank + i);
}

static void fill_input(void *context, BufferId buffer, uint32_t rank, uint8_t *bytes,
                       uint64_t count) {
    (void)context;
    for (uint32_t i = 0; buffer == 0 && i < count / sizeof(float); i++) {
        float value = input_value(rank, i);
        memcpy(bytes + i * sizeof value, &value, sizeof value);
    }
}

// Elements of part c when `elements` are dealt to n parts: the first ones get one more.
static uint32_t part_length(uint32_t elements, uint32_t n, uint32_t c) {
    return elements / n + (c < elements % n);
}

static uint32_t part_start(uint32_t elements, uint32_t n, uint32_t c) {
    uint32_t start = 0;
    for (uint32_t i = 0; i < c; i++) start += part_length(elements, n, i);
    return start;
}

// What rank `rank` must have: fills `out`, returns its length.
static uint32_t define(Collective kind, uint32_t elements, uint32_t n, uint32_t rank, float *out) {
    uint32_t count = 0, start = part_start(elements, n, rank);
    uint32_t length = part_length(elements, n, rank);
    switch (kind) {
    case COLLECTIVE_ALL_REDUCE:
        for (; count < elements; count++) {
            out[count] = 0;
            for (uint32_t r = 0; r < n; r++) out[count] += input_value(r, count);
        }
        break;
    case COLLECTIVE_ALL_GATHER:
        for (uint32_t r = 0; r < n; r++) {
            for (uint32_t i = 0; i < part_length(elements, n, r); i++)
                out[count++] = input_value(r, i);
        }
        break;
    case COLLECTIVE_REDUCE_SCATTER:
        for (; count < length; count++) {
            out[count] = 0;
            for (uint32_t r = 0; r < n; r++) out[count] += input_value(r, start + count);
        }
        break;
    case COLLECTIVE_ALL_TO_ALL:
        for (uint32_t r = 0; r < n; r++) {
            for (uint32_t i = 0; i < length; i++) out[count++] = input_value(r, start + i);
        }
        break;
    case COLLECTIVE_BROADCAST:
        for (; count < elements; count++) out[count] = input_value(0, count);
        break;
    case COLLECTIVE_COUNT: break;
    }
    return count;
}

static void check_result(const HandCollective *hand, const InterpResult *result) {
    for (uint32_t rank = 0; rank < hand->n; rank++) {
        float want[ELEMENTS_MAX + RANKS_MAX * RANKS_MAX], got[ELEMENTS_MAX + RANKS_MAX * RANKS_MAX];
        uint32_t elements = (uint32_t)(hand->bytes / sizeof(float));
        uint32_t count = define(hand->collective, elements, hand->n, rank, want);
        memcpy(got, interp_buffer(result, 1, rank), count * sizeof(float));
        for (uint32_t i = 0; i < count; i++) {
            if (got[i] != want[i])
                fail_msg("%s %s, %u ranks, %u in a node, %u elements: rank %u element %u: got %g, "
                         "want %g",
                         algorithm_names[hand->algorithm], collective_names[hand->collective],
                         hand->n, hand->inner, elements, rank, i, (double)got[i], (double)want[i]);
        }
        // the input is as it was
        memcpy(got, interp_buffer(result, 0, rank), hand->room_B);
        for (uint32_t i = 0; i < hand->room_B / sizeof(float); i++)
            assert_true(got[i] == input_value(rank, i));
    }
}

static void run_one(CollectiveShape shape, uint32_t elements) {
    uint32_t n = shape.n;
    // an all-to-all may receive n parts of the longest length
    uint32_t room = n * (elements / n + 1);
    HandCollective hand = {.collective = shape.kind,
                           .algorithm = shape.algorithm,
                           .n = n,
                           .inner = shape.inner,
                           .bytes = elements * sizeof(float),
                           .room_B = room * sizeof(float),
                           .element = sizeof(float),
                           .format = NUMFMT_F32};
    Schedule schedule;
    hand_collective(&hand, &schedule);
    InterpResult result = run_host(&schedule, fill_input);
    check_result(&hand, &result);
    interp_free(&result);
    schedule_free(&schedule);
}

static void run_sizes(CollectiveShape shape) {
    const uint32_t sizes[] = {0, 1, 5, shape.n, 3 * shape.n + 1, 7 * shape.n - 1};
    for (uint32_t i = 0; i < sizeof sizes / sizeof *sizes; i++) run_one(shape, sizes[i]);
}

// Every algorithm of a collective, 1 to 17 ranks, all sizes of node that divide them; none, fewer,
// as many, and more elements than ranks, dividing evenly and not.
static void run_all(Collective kind) {
    for (uint32_t algorithm = 0; algorithm < ALGORITHM_COUNT; algorithm++) {
        if (!collective_has(kind, (Algorithm)algorithm)) continue;
        for (uint32_t n = 1; n <= RANKS_MAX; n++) {
            CollectiveShape shape = {.kind = kind, .algorithm = (Algorithm)algorithm, .n = n};
            Err err = {0};
            if (collective_check(shape, &err)) run_sizes(shape);
            for (shape.inner = 2; algorithm == ALGORITHM_HIERARCHICAL && shape.inner <= n;
                 shape.inner++) {
                if (collective_check(shape, &err)) run_sizes(shape);
            }
        }
    }
}

static void test_host_all_reduce_is_the_sum_everywhere(void **state) {
    (void)state;
    run_all(COLLECTIVE_ALL_REDUCE);
}

static void test_host_all_gather_is_the_parts_in_order(void **state) {
    (void)state;
    run_all(COLLECTIVE_ALL_GATHER);
}

static void test_host_reduce_scatter_is_one_part_of_the_sum(void **state) {
    (void)state;
    run_all(COLLECTIVE_REDUCE_SCATTER);
}

static void test_host_all_to_all_is_a_transpose(void **state) {
    (void)state;
    run_all(COLLECTIVE_ALL_TO_ALL);
}

static void test_host_broadcast_is_the_first_rank_everywhere(void **state) {
    (void)state;
    run_all(COLLECTIVE_BROADCAST);
}

// ---- Routed traffic

static void fill_numbers(void *context, BufferId buffer, uint32_t rank, uint8_t *bytes,
                         uint64_t count) {
    (void)context;
    (void)buffer;
    for (uint32_t i = 0; i < count / 4; i++) {
        uint32_t number = 1000 * rank + i;
        memcpy(bytes + 4 * (size_t)i, &number, 4);
    }
}

// Digests of received tokens and results of both roles.
static void run_experts(uint64_t pairs, Algorithm algorithm, uint32_t inner, Digest out[4]) {
    Schedule schedule;
    hand_experts(pairs, &schedule);
    for (OpId id = 0; id < schedule.op_count; id++) {
        schedule.ops[id].comm.algorithm = algorithm;
        schedule.ops[id].comm.inner = inner;
    }
    schedule_finish(&schedule);
    InterpResult result = run_host(&schedule, fill_numbers);
    const BufferId buffers[] = {1, 2, 4, 5};
    for (uint32_t i = 0; i < 4; i++) out[i] = interp_digest(&result, &schedule, buffers[i]);
    interp_free(&result);
    schedule_free(&schedule);
}

// 100 experts on 8 ranks, 13 or 12 each: dispatch and combine by node and rail bring every element
// where the direct ones do, in nodes of 2, 4 and 8.
static void test_host_routed_traffic_by_rail_equals_direct(void **state) {
    (void)state;
    for (uint64_t pairs = 0; pairs < 60; pairs += 7) {
        Digest direct[4], by_rail[4];
        run_experts(pairs, ALGORITHM_DIRECT, 0, direct);
        for (uint32_t inner = 2; inner <= 8; inner *= 2) {
            run_experts(pairs, ALGORITHM_HIERARCHICAL, inner, by_rail);
            assert_memory_equal(by_rail, direct, sizeof direct);
        }
        run_experts(pairs, ALGORITHM_PAIRWISE, 0, by_rail);
        assert_memory_equal(by_rail, direct, sizeof direct);
    }
}

// ---- Bytes on links

static uint64_t linked_bytes(Collective kind, Algorithm algorithm, uint32_t n, uint64_t bytes) {
    HandCollective hand = {.collective = kind,
                           .algorithm = algorithm,
                           .n = n,
                           .bytes = bytes,
                           .room_B = bytes,
                           .element = 4,
                           .format = NUMFMT_F32};
    Schedule schedule;
    hand_collective(&hand, &schedule);
    InterpResult result = run_host(&schedule, NULL);
    uint64_t linked = result.linked_B[OP_CLASS_TP_COMM];
    interp_free(&result);
    schedule_free(&schedule);
    return linked;
}

// 4 ranks, 64 bytes. All-to-all: each keeps 16 and sends 48, 192 together. Ring all-reduce: 2 x 3
// steps in which 4 ranks send 16 bytes, 384. One-shot: each sends 64 bytes to 3 others, 768.
static void test_host_counts_bytes_between_ranks(void **state) {
    (void)state;
    assert_int_equal(linked_bytes(COLLECTIVE_ALL_TO_ALL, ALGORITHM_PAIRWISE, 4, 64), 192);
    assert_int_equal(linked_bytes(COLLECTIVE_ALL_REDUCE, ALGORITHM_RING, 4, 64), 384);
    assert_int_equal(linked_bytes(COLLECTIVE_ALL_REDUCE, ALGORITHM_ONE_SHOT, 4, 64), 768);
}

// ---- Sums

static void fill_thirds(void *context, BufferId buffer, uint32_t rank, uint8_t *bytes,
                        uint64_t count) {
    (void)context;
    for (uint32_t i = 0; buffer == 0 && i < count / sizeof(float); i++) {
        float value = 1.0F / (float)(3 + rank + i);
        memcpy(bytes + i * sizeof value, &value, sizeof value);
    }
}

// Direct and one-shot sums are rounded in the order of ranks: ((a0 + a1) + a2) + ..., the same bits
// on every rank.
static void test_host_direct_sums_are_in_order_of_ranks(void **state) {
    (void)state;
    const Algorithm algorithms[] = {ALGORITHM_DIRECT, ALGORITHM_ONE_SHOT};
    for (uint32_t a = 0; a < 2; a++) {
        HandCollective hand = {.collective = COLLECTIVE_ALL_REDUCE,
                               .algorithm = algorithms[a],
                               .n = 7,
                               .bytes = 40,
                               .room_B = 40,
                               .element = 4,
                               .format = NUMFMT_F32};
        Schedule schedule;
        hand_collective(&hand, &schedule);
        InterpResult result = run_host(&schedule, fill_thirds);
        for (uint32_t rank = 0; rank < 7; rank++) {
            float got[10];
            memcpy(got, interp_buffer(&result, 1, rank), sizeof got);
            for (uint32_t i = 0; i < 10; i++) {
                float want = 1.0F / (float)(3 + i);
                for (uint32_t r = 1; r < 7; r++) want += 1.0F / (float)(3 + r + i);
                assert_true(got[i] == want);
            }
        }
        interp_free(&result);
        schedule_free(&schedule);
    }
}

// A format without sums is refused by name; moving it is fine.
static void test_host_refuses_sums_in_fp8(void **state) {
    (void)state;
    HandCollective hand = {.collective = COLLECTIVE_ALL_REDUCE,
                           .n = 2,
                           .bytes = 8,
                           .room_B = 8,
                           .element = 1,
                           .format = NUMFMT_FP8};
    Schedule schedule;
    Load load = load_uniform();
    hand_collective(&hand, &schedule);
    run_host_refused(
        &schedule, &load,
        "collective \"comm\" of role \"all\": sums in fp8 do not run, expected f32 or bf16");
    schedule_free(&schedule);
    hand.collective = COLLECTIVE_ALL_TO_ALL;
    hand_collective(&hand, &schedule);
    InterpResult result = run_host(&schedule, NULL);
    interp_free(&result);
    schedule_free(&schedule);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_all_reduce_is_the_sum_everywhere),
        cmocka_unit_test(test_host_all_gather_is_the_parts_in_order),
        cmocka_unit_test(test_host_reduce_scatter_is_one_part_of_the_sum),
        cmocka_unit_test(test_host_all_to_all_is_a_transpose),
        cmocka_unit_test(test_host_broadcast_is_the_first_rank_everywhere),
        cmocka_unit_test(test_host_routed_traffic_by_rail_equals_direct),
        cmocka_unit_test(test_host_counts_bytes_between_ranks),
        cmocka_unit_test(test_host_direct_sums_are_in_order_of_ranks),
        cmocka_unit_test(test_host_refuses_sums_in_fp8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
