// A fault: a part or a link of a machine that is down, or has less than it was built with.
//
// In a topology file, beside "templates" and "machine":
//   "faults": [ {"part": "rack[3].tray[2].gpu[1]", "state": "down"},
//               {"from": "rack[0].tray[*].gpu[0]", "to": "rack[0].nvswitch[4]",
//                "capacity": "50 %", "source": "..."},
//               {"part": "rack[0].tray[0].nic[*]", "cables_down": 1} ]
// On a command line, separated by commas outside of brackets:
//   PART:LEFT or FROM>TO:LEFT, where LEFT is "down", a share such as 50% or 17/18, a rate such as
//   25GB/s, or cables-N
// Patterns are those of links (topology.h), but from the root of the machine; one that ends at a
// template stands for all parts inside it. A part that is slow has slow links, in both directions;
// a share is one of the capacity as built, a rate is the most that each bundle keeps in each
// direction, and N cables are taken from each bundle. A GPU with a share left computes at that
// share too. Of several limits on a link or GPU the lowest holds; cables that are down add up.
#ifndef MODEL_MACHINE_FAULT_H
#define MODEL_MACHINE_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/hash.h"
#include "model/base/mem.h"
#include "model/base/text.h"

#define FAULT_LIST_MAX 4096 // faults of a machine; a pattern names any number of parts

typedef enum FaultKind { FAULT_DOWN, FAULT_SHARE, FAULT_RATE, FAULT_CABLES } FaultKind;

typedef struct Fault {
    const char *from, *to; // patterns; `to` is "" when `from` names parts
    FaultKind kind;
    uint32_t part, whole; // FAULT_SHARE: what is left, part < whole, in lowest terms
    uint64_t rate_Bps;    // FAULT_RATE: what is left at most, above 0
    uint32_t cables;      // FAULT_CABLES: how many are down, at least 1
    const char *source;
    const char *place; // where it was given, for messages
} Fault;

// Reads "PART:LEFT, FROM>TO:LEFT, ..."; whether the parts exist is not looked at. Strings are the
// arena's; the place of each is "LABEL SPEC", and messages start with it.
bool fault_parse_list(const char *text, const char *label, Arena *arena, Fault **out,
                      uint32_t *out_count, Err *err);

// Reads what is left of a capacity, "50 %", "17/18" or "25 GB/s", into kind and figures.
bool fault_parse_capacity(const char *text, Fault *out, Err *err);
void fault_write_capacity(const Fault *fault, Text *out); // reads back

// The fault as fault_parse_list reads it.
void fault_write(const Fault *fault, Text *out);

// Of the meaning; sources and places change no result.
Digest fault_digest(const Fault *fault);

#endif
