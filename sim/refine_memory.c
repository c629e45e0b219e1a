// Remembers what refine_route.c found.
//
// Invariant: a form is a function of the machine and of its key, and is kept before links are
// bundled: bundles are those of one run.
#include "sim/refine_memory.h"

#define LINKS_MAX 4000000 // of searched routes that are kept: 32 MB

struct RefineMemory {
    Arena arena;
    RefineForm *forms;
    uint32_t count, capacity;
    uint64_t links; // of searched routes
    KeyMap by_key;
};

#define NO_FORM (KEYMAP_NONE - 1)

RefineMemory *refine_memory_open(void) {
    return mem_alloc(1, sizeof(RefineMemory));
}

void refine_memory_close(RefineMemory *memory) {
    if (memory == NULL) return;
    mem_free(memory->forms);
    keymap_free(&memory->by_key);
    arena_free(&memory->arena);
    mem_free(memory);
}

const RefineForm *refine_memory_find(const RefineMemory *memory, uint64_t key, bool *is_each) {
    uint32_t found = keymap_find(&memory->by_key, key);
    *is_each = found == NO_FORM;
    return found == KEYMAP_NONE || found == NO_FORM ? NULL : &memory->forms[found];
}

Arena *refine_memory_arena(RefineMemory *memory) {
    return &memory->arena;
}

bool refine_memory_has_room(RefineMemory *memory, uint32_t links) {
    if (links > LINKS_MAX - memory->links) return false;
    memory->links += links;
    return true;
}

void refine_memory_keep(RefineMemory *memory, uint64_t key, const RefineForm *form) {
    if (form == NULL) {
        keymap_add(&memory->by_key, key, NO_FORM);
        return;
    }
    memory->forms =
        mem_grow(memory->forms, &memory->capacity, memory->count + 1, sizeof *memory->forms);
    keymap_add(&memory->by_key, key, memory->count);
    memory->forms[memory->count++] = *form;
}
