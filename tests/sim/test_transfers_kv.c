// Hand-overs of a KV cache between machines' parts, as worked examples.
#include "tests/check.h"

#include "sim/transfers_kv.h"
#include "tests/sim/net_machine.h"

#define LAYERS    61
#define ISL       4096
#define PS_PER_NS 1000

// DeepSeek-V3: one latent for all heads, 512 and 64 numbers of 2 B: 1,152 B per token and layer. 61
// layers of 4,096 tokens are 287,834,112 B.
#define LATENT_B 1152

static const TransfersOptions nominal = {0};

static TransfersResult run(NetMachine *machine, const KvMove *move, const TransfersKv *ranks) {
    Err err = {0};
    KvList list = {0};
    TransfersResult result = {0};
    TransfersKv all = *ranks;
    all.pieces = &list;
    check_ok(kv_transfer_list(move, &list, &err), &err);
    check_ok(transfers_kv_run(&machine->fabric, &all, &nominal, &result, &err), &err);
    kv_transfer_free(&list);
    return result;
}

// Two nodes of HGX H100 under a switch; from the 8 ranks of a prefill TP8 to GPU 11 on the other
// node, a rank of attention-DP that keeps whole requests.
static TransfersResult hand_over(KvOrder order, const Time *ready) {
    static const VertexId from[] = {0, 1, 2, 3, 4, 5, 6, 7}, to[] = {11};
    KvLayer layers[LAYERS];
    NetMachine machine;
    for (uint32_t i = 0; i < LAYERS; i++) layers[i] = (KvLayer){.heads = 1, .head_B = LATENT_B};
    KvMove move = {.layers = layers,
                   .layer_count = LAYERS,
                   .from = {8, 1, 64, 0},
                   .to = {1, 1, 64, 0},
                   .tokens = ISL,
                   .order = order};
    TransfersKv ranks = {.from = from, .to = to, .from_ranks = 8, .to_ranks = 1, .ready = ready};
    net_machine_open(&machine, "hgx-h100:2");
    TransfersResult result = run(&machine, &move, &ranks);
    net_machine_close(&machine);
    return result;
}

// The latency of the path between the nodes, from a transfer of nothing but one byte, which takes
// 20 ps at 50 GB/s.
static Time path_latency(void) {
    NetMachine machine;
    Route route = {0};
    Err err = {0};
    net_machine_open(&machine, "hgx-h100:2");
    check_ok(fabric_route(&machine.fabric, 0, 11, &route, &err), &err);
    assert_int_equal(route.bandwidth_Bps, UINT64_C(50000000000));
    Time latency = route.latency_ps;
    fabric_route_free(&route);
    net_machine_close(&machine);
    return latency;
}

// All at once: 287,834,112 B through the one NIC of the receiver, 50 GB/s: 5,756.68224 us and the
// latency of the path. Every rank of TP8 holds the whole latent, and one sends it.
static void test_transfers_kv_at_once(void **state) {
    (void)state;
    TransfersResult r = hand_over(KV_BY_REQUEST, NULL);
    assert_int_equal(r.end_ps, INT64_C(5756682240) + path_latency());
    assert_int_equal(r.bound_ps, r.end_ps);
    assert_int_equal(r.links[LINK_IB].busiest_B, 287834112);
    transfers_result_free(&r);
}

// By layer: 61 times 4,718,592 B, 94.37184 us, and a latency each. The bound has one latency.
static void test_transfers_kv_by_layer(void **state) {
    (void)state;
    TransfersResult r = hand_over(KV_BY_LAYER, NULL);
    Time one = 94371840 + path_latency();
    for (uint32_t i = 0; i < LAYERS; i++) assert_int_equal(r.finish[i], (i + 1) * one);
    assert_int_equal(r.end_ps, LAYERS * one);
    assert_int_equal(r.bound_ps, INT64_C(5756682240) + path_latency());
    transfers_result_free(&r);
}

// By block of 64 tokens: 64 times 64 x 61 x 1,152 = 4,497,408 B, 89.94816 us, and a latency each.
static void test_transfers_kv_by_block(void **state) {
    (void)state;
    TransfersResult r = hand_over(KV_BY_BLOCK, NULL);
    assert_int_equal(r.end_ps, 64 * (89948160 + path_latency()));
    transfers_result_free(&r);
}

// A prefill of 61 ms finishes a layer each millisecond: every layer but the last moves while the
// next one is computed, and 94.37184 us and a latency are left to wait for.
static void test_transfers_kv_behind_a_prefill(void **state) {
    (void)state;
    Time ready[LAYERS];
    for (uint32_t i = 0; i < LAYERS; i++) ready[i] = (i + 1) * (PS_PER_SECOND / 1000);
    TransfersResult r = hand_over(KV_BY_LAYER, ready);
    assert_int_equal(r.end_ps, ready[LAYERS - 1] + 94371840 + path_latency());
    assert_int_equal(r.bound_ps, r.end_ps);
    transfers_result_free(&r);
}

