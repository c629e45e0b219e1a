// Answers, name by name, how a weight is stored.
//
// Invariant: an exception outweighs a target, a name outweighs a class of modules, and only the
// full name of a module quantises what is not a weight of a linear layer (an output head).
#include "model/moe/quant.h"

const QuantStore *quant_store(Quant *quant, const char *module, const TensorRow *row) {
    uint32_t store = QUANT_PLAIN, named = QUANT_PLAIN, instead = QUANT_UNNAMED;
    if (quant->store_count == 0) return NULL;
    MatchHow target = match_set_find(&quant->targets, module, &named);
    MatchHow exception = match_set_find(&quant->exceptions, module, &instead);
    bool is_matrix = row->dims[0] != DIM_NONE && row->dims[1] != DIM_NONE;
    if (row->store == STORE_WEIGHT)
        store = row->component == COMPONENT_ROUTED ? quant->experts : quant->others;
    if (exception != MATCH_NOT) {
        if (instead == QUANT_PLAIN) store = QUANT_PLAIN;
    } else if (row->store == STORE_WEIGHT ? target != MATCH_NOT
                                          : row->store == STORE_PLAIN && target == MATCH_EXACTLY) {
        store = named;
    }
    if (store == QUANT_PLAIN || !is_matrix) return NULL;
    quant->is_used[store] = true;
    return &quant->stores[store];
}

static void note_names(const MatchSet *set, const char *where, const char *what, Reader *reader) {
    uint32_t count;
    const char *first = match_set_unused(set, &count);
    if (first != NULL)
        reader_note(reader, "%s: %u of %u %s name nothing known, first %s", where, count,
                    set->entry_count, what, first);
}

void quant_note_unused(const Quant *quant, Reader *reader) {
    note_names(&quant->exceptions, quant->where, "exceptions", reader);
    note_names(&quant->targets, quant->where, "quantised modules", reader);
    for (uint32_t i = 0; i < quant->store_count; i++)
        if (!quant->is_used[i])
            reader_note(reader, "%s: no weight is stored in %s", quant->where,
                        quant->stores[i].scheme->name);
}

bool quant_check_used(const Quant *quant, Reader *reader, Err *err) {
    for (uint32_t i = 0; i < quant->store_count; i++)
        if (quant->is_used[i]) return true;
    if (quant->store_count == 0) return true;
    JsonNode config = reader_find(reader, "quantization_config");
    if (json_is_absent(config)) config = json_find(reader->quant, "quantization");
    return json_error(config, err, "its targets and exceptions leave no weight in %s",
                      quant->stores[0].scheme->name);
}
