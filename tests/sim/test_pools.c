// Separate pools: ratios by hand, hand-overs by hand, and laws of simulated ones.
#include "tests/check.h"

#include "sim/search/pools.h"
#include "sim/search/pools_internal.h"
#include "sim/search/rank.h"
#include "tests/plan/hand_plan.h"
#include "tests/sim/small_machine.h"

#define PS_PER_MS INT64_C(1000000000)

// ---- By hand

// A prefill instance of 8 GPUs that takes 100 ms for a request, and a decode instance of 8 GPUs
// whose step takes `step_ms` whatever its batch, which is 10 at most: of 11 sequences that fit one
// is received into.
typedef struct Hand {
    SmallMachine machine;
    PoolsSpec spec;
    PoolsSearch search;
    PoolsShape prefill, decode;
} Hand;

static void open_hand(Hand *hand, const char *topology, double step_ms, uint64_t concurrency) {
    *hand = (Hand){0};
    small_machine_open(&hand->machine, topology);
    hand->machine.scenario.osl = 100;
    hand->machine.scenario.concurrency = concurrency;
    hand->prefill = (PoolsShape){
        .pool = hand_plan(8, 1, 1, 8).pools[0], .gpus = 8, .requests_s = 10, .prompts = 1};
    hand->prefill.prefill_ps = 100 * PS_PER_MS;
    hand->decode = (PoolsShape){.pool = hand_plan(8, 1, 1, 8).pools[0], .gpus = 8, .points = 1};
    hand->decode.curve[0] = (PoolsPoint){1, step_ms / 1000};
    hand->decode.memory.most_sequences = 11;
    hand->search = (PoolsSearch){.input = small_machine_input(&hand->machine),
                                 .spec = &hand->spec,
                                 .prefill = {&hand->prefill, 1, 1},
                                 .decode = {&hand->decode, 1, 1},
                                 .gpus = fabric_live_gpu_count(&hand->machine.fabric)};
}

// One instance prefills 1 / 100 ms = 10 requests/s. One decodes 10 at once, each for 100 steps of
// 10 ms, 1 s: 10 requests/s. So 1P1D is in balance: 10 requests in decode, and by Little's law 10 x
// 0.1 s = 1 in prefill, 11 in flight. On four nodes 22 in flight are 2P2D.
static void test_pools_match_rates_of_one_to_one(void **state) {
    (void)state;
    const char *const machines[] = {"hgx-h100:2", "hgx-h100:4"};
    for (uint32_t times = 1; times <= 2; times++) {
        Hand hand;
        PoolsPair pair = {0};
        open_hand(&hand, machines[times - 1], 10, 11 * times);
        assert_true(pools_solve_best(&hand.search, &pair));
        assert_int_equal(pair.x, times);
        assert_int_equal(pair.y, times);
        check_close(pair.requests_s, 10 * times, 1e-9);
        check_close(pair.batch, 10, 1e-9);
        small_machine_close(&hand.machine);
    }
}

// Steps of 20 ms halve what a decode instance does to 5 requests/s: one prefill instance feeds two.
// 10 requests/s for 2 s are 20 in decode, and 1 in prefill.
static void test_pools_match_rates_of_one_to_two(void **state) {
    (void)state;
    Hand hand;
    PoolsPair pair = {0};
    open_hand(&hand, "hgx-h100:3", 20, 21);
    assert_true(pools_solve_best(&hand.search, &pair));
    assert_int_equal(pair.x, 1);
    assert_int_equal(pair.y, 2);
    check_close(pair.requests_s, 10, 1e-9);
    small_machine_close(&hand.machine);
}

