// What schedule_check refuses, with its exact words. Each case is a schedule that passes, with one
// thing changed.
#include "tests/check.h"

#include "tests/plan/hand_schedule.h"

static const StepShape one_token = {.tokens = 1, .sequences = 1, .kv_tokens = 1, .qk_pairs = 1};

// Frees the schedule.
static void check_good(Schedule *schedule) {
    Err err = {0};
    schedule_finish(schedule);
    check_ok(schedule_check(schedule, &one_token, &err), &err);
    schedule_free(schedule);
}

static void check_bad(Schedule *schedule, const char *message) {
    Err err = {0};
    schedule_finish(schedule);
    check_fails(schedule_check(schedule, &one_token, &err), &err, message);
    schedule_free(schedule);
}

static void test_schedule_check_accepts_the_examples(void **state) {
    (void)state;
    Schedule schedule;
    hand_ring(4, 1, &schedule);
    check_good(&schedule);
    hand_ring(100, 40, &schedule);
    check_good(&schedule);
    hand_experts(24, &schedule);
    check_good(&schedule);
}

// ---- Ranks and groups

// `count` ranks of one role from `first` on; the block has one operation.
static RoleId add_role(Schedule *schedule, const char *name, uint32_t first, uint32_t count) {
    RankSet ranks = {.first = first, .count = count, .repeat = 1};
    return schedule_add_role(schedule, name, ranks, 1);
}

static void test_schedule_check_wants_each_rank_once(void **state) {
    (void)state;
    Schedule schedule;
    schedule_init(&schedule, "gap", 4);
    add_role(&schedule, "a", 0, 2);
    add_role(&schedule, "b", 3, 1);
    check_bad(&schedule, "rank 2 is in no role");
    schedule_init(&schedule, "overlap", 4);
    add_role(&schedule, "a", 0, 3);
    add_role(&schedule, "b", 2, 2);
    check_bad(&schedule, "rank 2 is in the roles \"a\" and \"b\"");
    schedule_init(&schedule, "beyond", 4);
    add_role(&schedule, "a", 0, 5);
    check_bad(&schedule, "role \"a\": rank 4 is not below the number of ranks, 4");
    schedule_init(&schedule, "none", 0);
    check_bad(&schedule, "0 ranks, expected 1 to 1048576");
}

static void test_schedule_check_wants_groups_as_their_formula(void **state) {
    (void)state;
    Schedule schedule;
    GroupFamily beyond = {.name = "tp", .size = 2, .stride = 3, .count = 2};
    schedule_init(&schedule, "groups", 4);
    add_role(&schedule, "all", 0, 4);
    schedule_add_group(&schedule, &beyond); // {0, 3}, {1, 4}
    check_bad(&schedule, "group \"tp\": its ranks go beyond the number of ranks, 4");
    // two periods of 3 ranks, one pair of stride 3 in each: {0, 3}, {3, 6}
    GroupFamily twice = {
        .name = "ep", .size = 2, .stride = 3, .count = 2, .period = 3, .per_period = 1};
    schedule_init(&schedule, "groups", 8);
    add_role(&schedule, "all", 0, 8);
    schedule_add_group(&schedule, &twice);
    check_bad(&schedule, "group \"ep\": rank 3 is in two of its groups");
}

// A family of 2 ranks, a role of 3.
static void test_schedule_check_wants_a_role_inside_its_groups(void **state) {
    (void)state;
    Schedule schedule;
    HandCollective hand = {.collective = COLLECTIVE_ALL_REDUCE,
                           .n = 3,
                           .bytes = 4,
                           .room_B = 4,
                           .element = 4,
                           .format = NUMFMT_F32};
    hand_collective(&hand, &schedule);
    schedule.groups[0].size = 2;
    check_bad(&schedule,
              "role \"all\", block \"block\", operation \"comm\": rank 2 of its role is in "
              "no group of \"all\"");
}

