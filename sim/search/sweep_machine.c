// Changes machines as a person would: in the line or in the counts of the file that describes them.
//
// Invariant: a changed machine has passed every check of a machine that was read, and has exactly
// the GPUs that were asked for.
#include "sim/search/sweep_machine.h"

#include <inttypes.h>
#include <string.h>

#include "model/base/wide.h"
#include "model/machine/topology_degrade.h"
#include "model/machine/topology_device.h"
#include "model/machine/topology_synth.h"

// ---- How many GPUs

// The fields of a line without those of a network, which one copy has none of.
static const char *without_network(const char *fields, Arena *arena) {
    static const char *const names[] = {",ib=", ",eth=", ",oversubscription="};
    char *kept = arena_printf(arena, "%s", fields);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char *field = strstr(kept, names[i]);
        if (field == NULL) continue;
        const char *rest = field + 1 + strcspn(field + 1, ",");
        memmove(field, rest, strlen(rest) + 1);
    }
    return kept;
}

// "hgx-h100:4,device=X" with another count; NULL when there is no plain count behind the colon.
static const char *line_of(const SweepMachine *machine, uint64_t gpus, Arena *arena, Err *err) {
    const char *colon = strchr(machine->name, ':');
    uint64_t now = machine->input.fabric->gpu_count, size, wanted;
    size_t digits = colon == NULL ? 0 : strspn(colon + 1, "0123456789");
    bool is_count = digits > 0 && (colon[1 + digits] == '\0' || colon[1 + digits] == ',' ||
                                   strncmp(colon + 1 + digits, "su", 2) == 0);
    if (!is_count) return NULL;
    char *number = arena_printf(arena, "%.*s", (int)digits, colon + 1);
    if (!text_parse_u64(number, &size) || size == 0 || now % size != 0) return NULL;
    uint64_t each = now / size;
    wanted = gpus / each;
    if (gpus % each != 0) {
        err_set(err, "%.*s:N has %" PRIu64 " GPUs for each of N: %" PRIu64 " is no multiple",
                (int)(colon - machine->name), machine->name, each, gpus);
        return NULL;
    }
    const char *fields = colon + 1 + digits;
    if (wanted == 1) fields = without_network(fields, arena);
    return arena_printf(arena, "%.*s%" PRIu64 "%s", (int)(colon + 1 - machine->name), machine->name,
                        wanted, fields);
}

// GPUs of one copy of each template: those inside come to stand after as many rounds as there are
// levels.
static uint64_t *count_gpus(const Topology *topology, Arena *arena) {
    uint64_t *gpus = arena_alloc(arena, topology->template_count, sizeof *gpus);
    for (uint32_t round = 0; round < TOPOLOGY_DEPTH_MAX; round++) {
        for (uint32_t t = 0; t < topology->template_count; t++) {
            const Template *template = &topology->templates[t];
            uint64_t sum = 0;
            for (uint32_t i = 0; i < template->part_count; i++) {
                const Part *part = &template->parts[i];
                uint64_t each = part->kind == PART_GPU     ? 1
                                : part->kind == PART_GROUP ? gpus[part->template_id]
                                                           : 0;
                sum = wide_add_saturate(sum, wide_mul_saturate(each, part->count));
            }
            gpus[t] = sum;
        }
    }
    return gpus;
}

// The one part of a template that has GPUs; NULL when there are several.
static Part *find_holder(const Template *template, const uint64_t *gpus, uint64_t *out_each) {
    Part *found = NULL;
    for (uint32_t i = 0; i < template->part_count; i++) {
        Part *part = &template->parts[i];
        uint64_t each = part->kind == PART_GPU ? 1 : 0;
        if (part->kind == PART_GROUP) each = gpus[part->template_id];
        if (each == 0) continue;
        if (found != NULL) return NULL;
        found = part;
        *out_each = each;
    }
    return found;
}

static bool scale_counts(Topology *topology, const char *name, uint64_t gpus, Err *err) {
    Arena arena = {0};
    const uint64_t *inside = count_gpus(topology, &arena);
    uint32_t at = topology->machine;
    bool done = false;
    for (uint32_t level = 0; level < TOPOLOGY_DEPTH_MAX && !done; level++) {
        uint64_t each = 0;
        Part *part = find_holder(&topology->templates[at], inside, &each);
        if (part == NULL || (gpus < each && part->kind != PART_GROUP)) break;
        done = gpus % each == 0;
        part->count = done ? (uint32_t)(gpus / each) : 1;
        if (done) break;
        if (gpus > each) {
            err_set(err, "%s has %" PRIu64 " GPUs for each \"%s\": %" PRIu64 " is no multiple",
                    name, each, part->name, gpus);
            break;
        }
        at = part->template_id;
    }
    arena_free(&arena);
    return done || err_is_set(err) ||
           err_set(err, "%s: the number of GPUs cannot be varied, they are of several parts", name);
}

static bool load(const SweepMachine *machine, const SweepSetting *setting, Topology *out,
                 Err *err) {
    Arena scratch = {0};
    const char *name = machine->name;
    bool is_other = setting->gpus > 0 && setting->gpus != machine->input.fabric->gpu_count;
    bool done = true, is_line = is_other && topology_synth_begins(name);
    const char *line = is_line ? line_of(machine, setting->gpus, &scratch, err) : NULL;
    if (is_line && line == NULL && err_is_set(err)) done = false;
    done = done && topology_load(line != NULL ? line : name, out, err);
    if (done && is_other && line == NULL &&
        !(scale_counts(out, name, setting->gpus, err) && !err_is_set(err) &&
          topology_finish(out, err))) {
        topology_free(out);
        done = false;
    }
    arena_free(&scratch);
    return done;
}