// Of 1P1D in balance: twice the requests find prefill and decode full and wait. A prefill of 9
// requests/s bounds it, one of 11 does not: then the 10 sequences of decode do. Links for 4
// requests/s leave 4, a batch of 4; slots that are taken 0.5 s before they decode leave less room:
// b
// + 0.5 s x b / 1 s = 11 slots are b = 7.33, 7.33 requests/s. 6 requests are bound by their number:
// 6 / (0.1 s + 1 s).
static void test_pools_name_what_bounds_them(void **state) {
    (void)state;
    Hand hand;
    open_hand(&hand, "hgx-h100:2", 10, 22);
    const PoolsTerms terms = {.outside_s = 0.1};
    PoolsPair pair = {.x = 1, .y = 1};
    pools_solve(&hand.search, &terms, &pair);
    check_close(pair.requests_s, 10, 1e-9);
    assert_true(pair.limit == POOLS_BY_PREFILL || pair.limit == POOLS_BY_MEMORY);
    hand.prefill.requests_s = 9;
    pools_solve(&hand.search, &terms, &pair);
    check_close(pair.requests_s, 9, 1e-9);
    assert_int_equal(pair.limit, POOLS_BY_PREFILL);
    hand.prefill.requests_s = 11;
    pools_solve(&hand.search, &terms, &pair);
    check_close(pair.requests_s, 10, 1e-9);
    assert_int_equal(pair.limit, POOLS_BY_MEMORY);
    PoolsTerms slow = terms;
    slow.most_s = 4;
    pools_solve(&hand.search, &slow, &pair);
    check_close(pair.batch, 4, 1e-9);
    assert_int_equal(pair.limit, POOLS_BY_TRANSFER);
    PoolsTerms held = terms;
    held.hold_s = 0.5;
    pools_solve(&hand.search, &held, &pair);
    check_close(pair.requests_s, 22.0 / 3, 1e-9);
    assert_int_equal(pair.limit, POOLS_BY_MEMORY);
    hand.machine.scenario.concurrency = 6;
    pools_solve(&hand.search, &terms, &pair);
    check_close(pair.requests_s, 6 / 1.1, 1e-9);
    assert_int_equal(pair.limit, POOLS_BY_CONCURRENCY);
    small_machine_close(&hand.machine);
}

// 10 ms at a batch of 1, 16 ms at 4 and 40 ms at 16: at 2 it is 12 ms, at 10 it is 28 ms, below the
// first point the same as there, above the last one on the line.
static void test_pools_steps_lie_on_lines_between_batches(void **state) {
    (void)state;
    PoolsShape shape = {.points = 3};
    shape.curve[0] = (PoolsPoint){1, 0.010};
    shape.curve[1] = (PoolsPoint){4, 0.016};
    shape.curve[2] = (PoolsPoint){16, 0.040};
    check_close(pools_solve_tpot_s(&shape, 0.5), 0.010, 1e-12);
    check_close(pools_solve_tpot_s(&shape, 2), 0.012, 1e-12);
    check_close(pools_solve_tpot_s(&shape, 4), 0.016, 1e-12);
    check_close(pools_solve_tpot_s(&shape, 10), 0.028, 1e-12);
    check_close(pools_solve_tpot_s(&shape, 20), 0.048, 1e-12);
}

// Nodes of 8 in 4 of them: 3 prefill instances of 4 GPUs fill a node and a half, so decode on whole
// nodes begins at 16; the other way round prefill follows decode at 16. On 3 nodes it still fits; 3
// of 8 and 2 of 8 are 40 GPUs and do not fit.
static void test_pools_lie_on_whole_nodes(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "hgx-h100:4");
    PoolsShape shapes[] = {{.gpus = 4}, {.gpus = 8}};
    PoolsSearch search = {.input = small_machine_input(&machine),
                          .prefill = {shapes, 2, 2},
                          .decode = {shapes, 2, 2},
                          .gpus = 32};
    PoolsPlace places[POOLS_PLACES_MAX];
    PoolsPair pair = {.prefill = 0, .decode = 1, .x = 3, .y = 2};
    assert_int_equal(pools_place_list(&search, &pair, places), 2);
    assert_int_equal(places[0].prefill, 0);
    assert_int_equal(places[0].decode, 16);
    assert_int_equal(places[1].prefill, 16);
    assert_int_equal(places[1].decode, 0);
    pair.prefill = 1;
    assert_int_equal(pools_place_list(&search, &pair, places), 0);
    small_machine_close(&machine);
}

