// FNV-1a, 64 bits: digests of values, keys of tables. Not for security.
// Source: Fowler, Noll, Vo; draft-eastlake-fnv, constants of the 64-bit variant.
#ifndef MODEL_BASE_HASH_H
#define MODEL_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t Digest;

#define HASH_START   UINT64_C(0xcbf29ce484222325)
#define HASH_PRIME_8 UINT64_C(0x1efac7090aef4a21) // the 8th power of the prime: what zeros multiply

// Each returns `hash` with more bytes mixed in. Integers are mixed as 8 little-endian bytes on
// every machine; a string includes its terminator, so "ab","c" and "a","bc" differ.
Digest hash_bytes(Digest hash, const void *bytes, size_t count);
Digest hash_string(Digest hash, const char *string);
Digest hash_long(Digest hash, uint64_t value); // the rule of hash_u64, for any value
static inline Digest hash_u64(Digest hash, uint64_t value) {
    return value < 256 ? (hash ^ value) * HASH_PRIME_8 : hash_long(hash, value);
}

// All bits of the result depend on all bits of `x`, which the last bytes of a Digest do not give: a
// bijection, 0 stays 0. The finaliser of splitmix64: G. Steele, D. Lea, C. Flood, "Fast splittable
// pseudorandom number generators", OOPSLA 2014.
static inline uint64_t hash_spread(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

int hash_compare(const void *left, const void *right); // of two Digests, for qsort and bsearch

// 16 lower-case hexadecimal digits; `buffer` has at least 17 bytes. Returns buffer.
char *hash_format(Digest digest, char *buffer);

#endif
