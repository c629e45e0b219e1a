// Random numbers with a seed that is printed: xoshiro256**, seeded by splitmix64.
// Source: Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2021.
// The same seed gives the same numbers on every machine.
#ifndef MODEL_BASE_RNG_H
#define MODEL_BASE_RNG_H

#include <stdint.h>

typedef struct Rng {
    uint64_t state[4];
} Rng;

void rng_seed(Rng *rng, uint64_t seed);
uint64_t rng_next(Rng *rng);

// Uniform in [0, bound) without bias; bound > 0.
uint64_t rng_below(Rng *rng, uint64_t bound);

// Uniform in [0, 1), 53 bits.
double rng_unit(Rng *rng);

#endif