// ---- Rates

static bool set_rates(Topology *topology, const SweepSetting *setting, Err *err) {
    bool is_changed = false;
    for (uint32_t t = 0; t < topology->template_count; t++) {
        for (uint32_t i = 0; i < topology->templates[t].link_count; i++) {
            LinkRule *link = &topology->templates[t].links[i];
            uint64_t rate_Bps = setting->rate_Bps[link->link_class];
            if (rate_Bps == 0) continue;
            link->bandwidth_Bps = rate_Bps;
            is_changed = true;
        }
    }
    return !is_changed || topology_finish(topology, err);
}

// ---- Faults

static const VertexClass *find_class(const Fabric *fabric, PartKind kind) {
    for (uint32_t i = 0; i < fabric->class_count; i++)
        if (fabric->classes[i].kind == kind) return &fabric->classes[i];
    return NULL;
}

// A switch with links that are scale-up ones, or are not; the first that is alive.
static bool find_switch(const Fabric *fabric, bool (*is_wanted)(LinkClass), VertexId *out) {
    for (uint32_t i = 0; i < fabric->class_count; i++) {
        const VertexClass *class = &fabric->classes[i];
        uint64_t cursor = 0;
        LinkId link;
        if (class->kind != PART_SWITCH || !fabric_next_link(fabric, class->first, &cursor, &link))
            continue;
        if (!is_wanted(fabric_link(fabric, link).link_class)) continue;
        *out = class->first;
        return true;
    }
    return false;
}

static bool find_link(const Fabric *fabric, FabricLink *out) {
    const PartKind starts[] = {PART_NIC, PART_GPU};
    for (uint32_t i = 0; i < 2; i++) {
        const VertexClass *class = find_class(fabric, starts[i]);
        uint64_t cursor = 0;
        LinkId link;
        while (class != NULL && fabric_next_link(fabric, class->first, &cursor, &link)) {
            *out = fabric_link(fabric, link);
            if (fabric_class(fabric, out->to)->kind == PART_SWITCH) return true;
        }
    }
    return false;
}

static bool lacks(const Fabric *fabric, const char *what, Err *err) {
    return err_set(err, "%s has no %s", fabric->topology->name, what);
}

static bool name_link(const Fabric *fabric, Text *out, Err *err) {
    FabricLink link;
    if (!find_link(fabric, &link)) return lacks(fabric, "link to a switch", err);
    fabric_vertex_name(fabric, link.from, out);
    text_add_char(out, '>');
    fabric_vertex_name(fabric, link.to, out);
    text_add(out, link.cables > 1 ? ":cables-1" : ":down");
    return true;
}

static bool name_part(const Fabric *fabric, const VertexClass *class, const char *what, Text *out,
                      Err *err) {
    if (class == NULL) return lacks(fabric, what, err);
    fabric_vertex_name(fabric, class->first, out);
    text_add(out, ":down");
    return true;
}

bool sweep_machine_fault(const Fabric *fabric, SweepFail fail, Text *out, Err *err) {
    VertexId found = FABRIC_NONE;
    switch (fail) {
    case SWEEP_FAIL_NONE: return true;
    case SWEEP_FAIL_LINK: return name_link(fabric, out, err);
    case SWEEP_FAIL_NIC: return name_part(fabric, find_class(fabric, PART_NIC), "NIC", out, err);
    case SWEEP_FAIL_GPU: return name_part(fabric, find_class(fabric, PART_GPU), "GPU", out, err);
    case SWEEP_FAIL_PLANE:
        if (!find_switch(fabric, topology_class_is_scale_up, &found))
            return lacks(fabric, "switch of scale-up links", err);
        break;
    case SWEEP_FAIL_SWITCH:
        if (!find_switch(fabric, topology_class_is_network, &found))
            return lacks(fabric, "switch of a network", err);
        break;
    case SWEEP_FAIL_COUNT: return true;
    }
    fabric_vertex_name(fabric, found, out);
    text_add(out, ":down");
    return true;
}

static bool build_fabric(const SweepMachine *machine, SweepVariant *variant, Err *err) {
    return fabric_build(&variant->topology, machine->catalogue, &variant->fabric, err);
}

static bool add_fault(const SweepMachine *machine, SweepFail fail, SweepVariant *variant,
                      Err *err) {
    Text fault = {0};
    bool done = sweep_machine_fault(&variant->fabric, fail, &fault, err);
    if (done) {
        fabric_free(&variant->fabric);
        variant->fabric = (Fabric){0};
        done = topology_degrade_add(&variant->topology, "fail", text_string(&fault), err) &&
               build_fabric(machine, variant, err);
    }
    text_free(&fault);
    return done;
}

bool sweep_machine_build(const SweepMachine *machine, const SweepSetting *setting,
                         SweepVariant *out, Err *err) {
    *out = (SweepVariant){0};
    if (load(machine, setting, &out->topology, err) &&
        (machine->device == NULL ||
         topology_device_set(&out->topology, machine->catalogue, machine->device, err)) &&
        set_rates(&out->topology, setting, err) &&
        (machine->degrade == NULL ||
         topology_degrade_add(&out->topology, "--degrade", machine->degrade, err)) &&
        build_fabric(machine, out, err) &&
        (setting->fail == SWEEP_FAIL_NONE || add_fault(machine, setting->fail, out, err)))
        return true;
    sweep_machine_free(out);
    return false;
}

void sweep_machine_free(SweepVariant *variant) {
    fabric_free(&variant->fabric);
    topology_free(&variant->topology);
    *variant = (SweepVariant){0};
}
