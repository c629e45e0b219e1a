// Compute nodes of NMX-C, the controller of NVLink racks: nodes with GPUs, and the domain of each.
#include <string.h>

#include "model/base/json.h"
#include "model/machine/import_slurm.h"

#define DOMAINS_MAX 4096 // each is looked up by its id

typedef struct Domains {
    ImportSlurm slurm;
    const char **ids;
    uint32_t capacity;
} Domains;

// IMPORT_NONE when there are too many.
static uint32_t domain_of(Domains *d, const char *id) {
    for (uint32_t i = 0; i < d->slurm.block_count; i++) {
        if (strcmp(d->ids[i], id) == 0) return i;
    }
    if (d->slurm.block_count == DOMAINS_MAX) return IMPORT_NONE;
    d->ids = mem_grow(d->ids, &d->capacity, d->slurm.block_count + 1, sizeof *d->ids);
    d->ids[d->slurm.block_count] = id;
    return d->slurm.block_count++;
}

static bool read_node(Domains *d, JsonNode node, Err *err) {
    const char *domain, *name, *health = "HEALTHY";
    JsonNode gpus;
    if (json_kind(node) != JSON_OBJECT) return json_error(node, err, "expected a compute node");
    if (!json_string(node, "DomainUUID", &domain, err) || !json_string(node, "Name", &name, err) ||
        !json_array(node, "GpuIDList", &gpus, err))
        return false;
    if (json_has(node, "Health") && !json_string(node, "Health", &health, err)) return false;
    uint32_t count = json_count(gpus);
    if (count == 0 || count > 16 || (d->slurm.gpus > 0 && count != d->slurm.gpus))
        return json_error(gpus, err, "expected 1 to 16 GPUs, as many in each node, found %u",
                          count);
    d->slurm.gpus = count;
    if (strcmp(health, "HEALTHY") != 0)
        import_graph_find(&d->slurm.import->graph, "node %s is %s", name, health);
    uint32_t block = domain_of(d, domain);
    if (block == IMPORT_NONE) return json_error(node, err, "more than %d domains", DOMAINS_MAX);
    return import_slurm_node(&d->slurm, name, 0, IMPORT_NONE, block, err);
}

static bool read_all(Domains *d, JsonNode root, Err *err) {
    if (json_kind(root) != JSON_ARRAY || json_count(root) == 0)
        return json_error(root, err, "expected a list of compute nodes");
    for (uint32_t i = 0; i < json_count(root); i++) {
        if (!read_node(d, json_at(root, i), err)) return false;
    }
    return import_slurm_build(&d->slurm, err);
}

bool import_nmx_read(Import *import, Err *err) {
    Domains domains = {.slurm = {.import = import}};
    Json json = {0};
    bool done = json_parse(import->origin, import->bytes, import->count, &json, err) &&
                read_all(&domains, json_root(&json), err);
    mem_free(domains.ids);
    import_slurm_free(&domains.slurm);
    json_free(&json);
    return done;
}