// 8 KV heads from TP4 to TP8 on the other node: each of 8 receivers gets one head, 16,384 tokens of
// 512 B, 8,388,608 B; but a sender has two of them behind its one NIC: 16,777,216 B at 50 GB/s are
// 335.54432 us.
static void test_transfers_kv_between_unequal_tp(void **state) {
    (void)state;
    static const VertexId from[] = {0, 1, 2, 3}, to[] = {8, 9, 10, 11, 12, 13, 14, 15};
    KvLayer layer = {.heads = 8, .head_B = 512};
    KvMove move = {.layers = &layer,
                   .layer_count = 1,
                   .from = {4, 1, 16, 0},
                   .to = {8, 1, 16, 0},
                   .tokens = 16384};
    TransfersKv ranks = {.from = from, .to = to, .from_ranks = 4, .to_ranks = 8};
    NetMachine machine;
    net_machine_open(&machine, "hgx-h100:2");
    TransfersResult r = run(&machine, &move, &ranks);
    assert_int_equal(r.links[LINK_IB].busiest_B, 16777216);
    assert_int_equal(r.end_ps, 335544320 + path_latency());
    transfers_result_free(&r);
    net_machine_close(&machine);
}

// To host memory and back: two GPUs of one Grace, 5.12 GB of heads each, into its DRAM of 512 GB/s:
// 20 ms and the 300 ns of C2C and memory.
static void test_transfers_kv_to_host_memory(void **state) {
    (void)state;
    KvLayer layer = {.heads = 2, .head_B = 5120};
    KvSide gpus = {2, 1, 16, 0}, host = {1, 1, 16, 0};
    KvMove out = {.layers = &layer, .layer_count = 1, .from = gpus, .to = host, .tokens = 1000000};
    KvMove back = {.layers = &layer, .layer_count = 1, .from = host, .to = gpus, .tokens = 1000000};
    NetMachine machine;
    net_machine_open(&machine, "nvl72.json");
    const VertexId pair[] = {0, 1};
    VertexId dram[] = {FABRIC_NONE};
    for (uint32_t i = machine.fabric.class_count; i-- > 0;)
        if (machine.fabric.classes[i].kind == PART_MEMORY)
            dram[0] = machine.fabric.classes[i].first;
    TransfersKv away = {.from = pair, .to = dram, .from_ranks = 2, .to_ranks = 1};
    TransfersKv home = {.from = dram, .to = pair, .from_ranks = 1, .to_ranks = 2};
    TransfersResult there = run(&machine, &out, &away), here = run(&machine, &back, &home);
    assert_int_equal(there.end_ps, INT64_C(20000300) * PS_PER_NS);
    assert_int_equal(here.end_ps, there.end_ps);
    transfers_result_free(&there);
    transfers_result_free(&here);
    net_machine_close(&machine);
}

static void test_transfers_kv_refuses(void **state) {
    (void)state;
    NetMachine machine;
    Err err = {0};
    TransfersResult result = {0};
    KvPiece piece = {.from = 0, .to = 1, .bytes = 1};
    KvList list = {.pieces = &piece, .count = 1};
    const VertexId gpus[] = {0, 1};
    TransfersKv move = {.pieces = &list, .from = gpus, .to = gpus, .from_ranks = 2, .to_ranks = 1};
    net_machine_open(&machine, "switch:2,1GB/s");
    check_fails(transfers_kv_run(&machine.fabric, &move, &nominal, &result, &err), &err,
                "batch 0: rank 1 of the 1 that receive has no part");
    const VertexId part[] = {0, 2};
    move.to = part;
    move.to_ranks = 2;
    check_fails(transfers_kv_run(&machine.fabric, &move, &nominal, &result, &err), &err,
                "batch 0: transfer 0: switch is a switch, which sends and receives nothing itself: "
                "expected a gpu, cpu, nic, memory or storage");
    piece.to = 0;
    check_ok(transfers_kv_run(&machine.fabric, &move, &nominal, &result, &err), &err);
    assert_int_equal(result.end_ps, 0); // it is there
    transfers_result_free(&result);
    net_machine_close(&machine);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transfers_kv_at_once),
        cmocka_unit_test(test_transfers_kv_by_layer),
        cmocka_unit_test(test_transfers_kv_by_block),
        cmocka_unit_test(test_transfers_kv_behind_a_prefill),
        cmocka_unit_test(test_transfers_kv_between_unequal_tp),
        cmocka_unit_test(test_transfers_kv_to_host_memory),
        cmocka_unit_test(test_transfers_kv_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
