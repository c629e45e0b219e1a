// Test machines from one line, and shipped clusters cut to a size.
//
// The three graphs ring, switch and mesh have no figures of their own but a default latency; the
// others are data files whose counts are changed. After the idea of hwloc's synthetic topologies.
#include "model/machine/topology.h"

#include <string.h>
#include <unistd.h>

#include "model/base/file.h"

#define LATENCY_PS                                                                                 \
    INT64_C(500000) // of a link when none is given; an NVLink path through its switch takes about
                    // this (hardware budget, C)
#define DEVICE         "H100 SXM"
#define SPEC_MAX       256
#define GRAPH_GPUS_MAX 65536 // so that a ring stays below TOPOLOGY_COMBINATIONS_MAX

// A shipped cluster: N copies become outer x inner, where inner is the largest divisor of N that is
// at most `inner_most`.
typedef struct Cluster {
    const char *name, *lone_file, *file;
    const char *outer, *inner; // parts whose counts change; inner NULL for none
    uint32_t outer_most, inner_most;
} Cluster;

// The limits are those of the switch ports in the files.
static const Cluster clusters[] = {
    {"nvl72", "topologies/nvl72.json", "topologies/nvl72-cluster.json", "rack", NULL, 8, 1},
    {"hgx-h100", "topologies/hgx-h100.json", "topologies/hgx-h100-cluster.json", "unit", "node", 4,
     32},
};
#define CLUSTER_COUNT (sizeof clusters / sizeof clusters[0])

static const char *const graphs[] = {"ring", "switch", "mesh"};
typedef enum Graph { GRAPH_RING, GRAPH_SWITCH, GRAPH_MESH, GRAPH_COUNT } Graph;

// The parsed string.
typedef struct Spec {
    const char *text;
    char name[SPEC_MAX];
    uint64_t count; // 0 when not given
    uint32_t count_column;
    uint64_t rate_Bps; // 0 when not given
    Time latency_ps;   // -1 when not given
    char device[SPEC_MAX];
} Spec;

static bool fail(const Spec *spec, uint32_t column, Err *err, const char *what) {
    return err_set(err, "\"%s\", column %u: %s", spec->text, column, what);
}

static bool starts_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool read_count(Spec *spec, const char *text, uint32_t column, Err *err) {
    if (!text_parse_u64(text, &spec->count) || spec->count == 0 ||
        spec->count > TOPOLOGY_PARTS_MAX) {
        return fail(spec, column, err, "expected a count of 1 to 1000000");
    }
    spec->count_column = column;
    return true;
}

static bool read_latency(Spec *spec, const char *text, Err *what) {
    if (spec->latency_ps >= 0) return err_set(what, "latency is given twice");
    if (!units_parse_time(text, &spec->latency_ps, what)) return false;
    return spec->latency_ps <= TOPOLOGY_LATENCY_MAX_PS || err_set(what, "expected at most 1 s");
}

static bool read_device(Spec *spec, const char *text, Err *what) {
    if (spec->device[0] != '\0') return err_set(what, "device is given twice");
    memcpy(spec->device, text, strlen(text) + 1);
    return text[0] != '\0' || err_set(what, "expected the name of a device");
}

static bool read_rate(Spec *spec, const char *text, Err *what) {
    uint64_t rate_Bps;
    if (!units_parse_rate(text, &rate_Bps, what))
        return err_set(
            what, "expected a rate such as \"450 GB/s\", latency=TIME or device=NAME, found \"%s\"",
            text);
    if (rate_Bps == 0 || rate_Bps > TOPOLOGY_RATE_MAX_BPS)
        return err_set(what, "expected a rate above 0 and at most 100 TB/s");
    if (spec->rate_Bps != 0) return err_set(what, "a rate is given twice");
    spec->rate_Bps = rate_Bps;
    return true;
}

// One field behind a comma: a rate or an option.
static bool read_field(Spec *spec, const char *text, uint32_t column, Err *err) {
    Err what = {0};
    bool done;
    if (starts_with(text, "latency="))
        done = read_latency(spec, text + strlen("latency="), &what);
    else if (starts_with(text, "device="))
        done = read_device(spec, text + strlen("device="), &what);
    else
        done = read_rate(spec, text, &what);
    return done || fail(spec, column, err, what.text);
}

