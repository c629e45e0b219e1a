// flow_bench [--eps PPB] WORK: the flow engine alone on all-to-alls whose links and paths are made
// here, as one line of numbers:
//
//   BUILD_S SOLVE_S PEAK_KIB END_US BOUND_US FLOWS SOLVES LEVELS MOVES EARLY_PPB
//
// BUILD_S and SOLVE_S are CPU seconds: of making resources and paths, and of the run from the first
// start to the last end. BOUND_US is what the fullest link needs. PEAK_KIB is of the process.
//
// flow_bench --simgrid PREFIX WORK: writes the same as a SimGrid platform, PREFIX.xml, and its list
// of messages, PREFIX.flows.
//
// WORK is SHAPE[-skew][-folded]. Skewed: sizes of 0.5 to 1.5 times the nominal one, from a fixed
// seed, in the order of the pairs. Folded: pairs that are alike are one flow.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "model/base/mem.h"
#include "model/base/rng.h"
#include "sim/flow.h"

// The two common workloads of published comparisons of simulators: one switch, and nodes with a
// NIC a GPU on a two-level tree. There is a leaf for every 16 NICs; uplinks of a leaf are one link,
// which is ideal spraying. Latency is left to the caller of the engine.
typedef struct Shape {
    const char *name;
    uint32_t endpoints;
    uint32_t node;     // endpoints of a node
    uint32_t leaf;     // endpoints of a leaf; 0: one switch, no NICs
    uint64_t port_Bps; // of an endpoint inside its node, in and out
    uint64_t nic_Bps, uplink_Bps;
    uint64_t pair_B;
} Shape;

#define GBPS UINT64_C(1000000000) // B/s
#define KIB  UINT64_C(1024)

static const Shape shapes[] = {
    {"switch72", 72, 72, 0, 450 * GBPS, 0, 0, 1024 * KIB},
    {"switch65536", 65536, 65536, 0, 450 * GBPS, 0, 0, 1024 * KIB},
    {"tree256", 256, 8, 16, 450 * GBPS, 50 * GBPS, 800 * GBPS, 256 * KIB},
    {"tree256-2to1", 256, 8, 16, 450 * GBPS, 50 * GBPS, 400 * GBPS, 256 * KIB},
    {"tree1024", 1024, 8, 16, 450 * GBPS, 50 * GBPS, 800 * GBPS, 64 * KIB},
    {"tree1024-2to1", 1024, 8, 16, 450 * GBPS, 50 * GBPS, 400 * GBPS, 64 * KIB},
};

typedef struct Work {
    const Shape *shape;
    bool is_skewed, is_folded;
    uint32_t eps_ppb;
} Work;

// ---- Links and paths. Link kinds follow each other, each with a link of every member.

enum { PATH_MAX_LINKS = 4 };

typedef enum LinkKind {
    PORT_OUT,
    PORT_IN,
    NIC_OUT,
    NIC_IN,
    LEAF_UP,
    LEAF_DOWN,
    LINK_KIND_COUNT
} LinkKind;

static uint32_t kind_count(const Shape *shape, LinkKind kind) {
    if (kind <= PORT_IN) return shape->endpoints;
    if (shape->leaf == 0) return 0;
    return kind <= NIC_IN ? shape->endpoints : shape->endpoints / shape->leaf;
}

static uint64_t kind_Bps(const Shape *shape, LinkKind kind) {
    if (kind <= PORT_IN) return shape->port_Bps;
    return kind <= NIC_IN ? shape->nic_Bps : shape->uplink_Bps;
}

static uint32_t link_of(const Shape *shape, LinkKind kind, uint32_t member) {
    uint32_t first = 0;
    for (LinkKind k = PORT_OUT; k < kind; k++) first += kind_count(shape, k);
    return first + member;
}

static uint32_t link_count(const Shape *shape) {
    return link_of(shape, LINK_KIND_COUNT, 0);
}