static void test_schedule_check_refuses_an_algorithm_of_another_collective(void **state) {
    (void)state;
    Schedule schedule;
    HandCollective hand = {.collective = COLLECTIVE_ALL_GATHER,
                           .algorithm = ALGORITHM_PAIRWISE,
                           .n = 2,
                           .bytes = 8,
                           .room_B = 8,
                           .element = 4,
                           .format = NUMFMT_F32};
    hand_collective(&hand, &schedule);
    check_bad(&schedule, "role \"all\", block \"block\", operation \"comm\": all-gather has no "
                         "algorithm \"pairwise\"");
}

// 8 ranks in nodes of 3; a plan's "auto" that nobody replaced; more than all bytes over a rail.
static void test_schedule_check_refuses_hierarchies_that_do_not_divide(void **state) {
    (void)state;
    Schedule schedule;
    HandCollective hand = {.collective = COLLECTIVE_ALL_TO_ALL,
                           .algorithm = ALGORITHM_HIERARCHICAL,
                           .n = 8,
                           .inner = 3,
                           .bytes = 8,
                           .room_B = 8,
                           .element = 1,
                           .format = NUMFMT_F32};
    hand_collective(&hand, &schedule);
    check_bad(&schedule,
              "role \"all\", block \"block\", operation \"comm\": hierarchical all-to-all of 8 "
              "ranks: expected nodes of 2 to 8 ranks that divide them, found 3");
    hand.inner = 4;
    hand_collective(&hand, &schedule);
    schedule.ops[0].comm.rail_ppm = 1000001;
    check_bad(&schedule, "role \"all\", block \"block\", operation \"comm\": expected at most "
                         "1000000 millionths over rails, found 1000001");
    hand.algorithm = ALGORITHM_AUTO;
    hand_collective(&hand, &schedule);
    check_bad(&schedule, "role \"all\", block \"block\", operation \"comm\": all-to-all has no "
                         "algorithm \"auto\"");
}

static void test_schedule_check_refuses_waits_across_roles(void **state) {
    (void)state;
    Schedule schedule;
    hand_ring(1, 1, &schedule);
    schedule_add_block(&schedule, 3, "more");
    OpId op = hand_memory(&schedule, "norm", 0);
    schedule_add_wait(&schedule, 0);
    check_bad(&schedule, "role \"stage 3\", block \"more\", operation \"norm\": waits for recv "
                         "\"receive\" of role \"stage 0\": only communication joins roles");
    hand_ring(1, 1, &schedule);
    schedule_add_block(&schedule, 3, "more");
    op = hand_memory(&schedule, "norm", 0);
    schedule_add_wait(&schedule, op);
    check_bad(&schedule, "role \"stage 3\", block \"more\", operation \"norm\": waits for itself");
}

// ---- Sizes

static void test_schedule_check_keeps_slices_inside_buffers(void **state) {
    (void)state;
    Schedule schedule;
    hand_ring(1, 1, &schedule);
    schedule.slices[0].offset = extent_fixed(2); // 2 + 4 of 4 bytes
    check_bad(&schedule,
              "role \"stage 0\", block \"turn\", operation \"receive\": slice 0: bytes 2 "
              "to 6 lie outside buffer \"token\" of 4 bytes");
}

static void test_schedule_check_refuses_sizes_that_saturate(void **state) {
    (void)state;
    Schedule schedule;
    hand_ring(1, 1, &schedule);
    schedule.buffers[2].bytes = (Extent){.fixed = UINT64_MAX, .per_token = 1};
    check_bad(&schedule, "role \"stage 1\", buffer \"token\": bytes: 1 tokens + "
                         "18446744073709551615 saturates for the largest shape");
    hand_ring(1, 1, &schedule);
    schedule.ops[1].compute.bytes = extent_tokens(UINT64_MAX);
    check_bad(&schedule, "role \"stage 0\", block \"turn\", operation \"add\": bytes: "
                         "18446744073709551615 tokens saturates for the largest shape");
}

