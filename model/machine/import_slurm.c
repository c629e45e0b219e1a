// Hostlists, and the collection of what a file says.
//
// Invariant: before a list is expanded the number of its names is known and within its bound.
#include "model/machine/import_slurm.h"

#include <stdio.h>
#include <string.h>

#include "model/base/text.h"
#include "model/machine/import_line.h"

#define BRACKETS_MAX 8
#define RANGES_MAX   1024 // of one name
#define NUMBER_MAX   100000000
#define NAME_MAX_B   256

typedef struct HostRange {
    uint32_t first, last, width; // digits, with zeros in front
} HostRange;

// "a[0-3]b[1,2]c": text, a bracket, text, a bracket, text.
typedef struct HostName {
    const char *texts[BRACKETS_MAX + 1];
    size_t lengths[BRACKETS_MAX + 1];
    uint32_t first_range[BRACKETS_MAX + 1]; // of bracket i to that of i + 1
    HostRange ranges[RANGES_MAX];
    uint32_t brackets, range_count;
} HostName;

void import_slurm_free(ImportSlurm *slurm) {
    mem_free(slurm->nodes);
    mem_free(slurm->switches);
    mem_free(slurm->children);
    *slurm = (ImportSlurm){.import = NULL};
}

static bool parse_range(const char **text, HostRange *out) {
    const char *start = *text;
    if (!import_line_number(text, NUMBER_MAX, &out->first)) return false;
    out->width = (uint32_t)(*text - start);
    out->last = out->first;
    if (out->width > 9) return false;
    if (!import_line_take(text, "-")) return true;
    return import_line_number(text, NUMBER_MAX, &out->last) && out->last >= out->first;
}

static bool parse_bracket(const char **text, HostName *name) {
    do {
        if (name->range_count == RANGES_MAX) return false;
        if (!parse_range(text, &name->ranges[name->range_count++])) return false;
    } while (import_line_take(text, ","));
    return import_line_take(text, "]");
}

// One name up to a comma outside brackets, or the end.
static bool parse_name(const char **text, HostName *name) {
    name->brackets = name->range_count = 0;
    for (;;) {
        name->texts[name->brackets] = *text;
        name->lengths[name->brackets] = strcspn(*text, "[],");
        *text += name->lengths[name->brackets];
        name->first_range[name->brackets] = name->range_count;
        if (**text != '[') return **text != ']';
        if (name->brackets == BRACKETS_MAX) return false;
        ++*text;
        if (!parse_bracket(text, name)) return false;
        name->brackets++;
    }
}

// How many names; 0 when it is none, or more than the bound.
static uint64_t count_names(const HostName *name) {
    uint64_t count = 1, length = 0;
    for (uint32_t i = 0; i <= name->brackets; i++) length += name->lengths[i] + 10;
    if (length > NAME_MAX_B || length == 10) return 0;
    for (uint32_t i = 0; i < name->brackets; i++) {
        uint64_t sum = 0;
        for (uint32_t r = name->first_range[i]; r < name->first_range[i + 1]; r++)
            sum += (uint64_t)name->ranges[r].last - name->ranges[r].first + 1;
        count *= sum;
        if (count > IMPORT_SLURM_NAMES_MAX) return 0;
    }
    return count;
}

// Name `number` of all, the last bracket running fastest.
static void print_name(const HostName *name, uint64_t number, char *out) {
    uint64_t index[BRACKETS_MAX];
    size_t used = 0;
    for (uint32_t i = name->brackets; i > 0; i--) {
        uint64_t sum = 0;
        for (uint32_t r = name->first_range[i - 1]; r < name->first_range[i]; r++)
            sum += (uint64_t)name->ranges[r].last - name->ranges[r].first + 1;
        index[i - 1] = number % sum;
        number /= sum;
    }
    for (uint32_t i = 0; i <= name->brackets; i++) {
        memcpy(out + used, name->texts[i], name->lengths[i]);
        used += name->lengths[i];
        if (i == name->brackets) break;
        uint32_t r = name->first_range[i];
        while (index[i] > name->ranges[r].last - name->ranges[r].first) {
            index[i] -= (uint64_t)name->ranges[r].last - name->ranges[r].first + 1;
            r++;
        }
        used +=
            (size_t)snprintf(out + used, NAME_MAX_B - used, "%0*llu", (int)name->ranges[r].width,
                             (unsigned long long)(name->ranges[r].first + index[i]));
    }
    out[used] = '\0';
}

