// Whether the links of routes follow the digits of GPUs, so that equal loads can be counted instead
// of listed.
#ifndef MODEL_MACHINE_FABRIC_FOLLOW_H
#define MODEL_MACHINE_FABRIC_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "model/machine/fabric.h"

// Levels of the GPU class taken together as digits, outermost first. Bit k of `symmetric` is level
// k.
typedef struct FabricDigits {
    uint32_t count;
    uint32_t first[FABRIC_DIGITS_MAX],
        last[FABRIC_DIGITS_MAX]; // levels of each digit, both included
    uint32_t symmetric;
} FabricDigits;

// True when, on the routes of every set of differing digits, each link is either the same for all
// values of a digit of the source (or of the destination, or of both where they agree), or another
// one for each value. False also when there are too many values to try.
bool fabric_follow_holds(const Fabric *fabric, const FabricDigits *digits);

#endif
