// What a row of a ranking file says, understood: a machine, a model, a workload, and a plan.
//
// Of `precision` and `gpu` cells that name several, the row's flags name one. "~219" is a mean
// length. A load of N requests is N in flight; "cap N" is N. Flags such as
// "P=1x8GPU[tp8 dp1 ep8] D=7x8GPU[tp8 dp1 ep8]" are pools of prefill and decode instances.
#ifndef SIM_COMMANDS_VALIDATE_RANKING_ASK_H
#define SIM_COMMANDS_VALIDATE_RANKING_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/err.h"
#include "model/report/record.h"
#include "sim/commands/validate_ranking_names.h"
#include "sim/search/pools.h"

// Why a group is not scored.
#define VALIDATE_RANKING_REASON_LIST(X)                                                            \
    X(NONE, "scored")                                                                              \
    X(ONE_PLAN, "fewer than two plans")                                                            \
    X(NOT_KNOWN, "an input is not known")                                                          \
    X(SERVING, "serving dynamics")                                                                 \
    X(METRIC, "no metric of a simulation")                                                         \
    X(DRAFTS, "draft tokens")                                                                      \
    X(MACHINE, "no such machine")                                                                  \
    X(MODEL, "no such model")                                                                      \
    X(PLAN, "no plan that is simulated")                                                           \
    X(MEMORY, "does not fit")                                                                      \
    X(ALIKE, "plans that are alike here")
typedef enum ValidateRankingReason {
#define X(name, text) VALIDATE_RANKING_##name,
    VALIDATE_RANKING_REASON_LIST(X)
#undef X
        VALIDATE_RANKING_REASON_COUNT
} ValidateRankingReason;
extern const char *const validate_ranking_ask_reasons[VALIDATE_RANKING_REASON_COUNT];

typedef struct ValidateRankingAsk {
    const ValidateRankingMachine *machine;
    const ValidateRankingModel *model;
    uint64_t isl, osl, concurrency, gpus;
    bool is_split;      // in pools of prefill and decode, by Phase
    PoolsWish pools[2]; // else the first is the plan, of as many replicas as there are GPUs
} ValidateRankingAsk;

// The reason why not, with its text, or NONE. Names are borrowed.
ValidateRankingReason validate_ranking_ask_read(const ValidateRankingNames *names,
                                                const RecordFile *file, uint32_t row,
                                                ValidateRankingAsk *out, Err *text);
bool validate_ranking_ask_is_same(const ValidateRankingAsk *a, const ValidateRankingAsk *b);

#endif
