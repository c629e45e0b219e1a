// The value: names, places of parts in the whole machine, the check of all invariants, the digest,
// and the file form.
//
// Invariant of a finished Topology: names are names, counts are at least 1, every part is either a
// leaf or stands for a template, templates do not contain each other, every link rule resolves, and
// the machine has a GPU.
#include "model/machine/topology.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "model/base/jsonw.h"
#include "model/machine/pattern.h"
#include "model/machine/topology_link.h"
#include "model/machine/topology_place.h"

const char *const topology_kind_names[PART_KIND_COUNT] = {
#define X(name, text) text,
    TOPOLOGY_KIND_LIST(X)
#undef X
};

const char *const topology_class_names[LINK_CLASS_COUNT] = {
#define X(name, text) text,
    TOPOLOGY_CLASS_LIST(X)
#undef X
};

const char *const topology_policy_names[ROUTE_POLICY_COUNT] = {
#define X(name, text) text,
    TOPOLOGY_POLICY_LIST(X)
#undef X
};

static_assert(TOPOLOGY_DEPTH_MAX == PATTERN_SEGMENTS_MAX, "a pattern names one part per level");

bool topology_class_is_scale_up(LinkClass link_class) {
    switch (link_class) {
    case LINK_NVLINK:
    case LINK_C2C:
    case LINK_XGMI:
    case LINK_UB:
    case LINK_ICI: return true;
    case LINK_PCIE:
    case LINK_IB:
    case LINK_ETH:
    case LINK_MEMORY:
    case LINK_STORAGE:
    case LINK_OTHER:
    case LINK_CLASS_COUNT: return false;
    }
    return false;
}

bool topology_class_is_network(LinkClass link_class) {
    return link_class == LINK_IB || link_class == LINK_ETH;
}

uint32_t topology_find_part(const Template *in, const char *name) {
    for (uint32_t i = 0; i < in->part_count; i++) {
        if (strcmp(in->parts[i].name, name) == 0) return i;
    }
    return UINT32_MAX;
}

static bool check_part(const Topology *topology, const Template *in, const Part *part, Err *err) {
    if (!pattern_is_name(part->name)) {
        return err_set(err,
                       "templates.%s: \"%s\" is no name for a part: expected a letter, then "
                       "letters, digits, _ or -",
                       in->name, part->name);
    }
    if (topology_find_part(in, part->name) != (uint32_t)(part - in->parts)) {
        return err_set(err, "templates.%s: part \"%s\" twice", in->name, part->name);
    }
    if (part->count == 0 || part->count > TOPOLOGY_PARTS_MAX) {
        return err_set(err, "templates.%s.parts.%s.count: expected 1 to %d, found %u", in->name,
                       part->name, TOPOLOGY_PARTS_MAX, part->count);
    }
    bool has_template = part->template_id != UINT32_MAX;
    if (has_template != (part->kind == PART_GROUP) ||
        (has_template && part->template_id >= topology->template_count)) {
        return err_set(err, "templates.%s.parts.%s: expected a kind or a template", in->name,
                       part->name);
    }
    return true;
}

static bool check_rule(const Topology *topology, uint32_t template_id, uint32_t link,
                       uint64_t *work, Err *err) {
    const Template *in = &topology->templates[template_id];
    const LinkRule *rule = &in->links[link];
    TopologyLink resolved;
    const char *field = "";
    if (!topology_link_resolve(topology, template_id, link, &resolved, &field, err)) {
        return err_prefix(err, "templates.%s.links[%u].%s", in->name, link, field);
    }
    *work += resolved.combinations;
    if (*work > TOPOLOGY_WORK_MAX) {
        return err_set(
            err, "templates.%s.links[%u]: the letters of all links have more than %d combinations",
            in->name, link, TOPOLOGY_WORK_MAX);
    }
    if (rule->bandwidth_Bps == 0 || rule->cables == 0) {
        return err_set(err, "templates.%s.links[%u]: expected a bandwidth and cables above 0",
                       in->name, link);
    }
    if (rule->bandwidth_Bps > TOPOLOGY_RATE_MAX_BPS) {
        return err_set(err, "templates.%s.links[%u].bandwidth: expected at most 100 TB/s", in->name,
                       link);
    }
    if (rule->latency_ps < 0 || rule->latency_ps > TOPOLOGY_LATENCY_MAX_PS) {
        return err_set(err, "templates.%s.links[%u].latency: expected 0 to 1 s", in->name, link);
    }
    return true;
}

