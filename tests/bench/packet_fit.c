// packet_fit: fits the constants of sim/tier.h to the packet model on two-level fat trees, and
// prints the error on shapes and sizes that were not fitted. Takes a few minutes.
//
// All pairs of different nodes, sprayed, the mean of three seeds (long ones: one seed). Least
// squares of the relative error of the whole time, by coordinate descent with halved steps: three
// constants, one minimum in the range of interest.
#include <math.h>
#include <stdio.h>

#include "sim/packet.h"
#include "sim/tier.h"
#include "sim/transfers.h"
#include "tests/sim/net_machine.h"

#define SEEDS      3
#define LONG_KIB   16384   // nodes^2 x size from which one seed has to do
#define MOST_KIB   65536   // and to which it is measured
#define LATENCY_PS 2000000 // of a path over a spine (tests/sim/net_machine.h)
#define PORTS      16      // of a leaf, downwards
#define GPUS       8       // of a node

typedef struct Point {
    uint32_t nodes, spines;
    uint64_t bytes;
    uint32_t degree; // transfers of a GPU; 0: to all of other nodes
    int is_fitted;
    TierTraffic traffic;
    double flow_ps, packet_ps;
} Point;

typedef struct Shape {
    uint32_t nodes, spines;
    int is_fitted;
} Shape;

static const Shape shapes[] = {{8, 16, 1}, {16, 16, 1}, {32, 16, 1}, {8, 8, 1},  {16, 8, 1},
                               {32, 8, 1}, {12, 16, 0}, {24, 16, 0}, {12, 8, 0}, {24, 8, 0},
                               {16, 4, 1}, {24, 4, 0},  {32, 12, 0}, {16, 12, 1}};

static const struct {
    uint32_t kib;
    int is_fitted;
} sizes[] = {{1, 1}, {4, 1}, {7, 0}, {16, 1}, {24, 0}, {48, 0}, {64, 1}, {128, 0}, {256, 1}};

static Point points[256];
static uint32_t point_count;

static void set_traffic(Point *point, uint32_t mtu_B) {
    uint64_t packets = (point->bytes + mtu_B - 1) / mtu_B, gpus = point->nodes * GPUS;
    uint64_t outside = point->degree > 0 ? point->degree : gpus - GPUS;
    uint64_t beyond = point->degree > 0 ? point->degree : gpus - PORTS;
    point->traffic = (TierTraffic){.transfers = PORTS * beyond,
                                   .packets = packets,
                                   .paths = point->spines,
                                   .links = (uint64_t)point->nodes / 2 * point->spines * 2,
                                   .port_packets = outside * packets,
                                   .port_transfers = outside};
}

// To all GPUs of other nodes, or to `degree` of other leaves, evenly apart.
static uint32_t list_transfers(const Point *point, uint32_t gpus, NetTransfer *list) {
    uint32_t count = 0, degree = point->degree;
    for (uint32_t from = 0; from < gpus; from++) {
        for (uint32_t to = 0; to < gpus && degree == 0; to++)
            if (from / GPUS != to / GPUS) list[count++] = (NetTransfer){from, to, point->bytes, 0};
        for (uint32_t i = 0; i < degree; i++) {
            uint32_t to = (from + PORTS + i * ((gpus - 2 * PORTS) / degree)) % gpus;
            list[count++] = (NetTransfer){from, to, point->bytes, 0};
        }
    }
    return count;
}

static void measure(Point *point) {
    Arena arena = {0};
    Err err = {0};
    NetMachine machine;
    PacketOptions options = packet_defaults();
    TransfersOptions counted = {.mtu_B = options.mtu_B, .header_B = options.header_B};
    net_machine_open(&machine, net_machine_fat_tree(&arena, point->nodes, point->spines));
    uint32_t gpus = machine.fabric.gpu_count, count;
    NetTransfer *list = arena_alloc(&arena, (size_t)gpus * gpus, sizeof *list);
    count = list_transfers(point, gpus, list);
    TransfersResult flow = {0};
    if (!transfers_run(&machine.fabric, list, count, &counted, &flow, &err)) puts(err.text);
    point->flow_ps = (double)flow.end_ps;
    uint64_t seeds = point->nodes * point->nodes * point->bytes / 1024 > LONG_KIB ? 1 : SEEDS;
    for (options.seed = 1; options.seed <= seeds; options.seed++) {
        TransfersResult packet = {0};
        if (!packet_run(&machine.fabric, list, count, &options, &packet, NULL, &err))
            puts(err.text);
        point->packet_ps += (double)packet.end_ps / (double)seeds;
        transfers_result_free(&packet);
    }
    set_traffic(point, options.mtu_B);
    transfers_result_free(&flow);
    net_machine_close(&machine);
    arena_free(&arena);
}