// The kinds of link between two endpoints, in order; each pair of kinds is (of `from`, of `to`).
static uint32_t path_kinds(const Shape *shape, uint32_t from, uint32_t to, LinkKind *out) {
    bool is_inside = from / shape->node == to / shape->node;
    if (is_inside) {
        out[0] = PORT_OUT;
        out[1] = PORT_IN;
        return 2;
    }
    bool crosses = from / shape->leaf != to / shape->leaf;
    uint32_t count = 0;
    out[count++] = NIC_OUT;
    if (crosses) out[count++] = LEAF_UP;
    if (crosses) out[count++] = LEAF_DOWN;
    out[count++] = NIC_IN;
    return count;
}

static uint32_t member_of(const Shape *shape, LinkKind kind, uint32_t from, uint32_t to) {
    bool is_sending = kind == PORT_OUT || kind == NIC_OUT || kind == LEAF_UP;
    uint32_t endpoint = is_sending ? from : to;
    return kind >= LEAF_UP ? endpoint / shape->leaf : endpoint;
}

static uint32_t path_links(const Shape *shape, uint32_t from, uint32_t to, uint32_t *out) {
    LinkKind kinds[PATH_MAX_LINKS];
    uint32_t count = path_kinds(shape, from, to, kinds);
    for (uint32_t i = 0; i < count; i++)
        out[i] = link_of(shape, kinds[i], member_of(shape, kinds[i], from, to));
    return count;
}

static uint64_t draw_bytes(const Work *work, Rng *rng) {
    uint64_t pair_B = work->shape->pair_B;
    return work->is_skewed ? pair_B / 2 + rng_below(rng, pair_B + 1) : pair_B;
}

// ---- Building the net. Paths are numbered in the order of the flows.

static void build_expanded(const Work *work, FlowNet *net) {
    const Shape *shape = work->shape;
    uint32_t pairs = shape->endpoints * (shape->endpoints - 1);
    uint64_t edges = 0;
    for (uint32_t from = 0; from < shape->endpoints; from++)
        for (uint32_t to = 0; to < shape->endpoints; to++) {
            uint32_t links[PATH_MAX_LINKS];
            if (from != to) edges += path_links(shape, from, to, links);
        }
    flow_reserve(net, pairs, edges);
    for (LinkKind kind = PORT_OUT; kind < LINK_KIND_COUNT; kind++)
        for (uint32_t i = 0; i < kind_count(shape, kind); i++)
            flow_add_resource(net, kind_Bps(shape, kind));
    for (uint32_t from = 0; from < shape->endpoints; from++)
        for (uint32_t to = 0; to < shape->endpoints; to++) {
            uint32_t links[PATH_MAX_LINKS], count;
            FlowEdge path[PATH_MAX_LINKS];
            PathId id;
            if (from == to) continue;
            count = path_links(shape, from, to, links);
            for (uint32_t i = 0; i < count; i++) path[i] = (FlowEdge){links[i], 1};
            if (!flow_add_path(net, path, count, 1, &id)) abort();
        }
}

// Pairs of one endpoint by how far they go.
typedef struct Peers {
    uint64_t in_node, in_leaf, across;
} Peers;

static Peers peers_of(const Shape *shape) {
    uint32_t leaf = shape->leaf == 0 ? shape->endpoints : shape->leaf;
    return (Peers){shape->node - 1, leaf - shape->node, shape->endpoints - leaf};
}

// One resource a kind of link and one flow a kind of pair. A coefficient counts the pairs that one
// link carries.
static void build_folded(const Work *work, FlowNet *net) {
    const Shape *shape = work->shape;
    Peers peers = peers_of(shape);
    uint64_t leaf = peers.across * shape->leaf;
    FlowEdge in_node[] = {{PORT_OUT, peers.in_node}, {PORT_IN, peers.in_node}};
    FlowEdge in_leaf[] = {{NIC_OUT, peers.in_leaf}, {NIC_IN, peers.in_leaf}};
    FlowEdge across[] = {
        {NIC_OUT, peers.across}, {LEAF_UP, leaf}, {LEAF_DOWN, leaf}, {NIC_IN, peers.across}};
    PathId id;
    for (LinkKind kind = PORT_OUT; kind < LINK_KIND_COUNT && kind_count(shape, kind) > 0; kind++)
        flow_add_resource(net, kind_Bps(shape, kind));
    bool is_added = flow_add_path(net, in_node, 2, 1, &id);
    if (shape->leaf > 0)
        is_added = is_added && flow_add_path(net, in_leaf, 2, 1, &id) &&
                   flow_add_path(net, across, 4, 1, &id);
    if (!is_added) abort();
}

