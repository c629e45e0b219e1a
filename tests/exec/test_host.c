// The host back end: order, messages, routed all-to-all, limits.
#include "tests/check.h"

#include "tests/exec/run_host.h"
#include "tests/plan/hand_schedule.h"

static float float_at(const InterpResult *result, BufferId buffer, uint32_t rank, uint32_t i) {
    float value;
    memcpy(&value, interp_buffer(result, buffer, rank) + i * sizeof value, sizeof value);
    return value;
}

// ---- A ring of four

static void fill_numbers(void *context, BufferId buffer, uint32_t rank, uint8_t *bytes,
                         uint64_t count) {
    (void)context;
    (void)rank;
    float value = buffer % 2 == 1 ? 1.0F : 0.0F; // tokens are 0, numbers 1
    memcpy(bytes, &value, count);
}

static void run_ring(uint32_t passes, uint32_t lag, float want_first, float want_last) {
    Schedule schedule;
    hand_ring(passes, lag, &schedule);
    InterpResult result = run_host(&schedule, fill_numbers);
    assert_true(float_at(&result, 0, 0, 0) == want_first);
    assert_true(float_at(&result, 6, 3, 0) == want_last);
    assert_int_equal(result.linked_B[OP_CLASS_PIPELINE], 4 * 4 * passes);
    interp_free(&result);
    schedule_free(&schedule);
}

// Each role adds 1. With lag 1: stage 0 has 1 in pass 0 (nothing came), so stage 3 has 4; then 5
// and 8, 9 and 12.
static void test_host_ring_of_four(void **state) {
    (void)state;
    run_ring(1, 1, 1, 4);
    run_ring(3, 1, 9, 12);
}

// With lag 2: in passes 0 and 1 stage 0 adds to its own token: 1, 2. In pass 2 comes what stage 3
// made in pass 0: 4, so 5; in pass 3 that of pass 1: 2 + 3 = 5, so 6, and stage 3 has 9.
static void test_host_ring_of_four_two_passes_behind(void **state) {
    (void)state;
    run_ring(2, 2, 2, 5);
    run_ring(3, 2, 5, 8);
    run_ring(4, 2, 6, 9);
}

// A lag of more passes than there are: nothing ever comes back.
static void test_host_ring_of_four_with_a_long_lag(void **state) {
    (void)state;
    run_ring(3, 100, 3, 6);
}

// ---- Experts

static void fill_pairs(void *context, BufferId buffer, uint32_t rank, uint8_t *bytes,
                       uint64_t count) {
    (void)context;
    for (uint32_t i = 0; buffer % 3 == 0 && i < count / sizeof(float); i++) {
        float value = (float)(1000 * rank + i);
        memcpy(bytes + i * sizeof value, &value, sizeof value);
    }
}

// Owner of the slot `v` of all `total` slots, which lie in order of destination: rank j ends at
// floor(total x experts of ranks 0 to j / 100).
static uint32_t owner_of_slot(uint64_t v, uint64_t total) {
    uint64_t experts = 0;
    for (uint32_t j = 0; j < 8; j++) {
        experts += j < 4 ? 13 : 12;
        if (v < total * experts / 100) return j;
    }
    return 8;
}

// Elements from rank r to rank j: the slots r, r + 8, r + 16, ... that j owns.
static uint32_t dealt(uint32_t r, uint32_t j, uint32_t pairs) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < pairs; i++)
        count += owner_of_slot(8 * (uint64_t)i + r, 8 * pairs) == j;
    return count;
}

static void check_received(const InterpResult *result, uint32_t pairs) {
    for (uint32_t j = 0; j < 8; j++) {
        uint32_t got = 0;
        for (uint32_t r = 0; r < 8; r++) {
            uint32_t first = 0; // in r's tokens, which lie in order of destination
            for (uint32_t k = 0; k < j; k++) first += dealt(r, k, pairs);
            for (uint32_t i = 0; i < dealt(r, j, pairs); i++)
                assert_true(float_at(result, j < 4 ? 1 : 4, j, got++) ==
                            (float)(1000 * r + first + i));
        }
    }
}

// Every rank's tokens come back as they were, because nothing computed on them: combine undoes
// dispatch. 24 pairs a rank: 24.96 are due to a rank of 13 experts, 23.04 to one of 12. 1 pair a
// rank, 8 together, and 0 are the cases in which most parts are empty.
static void test_host_experts_get_their_share_and_give_it_back(void **state) {
    (void)state;
    const uint32_t sizes[] = {24, 1, 100, 7, 0};
    for (uint32_t s = 0; s < 5; s++) {
        Schedule schedule;
        hand_experts(sizes[s], &schedule);
        InterpResult result = run_host(&schedule, fill_pairs);
        check_received(&result, sizes[s]);
        for (uint32_t rank = 0; rank < 8; rank++) {
            for (uint32_t i = 0; i < sizes[s]; i++)
                assert_true(float_at(&result, rank < 4 ? 2 : 5, rank, i) ==
                            (float)(1000 * rank + i));
        }
        interp_free(&result);
        schedule_free(&schedule);
    }
}

static Load load_of(const char *json) {
    Load load = {0};
    Err err = {0};
    check_ok(load_parse("load.json", json, strlen(json), &load, &err), &err);
    return load;
}

