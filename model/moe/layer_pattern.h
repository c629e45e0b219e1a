// Which layer is of which kind.
#ifndef MODEL_MOE_LAYER_PATTERN_H
#define MODEL_MOE_LAYER_PATTERN_H

#include "model/moe/reader.h"

// For each layer, positions in family->parts of its attention and of its feed-forward block.
typedef struct LayerPattern {
    uint8_t *attention, *mlp; // [layers], in the reader's arena
    uint32_t layers;
} LayerPattern;

// Fails when a list names a layer twice or none that exists, or when a layer is left without a
// kind.
bool layer_pattern_read(Reader *reader, LayerPattern *out, Err *err);

#endif