// ---- Running it.

static double cpu_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static long peak_KiB(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss; // Linux counts KiB
}

static Time run_flows(const Work *work, FlowNet *net, uint32_t flows) {
    Rng rng;
    rng_seed(&rng, 1);
    for (uint32_t f = 0; f < flows; f++)
        if (!flow_start(net, f, draw_bytes(work, &rng), f, 0)) abort();
    Time end = 0;
    for (uint32_t left = flows; left > 0;) {
        flow_solve(net, end);
        end = flow_next(net);
        if (end == TIME_MAX) abort();
        for (uint32_t tag; flow_take(net, end, &tag);) left--;
    }
    return end;
}

// Bytes over each link, in the order of links.
static uint64_t *sum_loads(const Work *work) {
    const Shape *shape = work->shape;
    uint64_t *loads = mem_alloc(link_count(shape), sizeof *loads);
    Rng rng;
    rng_seed(&rng, 1);
    for (uint32_t from = 0; from < shape->endpoints; from++)
        for (uint32_t to = 0; to < shape->endpoints; to++) {
            uint32_t links[PATH_MAX_LINKS];
            if (from == to) continue;
            uint64_t bytes = draw_bytes(work, &rng);
            uint32_t count = path_links(shape, from, to, links);
            for (uint32_t i = 0; i < count; i++) loads[links[i]] += bytes;
        }
    return loads;
}

static double skewed_bound_us(const Work *work) {
    uint64_t *loads = sum_loads(work);
    double most = 0;
    for (LinkKind kind = PORT_OUT; kind < LINK_KIND_COUNT; kind++)
        for (uint32_t i = 0; i < kind_count(work->shape, kind); i++) {
            double load = (double)loads[link_of(work->shape, kind, i)];
            double us = load / (double)kind_Bps(work->shape, kind) * 1e6;
            if (us > most) most = us;
        }
    mem_free(loads);
    return most;
}

// What the fullest link needs. Without skew all links of a kind are alike.
static double bound_us(const Work *work) {
    if (work->is_skewed) return skewed_bound_us(work);
    const Shape *shape = work->shape;
    Peers peers = peers_of(shape);
    uint64_t pairs[LINK_KIND_COUNT / 2] = {peers.in_node, peers.in_leaf + peers.across,
                                           peers.across * shape->leaf};
    double most = 0;
    for (LinkKind kind = PORT_OUT; kind < LINK_KIND_COUNT; kind += 2) {
        if (kind_count(shape, kind) == 0) continue;
        double load = (double)(pairs[kind / 2] * shape->pair_B);
        double us = load / (double)kind_Bps(shape, kind) * 1e6;
        if (us > most) most = us;
    }
    return most;
}

static void measure(const Work *work) {
    uint32_t n = work->shape->endpoints;
    uint32_t flows = !work->is_folded ? n * (n - 1) : work->shape->leaf > 0 ? 3 : 1;
    double started_s = cpu_s();
    FlowNet *net = flow_open();
    flow_set_eps(net, work->eps_ppb);
    if (work->is_folded)
        build_folded(work, net);
    else
        build_expanded(work, net);
    double built_s = cpu_s();
    Time end = run_flows(work, net, flows);
    double ended_s = cpu_s();
    long peak = peak_KiB();
    FlowStats stats = flow_stats(net);
    printf("%.6f %.6f %ld %.6f %.6f %lu %llu %llu %llu %llu\n", built_s - started_s,
           ended_s - built_s, peak, (double)end / 1e6, bound_us(work), (unsigned long)flows,
           (unsigned long long)stats.solves, (unsigned long long)stats.levels,
           (unsigned long long)stats.moves, (unsigned long long)stats.late_ppb);
    flow_close(net);
}

// ---- The same for SimGrid. All routes have 1 us of latency, since its sharing weighs flows by it.

static FILE *open_output(const char *prefix, const char *suffix) {
    char path[4096];
    int length = snprintf(path, sizeof path, "%s%s", prefix, suffix);
    FILE *file = length < (int)sizeof path ? fopen(path, "w") : NULL;
    if (file == NULL) {
        fprintf(stderr, "flow_bench: cannot write %s%s\n", prefix, suffix);
        exit(2);
    }
    return file;
}