// 25 elements of 4 bytes may reach a rank of 13 experts: 100 bytes.
static void test_schedule_check_wants_room_for_the_share(void **state) {
    (void)state;
    Schedule schedule;
    hand_experts(24, &schedule);
    schedule.slices[1].bytes = extent_fixed(96);
    check_bad(&schedule,
              "role \"13 experts\", block \"experts\", operation \"dispatch\": writes 100 "
              "bytes, its slice has 96");
    hand_experts(24, &schedule);
    schedule.ops[0].slice_count = 1;
    check_bad(&schedule,
              "role \"13 experts\", block \"experts\", operation \"dispatch\": collective "
              "needs one slice read and one written (all-reduce: or one added to)");
}

// ---- Partners

static void test_schedule_check_refuses_an_unmatched_receive(void **state) {
    (void)state;
    Schedule schedule;
    hand_ring(1, 1, &schedule);
    schedule.ops[0].comm.channel = 5;
    check_bad(&schedule, "send \"send\" of role \"stage 3\" has no recv in role \"stage 0\" on "
                         "channel 0");
    hand_ring(1, 1, &schedule);
    schedule.ops[2].kind = OP_MEMORY; // stage 0 sends nothing
    check_bad(&schedule, "recv \"receive\" of role \"stage 1\" has no send in role \"stage 0\" on "
                         "channel 0");
}

static void test_schedule_check_wants_equal_sizes_and_counts(void **state) {
    (void)state;
    Schedule schedule;
    hand_ring(1, 1, &schedule);
    schedule.ops[2].comm.bytes = extent_fixed(2);
    check_bad(&schedule, "send \"send\" of role \"stage 0\" meets recv \"receive\" of role \"stage "
                         "1\", but their bytes differ");
    hand_ring(1, 1, &schedule);
    schedule.segments[1].repeat = 3;
    check_bad(&schedule,
              "send \"send\" of role \"stage 0\" runs 1 times in a pass, its partner recv "
              "\"receive\" of role \"stage 1\" 3 times");
    hand_ring(1, 1, &schedule);
    schedule.roles[1].passes = 2;
    check_bad(&schedule, "send \"send\" of role \"stage 0\" has 1 passes, its partner recv "
                         "\"receive\" of role \"stage 1\" 2");
    hand_experts(24, &schedule);
    schedule.ops[2].comm.algorithm = ALGORITHM_PAIRWISE;
    check_bad(&schedule, "collective \"dispatch\" of role \"13 experts\" meets collective "
                         "\"dispatch\" of role \"12 experts\", but their algorithms differ");
    hand_experts(24, &schedule);
    schedule.ops[2].comm.channel = 9;
    check_bad(&schedule,
              "collective \"dispatch\" of role \"13 experts\" has no partner in role \"12 "
              "experts\": nothing there is on channel 0");
}

// 4 x 13 + 4 x 11 = 96.
static void test_schedule_check_adds_up_experts(void **state) {
    (void)state;
    Schedule schedule;
    hand_experts(24, &schedule);
    schedule.ops[2].comm.experts = 11;
    check_bad(&schedule,
              "collective \"dispatch\" of role \"13 experts\": the ranks of a group have "
              "96 experts together, expected 100");
}

// Roles that cut equal work into different segments meet all the same: 2 x 3 iterations in one, 6
// in the other.
static void test_schedule_check_compares_runs_not_segments(void **state) {
    (void)state;
    Schedule schedule;
    hand_experts(24, &schedule);
    schedule.segments[1].repeat = 6; // of role 1
    schedule.segments[0].repeat = 5;
    check_bad(&schedule,
              "collective \"dispatch\" of role \"13 experts\" runs 5 times in a pass, its "
              "partner collective \"dispatch\" of role \"12 experts\" 6 times");
    hand_experts(24, &schedule);
    schedule.segments[1].repeat = 6;
    schedule.segments[0].repeat = 3;
    schedule.roles[1].first_segment = 2; // role 0 gets a second segment, role 1's moves up
    schedule.roles[0].segment_count = 2;
    schedule.segment_count = 3;
    schedule.segments = mem_grow(schedule.segments, &schedule.segment_capacity, 3, sizeof(Segment));
    schedule.segments[2] = schedule.segments[1];
    schedule.segments[1] = schedule.segments[0];
    check_good(&schedule);
}

