// Events in order of time.
//
// A heap whose nodes have four children: half as deep as a binary one, and the children of a node
// are neighbours in memory (LaMarca and Ladner, The influence of caches on the performance of
// heaps, 1996). Invariant: events of one time leave in the order in which they were added.
#include "sim/packet_internal.h"

#include "model/base/mem.h"

#define CHILDREN 4

static bool is_before(const Event *a, const Event *b) {
    return a->time != b->time ? a->time < b->time : a->order < b->order;
}

void packet_event_add(EventHeap *heap, const Event *event) {
    heap->events = mem_grow(heap->events, &heap->capacity, heap->count + 1, sizeof *heap->events);
    Event added = *event;
    added.order = heap->scheduled++;
    uint32_t at = heap->count++;
    while (at > 0 && is_before(&added, &heap->events[(at - 1) / CHILDREN])) {
        heap->events[at] = heap->events[(at - 1) / CHILDREN];
        at = (at - 1) / CHILDREN;
    }
    heap->events[at] = added;
}

bool packet_event_take(EventHeap *heap, Event *out) {
    if (heap->count == 0) return false;
    *out = heap->events[0];
    Event moved = heap->events[--heap->count];
    for (uint32_t at = 0;;) {
        uint32_t first = at * CHILDREN + 1, least = first;
        uint32_t end = first + CHILDREN < heap->count ? first + CHILDREN : heap->count;
        for (uint32_t child = first + 1; child < end; child++)
            if (is_before(&heap->events[child], &heap->events[least])) least = child;
        if (first >= heap->count || !is_before(&heap->events[least], &moved)) {
            heap->events[at] = moved;
            return true;
        }
        heap->events[at] = heap->events[least];
        at = least;
    }
}
