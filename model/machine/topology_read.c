// Reads the file form. Everything that a single member or link can get wrong is reported with its
// line; what concerns the whole machine (cycles, counts) with the file alone.
//
// Invariant: *out is set only when the topology passed topology_finish; its strings are copies in
// its own arena.
#include "model/machine/topology.h"

#include <string.h>

#include "model/base/json.h"
#include "model/machine/pattern.h"
#include "model/machine/topology_link.h"

#define TEMPLATES_MAX 256
#define PARTS_MAX     256 // of one template

static bool read_optional(JsonNode object, const char *key, Arena *arena, const char **out,
                          Err *err) {
    const char *text = "";
    if (json_has(object, key) && !json_string(object, key, &text, err)) return false;
    *out = arena_string(arena, text);
    return true;
}

static bool read_count(JsonNode object, const char *key, uint32_t most, uint32_t *out, Err *err) {
    *out = 1;
    if (!json_has(object, key)) return true;
    uint64_t count;
    if (!json_u64(object, key, &count, err)) return false;
    if (count == 0 || count > most) {
        return json_error(json_find(object, key), err, "expected 1 to %d, found %llu",
                          TOPOLOGY_PARTS_MAX, (unsigned long long)count);
    }
    *out = (uint32_t)count;
    return true;
}

static uint32_t find_template(const Topology *topology, const char *name) {
    for (uint32_t i = 0; i < topology->template_count; i++) {
        if (strcmp(topology->templates[i].name, name) == 0) return i;
    }
    return UINT32_MAX;
}

// The member `key` names a template.
static bool read_template_name(JsonNode object, const char *key, const Topology *topology,
                               uint32_t *out, Err *err) {
    const char *name, *names[TEMPLATES_MAX];
    if (!json_string(object, key, &name, err)) return false;
    *out = find_template(topology, name);
    if (*out != UINT32_MAX) return true;
    for (uint32_t i = 0; i < topology->template_count; i++) names[i] = topology->templates[i].name;
    uint32_t near = text_nearest(name, names, topology->template_count);
    JsonNode at = json_find(object, key);
    if (near == UINT32_MAX) return json_error(at, err, "no template \"%s\"", name);
    return json_error(at, err, "no template \"%s\", did you mean \"%s\"?", name, names[near]);
}

static bool read_kind(JsonNode node, const Topology *topology, Part *part, Err *err) {
    part->template_id = UINT32_MAX;
    if (json_has(node, "template")) {
        part->kind = PART_GROUP;
        if (json_has(node, "kind"))
            return json_error(node, err, "expected \"kind\" or \"template\", found both");
        return read_template_name(node, "template", topology, &part->template_id, err);
    }
    if (!json_has(node, "kind")) return json_error(node, err, "expected \"kind\" or \"template\"");
    uint32_t kind;
    if (!json_enum(node, "kind", topology_kind_names, PART_GROUP, &kind, err)) return false;
    part->kind = (PartKind)kind;
    return true;
}

static bool read_part(JsonNode node, Topology *topology, Part *part, Err *err) {
    if (json_kind(node) != JSON_OBJECT)
        return json_error(node, err, "expected an object such as {\"kind\": \"gpu\"}");
    if (!pattern_is_name(json_key(node))) {
        return json_error(
            node, err,
            "expected a name of letters, digits, _ and -, starting with a letter, at most %d long",
            PATTERN_NAME_MAX - 1);
    }
    part->name = arena_string(&topology->arena, json_key(node));
    if (!read_kind(node, topology, part, err)) return false;
    if (!read_count(node, "count", TOPOLOGY_PARTS_MAX, &part->count, err)) return false;
    part->device = part->place = "";
    if (part->kind != PART_GROUP) {
        if (!read_optional(node, "device", &topology->arena, &part->device, err)) return false;
        if (json_has(node, "device") && part->device[0] == '\0')
            return json_error(json_find(node, "device"), err, "expected the name of a device");
        if (json_has(node, "device"))
            part->place = json_place(json_find(node, "device"), &topology->arena);
        if (json_has(node, "memory") && !json_bytes(node, "memory", &part->memory_B, err))
            return false;
        if (json_has(node, "memory") && part->memory_B == 0)
            return json_error(json_find(node, "memory"), err, "expected a size above 0");
    }
    json_ignore(node, "note");
    return json_finish(node, err);
}

