// Loads: tokens by expert.
#include "tests/check.h"

#include "model/plan/load.h"

static Load golden(void) {
    Load load = {0};
    Err err = {0};
    check_ok(load_read("tests/golden/load.json", &load, &err), &err);
    return load;
}

static void check_share(const Load *load, uint32_t layer, uint32_t first, uint32_t count,
                        uint64_t want_part, uint64_t want_whole) {
    uint64_t part, whole;
    load_share(load, layer, 4, first, count, &part, &whole);
    assert_int_equal(part, want_part);
    assert_int_equal(whole, want_whole);
}

// 3 of 4 experts get 3/4 of the tokens.
static void test_load_uniform_shares_are_counts(void **state) {
    (void)state;
    Load load = load_uniform();
    check_share(&load, 0, 1, 3, 3, 4);
}

// Row 0 is 10, 20, 30, 40: experts 1 and 2 get 50 of 100. Row 1 gives all to the last.
static void test_load_recorded_shares_are_sums(void **state) {
    (void)state;
    Load load = golden();
    check_share(&load, 0, 1, 2, 50, 100);
    check_share(&load, 1, 0, 3, 0, 7);
    check_share(&load, 1, 3, 1, 7, 7);
    load_free(&load);
}

static void test_load_one_row_is_for_all_layers(void **state) {
    (void)state;
    Load load = {0};
    Err err = {0};
    const char *json =
        "{\"moesim\": \"load\", \"version\": 1, \"experts\": 4, \"tokens\": [[1,2,3,4]]}";
    check_ok(load_parse("one", json, strlen(json), &load, &err), &err);
    check_share(&load, 60, 3, 1, 4, 10);
    check_ok(load_check(&load, 61, 4, &err), &err);
    load_free(&load);
}

static void test_load_check_names_both_numbers(void **state) {
    (void)state;
    Load load = golden();
    Err err = {0};
    check_ok(load_check(&load, 2, 4, &err), &err);
    check_fails(load_check(&load, 3, 4, &err), &err,
                "the load is of 2 layers, expected 3, or one for all");
    check_fails(load_check(&load, 2, 8, &err), &err, "the load is of 4 experts, expected 8");
    check_share(&load, 2, 0, 1, 1, 4); // refused above: the uniform share
    load_free(&load);
}

static void test_load_writes_what_it_reads(void **state) {
    (void)state;
    Load load = golden(), again = {0};
    Text text = {0};
    Err err = {0};
    load_write(&load, &text);
    check_golden(text_string(&text), "tests/golden/load.json");
    check_ok(load_parse("again", text.data, text.length, &again, &err), &err);
    assert_true(load.digest == again.digest);
    text_free(&text);
    load_free(&load);
    load_free(&again);
}

// Two sources of four experts: 10 + 0, 0 + 20, 0 + 0, 0 + 10 tokens of 40.
static void test_load_sources_sum_to_the_layer(void **state) {
    (void)state;
    const uint64_t tokens[] = {10, 0, 0, 0, 0, 20, 0, 10};
    Load load = {0}, again = {0};
    Err err = {0};
    check_ok(load_of_counts(1, 2, 4, tokens, "by hand", &load, &err), &err);
    check_share(&load, 0, 0, 1, 10, 40);
    check_share(&load, 0, 1, 3, 30, 40);
    Text text = {0};
    load_write(&load, &text);
    check_golden(text_string(&text), "tests/golden/load_sources.json");
    check_ok(load_parse("again", text.data, text.length, &again, &err), &err);
    assert_true(load.digest == again.digest);
    assert_string_equal(again.origin, "by hand");
    assert_int_equal(again.sources, 2);
    text_free(&text);
    load_free(&load);
    load_free(&again);
}

