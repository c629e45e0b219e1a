// xoshiro256** with the state filled by splitmix64, which never gives the all-zero state.
// Source: Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021, section 5;
// Lemire, "Fast random integer generation in an interval", 2019, for the bound.
#include "model/base/rng.h"

#include <assert.h>

#include "model/base/hash.h"
#include "model/base/wide.h"

static uint64_t rotate(uint64_t x, int bits) {
    return x << bits | x >> (64 - bits);
}

void rng_seed(Rng *rng, uint64_t seed) {
    for (int i = 0; i < 4; i++) {
        seed += UINT64_C(0x9e3779b97f4a7c15);
        rng->state[i] = hash_spread(seed);
    }
}

uint64_t rng_next(Rng *rng) {
    uint64_t *s = rng->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

// The high half of next * bound; low halves under 2^64 mod bound would favour some results.
uint64_t rng_below(Rng *rng, uint64_t bound) {
    assert(bound > 0);
    uint64_t biased = (UINT64_MAX - bound + 1) % bound;
    Wide product;
    do product = wide_mul(rng_next(rng), bound);
    while ((uint64_t)product < biased);
    return (uint64_t)(product >> 64);
}

double rng_unit(Rng *rng) {
    return (double)(rng_next(rng) >> 11) / 9007199254740992.0; // 2^53
}
