// packet_table [all]: the flow model beside the packet model, and beside another packet simulator,
// on all-to-alls; `all` adds the rows that take minutes.
//
// The times of the other one are quoted: uet-htsim (UEC with NSCC congestion control, sprayed, MTU
// 4096), its last acknowledgement at the sender less the latency of the way back. It differs by
// more than 15 % on the 1:1 tree at 16 and 64 KiB a pair alone. We read that as its congestion
// control: its senders have windows, which NSCC cuts when queues grow, and a 1:1 tree under all
// pairs is as full as it can be everywhere, so queues grow with no link overfull; with 2:1 the
// uplinks alone are full, and 256 KiB are long enough to settle. Here nothing is cut or sent again:
// what is lost is the time that outputs idle while packets for them stand behind full buffers: at
// 64 KiB a pair on the 1:1 tree 9 % with the default buffers and 2 % with twice as much.
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "model/base/rng.h"
#include "sim/packet.h"
#include "sim/transfers.h"
#include "tests/sim/net_machine.h"

#define KIB UINT64_C(1024)

typedef struct Case {
    const char *name;
    uint32_t nodes, spines; // 0: one switch of 72
    uint64_t bytes;
    uint32_t skew_percent;
    double theirs_us; // 0: none
    int is_long;
} Case;

static const Case cases[] = {
    {"72, one switch", 0, 0, 1 * KIB, 0, 0.657, 0},
    {"72, one switch", 0, 0, 7 * KIB, 0, 1.553, 0},
    {"72, one switch", 0, 0, 16 * KIB, 0, 2.89, 0},
    {"72, one switch", 0, 0, 64 * KIB, 0, 10.01, 0},
    {"72, one switch", 0, 0, 256 * KIB, 0, 38.5, 0},
    {"72, one switch", 0, 0, 1024 * KIB, 0, 0, 1},
    {"72, skew 50 %", 0, 0, 1 * KIB, 50, 0, 0},
    {"72, skew 50 %", 0, 0, 16 * KIB, 50, 0, 0},
    {"72, skew 50 %", 0, 0, 64 * KIB, 50, 0, 0},
    {"72, skew 50 %", 0, 0, 256 * KIB, 50, 0, 0},
    {"72, skew 50 %", 0, 0, 1024 * KIB, 50, 0, 1},
    {"72, skew 90 %", 0, 0, 1 * KIB, 90, 0, 0},
    {"72, skew 90 %", 0, 0, 16 * KIB, 90, 0, 0},
    {"72, skew 90 %", 0, 0, 64 * KIB, 90, 0, 0},
    {"72, skew 90 %", 0, 0, 256 * KIB, 90, 0, 0},
    {"72, skew 90 %", 0, 0, 1024 * KIB, 90, 0, 1},
    {"256, tree 1:1", 32, 16, 1 * KIB, 0, 8.78, 0},
    {"256, tree 1:1", 32, 16, 7 * KIB, 0, 42.9, 0},
    {"256, tree 1:1", 32, 16, 16 * KIB, 0, 129.3, 0},
    {"256, tree 1:1", 32, 16, 64 * KIB, 0, 441, 1},
    {"256, tree 1:1", 32, 16, 256 * KIB, 0, 1543, 1},
    {"256, tree 2:1", 32, 8, 1 * KIB, 0, 14.7, 0},
    {"256, tree 2:1", 32, 8, 7 * KIB, 0, 83.2, 0},
    {"256, tree 2:1", 32, 8, 16 * KIB, 0, 182.6, 0},
    {"256, tree 2:1", 32, 8, 64 * KIB, 0, 689, 1},
    {"256, tree 2:1", 32, 8, 256 * KIB, 0, 2720, 1},
};

