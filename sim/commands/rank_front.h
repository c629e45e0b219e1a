// Plans as points of tok/s/user and tok/s/GPU, of one search or of several, and the front among
// them: the plans that no other one beats in both.
#ifndef SIM_COMMANDS_RANK_FRONT_H
#define SIM_COMMANDS_RANK_FRONT_H

#include <stdbool.h>
#include <stdint.h>

#include "model/base/cli.h"
#include "model/base/jsonw.h"
#include "model/base/mem.h"
#include "model/base/text.h"
#include "model/report/svg.h"
#include "sim/search/pools.h"
#include "sim/search/rank.h"

typedef struct RankFrontPoint {
    double tok_s_per_user, tok_s_per_gpu;
    Time ttft_ps, tpot_ps;
    uint64_t requests; // in flight
    uint32_t gpus;     // of the plan
    uint32_t number;   // among the rows of its search, from 1; 0: it has no place there
    bool is_pooled;
    const char *plan, *bottleneck;
} RankFrontPoint;

// A zeroed one is empty. Points of several loads say which.
typedef struct RankFront {
    Arena arena;
    RankFrontPoint *points; // heap
    uint32_t count, capacity;
    uint32_t *front; // positions, slowest user first; heap
    uint32_t front_count;
    bool has_loads;
} RankFront;

void rank_front_add_row(RankFront *front, const RankRow *row, uint32_t number, uint64_t requests);
void rank_front_add(RankFront *front, const Ranking *ranking, uint64_t requests); // all rows
void rank_front_add_pools(RankFront *front, const PoolsRanking *pools, uint64_t requests);
// Finds the front; no point is added after it.
void rank_front_find(RankFront *front);
void rank_front_free(RankFront *front);

// What the horizontal axis is.
typedef enum RankFrontAxis { RANK_FRONT_BY_USER, RANK_FRONT_BY_TPOT } RankFrontAxis;
// Plans, separate pools where there are some, and the front. Borrows and fills the arena.
SvgXY rank_front_chart(RankFront *front, RankFrontAxis axis);

// The chart as characters; the front as a table of its own, as CSV, and as the member
// "pareto_front".
void rank_front_plot(RankFront *front, Text *out);
void rank_front_table(const RankFront *front, Text *out);
void rank_front_csv(const RankFront *front, Text *out);
void rank_front_write(JsonWriter *writer, const RankFront *front);
// The picture of --svg, written whole or not at all; does nothing without it.
bool rank_front_save(const CliArgs *args, RankFront *front, Err *err);

#endif