// Where counts come from does not change what is simulated.
static void test_load_digest_is_of_the_counts(void **state) {
    (void)state;
    const uint64_t tokens[] = {1, 2, 3, 4};
    Load one = {0}, other = {0}, sources = {0};
    Err err = {0};
    check_ok(load_of_counts(1, 1, 4, tokens, "", &one, &err), &err);
    check_ok(load_of_counts(1, 1, 4, tokens, "a law", &other, &err), &err);
    check_ok(load_of_counts(1, 2, 2, tokens, "", &sources, &err), &err);
    assert_true(one.digest == other.digest);
    assert_true(one.digest != sources.digest);
    load_free(&one);
    load_free(&other);
    load_free(&sources);
}

// ---- Under a schedule: 16 ranks in two periods of 8. Of each period, ranks 0 to 3 have experts 0
// to 5, three for each pair of ranks; ranks 4 to 7 have experts 6 to 9, two for each pair. The
// ranks with the same cut form the group of an all-to-all: 0, 2, 4, 6 and 1, 3, 5, 7.
static void add_split(Schedule *schedule, RoleId role, GroupId group, uint32_t experts,
                      uint32_t first) {
    BlockId block = schedule_add_block(schedule, role, "layer");
    Op send = {.kind = OP_COLLECTIVE, .op_class = OP_CLASS_DISPATCH, .name = "dispatch"};
    send.comm = (Comm){.collective = COLLECTIVE_ALL_TO_ALL,
                       .group = group,
                       .bytes = extent_fixed(64),
                       .split = SPLIT_BY_DESTINATION,
                       .experts = experts,
                       .experts_total = 10,
                       .first_expert = first,
                       .expert_sharers = 2,
                       .element = 1};
    Op work = {.kind = OP_GROUPED_GEMM, .op_class = OP_CLASS_EXPERTS, .name = "experts"};
    work.compute = (Compute){.m = extent_fixed(100),
                             .n = 1,
                             .k = 1,
                             .experts = experts,
                             .experts_total = 10,
                             .first_expert = first,
                             .expert_sharers = 2};
    schedule_add_op(schedule, &send);
    schedule_add_op(schedule, &work);
    schedule_add_segment(schedule, role, block, 1);
}

static Schedule split_schedule(void) {
    Schedule schedule;
    schedule_init(&schedule, "split", 16);
    RoleId more = schedule_add_role(&schedule, "more", (RankSet){0, 4, 8, 2}, 1);
    RoleId fewer = schedule_add_role(&schedule, "fewer", (RankSet){4, 4, 8, 2}, 1);
    GroupId group = schedule_add_group(&schedule, &(GroupFamily){"ep", 4, 2, 4, 0, 8, 2});
    add_split(&schedule, more, group, 3, 0);
    add_split(&schedule, fewer, group, 2, 6);
    schedule_finish(&schedule);
    Err err = {0};
    check_ok(schedule_check_structure(&schedule, &err), &err);
    return schedule;
}