// ---- Hand-overs by hand

// Links as nominal, no software time.
static void make_nominal(SmallMachine *machine) {
    CalibValue *values = machine->calib.values;
    const CalibParam whole[] = {CALIB_NVLINK, CALIB_NVLINK_COPY, CALIB_IB};
    const CalibParam none[] = {CALIB_NVLINK_STEP,  CALIB_NET_STEP,     CALIB_PCIE_STEP,
                               CALIB_TIER_BUFFERS, CALIB_TIER_PACKETS, CALIB_TIER_COLLISIONS};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) values[whole[i]].value = 1;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) values[none[i]].value = 0;
}

static Plan split(uint32_t prefill_tp, uint32_t x, uint32_t decode_tp, uint32_t y) {
    Plan plan = {.pool_count = 2, .transfer_count = 1, .transfers = {{0, 1}}};
    plan.pools[0] = hand_plan(prefill_tp, 1, 1, prefill_tp).pools[0];
    plan.pools[0].kind = POOL_PREFILL;
    plan.pools[0].replicas = x;
    plan.pools[1] = hand_plan(decode_tp, 1, 1, decode_tp).pools[0];
    plan.pools[1].kind = POOL_DECODE;
    plan.pools[1].replicas = y;
    plan.pools[1].first_gpu = prefill_tp * x;
    return plan;
}

static Time latency_of(const SmallMachine *machine) {
    Route route = {0};
    Err err = {0};
    check_ok(fabric_route(&machine->fabric, 0, 1, &route, &err), &err);
    Time latency = route.latency_ps;
    fabric_route_free(&route);
    return latency;
}

// Qwen3-30B-A3B: 48 layers with 4 KV heads of keys and values of 128 numbers in BF16: 2,048 B per
// token and layer. 2,048 tokens are 4,194,304 B in a layer and 201,326,592 B in all. From TP1 to
// TP1 over 100 GB/s a layer takes 41.94304 us and the latency of the path. A prompt of 1 s is
// computed much slower than that: only the last layer is exposed. One of no time leaves all layers,
// one after the other: the whole transfer. 2 P 1 D: both senders at once share the port of the
// receiver, of which the links carry 100 GB/s / 201,326,592 B = 496.7 requests/s.
static void test_pools_hand_over_by_layer(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:3,100GB/s");
    make_nominal(&machine);
    EvaluateInput input = small_machine_input(&machine);
    Plan plan = split(1, 2, 1, 1);
    PoolsMove move = {0};
    Time hold, layer = 41943040 + latency_of(&machine);
    Err err = {0};
    check_ok(pools_move_run(&input, &plan, 1000 * PS_PER_MS, &move, &hold, &err), &err);
    assert_int_equal(move.cache_B, 201326592);
    assert_int_equal(move.moved_B, 201326592);
    assert_int_equal(move.transfer_ps, 48 * layer);
    assert_int_equal(move.exposed_ps, layer);
    // a slot is taken when the first of 48 layers is sent
    assert_int_equal(hold, 1000 * PS_PER_MS - 1000 * PS_PER_MS / 48 + layer);
    check_close(move.requests_s, 100e9 / 201326592, 1e-3);
    assert_int_equal(move.link_class, LINK_NVLINK);
    assert_int_equal(move.link_Bps, UINT64_C(100000000000));
    check_ok(pools_move_run(&input, &plan, 48, &move, &hold, &err), &err);
    assert_int_equal(move.exposed_ps, 48 * layer + 1 - 48);
    small_machine_close(&machine);
}

