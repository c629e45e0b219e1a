// The headline of a ranking, of rows made by hand.
#include "tests/check.h"

#include "sim/commands/rank_show.h"

static void check_headline(const Ranking *ranking, const char *want) {
    Inputs inputs = {.fabric = {.gpu_count = 8}};
    Text out = {0};
    rank_show_headline(&inputs, ranking, &out);
    assert_string_equal(text_string(&out), want);
    text_free(&out);
}

// 300 over a median of 200 is 1.5. Where most plans could not be priced the median makes nothing,
// and there is no ratio.
static void test_rank_show_headline_has_no_ratio_to_nothing(void **state) {
    (void)state;
    RankRow row = {.evaluation = {.tok_s_per_gpu = 300}};
    row.plan.pool_count = 1;
    row.plan.pools[0] = (Pool){.tp = 8,
                               .pp = 1,
                               .dp = 1,
                               .ep = 8,
                               .moe_tp = 1,
                               .cp = 1,
                               .replicas = 1,
                               .micro_batches = 1};
    Ranking ranking = {.rows = &row, .row_count = 1, .median_tok_s_per_gpu = 200};
    ranking.space.candidate_count = 3;
    check_headline(&ranking, "best: TP8 PP1 DP1 EP8 x1 on 8 of 8 GPUs: 300 tok/s/GPU, 1.50x the "
                             "median of 3 plans\n");
    ranking.median_tok_s_per_gpu = 0;
    check_headline(&ranking, "best: TP8 PP1 DP1 EP8 x1 on 8 of 8 GPUs: 300 tok/s/GPU; the median "
                             "of 3 plans makes nothing\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rank_show_headline_has_no_ratio_to_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
