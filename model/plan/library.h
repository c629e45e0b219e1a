// What communication libraries do when the machine under them changes: data, not code, with sources
// (scenarios/engines/libraries.json).
//
//   { "moesim": "communication-libraries", "version": 1, "libraries": [
//       { "library": "NCCL", "lost_nic": "stops", "because": "...", "unless": "...",
//         "source": "..." } ] }
#ifndef MODEL_PLAN_LIBRARY_H
#define MODEL_PLAN_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/mem.h"

// Of a running job that loses a NIC which it uses.
#define LIBRARY_LOSS_LIST(X) X(STOPS, "stops") X(GOES_ON, "goes on")
typedef enum LibraryLoss {
#define X(name, text) LIBRARY_##name,
    LIBRARY_LOSS_LIST(X)
#undef X
        LIBRARY_LOSS_COUNT
} LibraryLoss;
extern const char *const library_loss_names[LIBRARY_LOSS_COUNT];

// `unless` is where it does otherwise, "" when it never does.
typedef struct Library {
    const char *name, *because, *unless, *source;
    LibraryLoss lost_nic;
} Library;

typedef struct Libraries {
    Arena arena;
    Library *libraries;
    uint32_t count;
} Libraries;

// The shipped list. Freed by library_free.
bool library_load(Libraries *out, Err *err);
bool library_parse(const char *name, const char *bytes, size_t count, Libraries *out, Err *err);
void library_free(Libraries *libraries);

#endif