// To TP8 each of 4 heads goes to two ranks: twice the bytes. FP8 halves them.
static void test_pools_hand_over_copies(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:9,100GB/s");
    EvaluateInput input = small_machine_input(&machine);
    Plan plan = split(1, 1, 8, 1);
    PoolsMove move = {0};
    Time hold;
    Err err = {0};
    check_ok(pools_move_run(&input, &plan, PS_PER_MS, &move, &hold, &err), &err);
    assert_int_equal(move.cache_B, 201326592);
    assert_int_equal(move.moved_B, 402653184);
    plan.pools[0].kv_format = plan.pools[1].kv_format = NUMFMT_FP8;
    check_ok(pools_move_run(&input, &plan, PS_PER_MS, &move, &hold, &err), &err);
    assert_int_equal(move.moved_B, 201326592);
    small_machine_close(&machine);
}

// ---- Simulated

static PoolsRanking rank(const SmallMachine *machine) {
    EvaluateInput input = small_machine_input(machine);
    PoolsSpec spec = {.most = 3};
    PoolsRanking ranking = {0};
    Err err = {0};
    check_ok(pools_rank(&input, &spec, &ranking, &err), &err);
    return ranking;
}

static double best_unified(const SmallMachine *machine) {
    EvaluateInput input = small_machine_input(machine);
    SpaceExperts experts = {0};
    Ranking ranking;
    Err err = {0};
    check_ok(rank_plans(&input, &experts, &ranking, &err), &err);
    assert_true(ranking.row_count > 0);
    double rate = ranking.rows[0].evaluation.tok_s_per_gpu;
    rank_free(&ranking);
    return rate;
}

// A cache of 201 MB over 100 MB/s takes 2 s: two GPUs serve half a request a second in separate
// pools, whatever they compute, and unified ones, which need no link, win. Over 450 GB/s the links
// bind nothing.
static void test_pools_lose_on_a_slow_link(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:2,100MB/s");
    PoolsRanking slow = rank(&machine);
    assert_true(slow.row_count > 0);
    assert_int_equal(slow.rows[0].limit, POOLS_BY_TRANSFER);
    assert_true(slow.rows[0].requests_s < 0.5);
    double slowly = slow.rows[0].tok_s_per_gpu;
    assert_true(best_unified(&machine) > 2 * slowly);
    pools_free(&slow);
    small_machine_close(&machine);
    small_machine_open(&machine, "switch:2,450GB/s");
    PoolsRanking fast = rank(&machine);
    assert_true(fast.row_count > 0);
    assert_true(fast.rows[0].limit != POOLS_BY_TRANSFER);
    assert_true(fast.rows[0].tok_s_per_gpu > 10 * slowly);
    pools_free(&fast);
    small_machine_close(&machine);
}

// What is promised of every row.
static void test_pools_keep_their_sums(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:8,450GB/s");
    PoolsRanking ranking = rank(&machine);
    assert_true(ranking.row_count >= 2);
    for (uint32_t i = 0; i < ranking.row_count; i++) {
        const PoolsRow *row = &ranking.rows[i];
        const Pool *decode = &row->plan.pools[1];
        Err err = {0};
        check_ok(plan_check(&row->plan, &err), &err);
        check_ok(plan_legal(&row->plan, &machine.arch, &err), &err);
        assert_int_equal(plan_gpus(&row->plan) + row->idle, 8);
        assert_true(i == 0 || row->tok_s_per_gpu <= ranking.rows[i - 1].tok_s_per_gpu);
        assert_int_equal(row->ttft_ps, row->prefill_ps + row->move.exposed_ps + row->tpot_ps);
        assert_true(row->move.exposed_ps <= row->move.transfer_ps);
        assert_true(row->move.has_beside || row->move.beside_reason.text[0] != '\0');
        assert_true(row->tpot_ps >= row->move.tpot_alone_ps);
        assert_true(row->tpot_ps <= row->move.tpot_beside_ps);
        assert_true(row->decode.sequences * decode->micro_batches + row->decode.staging <=
                    row->decode.memory.most_sequences);
        assert_true(row->decode.staging >= 1 && row->prefill.staging >= 1);
        assert_true(memory_over_B(&row->prefill.memory) == 0);
        assert_true(row->requests_s <= row->prefill.requests_s);
        assert_true(row->requests_s <= row->decode.requests_s);
        assert_true(row->requests_s <= row->move.requests_s);
        check_close(row->tok_s_per_gpu, row->requests_s * 256 / 8, 1e-12);
    }
    pools_free(&ranking);
    small_machine_close(&machine);
}