static double error_of(const Point *point, const TierConstants *constants) {
    double excess = tier_excess(&point->traffic, constants);
    return (LATENCY_PS + (point->flow_ps - LATENCY_PS) * (1 + excess)) / point->packet_ps - 1;
}

// By Point.is_fitted; shifts are what the bound of little traffic was read off.
static const char *const names[] = {"held out", "fitted", "shifts"};

// Root mean square over points of one of these; their number and the worst of them.
static double spread(const TierConstants *constants, int is_fitted, uint32_t *count,
                     double *worst) {
    double sum = 0;
    *count = 0;
    *worst = 0;
    for (uint32_t i = 0; i < point_count; i++) {
        if (points[i].is_fitted != is_fitted) continue;
        double error = error_of(&points[i], constants);
        sum += error * error;
        (*count)++;
        if (fabs(error) > *worst) *worst = fabs(error);
    }
    return sqrt(sum / *count);
}

static TierConstants fit(void) {
    TierConstants best = {0.9, 0.1, 10};
    double steps[] = {0.2, 0.05, 5}, worst, least;
    uint32_t count;
    least = spread(&best, 1, &count, &worst);
    for (int round = 0; round < 400; round++) {
        int is_better = 0;
        for (int i = 0; i < 6; i++) {
            TierConstants next = best;
            double *value = i / 2 == 0   ? &next.collisions
                            : i / 2 == 1 ? &next.buffers
                                         : &next.packets;
            *value += i % 2 == 0 ? steps[i / 2] : -steps[i / 2];
            double now = spread(&next, 1, &count, &worst);
            if (*value < 0 || now >= least) continue;
            best = next;
            least = now;
            is_better = 1;
        }
        for (int i = 0; i < 3 && !is_better; i++) steps[i] /= 2;
    }
    return best;
}

static void show(const TierConstants *constants) {
    double worst;
    uint32_t count;
    puts("| nodes | spines | degree | KiB | flow us | packet us | lost | formula | error | |");
    puts("|---|---|---|---|---|---|---|---|---|---|");
    for (uint32_t i = 0; i < point_count; i++) {
        const Point *p = &points[i];
        printf("| %u | %u | %u | %.0f | %.2f | %.2f | %.3f | %.3f | %+.1f %% | %s |\n", p->nodes,
               p->spines, p->degree, (double)p->bytes / 1024, p->flow_ps / 1e6, p->packet_ps / 1e6,
               (p->packet_ps - LATENCY_PS) / (p->flow_ps - LATENCY_PS) - 1,
               tier_excess(&p->traffic, constants), 100 * error_of(p, constants),
               names[p->is_fitted]);
    }
    for (int is_fitted = 2; is_fitted >= 0; is_fitted--) {
        double rms = spread(constants, is_fitted, &count, &worst);
        printf("%s: %u points, error %.1f %% (root mean square), at most %.1f %%\n",
               names[is_fitted], count, 100 * rms, 100 * worst);
    }
}

static void measure_shifts(void) {
    static const Shape trees[] = {{16, 16, 2}, {16, 8, 2}, {12, 4, 2}};
    static const uint32_t degrees[] = {1, 4, 15, 60}, kib[] = {1, 8, 64, 512};
    for (size_t s = 0; s < sizeof trees / sizeof *trees; s++)
        for (size_t d = 0; d < sizeof degrees / sizeof *degrees; d++)
            for (size_t k = 0; k < sizeof kib / sizeof *kib; k++) {
                if (trees[s].nodes * trees[s].nodes * degrees[d] * kib[k] > MOST_KIB * 16) continue;
                Point *point = &points[point_count++];
                *point = (Point){.nodes = trees[s].nodes,
                                 .spines = trees[s].spines,
                                 .bytes = (uint64_t)kib[k] * 1024,
                                 .degree = degrees[d],
                                 .is_fitted = trees[s].is_fitted};
                measure(point);
                fprintf(stderr, "\r%u points", point_count);
            }
}

int main(void) {
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            if (shapes[s].nodes * shapes[s].nodes * sizes[k].kib > MOST_KIB) continue;
            Point *point = &points[point_count++];
            *point = (Point){.nodes = shapes[s].nodes,
                             .spines = shapes[s].spines,
                             .bytes = (uint64_t)sizes[k].kib * 1024,
                             .is_fitted = shapes[s].is_fitted && sizes[k].is_fitted};
            measure(point);
            fprintf(stderr, "\r%u points", point_count);
        }
    }
    measure_shifts();
    fputs("\n", stderr);
    TierConstants constants = fit(), kept = net_machine_tier();
    show(&constants);
    printf("collisions %.3f, buffers %.4f, packets %.2f\n", constants.collisions, constants.buffers,
           constants.packets);
    printf("kept in topologies/calibrations: %.3f, %.4f, %.2f\n", kept.collisions, kept.buffers,
           kept.packets);
    return 0;
}
