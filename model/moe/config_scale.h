// A smaller model of the same structure: its config.json with widths divided, fewer layers and
// fewer experts, so that what it communicates can be run on a small machine.
#ifndef MODEL_MOE_CONFIG_SCALE_H
#define MODEL_MOE_CONFIG_SCALE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/base/text.h"
#include "model/moe/arch.h"

// `divide`: the hidden size, widths of latents and feed-forward blocks, the vocabulary and numbers
// of heads become that many times smaller; numbers of KV heads that do not come out even become 1,
// the vocabulary is rounded down. What one head, one block of scales or one state has stays as it
// is, and so does how many experts a token chooses. `layers`: the first ones; how many dense layers
// come first shrinks with them, to no less than one. 0 leaves a number as it is.
typedef struct ConfigScale {
    uint32_t divide, layers, experts;
} ConfigScale;

// The config of the smaller model, as JSON. Refuses by name: a model_type that no family has, a
// width that cannot be divided, more layers or experts than there are. Whether the family accepts
// the result is for arch_parse to say. Assumptions of the input are not looked at.
bool config_scale_write(const ArchInput *input, const ConfigScale *scale, Text *out, Err *err);

#endif