// The same plan and batch give the same row, to the bit, and so does the whole search.
static void test_pools_come_out_again(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:4,450GB/s");
    EvaluateInput input = small_machine_input(&machine);
    PoolsRanking first = rank(&machine), second = rank(&machine);
    assert_int_equal(first.row_count, second.row_count);
    for (uint32_t i = 0; i < first.row_count; i++) {
        const PoolsRow *a = &first.rows[i], *b = &second.rows[i];
        PoolsRow again;
        Err err = {0};
        check_ok(pools_evaluate(&input, &a->plan, a->decode.sequences, &again, &err), &err);
        assert_true(plan_digest(&a->plan) == plan_digest(&b->plan));
        check_close(again.tok_s_per_gpu, a->tok_s_per_gpu, 0);
        check_close(b->tok_s_per_gpu, a->tok_s_per_gpu, 0);
        assert_int_equal(again.ttft_ps, a->ttft_ps);
        assert_int_equal(again.tpot_ps, a->tpot_ps);
        assert_int_equal(again.limit, a->limit);
    }
    pools_free(&first);
    pools_free(&second);
    small_machine_close(&machine);
}

// Prompts per second of an instance: of as many prompts as a step holds.
static double prefill_rate(const EvaluateInput *input, const Plan *plan) {
    const Pool *pool = &plan->pools[0];
    uint64_t prompts = pools_run_prompts(input->scenario, pool);
    Evaluation e;
    Err err = {0};
    check_ok(evaluate_one_phase(input, plan, PHASE_PREFILL, prompts, &e, &err), &err);
    double rate =
        (double)(prompts * pool->dp * pool->micro_batches) / ((double)e.prefill_ps * 1e-12);
    evaluate_free(&e);
    return rate;
}

// What is pruned by its bound is no better than what is kept: of all ways to cut the model over 4
// GPUs, simulated one by one, none prefills more than the best of that size that was found.
static void test_pools_prune_nothing_better(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:8,450GB/s");
    EvaluateInput input = small_machine_input(&machine);
    input.memory = evaluate_memory_open(&input);
    PoolsSpec spec = {.most = 1};
    PoolsRanking ranking = {0};
    PoolsSearch search = {.input = input,
                          .spec = &spec,
                          .ranking = &ranking,
                          .device = machine.model.device,
                          .gpus = 8};
    PoolsShapes found = {0};
    Err err = {0};
    double best = 0;
    uint32_t looked = 0;
    check_ok(pools_shape_find(&search, PHASE_PREFILL, &found, &err), &err);
    for (uint32_t i = 0; i < found.count; i++)
        if (found.items[i].gpus == 4 && found.items[i].requests_s > best)
            best = found.items[i].requests_s;
    for (uint32_t tp = 1; tp <= 4; tp *= 2)
        for (uint32_t pp = 1; tp * pp <= 4; pp *= 2)
            for (uint32_t whole = 0; whole < 2; whole++) {
                uint32_t dp = 4 / (tp * pp);
                Plan plan = hand_plan(tp, pp, dp, whole > 0 ? tp * dp : 1);
                plan.pools[0].dispatch_format = NUMFMT_BF16;
                if (dp > 1 && whole == 0) plan.pools[0].moe_comm = MOE_COMM_GATHER;
                if (!plan_legal(&plan, &machine.arch, &err)) continue;
                assert_true(prefill_rate(&input, &plan) <= best);
                looked++;
            }
    assert_true(looked >= 8 && ranking.pruned[PHASE_PREFILL] > 0);
    mem_free(found.items);
    pools_free(&ranking);
    evaluate_memory_close(input.memory);
    small_machine_close(&machine);
}