static bool read_confidence(JsonNode node, const LinkRule *link, char *out, Err *err) {
    static const char *const names[] = {"A", "B", "C", "M"};
    uint32_t position = link->source[0] == '\0' ? 3 : 1;
    if (json_has(node, "confidence") && !json_enum(node, "confidence", names, 4, &position, err))
        return false;
    *out = names[position][0];
    return true;
}

static bool read_figures(JsonNode node, LinkRule *link, Err *err) {
    if (!read_count(node, "cables", TOPOLOGY_CABLES_MAX, &link->cables, err)) return false;
    if (!json_rate(node, "bandwidth", &link->bandwidth_Bps, err)) return false;
    if (link->bandwidth_Bps == 0)
        return json_error(json_find(node, "bandwidth"), err, "expected a rate above 0");
    if (link->bandwidth_Bps > TOPOLOGY_RATE_MAX_BPS) {
        return json_error(json_find(node, "bandwidth"), err, "expected a rate of at most 100 TB/s");
    }
    if (!json_time(node, "latency", &link->latency_ps, err)) return false;
    if (link->latency_ps > TOPOLOGY_LATENCY_MAX_PS)
        return json_error(json_find(node, "latency"), err, "expected at most 1 s");
    if (!json_has(node, "burst")) return true;
    if (!json_bytes(node, "burst", &link->burst_B, err)) return false;
    return (link->burst_B > 0 && link->burst_B <= TOPOLOGY_BURST_MAX_B / link->cables) ||
           json_error(json_find(node, "burst"), err, "expected 1 B to 1 GiB of all cables");
}

static bool read_link(JsonNode node, Arena *arena, LinkRule *link, Err *err) {
    const char *from, *to;
    uint32_t link_class, policy = ROUTE_STRIPE;
    if (json_kind(node) != JSON_OBJECT)
        return json_error(node, err, "expected an object with \"from\" and \"to\"");
    if (!json_string(node, "from", &from, err) || !json_string(node, "to", &to, err)) return false;
    link->from = arena_string(arena, from);
    link->to = arena_string(arena, to);
    if (!json_enum(node, "class", topology_class_names, LINK_CLASS_COUNT, &link_class, err))
        return false;
    if (json_has(node, "policy") &&
        !json_enum(node, "policy", topology_policy_names, ROUTE_POLICY_COUNT, &policy, err)) {
        return false;
    }
    link->link_class = (LinkClass)link_class;
    link->policy = (RoutePolicy)policy;
    if (!read_figures(node, link, err)) return false;
    if (!read_optional(node, "source", arena, &link->source, err)) return false;
    if (!read_confidence(node, link, &link->confidence, err)) return false;
    json_ignore(node, "note");
    return json_finish(node, err);
}

static bool read_parts(JsonNode node, Topology *topology, Template *in, Err *err) {
    JsonNode parts;
    if (!json_object(node, "parts", &parts, err)) return false;
    uint32_t count = json_count(parts);
    if (count == 0 || count > PARTS_MAX)
        return json_error(parts, err, "expected 1 to %d parts, found %u", PARTS_MAX, count);
    in->parts = arena_alloc(&topology->arena, count, sizeof *in->parts);
    in->part_count = count;
    for (uint32_t i = 0; i < count; i++) {
        if (!read_part(json_at(parts, i), topology, &in->parts[i], err)) return false;
    }
    return true;
}

static bool read_links(JsonNode node, Topology *topology, Template *in, Err *err) {
    JsonNode links;
    if (!json_has(node, "links")) return true;
    if (!json_array(node, "links", &links, err)) return false;
    uint32_t count = json_count(links);
    if (count > TOPOLOGY_LINKS_MAX)
        return json_error(links, err, "expected at most %d links, found %u", TOPOLOGY_LINKS_MAX,
                          count);
    in->links = arena_alloc(&topology->arena, count, sizeof *in->links);
    in->link_count = count;
    for (uint32_t i = 0; i < count; i++) {
        if (!read_link(json_at(links, i), &topology->arena, &in->links[i], err)) return false;
    }
    return true;
}

