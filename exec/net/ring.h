// A stream of bytes from one process to another through memory that both have mapped: one writer,
// one reader, no system call.
#ifndef EXEC_NET_RING_H
#define EXEC_NET_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Zeroed memory is an empty ring. The two counts never wrap in practice (2^64 bytes) and lie apart,
// so that writer and reader do not share a cache line.
typedef struct Ring {
    _Alignas(64) _Atomic uint64_t written;
    _Alignas(64) _Atomic uint64_t taken;
    _Alignas(64) uint8_t bytes[];
} Ring;

// Bytes of a ring that holds `room` bytes, a power of two.
size_t ring_size(size_t room);

// was_full: the writer may have found no room before this.
typedef struct RingTaken {
    size_t count;
    bool was_full;
} RingTaken;

// As many bytes as fit, or are there: 0 when none. The other side sees them at once.
size_t ring_write(Ring *ring, size_t room, const uint8_t *bytes, size_t count);
RingTaken ring_take(Ring *ring, size_t room, uint8_t *bytes, size_t count);

size_t ring_filled(const Ring *ring);

#endif