static bool parse(const char *text, Spec *spec, Err *err) {
    char copy[SPEC_MAX];
    size_t length = strlen(text);
    *spec = (Spec){.text = text, .latency_ps = -1};
    if (length >= SPEC_MAX)
        return err_set(err, "a description of more than %d characters", SPEC_MAX - 1);
    memcpy(copy, text, length + 1);
    uint32_t start = 0;
    for (uint32_t i = 0, field = 0; i <= length; i++) {
        char end = copy[i];
        if (end != '\0' && end != ',' && (end != ':' || field > 0)) continue;
        copy[i] = '\0';
        bool done = true;
        if (field == 0) memcpy(spec->name, copy, i + 1);
        if (field == 1) done = read_count(spec, copy + start, start + 1, err);
        if (field > 1) done = read_field(spec, copy + start, start + 1, err);
        if (!done) return false;
        if (end == ',' && field == 0) field++; // no count
        field++;
        start = i + 1;
    }
    return true;
}

static void add_part(Topology *topology, Part part) {
    Template *in = &topology->templates[0];
    in->parts[in->part_count++] = part;
}

static void add_link(Topology *topology, const Spec *spec, const char *from, const char *to) {
    Template *in = &topology->templates[0];
    in->links[in->link_count++] =
        (LinkRule){.from = from,
                   .to = to,
                   .link_class = LINK_NVLINK,
                   .cables = 1,
                   .bandwidth_Bps = spec->rate_Bps,
                   .latency_ps = spec->latency_ps < 0 ? LATENCY_PS : spec->latency_ps,
                   .source = "",
                   .confidence = 'M'};
}

static void add_graph(Topology *topology, const Spec *spec, Graph graph) {
    Arena *arena = &topology->arena;
    uint32_t count = (uint32_t)spec->count;
    const char *device = spec->device[0] == '\0' ? DEVICE : spec->device;
    add_part(topology,
             (Part){"gpu", PART_GPU, UINT32_MAX, count, arena_string(arena, device), "", 0});
    switch (graph) {
    case GRAPH_RING:
        if (count == 2) {
            add_link(topology, spec, "gpu[0]", "gpu[1]");
        } else {
            add_link(topology, spec, "gpu[i]", arena_printf(arena, "gpu[(i+1)%%%u]", count));
        }
        break;
    case GRAPH_SWITCH:
        add_part(topology, (Part){"switch", PART_SWITCH, UINT32_MAX, 1, "", "", 0});
        add_link(topology, spec, count == 1 ? "gpu" : "gpu[*]", "switch");
        break;
    case GRAPH_MESH: add_link(topology, spec, "gpu[*]", "gpu[*]"); break;
    case GRAPH_COUNT: break;
    }
}

static bool make_graph(const Spec *spec, Graph graph, Topology *out, Err *err) {
    uint32_t least = graph == GRAPH_SWITCH ? 1 : 2;
    if (spec->count < least || spec->count > GRAPH_GPUS_MAX) {
        const char *range = least == 1 ? "expected 1 to 65536 GPUs" : "expected 2 to 65536 GPUs";
        return fail(spec, spec->count == 0 ? (uint32_t)strlen(spec->name) + 1 : spec->count_column,
                    err, range);
    }
    if (spec->rate_Bps == 0) {
        return fail(spec, (uint32_t)strlen(spec->text) + 1, err,
                    "expected a rate, such as \",450GB/s\"");
    }
    Topology topology = {.template_count = 1, .default_device = spec->device[0] == '\0'};
    Arena *arena = &topology.arena;
    topology.name = topology.origin = arena_string(arena, spec->text);
    topology.source = topology.note = "";
    topology.templates = arena_alloc(arena, 1, sizeof *topology.templates);
    topology.templates[0] = (Template){.name = "machine"};
    topology.templates[0].parts = arena_alloc(arena, 2, sizeof(Part));
    topology.templates[0].links = arena_alloc(arena, 1, sizeof(LinkRule));
    add_graph(&topology, spec, graph);
    if (!topology_finish(&topology, err)) {
        topology_free(&topology);
        return false;
    }
    *out = topology;
    return true;
}

static void set_counts(Topology *topology, const char *part, uint32_t count) {
    for (uint32_t i = 0; i < topology->template_count; i++) {
        uint32_t found = topology_find_part(&topology->templates[i], part);
        if (found != UINT32_MAX) topology->templates[i].parts[found].count = count;
    }
}