static bool read_template(JsonNode node, Topology *topology, Template *in, Err *err) {
    if (json_kind(node) != JSON_OBJECT)
        return json_error(node, err, "expected an object with \"parts\" and \"links\"");
    if (!read_parts(node, topology, in, err) || !read_links(node, topology, in, err)) return false;
    json_ignore(node, "note");
    return json_finish(node, err);
}

// The pattern of one link, with the place of what is wrong.
static bool resolve_link(JsonNode node, const Topology *topology, uint32_t template_id,
                         uint32_t link, uint64_t *work, Err *err) {
    TopologyLink resolved;
    const char *field = "";
    Err what = {{0}};
    if (!topology_link_resolve(topology, template_id, link, &resolved, &field, &what)) {
        return json_error(json_find(node, field), err, "%s", what.text);
    }
    *work += resolved.combinations;
    return *work <= TOPOLOGY_WORK_MAX ||
           json_error(node, err, "the letters of all links have more than %d combinations",
                      TOPOLOGY_WORK_MAX);
}

// After all templates are known.
static bool resolve_links(JsonNode templates, const Topology *topology, Err *err) {
    uint64_t total = 0, work = 0;
    for (uint32_t i = 0; i < topology->template_count; i++) {
        JsonNode links = json_find(json_at(templates, i), "links");
        total += topology->templates[i].link_count;
        if (total > TOPOLOGY_LINKS_MAX) {
            return json_error(links, err, "more than %d link rules in all", TOPOLOGY_LINKS_MAX);
        }
        for (uint32_t k = 0; k < topology->templates[i].link_count; k++) {
            if (!resolve_link(json_at(links, k), topology, i, k, &work, err)) return false;
        }
    }
    return true;
}

static bool read_templates(JsonNode root, Topology *topology, Err *err) {
    JsonNode templates;
    if (!json_object(root, "templates", &templates, err)) return false;
    uint32_t count = json_count(templates);
    if (count == 0 || count > TEMPLATES_MAX) {
        return json_error(templates, err, "expected 1 to %d templates, found %u", TEMPLATES_MAX,
                          count);
    }
    topology->templates = arena_alloc(&topology->arena, count, sizeof *topology->templates);
    topology->template_count = count;
    for (uint32_t i = 0; i < count; i++) {
        JsonNode node = json_at(templates, i);
        if (!pattern_is_name(json_key(node))) {
            return json_error(node, err,
                              "expected a name of letters, digits, _ and -, starting with a "
                              "letter, at most %d long",
                              PATTERN_NAME_MAX - 1);
        }
        topology->templates[i].name = arena_string(&topology->arena, json_key(node));
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!read_template(json_at(templates, i), topology, &topology->templates[i], err))
            return false;
    }
    if (!read_template_name(root, "machine", topology, &topology->machine, err)) return false;
    return resolve_links(templates, topology, err);
}

// Exactly one of the members that say what is left.
static bool read_left(JsonNode node, Fault *fault, Err *err) {
    static const char *const states[] = {"down"};
    uint32_t state;
    const char *capacity;
    Err what = {{0}};
    bool has_state = json_has(node, "state"), has_capacity = json_has(node, "capacity"),
         has_cables = json_has(node, "cables_down");
    if (has_state + has_capacity + has_cables != 1)
        return json_error(node, err, "expected one of \"state\", \"capacity\" and \"cables_down\"");
    if (has_state) {
        fault->kind = FAULT_DOWN;
        return json_enum(node, "state", states, 1, &state, err);
    }
    if (has_cables) {
        fault->kind = FAULT_CABLES;
        return read_count(node, "cables_down", TOPOLOGY_CABLES_MAX, &fault->cables, err);
    }
    if (!json_string(node, "capacity", &capacity, err)) return false;
    return fault_parse_capacity(capacity, fault, &what) ||
           json_error(json_find(node, "capacity"), err, "%s", what.text);
}