static void write_links(const Shape *shape, FILE *xml) {
    for (LinkKind kind = PORT_OUT; kind < LINK_KIND_COUNT; kind++)
        for (uint32_t i = 0; i < kind_count(shape, kind); i++)
            fprintf(xml, "<link id=\"l%lu\" bandwidth=\"%lluBps\" latency=\"%s\"/>\n",
                    (unsigned long)link_of(shape, kind, i),
                    (unsigned long long)kind_Bps(shape, kind), kind < LEAF_UP ? "500ns" : "0s");
}

static void write_route(const Shape *shape, uint32_t from, uint32_t to, FILE *xml) {
    uint32_t links[PATH_MAX_LINKS], count = path_links(shape, from, to, links);
    fprintf(xml, "<route src=\"h%lu\" dst=\"h%lu\" symmetrical=\"NO\">", (unsigned long)from,
            (unsigned long)to);
    for (uint32_t i = 0; i < count; i++)
        fprintf(xml, "<link_ctn id=\"l%lu\"/>", (unsigned long)links[i]);
    fprintf(xml, "</route>\n");
}

static void write_simgrid(const Work *work, const char *prefix) {
    const Shape *shape = work->shape;
    FILE *xml = open_output(prefix, ".xml"), *flows = open_output(prefix, ".flows");
    Rng rng;
    rng_seed(&rng, 1);
    fprintf(xml, "<?xml version='1.0'?>\n"
                 "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                 "<platform version=\"4.1\">\n<zone id=\"z\" routing=\"Full\">\n");
    for (uint32_t i = 0; i < shape->endpoints; i++)
        fprintf(xml, "<host id=\"h%lu\" speed=\"1Gf\"/>\n", (unsigned long)i);
    write_links(shape, xml);
    for (uint32_t from = 0; from < shape->endpoints; from++)
        for (uint32_t to = 0; to < shape->endpoints; to++) {
            if (from == to) continue;
            write_route(shape, from, to, xml);
            fprintf(flows, "h%lu h%lu %llu\n", (unsigned long)from, (unsigned long)to,
                    (unsigned long long)draw_bytes(work, &rng));
        }
    fprintf(xml, "</zone>\n</platform>\n");
    bool is_written = !ferror(xml) && !ferror(flows);
    if (fclose(xml) != 0 || fclose(flows) != 0 || !is_written) {
        fprintf(stderr, "flow_bench: cannot write %s.xml and .flows\n", prefix);
        exit(2);
    }
}

// ---- Command line.

// Takes a suffix from the end of the name, if it is there.
static bool cut_suffix(char *name, const char *suffix) {
    size_t length = strlen(name), cut = strlen(suffix);
    if (length < cut || strcmp(name + length - cut, suffix) != 0) return false;
    name[length - cut] = '\0';
    return true;
}

static bool parse_work(char *name, Work *out) {
    out->is_folded = cut_suffix(name, "-folded");
    out->is_skewed = cut_suffix(name, "-skew");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (strcmp(name, shapes[i].name) == 0) out->shape = &shapes[i];
    // pairs of unlike sizes do not fold, and 65,536 endpoints do not expand
    bool can_expand = out->shape != NULL && out->shape->endpoints <= 4096;
    return out->shape != NULL && (out->is_folded ? !out->is_skewed : can_expand);
}

int main(int argc, char **argv) {
    Work work = {0};
    const char *prefix = NULL;
    if (argc == 4 && strcmp(argv[1], "--eps") == 0)
        work.eps_ppb = (uint32_t)strtoul(argv[2], NULL, 10);
    else if (argc == 4 && strcmp(argv[1], "--simgrid") == 0)
        prefix = argv[2];
    else if (argc != 2)
        argc = 0;
    if (argc == 0 || !parse_work(argv[argc - 1], &work)) {
        fprintf(stderr, "usage: flow_bench [--eps PPB | --simgrid PREFIX] WORK\n");
        return 2;
    }
    if (prefix != NULL)
        write_simgrid(&work, prefix);
    else
        measure(&work);
    return 0;
}