static bool check_template(const Topology *topology, uint32_t template_id, Err *err) {
    const Template *in = &topology->templates[template_id];
    if (!pattern_is_name(in->name))
        return err_set(err, "templates: \"%s\" is no name for a template", in->name);
    if (in->part_count == 0)
        return err_set(err, "templates.%s.parts: expected at least one part", in->name);
    for (uint32_t i = 0; i < in->part_count; i++) {
        if (!check_part(topology, in, &in->parts[i], err)) return false;
    }
    return true;
}

static bool check_gpus(const Topology *topology, Err *err) {
    Arena arena = {0};
    TopologyPlace *places;
    uint32_t count, gpus = 0;
    bool done = topology_place_list(topology, &arena, &places, &count, err);
    for (uint32_t i = 0; done && i < count; i++) {
        gpus += topology_place_part(topology, &places[i], places[i].depth - 1)->kind == PART_GPU;
    }
    arena_free(&arena);
    if (!done) return false;
    return gpus > 0 || err_set(err, "machine \"%s\" has no part of kind \"gpu\"",
                               topology->templates[topology->machine].name);
}

static bool check_faults(const Topology *topology, Err *err) {
    uint64_t work = 0;
    if (topology->fault_count > FAULT_LIST_MAX)
        return err_set(err, "more than %d faults", FAULT_LIST_MAX);
    for (uint32_t i = 0; i < topology->fault_count; i++) {
        TopologyLink resolved;
        const char *field;
        if (!topology_link_fault(topology, &topology->faults[i], &resolved, &field, err))
            return err_prefix(err, "faults[%u].%s", i, field);
        work += resolved.combinations;
    }
    return work <= TOPOLOGY_WORK_MAX ||
           err_set(err, "faults: the letters have more than %d combinations", TOPOLOGY_WORK_MAX);
}

static uint64_t rate_of(const LinkRule *rule) {
    return rule->bandwidth_Bps * rule->cables;
}

// Links that are compared by class and rate have equal bursts then. A fault can give one link the
// rate of another.
static bool check_burst(const Topology *topology, const Template *in, uint32_t link, Err *err) {
    const LinkRule *rule = &in->links[link];
    if (rule->burst_B == 0) return true;
    for (uint32_t i = 0; i < topology->template_count; i++) {
        const Template *other = &topology->templates[i];
        for (uint32_t k = 0; k < other->link_count; k++) {
            const LinkRule *x = &other->links[k];
            bool may_be_equal = rate_of(x) == rate_of(rule) || topology->fault_count > 0;
            uint64_t burst = x->burst_B * x->cables;
            if (x->link_class == rule->link_class && may_be_equal &&
                burst != rule->burst_B * rule->cables)
                return err_set(err,
                               "templates.%s.links[%u].burst: expected one burst of all links of "
                               "class %s and this rate (with faults: of the class), and "
                               "templates.%s.links[%u] has another",
                               in->name, link, topology_class_names[rule->link_class], other->name,
                               k);
        }
    }
    return true;
}

static bool check_all(const Topology *topology, Err *err) {
    uint64_t links = 0, work = 0;
    if (topology->machine >= topology->template_count)
        return err_set(err, "machine: names no template");
    for (uint32_t i = 0; i < topology->template_count; i++) {
        if (!check_template(topology, i, err)) return false;
        links += topology->templates[i].link_count;
    }
    if (links > TOPOLOGY_LINKS_MAX)
        return err_set(err, "more than %d link rules", TOPOLOGY_LINKS_MAX);
    if (!check_gpus(topology, err)) return false;
    for (uint32_t i = 0; i < topology->template_count; i++) {
        for (uint32_t k = 0; k < topology->templates[i].link_count; k++) {
            if (!check_rule(topology, i, k, &work, err) ||
                !check_burst(topology, &topology->templates[i], k, err))
                return false;
        }
    }
    return check_faults(topology, err);
}