static bool resolve_fault(JsonNode node, const Topology *topology, const Fault *fault,
                          uint64_t *work, Err *err) {
    TopologyLink resolved;
    const char *field = "";
    Err what = {{0}};
    if (!topology_link_fault(topology, fault, &resolved, &field, &what))
        return json_error(json_find(node, field), err, "%s", what.text);
    *work += resolved.combinations;
    return *work <= TOPOLOGY_WORK_MAX ||
           json_error(node, err, "the letters of all faults have more than %d combinations",
                      TOPOLOGY_WORK_MAX);
}

static bool read_fault(JsonNode node, Topology *topology, Fault *fault, uint64_t *work, Err *err) {
    const char *from, *to = "";
    if (json_kind(node) != JSON_OBJECT)
        return json_error(node, err, "expected an object with \"part\", or \"from\" and \"to\"");
    bool is_part = json_has(node, "part");
    if (is_part && (json_has(node, "from") || json_has(node, "to")))
        return json_error(node, err, "expected \"part\", or \"from\" and \"to\", found both");
    if (!json_string(node, is_part ? "part" : "from", &from, err)) return false;
    if (!is_part && !json_string(node, "to", &to, err)) return false;
    if (!is_part && *to == '\0')
        return json_error(json_find(node, "to"), err, "expected the name of a part");
    fault->from = arena_string(&topology->arena, from);
    fault->to = arena_string(&topology->arena, to);
    if (!resolve_fault(node, topology, fault, work, err)) return false;
    if (!read_left(node, fault, err)) return false;
    if (!read_optional(node, "source", &topology->arena, &fault->source, err)) return false;
    fault->place = json_place(node, &topology->arena);
    json_ignore(node, "note");
    return json_finish(node, err);
}

static bool read_faults(JsonNode root, Topology *topology, Err *err) {
    JsonNode faults;
    uint64_t work = 0;
    if (!json_has(root, "faults")) return true;
    if (!json_array(root, "faults", &faults, err)) return false;
    uint32_t count = json_count(faults);
    if (count > FAULT_LIST_MAX)
        return json_error(faults, err, "expected at most %d faults, found %u", FAULT_LIST_MAX,
                          count);
    topology->faults = arena_alloc(&topology->arena, count, sizeof *topology->faults);
    topology->fault_count = count;
    for (uint32_t i = 0; i < count; i++) {
        if (!read_fault(json_at(faults, i), topology, &topology->faults[i], &work, err))
            return false;
    }
    return true;
}

static bool read_root(JsonNode root, Topology *topology, Err *err) {
    const char *name;
    if (!json_header(root, "topology", TOPOLOGY_VERSION, err)) return false;
    if (!json_string(root, "name", &name, err)) return false;
    topology->name = arena_string(&topology->arena, name);
    if (!read_optional(root, "source", &topology->arena, &topology->source, err)) return false;
    if (!read_optional(root, "note", &topology->arena, &topology->note, err)) return false;
    return read_templates(root, topology, err) && read_faults(root, topology, err) &&
           json_finish(root, err);
}

static bool read_json(const char *origin, const Json *json, Topology *out, Err *err) {
    Topology topology = {0};
    topology.origin = arena_string(&topology.arena, origin);
    if (!read_root(json_root(json), &topology, err) || !topology_finish(&topology, err)) {
        topology_free(&topology);
        return false;
    }
    *out = topology;
    return true;
}

bool topology_parse(const char *name, const char *bytes, size_t count, Topology *out, Err *err) {
    Json json = {0};
    bool done = json_parse(name, bytes, count, &json, err) && read_json(name, &json, out, err);
    json_free(&json);
    return done;
}

bool topology_read(const char *path, Topology *out, Err *err) {
    Json json = {0};
    bool done = json_read(path, &json, err) && read_json(path, &json, out, err);
    json_free(&json);
    return done;
}