// All tokens to expert 0, on rank 0: 8 x 24 elements, where 25 were scheduled. They lie there in
// order of the rank that sent them, and come back to where they were.
static void test_host_makes_room_for_what_a_load_gives(void **state) {
    (void)state;
    Schedule schedule;
    InterpResult result = {0};
    HostInit init = {.fill = fill_pairs};
    Text json = {0};
    Err err = {0};
    text_add(&json, "{\"moesim\": \"load\", \"version\": 1, \"experts\": 100, \"tokens\": [[9");
    for (uint32_t i = 1; i < 100; i++) text_add(&json, ", 0");
    text_add(&json, "]]}");
    Load load = load_of(text_string(&json));
    hand_experts(24, &schedule);
    check_ok(host_run(&schedule, &(StepShape){1, 1, 1, 1}, &load, &init, &result, &err), &err);
    for (uint32_t i = 0; i < 8 * 24; i++) {
        assert_true(float_at(&result, 1, 0, i) == (float)(1000 * (i / 24) + i % 24));
        assert_true(float_at(&result, i < 4 * 24 ? 2 : 5, i / 24, i % 24) ==
                    (float)(1000 * (i / 24) + i % 24));
    }
    interp_free(&result);
    load_free(&load);
    text_free(&json);
    schedule_free(&schedule);
}

static void test_host_refuses_a_load_of_other_experts(void **state) {
    (void)state;
    Schedule schedule;
    Load load =
        load_of("{\"moesim\": \"load\", \"version\": 1, \"experts\": 2, \"tokens\": [[1, 1]]}");
    hand_experts(24, &schedule);
    run_host_refused(
        &schedule, &load,
        "collective \"dispatch\" of role \"13 experts\": the load is of 2 experts, expected "
        "100");
    load_free(&load);
    schedule_free(&schedule);
}

// ---- Operations that compute, and limits

// A block of a compute operation run twice in two passes on three ranks: 12 instances, no byte
// moved.
static void test_host_skips_what_computes(void **state) {
    (void)state;
    Schedule schedule;
    schedule_init(&schedule, "compute", 3);
    RankSet ranks = {.count = 3, .repeat = 1};
    RoleId role = schedule_add_role(&schedule, "all", ranks, 2);
    BlockId block = schedule_add_block(&schedule, role, "layer");
    OpId op = hand_memory(&schedule, "norm", 0);
    schedule_add_segment(&schedule, role, block, 2);
    schedule_finish(&schedule);
    InterpResult result = run_host(&schedule, NULL);
    assert_int_equal(result.works[op], TIMELINE_FILE_SKIPPED);
    assert_int_equal(result.instances[op], 12);
    assert_int_equal(result.local_B[OP_CLASS_OTHER], 0);
    interp_free(&result);
    schedule_free(&schedule);
}

// 3 GiB in and out: 6 GiB.
static void test_host_refuses_too_much_memory(void **state) {
    (void)state;
    HandCollective hand = {.collective = COLLECTIVE_ALL_GATHER,
                           .n = 1,
                           .bytes = 4,
                           .room_B = UINT64_C(3) << 30,
                           .element = 4,
                           .format = NUMFMT_F32};
    Schedule schedule;
    Load load = load_uniform();
    hand_collective(&hand, &schedule);
    // 2 x 3 GiB, 2 counters of 8 bytes, and aside 2 x (4 + 4) bytes
    run_host_refused(
        &schedule, &load,
        "the run needs 6442450976 bytes of memory on 1 ranks together, at most 4294967296");
    schedule_free(&schedule);
}

// 4 billion iterations would never end.
static void test_host_refuses_too_many_instances(void **state) {
    (void)state;
    Schedule schedule;
    Load load = load_uniform();
    schedule_init(&schedule, "long", 1);
    RankSet ranks = {.count = 1, .repeat = 1};
    RoleId role = schedule_add_role(&schedule, "all", ranks, 1);
    BlockId block = schedule_add_block(&schedule, role, "layer");
    hand_memory(&schedule, "norm", 0);
    schedule_add_segment(&schedule, role, block, UINT32_MAX);
    schedule_finish(&schedule);
    run_host_refused(&schedule, &load,
                     "the run has 4294967295 operation instances, at most 67108864");
    schedule_free(&schedule);
}

// Both receive first: neither ever sends. The line says what waits for what.
static void test_host_names_a_deadlock(void **state) {
    (void)state;
    Schedule schedule;
    Load load = load_uniform();
    hand_ring(2, 0, &schedule);
    run_host_refused(
        &schedule, &load,
        "deadlock: recv \"receive\" of role \"stage 0\" waits for send \"send\" of role "
        "\"stage 3\" behind recv \"receive\", which waits for send \"send\" of role \"stage "
        "2\" behind recv \"receive\", which waits for send \"send\" of role \"stage 1\" "
        "behind recv \"receive\", which waits for send \"send\" of role \"stage 0\" behind "
        "recv \"receive\"");
    schedule_free(&schedule);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_ring_of_four),
        cmocka_unit_test(test_host_ring_of_four_two_passes_behind),
        cmocka_unit_test(test_host_ring_of_four_with_a_long_lag),
        cmocka_unit_test(test_host_experts_get_their_share_and_give_it_back),
        cmocka_unit_test(test_host_makes_room_for_what_a_load_gives),
        cmocka_unit_test(test_host_refuses_a_load_of_other_experts),
        cmocka_unit_test(test_host_skips_what_computes),
        cmocka_unit_test(test_host_refuses_too_much_memory),
        cmocka_unit_test(test_host_refuses_too_many_instances),
        cmocka_unit_test(test_host_names_a_deadlock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