bool import_slurm_expand(const Import *import, const char *list, uint32_t line,
                         ImportSlurmTake take, void *user, Err *err) {
    char buffer[NAME_MAX_B + 16], quote[TEXT_QUOTE_MAX];
    const char *text = list;
    uint64_t total = 0;
    HostName *name = mem_alloc(1, sizeof *name);
    bool done = true, is_list = true;
    while (done && is_list && *text != '\0') {
        is_list = parse_name(&text, name);
        uint64_t count = is_list ? count_names(name) : 0;
        total += count;
        is_list = count > 0 && total <= IMPORT_SLURM_NAMES_MAX;
        for (uint64_t i = 0; done && is_list && i < count; i++) {
            print_name(name, i, buffer);
            done = take(user, buffer, err);
        }
        if (import_line_take(&text, ",") && *text == '\0') is_list = false;
    }
    mem_free(name);
    if (!is_list || *list == '\0')
        return import_node_error(
            import, line, err, "expected names such as \"n[0-3,12]\", at most %d of them, found %s",
            IMPORT_SLURM_NAMES_MAX, text_quote(list, quote));
    return done;
}

// ---- Collecting

bool import_slurm_switch(ImportSlurm *slurm, const char *name, uint32_t line, Err *err) {
    if (slurm->switch_count == IMPORT_SLURM_SWITCHES_MAX)
        return import_node_error(slurm->import, line, err, "expected at most %d switches",
                                 IMPORT_SLURM_SWITCHES_MAX);
    slurm->switches = mem_grow(slurm->switches, &slurm->switch_capacity, slurm->switch_count + 1,
                               sizeof *slurm->switches);
    slurm->switches[slurm->switch_count++] = (ImportSlurmSwitch){
        .name = arena_string(&slurm->import->arena, name), .line = line, .parent = IMPORT_NONE};
    return true;
}

// Where names of one list go.
typedef struct Target {
    ImportSlurm *slurm;
    uint32_t line, above, block;
} Target;

static bool take_node(void *user, const char *name, Err *err) {
    Target *target = user;
    ImportSlurm *slurm = target->slurm;
    if (slurm->node_count == IMPORT_SLURM_NAMES_MAX)
        return import_node_error(slurm->import, target->line, err, "expected at most %d nodes",
                                 IMPORT_SLURM_NAMES_MAX);
    slurm->nodes =
        mem_grow(slurm->nodes, &slurm->node_capacity, slurm->node_count + 1, sizeof *slurm->nodes);
    slurm->nodes[slurm->node_count++] =
        (ImportSlurmNode){.name = arena_string(&slurm->import->arena, name),
                          .line = target->line,
                          .above = target->above,
                          .block = target->block};
    return true;
}

static bool take_child(void *user, const char *name, Err *err) {
    Target *target = user;
    ImportSlurm *slurm = target->slurm;
    if (slurm->child_count == IMPORT_SLURM_SWITCHES_MAX)
        return import_node_error(slurm->import, target->line, err,
                                 "expected at most %d switches below others",
                                 IMPORT_SLURM_SWITCHES_MAX);
    slurm->children = mem_grow(slurm->children, &slurm->child_capacity, slurm->child_count + 1,
                               sizeof *slurm->children);
    slurm->children[slurm->child_count++] =
        (ImportSlurmChild){arena_string(&slurm->import->arena, name), target->line, target->above};
    return true;
}

bool import_slurm_nodes(ImportSlurm *slurm, const char *list, uint32_t line, uint32_t above,
                        uint32_t block, Err *err) {
    Target target = {slurm, line, above, block};
    if (above != IMPORT_NONE) slurm->switches[above].has_nodes = true;
    return import_slurm_expand(slurm->import, list, line, take_node, &target, err);
}

bool import_slurm_node(ImportSlurm *slurm, const char *name, uint32_t line, uint32_t above,
                       uint32_t block, Err *err) {
    Target target = {slurm, line, above, block};
    return take_node(&target, name, err);
}

bool import_slurm_children(ImportSlurm *slurm, const char *list, uint32_t line, uint32_t above,
                           Err *err) {
    Target target = {slurm, line, above, IMPORT_NONE};
    return import_slurm_expand(slurm->import, list, line, take_child, &target, err);
}
