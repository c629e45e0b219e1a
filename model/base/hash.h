// FNV-1a, 64 bits: digests of values, keys of tables. Not for security.
// Source: Fowler, Noll, Vo; draft-eastlake-fnv, constants of the 64-bit variant.
#ifndef MODEL_BASE_HASH_H
#define MODEL_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t Digest;

#define HASH_START UINT64_C(0xcbf29ce484222325)

// Each returns `hash` with more bytes mixed in. Integers are mixed as 8 little-endian bytes on
// every machine; a string includes its terminator, so "ab","c" and "a","bc" differ.
Digest hash_bytes(Digest hash, const void *bytes, size_t count);
Digest hash_u64(Digest hash, uint64_t value);
Digest hash_string(Digest hash, const char *string);

// 16 lower-case hexadecimal digits; `buffer` has at least 17 bytes. Returns buffer.
char *hash_format(Digest digest, char *buffer);

#endif