static void test_schedule_check_wants_one_stream_for_a_channel(void **state) {
    (void)state;
    Schedule schedule;
    hand_experts(24, &schedule);
    schedule.ops[1].comm.channel = 0;
    check_bad(&schedule, "role \"13 experts\", block \"experts\", operation \"combine\": carries "
                         "channel 0 as operation \"dispatch\" of the same block does");
    hand_ring(1, 1, &schedule);
    schedule_add_block(&schedule, 3, "more");
    OpId op = hand_message(&schedule, OP_SEND, "other", 0, 0, 4);
    hand_slice(&schedule, 6, SLICE_READ, 0, 4);
    schedule.ops[op].stream = 1;
    schedule.stream_count = 2;
    check_bad(&schedule,
              "role \"stage 3\", block \"more\", operation \"other\": carries channel 0 on stream "
              "1, operation \"send\" does on stream 0: their order is not defined");
}

// ---- Progress

// Two roles exchange their buffers: both send, then receive, the latter on a stream of choice.
static Schedule swap(uint32_t receive_stream) {
    Schedule schedule;
    schedule_init(&schedule, "swap", 2);
    add_role(&schedule, "left", 0, 1);
    add_role(&schedule, "right", 1, 1);
    for (RoleId role = 0; role < 2; role++) {
        hand_buffer(&schedule, role, "own", 4);
        hand_buffer(&schedule, role, "other", 4);
        BlockId block = schedule_add_block(&schedule, role, "swap");
        hand_message(&schedule, OP_SEND, "give", 1 - role, role, 4);
        hand_slice(&schedule, 2 * role, SLICE_READ, 0, 4);
        OpId take = hand_message(&schedule, OP_RECV, "take", 1 - role, 1 - role, 4);
        schedule.ops[take].stream = receive_stream;
        hand_slice(&schedule, 2 * role + 1, SLICE_WRITE, 0, 4);
        schedule_add_segment(&schedule, role, block, 1);
    }
    schedule.stream_count = receive_stream + 1;
    return schedule;
}

// Both roles send before they receive; where a send waits for its receive, neither goes on.
static void test_schedule_check_refuses_a_cyclic_wait(void **state) {
    (void)state;
    Schedule schedule = swap(0);
    check_bad(&schedule, "deadlock: send \"give\" of role \"left\" waits for recv \"take\" of role "
                         "\"right\" behind send \"give\", which waits for recv \"take\" of role "
                         "\"left\" behind send \"give\"");
    schedule = swap(1); // the receives are reached beside the sends
    check_good(&schedule);
}

// Two collectives of the same two ranks in opposite order on one stream each.
static void test_schedule_check_refuses_stream_inversion(void **state) {
    (void)state;
    Schedule schedule;
    hand_experts(24, &schedule);
    Op first = schedule.ops[2], second = schedule.ops[3]; // of role 1
    schedule.ops[2] = second;
    schedule.ops[3] = first;
    check_bad(&schedule,
              "deadlock: collective \"dispatch\" of role \"13 experts\" waits for collective "
              "\"dispatch\" of role \"12 experts\" behind collective \"combine\", which waits for "
              "collective \"combine\" of role \"13 experts\" behind collective \"dispatch\"");
}

// An operation that waits for one of another stream which waits for it.
static void test_schedule_check_lets_a_wait_look_back(void **state) {
    (void)state;
    Schedule schedule;
    schedule_init(&schedule, "loop", 1);
    RoleId role = add_role(&schedule, "all", 0, 1);
    BlockId block = schedule_add_block(&schedule, role, "layer");
    OpId first = hand_memory(&schedule, "first", 0);
    schedule_add_wait(&schedule, first + 1); // of the iteration before
    hand_memory(&schedule, "second", 1);
    schedule_add_wait(&schedule, first);
    schedule_add_segment(&schedule, role, block, 50);
    check_good(&schedule);
}

static void test_schedule_check_bounds_its_run(void **state) {
    (void)state;
    Schedule schedule;
    hand_ring(UINT32_MAX, UINT32_MAX, &schedule);
    // 4 roles x 3 operations x (2^32 - 1) passes
    check_bad(&schedule, "the abstract run has 51539607540 operation instances, at most 4194304");
}

