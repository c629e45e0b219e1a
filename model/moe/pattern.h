// Which layer is of which kind.
#ifndef MODEL_MOE_PATTERN_H
#define MODEL_MOE_PATTERN_H

#include "model/moe/reader.h"

// For each layer, positions in family->parts of its attention and of its feed-forward block.
typedef struct Pattern {
    uint8_t *attention, *mlp; // [layers], in the reader's arena
    uint32_t layers;
} Pattern;

// Fails when a list names a layer twice or none that exists, or when a layer is left without a
// kind.
bool pattern_read(Reader *reader, Pattern *out, Err *err);

#endif
