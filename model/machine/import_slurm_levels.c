// Trees that are the same everywhere: their machine is a few templates with counts, so that its
// shape shows.
//
// Invariant: node i of the file is node i of the templates, depth first.
#include "model/machine/import_slurm.h"

// Runs of as many neighbours as have one owner: `owner` of each of `count` items becomes that of
// each run. 0 when runs differ in length or an owner comes back.
static uint32_t join_runs(uint32_t *owner, uint32_t count, const uint32_t *owned) {
    uint32_t size = 0;
    while (size < count && owner[size] == owner[0]) size++;
    if (size == 0 || count % size != 0) return 0;
    for (uint32_t i = 0; i < count; i++)
        if (owner[i] == IMPORT_NONE || owner[i] != owner[i - i % size] || owned[owner[i]] != size)
            return 0;
    for (uint32_t i = 0; i < count / size; i++) owner[i] = owner[i * size];
    return size;
}

// What each switch has right below it: nodes, or switches that have nodes below them.
static uint32_t *count_owned(const ImportSlurm *s) {
    uint32_t *owned = mem_alloc(s->switch_count, sizeof *owned);
    for (uint32_t i = 0; i < s->node_count; i++)
        if (s->nodes[i].above != IMPORT_NONE) owned[s->nodes[i].above]++;
    for (uint32_t i = 0; i < s->switch_count; i++)
        if (s->switches[i].parent != IMPORT_NONE) owned[s->switches[i].parent]++;
    return owned;
}

static bool blocks_are_leaves(const ImportSlurm *s, uint32_t nodes) {
    if (s->block_count == 0) return true;
    for (uint32_t i = 0; i < s->node_count; i++)
        if (s->nodes[i].block != i / nodes) return false;
    return s->block_count == s->node_count / nodes;
}

bool import_slurm_levels(const ImportSlurm *s, ImportSlurmLevels *out) {
    ImportSlurmLevels levels = {0};
    uint32_t count = s->node_count, switches = 0;
    uint32_t *owned = count_owned(s), *owner = mem_alloc(count, sizeof *owner);
    for (uint32_t i = 0; i < count; i++) owner[i] = s->nodes[i].above;
    while (count > 1 && levels.count < IMPORT_SLURM_LEVELS_MAX) {
        uint32_t size = join_runs(owner, count, owned);
        if (size == 0) break;
        levels.size[levels.count++] = size;
        count /= size;
        switches += count;
        if (count == 1) break;
        for (uint32_t i = 0; i < count; i++) owner[i] = s->switches[owner[i]].parent;
    }
    bool is_whole = count == 1 && levels.count >= 2 && switches == s->switch_count &&
                    blocks_are_leaves(s, levels.size[0]);
    mem_free(owned);
    mem_free(owner);
    if (is_whole) *out = levels;
    return is_whole;
}
