// What the arithmetic of a model needs from its config.json besides the structure (Arch): norms,
// rotation, router.
#ifndef EXEC_FORWARD_CONFIG_H
#define EXEC_FORWARD_CONFIG_H

#include <stdbool.h>

#include "exec/kernel/rope.h"
#include "exec/kernel/router.h"
#include "model/base/err.h"
#include "model/moe/arch.h"

typedef struct ForwardConfig {
    double norm_epsilon;
    RopeSpec rope;
    RouterSpec router; // experts and groups are those of the layer (MlpSpec)
} ForwardConfig;

// Of a model that arch_load read from the same name. Refused by name: families whose arithmetic is
// not known here, activations, rotations and ways to choose experts that have no kernel.
bool forward_config_read(const char *name, const Arch *arch, ForwardConfig *out, Err *err);
bool forward_config_parse(const ArchInput *input, const Arch *arch, ForwardConfig *out, Err *err);

#endif