static void set_device(Topology *topology, const char *device) {
    for (uint32_t i = 0; i < topology->template_count; i++) {
        for (uint32_t k = 0; k < topology->templates[i].part_count; k++) {
            Part *part = &topology->templates[i].parts[k];
            if (part->kind != PART_GPU) continue;
            part->device = arena_string(&topology->arena, device);
            part->place = "";
        }
    }
}

static bool change(Topology *topology, const Spec *spec, const Cluster *cluster, Err *err) {
    if (spec->count > 1) {
        uint32_t count = (uint32_t)spec->count, inner = cluster->inner_most;
        while (count % inner != 0) inner--;
        if (count / inner > cluster->outer_most) {
            return err_set(err,
                           "\"%s\", column %u: expected at most %u copies in equal groups of at "
                           "most %u, found %u",
                           spec->text, spec->count_column,
                           cluster->outer_most * cluster->inner_most, cluster->inner_most, count);
        }
        set_counts(topology, cluster->outer, count / inner);
        if (cluster->inner != NULL) set_counts(topology, cluster->inner, inner);
    }
    if (spec->device[0] != '\0') set_device(topology, spec->device);
    topology->name = topology->origin = arena_string(&topology->arena, spec->text);
    return topology_finish(topology, err);
}

static bool make_cluster(const Spec *spec, const Cluster *cluster, Topology *out, Err *err) {
    Arena arena = {0};
    const char *path;
    Topology topology = {0};
    if (spec->rate_Bps != 0 || spec->latency_ps >= 0) {
        return fail(spec, 1, err,
                    "a rate or a latency can be given for ring, switch and mesh only");
    }
    bool done =
        file_data(spec->count > 1 ? cluster->file : cluster->lone_file, &arena, &path, err) &&
        topology_read(path, &topology, err);
    arena_free(&arena);
    if (!done) return false;
    if (!change(&topology, spec, cluster, err)) {
        topology_free(&topology);
        return false;
    }
    *out = topology;
    return true;
}

bool topology_synthetic(const char *spec_text, Topology *out, Err *err) {
    Spec spec;
    if (!parse(spec_text, &spec, err)) return false;
    for (uint32_t i = 0; i < GRAPH_COUNT; i++) {
        if (strcmp(spec.name, graphs[i]) == 0) return make_graph(&spec, (Graph)i, out, err);
    }
    for (uint32_t i = 0; i < CLUSTER_COUNT; i++) {
        if (strcmp(spec.name, clusters[i].name) == 0)
            return make_cluster(&spec, &clusters[i], out, err);
    }
    return fail(&spec, 1, err, "expected ring, switch, mesh, nvl72 or hgx-h100");
}

static bool is_synthetic(const char *name) {
    const char *colon = strchr(name, ':');
    if (colon == NULL) return false;
    size_t length = (size_t)(colon - name);
    for (uint32_t i = 0; i < GRAPH_COUNT; i++) {
        if (strlen(graphs[i]) == length && strncmp(name, graphs[i], length) == 0) return true;
    }
    for (uint32_t i = 0; i < CLUSTER_COUNT; i++) {
        if (strlen(clusters[i].name) == length && strncmp(name, clusters[i].name, length) == 0)
            return true;
    }
    return false;
}

// True for what is meant as a string and begins with no generator: a word, a colon, a digit. A rate
// has a '/', which would make it a path.
static bool is_unknown(const char *name) {
    size_t word = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");
    return word > 0 && name[word] == ':' && name[word + 1] >= '0' && name[word + 1] <= '9' &&
           access(name, F_OK) != 0;
}

bool topology_load(const char *name, Topology *out, Err *err) {
    Arena arena = {0};
    const char *path;
    if (is_synthetic(name)) return topology_synthetic(name, out, err);
    if (is_unknown(name))
        return err_set(err,
                       "%s: no such file here or in the shipped data, and no machine: expected "
                       "ring:N,RATE, switch:N,RATE, mesh:N,RATE, nvl72:N or hgx-h100:N",
                       name);
    bool done = file_find(name, &arena, &path, err) && topology_read(path, out, err);
    arena_free(&arena);
    return done;
}
