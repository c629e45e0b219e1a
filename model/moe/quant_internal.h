// The parts of quant_read: one for each tool that writes quantised checkpoints, and what they
// share.
#ifndef MODEL_MOE_QUANT_INTERNAL_H
#define MODEL_MOE_QUANT_INTERNAL_H

#include "model/moe/quant.h"

bool quant_read_fp8(Reader *reader, JsonNode config, Quant *quant, Err *err);
bool quant_read_mxfp4(Reader *reader, JsonNode config, Quant *quant, Err *err);
bool quant_read_compressed(Reader *reader, JsonNode config, Quant *quant, Err *err);
bool quant_read_modelopt(Reader *reader, JsonNode config, Quant *quant, Err *err);
// The layers that NVIDIA Model Optimizer took over from a checkpoint of blocks.
bool quant_read_modelopt_layers(Reader *reader, JsonNode config, Quant *quant, Err *err);

// The index of a store with these sizes, which is added when it is new.
bool quant_add_store(Quant *quant, QuantSchemeId scheme, uint32_t block_rows,
                     uint32_t block_columns, uint32_t beside_count, JsonNode at, uint32_t *out,
                     Err *err);
// Adds the names of an optional list to a set.
bool quant_read_names(Reader *reader, JsonNode config, const char *key, MatchSet *set,
                      uint32_t value, Err *err);
// The word at `key` must be one of `count`; `*out` is its position, or `count` when there is none.
bool quant_read_word(JsonNode config, const char *key, const char *const *words, uint32_t count,
                     uint32_t *out, Err *err);
bool quant_expect_number(JsonNode object, const char *key, uint64_t wanted, Err *err);
// An array of rows and columns of a block.
bool quant_read_block(JsonNode config, const char *key, uint32_t *rows, uint32_t *columns,
                      Err *err);
// A note when the checkpoint was made for a quantised cache, and whether that is one in fp8; how it
// is stored is for a scenario to say.
void quant_note_cache(Reader *reader, JsonNode config, const char *key, Quant *quant);
// Refuses keys of `config` that nobody read. `path` leads to it.
bool quant_check_keys(Reader *reader, JsonNode config, const char *path, Err *err);

#endif
