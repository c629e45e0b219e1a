// FNV-1a: xor a byte, multiply by the prime. The order of bytes is fixed here, not by the machine.
// Source: draft-eastlake-fnv, 64-bit prime 2^40 + 2^8 + 0xb3.
#include "model/base/hash.h"

#include <string.h>

#define HASH_PRIME UINT64_C(0x100000001b3)

Digest hash_bytes(Digest hash, const void *bytes, size_t count) {
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < count; i++) hash = (hash ^ byte[i]) * HASH_PRIME;
    return hash;
}

Digest hash_u64(Digest hash, uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) {
        hash = (hash ^ (value >> shift & 0xff)) * HASH_PRIME;
    }
    return hash;
}

Digest hash_string(Digest hash, const char *string) {
    return hash_bytes(hash, string, strlen(string) + 1);
}

char *hash_format(Digest digest, char *buffer) {
    for (int i = 0; i < 16; i++) buffer[i] = "0123456789abcdef"[digest >> (60 - 4 * i) & 15];
    buffer[16] = '\0';
    return buffer;
}