// A prefill and a decode instance of one GPU each, on two nodes: in one node NVLink moves the
// cache, from node to node the NIC would.
static void test_pools_stay_where_links_are_fast(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "hgx-h100:2");
    EvaluateInput input = small_machine_input(&machine);
    PoolsSpec spec = {.most = 1, .wishes = {{1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}}};
    PoolsRanking ranking;
    Err err = {0};
    check_ok(pools_rank(&input, &spec, &ranking, &err), &err);
    assert_int_equal(ranking.row_count, 1);
    const Plan *plan = &ranking.rows[0].plan;
    assert_int_equal(ranking.rows[0].move.link_class, LINK_NVLINK);
    assert_int_equal(plan->pools[0].first_gpu / 8, plan->pools[1].first_gpu / 8);
    assert_int_equal(ranking.rows[0].idle, 14);
    pools_free(&ranking);
    small_machine_close(&machine);
}

// One request at a time is served best by the instances that are quickest, not by those that could
// serve most: asked for TP4 and TP4 by name, no more comes out than without.
static void test_pools_of_one_request_are_quick(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:8,450GB/s");
    machine.scenario.concurrency = 1;
    EvaluateInput input = small_machine_input(&machine);
    PoolsSpec any = {.most = 1}, four = {.most = 1, .wishes = {{.tp = 4}, {.tp = 4}}};
    PoolsRanking best, named;
    Err err = {0};
    check_ok(pools_rank(&input, &any, &best, &err), &err);
    check_ok(pools_rank(&input, &four, &named, &err), &err);
    assert_true(best.row_count == 1 && named.row_count == 1);
    assert_true(best.rows[0].tok_s_per_gpu >= named.rows[0].tok_s_per_gpu);
    pools_free(&best);
    pools_free(&named);
    small_machine_close(&machine);
}

// vLLM's measurement of Qwen3.5-397B-A17B in NVFP4 on GB200 NVL72, 8K in and 1K out (vLLM blog,
// 2026-08-06): N prefill instances of DEP2 before one decode instance of DEP8 serve most for each
// GPU with N = 4 at a concurrency of 1024 and with N = 6 at 5120.
static void test_pools_answer_vllm_qwen35(void **state) {
    (void)state;
    const char *model = check_shared("models/nvidia--Qwen3.5-397B-A17B-NVFP4.json");
    const uint32_t requests[] = {1024, 5120}, measured[] = {4, 6};
    SmallMachine machine;
    Err err = {0};
    small_machine_open(&machine, "nvl72.json");
    arch_free(&machine.arch);
    check_ok(arch_load(model, NULL, 0, &machine.arch, &err), &err);
    machine.scenario.isl = 8192;
    machine.scenario.osl = 1024;
    machine.scenario.kv_format = NUMFMT_FP8;
    for (uint32_t i = 0; i < 2; i++) {
        machine.scenario.concurrency = requests[i];
        EvaluateInput input = small_machine_input(&machine);
        input.paid = EVALUATE_PAID_PLAN;
        PoolsSpec spec = {.most = 1, .wishes = {{1, 1, 2, 2, 0}, {1, 1, 8, 8, 1}}};
        PoolsRanking ranking;
        check_ok(pools_rank(&input, &spec, &ranking, &err), &err);
        assert_int_equal(ranking.row_count, 1);
        assert_int_equal(ranking.rows[0].plan.pools[0].replicas, measured[i]);
        pools_free(&ranking);
    }
    small_machine_close(&machine);
}

