// A machine from a hand-written dump in tests/machine/import, and what tests ask of it.
#ifndef TESTS_MACHINE_IMPORTED_H
#define TESTS_MACHINE_IMPORTED_H

#include "tests/machine/machine.h"

#include <stdlib.h>

#include "model/machine/fabric_summary.h"
#include "model/machine/import.h"

static inline FabricSummary imported_summary(const Machine *machine) {
    FabricSummary summary;
    Err err = {{0}};
    check_ok(fabric_summary_make(&machine->fabric, &summary, &err), &err);
    return summary;
}

// Copies of a class of parts, 0 when there is none: "node.gpu".
static inline uint32_t imported_count(const Machine *machine, const char *class) {
    for (uint32_t i = 0; i < machine->fabric.class_count; i++) {
        if (strcmp(machine->fabric.classes[i].name, class) == 0)
            return machine->fabric.classes[i].count;
    }
    return 0;
}

static inline void imported_finding(const Machine *machine, const char *text) {
    if (strstr(machine->topology.note, text) == NULL)
        fail_msg("no finding \"%s\" in \"%s\"", text, machine->topology.note);
}

// The rule between two patterns, which must be there.
static inline const LinkRule *imported_rule(const Machine *machine, const char *from,
                                            const char *to) {
    for (uint32_t i = 0; i < machine->topology.template_count; i++) {
        const Template *in = &machine->topology.templates[i];
        for (uint32_t k = 0; k < in->link_count; k++) {
            if (strcmp(in->links[k].from, from) == 0 && strcmp(in->links[k].to, to) == 0)
                return &in->links[k];
        }
    }
    fail_msg("no rule from %s to %s", from, to);
    abort(); // fail_msg does not come back
}

// A text of a grammar that must be refused with this message; the file is called f.
static inline void imported_refusal(ImportGrammar grammar, const char *text, const char *message) {
    Topology topology = {0};
    Err err = {{0}};
    check_fails(import_parse(grammar, "f", text, strlen(text), &topology, &err), &err, message);
}

#endif
