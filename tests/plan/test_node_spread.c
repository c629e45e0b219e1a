// Nodes that a token has to reach, against counted and exact values.
#include "tests/check.h"

#include "model/plan/node_spread.h"

static void check_mean(NodeSpread spread, double want) {
    double got = node_spread_mean(&spread);
    if (got < want - 1e-9 || got > want + 1e-9) fail_msg("got %.12f, want %.12f", got, want);
}

// 4 experts on 2 nodes, 2 a token: of the 6 pairs, 2 lie on one node and 4 on both: 10 / 6 nodes.
// With 1 a token always one; with all 4 both; with an expert a node as many nodes as experts.
static void test_node_spread_of_four_experts(void **state) {
    (void)state;
    check_mean((NodeSpread){4, 2, 0, 0, 2}, 10.0 / 6);
    check_mean((NodeSpread){4, 1, 0, 0, 2}, 1);
    check_mean((NodeSpread){4, 4, 0, 0, 2}, 2);
    check_mean((NodeSpread){4, 2, 0, 0, 1}, 1);
    check_mean((NodeSpread){4, 2, 0, 0, 4}, 2);
}

// 5 experts on 2 nodes of 3 and 2, 2 a token: of 10 pairs 3 + 1 lie on one node: 16 / 10.
static void test_node_spread_of_uneven_nodes(void **state) {
    (void)state;
    check_mean((NodeSpread){5, 2, 0, 0, 2}, 1.6);
}

// DeepSeek-V3: 256 experts, 8 a token, 8 groups of which 4 are chosen; exact fractions by big
// integers. 8 nodes: 4 (1 - C(96, 8) / C(128, 8)) = 697366471 / 192164335; without the limit
// 8 (1 - C(224, 8) / C(256, 8)) = 362471040053 / 68459842125. 4 nodes of 2 groups each: 19694412029
// / 6725751725. 16 nodes of half a group: 2891550271 / 541554035.
static void test_node_spread_of_deepseek_v3(void **state) {
    (void)state;
    check_mean((NodeSpread){256, 8, 8, 4, 8}, 697366471.0 / 192164335);
    check_mean((NodeSpread){256, 8, 0, 0, 8}, 362471040053.0 / 68459842125);
    check_mean((NodeSpread){256, 8, 8, 4, 4}, 19694412029.0 / 6725751725);
    check_mean((NodeSpread){256, 8, 8, 4, 16}, 2891550271.0 / 541554035);
}

// 3.6290109 nodes of 8 copies are 0.45362637 of them.
static void test_node_spread_in_millionths(void **state) {
    (void)state;
    assert_int_equal(node_spread_ppm(&(NodeSpread){256, 8, 8, 4, 8}), 453627);
    assert_int_equal(node_spread_ppm(&(NodeSpread){4, 1, 0, 0, 2}), 1000000);
    assert_int_equal(node_spread_ppm(&(NodeSpread){4, 4, 0, 0, 1}), 250000);
}

// Of all choices of 3 out of 12 experts on 4 nodes, counted one by one.
static void test_node_spread_equals_a_count(void **state) {
    (void)state;
    uint32_t hits = 0, choices = 0;
    for (uint32_t a = 0; a < 12; a++) {
        for (uint32_t b = a + 1; b < 12; b++) {
            for (uint32_t c = b + 1; c < 12; c++, choices++) {
                bool hit[4] = {0};
                hit[a / 3] = hit[b / 3] = hit[c / 3] = true;
                for (uint32_t node = 0; node < 4; node++) hits += hit[node];
            }
        }
    }
    check_mean((NodeSpread){12, 3, 0, 0, 4}, (double)hits / choices);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_node_spread_of_four_experts),
        cmocka_unit_test(test_node_spread_of_uneven_nodes),
        cmocka_unit_test(test_node_spread_of_deepseek_v3),
        cmocka_unit_test(test_node_spread_in_millionths),
        cmocka_unit_test(test_node_spread_equals_a_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