bool topology_check(const Topology *topology, Err *err) {
    if (check_all(topology, err)) return true;
    if (topology->origin == NULL) return false;
    return err_prefix(err, "%s", topology->origin);
}

void topology_free(Topology *topology) {
    arena_free(&topology->arena);
    *topology = (Topology){0};
}

static Digest hash_link(Digest digest, const LinkRule *link) {
    digest = pattern_hash(pattern_hash(digest, link->from), link->to);
    digest = hash_string(digest, topology_class_names[link->link_class]);
    digest = hash_string(digest, topology_policy_names[link->policy]);
    digest = hash_u64(hash_u64(digest, link->cables), link->bandwidth_Bps);
    digest = hash_u64(digest, (uint64_t)link->latency_ps);
    return link->burst_B == 0 ? digest : hash_u64(digest, link->burst_B);
}

static Digest hash_part(Digest digest, const Part *part, const uint32_t *order) {
    digest = hash_string(hash_string(digest, part->name), topology_kind_names[part->kind]);
    digest = hash_u64(digest, part->kind == PART_GROUP ? order[part->template_id] : UINT32_MAX);
    digest = hash_u64(hash_string(digest, part->device), part->count);
    return hash_u64(digest, part->memory_B);
}

// Templates in the order in which the machine first uses them, so that their order in the file, and
// those that are not used, make no difference. Sources and notes are left out: they change no
// result.
static Digest digest_of_templates(const Topology *topology) {
    Arena arena = {0};
    uint32_t *order = arena_alloc(&arena, topology->template_count, sizeof *order);
    uint32_t *queue = arena_alloc(&arena, topology->template_count, sizeof *queue);
    uint32_t count = 1;
    for (uint32_t i = 0; i < topology->template_count; i++) order[i] = UINT32_MAX;
    queue[0] = topology->machine;
    order[topology->machine] = 0;
    Digest digest = hash_string(hash_u64(hash_string(HASH_START, "topology"), TOPOLOGY_VERSION),
                                topology->name);
    for (uint32_t next = 0; next < count; next++) {
        const Template *in = &topology->templates[queue[next]];
        digest = hash_string(digest, in->name);
        for (uint32_t i = 0; i < in->part_count; i++) {
            uint32_t id = in->parts[i].template_id;
            if (in->parts[i].kind == PART_GROUP && order[id] == UINT32_MAX) {
                order[id] = count;
                queue[count++] = id;
            }
            digest = hash_part(digest, &in->parts[i], order);
        }
        for (uint32_t i = 0; i < in->link_count; i++) digest = hash_link(digest, &in->links[i]);
    }
    arena_free(&arena);
    return digest;
}

// The order of faults makes no difference.
static Digest digest_of(const Topology *topology) {
    Digest digest = digest_of_templates(topology);
    if (topology->fault_count == 0) return digest;
    Digest *each = mem_alloc(topology->fault_count, sizeof *each);
    for (uint32_t i = 0; i < topology->fault_count; i++)
        each[i] = fault_digest(&topology->faults[i]);
    qsort(each, topology->fault_count, sizeof *each, hash_compare);
    digest = hash_string(digest, "faults");
    for (uint32_t i = 0; i < topology->fault_count; i++) digest = hash_u64(digest, each[i]);
    mem_free(each);
    return digest;
}

bool topology_finish(Topology *topology, Err *err) {
    if (!topology_check(topology, err)) return false;
    topology->digest = digest_of(topology);
    return true;
}

