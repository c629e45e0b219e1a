// Names the devices of a machine's parts.
//
// Invariant: nothing but devices, and memories that went with them, changes; the digest is that of
// a file in which the new names stand.
#include "model/machine/topology_device.h"

#include <string.h>

#include "model/machine/import_graph.h"

#define LISTED_MAX 8 // other devices that a sentence names

void topology_device_set_all(Topology *topology, PartKind kind, const char *device) {
    for (uint32_t i = 0; i < topology->template_count; i++) {
        for (uint32_t k = 0; k < topology->templates[i].part_count; k++) {
            Part *part = &topology->templates[i].parts[k];
            if (part->kind != kind) continue;
            if (*part->device != '\0' && strcmp(part->device, device) != 0) part->memory_B = 0;
            part->device = device;
            part->place = "";
        }
    }
}

// What the GPUs were called, each name once.
typedef struct Before {
    const char *names[LISTED_MAX];
    uint32_t count, gpus, named;
    bool all_are; // of the wanted device already
} Before;

static Before look(const Topology *topology, const DeviceCatalogue *catalogue,
                   const Device *wanted) {
    Before before = {.all_are = true};
    for (uint32_t i = 0; i < topology->template_count; i++) {
        for (uint32_t k = 0; k < topology->templates[i].part_count; k++) {
            const Part *part = &topology->templates[i].parts[k];
            uint32_t at = 0;
            if (part->kind != PART_GPU) continue;
            before.gpus++;
            before.all_are = before.all_are && device_find(catalogue, part->device) == wanted;
            if (*part->device == '\0') continue;
            before.named++;
            while (at < before.count && strcmp(before.names[at], part->device) != 0) at++;
            if (at == before.count && at < LISTED_MAX) before.names[before.count++] = part->device;
        }
    }
    return before;
}

static void tell(Topology *topology, const Before *before, const char *device) {
    Text names = {0};
    for (uint32_t i = 0; i < before->count; i++)
        text_addf(&names, "%s%s", i > 0 ? " and " : "", before->names[i]);
    topology->device_before = arena_string(&topology->arena, text_string(&names));
    topology->note =
        arena_printf(&topology->arena, "%s%sthe GPUs were named %s from outside%s%s",
                     topology->note, *topology->note == '\0' ? "" : IMPORT_FINDING_BREAK, device,
                     before->count > 0 ? ", instead of " : "", text_string(&names));
    text_free(&names);
}

bool topology_device_set(Topology *topology, const DeviceCatalogue *catalogue, const char *name,
                         Err *err) {
    const Device *wanted = device_find(catalogue, name);
    if (wanted == NULL) return device_unknown(catalogue, name, err);
    if (strcmp(wanted->kind, "gpu") != 0)
        return err_set(err, "expected a GPU, found %s, a %s", wanted->name, wanted->kind);
    Before before = look(topology, catalogue, wanted);
    if (before.gpus == 0) return err_set(err, "%s has no GPU that could be one", topology->name);
    topology->default_device = false;
    if (before.all_are) return true;
    const char *device = arena_string(&topology->arena, wanted->name);
    tell(topology, &before, device);
    topology_device_set_all(topology, PART_GPU, device);
    return topology_finish(topology, err);
}