// Expert e gets e + 1 tokens of 55: experts 3 to 5 are 4 + 5 + 6, experts 8 and 9 are 9 + 10.
static void test_load_ranks_that_share_experts_get_the_same(void **state) {
    (void)state;
    const uint64_t tokens[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    const uint32_t ranks[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 15};
    const uint64_t parts[] = {6, 6, 15, 15, 15, 15, 19, 19, 6, 19};
    Load load = {0};
    Err err = {0};
    Schedule schedule = split_schedule();
    check_ok(load_of_counts(1, 1, 10, tokens, "", &load, &err), &err);
    check_ok(load_check_schedule(&load, &schedule, &err), &err);
    for (uint32_t i = 0; i < 10; i++) {
        uint32_t rank = ranks[i], role = schedule_role_of(&schedule, rank);
        for (OpId op = 2 * role; op < 2 * role + 2; op++) {
            uint64_t part, whole;
            load_rank_share(&load, &schedule, op, rank, &part, &whole);
            assert_int_equal(part, parts[i]);
            assert_int_equal(whole, 55);
        }
    }
    load_free(&load);
    schedule_free(&schedule);
}

// Two sources: positions 0 and 1 (ranks 0, 2) send all to expert 9, which rank 6 has; positions 2
// and 3 send 1 of 4 tokens to expert 0. Together rank 6 gets 10 + 3 of 14.
static void test_load_pairs_follow_their_source(void **state) {
    (void)state;
    const uint64_t tokens[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 1, 0, 0, 0, 0, 0, 0, 0, 0, 3};
    const uint64_t to_first[] = {0, 0, 1, 1}, to_last[] = {10, 10, 3, 3}, wholes[] = {10, 10, 4, 4};
    Load load = {0};
    Err err = {0};
    Schedule schedule = split_schedule();
    uint64_t part, whole;
    check_ok(load_of_counts(1, 2, 10, tokens, "", &load, &err), &err);
    load_rank_share(&load, &schedule, 2, 6, &part, &whole);
    assert_int_equal(part, 13);
    assert_int_equal(whole, 14);
    for (uint32_t position = 0; position < 4; position++) {
        load_pair_share(&load, &schedule, 0, position, 0, &part, &whole);
        assert_int_equal(part, to_first[position]);
        assert_int_equal(whole, wholes[position]);
        load_pair_share(&load, &schedule, 2, position, 6, &part, &whole);
        assert_int_equal(part, to_last[position]);
        assert_int_equal(whole, wholes[position]);
    }
    load_free(&load);
    schedule_free(&schedule);
}

static void test_load_check_schedule_names_the_operation(void **state) {
    (void)state;
    const uint64_t tokens[] = {1, 2, 3, 4};
    Load load = {0};
    Err err = {0};
    Schedule schedule = split_schedule();
    check_ok(load_of_counts(1, 1, 4, tokens, "", &load, &err), &err);
    check_fails(load_check_schedule(&load, &schedule, &err), &err,
                "collective \"dispatch\" of role \"more\": the load is of 4 experts, expected 10");
    load_free(&load);
    schedule_free(&schedule);
}

static void test_load_reads_version_1(void **state) {
    (void)state;
    Load load = golden(), old = {0};
    Err err = {0};
    check_ok(load_read("tests/golden/load_1.json", &old, &err), &err);
    assert_true(load.digest == old.digest);
    assert_int_equal(old.sources, 1);
    load_free(&load);
    load_free(&old);
}

static void check_bad(const char *json, const char *message) {
    Load load = {0};
    Err err = {0};
    check_fails(load_parse("l.json", json, strlen(json), &load, &err), &err, message);
    load_free(&load);
}

#define HEAD "{\"moesim\": \"load\", \"version\": 1, "

static void test_load_refuses_bad_files(void **state) {
    (void)state;
    check_bad(HEAD "\"experts\": 2, \"tokens\": [[1, 2], [3]]}",
              "l.json:1:67: tokens[1]: expected an array of 2 counts, found 1");
    check_bad(HEAD "\"experts\": 2, \"tokens\": []}",
              "l.json:1:58: tokens: expected at least one row, found none");
    check_bad(HEAD "\"experts\": 2, \"tokens\": [[0, 0]]}",
              "l.json:1:58: tokens: layer 0: expected at least one token, found none");
    check_bad(HEAD "\"experts\": 4000000000, \"tokens\": [[1]]}",
              "l.json:1:68: tokens[0]: expected an array of 4000000000 counts, found 1");
    check_bad(HEAD "\"experts\": 1, \"tokens\": [[1]], \"layers\": 1}",
              "l.json:1:65: unknown key \"layers\"");
    check_bad(HEAD "\"experts\": 1, \"sources\": 2, \"tokens\": [[1]]}",
              "l.json:1:72: tokens: expected a row for each of 2 sources of each layer, found 1");
    check_bad(HEAD "\"experts\": 1, \"sources\": 0, \"tokens\": [[1]]}",
              "l.json:1:1: sources: expected at least one, found none");
    check_bad(
        "{\"moesim\": \"load\", \"version\": 3}",
        "l.json:1:31: version: load format 3 is newer than this program, which reads up to 2");
}

// ---- Blocks that stand for layers: MoE layer 0, then the block of layer 1 `repeat` times, in each
// of two passes.
static void open_layers(uint32_t repeat, Schedule *out) {
    schedule_init(out, "layers", 1);
    RoleId role = schedule_add_role(out, "all", (RankSet){.count = 1, .repeat = 1}, 2);
    for (uint32_t i = 0; i < 2; i++) {
        schedule_add_block(out, role, i == 0 ? "first" : "others");
        Op work = {.kind = OP_GROUPED_GEMM, .op_class = OP_CLASS_EXPERTS, .name = "experts"};
        work.compute = (Compute){
            .m = extent_fixed(8), .n = 1, .k = 1, .experts = 2, .experts_total = 2, .moe_layer = i};
        schedule_add_op(out, &work);
    }
    schedule_add_segment(out, role, 0, 1);
    schedule_add_segment(out, role, 1, repeat);
    schedule_finish(out);
}

// Layers 1 and 2 have shares of 1/4 and 3/4, layer 3 has not; layer 0 has a block of its own. The
// passes run the same layers again.
static void test_load_layers_of_a_block_are_alike(void **state) {
    (void)state;
    const uint64_t tokens[] = {5, 0, 1, 3, 2, 6, 4, 4};
    Load load = {0}, even = load_uniform();
    Schedule schedule;
    Err err = {0};
    check_ok(load_of_counts(4, 1, 2, tokens, "", &load, &err), &err);
    open_layers(2, &schedule);
    check_ok(load_check_layers(&load, &schedule, &err), &err);
    schedule_free(&schedule);
    open_layers(3, &schedule);
    check_ok(load_check_layers(&even, &schedule, &err), &err);
    check_fails(
        load_check_layers(&load, &schedule, &err), &err,
        "block \"others\" of role \"all\" stands for 3 layers, whose loads differ: make the "
        "schedule with moesim simulate --load");
    schedule_free(&schedule);
    // four layers from layer 1 on: the load has no row for the last
    open_layers(4, &schedule);
    assert_false(load_check_layers(&load, &schedule, &err));
    schedule_free(&schedule);
    load_free(&load);
    check_ok(load_of_counts(1, 1, 2, tokens, "", &load, &err), &err); // one row for all
    open_layers(4, &schedule);
    check_ok(load_check_layers(&load, &schedule, &err), &err);
    schedule_free(&schedule);
    load_free(&load);
}

// The block of layer 0 comes again as layer 2, behind a block of layer 1: what counts are 0 and 2.
static void test_load_layers_are_counted_by_program(void **state) {
    (void)state;
    const uint64_t apart[] = {1, 1, 0, 7, 2, 2}, alike[] = {1, 1, 1, 1, 2, 3};
    Schedule schedule;
    Load load = {0};
    Err err = {0};
    open_layers(1, &schedule);
    schedule_add_segment(&schedule, 0, 0, 1);
    check_ok(load_of_counts(3, 1, 2, apart, "", &load, &err), &err);
    check_ok(load_check_layers(&load, &schedule, &err), &err);
    load_free(&load);
    check_ok(load_of_counts(3, 1, 2, alike, "", &load, &err), &err);
    check_fails(load_check_layers(&load, &schedule, &err), &err,
                "block \"first\" of role \"all\" stands for 2 layers, whose loads differ: make the "
                "schedule with moesim simulate --load");
    load_free(&load);
    schedule_free(&schedule);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load_uniform_shares_are_counts),
        cmocka_unit_test(test_load_recorded_shares_are_sums),
        cmocka_unit_test(test_load_one_row_is_for_all_layers),
        cmocka_unit_test(test_load_check_names_both_numbers),
        cmocka_unit_test(test_load_writes_what_it_reads),
        cmocka_unit_test(test_load_sources_sum_to_the_layer),
        cmocka_unit_test(test_load_digest_is_of_the_counts),
        cmocka_unit_test(test_load_ranks_that_share_experts_get_the_same),
        cmocka_unit_test(test_load_pairs_follow_their_source),
        cmocka_unit_test(test_load_check_schedule_names_the_operation),
        cmocka_unit_test(test_load_reads_version_1),
        cmocka_unit_test(test_load_refuses_bad_files),
        cmocka_unit_test(test_load_layers_of_a_block_are_alike),
        cmocka_unit_test(test_load_layers_are_counted_by_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
