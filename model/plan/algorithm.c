// Names of the algorithms of collectives; collective.c has their steps.
//
// Invariant: the names are made from the list that the enum is made from.
#include "model/plan/algorithm.h"

const char *const algorithm_names[ALGORITHM_COUNT] = {
#define X(name, text) text,
    ALGORITHM_LIST(X)
#undef X
};