static void write_part(JsonWriter *writer, const Topology *topology, const Part *part) {
    jsonw_inline_next(writer);
    jsonw_open_object(writer, part->name);
    if (part->kind == PART_GROUP) {
        jsonw_string(writer, "template", topology->templates[part->template_id].name);
    } else {
        jsonw_string(writer, "kind", topology_kind_names[part->kind]);
    }
    if (part->device[0] != '\0') jsonw_string(writer, "device", part->device);
    if (part->memory_B != 0) jsonw_bytes(writer, "memory", part->memory_B);
    if (part->count != 1) jsonw_u64(writer, "count", part->count);
    jsonw_close_object(writer);
}

static void write_link(JsonWriter *writer, const LinkRule *link) {
    jsonw_open_object(writer, NULL);
    jsonw_string(writer, "from", link->from);
    jsonw_string(writer, "to", link->to);
    jsonw_string(writer, "class", topology_class_names[link->link_class]);
    if (link->policy != ROUTE_STRIPE)
        jsonw_string(writer, "policy", topology_policy_names[link->policy]);
    if (link->cables != 1) jsonw_u64(writer, "cables", link->cables);
    jsonw_rate(writer, "bandwidth", link->bandwidth_Bps);
    jsonw_time(writer, "latency", link->latency_ps);
    if (link->burst_B != 0) jsonw_bytes(writer, "burst", link->burst_B);
    if (link->source[0] != '\0') jsonw_string(writer, "source", link->source);
    char confidence[2] = {link->confidence, '\0'};
    jsonw_string(writer, "confidence", confidence);
    jsonw_close_object(writer);
}

static void write_template(JsonWriter *writer, const Topology *topology, const Template *in) {
    jsonw_open_object(writer, in->name);
    jsonw_open_object(writer, "parts");
    for (uint32_t i = 0; i < in->part_count; i++) write_part(writer, topology, &in->parts[i]);
    jsonw_close_object(writer);
    jsonw_open_array(writer, "links");
    for (uint32_t i = 0; i < in->link_count; i++) write_link(writer, &in->links[i]);
    jsonw_close_array(writer);
    jsonw_close_object(writer);
}

static void write_fault(JsonWriter *writer, const Fault *fault) {
    Text capacity = {0};
    jsonw_inline_next(writer);
    jsonw_open_object(writer, NULL);
    jsonw_string(writer, *fault->to == '\0' ? "part" : "from", fault->from);
    if (*fault->to != '\0') jsonw_string(writer, "to", fault->to);
    switch (fault->kind) {
    case FAULT_DOWN: jsonw_string(writer, "state", "down"); break;
    case FAULT_SHARE:
    case FAULT_RATE:
        fault_write_capacity(fault, &capacity);
        jsonw_string(writer, "capacity", text_string(&capacity));
        break;
    case FAULT_CABLES: jsonw_u64(writer, "cables_down", fault->cables); break;
    }
    if (fault->source[0] != '\0') jsonw_string(writer, "source", fault->source);
    jsonw_close_object(writer);
    text_free(&capacity);
}

static void write_faults(JsonWriter *writer, const Topology *topology) {
    if (topology->fault_count == 0) return;
    jsonw_open_array(writer, "faults");
    for (uint32_t i = 0; i < topology->fault_count; i++) write_fault(writer, &topology->faults[i]);
    jsonw_close_array(writer);
}

void topology_write(const Topology *topology, Text *out) {
    JsonWriter writer = {.text = out};
    jsonw_open_object(&writer, NULL);
    jsonw_string(&writer, "moesim", "topology");
    jsonw_u64(&writer, "version", TOPOLOGY_VERSION);
    jsonw_string(&writer, "name", topology->name);
    if (topology->source[0] != '\0') jsonw_string(&writer, "source", topology->source);
    if (topology->note[0] != '\0') jsonw_string(&writer, "note", topology->note);
    jsonw_open_object(&writer, "templates");
    for (uint32_t i = 0; i < topology->template_count; i++)
        write_template(&writer, topology, &topology->templates[i]);
    jsonw_close_object(&writer);
    jsonw_string(&writer, "machine", topology->templates[topology->machine].name);
    write_faults(&writer, topology);
    jsonw_close_object(&writer);
    jsonw_finish(&writer);
}
