// Reads machines from options.
//
// Invariant: every command that takes a machine reads it here, so that it means the same to all.
#include "sim/commands/machine_option.h"

#include <string.h>

#include "model/machine/topology_device.h"
#include "sim/commands/degrade.h"

static bool set_device(const CliArgs *args, const DeviceCatalogue *catalogue, Topology *topology,
                       Err *err) {
    const char *device = cli_text(args, "device");
    return device == NULL || topology_device_set(topology, catalogue, device, err) ||
           err_prefix(err, "--device");
}

static bool has_option(const CliArgs *args, const char *name) {
    for (const CliOption *option = args->command->options; option->name != NULL; option++)
        if (strcmp(option->name, name) == 0) return true;
    return false;
}

bool machine_option_load(const CliArgs *args, const char *name, const DeviceCatalogue *catalogue,
                         Topology *out, Err *err) {
    Topology topology = {0};
    if (!topology_load(name, &topology, err)) return false;
    if ((has_option(args, "device") && !set_device(args, catalogue, &topology, err)) ||
        (has_option(args, "degrade") && !degrade_topology(args, &topology, err))) {
        topology_free(&topology);
        return false;
    }
    *out = topology;
    return true;
}

bool machine_option_split(const char *option, const char *names, char separator, uint32_t most,
                          Arena *arena, const char **out, uint32_t *out_count, Err *err) {
    char *rest = arena_string(arena, names);
    uint32_t count = 0;
    while (rest != NULL) {
        char *end = strchr(rest, separator);
        if (end != NULL) *end = '\0';
        if (*rest == '\0') return err_set(err, "--%s: an empty name in \"%s\"", option, names);
        if (count == most)
            return err_set(err, "--%s: expected at most %u names, found more", option, most);
        out[count++] = rest;
        rest = end == NULL ? NULL : end + 1;
    }
    *out_count = count;
    return true;
}
