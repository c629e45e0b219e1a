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

// Leading zero bytes only multiply: that is done at once. Most values are small.
Digest hash_long(Digest hash, uint64_t value) {
    static const uint64_t powers[9] = {1,
                                       HASH_PRIME,
                                       UINT64_C(0x366000002e329),
                                       UINT64_C(0x8a97b0004e7feab),
                                       UINT64_C(0x9ffaac085635bc91),
                                       UINT64_C(0xcaee32a7d4f6a63),
                                       UINT64_C(0xdc966432edf1c639),
                                       UINT64_C(0xc5527b8a51d3d2db),
                                       HASH_PRIME_8};
    int zeros = 8;
    for (; value > 0; value >>= 8, zeros--) hash = (hash ^ (value & 0xff)) * HASH_PRIME;
    return hash * powers[zeros];
}

Digest hash_string(Digest hash, const char *string) {
    return hash_bytes(hash, string, strlen(string) + 1);
}

int hash_compare(const void *left, const void *right) {
    Digest a = *(const Digest *)left, b = *(const Digest *)right;
    return a < b ? -1 : a > b;
}

char *hash_format(Digest digest, char *buffer) {
    for (int i = 0; i < 16; i++) buffer[i] = "0123456789abcdef"[digest >> (60 - 4 * i) & 15];
    buffer[16] = '\0';
    return buffer;
}
