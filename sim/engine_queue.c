// The event queue: a binary heap ordered by (time, sequence), so that events of one instant come in
// the order in which they were pushed.
#include "model/base/mem.h"
#include "sim/engine.h"

static bool is_before(const Event *a, const Event *b) {
    return a->time != b->time ? a->time < b->time : a->sequence < b->sequence;
}

void engine_push(Sim *sim, const Event *event) {
    sim->heap = mem_grow(sim->heap, &sim->heap_capacity, sim->heap_count + 1, sizeof *sim->heap);
    Event added = *event;
    added.sequence = sim->sequence++;
    uint32_t at = sim->heap_count++;
    for (; at > 0 && is_before(&added, &sim->heap[(at - 1) / 2]); at = (at - 1) / 2)
        sim->heap[at] = sim->heap[(at - 1) / 2];
    sim->heap[at] = added;
}

bool engine_pop(Sim *sim, Event *out) {
    if (sim->heap_count == 0) return false;
    *out = sim->heap[0];
    Event last = sim->heap[--sim->heap_count];
    uint32_t at = 0;
    for (uint32_t child; (child = 2 * at + 1) < sim->heap_count; at = child) {
        if (child + 1 < sim->heap_count && is_before(&sim->heap[child + 1], &sim->heap[child]))
            child++;
        if (!is_before(&sim->heap[child], &last)) break;
        sim->heap[at] = sim->heap[child];
    }
    sim->heap[at] = last;
    sim->events++;
    return true;
}