// Of instances that must be TP2 and of which there must be two, nothing else is looked at.
static void test_pools_do_as_wished(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:8,450GB/s");
    EvaluateInput input = small_machine_input(&machine);
    PoolsSpec spec = {.most = 3, .wishes = {{.tp = 1, .instances = 3}, {.tp = 2, .pp = 1}}};
    PoolsRanking ranking;
    Err err = {0};
    check_ok(pools_rank(&input, &spec, &ranking, &err), &err);
    assert_true(ranking.row_count > 0);
    for (uint32_t i = 0; i < ranking.row_count; i++) {
        assert_int_equal(ranking.rows[i].plan.pools[0].tp, 1);
        assert_int_equal(ranking.rows[i].plan.pools[0].replicas, 3);
        assert_int_equal(ranking.rows[i].plan.pools[1].tp, 2);
    }
    pools_free(&ranking);
    small_machine_close(&machine);
}

// Caches come in over the port that the all-to-all of decode uses too: a step beside them is
// longer.
static void test_pools_transfers_slow_decode(void **state) {
    (void)state;
    SmallMachine machine;
    small_machine_open(&machine, "switch:4,1GB/s");
    EvaluateInput input = small_machine_input(&machine);
    Plan plan = split(1, 2, 2, 1);
    PoolsRow row;
    Err err = {0};
    plan.pools[1].tp = 1;
    plan.pools[1].dp = 2;
    plan.pools[1].moe_comm = MOE_COMM_ALL_TO_ALL;
    check_ok(pools_evaluate(&input, &plan, 8, &row, &err), &err);
    assert_true(row.move.has_beside);
    assert_true(row.move.tpot_beside_ps > row.move.tpot_alone_ps);
    assert_true(row.tpot_ps > row.move.tpot_alone_ps && row.tpot_ps <= row.move.tpot_beside_ps);
    small_machine_close(&machine);
}

static void check_refused(const SmallMachine *machine, const PoolsSpec *spec, const char *message) {
    EvaluateInput input = small_machine_input(machine);
    PoolsRanking ranking;
    Err err = {0};
    check_fails(pools_rank(&input, spec, &ranking, &err), &err, message);
}

static void test_pools_refuse_what_has_none(void **state) {
    (void)state;
    SmallMachine machine;
    const PoolsSpec any = {.most = 1}, tp3 = {.most = 1, .wishes = {{.tp = 3}, {0}}};
    small_machine_open(&machine, "switch:4,450GB/s");
    check_refused(&machine, &tp3,
                  "separate pools: no prefill instance on fewer than 4 GPUs: none "
                  "has such numbers");
    machine.scenario.osl = 1;
    check_refused(&machine, &any,
                  "separate pools: osl 1 leaves nothing to decode in a pool of its "
                  "own, expected an osl above 1");
    machine.scenario.osl = 256;
    machine.arch.attentions[0].kv_elements_per_token = 0;
    check_refused(&machine, &any,
                  "separate pools: qwen3-30b-a3b keeps no attention cache or state "
                  "that a prefill could hand over");
    small_machine_close(&machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pools_match_rates_of_one_to_one),
        cmocka_unit_test(test_pools_match_rates_of_one_to_two),
        cmocka_unit_test(test_pools_name_what_bounds_them),
        cmocka_unit_test(test_pools_steps_lie_on_lines_between_batches),
        cmocka_unit_test(test_pools_lie_on_whole_nodes),
        cmocka_unit_test(test_pools_hand_over_by_layer),
        cmocka_unit_test(test_pools_hand_over_copies),
        cmocka_unit_test(test_pools_lose_on_a_slow_link),
        cmocka_unit_test(test_pools_keep_their_sums),
        cmocka_unit_test(test_pools_come_out_again),
        cmocka_unit_test(test_pools_prune_nothing_better),
        cmocka_unit_test(test_pools_stay_where_links_are_fast),
        cmocka_unit_test(test_pools_of_one_request_are_quick),
        cmocka_unit_test(test_pools_answer_vllm_qwen35),
        cmocka_unit_test(test_pools_do_as_wished),
        cmocka_unit_test(test_pools_transfers_slow_decode),
        cmocka_unit_test(test_pools_refuse_what_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
