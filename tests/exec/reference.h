// The forward pass of the tiny models written down token by token, in double, without schedules,
// shards, kernels or buffers: what one rank must give.
#ifndef TESTS_EXEC_REFERENCE_H
#define TESTS_EXEC_REFERENCE_H

#include "tests/exec/tiny.h"

// The texts of a run with so many sequences, in the order and form of tiny_run. Rounds: the last
// token of the prompt, the token behind it, then sampled ones. Freed by tiny_free.
TinyLogits reference_run(const TinyModel *model, uint32_t sequences, uint32_t prompt,
                         uint32_t rounds);

#endif
