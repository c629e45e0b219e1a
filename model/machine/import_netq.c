// The topology graph of NVIDIA NetQ: devices in tiers, and links between two devices that stand for
// several cables.
#include <stdlib.h>
#include <string.h>

#include "model/base/json.h"
#include "model/machine/import_ibnetdiscover.h"

#define NODES_MAX 16384 // each is looked up by its name

typedef struct Reader {
    ImportIb ib;
    uint32_t node_capacity, link_capacity;
} Reader;

static uint32_t find_node(const Reader *r, const char *id) {
    for (uint32_t i = 0; i < r->ib.node_count; i++) {
        if (strcmp(r->ib.nodes[i].id, id) == 0) return i;
    }
    return IMPORT_NONE;
}

static bool add_node(Reader *r, JsonNode node, Err *err) {
    const char *id, *type;
    if (json_kind(node) != JSON_OBJECT) return json_error(node, err, "expected a device");
    if (!json_string(node, "id", &id, err) || !json_string(node, "device_type", &type, err))
        return false;
    if (find_node(r, id) != IMPORT_NONE) return json_error(node, err, "device \"%s\" twice", id);
    if (r->ib.node_count == NODES_MAX)
        return json_error(node, err, "more than %d devices", NODES_MAX);
    r->ib.nodes =
        mem_grow(r->ib.nodes, &r->node_capacity, r->ib.node_count + 1, sizeof *r->ib.nodes);
    r->ib.nodes[r->ib.node_count++] =
        (ImportIbNode){.id = id, .description = "", .is_switch = strcmp(type, "switch") == 0};
    return true;
}

static bool read_nodes(Reader *r, JsonNode graph, Err *err) {
    JsonNode tiers, nodes;
    if (!json_array(graph, "nodes", &tiers, err)) return false;
    for (uint32_t i = 0; i < json_count(tiers); i++) {
        if (json_kind(json_at(tiers, i)) != JSON_OBJECT)
            return json_error(json_at(tiers, i), err, "expected a tier");
        if (!json_array(json_at(tiers, i), "compounded_nodes", &nodes, err)) return false;
        for (uint32_t k = 0; k < json_count(nodes); k++) {
            if (!add_node(r, json_at(nodes, k), err)) return false;
        }
    }
    return true;
}

static bool read_end(Reader *r, JsonNode link, const char *key, uint32_t *out, Err *err) {
    const char *id;
    if (!json_string(link, key, &id, err)) return false;
    *out = find_node(r, id);
    return *out != IMPORT_NONE || json_error(link, err, "\"%s\" is no device of the file", id);
}

static bool add_link(Reader *r, JsonNode link, Err *err) {
    JsonNode cables;
    uint32_t a, b;
    if (json_kind(link) != JSON_OBJECT) return json_error(link, err, "expected a link");
    if (!read_end(r, link, "src", &a, err) || !read_end(r, link, "target", &b, err) ||
        !json_array(link, "compounded_links", &cables, err))
        return false;
    if (a == b) return json_error(link, err, "expected a link between two devices");
    for (uint32_t i = 0; i < json_count(cables); i++) {
        if (r->ib.link_count == IMPORT_IB_LINKS_MAX)
            return json_error(link, err, "too many cables");
        r->ib.links =
            mem_grow(r->ib.links, &r->link_capacity, r->ib.link_count + 1, sizeof *r->ib.links);
        r->ib.links[r->ib.link_count] =
            (ImportIbLink){a < b ? a : b, r->ib.link_count, a < b ? b : a, r->ib.link_count, 0, 0};
        r->ib.link_count++;
    }
    return true;
}

static bool read_all(Reader *r, JsonNode root, Err *err) {
    JsonNode links;
    if (json_kind(root) != JSON_ARRAY || json_count(root) != 1 ||
        json_kind(json_at(root, 0)) != JSON_OBJECT)
        return json_error(root, err, "expected a list of one graph");
    if (!read_nodes(r, json_at(root, 0), err) ||
        !json_array(json_at(root, 0), "links", &links, err))
        return false;
    for (uint32_t i = 0; i < json_count(links); i++) {
        if (!add_link(r, json_at(links, i), err)) return false;
    }
    return import_ibnetdiscover_build(&r->ib, err);
}

bool import_netq_read(Import *import, Err *err) {
    Reader r = {.ib = {.import = import, .link_class = LINK_ETH}};
    Json json = {0};
    bool done = json_parse(import->origin, import->bytes, import->count, &json, err) &&
                read_all(&r, json_root(&json), err);
    mem_free(r.ib.nodes);
    mem_free(r.ib.links);
    json_free(&json);
    return done;
}