// ---- Races

// x writes a buffer on stream 0, y reads it on stream 1, in a loop.
static Schedule two_streams(bool y_waits, bool x_waits) {
    Schedule schedule;
    schedule_init(&schedule, "streams", 1);
    RoleId role = add_role(&schedule, "all", 0, 1);
    BufferId buffer = hand_buffer(&schedule, role, "hidden", 64);
    BlockId block = schedule_add_block(&schedule, role, "layer");
    OpId x = hand_memory(&schedule, "x", 0);
    if (x_waits) schedule_add_wait(&schedule, x + 1);
    hand_slice(&schedule, buffer, SLICE_WRITE, 0, 64);
    hand_memory(&schedule, "y", 1);
    if (y_waits) schedule_add_wait(&schedule, x);
    hand_slice(&schedule, buffer, SLICE_READ, 32, 32);
    schedule_add_segment(&schedule, role, block, 10);
    return schedule;
}

static void test_schedule_check_refuses_a_race(void **state) {
    (void)state;
    Schedule schedule = two_streams(false, false);
    check_bad(&schedule, "race: memory \"y\" of role \"all\" reads bytes 32 to 64 of buffer "
                         "\"hidden\", and memory \"x\" of role \"all\" writes bytes 0 to 64: no "
                         "stream or wait orders them");
}

// y waits for x, but the x of the next iteration does not wait for y.
static void test_schedule_check_refuses_a_race_between_iterations(void **state) {
    (void)state;
    Schedule schedule = two_streams(true, false);
    check_bad(&schedule, "race: memory \"x\" of role \"all\" writes bytes 0 to 64 of buffer "
                         "\"hidden\", and memory \"y\" of role \"all\" reads bytes 32 to 64: no "
                         "stream or wait orders them");
    schedule = two_streams(true, true);
    check_good(&schedule);
}

static void test_schedule_check_lets_disjoint_slices_be(void **state) {
    (void)state;
    Schedule schedule = two_streams(false, false);
    schedule.slices[0].bytes = extent_fixed(32);
    check_good(&schedule);
    schedule = two_streams(false, false);
    schedule.slices[0].access = SLICE_READ;
    check_good(&schedule);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedule_check_accepts_the_examples),
        cmocka_unit_test(test_schedule_check_wants_each_rank_once),
        cmocka_unit_test(test_schedule_check_wants_groups_as_their_formula),
        cmocka_unit_test(test_schedule_check_wants_a_role_inside_its_groups),
        cmocka_unit_test(test_schedule_check_refuses_an_algorithm_of_another_collective),
        cmocka_unit_test(test_schedule_check_refuses_hierarchies_that_do_not_divide),
        cmocka_unit_test(test_schedule_check_refuses_waits_across_roles),
        cmocka_unit_test(test_schedule_check_keeps_slices_inside_buffers),
        cmocka_unit_test(test_schedule_check_refuses_sizes_that_saturate),
        cmocka_unit_test(test_schedule_check_wants_room_for_the_share),
        cmocka_unit_test(test_schedule_check_refuses_an_unmatched_receive),
        cmocka_unit_test(test_schedule_check_wants_equal_sizes_and_counts),
        cmocka_unit_test(test_schedule_check_adds_up_experts),
        cmocka_unit_test(test_schedule_check_compares_runs_not_segments),
        cmocka_unit_test(test_schedule_check_wants_one_stream_for_a_channel),
        cmocka_unit_test(test_schedule_check_refuses_a_cyclic_wait),
        cmocka_unit_test(test_schedule_check_refuses_stream_inversion),
        cmocka_unit_test(test_schedule_check_lets_a_wait_look_back),
        cmocka_unit_test(test_schedule_check_bounds_its_run),
        cmocka_unit_test(test_schedule_check_refuses_a_race),
        cmocka_unit_test(test_schedule_check_refuses_a_race_between_iterations),
        cmocka_unit_test(test_schedule_check_lets_disjoint_slices_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
