// The table of families, and the look-up by model_type.
//
// Invariant: a family is a row in one of family_*.c; nothing outside these tables depends on its
// name. A new family whose layers are made of known parts is one more row there; a new kind of
// layer is one more part and, if need be, new names in dim_list.h.
#include "model/moe/family_rows.h"

#include <string.h>

static const FamilyGroup *const groups[] = {
    &family_deepseek, &family_deepseek_v4, &family_kimi,    &family_qwen,   &family_glm,
    &family_minimax,  &family_nemotron,    &family_step,    &family_open,   &family_bailing,
    &family_phimoe,   &family_granite,     &family_dbrx,    &family_arctic, &family_grok,
    &family_hunyuan,  &family_jamba,       &family_gpt_oss, &family_llama4, &family_gemma};

// The next word of "a|b|c": its length, and *rest after the bar.
static size_t next_word(const char **rest, const char **word) {
    *word = *rest;
    size_t length = strcspn(*rest, "|");
    *rest += length + ((*rest)[length] == '|');
    return length;
}

bool family_word_in(const char *word, const char *joined) {
    while (*joined != '\0') {
        const char *candidate;
        size_t length = next_word(&joined, &candidate);
        if (strlen(word) == length && memcmp(word, candidate, length) == 0) return true;
    }
    return false;
}

const Family *family_at(uint32_t index) {
    for (uint32_t g = 0; g < COUNT(groups); g++) {
        if (index < groups[g]->count) return &groups[g]->families[index];
        index -= groups[g]->count;
    }
    return NULL;
}

const Family *family_find(const char *model_type) {
    const Family *family;
    for (uint32_t i = 0; (family = family_at(i)) != NULL; i++)
        if (family_word_in(model_type, family->model_types)) return family;
    return NULL;
}

const char *family_name(const Family *family, Arena *arena) {
    size_t length = strcspn(family->model_types, "|");
    return arena_printf(arena, "%.*s", (int)length, family->model_types);
}