// All pairs that are not of one node, sizes uniform around the mean.
static NetTransfer *all_to_all(const Case *test, uint32_t gpus, uint32_t node, uint32_t *count) {
    NetTransfer *list = mem_alloc((size_t)gpus * gpus, sizeof *list);
    Rng rng;
    rng_seed(&rng, 1);
    *count = 0;
    for (uint32_t from = 0; from < gpus; from++) {
        for (uint32_t to = 0; to < gpus; to++) {
            if (from / node == to / node) continue;
            double factor = 1 + test->skew_percent / 100.0 * (2 * rng_unit(&rng) - 1);
            uint64_t bytes = (uint64_t)((double)test->bytes * factor);
            list[(*count)++] = (NetTransfer){from, to, bytes, 0};
        }
    }
    return list;
}

static double us(Time ps) {
    return (double)ps / 1e6;
}

static double cpu_s(clock_t since) {
    return (double)(clock() - since) / CLOCKS_PER_SEC;
}

// As the simulator prices it: links carry what full packets leave of them, and the fitted
// efficiency of the tier has the rest (sim/tier.h).
static int run_tier(const Fabric *fabric, const NetTransfer *list, uint32_t count,
                    const PacketOptions *options, TransfersResult *out) {
    Calib calib = {0};
    Err err = {0};
    double part = (double)options->mtu_B / (options->mtu_B + options->header_B);
    for (uint32_t i = 0; i < CALIB_COUNT; i++)
        if (calib_kind((CalibParam)i) == CALIB_IS_EFFICIENCY) calib.values[i].value = part;
    TransfersOptions fitted = {.calib = &calib, .tier = net_machine_tier()};
    if (transfers_run(fabric, list, count, &fitted, out, &err)) return 1;
    puts(err.text);
    return 0;
}

static void show(const Case *test, const PacketOptions *options) {
    Arena arena = {0};
    Err err = {0};
    NetMachine tree;
    net_machine_open(&tree, test->nodes > 0
                                ? net_machine_fat_tree(&arena, test->nodes, test->spines)
                                : "switch:72,500GB/s,latency=250ns");
    uint32_t count;
    NetTransfer *list = all_to_all(test, tree.fabric.gpu_count, test->nodes > 0 ? 8 : 1, &count);
    TransfersResult flow = {0}, tier = {0}, packet = {0};
    TransfersOptions counted = {.mtu_B = options->mtu_B, .header_B = options->header_B};
    clock_t start = clock();
    if (!transfers_run(&tree.fabric, list, count, &counted, &flow, &err)) puts(err.text);
    double flow_s = cpu_s(start);
    if (!run_tier(&tree.fabric, list, count, options, &tier)) return;
    start = clock();
    if (!packet_run(&tree.fabric, list, count, options, &packet, NULL, &err)) puts(err.text);
    double packet_s = cpu_s(start);
    printf("| %-14s | %7.0f | %8.3f | %8.3f | %8.3f | %8.3f | %5.3f | %+5.1f %% | %5.3f |",
           test->name, (double)test->bytes / KIB, us(flow.bound_ps), us(flow.end_ps),
           us(tier.end_ps), us(packet.end_ps), us(packet.end_ps) / us(flow.end_ps),
           100 * (us(tier.end_ps) / us(packet.end_ps) - 1), us(packet.end_ps) / us(flow.bound_ps));
    if (test->theirs_us > 0)
        printf(" %8.3f | %+5.1f %% |", test->theirs_us,
               100 * (us(packet.end_ps) / test->theirs_us - 1));
    else
        printf("          |         |");
    printf(" %6.2f | %6.2f |\n", flow_s, packet_s);
    fflush(stdout);
    transfers_result_free(&flow);
    transfers_result_free(&tier);
    transfers_result_free(&packet);
    mem_free(list);
    net_machine_close(&tree);
    arena_free(&arena);
}

int main(int argc, char **argv) {
    PacketOptions options = packet_defaults();
    int all = argc > 1 && strcmp(argv[1], "all") == 0;
    puts("| all-to-all     | KiB     | bound us |  flow us | with tier us | packet us | "
         "packet/flow | tier to packet | packet/bound | "
         "UEC us | ours to UEC | flow CPU s | packet CPU s |");
    puts("|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (all || !cases[i].is_long) show(&cases[i], &options);
    return 0;
}
