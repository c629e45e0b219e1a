// A stream of bytes through shared memory.
//
// Invariant: taken <= written <= taken + room. Each count is written by one side alone, after the
// bytes that it tells of, and read by the other before it touches them: Lamport, "Specifying
// Concurrent Program Modules", TOPLAS 1983. The order of all accesses is one (sequentially
// consistent), so that of two sides that look at each other and go to sleep, one sees the other.
#include "exec/net/ring.h"

#include <string.h>

size_t ring_size(size_t room) {
    return sizeof(Ring) + room;
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

size_t ring_filled(const Ring *ring) {
    uint64_t taken = atomic_load(&ring->taken);
    return (size_t)(atomic_load(&ring->written) - taken);
}

size_t ring_write(Ring *ring, size_t room, const uint8_t *bytes, size_t count) {
    uint64_t written = atomic_load_explicit(&ring->written, memory_order_relaxed);
    size_t filled = least((size_t)(written - atomic_load(&ring->taken)), room);
    size_t now = least(count, room - filled);
    if (now == 0) return 0;
    size_t at = (size_t)(written & (room - 1));
    size_t first = least(now, room - at);
    memcpy(ring->bytes + at, bytes, first);
    memcpy(ring->bytes, bytes + first, now - first);
    atomic_store(&ring->written, written + now);
    return now;
}

RingTaken ring_take(Ring *ring, size_t room, uint8_t *bytes, size_t count) {
    uint64_t taken = atomic_load_explicit(&ring->taken, memory_order_relaxed);
    size_t now = least(count, least((size_t)(atomic_load(&ring->written) - taken), room));
    if (now == 0) return (RingTaken){0};
    size_t at = (size_t)(taken & (room - 1));
    size_t first = least(now, room - at);
    memcpy(bytes, ring->bytes + at, first);
    memcpy(bytes + first, ring->bytes, now - first);
    atomic_store(&ring->taken, taken + now);
    // A writer that saw no room either wrote before this load, or looks again after that store.
    return (RingTaken){.count = now, .was_full = atomic_load(&ring->written) - taken >= room};
}
